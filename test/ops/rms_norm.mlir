// graph.rms_norm.
// RUN: graphc-op-test %s

// case: last axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[1 2 0.5]
// out: 2x3xf32=[[-1.5811356 -1.2649086 -0.15811357][0.13650452 1.0920361 0.8190271]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.rms_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: rank 3, last axis
// in: 3x1x4xf32=[[[-0.63999999 -0.91000003 1.8099999 -0.22]][[1.92 0.059999999 0.079999998 1.59]][[0.97000003 0.31999999 -0.28999999 1.51]]]
// in: 4xf32=[-0.34999999 1.6900001 -1.73 -0.28]
// out: 3x1x4xf32=[[[0.20974454 -1.4400275 -2.9320226 0.05767975]][[-0.53869987 0.081285968 -0.11094653 -0.35688868]][[-0.36783376 0.58593374 0.54357052 -0.45808575]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x1x4xf32> {graph.name = "x"}, %y: tensor<4xf32> {graph.name = "y"}) -> (tensor<3x1x4xf32> {graph.name = "r0"}) {
  %0 = graph.rms_norm %x, %y {axis = 2 : i64, epsilon = 1.0e-6 : f64} : (tensor<3x1x4xf32>, tensor<4xf32>) -> tensor<3x1x4xf32>
  return %0 : tensor<3x1x4xf32>
}

// -----
// case: two axes
// in: 2x2x3xf32=[[[0.079999998 1.8 -1][1.22 0.70999998 0.87]][[0.51999998 1.89 -0.67000002][-0.41 -1.1900001 -1.8]]]
// in: 2x3xf32=[[-1.15 1.66 1.36][-1.55 0.41999999 -0.079999998]]
// out: 2x2x3xf32=[[[-0.071277864 2.314981 -1.0536728][-1.46507 0.23103324 -0.053923253]][[-0.42082772 2.2078676 -0.64123452][0.4472174 -0.35172191 0.10133643]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x2x3xf32> {graph.name = "x"}, %y: tensor<2x3xf32> {graph.name = "y"}) -> (tensor<2x2x3xf32> {graph.name = "r0"}) {
  %0 = graph.rms_norm %x, %y {axis = 1 : i64, epsilon = 0.5 : f64} : (tensor<2x2x3xf32>, tensor<2x3xf32>) -> tensor<2x2x3xf32>
  return %0 : tensor<2x2x3xf32>
}

// -----
// case: f16 computed in f32
// in: 2x6xf16=[[114 192 -231 555 -42 153][162 -378 -525 -105 318 378]]
// in: 6xf16=[0.91992 -1.5498 1.6504 1.21 1.5098 0.090027]
// out: 2x6xf16=[[0.38892 -1.1035 -1.4141 2.4902 -0.23511 0.051086][0.43628 1.7158 -2.5371 -0.37207 1.4062 0.09967]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x6xf16> {graph.name = "x"}, %y: tensor<6xf16> {graph.name = "y"}) -> (tensor<2x6xf16> {graph.name = "r0"}) {
  %0 = graph.rms_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-6 : f64} : (tensor<2x6xf16>, tensor<6xf16>) -> tensor<2x6xf16>
  return %0 : tensor<2x6xf16>
}

// -----
// case: a row of zeros
// in: 1x3xf32=[[0 0 0]]
// in: 3xf32=[1 1 1]
// out: 1x3xf32=[[0 0 0]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.rms_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-6 : f64} : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
