// graph.pow, elementwise with broadcasting.
// RUN: graphc-op-test %s

// case: broadcasts at the right
// in: 2x3xf32=[[0.1 0.5 1][2 3.5 40]]
// in: 3xf32=[2 -0.5 4]
// out: 2x3xf32=[[0.010000001 1.4142135 1][4 0.5345225 2560000]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: both broadcast
// in: 2x1xf32=[[0.1][2]]
// in: 3xf32=[2 -0.5 4]
// out: 2x3xf32=[[0.010000001 3.1622777 0.000100000005][4 0.70710677 16]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x1xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: rank 0
// in: f32=0.1
// in: f32=2
// out: f32=0.010000001
// tol: 1e-5 1e-6
func.func @main(%x: tensor<f32> {graph.name = "x"}, %y: tensor<f32> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x2xf32=[]
// in: 1x2xf32=[[0 0]]
// out: 0x2xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x2xf32> {graph.name = "x"}, %y: tensor<1x2xf32> {graph.name = "y"}) -> (tensor<0x2xf32> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<0x2xf32>, tensor<1x2xf32>) -> tensor<0x2xf32>
  return %0 : tensor<0x2xf32>
}

// -----
// case: f16
// in: 2x3xf16=[[0.1 0.5 1][2 3.5 40]]
// in: 3xf16=[2 -0.5 4]
// out: 2x3xf16=[[0.009995 1.414 1][4 0.5347 inf]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}, %y: tensor<3xf16> {graph.name = "y"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<2x3xf16>, tensor<3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: bf16
// in: 2x3xbf16=[[0.10009765625 0.5 1][2 3.5 40]]
// in: 3xbf16=[2 -0.5 4]
// out: 2x3xbf16=[[0.010009765625 1.4140625 1][4 0.53515625 2555904]]
// tol: 8e-3 1e-3
func.func @main(%x: tensor<2x3xbf16> {graph.name = "x"}, %y: tensor<3xbf16> {graph.name = "y"}) -> (tensor<2x3xbf16> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  return %0 : tensor<2x3xbf16>
}

// -----
// case: negative base, whole exponent
// in: 5xf32=[-2 -2 -2 0 4]
// in: 5xf32=[3 2 -1 0 0.5]
// out: 5xf32=[-8 4 -0.5 1 2]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<5xf32> {graph.name = "x"}, %y: tensor<5xf32> {graph.name = "y"}) -> (tensor<5xf32> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// case: integers
// in: 3xi64=[2 3 -2]
// in: 3xi64=[10 0 3]
// out: 3xi64=[1024 1 -8]
func.func @main(%x: tensor<3xi64> {graph.name = "x"}, %y: tensor<3xi64> {graph.name = "y"}) -> (tensor<3xi64> {graph.name = "r0"}) {
  %0 = graph.pow %x, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
