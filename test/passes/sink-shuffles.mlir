// A channel shuffle in front of a depthwise convolution goes behind it and its bias; the weights are shuffled instead.
// RUN: graphc-opt --graphc-sink-shuffles --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @depthwise(
// CHECK-SAME: %[[X:.*]]: tensor<1x5x5x6xf32>)
// CHECK: graph.conv %[[X]], %{{.*}} -> tensor<1x5x5x6xf32>
// CHECK: graph.add
// CHECK: graph.reshape {{.*}} -> tensor<1x5x5x2x3xf32>
// CHECK: graph.transpose {{.*}} -> tensor<1x5x5x3x2xf32>
// CHECK: %[[S:.*]] = graph.reshape {{.*}} -> tensor<1x5x5x6xf32>
// CHECK: return %[[S]]
graph.weight @w : tensor<6x1x3x3xf32> "w.bin" at 0 bytes 216
graph.weight @b : tensor<6xf32> "w.bin" at 216 bytes 24
func.func @depthwise(%x: tensor<1x5x5x6xf32>) -> tensor<1x5x5x6xf32> {
  %w = graph.get_weight @w : tensor<6x1x3x3xf32>
  %b = graph.get_weight @b : tensor<6xf32>
  %0 = graph.reshape %x : (tensor<1x5x5x6xf32>) -> tensor<1x5x5x2x3xf32>
  %1 = graph.transpose %0 {perm = array<i64: 0, 1, 2, 4, 3>} : (tensor<1x5x5x2x3xf32>) -> tensor<1x5x5x3x2xf32>
  %s = graph.reshape %1 : (tensor<1x5x5x3x2xf32>) -> tensor<1x5x5x6xf32>
  %c = graph.conv %s, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 6 : i64, channels_last} : (tensor<1x5x5x6xf32>, tensor<6x1x3x3xf32>) -> tensor<1x5x5x6xf32>
  %a = graph.add %c, %b : (tensor<1x5x5x6xf32>, tensor<6xf32>) -> tensor<1x5x5x6xf32>
  return %a : tensor<1x5x5x6xf32>
}

// -----

// A convolution that mixes channels, and a shuffle that is read twice, stay.
// CHECK-LABEL: func.func @mixing(
// CHECK: graph.transpose
// CHECK: graph.reshape
// CHECK: graph.conv
// CHECK-NOT: graph.transpose
graph.weight @w : tensor<6x6x1x1xf32> "w.bin" at 0 bytes 144
func.func @mixing(%x: tensor<1x5x5x6xf32>) -> tensor<1x5x5x6xf32> {
  %w = graph.get_weight @w : tensor<6x6x1x1xf32>
  %0 = graph.reshape %x : (tensor<1x5x5x6xf32>) -> tensor<1x5x5x2x3xf32>
  %1 = graph.transpose %0 {perm = array<i64: 0, 1, 2, 4, 3>} : (tensor<1x5x5x2x3xf32>) -> tensor<1x5x5x3x2xf32>
  %s = graph.reshape %1 : (tensor<1x5x5x3x2xf32>) -> tensor<1x5x5x6xf32>
  %c = graph.conv %s, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x5x5x6xf32>, tensor<6x6x1x1xf32>) -> tensor<1x5x5x6xf32>
  return %c : tensor<1x5x5x6xf32>
}
