// A constant pad becomes the window op's own pads where the op reads that constant outside its operand.
// RUN: graphc-opt --graphc-fold-norms %s | FileCheck %s

// CHECK-LABEL: func.func @conv(
// CHECK-NOT: graph.pad
// CHECK: graph.conv %arg0, %arg1 {{.*}}pads_high = array<i64: 0, 3>, pads_low = array<i64: 1, 2>
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x7x11xf32> {
  %p = graph.pad %x low [0, 0, 1, 1] : (tensor<1x3x8x8xf32>) -> tensor<1x3x9x11xf32>
  %y = graph.conv %p, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 1>, pads_high = array<i64: 0, 1>} : (tensor<1x3x9x11xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x11xf32>
  return %y : tensor<1x4x7x11xf32>
}

// CHECK-LABEL: func.func @avg_pool(
// CHECK: graph.avg_pool %arg0 {count_pad
func.func @avg_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x5x5xf32> {
  %p = graph.pad %x low [0, 0, 1, 1] : (tensor<1x3x8x8xf32>) -> tensor<1x3x10x10xf32>
  %y = graph.avg_pool %p {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x10x10xf32>) -> tensor<1x3x5x5xf32>
  return %y : tensor<1x3x5x5xf32>
}

// CHECK-LABEL: func.func @max_pool(
// CHECK: graph.max_pool %arg0 {{.*}}pads_low = array<i64: 1, 1>
// Zeros are not what max_pool sees outside: nothing happens.
// CHECK: graph.pad
// CHECK: graph.max_pool
func.func @max_pool(%x: tensor<1x3x8x8xf32>) -> (tensor<1x3x5x5xf32>, tensor<1x3x5x5xf32>) {
  %p = graph.pad %x low [0, 0, 1, 1] {value = 0xFFF0000000000000 : f64} : (tensor<1x3x8x8xf32>) -> tensor<1x3x10x10xf32>
  %y = graph.max_pool %p {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x10x10xf32>) -> tensor<1x3x5x5xf32>
  %q = graph.pad %x low [0, 0, 1, 1] : (tensor<1x3x8x8xf32>) -> tensor<1x3x10x10xf32>
  %z = graph.max_pool %q {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x10x10xf32>) -> tensor<1x3x5x5xf32>
  return %y, %z : tensor<1x3x5x5xf32>, tensor<1x3x5x5xf32>
}

// Channels are padded, or the image cropped: nothing happens.
// CHECK-LABEL: func.func @refused(
// CHECK: graph.pad
// CHECK: graph.conv
// CHECK: graph.pad
// CHECK: graph.conv
func.func @refused(%x: tensor<1x3x8x8xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x3x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x7x8xf32>) {
  %p = graph.pad %x low [0, 1, 0, 0] : (tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32>
  %y = graph.conv %p, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %q = graph.pad %x low [0, 0, -1, 0] : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x8xf32>
  %z = graph.conv %q, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x7x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x7x8xf32>
  return %y, %z : tensor<1x4x8x8xf32>, tensor<1x4x7x8xf32>
}
