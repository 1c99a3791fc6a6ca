// graph.size: sizes as an i64 vector.
// RUN: graphc-op-test %s

// case: constants
// out: 2xi64=[2 3]
func.func @main() -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.size <[2, 3]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: symbols of an input
// in: 2x5xf32=[[0 0 0 0 0][0 0 0 0 0]]
// out: 3xi64=[2 5 5]
func.func @main(%x: tensor<?x?xf32, #graph.dims<[n, m]>> {graph.name = "x"}) -> (tensor<3xi64> {graph.name = "r0"}) {
  %0 = graph.size <[n, 2*n + 1, m]>  : tensor<3xi64>
  return %0 : tensor<3xi64>
}
