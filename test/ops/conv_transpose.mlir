// graph.conv_transpose.
// RUN: graphc-op-test %s

// case: stride 1
// in: 1x2x2x2xf32=[[[[-5 2][1 -3]][[-3 4][3 -1]]]]
// in: 2x3x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]][[1 2 3][-3 -2 -1][0 1 2]]][[[3 -3 -2][-1 0 1][2 3 -3]][[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x3x4x4xf32=[[[[6 25 -5 -10][9 -14 -9 13][-24 22 27 -23][9 -5 -5 9]][[11 -7 -9 2][-20 -11 22 3][24 -3 -12 2][-11 2 2 1]][[-5 -11 -13 14][7 27 -3 -21][9 -14 -9 13][-3 2 2 -7]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x2xf32> {graph.name = "x"}, %y: tensor<2x3x3x3xf32> {graph.name = "y"}) -> (tensor<1x3x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.conv_transpose %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<2x3x3x3xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// -----
// case: stride 2, padded
// in: 1x2x2x2xf32=[[[[-5 2][1 -3]][[-3 4][3 -1]]]]
// in: 2x3x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]][[1 2 3][-3 -2 -1][0 1 2]]][[[3 -3 -2][-1 0 1][2 3 -3]][[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x3x3x3xf32=[[[[-5 -17 2][-5 32 15][1 6 -3]][[-21 14 14][8 -7 -9][9 -1 -11]][[19 17 -16][0 -11 -5][-11 -1 9]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x2xf32> {graph.name = "x"}, %y: tensor<2x3x3x3xf32> {graph.name = "y"}) -> (tensor<1x3x3x3xf32> {graph.name = "r0"}) {
  %0 = graph.conv_transpose %x, %y {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<2x3x3x3xf32>) -> tensor<1x3x3x3xf32>
  return %0 : tensor<1x3x3x3xf32>
}

// -----
// case: output padding
// in: 1x2x2x2xf32=[[[[-5 2][1 -3]][[-3 4][3 -1]]]]
// in: 2x3x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]][[1 2 3][-3 -2 -1][0 1 2]]][[[3 -3 -2][-1 0 1][2 3 -3]][[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x3x4x4xf32=[[[[-5 -17 2 8][-5 32 15 -11][1 6 -3 -7][6 -22 6 9]][[-21 14 14 6][8 -7 -9 -7][9 -1 -11 6][-7 6 5 1]][[19 17 -16 -10][0 -11 -5 -3][-11 -1 9 5][1 6 -3 -7]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x2xf32> {graph.name = "x"}, %y: tensor<2x3x3x3xf32> {graph.name = "y"}) -> (tensor<1x3x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.conv_transpose %x, %y {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<2x3x3x3xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// -----
// case: groups
// in: 1x2x2x2xf32=[[[[-5 2][1 -3]][[-3 4][3 -1]]]]
// in: 2x1x3x3xf32=[[[[-2 -1 0][1 2 -2][-1 0 1]]][[[2 -2 -1][0 1 2][-2 -1 0]]]]
// out: 1x2x4x4xf32=[[[[10 1 -2 0][-7 -3 17 -4][6 -3 -13 8][-1 3 1 -3]][[-6 14 -5 -4][6 -11 -3 9][6 -2 1 -2][-6 -1 1 0]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x2xf32> {graph.name = "x"}, %y: tensor<2x1x3x3xf32> {graph.name = "y"}) -> (tensor<1x2x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.conv_transpose %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x2x2x2xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}
