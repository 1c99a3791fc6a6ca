// graph.pad.
// RUN: graphc-op-test %s

// case: constant
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 3x5xf32=[[9 9 9 9 9][0 1 2 9 9][3 4 5 9 9]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<3x5xf32> {graph.name = "r0"}) {
  %0 = graph.pad %x low [1, 0] {value = 9.0 : f64} : (tensor<2x3xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----
// case: edge
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 4x6xf32=[[0 0 0 1 2 2][0 0 0 1 2 2][3 3 3 4 5 5][3 3 3 4 5 5]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<4x6xf32> {graph.name = "r0"}) {
  %0 = graph.pad %x low [1, 2] {mode = "edge"} : (tensor<2x3xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----
// case: reflect
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 4x6xf32=[[5 4 3 4 5 4][2 1 0 1 2 1][5 4 3 4 5 4][2 1 0 1 2 1]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<4x6xf32> {graph.name = "r0"}) {
  %0 = graph.pad %x low [1, 2] {mode = "reflect"} : (tensor<2x3xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----
// case: wrap
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 4x6xf32=[[4 5 3 4 5 3][1 2 0 1 2 0][4 5 3 4 5 3][1 2 0 1 2 0]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<4x6xf32> {graph.name = "r0"}) {
  %0 = graph.pad %x low [1, 2] {mode = "wrap"} : (tensor<2x3xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----
// case: negative crops
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 3x2xf32=[[1 2][4 5][0 0]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<3x2xf32> {graph.name = "r0"}) {
  %0 = graph.pad %x low [0, -1] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----
// case: i64
// in: 2xi64=[1 2]
// out: 4xi64=[-1 1 2 -1]
func.func @main(%x: tensor<2xi64> {graph.name = "x"}) -> (tensor<4xi64> {graph.name = "r0"}) {
  %0 = graph.pad %x low [1] {value = -1.0 : f64} : (tensor<2xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----
// case: symbolic size, constant
// in: 3xf32=[1 2 3]
// out: 6xf32=[-1 1 2 3 -1 -1]
func.func @main(%x: tensor<?xf32, #graph.dims<[n]>> {graph.name = "x"}) -> (tensor<?xf32, #graph.dims<[n + 3]>> {graph.name = "r0"}) {
  %0 = graph.pad %x low [1] {value = -1.0 : f64} : (tensor<?xf32, #graph.dims<[n]>>) -> tensor<?xf32, #graph.dims<[n + 3]>>
  return %0 : tensor<?xf32, #graph.dims<[n + 3]>>
}

// -----
// case: reflect further than once
// in: 3xf32=[1 2 3]
// out: 9xf32=[1 2 3 2 1 2 3 2 1]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<9xf32> {graph.name = "r0"}) {
  %0 = graph.pad %x low [4] {mode = "reflect"} : (tensor<3xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
