// graph.reshape keeps the row-major order.
// RUN: graphc-op-test %s

// case: row-major
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 3x2xf32=[[0 1][2 3][4 5]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<3x2xf32> {graph.name = "r0"}) {
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----
// case: to rank 0
// in: 1x1xf32=[[5]]
// out: f32=5
func.func @main(%x: tensor<1x1xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.reshape %x : (tensor<1x1xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x2xf32=[]
// out: 3x0xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x2xf32> {graph.name = "x"}) -> (tensor<3x0xf32> {graph.name = "r0"}) {
  %0 = graph.reshape %x : (tensor<0x2xf32>) -> tensor<3x0xf32>
  return %0 : tensor<3x0xf32>
}

// -----
// case: symbolic: a dim is split
// in: 2x6xf32=[[0 1 2 3 4 5][6 7 8 9 10 11]]
// out: 2x2x3xf32=[[[0 1 2][3 4 5]][[6 7 8][9 10 11]]]
func.func @main(%x: tensor<?x6xf32, #graph.dims<[n, 6]>> {graph.name = "x"}) -> (tensor<?x2x3xf32, #graph.dims<[n, 2, 3]>> {graph.name = "r0"}) {
  %0 = graph.reshape %x : (tensor<?x6xf32, #graph.dims<[n, 6]>>) -> tensor<?x2x3xf32, #graph.dims<[n, 2, 3]>>
  return %0 : tensor<?x2x3xf32, #graph.dims<[n, 2, 3]>>
}

// -----
// case: to rank 0
// in: 1x1xi64=[[7]]
// out: i64=7
func.func @main(%x: tensor<1x1xi64> {graph.name = "x"}) -> (tensor<i64> {graph.name = "r0"}) {
  %0 = graph.reshape %x : (tensor<1x1xi64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// -----
// case: empty
// in: 0x3xf32=[]
// out: 3x0x2xf32=[]
func.func @main(%x: tensor<0x3xf32> {graph.name = "x"}) -> (tensor<3x0x2xf32> {graph.name = "r0"}) {
  %0 = graph.reshape %x : (tensor<0x3xf32>) -> tensor<3x0x2xf32>
  return %0 : tensor<3x0x2xf32>
}
