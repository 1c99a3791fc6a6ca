// graph.log1p, elementwise.
// RUN: graphc-op-test %s

// case: values
// in: 2x3xf32=[[0.1 0.5 1][2 3.5 40]]
// out: 2x3xf32=[[0.09531018 0.4054651 0.6931472][1.0986123 1.5040774 3.713572]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.log1p %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: zeros, infinities, NaN
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xf32=[0 -0 inf nan nan]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.log1p %x : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// case: f16 computes in f32 and rounds once
// in: 2x3xf16=[[0.1 0.5 1][2 3.5 40]]
// out: 2x3xf16=[[0.0953 0.4055 0.6934][1.099 1.504 3.713]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.log1p %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: f64
// in: 2xf64=[0.10000000149011612 0.5]
// out: 2xf64=[0.09531018115897588 0.4054651081081644]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.log1p %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: rank 0
// in: f32=0.5
// out: f32=0.4054651
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.log1p %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 0x3xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.log1p %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
