// graph.gather_nd.
// RUN: graphc-op-test %s

// case: elements
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x2xi64=[[0 1][1 2]]
// out: 2xf32=[1 5]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x2xi64> {graph.name = "y"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.gather_nd %x, %y : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: rows
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x1xi64=[[1][0]]
// out: 2x3xf32=[[3 4 5][0 1 2]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x1xi64> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.gather_nd %x, %y : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: batch dims
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x1xi64=[[2][0]]
// out: 2xf32=[2 3]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x1xi64> {graph.name = "y"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.gather_nd %x, %y {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: negative indices, slices
// in: 2x2x2xf32=[[[0 1][2 3]][[4 5][6 7]]]
// in: 2x2xi64=[[0 -1][-1 0]]
// out: 2x2xf32=[[2 3][4 5]]
func.func @main(%x: tensor<2x2x2xf32> {graph.name = "x"}, %y: tensor<2x2xi64> {graph.name = "y"}) -> (tensor<2x2xf32> {graph.name = "r0"}) {
  %0 = graph.gather_nd %x, %y : (tensor<2x2x2xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
