// graph.erf, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[-0.999593 -0.8427008 -0.5204999][0.2763264 0.8427008 0.9999779]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: zeros, infinities, NaN
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xf32=[0 -0 1 -1 nan]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf16=[[-0.9995 -0.843 -0.5205][0.2764 0.843 1]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[-2.5 -1]
// out: 2xf64=[-0.999593047982555 -0.8427007929497149]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=-1
// out: f32=-0.8427008
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// -----
// case: the ends are exact
// in: 5xf32=[-inf -6 4 30 inf]
// out: 5xf32=[-1 -1 1 1 1]
// tol: 0 0
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.erf %x : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
