// graph.softplus, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[0.078889735 0.3132617 0.474077][0.8259394 1.3132616 3.0485873]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: zeros, infinities, NaN
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xf32=[0.6931472 0.6931472 inf 0 nan]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf16=[[0.0789 0.3132 0.474][0.826 1.313 3.049]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[-2.5 -1]
// out: 2xf64=[0.07888973429254963 0.31326168751822286]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=-1
// out: f32=0.3132617
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// -----
// case: far from zero
// in: 3xf32=[-100 100 -20]
// out: 3xf32=[3.8e-44 100 2.0611537e-09]
// tol: 1e-5 1e-30
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.softplus %x : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
