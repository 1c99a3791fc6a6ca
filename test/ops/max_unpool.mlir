// graph.max_unpool.
// RUN: graphc-op-test %s

// case: 2x2, no overlap
// in: 1x2x2x3xf32=[[[[-0.484375 0.09375 0.671875][-0.265625 0.3125 -0.625]][[-0.046875 0.53125 -0.40625][0.171875 0.75 -0.1875]]]]
// in: 1x2x2x3xi64=[[[[6 9 4][18 20 16]][[30 32 35][42 44 46]]]]
// out: 1x2x4x6xf32=[[[[0.0 0.0 0.0 0.0 0.671875 0.0][-0.484375 0.0 0.0 0.09375 0.0 0.0][0.0 0.0 0.0 0.0 -0.625 0.0][-0.265625 0.0 0.3125 0.0 0.0 0.0]][[0.0 0.0 0.0 0.0 0.0 0.0][-0.046875 0.0 0.53125 0.0 0.0 -0.40625][0.0 0.0 0.0 0.0 0.0 0.0][0.171875 0.0 0.75 0.0 -0.1875 0.0]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x3xf32> {graph.name = "x"}, %y: tensor<1x2x2x3xi64> {graph.name = "y"}) -> (tensor<1x2x4x6xf32> {graph.name = "r0"}) {
  %0 = graph.max_unpool %x, %y {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xi64>) -> tensor<1x2x4x6xf32>
  return %0 : tensor<1x2x4x6xf32>
}

// -----
// case: overlap: two windows with one maximum add up
// in: 1x2x3x3xf32=[[[[-0.484375 0.09375 0.671875][-0.265625 0.3125 -0.625][-0.046875 0.53125 -0.40625]][[0.171875 0.75 -0.1875][0.390625 -0.546875 0.03125][0.609375 -0.328125 0.25]]]]
// in: 1x2x3x3xi64=[[[[6 6 9][16 16 9][16 16 23]][[35 37 39][35 42 49][56 56 49]]]]
// out: 1x2x6x5xf32=[[[[0.0 0.0 0.0 0.0 0.0][0.0 -0.390625 0.0 0.0 0.046875][0.0 0.0 0.0 0.0 0.0][0.0 0.53125 0.0 0.0 0.0][0.0 0.0 0.0 -0.40625 0.0][0.0 0.0 0.0 0.0 0.0]][[0.0 0.0 0.0 0.0 0.0][0.5625 0.0 0.75 0.0 -0.1875][0.0 0.0 -0.546875 0.0 0.0][0.0 0.0 0.0 0.0 0.28125][0.0 0.0 0.0 0.0 0.0][0.0 0.28125 0.0 0.0 0.0]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x3x3xf32> {graph.name = "x"}, %y: tensor<1x2x3x3xi64> {graph.name = "y"}) -> (tensor<1x2x6x5xf32> {graph.name = "r0"}) {
  %0 = graph.max_unpool %x, %y {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>) -> tensor<1x2x6x5xf32>
  return %0 : tensor<1x2x6x5xf32>
}

// -----
// case: channels last, indices as in channels first
// in: 1x3x3x2xf32=[[[[-0.484375 0.171875][0.09375 0.75][0.671875 -0.1875]][[-0.265625 0.390625][0.3125 -0.546875][-0.625 0.03125]][[-0.046875 0.609375][0.53125 -0.328125][-0.40625 0.25]]]]
// in: 1x3x3x2xi64=[[[[6 35][6 37][9 39]][[16 35][16 42][9 49]][[16 56][16 56][23 49]]]]
// out: 1x6x5x2xf32=[[[[0.0 0.0][0.0 0.0][0.0 0.0][0.0 0.0][0.0 0.0]][[0.0 0.5625][-0.390625 0.0][0.0 0.75][0.0 0.0][0.046875 -0.1875]][[0.0 0.0][0.0 0.0][0.0 -0.546875][0.0 0.0][0.0 0.0]][[0.0 0.0][0.53125 0.0][0.0 0.0][0.0 0.0][0.0 0.28125]][[0.0 0.0][0.0 0.0][0.0 0.0][-0.40625 0.0][0.0 0.0]][[0.0 0.0][0.0 0.28125][0.0 0.0][0.0 0.0][0.0 0.0]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x3x3x2xf32> {graph.name = "x"}, %y: tensor<1x3x3x2xi64> {graph.name = "y"}) -> (tensor<1x6x5x2xf32> {graph.name = "r0"}) {
  %0 = graph.max_unpool %x, %y {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<1x3x3x2xf32>, tensor<1x3x3x2xi64>) -> tensor<1x6x5x2xf32>
  return %0 : tensor<1x6x5x2xf32>
}

// -----
// case: numbered in the window
// in: 1x2x2x3xf32=[[[[-0.484375 0.09375 0.671875][-0.265625 0.3125 -0.625]][[-0.046875 0.53125 -0.40625][0.171875 0.75 -0.1875]]]]
// in: 1x2x2x3xu8=[[[[2 3 0][2 2 0]][[2 2 3][2 2 2]]]]
// out: 1x2x4x6xf32=[[[[0.0 0.0 0.0 0.0 0.671875 0.0][-0.484375 0.0 0.0 0.09375 0.0 0.0][0.0 0.0 0.0 0.0 -0.625 0.0][-0.265625 0.0 0.3125 0.0 0.0 0.0]][[0.0 0.0 0.0 0.0 0.0 0.0][-0.046875 0.0 0.53125 0.0 0.0 -0.40625][0.0 0.0 0.0 0.0 0.0 0.0][0.171875 0.0 0.75 0.0 -0.1875 0.0]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x3xf32> {graph.name = "x"}, %y: tensor<1x2x2x3xui8> {graph.name = "y"}) -> (tensor<1x2x4x6xf32> {graph.name = "r0"}) {
  %0 = graph.max_unpool %x, %y {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xui8>) -> tensor<1x2x4x6xf32>
  return %0 : tensor<1x2x4x6xf32>
}

// -----
// case: overlap, numbered in the window
// in: 1x2x3x3xf32=[[[[-0.484375 0.09375 0.671875][-0.265625 0.3125 -0.625][-0.046875 0.53125 -0.40625]][[0.171875 0.75 -0.1875][0.390625 -0.546875 0.03125][0.609375 -0.328125 0.25]]]]
// in: 1x2x3x3xi32=[[[[8 6 7][8 6 1][2 0 3]][[7 7 7][1 4 7][8 6 1]]]]
// out: 1x2x6x5xf32=[[[[0.0 0.0 0.0 0.0 0.0][0.0 -0.390625 0.0 0.0 0.046875][0.0 0.0 0.0 0.0 0.0][0.0 0.53125 0.0 0.0 0.0][0.0 0.0 0.0 -0.40625 0.0][0.0 0.0 0.0 0.0 0.0]][[0.0 0.0 0.0 0.0 0.0][0.5625 0.0 0.75 0.0 -0.1875][0.0 0.0 -0.546875 0.0 0.0][0.0 0.0 0.0 0.0 0.28125][0.0 0.0 0.0 0.0 0.0][0.0 0.28125 0.0 0.0 0.0]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x3x3xf32> {graph.name = "x"}, %y: tensor<1x2x3x3xi32> {graph.name = "y"}) -> (tensor<1x2x6x5xf32> {graph.name = "r0"}) {
  %0 = graph.max_unpool %x, %y {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi32>) -> tensor<1x2x6x5xf32>
  return %0 : tensor<1x2x6x5xf32>
}
