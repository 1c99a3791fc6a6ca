// graph.gather_elements.
// RUN: graphc-op-test %s

// case: axis 1
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x3xi64=[[0 2 -1][1 1 0]]
// out: 2x3xf32=[[0 2 2][4 4 3]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.gather_elements %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: axis 0
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 1x3xi64=[[1 0 -1]]
// out: 1x3xf32=[[3 1 5]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<1x3xi64> {graph.name = "y"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.gather_elements %x, %y : (tensor<2x3xf32>, tensor<1x3xi64>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----
// case: last axis, negative
// in: 2x3xi64=[[0 1 2][3 4 5]]
// in: 2x2xi64=[[-1 0][1 1]]
// out: 2x2xi64=[[2 0][4 4]]
func.func @main(%x: tensor<2x3xi64> {graph.name = "x"}, %y: tensor<2x2xi64> {graph.name = "y"}) -> (tensor<2x2xi64> {graph.name = "r0"}) {
  %0 = graph.gather_elements %x, %y {axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

// -----
// case: fewer rows than data
// in: 3x2xf32=[[1 2][3 4][5 6]]
// in: 1x2xi64=[[2 0]]
// out: 1x2xf32=[[5 2]]
func.func @main(%x: tensor<3x2xf32> {graph.name = "x"}, %y: tensor<1x2xi64> {graph.name = "y"}) -> (tensor<1x2xf32> {graph.name = "r0"}) {
  %0 = graph.gather_elements %x, %y {axis = 0 : i64} : (tensor<3x2xf32>, tensor<1x2xi64>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
