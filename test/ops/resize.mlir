// graph.resize.
// RUN: graphc-op-test %s

// case: nearest, asymmetric, floor
// in: 1x1x2x2xf32=[[[[1 2][3 4]]]]
// out: 1x1x4x4xf32=[[[[1 1 2 2][1 1 2 2][3 3 4 4][3 3 4 4]]]]
func.func @main(%x: tensor<1x1x2x2xf32> {graph.name = "x"}) -> (tensor<1x1x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 2.0, 2.0] {coordinates = "asymmetric", nearest = "floor"} : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  return %0 : tensor<1x1x4x4xf32>
}

// -----
// case: linear, half_pixel
// in: 1x1x2x2xf32=[[[[1 2][3 4]]]]
// out: 1x1x4x4xf32=[[[[1 1.25 1.75 2][1.5 1.75 2.25 2.5][2.5 2.75 3.25 3.5][3 3.25 3.75 4]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x2x2xf32> {graph.name = "x"}) -> (tensor<1x1x4x4xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 2.0, 2.0] {mode = "linear"} : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  return %0 : tensor<1x1x4x4xf32>
}

// -----
// case: linear, align_corners
// in: 1x1x2x2xf32=[[[[1 2][3 4]]]]
// out: 1x1x3x3xf32=[[[[1 1.5 2][2 2.5 3][3 3.5 4]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x2x2xf32> {graph.name = "x"}) -> (tensor<1x1x3x3xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 1.5, 1.5] {mode = "linear", coordinates = "align_corners"} : (tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32>
  return %0 : tensor<1x1x3x3xf32>
}
