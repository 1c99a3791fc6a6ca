// graph.norm.
// RUN: graphc-op-test %s

// case: p = 2.0
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[3.71599174 3.73015594 4.09935188]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, p = 2.0 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: p = 1.0
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[7.3125 7.125 7.625]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, p = 1.0 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: p = 0.0
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[5.0 5.0 5.0]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, p = 0.0 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: p = 3.5
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[2.97466469 2.9565165 3.32996893]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, p = 3.5 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: p = inf
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[2.6875 2.5 3.0]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, p = 0x7FF0000000000000 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: p = -inf
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[0.375 0.1875 0.125]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, p = 0xFFF0000000000000 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: zeros, kept
// in: 2x3xf32=[[0.0 0.0 0.0][0.0 0.0 0.0]]
// out: 2x1xf32=[[0.0][0.0]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x1xf32> {graph.name = "r0"}) {
  %0 = graph.norm %x {axes = array<i64: 1>, keep, p = 2.0 : f64} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}
