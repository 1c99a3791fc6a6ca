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

// -----
// case: negative index; the later of equal indices wins
// in: 4xf32=[1 2 3 4]
// in: 3x1xi64=[[-1][0][0]]
// in: 3xf32=[9 8 7]
// out: 4xf32=[7 2 3 9]
func.func @main(%x: tensor<4xf32> {graph.name = "x"}, %y: tensor<3x1xi64> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}) -> (tensor<4xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "none"} : (tensor<4xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----
// case: mul, max and min of duplicates: mul
// in: 3xi64=[1 2 3]
// in: 2x1xi64=[[1][1]]
// in: 2xi64=[5 7]
// out: 3xi64=[1 70 3]
func.func @main(%x: tensor<3xi64> {graph.name = "x"}, %y: tensor<2x1xi64> {graph.name = "y"}, %z: tensor<2xi64> {graph.name = "z"}) -> (tensor<3xi64> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "mul"} : (tensor<3xi64>, tensor<2x1xi64>, tensor<2xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----
// case: max
// in: 3xf32=[1 5 3]
// in: 2x1xi64=[[1][0]]
// in: 2xf32=[4 7]
// out: 3xf32=[7 5 3]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}, %y: tensor<2x1xi64> {graph.name = "y"}, %z: tensor<2xf32> {graph.name = "z"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "max"} : (tensor<3xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: min
// in: 3xf32=[1 5 3]
// in: 2x1xi64=[[1][0]]
// in: 2xf32=[4 7]
// out: 3xf32=[1 4 3]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}, %y: tensor<2x1xi64> {graph.name = "y"}, %z: tensor<2xf32> {graph.name = "z"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "min"} : (tensor<3xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: bools
// in: 3xbool=[1 0 1]
// in: 1x1xi64=[[0]]
// in: 1xbool=[0]
// out: 3xbool=[0 0 1]
func.func @main(%x: tensor<3xi1> {graph.name = "x"}, %y: tensor<1x1xi64> {graph.name = "y"}, %z: tensor<1xi1> {graph.name = "z"}) -> (tensor<3xi1> {graph.name = "r0"}) {
  %0 = graph.scatter_nd %x, %y, %z {reduction = "none"} : (tensor<3xi1>, tensor<1x1xi64>, tensor<1xi1>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
