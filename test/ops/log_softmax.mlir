// graph.log_softmax.
// RUN: graphc-op-test %s

// case: last axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[-2.554957 -1.0549569 -0.5549569][-2.9317074 -2.1817074 -0.18170732]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: large values
// in: 1x3xf32=[[1000 1001 999]]
// out: 1x3xf32=[[-1.407606 -0.40760598 -2.407606]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
