// graph.max_pool_index.
// RUN: graphc-op-test %s

// case: 2x2 stride 2
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xi64=[[[[1 3][9 14]][[17 23][25 31]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xi64> {graph.name = "r0"}) {
  %0 = graph.max_pool_index %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xi64>
  return %0 : tensor<1x2x2x2xi64>
}

// -----
// case: 3x3 padded
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xi64=[[[[1 3][9 14]][[17 17][25 25]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xi64> {graph.name = "r0"}) {
  %0 = graph.max_pool_index %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xi64>
  return %0 : tensor<1x2x2x2xi64>
}

// -----
// case: dilated
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xi64=[[[[10 3][14 15]][[26 25][28 31]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xi64> {graph.name = "r0"}) {
  %0 = graph.max_pool_index %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xi64>
  return %0 : tensor<1x2x2x2xi64>
}

// -----
// case: column major
// in: 1x1x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]]]]
// out: 1x1x2x2xi64=[[[[4 12][6 11]]]]
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x2x2xi64> {graph.name = "r0"}) {
  %0 = graph.max_pool_index %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, column_major} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xi64>
  return %0 : tensor<1x1x2x2xi64>
}

// -----
// case: numbered in the window
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xu8=[[[[1 1][1 2]][[1 3][1 3]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xui8> {graph.name = "r0"}) {
  %0 = graph.max_pool_index %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xui8>
  return %0 : tensor<1x2x2x2xui8>
}

// -----
// case: numbered in a padded window
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xi32=[[[[5 5][5 7]][[5 3][5 3]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xi32> {graph.name = "r0"}) {
  %0 = graph.max_pool_index %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xi32>
  return %0 : tensor<1x2x2x2xi32>
}
