// graph.transpose.
// RUN: graphc-op-test %s

// case: 2-d
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 3x2xf32=[[0 3][1 4][2 5]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<3x2xf32> {graph.name = "r0"}) {
  %0 = graph.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----
// case: 3-d
// in: 2x3x4xi32=[[[0 1 2 3][4 5 6 7][8 9 10 11]][[12 13 14 15][16 17 18 19][20 21 22 23]]]
// out: 4x2x3xi32=[[[0 4 8][12 16 20]][[1 5 9][13 17 21]][[2 6 10][14 18 22]][[3 7 11][15 19 23]]]
func.func @main(%x: tensor<2x3x4xi32> {graph.name = "x"}) -> (tensor<4x2x3xi32> {graph.name = "r0"}) {
  %0 = graph.transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xi32>) -> tensor<4x2x3xi32>
  return %0 : tensor<4x2x3xi32>
}

// -----
// case: bool
// in: 1x2xbool=[[1 0]]
// out: 2x1xbool=[[1][0]]
func.func @main(%x: tensor<1x2xi1> {graph.name = "x"}) -> (tensor<2x1xi1> {graph.name = "r0"}) {
  %0 = graph.transpose %x {perm = array<i64: 1, 0>} : (tensor<1x2xi1>) -> tensor<2x1xi1>
  return %0 : tensor<2x1xi1>
}

// -----
// case: symbolic, rank 4
// in: 1x2x3x4xf32=[[[[0 1 2 3][4 5 6 7][8 9 10 11]][[12 13 14 15][16 17 18 19][20 21 22 23]]]]
// out: 1x3x4x2xf32=[[[[0 12][1 13][2 14][3 15]][[4 16][5 17][6 18][7 19]][[8 20][9 21][10 22][11 23]]]]
func.func @main(%x: tensor<?x?x?x?xf32, #graph.dims<[n, c, h, w]>> {graph.name = "x"}) -> (tensor<?x?x?x?xf32, #graph.dims<[n, h, w, c]>> {graph.name = "r0"}) {
  %0 = graph.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<?x?x?x?xf32, #graph.dims<[n, c, h, w]>>) -> tensor<?x?x?x?xf32, #graph.dims<[n, h, w, c]>>
  return %0 : tensor<?x?x?x?xf32, #graph.dims<[n, h, w, c]>>
}

// -----
// case: empty
// in: 2x0xf32=[]
// out: 0x2xf32=[]
func.func @main(%x: tensor<2x0xf32> {graph.name = "x"}) -> (tensor<0x2xf32> {graph.name = "r0"}) {
  %0 = graph.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x0xf32>) -> tensor<0x2xf32>
  return %0 : tensor<0x2xf32>
}
