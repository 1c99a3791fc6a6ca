// graph.iota: start + step * index along an axis.
// RUN: graphc-op-test %s

// case: along axis 1
// out: 2x3xi64=[[0 1 2][0 1 2]]
func.func @main() -> (tensor<2x3xi64> {graph.name = "r0"}) {
  %0 = graph.iota 1 : tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}

// -----
// case: start and step
// out: 3xf32=[2 2.5 3]
func.func @main() -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.iota 0 {start = 2.0 : f64, step = 0.5 : f64} : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: along the second axis, f32 step
// out: 2x3xf32=[[0.5 0.25 0][0.5 0.25 0]]
func.func @main() -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.iota 1 {start = 0.5 : f64, step = -0.25 : f64}  : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
