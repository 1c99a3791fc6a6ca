// graph.matmul of the last two axes.
// RUN: graphc-op-test %s

// case: 2-d
// in: 2x3xf32=[[-2 -1 0][1 2 3]]
// in: 3x4xf32=[[-1.5 -0.5 0.5 1.5][2.5 -1.5 -0.5 0.5][1.5 2.5 -1.5 -0.5]]
// out: 2x4xf32=[[0.5 2.5 -0.5 -3.5][8 4 -5 1]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3x4xf32> {graph.name = "y"}) -> (tensor<2x4xf32> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----
// case: transposed operands
// in: 3x2xf32=[[-2 1][-1 2][0 3]]
// in: 4x3xf32=[[-1.5 2.5 1.5][-0.5 -1.5 2.5][0.5 -0.5 -1.5][1.5 0.5 -0.5]]
// out: 2x4xf32=[[0.5 2.5 -0.5 -3.5][8 4 -5 1]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x2xf32> {graph.name = "x"}, %y: tensor<4x3xf32> {graph.name = "y"}) -> (tensor<2x4xf32> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y {transpose_lhs, transpose_rhs} : (tensor<3x2xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----
// case: batches broadcast
// in: 2x2x3xf32=[[[-5 -4 -3][-2 -1 0]][[1 2 3][4 5 6]]]
// in: 1x3x4xf32=[[[-2 -1 0 1][2 3 4 -2][-1 0 1 2]]]
// out: 2x2x4xf32=[[[5 -7 -19 -3][2 -1 -4 0]][[-1 5 11 3][-4 11 26 6]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x2x3xf32> {graph.name = "x"}, %y: tensor<1x3x4xf32> {graph.name = "y"}) -> (tensor<2x2x4xf32> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y : (tensor<2x2x3xf32>, tensor<1x3x4xf32>) -> tensor<2x2x4xf32>
  return %0 : tensor<2x2x4xf32>
}

// -----
// case: i32
// in: 2x3xi32=[[-2 -1 0][1 2 3]]
// in: 3x4xi32=[[-3 -1 1 3][5 -3 -1 1][3 5 -3 -1]]
// out: 2x4xi32=[[1 5 -1 -7][16 8 -10 2]]
func.func @main(%x: tensor<2x3xi32> {graph.name = "x"}, %y: tensor<3x4xi32> {graph.name = "y"}) -> (tensor<2x4xi32> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return %0 : tensor<2x4xi32>
}

// -----
// case: f16 accumulates in f32
// in: 2x3xf16=[[-2 -1 0][1 2 3]]
// in: 3x4xf16=[[-1.5 -0.5 0.5 1.5][2.5 -1.5 -0.5 0.5][1.5 2.5 -1.5 -0.5]]
// out: 2x4xf16=[[0.5 2.5 -0.5 -3.5][8 4 -5 1]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}, %y: tensor<3x4xf16> {graph.name = "y"}) -> (tensor<2x4xf16> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// -----
// case: f64
// in: 2x3xf64=[[-2 -1 0][1 2 3]]
// in: 3x4xf64=[[-1.5 -0.5 0.5 1.5][2.5 -1.5 -0.5 0.5][1.5 2.5 -1.5 -0.5]]
// out: 2x4xf64=[[0.5 2.5 -0.5 -3.5][8 4 -5 1]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf64> {graph.name = "x"}, %y: tensor<3x4xf64> {graph.name = "y"}) -> (tensor<2x4xf64> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}

// -----
// case: K of 0 gives zeros
// in: 2x0xf32=[]
// in: 0x3xf32=[]
// out: 2x3xf32=[[0 0 0][0 0 0]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x0xf32> {graph.name = "x"}, %y: tensor<0x3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.matmul %x, %y : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
