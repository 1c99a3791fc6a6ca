// graphc-simplify: gradients that a max pool puts back.
// RUN: graphc-opt %s -split-input-file -graphc-simplify | FileCheck %s

// The mask of a relu before the pool is taken from the pooled values, and the sum over an image from the values before they are
// put back.
// CHECK-LABEL: func.func @relu_then_pool
// CHECK: %[[Y:.*]] = graph.max_pool %arg0
// CHECK: %[[I:.*]] = graph.max_pool_index %arg0
// CHECK: %[[C:.*]] = graph.less_equal %[[Y]], %{{.*}} -> tensor<2x4x4x4xi1>
// CHECK: %[[G:.*]] = graph.select %[[C]], %{{.*}}, %arg1
// CHECK: %[[D:.*]] = graph.max_unpool %[[G]], %[[I]]
// CHECK: %[[B:.*]] = graph.reduce "sum" %[[G]] axes [0, 2, 3] : (tensor<2x4x4x4xf32>) -> tensor<4xf32>
// CHECK: return %[[Y]], %[[D]], %[[B]]
func.func @relu_then_pool(%r: tensor<2x4x8x8xf32>, %g: tensor<2x4x4x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %y = graph.max_pool %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %i = graph.max_pool_index %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xui8>
  %u = graph.max_unpool %g, %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>) -> tensor<2x4x8x8xf32>
  %c = graph.less_equal %r, %zero : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xi1>
  %d = graph.select %c, %zero, %u : (tensor<2x4x8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %b = graph.reduce "sum" %d axes [0, 2, 3] : (tensor<2x4x8x8xf32>) -> tensor<4xf32>
  return %y, %d, %b : tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>
}

// -----

// Left alone: a mask of another value, and a window that lies in the padding.
// CHECK-LABEL: func.func @others
// CHECK: %[[U:.*]] = graph.max_unpool %arg2
// CHECK: graph.select %{{.*}}, %{{.*}}, %[[U]]
// CHECK: %[[V:.*]] = graph.max_unpool
// CHECK: graph.reduce "sum" %[[V]]
func.func @others(%r: tensor<2x4x8x8xf32>, %other: tensor<2x4x8x8xf32>, %g: tensor<2x4x4x4xf32>, %h: tensor<2x4x5x5xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %y = graph.max_pool %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %i = graph.max_pool_index %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xui8>
  %u = graph.max_unpool %g, %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>) -> tensor<2x4x8x8xf32>
  %c = graph.less_equal %other, %zero : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xi1>
  %d = graph.select %c, %zero, %u : (tensor<2x4x8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %j = graph.max_pool_index %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 2, 2>, pads_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x5x5xui8>
  %v = graph.max_unpool %h, %j {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 2, 2>, pads_high = array<i64: 0, 0>} : (tensor<2x4x5x5xf32>, tensor<2x4x5x5xui8>) -> tensor<2x4x8x8xf32>
  %b = graph.reduce "sum" %v axes [0, 2, 3] : (tensor<2x4x8x8xf32>) -> tensor<4xf32>
  return %y, %d, %b : tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>
}
