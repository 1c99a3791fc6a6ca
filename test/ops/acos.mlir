// graph.acos, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[-0.9 -0.5 -0.1][0 0.3 0.99]]
// out: 2x3xf32=[[2.6905658 2.0943952 1.6709638][1.5707964 1.2661036 0.14153941]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: zeros, infinities, NaN
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xf32=[1.5707964 1.5707964 nan nan nan]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.acos %x : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[-0.9 -0.5 -0.1][0 0.3 0.99]]
// out: 2x3xf16=[[2.69 2.094 1.671][1.57 1.266 0.1399]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.acos %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[-0.8999999761581421 -0.5]
// out: 2xf64=[2.6905657870965607 2.0943951023931957]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.acos %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=-0.5
// out: f32=2.0943952
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.acos %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.acos %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
