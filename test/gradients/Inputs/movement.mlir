// Ops that move, read and write elements.

func.func @reshape(%x: tensor<3x4xf64>) -> tensor<2x6xf64> {
  %0 = graph.reshape %x : (tensor<3x4xf64>) -> tensor<2x6xf64>
  return %0 : tensor<2x6xf64>
}
func.func @broadcast(%x: tensor<3x1xf64>) -> tensor<2x3x4xf64> {
  %0 = graph.broadcast %x : (tensor<3x1xf64>) -> tensor<2x3x4xf64>
  return %0 : tensor<2x3x4xf64>
}
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  %0 = graph.transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  return %0 : tensor<4x2x3xf64>
}
func.func @slice(%x: tensor<4x7xf64>) -> tensor<2x4xf64> {
  %0 = graph.slice %x from <[1, 2]> step [1, 1] : (tensor<4x7xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}
func.func @slice_steps(%x: tensor<4x7xf64>) -> tensor<4x3xf64> {
  %0 = graph.slice %x from <[3, 1]> step [-1, 2] : (tensor<4x7xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
func.func @slice_back(%x: tensor<4x7xf64>) -> tensor<2x3xf64> {
  %0 = graph.slice %x from <[3, 6]> step [-2, -3] : (tensor<4x7xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @slice_symbolic(%x: tensor<?xf64, #graph.dims<[n]>> {test.shape = array<i64: 7>}) -> tensor<3xf64> {
  %0 = graph.slice %x from <[n - 4]> step [1] : (tensor<?xf64, #graph.dims<[n]>>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @slice_last_back(%x: tensor<?xf64, #graph.dims<[n]>> {test.shape = array<i64: 7>}) -> tensor<3xf64> {
  %0 = graph.slice %x from <[n - 1]> step [-2] : (tensor<?xf64, #graph.dims<[n]>>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @pad(%x: tensor<3x4xf64>) -> tensor<5x4xf64> {
  %0 = graph.pad %x low [1, -1] : (tensor<3x4xf64>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}
func.func @pad_value(%x: tensor<3x4xf64>) -> tensor<5x7xf64> {
  %0 = graph.pad %x low [1, 2] {value = 2.5 : f64} : (tensor<3x4xf64>) -> tensor<5x7xf64>
  return %0 : tensor<5x7xf64>
}
func.func @pad_edge(%x: tensor<3x4xf64>) -> tensor<6x7xf64> {
  %0 = graph.pad %x low [2, 1] {mode = "edge"} : (tensor<3x4xf64>) -> tensor<6x7xf64>
  return %0 : tensor<6x7xf64>
}
func.func @pad_reflect(%x: tensor<3x4xf64>) -> tensor<6x7xf64> {
  %0 = graph.pad %x low [2, 1] {mode = "reflect"} : (tensor<3x4xf64>) -> tensor<6x7xf64>
  return %0 : tensor<6x7xf64>
}
func.func @pad_wrap(%x: tensor<3x4xf64>) -> tensor<6x7xf64> {
  %0 = graph.pad %x low [2, 1] {mode = "wrap"} : (tensor<3x4xf64>) -> tensor<6x7xf64>
  return %0 : tensor<6x7xf64>
}
func.func @concat(%x: tensor<2x3xf64>, %y: tensor<2x1xf64>, %z: tensor<2x2xf64>) -> tensor<2x6xf64> {
  %0 = graph.concat %x, %y, %z axis 1 : (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<2x6xf64>
  return %0 : tensor<2x6xf64>
}
func.func @gather(%x: tensor<4x3xf64>, %i: tensor<2x3xi64> {test.value = dense<[[0, 2, -1], [2, 2, 1]]> : tensor<2x3xi64>}) -> tensor<2x3x3xf64> {
  %0 = graph.gather %x, %i : (tensor<4x3xf64>, tensor<2x3xi64>) -> tensor<2x3x3xf64>
  return %0 : tensor<2x3x3xf64>
}
func.func @gather_axis(%x: tensor<2x4x3xf64>, %i: tensor<3xi64> {test.value = dense<[0, 3, 0]> : tensor<3xi64>}) -> tensor<2x3x3xf64> {
  %0 = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x4x3xf64>, tensor<3xi64>) -> tensor<2x3x3xf64>
  return %0 : tensor<2x3x3xf64>
}
func.func @gather_scalar(%x: tensor<4x3xf64>, %i: tensor<i64> {test.value = dense<2> : tensor<i64>}) -> tensor<4xf64> {
  %0 = graph.gather %x, %i {axis = 1 : i64} : (tensor<4x3xf64>, tensor<i64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @gather_elements(%x: tensor<3x3xf64>, %i: tensor<3x2xi64> {test.value = dense<[[0, 2], [1, 1], [-1, 0]]> : tensor<3x2xi64>}) -> tensor<3x2xf64> {
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<3x3xf64>, tensor<3x2xi64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}
func.func @gather_nd(%x: tensor<3x4x2xf64>, %i: tensor<5x2xi64> {test.value = dense<[[0, 1], [2, 3], [0, 1], [1, -1], [2, 0]]> : tensor<5x2xi64>}) -> tensor<5x2xf64> {
  %0 = graph.gather_nd %x, %i : (tensor<3x4x2xf64>, tensor<5x2xi64>) -> tensor<5x2xf64>
  return %0 : tensor<5x2xf64>
}
func.func @gather_nd_batch(%x: tensor<2x4x3xf64>, %i: tensor<2x3x1xi64> {test.value = dense<[[[0], [3], [0]], [[1], [2], [1]]]> : tensor<2x3x1xi64>}) -> tensor<2x3x3xf64> {
  %0 = graph.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x4x3xf64>, tensor<2x3x1xi64>) -> tensor<2x3x3xf64>
  return %0 : tensor<2x3x3xf64>
}
func.func @scatter_elements_none(%x: tensor<3x4xf64>, %i: tensor<2x4xi64> {test.value = dense<[[0, 2, 1, 1], [0, 1, 1, -1]]> : tensor<2x4xi64>}, %u: tensor<2x4xf64>) -> tensor<3x4xf64> {
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "none"} : (tensor<3x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}
func.func @scatter_nd_none(%x: tensor<4x3xf64>, %i: tensor<3x1xi64> {test.value = dense<[[1], [3], [1]]> : tensor<3x1xi64>}, %u: tensor<3x3xf64>) -> tensor<4x3xf64> {
  %0 = graph.scatter_nd %x, %i, %u {reduction = "none"} : (tensor<4x3xf64>, tensor<3x1xi64>, tensor<3x3xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
func.func @scatter_elements_add(%x: tensor<3x4xf64>, %i: tensor<2x4xi64> {test.value = dense<[[0, 2, 1, 1], [0, 1, 1, -1]]> : tensor<2x4xi64>}, %u: tensor<2x4xf64>) -> tensor<3x4xf64> {
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "add"} : (tensor<3x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}
func.func @scatter_nd_add(%x: tensor<4x3xf64>, %i: tensor<3x1xi64> {test.value = dense<[[1], [3], [1]]> : tensor<3x1xi64>}, %u: tensor<3x3xf64>) -> tensor<4x3xf64> {
  %0 = graph.scatter_nd %x, %i, %u {reduction = "add"} : (tensor<4x3xf64>, tensor<3x1xi64>, tensor<3x3xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
func.func @scatter_elements_max(%x: tensor<3x4xf64>, %i: tensor<2x4xi64> {test.value = dense<[[0, 2, 1, 1], [0, 1, 1, -1]]> : tensor<2x4xi64>}, %u: tensor<2x4xf64>) -> tensor<3x4xf64> {
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "max"} : (tensor<3x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}
func.func @scatter_nd_max(%x: tensor<4x3xf64>, %i: tensor<3x1xi64> {test.value = dense<[[1], [3], [1]]> : tensor<3x1xi64>}, %u: tensor<3x3xf64>) -> tensor<4x3xf64> {
  %0 = graph.scatter_nd %x, %i, %u {reduction = "max"} : (tensor<4x3xf64>, tensor<3x1xi64>, tensor<3x3xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
func.func @scatter_elements_min(%x: tensor<3x4xf64>, %i: tensor<2x4xi64> {test.value = dense<[[0, 2, 1, 1], [0, 1, 1, -1]]> : tensor<2x4xi64>}, %u: tensor<2x4xf64>) -> tensor<3x4xf64> {
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "min"} : (tensor<3x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}
func.func @scatter_nd_min(%x: tensor<4x3xf64>, %i: tensor<3x1xi64> {test.value = dense<[[1], [3], [1]]> : tensor<3x1xi64>}, %u: tensor<3x3xf64>) -> tensor<4x3xf64> {
  %0 = graph.scatter_nd %x, %i, %u {reduction = "min"} : (tensor<4x3xf64>, tensor<3x1xi64>, tensor<3x3xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
func.func @embedding(%x: tensor<4x3xf64>, %i: tensor<2x3xi64> {test.value = dense<[[0, 2, 3], [2, 2, 1]]> : tensor<2x3xi64>}) -> tensor<2x3x3xf64> {
  %0 = graph.embedding %x, %i {padding = -1 : i64} : (tensor<4x3xf64>, tensor<2x3xi64>) -> tensor<2x3x3xf64>
  return %0 : tensor<2x3x3xf64>
}
func.func @topk(%x: tensor<3x7xf64>) -> tensor<3x4xf64> {
  %v, %i = graph.topk %x {axis = 1 : i64, largest = true, sorted = true} : (tensor<3x7xf64>) -> (tensor<3x4xf64>, tensor<3x4xi64>)
  return %v : tensor<3x4xf64>
}
func.func @compress(%x: tensor<5x3xf64>, %c: tensor<5xi1> {test.value = dense<[true, false, true, true, false]> : tensor<5xi1>}) -> tensor<?x3xf64, #graph.dims<[kept, 3]>> attributes {test.symbols = {kept = 3 : i64}} {
  %0 = graph.compress %x, %c {axis = 0 : i64} : (tensor<5x3xf64>, tensor<5xi1>) -> tensor<?x3xf64, #graph.dims<[kept, 3]>>
  return %0 : tensor<?x3xf64, #graph.dims<[kept, 3]>>
}
func.func @resize_nearest(%x: tensor<1x2x3x4xf64>) -> tensor<1x2x6x6xf64> {
  %0 = graph.resize %x by [1.0, 1.0, 2.0, 1.5] {mode = "nearest", coordinates = "asymmetric"} : (tensor<1x2x3x4xf64>) -> tensor<1x2x6x6xf64>
  return %0 : tensor<1x2x6x6xf64>
}
func.func @resize_linear(%x: tensor<1x2x3x4xf64>) -> tensor<1x2x5x7xf64> {
  %0 = graph.resize %x by [1.0, 1.0, 1.6666666, 1.75] {mode = "linear", coordinates = "half_pixel"} : (tensor<1x2x3x4xf64>) -> tensor<1x2x5x7xf64>
  return %0 : tensor<1x2x5x7xf64>
}
func.func @resize_align(%x: tensor<1x2x3x4xf64>) -> tensor<1x2x5x7xf64> {
  %0 = graph.resize %x by [1.0, 1.0, 1.6666666, 1.75] {mode = "linear", coordinates = "align_corners"} : (tensor<1x2x3x4xf64>) -> tensor<1x2x5x7xf64>
  return %0 : tensor<1x2x5x7xf64>
}
func.func @resize_cubic(%x: tensor<1x2x3x4xf64>) -> tensor<1x2x6x2xf64> {
  %0 = graph.resize %x by [1.0, 1.0, 2.0, 0.5] {mode = "cubic", coordinates = "half_pixel", exclude_outside} : (tensor<1x2x3x4xf64>) -> tensor<1x2x6x2xf64>
  return %0 : tensor<1x2x6x2xf64>
}
