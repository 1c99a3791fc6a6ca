// graph.conv over any number of spatial axes.
// RUN: graphc-op-test %s

// case: 3x3
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// in: 3x2x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]]][[[1 2 3][-3 -2 -1][0 1 2]][[3 -3 -2][-1 0 1][2 3 -3]]][[[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x3x2x2xf32=[[[[19 -23][-6 -4]][[-28 48][67 -11]][[51 -7][-49 3]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}, %y: tensor<3x2x3x3xf32> {graph.name = "y"}) -> (tensor<1x3x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x2x2xf32>
  return %0 : tensor<1x3x2x2xf32>
}

// -----
// case: padded, stride 2
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// in: 3x2x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]]][[[1 2 3][-3 -2 -1][0 1 2]][[3 -3 -2][-1 0 1][2 3 -3]]][[[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x3x2x2xf32=[[[[-22 14][-25 -4]][[19 -34][6 -11]][[-3 37][-5 3]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}, %y: tensor<3x2x3x3xf32> {graph.name = "y"}) -> (tensor<1x3x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x2x2xf32>
  return %0 : tensor<1x3x2x2xf32>
}

// -----
// case: dilated
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// in: 3x2x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]]][[[1 2 3][-3 -2 -1][0 1 2]][[3 -3 -2][-1 0 1][2 3 -3]]][[[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x3x3x3xf32=[[[[-8 -18 -8][4 20 -24][-1 -13 20]][[-1 -13 20][11 -2 32][-1 13 -8]][[-1 13 -8][-24 -3 4][-1 25 -1]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}, %y: tensor<3x2x3x3xf32> {graph.name = "y"}) -> (tensor<1x3x3x3xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 2, 2>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  return %0 : tensor<1x3x3x3xf32>
}

// -----
// case: depthwise
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// in: 2x1x3x3xf32=[[[[-2 -1 0][1 2 -2][-1 0 1]]][[[2 -2 -1][0 1 2][-2 -1 0]]]]
// out: 1x2x4x4xf32=[[[[-17 6 -9 4][16 -2 -5 4][-17 8 16 -24][12 -7 1 14]][[2 -1 -1 4][5 -26 0 11][-1 12 5 -12][3 -23 13 11]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}, %y: tensor<2x1x3x3xf32> {graph.name = "y"}) -> (tensor<1x2x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// -----
// case: 1x1
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// in: 4x2x1x1xf32=[[[[-3]][[-2]]][[[-1]][[0]]][[[1]][[2]]][[[3]][[4]]]]
// out: 1x4x4x4xf32=[[[[21 -14 6 -7][-9 11 -2 -4][16 -19 1 21][-14 6 -7 -9]][[5 -2 2 -5][-1 3 -4 0][4 -3 1 5][-2 2 -5 -1]][[-11 10 -2 -3][7 -5 -6 4][-8 13 1 -11][10 -2 -3 7]][[-27 22 -6 -1][15 -13 -8 8][-20 29 1 -27][22 -6 -1 15]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}, %y: tensor<4x2x1x1xf32> {graph.name = "y"}) -> (tensor<1x4x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----
// case: channels last
// in: 1x4x4x2xf32=[[[[-5 -3][2 4][-2 0][5 -4]][[1 3][-3 -1][4 -5][0 2]][[-4 -2][3 5][-1 1][-5 -3]][[2 4][-2 0][5 -4][1 3]]]]
// in: 3x2x3x3xf32=[[[[-3 -2 -1][0 1 2][3 -3 -2]][[-1 0 1][2 3 -3][-2 -1 0]]][[[1 2 3][-3 -2 -1][0 1 2]][[3 -3 -2][-1 0 1][2 3 -3]]][[[-2 -1 0][1 2 3][-3 -2 -1]][[0 1 2][3 -3 -2][-1 0 1]]]]
// out: 1x4x4x3xf32=[[[[-22 19 -3][3 39 -37][14 -34 37][13 -8 13]][[27 -22 6][19 -28 51][-23 48 -7][5 1 -10]][[-25 6 -5][-6 67 -49][-4 -11 3][-2 -3 -18]][[20 -5 -2][38 -39 45][-24 2 7][14 -12 -10]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x4x4x2xf32> {graph.name = "x"}, %y: tensor<3x2x3x3xf32> {graph.name = "y"}) -> (tensor<1x4x4x3xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (tensor<1x4x4x2xf32>, tensor<3x2x3x3xf32>) -> tensor<1x4x4x3xf32>
  return %0 : tensor<1x4x4x3xf32>
}

// -----
// case: 1-d
// in: 1x2x4xf32=[[[-5 2 -2 5][-3 4 0 -4]]]
// in: 3x2x3xf32=[[[-3 -2 -1][-1 0 1]][[1 2 3][3 -3 -2]][[-2 -1 0][0 1 2]]]
// out: 1x3x4xf32=[[[12 16 -15 -4][-3 -28 33 20][10 12 -10 -5]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4xf32> {graph.name = "x"}, %y: tensor<3x2x3xf32> {graph.name = "y"}) -> (tensor<1x3x4xf32> {graph.name = "r0"}) {
  %0 = graph.conv %x, %y {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<3x2x3xf32>) -> tensor<1x3x4xf32>
  return %0 : tensor<1x3x4xf32>
}
