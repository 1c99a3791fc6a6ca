// graph.prelu.
// RUN: graphc-op-test %s

// case: slope per channel
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[2 -0.5 4]
// out: 2x3xf32=[[-5 0.5 -2][0.25 1 3]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.prelu %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: f16
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf16=[2 -0.5 4]
// out: 2x3xf16=[[-5 0.5 -2][0.25 1 3]]
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}, %y: tensor<3xf16> {graph.name = "y"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.prelu %x, %y : (tensor<2x3xf16>, tensor<3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: slope per channel, -0 and NaN
// in: 2x3xf32=[[-2 -0 nan][3 -1 inf]]
// in: 2x1xf32=[[0.5][0.25]]
// out: 2x3xf32=[[-1 -0 nan][3 -0.25 inf]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x1xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.prelu %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
