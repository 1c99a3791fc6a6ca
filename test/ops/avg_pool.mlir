// graph.avg_pool.
// RUN: graphc-op-test %s

// case: 2x2 stride 2
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[-1.25 1.75][-0.25 0]][[0.75 -1.75][1.75 -0.75]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: 3x3 padded
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[-1.25 1][-0.5 0.22222222]][[0.75 -0.6666667][1.5 -0.22222222]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.avg_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: dilated
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[-3 1.25][3 -1]][[-1 0.5][-0.5 1]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: padding counts
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[-0.5555556 0.6666667][-0.33333334 0.22222222]][[0.33333334 -0.44444445][1 -0.22222222]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.avg_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, count_pad} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: channels last
// in: 1x4x4x2xf32=[[[[-5 -3][2 4][-2 0][5 -4]][[1 3][-3 -1][4 -5][0 2]][[-4 -2][3 5][-1 1][-5 -3]][[2 4][-2 0][5 -4][1 3]]]]
// out: 1x2x2x2xf32=[[[[-1.25 0.75][1 -0.6666667]][[-0.5 1.5][0.22222222 -0.22222222]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x4x4x2xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.avg_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: sums instead of averages
// in: 1x1x3xf32=[[[1 2 4]]]
// out: 1x1x3xf32=[[[3 7 6]]]
func.func @main(%x: tensor<1x1x3xf32> {graph.name = "x"}) -> (tensor<1x1x3xf32> {graph.name = "r0"}) {
  %0 = graph.avg_pool %x {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, sum} : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}
