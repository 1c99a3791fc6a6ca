// graph.std.
// RUN: graphc-op-test %s

// case: unbiased
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[1.83467042 1.83467042 2.01197577]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.std %x {axes = array<i64: 1>, correction = 1.0 : f64} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: biased over two axes, kept
// in: 3x5x1xf32=[[[-1.9375][0.375][2.6875][-1.0625][1.25]][[-2.5][-0.1875][2.125][-1.625][0.6875]][[3.0][-0.75][1.5625][-2.1875][0.125]]]
// out: 1x1x1xf32=[[[1.71977878]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5x1xf32> {graph.name = "x"}) -> (tensor<1x1x1xf32> {graph.name = "r0"}) {
  %0 = graph.std %x {axes = array<i64: 0, 1>, correction = 0.0 : f64, keep} : (tensor<3x5x1xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

// -----
// case: equal values
// in: 2x3xf32=[[2.5 2.5 2.5][2.5 2.5 2.5]]
// out: 2xf32=[0.0 0.0]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.std %x {axes = array<i64: 1>, correction = 1.0 : f64} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
