// graph.nonzero.
// RUN: graphc-op-test %s

// case: 2-d
// in: 2x2xf32=[[1 0][0 2]]
// out: 2x2xi64=[[0 1][0 1]]
func.func @main(%x: tensor<2x2xf32> {graph.name = "x"}) -> (tensor<2x?xi64, #graph.dims<[2, k]>> {graph.name = "r0"}) {
  %0 = graph.nonzero %x : (tensor<2x2xf32>) -> tensor<2x?xi64, #graph.dims<[2, k]>>
  return %0 : tensor<2x?xi64, #graph.dims<[2, k]>>
}

// -----
// case: none
// in: 3xf32=[0 0 0]
// out: 1x0xi64=[]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<1x?xi64, #graph.dims<[1, k]>> {graph.name = "r0"}) {
  %0 = graph.nonzero %x : (tensor<3xf32>) -> tensor<1x?xi64, #graph.dims<[1, k]>>
  return %0 : tensor<1x?xi64, #graph.dims<[1, k]>>
}

// -----
// case: bools
// in: 3xbool=[0 1 1]
// out: 1x2xi64=[[1 2]]
func.func @main(%x: tensor<3xi1> {graph.name = "x"}) -> (tensor<1x?xi64, #graph.dims<[1, k]>> {graph.name = "r0"}) {
  %0 = graph.nonzero %x : (tensor<3xi1>) -> tensor<1x?xi64, #graph.dims<[1, k]>>
  return %0 : tensor<1x?xi64, #graph.dims<[1, k]>>
}

// -----
// case: rank 3
// in: 2x2x2xbool=[[[1 0][0 1]][[0 0][1 0]]]
// out: 3x3xi64=[[0 0 1][0 1 1][0 1 0]]
func.func @main(%x: tensor<2x2x2xi1> {graph.name = "x"}) -> (tensor<3x?xi64, #graph.dims<[3, k]>> {graph.name = "r0"}) {
  %0 = graph.nonzero %x : (tensor<2x2x2xi1>) -> tensor<3x?xi64, #graph.dims<[3, k]>>
  return %0 : tensor<3x?xi64, #graph.dims<[3, k]>>
}
