// graph.rsqrt, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[0.1 0.5 1][2 3.5 40]]
// out: 2x3xf32=[[3.1622777 1.4142135 1][0.70710677 0.5345225 0.15811388]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.rsqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: zeros, infinities, NaN
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xf32=[inf -inf 0 nan nan]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.rsqrt %x : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[0.1 0.5 1][2 3.5 40]]
// out: 2x3xf16=[[3.162 1.414 1][0.707 0.5347 0.1581]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.rsqrt %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[0.10000000149011612 0.5]
// out: 2xf64=[3.162277636607575 1.414213562373095]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.rsqrt %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=0.5
// out: f32=1.4142135
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.rsqrt %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.rsqrt %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
