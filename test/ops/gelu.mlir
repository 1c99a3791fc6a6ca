// graph.gelu, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[-0.015524163 -0.15865526 -0.15426877][0.14967658 0.8413448 2.9959502]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.gelu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf16=[[-0.015526 -0.1587 -0.1543][0.1497 0.8413 2.996]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.gelu %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[-2.5 -1]
// out: 2xf64=[-0.015524163314440398 -0.15865525393145707]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.gelu %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=-1
// out: f32=-0.15865526
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.gelu %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.gelu %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// -----
// case: tanh form
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[-0.015084266 -0.15880801 -0.154286][0.14967535 0.841192 2.9963627]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.gelu %x {tanh} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: far from zero the tails are exact
// in: 6xf32=[-10 -1000000 -1e20 -inf 1000000 inf]
// out: 6xf32=[0 0 0 nan 1000000 inf]
// tol: 1e-6 1e-12
func.func @main(%x: tensor<6xf32> {graph.name = "x"}) -> (tensor<6xf32> {graph.name = "r0"}) {
  %0 = graph.gelu %x : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
