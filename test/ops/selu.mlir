// graph.selu, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[-1.6137857 -1.1113307 -0.6917582][0.26267526 1.050701 3.152103]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.selu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf16=[[-1.614 -1.111 -0.692][0.2627 1.051 3.152]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.selu %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[-2.5 -1]
// out: 2xf64=[-1.6137857639177855 -1.1113307412864784]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.selu %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=-1
// out: f32=-1.1113307
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.selu %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.selu %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
