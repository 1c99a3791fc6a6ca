// graph.attention.
// RUN: graphc-op-test %s

// case: two heads
// in: 1x2x2x3xf32=[[[[-1 -0.5 0][0.5 1 -1]][[-0.5 0 0.5][1 -1 -0.5]]]]
// in: 1x2x3x3xf32=[[[[-1.5 -1 -0.5][0 0.5 1][1.5 -1.5 -1]][[-0.5 0 0.5][1 1.5 -1.5][-1 -0.5 0]]]]
// in: 1x2x3x4xf32=[[[[-4 -3 -2 -1][0 1 2 3][4 -4 -3 -2]][[-1 0 1 2][3 4 -4 -3][-2 -1 0 1]]]]
// out: 1x2x2x4xf32=[[[[-1.8945526 -2.3370678 -1.3370678 -0.3370678][0.9772547 -2.1900759 -1.190076 -0.190076]][[-0.7238369 0.2761631 -0.2761631 0.7238369][0.44418952 1.4441895 -1.4793966 -0.47939655]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x3xf32> {graph.name = "x"}, %y: tensor<1x2x3x3xf32> {graph.name = "y"}, %z: tensor<1x2x3x4xf32> {graph.name = "z"}) -> (tensor<1x2x2x4xf32> {graph.name = "r0"}) {
  %0 = graph.attention %x, %y, %z {scale = 0.5 : f64} : (tensor<1x2x2x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x2x4xf32>
  return %0 : tensor<1x2x2x4xf32>
}

// -----
// case: mask
// in: 1x2x2x3xf32=[[[[-1 -0.5 0][0.5 1 -1]][[-0.5 0 0.5][1 -1 -0.5]]]]
// in: 1x2x3x3xf32=[[[[-1.5 -1 -0.5][0 0.5 1][1.5 -1.5 -1]][[-0.5 0 0.5][1 1.5 -1.5][-1 -0.5 0]]]]
// in: 1x2x3x4xf32=[[[[-4 -3 -2 -1][0 1 2 3][4 -4 -3 -2]][[-1 0 1 2][3 4 -4 -3][-2 -1 0 1]]]]
// in: 2x3xf32=[[0 -inf 0][0 0 1]]
// out: 1x2x2x4xf32=[[[[-2.3854942 -3.2018132 -2.2018132 -1.2018132][2.316608 -2.9920382 -1.9920382 -0.9920382]][[-1.5 -0.5 0.5 1.5][-0.38650617 0.61349386 -0.9766007 0.023399282]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x2x3xf32> {graph.name = "x"}, %y: tensor<1x2x3x3xf32> {graph.name = "y"}, %z: tensor<1x2x3x4xf32> {graph.name = "z"}, %u: tensor<2x3xf32> {graph.name = "u"}) -> (tensor<1x2x2x4xf32> {graph.name = "r0"}) {
  %0 = graph.attention %x, %y, %z, %u {scale = 0.5 : f64} : (tensor<1x2x2x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>, tensor<2x3xf32>) -> tensor<1x2x2x4xf32>
  return %0 : tensor<1x2x2x4xf32>
}

// -----
// case: a row that masks everything gives NaN
// in: 1x2x1xf32=[[[1][1]]]
// in: 1x2x1xf32=[[[1][1]]]
// in: 1x2x1xf32=[[[3][5]]]
// in: 2x2xf32=[[-inf -inf][0 0]]
// out: 1x2x1xf32=[[[nan][4]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x1xf32> {graph.name = "x"}, %y: tensor<1x2x1xf32> {graph.name = "y"}, %z: tensor<1x2x1xf32> {graph.name = "z"}, %u: tensor<2x2xf32> {graph.name = "u"}) -> (tensor<1x2x1xf32> {graph.name = "r0"}) {
  %0 = graph.attention %x, %y, %z, %u {scale = 0.5 : f64} : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<2x2xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}

// -----
// case: or zero with nan_to_zero
// in: 1x2x1xf32=[[[1][1]]]
// in: 1x2x1xf32=[[[1][1]]]
// in: 1x2x1xf32=[[[3][5]]]
// in: 2x2xf32=[[-inf -inf][0 0]]
// out: 1x2x1xf32=[[[0][4]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2x1xf32> {graph.name = "x"}, %y: tensor<1x2x1xf32> {graph.name = "y"}, %z: tensor<1x2x1xf32> {graph.name = "z"}, %u: tensor<2x2xf32> {graph.name = "u"}) -> (tensor<1x2x1xf32> {graph.name = "r0"}) {
  %0 = graph.attention %x, %y, %z, %u {scale = 0.5 : f64, nan_to_zero} : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<2x2xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}
