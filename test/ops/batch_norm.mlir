// graph.batch_norm.
// RUN: graphc-op-test %s

// case: channels are dim 1
// in: 1x2x4x4xf32=[[[[-5 2 -2 5][1 -3 4 0][-4 3 -1 -5][2 -2 5 1]][[-3 4 0 -4][3 -1 -5 2][-2 5 1 -3][4 0 -4 3]]]]
// in: 2xf32=[1 0.5]
// in: 2xf32=[0 1]
// in: 2xf32=[0.5 -1]
// in: 2xf32=[4 0.25]
// out: 1x2x4x4xf32=[[[[-2.7499967 0.74999905 -1.2499985 2.2499971][0.24999969 -1.7499979 1.7499979 -0.24999969][-2.2499971 1.2499985 -0.74999905 -2.7499967][0.74999905 -1.2499985 2.2499971 0.24999969]][[-0.99996 5.9999 1.99998 -1.99994][4.99992 1 -2.99992 3.99994][1.99994e-05 6.99988 2.99996 -0.99996][5.9999 1.99998 -1.99994 4.99992]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x4x4xf32> {graph.name = "x"}, %y: tensor<2xf32> {graph.name = "y"}, %z: tensor<2xf32> {graph.name = "z"}, %u: tensor<2xf32> {graph.name = "u"}, %v: tensor<2xf32> {graph.name = "v"}) -> (tensor<1x2x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.batch_norm %x, %y, %z, %u, %v {epsilon = 1.0e-05 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// -----
// case: channels last
// in: 1x4x4x2xf32=[[[[-5 -3][2 4][-2 0][5 -4]][[1 3][-3 -1][4 -5][0 2]][[-4 -2][3 5][-1 1][-5 -3]][[2 4][-2 0][5 -4][1 3]]]]
// in: 2xf32=[1 0.5]
// in: 2xf32=[0 1]
// in: 2xf32=[0.5 -1]
// in: 2xf32=[4 0.25]
// out: 1x4x4x2xf32=[[[[-2.7499967 -0.99996][0.74999905 5.9999][-1.2499985 1.99998][2.2499971 -1.99994]][[0.24999969 4.99992][-1.7499979 1][1.7499979 -2.99992][-0.24999969 3.99994]][[-2.2499971 1.99994e-05][1.2499985 6.99988][-0.74999905 2.99996][-2.7499967 -0.99996]][[0.74999905 5.9999][-1.2499985 1.99998][2.2499971 -1.99994][0.24999969 4.99992]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x4x4x2xf32> {graph.name = "x"}, %y: tensor<2xf32> {graph.name = "y"}, %z: tensor<2xf32> {graph.name = "z"}, %u: tensor<2xf32> {graph.name = "u"}, %v: tensor<2xf32> {graph.name = "v"}) -> (tensor<1x4x4x2xf32> {graph.name = "r0"}) {
  %0 = graph.batch_norm %x, %y, %z, %u, %v {epsilon = 1.0e-05 : f64, channels_last} : (tensor<1x4x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  return %0 : tensor<1x4x4x2xf32>
}
