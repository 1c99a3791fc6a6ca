// graph.cast: floats to integers truncate and saturate, to bool is != 0.
// RUN: graphc-op-test %s

// case: f32 to i32 truncates and saturates
// in: 4xf32=[1.9 -1.9 3e+09 -3e+09]
// out: 4xi32=[1 -1 2147483647 -2147483648]
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xi32> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----
// case: f32 to u8 saturates
// in: 4xf32=[-1 0.5 254.9 300]
// out: 4xu8=[0 0 254 255]
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xui8> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// -----
// case: f32 to bool
// in: 4xf32=[0 -0 0.5 nan]
// out: 4xbool=[0 0 1 1]
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xi1> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----
// case: i64 to f32
// in: 2xi64=[-3 16777217]
// out: 2xf32=[-3 1.6777216e+07]
func.func @main(%x: tensor<2xi64> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: u64 to f64
// in: 2xu64=[9223372036854775808 3]
// out: 2xf64=[9.223372036854776e+18 3]
func.func @main(%x: tensor<2xui64> {graph.name = "x"}) -> (tensor<2xf64> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xui64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----
// case: f32 to f16 rounds to even, overflows to inf
// in: 4xf32=[2049 2051 65520 1e-08]
// out: 4xf16=[2048 2052 inf 0]
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf16> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----
// case: f32 to bf16 rounds to even
// in: 3xf32=[1.0039062 1.0117188 3.4e+38]
// out: 3xbf16=[1 1.015625 inf]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xbf16> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<3xf32>) -> tensor<3xbf16>
  return %0 : tensor<3xbf16>
}

// -----
// case: bf16 to f32
// in: 2xbf16=[1.5 -2]
// out: 2xf32=[1.5 -2]
func.func @main(%x: tensor<2xbf16> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xbf16>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: bool to f32
// in: 2xbool=[1 0]
// out: 2xf32=[1 0]
func.func @main(%x: tensor<2xi1> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xi1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: i64 to i8 wraps
// in: 2xi64=[300 -129]
// out: 2xi8=[44 127]
func.func @main(%x: tensor<2xi64> {graph.name = "x"}) -> (tensor<2xi8> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xi64>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}

// -----
// case: i64 to bool
// in: 2xi64=[256 0]
// out: 2xbool=[1 0]
func.func @main(%x: tensor<2xi64> {graph.name = "x"}) -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xi64>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// -----
// case: f64 to f32
// in: 2xf64=[0.1 1e+300]
// out: 2xf32=[0.1 inf]
func.func @main(%x: tensor<2xf64> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.cast %x : (tensor<2xf64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
