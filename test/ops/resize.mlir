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

// -----
// case: cubic, half_pixel, doubled
// in: 1x1x4x4xf32=[[[[-1.9 0 -1.5 -1.3][1.4 -0.1 -1.3 0.69999999][-0.89999998 0.1 -0.89999998 0.1][0.5 0.1 -0.40000001 1.2]]]]
// out: 1x1x8x8xf32=[[[[-2.486258 -1.6824875 -0.33962554 -0.098611452 -1.0957489 -1.6803329 -1.5670853 -1.5098664][-1.1813614 -0.78486025 -0.11394348 -0.26845247 -1.1738999 -1.4748535 -1.0220459 -0.75796813][0.99969023 0.71518248 0.26257628 -0.55494231 -1.3094193 -1.1388305 -0.1197876 0.48920593][1.3088287 0.93622434 0.33667603 -0.52303159 -1.1959747 -0.88613284 0.25620118 0.94116819][-0.45924377 -0.2677063 0.061260987 -0.18963929 -0.90307313 -0.87313235 -0.12589112 0.31959838][-0.92521513 -0.58052063 -0.0020477294 -0.011427308 -0.62382048 -0.60236204 0.022039795 0.39461976][0.10141754 0.12441711 0.16982117 -0.080021665 -0.51239169 -0.2394226 0.58463746 1.0803925][0.70541686 0.53930205 0.2712509 -0.11756897 -0.44060975 -0.017601013 0.92345428 1.4914398]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x8x8xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 2.0, 2.0] {mode = "cubic", coordinates = "half_pixel"} : (tensor<1x1x4x4xf32>) -> tensor<1x1x8x8xf32>
  return %0 : tensor<1x1x8x8xf32>
}

// -----
// case: cubic, asymmetric, a = -0.5, outside excluded
// in: 1x1x4x4xf32=[[[[-1.9 0 -1.5 -1.3][1.4 -0.1 -1.3 0.69999999][-0.89999998 0.1 -0.89999998 0.1][0.5 0.1 -0.40000001 1.2]]]]
// out: 1x1x6x6xf32=[[[[-1.9 -0.50357145 -0.31111112 -1.5 -1.4068966 -1.2789474][0.50357145 0.1997449 -0.56917989 -1.3928572 -0.35701969 0.25714287][0.91111112 0.34140211 -0.5233196 -1.1851852 0.089782886 0.8206628][-0.89999998 -0.15000001 -0.15925926 -0.89999998 -0.21034482 0.20526315][0.034482758 0.12869458 -0.1265645 -0.52413791 0.46789536 1.0232304][0.64736843 0.30789474 -0.13469785 -0.34736842 0.84156078 1.4908587]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x6x6xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 1.5, 1.5] {mode = "cubic", coordinates = "asymmetric", cubic_a = -0.5 : f64, exclude_outside} : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32>
  return %0 : tensor<1x1x6x6xf32>
}

// -----
// case: linear, asymmetric, shrunk
// in: 1x1x4x4xf32=[[[[-1.9 0 -1.5 -1.3][1.4 -0.1 -1.3 0.69999999][-0.89999998 0.1 -0.89999998 0.1][0.5 0.1 -0.40000001 1.2]]]]
// out: 1x1x2x3xf32=[[[[-1.9 -0.5 -1.3666667][-0.89999998 -0.23333333 -0.23333333]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x2x3xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 0.5, 0.75] {mode = "linear", coordinates = "asymmetric"} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x3xf32>
  return %0 : tensor<1x1x2x3xf32>
}

// -----
// case: linear, pytorch_half_pixel, to one row
// in: 1x1x4x4xf32=[[[[-1.9 0 -1.5 -1.3][1.4 -0.1 -1.3 0.69999999][-0.89999998 0.1 -0.89999998 0.1][0.5 0.1 -0.40000001 1.2]]]]
// out: 1x1x1x2xf32=[[[[-0.94999999 -1.4]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x1x2xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 0.25, 0.5] {mode = "linear", coordinates = "pytorch_half_pixel"} : (tensor<1x1x4x4xf32>) -> tensor<1x1x1x2xf32>
  return %0 : tensor<1x1x1x2xf32>
}

// -----
// case: nearest, half_pixel, round_prefer_ceil, shrunk
// in: 1x1x4x4xf32=[[[[-1.9 0 -1.5 -1.3][1.4 -0.1 -1.3 0.69999999][-0.89999998 0.1 -0.89999998 0.1][0.5 0.1 -0.40000001 1.2]]]]
// out: 1x1x2x3xf32=[[[[1.4 -1.3 0.69999999][0.5 -0.40000001 1.2]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x2x3xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 0.5, 0.75] {mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_ceil"} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x3xf32>
  return %0 : tensor<1x1x2x3xf32>
}

// -----
// case: nearest, align_corners, ceil
// in: 1x1x4x4xf32=[[[[-1.9 0 -1.5 -1.3][1.4 -0.1 -1.3 0.69999999][-0.89999998 0.1 -0.89999998 0.1][0.5 0.1 -0.40000001 1.2]]]]
// out: 1x1x6x8xf32=[[[[-1.9 0 0 -1.5 -1.5 -1.3 -1.3 -1.3][1.4 -0.1 -0.1 -1.3 -1.3 0.69999999 0.69999999 0.69999999][-0.89999998 0.1 0.1 -0.89999998 -0.89999998 0.1 0.1 0.1][-0.89999998 0.1 0.1 -0.89999998 -0.89999998 0.1 0.1 0.1][0.5 0.1 0.1 -0.40000001 -0.40000001 1.2 1.2 1.2][0.5 0.1 0.1 -0.40000001 -0.40000001 1.2 1.2 1.2]]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x1x4x4xf32> {graph.name = "x"}) -> (tensor<1x1x6x8xf32> {graph.name = "r0"}) {
  %0 = graph.resize %x by [1.0, 1.0, 1.5, 2.0] {mode = "nearest", coordinates = "align_corners", nearest = "ceil"} : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x8xf32>
  return %0 : tensor<1x1x6x8xf32>
}
