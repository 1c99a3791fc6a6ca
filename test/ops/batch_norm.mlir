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

// -----
// case: channels last
// in: 2x2x3xf32=[[[1.2 0.88 1.76][0.57999998 1.99 1.37]][[1.11 0.56 1.04][-0.41999999 -1.26 1.03]]]
// in: 3xf32=[0.88999999 -0.22 -0.49000001]
// in: 3xf32=[-0.31999999 -1.87 1.38]
// in: 3xf32=[0.17 -0.44999999 0.19]
// in: 3xf32=[0.99000001 0.56999999 1.4200001]
// out: 2x2x3xf32=[[[0.60085326 -2.2572186 0.73464501][0.046553187 -2.5803862 0.89495605]][[0.52039027 -2.1640532 1.030604][-0.84747899 -1.6341751 1.0347145]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}, %u: tensor<3xf32> {graph.name = "u"}, %v: tensor<3xf32> {graph.name = "v"}) -> (tensor<2x2x3xf32> {graph.name = "r0"}) {
  %0 = graph.batch_norm %x, %y, %z, %u, %v {epsilon = 1.0e-3 : f64, channels_last} : (tensor<2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x2x3xf32>
  return %0 : tensor<2x2x3xf32>
}

// -----
// case: rank 2, symbolic batch
// in: 3x2xf32=[[1.6799999 -0.44999999][-1.45 1.04][1.97 -1.41]]
// in: 2xf32=[0.88999999 -0.22]
// in: 2xf32=[-0.31999999 -1.87]
// in: 2xf32=[0.17 -0.44999999]
// in: 2xf32=[0.99000001 0.56999999]
// out: 3x2xf32=[[1.0306635 -1.87][-1.7690562 -2.304178][1.2900624 -1.5902612]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<?x2xf32, #graph.dims<[n, 2]>> {graph.name = "x"}, %y: tensor<2xf32> {graph.name = "y"}, %z: tensor<2xf32> {graph.name = "z"}, %u: tensor<2xf32> {graph.name = "u"}, %v: tensor<2xf32> {graph.name = "v"}) -> (tensor<?x2xf32, #graph.dims<[n, 2]>> {graph.name = "r0"}) {
  %0 = graph.batch_norm %x, %y, %z, %u, %v {epsilon = 1.0e-5 : f64} : (tensor<?x2xf32, #graph.dims<[n, 2]>>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32, #graph.dims<[n, 2]>>
  return %0 : tensor<?x2xf32, #graph.dims<[n, 2]>>
}
