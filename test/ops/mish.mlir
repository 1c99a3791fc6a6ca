// graph.mish, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[-0.1968162 -0.30340147 -0.22074378][0.16957241 0.8650984 2.986535]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.mish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf16=[[-0.1968 -0.3035 -0.2207][0.1696 0.865 2.986]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.mish %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[-2.5 -1]
// out: 2xf64=[-0.19681620390653332 -0.30340146137410895]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.mish %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=-1
// out: f32=-0.30340147
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.mish %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.mish %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
