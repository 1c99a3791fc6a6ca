// graph.layer_norm.
// RUN: graphc-op-test %s

// case: last axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[1 2 0.5]
// in: 3xf32=[0 1 -1]
// out: 2x3xf32=[[-1.3728034 1.7844591 -0.50971305][-1.0051377 0.2820445 -0.3179423]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: no bias
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[1 2 0.5]
// out: 2x3xf32=[[-1.3728034 0.7844591 0.49028695][-1.0051377 -0.71795547 0.68205774]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: large mean does not cancel
// in: 2x3xf32=[[997.5 999 999.5][1000.25 1001 1003]]
// in: 3xf32=[1 2 0.5]
// in: 3xf32=[0 1 -1]
// out: 2x3xf32=[[-1.3728034 1.7844591 -0.50971305][-1.0051377 0.2820445 -0.3179423]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
