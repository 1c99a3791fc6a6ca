// graph.scatter_elements.
// RUN: graphc-op-test %s

// case: axis 0, none
// in: 3x3xf32=[[2 2 2][2 2 2][2 2 2]]
// in: 2x3xi64=[[1 0 2][0 2 1]]
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: 3x3xf32=[[4 2 2][1 2 6][2 5 3]]
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<3x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 0 : i64, reduction = "none"} : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----
// case: axis 0, add
// in: 3x3xf32=[[2 2 2][2 2 2][2 2 2]]
// in: 2x3xi64=[[1 0 2][0 2 1]]
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: 3x3xf32=[[6 4 2][3 2 8][2 7 5]]
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<3x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 0 : i64, reduction = "add"} : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----
// case: axis 0, mul
// in: 3x3xf32=[[2 2 2][2 2 2][2 2 2]]
// in: 2x3xi64=[[1 0 2][0 2 1]]
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: 3x3xf32=[[8 4 2][2 2 12][2 10 6]]
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<3x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 0 : i64, reduction = "mul"} : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----
// case: axis 0, max
// in: 3x3xf32=[[2 2 2][2 2 2][2 2 2]]
// in: 2x3xi64=[[1 0 2][0 2 1]]
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: 3x3xf32=[[4 2 2][2 2 6][2 5 3]]
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<3x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 0 : i64, reduction = "max"} : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----
// case: axis 0, min
// in: 3x3xf32=[[2 2 2][2 2 2][2 2 2]]
// in: 2x3xi64=[[1 0 2][0 2 1]]
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: 3x3xf32=[[2 2 2][1 2 2][2 2 2]]
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<3x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 0 : i64, reduction = "min"} : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----
// case: the later of two equal indices wins; negative index
// in: 1x3xf32=[[0 0 0]]
// in: 1x3xi64=[[1 1 -1]]
// in: 1x3xf32=[[7 8 9]]
// out: 1x3xf32=[[0 8 9]]
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}, %y: tensor<1x3xi64> {graph.name = "y"}, %z: tensor<1x3xf32> {graph.name = "z"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 1 : i64, reduction = "none"} : (tensor<1x3xf32>, tensor<1x3xi64>, tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----
// case: duplicates add up
// in: 1x3xi64=[[0 0 0]]
// in: 1x3xi64=[[1 1 -1]]
// in: 1x3xi64=[[7 8 9]]
// out: 1x3xi64=[[0 15 9]]
func.func @main(%x: tensor<1x3xi64> {graph.name = "x"}, %y: tensor<1x3xi64> {graph.name = "y"}, %z: tensor<1x3xi64> {graph.name = "z"}) -> (tensor<1x3xi64> {graph.name = "r0"}) {
  %0 = graph.scatter_elements %x, %y, %z {axis = 1 : i64, reduction = "add"} : (tensor<1x3xi64>, tensor<1x3xi64>, tensor<1x3xi64>) -> tensor<1x3xi64>
  return %0 : tensor<1x3xi64>
}
