// graph.cumulative.
// RUN: graphc-op-test %s

// case: sum
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2x3xf32=[[1 -1 2][4 9 3]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: sum, exclusive, reverse
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2x3xf32=[[1 3 0][-1 -6 0]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64, exclusive, reverse} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: prod, axis 0
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2x3xf32=[[1 -2 3][4 -10 -18]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.cumulative %x {kind = "prod", axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: i64
// in: 3xi64=[1 2 3]
// out: 3xi64=[1 3 6]
func.func @main(%x: tensor<3xi64> {graph.name = "x"}) -> (tensor<3xi64> {graph.name = "r0"}) {
  %0 = graph.cumulative %x {kind = "sum", axis = 0 : i64} : (tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----
// case: exclusive and reverse sum, i32
// in: 3xi32=[1 2 3]
// out: 3xi32=[5 3 0]
func.func @main(%x: tensor<3xi32> {graph.name = "x"}) -> (tensor<3xi32> {graph.name = "r0"}) {
  %0 = graph.cumulative %x {kind = "sum", axis = 0 : i64, exclusive, reverse} : (tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----
// case: product along the first axis
// in: 2x2xf32=[[1 2][3 4]]
// out: 2x2xf32=[[1 2][3 8]]
func.func @main(%x: tensor<2x2xf32> {graph.name = "x"}) -> (tensor<2x2xf32> {graph.name = "r0"}) {
  %0 = graph.cumulative %x {kind = "prod", axis = 0 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
