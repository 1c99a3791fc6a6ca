// A softmax and its logarithm, spelled out by exporters, become one op again.
// RUN: graphc-opt %s --graphc-raise | FileCheck %s

// CHECK-LABEL: @kept_dims
// CHECK-SAME: (%[[X:.*]]: tensor<2x5xf32>)
// CHECK: graph.softmax %[[X]]
// CHECK-SAME: axis = 1
// CHECK-NOT: graph.exp
func.func @kept_dims(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %m = graph.reduce "max" %x axes [1] keep : (tensor<2x5xf32>) -> tensor<2x1xf32>
  %d = graph.sub %x, %m : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  %e = graph.exp %d : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %s = graph.reduce "sum" %e axes [1] keep : (tensor<2x5xf32>) -> tensor<2x1xf32>
  %y = graph.div %e, %s : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// JAX reduces without keeping the dim, bounds the maximum from below, reshapes and broadcasts.
// CHECK-LABEL: @jax
// CHECK-SAME: (%[[X:.*]]: tensor<?x5xf32
// CHECK: graph.softmax %[[X]]
// CHECK-NOT: graph.exp
func.func @jax(%x: tensor<?x5xf32, #graph.dims<[n, 5]>>) -> tensor<?x5xf32, #graph.dims<[n, 5]>> {
  %bound = graph.constant dense<0xFF800000> : tensor<f32>
  %m0 = graph.reduce "max" %x axes [1] : (tensor<?x5xf32, #graph.dims<[n, 5]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %m1 = graph.max %bound, %m0 : (tensor<f32>, tensor<?xf32, #graph.dims<[n]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %m2 = graph.reshape %m1 : (tensor<?xf32, #graph.dims<[n]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %m = graph.broadcast %m2 : (tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x5xf32, #graph.dims<[n, 5]>>
  %d = graph.sub %x, %m : (tensor<?x5xf32, #graph.dims<[n, 5]>>, tensor<?x5xf32, #graph.dims<[n, 5]>>) -> tensor<?x5xf32, #graph.dims<[n, 5]>>
  %e = graph.exp %d : (tensor<?x5xf32, #graph.dims<[n, 5]>>) -> tensor<?x5xf32, #graph.dims<[n, 5]>>
  %s0 = graph.reduce "sum" %e axes [1] : (tensor<?x5xf32, #graph.dims<[n, 5]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %s = graph.reshape %s0 : (tensor<?xf32, #graph.dims<[n]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %y = graph.div %e, %s : (tensor<?x5xf32, #graph.dims<[n, 5]>>, tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x5xf32, #graph.dims<[n, 5]>>
  return %y : tensor<?x5xf32, #graph.dims<[n, 5]>>
}

// CHECK-LABEL: @logarithm
// CHECK-SAME: (%[[X:.*]]: tensor<2x5xf32>)
// CHECK: graph.log_softmax %[[X]]
// CHECK-NOT: graph.exp
func.func @logarithm(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %m = graph.reduce "max" %x axes [1] keep : (tensor<2x5xf32>) -> tensor<2x1xf32>
  %d = graph.sub %x, %m : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  %e = graph.exp %d : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %s = graph.reduce "sum" %e axes [1] keep : (tensor<2x5xf32>) -> tensor<2x1xf32>
  %l = graph.log %s : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = graph.sub %d, %l : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// Without the maximum taken out it overflows where a softmax would not: it stays.
// CHECK-LABEL: @overflows
// CHECK-NOT: graph.softmax
// CHECK: graph.div
func.func @overflows(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %e = graph.exp %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %s = graph.reduce "sum" %e axes [1] keep : (tensor<2x5xf32>) -> tensor<2x1xf32>
  %y = graph.div %e, %s : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// The maximum of each row, the sum of each column: another thing.
// CHECK-LABEL: @other_axis
// CHECK-NOT: graph.softmax
// CHECK: graph.div
func.func @other_axis(%x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %m = graph.reduce "max" %x axes [1] keep : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %d = graph.sub %x, %m : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %e = graph.exp %d : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %s = graph.reduce "sum" %e axes [0] keep : (tensor<5x5xf32>) -> tensor<1x5xf32>
  %y = graph.div %e, %s : (tensor<5x5xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  return %y : tensor<5x5xf32>
}

// The sum of each row, added along the columns: shapes fit, rows do not.
// CHECK-LABEL: @misaligned
// CHECK-NOT: graph.softmax
// CHECK: graph.div
func.func @misaligned(%x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %m = graph.reduce "max" %x axes [1] keep : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %d = graph.sub %x, %m : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %e = graph.exp %d : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %s = graph.reduce "sum" %e axes [1] : (tensor<5x5xf32>) -> tensor<5xf32>
  %y = graph.div %e, %s : (tensor<5x5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
  return %y : tensor<5x5xf32>
}
