// graph.slice.
// RUN: graphc-op-test %s

// case: start and step
// in: 4x5xf32=[[0 1 2 3 4][5 6 7 8 9][10 11 12 13 14][15 16 17 18 19]]
// out: 2x3xf32=[[5 7 9][10 12 14]]
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.slice %x from <[1, 0]> step [1, 2] : (tensor<4x5xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: backwards
// in: 5xi64=[0 1 2 3 4]
// out: 2xi64=[4 2]
func.func @main(%x: tensor<5xi64> {graph.name = "x"}) -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.slice %x from <[4]> step [-2] : (tensor<5xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: empty result
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 2x0xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x0xf32> {graph.name = "r0"}) {
  %0 = graph.slice %x from <[0, 2]> step [1, 1] : (tensor<2x3xf32>) -> tensor<2x0xf32>
  return %0 : tensor<2x0xf32>
}

// -----
// case: symbolic start
// in: 4x6xf32=[[0 1 2 3 4 5][6 7 8 9 10 11][12 13 14 15 16 17][18 19 20 21 22 23]]
// out: 2x3xf32=[[13 15 17][19 21 23]]
func.func @main(%x: tensor<?x6xf32, #graph.dims<[n, 6]>> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.slice %x from <[n - 2, 1]> step [1, 2] : (tensor<?x6xf32, #graph.dims<[n, 6]>>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: everything backwards, both axes
// in: 4x6xi32=[[0 1 2 3 4 5][6 7 8 9 10 11][12 13 14 15 16 17][18 19 20 21 22 23]]
// out: 4x6xi32=[[23 22 21 20 19 18][17 16 15 14 13 12][11 10 9 8 7 6][5 4 3 2 1 0]]
func.func @main(%x: tensor<4x6xi32> {graph.name = "x"}) -> (tensor<4x6xi32> {graph.name = "r0"}) {
  %0 = graph.slice %x from <[3, 5]> step [-1, -1] : (tensor<4x6xi32>) -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}

// -----
// case: bools
// in: 4x6xbool=[[1 0 0 1 0 0][1 0 0 1 0 0][1 0 0 1 0 0][1 0 0 1 0 0]]
// out: 2x3xbool=[[0 1 0][0 1 0]]
func.func @main(%x: tensor<4x6xi1> {graph.name = "x"}) -> (tensor<2x3xi1> {graph.name = "r0"}) {
  %0 = graph.slice %x from <[0, 2]> step [3, 1] : (tensor<4x6xi1>) -> tensor<2x3xi1>
  return %0 : tensor<2x3xi1>
}
