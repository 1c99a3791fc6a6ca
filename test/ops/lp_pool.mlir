// graph.lp_pool.
// RUN: graphc-op-test %s

// case: 2x2 stride 2
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[6.244998 6.708204][5.7445626 7.2111025]][[5.91608 6.708204][6.708204 5.91608]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.lp_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: 3x3 padded
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[6.244998 7.615773][6.5574384 9.486833]][[5.91608 7.8740077][7.4161983 9.486833]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.lp_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----
// case: dilated
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// out: 1x2x2x2xf32=[[[[6.78233 7.937254][6.78233 3.7416575]][[3.7416575 8.124039][8.124039 3.7416575]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}) -> (tensor<1x2x2x2xf32> {graph.name = "r0"}) {
  %0 = graph.lp_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}
