// graphc-simplify: transposed convolutions of stride 1 become convolutions.
// RUN: graphc-opt %s -split-input-file -graphc-simplify | FileCheck %s

// CHECK-LABEL: func.func @gradient
// CHECK: %[[R:.*]] = graph.slice %arg1 from <[0, 0, 2, 2]> step [1, 1, -1, -1]
// CHECK: %[[W:.*]] = graph.transpose %[[R]] {perm = array<i64: 1, 0, 2, 3>} : (tensor<8x4x3x3xf32>) -> tensor<4x8x3x3xf32>
// CHECK: graph.conv %arg0, %[[W]] {{.*}}pads_high = array<i64: 1, 2>, pads_low = array<i64: 1, 2>
func.func @gradient(%g: tensor<2x8x10x10xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<2x4x10x12xf32> {
  %0 = graph.conv_transpose %g, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 0>} : (tensor<2x8x10x10xf32>, tensor<8x4x3x3xf32>) -> tensor<2x4x10x12xf32>
  return %0 : tensor<2x4x10x12xf32>
}

// -----

// Channels are exchanged within each group.
// CHECK-LABEL: func.func @groups
// CHECK: graph.slice %arg1 from <[0, 0, 1]> step [1, 1, -1]
// CHECK: graph.reshape {{.*}} -> tensor<2x3x2x2xf32>
// CHECK: graph.transpose {{.*}} -> tensor<2x2x3x2xf32>
// CHECK: %[[W:.*]] = graph.reshape {{.*}} -> tensor<4x3x2xf32>
// CHECK: graph.conv %arg0, %[[W]] {{.*}}groups = 2
func.func @groups(%g: tensor<1x6x5xf32>, %w: tensor<6x2x2xf32>) -> tensor<1x4x6xf32> {
  %0 = graph.conv_transpose %g, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 2 : i64} : (tensor<1x6x5xf32>, tensor<6x2x2xf32>) -> tensor<1x4x6xf32>
  return %0 : tensor<1x4x6xf32>
}

// -----

// A stride spreads the operand: stays.
// CHECK-LABEL: func.func @spread
// CHECK-NEXT: graph.conv_transpose
func.func @spread(%g: tensor<2x8x5x5xf32>, %w: tensor<8x4x2x2xf32>) -> tensor<2x4x10x10xf32> {
  %0 = graph.conv_transpose %g, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x8x5x5xf32>, tensor<8x4x2x2xf32>) -> tensor<2x4x10x10xf32>
  return %0 : tensor<2x4x10x10xf32>
}
