// graph.logsumexp.
// RUN: graphc-op-test %s

// case: one axis
// in: 3x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125]]
// out: 3xf32=[3.00220537 2.43970537 3.2799325]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.logsumexp %x {axes = array<i64: 1>} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: two axes, kept
// in: 3x5x1xf32=[[[-1.9375][0.375][2.6875][-1.0625][1.25]][[-2.5][-0.1875][2.125][-1.625][0.6875]][[3.0][-0.75][1.5625][-2.1875][0.125]]]
// out: 1x1x1xf32=[[[4.06343031]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5x1xf32> {graph.name = "x"}) -> (tensor<1x1x1xf32> {graph.name = "r0"}) {
  %0 = graph.logsumexp %x {axes = array<i64: 0, 1>, keep} : (tensor<3x5x1xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

// -----
// case: large values, and nothing but -inf
// in: 3x3xf32=[[1000.0 1000.0 -inf][-inf -inf -inf][inf 0.0 1.0]]
// out: 3xf32=[1000.69318 -inf inf]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.logsumexp %x {axes = array<i64: 1>} : (tensor<3x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
