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
