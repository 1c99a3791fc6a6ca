// graph.gather.
// RUN: graphc-op-test %s

// case: axis 0, negative index
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x2xi64=[[0 -1][1 0]]
// out: 2x2x3xf32=[[[0 1 2][3 4 5]][[3 4 5][0 1 2]]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x2xi64> {graph.name = "y"}) -> (tensor<2x2x3xf32> {graph.name = "r0"}) {
  %0 = graph.gather %x, %y : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2x3xf32>
  return %0 : tensor<2x2x3xf32>
}

// -----
// case: axis 1
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2xi64=[2 0]
// out: 2x2xf32=[[2 0][5 3]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2xi64> {graph.name = "y"}) -> (tensor<2x2xf32> {graph.name = "r0"}) {
  %0 = graph.gather %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----
// case: scalar index
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: i64=1
// out: 3xf32=[3 4 5]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<3xf32> {graph.name = "r0"}) {
  %0 = graph.gather %x, %y : (tensor<2x3xf32>, tensor<i64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// case: i32 indices
// in: 3xi64=[5 6 7]
// in: 2xi32=[2 2]
// out: 2xi64=[7 7]
func.func @main(%x: tensor<3xi64> {graph.name = "x"}, %y: tensor<2xi32> {graph.name = "y"}) -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.gather %x, %y : (tensor<3xi64>, tensor<2xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: symbolic rows
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 3xi64=[1 0 1]
// out: 3x3xf32=[[3 4 5][0 1 2][3 4 5]]
func.func @main(%x: tensor<?x3xf32, #graph.dims<[n, 3]>> {graph.name = "x"}, %y: tensor<?xi64, #graph.dims<[k]>> {graph.name = "y"}) -> (tensor<?x3xf32, #graph.dims<[k, 3]>> {graph.name = "r0"}) {
  %0 = graph.gather %x, %y : (tensor<?x3xf32, #graph.dims<[n, 3]>>, tensor<?xi64, #graph.dims<[k]>>) -> tensor<?x3xf32, #graph.dims<[k, 3]>>
  return %0 : tensor<?x3xf32, #graph.dims<[k, 3]>>
}

// -----
// case: no indices
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 0xi64=[]
// out: 0x3xf32=[]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<0xi64> {graph.name = "y"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.gather %x, %y : (tensor<2x3xf32>, tensor<0xi64>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
