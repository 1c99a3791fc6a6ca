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

// -----
// case: middle axis
// in: 2x3x2xf32=[[[1 -1.24][1.66 -1.13][1.08 -1.73]][[-0.11 -1.87][-0.74000001 -0.75][0.88 -0.18000001]]]
// out: 2x3x2xf32=[[[-1.3908041 -1.0039003][-0.73080409 -0.89390022][-1.310804 -1.4939003]][[-1.4407414 -2.2496414][-2.0707414 -1.1296415][-0.45074141 -0.55964148]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3x2xf32> {graph.name = "x"}) -> (tensor<2x3x2xf32> {graph.name = "r0"}) {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  return %0 : tensor<2x3x2xf32>
}

// -----
// case: far apart and infinite
// in: 3x2xf32=[[1000 1001][-1000 -1002][0 -inf]]
// out: 3x2xf32=[[-1.3132616 -0.31326169][-0.12692802 -2.1269281][0 -inf]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x2xf32> {graph.name = "x"}) -> (tensor<3x2xf32> {graph.name = "r0"}) {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----
// case: f16
// in: 1x3xf16=[[1 2 3]]
// out: 1x3xf16=[[-2.4082 -1.4072 -0.40771]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<1x3xf16> {graph.name = "x"}) -> (tensor<1x3xf16> {graph.name = "r0"}) {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<1x3xf16>) -> tensor<1x3xf16>
  return %0 : tensor<1x3xf16>
}

// -----
// case: symbolic
// in: 2x4xf32=[[-1.77 1.98 1.55 1.67][-1.01 -0.41999999 -1.09 -1.5]]
// out: 2x4xf32=[[-4.6285777 -0.87857795 -1.308578 -1.188578][-1.4678124 -0.87781239 -1.5478125 -1.9578124]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<?x?xf32, #graph.dims<[n, m]>> {graph.name = "x"}) -> (tensor<?x?xf32, #graph.dims<[n, m]>> {graph.name = "r0"}) {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<?x?xf32, #graph.dims<[n, m]>>) -> tensor<?x?xf32, #graph.dims<[n, m]>>
  return %0 : tensor<?x?xf32, #graph.dims<[n, m]>>
}
