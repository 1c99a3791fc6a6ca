// graph.rms_norm.
// RUN: graphc-op-test %s

// case: last axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[1 2 0.5]
// out: 2x3xf32=[[-1.5811356 -1.2649086 -0.15811357][0.13650452 1.0920361 0.8190271]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.rms_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
