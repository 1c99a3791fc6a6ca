// graph.unique.
// RUN: graphc-op-test %s

// case: sorted
// in: 6xf32=[2 1 1 3 4 3]
// out: 4xf32=[1 2 3 4]
// out: 4xi64=[1 0 3 4]
// out: 6xi64=[1 0 0 2 3 2]
// out: 4xi64=[2 1 2 1]
func.func @main(%x: tensor<6xf32> {graph.name = "x"}) -> (tensor<?xf32, #graph.dims<[k]>> {graph.name = "r0"}, tensor<?xi64, #graph.dims<[k]>> {graph.name = "r1"}, tensor<6xi64> {graph.name = "r2"}, tensor<?xi64, #graph.dims<[k]>> {graph.name = "r3"}) {
  %0:4 = graph.unique %x {sorted = true} : (tensor<6xf32>) -> (tensor<?xf32, #graph.dims<[k]>>, tensor<?xi64, #graph.dims<[k]>>, tensor<6xi64>, tensor<?xi64, #graph.dims<[k]>>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<?xf32, #graph.dims<[k]>>, tensor<?xi64, #graph.dims<[k]>>, tensor<6xi64>, tensor<?xi64, #graph.dims<[k]>>
}

// -----
// case: in order of first appearance
// in: 6xf32=[2 1 1 3 4 3]
// out: 4xf32=[2 1 3 4]
// out: 4xi64=[0 1 3 4]
// out: 6xi64=[0 1 1 2 3 2]
// out: 4xi64=[1 2 2 1]
func.func @main(%x: tensor<6xf32> {graph.name = "x"}) -> (tensor<?xf32, #graph.dims<[k]>> {graph.name = "r0"}, tensor<?xi64, #graph.dims<[k]>> {graph.name = "r1"}, tensor<6xi64> {graph.name = "r2"}, tensor<?xi64, #graph.dims<[k]>> {graph.name = "r3"}) {
  %0:4 = graph.unique %x {sorted = false} : (tensor<6xf32>) -> (tensor<?xf32, #graph.dims<[k]>>, tensor<?xi64, #graph.dims<[k]>>, tensor<6xi64>, tensor<?xi64, #graph.dims<[k]>>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<?xf32, #graph.dims<[k]>>, tensor<?xi64, #graph.dims<[k]>>, tensor<6xi64>, tensor<?xi64, #graph.dims<[k]>>
}

// -----
// case: rows
// in: 3x2xf32=[[1 0][2 3][1 0]]
// out: 2x2xf32=[[1 0][2 3]]
// out: 2xi64=[0 1]
// out: 3xi64=[0 1 0]
// out: 2xi64=[2 1]
func.func @main(%x: tensor<3x2xf32> {graph.name = "x"}) -> (tensor<?x2xf32, #graph.dims<[k, 2]>> {graph.name = "r0"}, tensor<?xi64, #graph.dims<[k]>> {graph.name = "r1"}, tensor<3xi64> {graph.name = "r2"}, tensor<?xi64, #graph.dims<[k]>> {graph.name = "r3"}) {
  %0:4 = graph.unique %x {axis = 0 : i64, sorted = true} : (tensor<3x2xf32>) -> (tensor<?x2xf32, #graph.dims<[k, 2]>>, tensor<?xi64, #graph.dims<[k]>>, tensor<3xi64>, tensor<?xi64, #graph.dims<[k]>>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x2xf32, #graph.dims<[k, 2]>>, tensor<?xi64, #graph.dims<[k]>>, tensor<3xi64>, tensor<?xi64, #graph.dims<[k]>>
}
