// graph.max_pool.
// RUN: graphc-op-test %s

// case: 2x2 stride 2
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[2 5][3 5]][[4 2][5 3]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: 3x3 padded
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[2 5][3 5]][[4 4][5 5]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: dilated
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[-1 5][5 1]][[1 5][4 3]]]]
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: channels last
// in: 1x4x4x2xf32=[[[[-5 -3][2 4][-2 0][5 -4]][[1 3][-3 -1][4 -5][0 2]][[-4 -2][3 5][-1 1][-5 -3]][[2 4][-2 0][5 -4][1 3]]]]
// out: 1x2x2x2xf32=[[[[2 4][5 4]][[3 5][5 5]]]]
func.func @main(%x: tensor<1x4x4x2xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: u8
// in: 1x1x4x4xu8=[[[[0 1 2 3][4 5 6 7][8 9 10 11][12 13 14 15]]]]
// out: 1x1x2x2xu8=[[[[5 7][13 15]]]]
func.func @main(%x: tensor<1x1x4x4xui8> {graph.name = "x"}) -> (tensor<1x1x2x2xui8> {graph.name = "r0"}) {
  %0 = graph.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x1x4x4xui8>) -> tensor<1x1x2x2xui8>
  return %0 : tensor<1x1x2x2xui8>
}
