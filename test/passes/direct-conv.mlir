// Small and grouped convolutions go to a generated kernel: padding is stored, the weight packed once, and a pooling whose windows
// do not overlap takes the convolution in.
// RUN: graphc-opt --pass-pipeline='builtin.module(func.func(graphc-select,graphc-fuse))' --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @pooled(
// CHECK: graph.group "loop"
// CHECK-NEXT: graph.pad
// CHECK-NEXT: yield
// CHECK: graph.group "loop" attributes {prepare}
// CHECK-NEXT: graph.transpose {{.*}}perm = array<i64: 2, 3, 1, 0>
// CHECK-NEXT: yield
// CHECK: graph.group "loop"
// CHECK-DAG: graph.transpose {{.*}}unpack
// CHECK: graph.conv {{.*}}by = "kernel"{{.*}}pads_low = array<i64: 0, 0>
// CHECK: graph.add
// CHECK: graph.relu
// CHECK: graph.max_pool
// CHECK-NEXT: yield
// CHECK-NOT: graph.group
graph.weight @w : tensor<8x1x5x5xf32> "w.bin" at 0 bytes 800
graph.weight @b : tensor<8xf32> "w.bin" at 800 bytes 32
func.func @pooled(%x: tensor<1x28x28x1xf32>) -> tensor<1x14x14x8xf32> {
  %w = graph.get_weight @w : tensor<8x1x5x5xf32>
  %b = graph.get_weight @b : tensor<8xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 2, 2>, pads_high = array<i64: 2, 2>, channels_last} : (tensor<1x28x28x1xf32>, tensor<8x1x5x5xf32>) -> tensor<1x28x28x8xf32>
  %a = graph.add %c, %b : (tensor<1x28x28x8xf32>, tensor<8xf32>) -> tensor<1x28x28x8xf32>
  %r = graph.relu %a : (tensor<1x28x28x8xf32>) -> tensor<1x28x28x8xf32>
  %p = graph.max_pool %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x28x28x8xf32>) -> tensor<1x14x14x8xf32>
  return %p : tensor<1x14x14x8xf32>
}

// -----

// Overlapping windows would compute every element several times: two kernels.
// CHECK-LABEL: func.func @overlapping(
// CHECK: graph.conv
// CHECK-NEXT: yield
// CHECK: graph.max_pool
graph.weight @w : tensor<8x1x5x5xf32> "w.bin" at 0 bytes 800
func.func @overlapping(%x: tensor<1x28x28x1xf32>) -> tensor<1x11x11x8xf32> {
  %w = graph.get_weight @w : tensor<8x1x5x5xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x28x28x1xf32>, tensor<8x1x5x5xf32>) -> tensor<1x24x24x8xf32>
  %p = graph.max_pool %c {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x24x24x8xf32>) -> tensor<1x11x11x8xf32>
  return %p : tensor<1x11x11x8xf32>
}

// -----

// Many channels and much work: the library's; nothing is inserted in front of it.
// CHECK-LABEL: func.func @large(
// CHECK-NOT: graph.pad
// CHECK-NOT: graph.transpose
// CHECK: graph.conv {{.*}}by = "library"
graph.weight @w : tensor<64x64x3x3xf32> "w.bin" at 0 bytes 147456
func.func @large(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  %w = graph.get_weight @w : tensor<64x64x3x3xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<1x56x56x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x56x56x64xf32>
  return %c : tensor<1x56x56x64xf32>
}

// -----

// What computes a direct convolution's operand is stored: it joins what comes before. A choice made before is brought into form too.
// CHECK-LABEL: func.func @chain(
// CHECK: graph.group "loop"
// CHECK: graph.conv {{.*}} -> tensor<1x26x26x8xf32>
// CHECK-NEXT: graph.relu
// CHECK-NEXT: yield
// CHECK: graph.transpose {{.*}}perm = array<i64: 2, 3, 1, 0>
// CHECK: graph.group "loop"
// CHECK-NEXT: graph.transpose {{.*}}unpack
// CHECK-NEXT: graph.conv {{.*}} -> tensor<1x24x24x16xf32>
// CHECK-NEXT: yield
graph.weight @w : tensor<8x1x3x3xf32> "w.bin" at 0 bytes 288
graph.weight @v : tensor<16x8x3x3xf32> "w.bin" at 288 bytes 4608
func.func @chain(%x: tensor<1x28x28x1xf32>) -> tensor<1x24x24x16xf32> {
  %w = graph.get_weight @w : tensor<8x1x3x3xf32>
  %v = graph.get_weight @v : tensor<16x8x3x3xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x28x28x1xf32>, tensor<8x1x3x3xf32>) -> tensor<1x26x26x8xf32>
  %r = graph.relu %c : (tensor<1x26x26x8xf32>) -> tensor<1x26x26x8xf32>
  %d = graph.conv %r, %v {by = "kernel", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x26x26x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x24x24x16xf32>
  return %d : tensor<1x24x24x16xf32>
}
