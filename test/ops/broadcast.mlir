// graph.broadcast.
// RUN: graphc-op-test %s

// case: rows
// in: 3xf32=[1 2 3]
// out: 2x3xf32=[[1 2 3][1 2 3]]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.broadcast %x : (tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: size one repeats
// in: 2x1xi64=[[1][2]]
// out: 2x3xi64=[[1 1 1][2 2 2]]
func.func @main(%x: tensor<2x1xi64> {graph.name = "x"}) -> (tensor<2x3xi64> {graph.name = "r0"}) {
  %0 = graph.broadcast %x : (tensor<2x1xi64>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}

// -----
// case: rank 0
// in: f32=4
// out: 2x2xf32=[[4 4][4 4]]
func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<2x2xf32> {graph.name = "r0"}) {
  %0 = graph.broadcast %x : (tensor<f32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----
// case: symbolic
// in: 2x1xf32=[[1][2]]
// out: 2x2xf32=[[1 1][2 2]]
func.func @main(%x: tensor<?x1xf32, #graph.dims<[n, 1]>> {graph.name = "x"}) -> (tensor<?x?xf32, #graph.dims<[n, n]>> {graph.name = "r0"}) {
  %0 = graph.broadcast %x : (tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x?xf32, #graph.dims<[n, n]>>
  return %0 : tensor<?x?xf32, #graph.dims<[n, n]>>
}

// -----
// case: bool to higher rank
// in: 2xbool=[1 0]
// out: 2x1x2xbool=[[[1 0]][[1 0]]]
func.func @main(%x: tensor<2xi1> {graph.name = "x"}) -> (tensor<2x1x2xi1> {graph.name = "r0"}) {
  %0 = graph.broadcast %x : (tensor<2xi1>) -> tensor<2x1x2xi1>
  return %0 : tensor<2x1x2xi1>
}
