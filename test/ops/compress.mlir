// graph.compress.
// RUN: graphc-op-test %s

// case: rows
// in: 3x2xf32=[[1 2][3 4][5 6]]
// in: 3xbool=[0 1 1]
// out: 2x2xf32=[[3 4][5 6]]
func.func @main(%x: tensor<3x2xf32> {graph.name = "x"}, %y: tensor<3xi1> {graph.name = "y"}) -> (tensor<?x2xf32, #graph.dims<[k, 2]>> {graph.name = "r0"}) {
  %0 = graph.compress %x, %y {axis = 0 : i64} : (tensor<3x2xf32>, tensor<3xi1>) -> tensor<?x2xf32, #graph.dims<[k, 2]>>
  return %0 : tensor<?x2xf32, #graph.dims<[k, 2]>>
}

// -----
// case: flat, short condition
// in: 2x2xf32=[[1 2][3 4]]
// in: 3xbool=[0 1 1]
// out: 2xf32=[2 3]
func.func @main(%x: tensor<2x2xf32> {graph.name = "x"}, %y: tensor<3xi1> {graph.name = "y"}) -> (tensor<?xf32, #graph.dims<[k]>> {graph.name = "r0"}) {
  %0 = graph.compress %x, %y : (tensor<2x2xf32>, tensor<3xi1>) -> tensor<?xf32, #graph.dims<[k]>>
  return %0 : tensor<?xf32, #graph.dims<[k]>>
}

// -----
// case: flattened, short condition
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 4xbool=[0 1 0 1]
// out: 2xf32=[1 3]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<4xi1> {graph.name = "y"}) -> (tensor<?xf32, #graph.dims<[k]>> {graph.name = "r0"}) {
  %0 = graph.compress %x, %y : (tensor<2x3xf32>, tensor<4xi1>) -> tensor<?xf32, #graph.dims<[k]>>
  return %0 : tensor<?xf32, #graph.dims<[k]>>
}
