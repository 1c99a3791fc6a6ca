// graph.reduce over axes.
// RUN: graphc-op-test %s

// case: sum: last axis
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2xf32=[2 3]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "sum" %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: sum: first axis, kept
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 1x3xf32=[[5 3 -3]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "sum" %x axes [0] keep : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----
// case: sum: all
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: f32=5
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.reduce "sum" %x axes [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: sum: i32, middle
// in: 2x3x4xi32=[[[0 1 2 3][4 5 6 7][8 9 10 11]][[12 13 14 15][16 17 18 19][20 21 22 23]]]
// out: 2x4xi32=[[12 15 18 21][48 51 54 57]]
func.func @main(%x: tensor<2x3x4xi32> {graph.name = "x"}) -> (tensor<2x4xi32> {graph.name = "r0"}) {
  %0 = graph.reduce "sum" %x axes [1] : (tensor<2x3x4xi32>) -> tensor<2x4xi32>
  return %0 : tensor<2x4xi32>
}

// -----
// case: sum: of nothing is 0
// in: 0x2xf32=[]
// out: 2xf32=[0 0]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "sum" %x axes [0] : (tensor<0x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: prod: last axis
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2xf32=[-6 -120]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "prod" %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: prod: of nothing is 1
// in: 2x0xf32=[]
// out: 2xf32=[1 1]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x0xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "prod" %x axes [1] : (tensor<2x0xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: max: last axis
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2xf32=[3 5]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "max" %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: min: last axis
// in: 2x3xf32=[[1 -2 3][4 5 -6]]
// out: 2xf32=[-2 -6]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "min" %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: max: NaN wins
// in: 1x3xf32=[[1 nan 3]]
// out: 1xf32=[nan]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}) -> (tensor<1xf32> {graph.name = "r0"}) {
  %0 = graph.reduce "max" %x axes [1] : (tensor<1x3xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----
// case: max: i64
// in: 1x2xi64=[[3 -5]]
// out: 1xi64=[3]
func.func @main(%x: tensor<1x2xi64> {graph.name = "x"}) -> (tensor<1xi64> {graph.name = "r0"}) {
  %0 = graph.reduce "max" %x axes [1] : (tensor<1x2xi64>) -> tensor<1xi64>
  return %0 : tensor<1xi64>
}

// -----
// case: min: u8
// in: 1x2xu8=[[200 5]]
// out: 1xu8=[5]
func.func @main(%x: tensor<1x2xui8> {graph.name = "x"}) -> (tensor<1xui8> {graph.name = "r0"}) {
  %0 = graph.reduce "min" %x axes [1] : (tensor<1x2xui8>) -> tensor<1xui8>
  return %0 : tensor<1xui8>
}

// -----
// case: any: rows
// in: 2x2xbool=[[1 0][0 0]]
// out: 2xbool=[1 0]
func.func @main(%x: tensor<2x2xi1> {graph.name = "x"}) -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.reduce "any" %x axes [1] : (tensor<2x2xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// -----
// case: all: rows
// in: 2x2xbool=[[1 0][1 1]]
// out: 2xbool=[0 1]
func.func @main(%x: tensor<2x2xi1> {graph.name = "x"}) -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.reduce "all" %x axes [1] : (tensor<2x2xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}
