// graph.scatter_nd.
// RUN: graphc-op-test %s

// case: elements
// in: 8xf32=[1 2 3 4 5 6 7 8]
// in: 4x1xi64=[[4][3][1][7]]
// in: 4xf32=[9 10 11 12]
// out: 8xf32=[1 11 3 10 9 6 7 12]
func.func @main(%x: tensor<8xf32> {graph.name = "x"}, %y: tensor<4x1xi64> {graph.name = "y"}, %z: tensor<4xf32> {graph.name = "z"}) -> (tensor<8xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "none"} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// case: rows, add
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x1xi64=[[1][1]]
// in: 2x3xf32=[[1 1 1][2 2 2]]
// out: 2x3xf32=[[0 1 2][6 7 8]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x1xi64> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "add"} : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
