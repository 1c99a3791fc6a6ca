// Scales and shifts after a contraction end in its weight and one bias.
// RUN: graphc-opt --graphc-fold-norms --split-input-file %s | FileCheck %s

graph.weight @w : tensor<8x3x3x3xf32> "m" at 0 bytes 864
graph.weight @c : tensor<8xf32> "m" at 864 bytes 32
// CHECK-LABEL: func.func @conv_bias_norm(
// CHECK-DAG: %[[W:.*]] = graph.get_weight @w
// CHECK: %[[R:.*]] = graph.rsqrt
// CHECK: %[[F:.*]] = graph.mul %{{.*}}, %[[R]]
// CHECK: %[[FR:.*]] = graph.reshape %[[F]] : (tensor<8xf32>) -> tensor<8x1x1x1xf32>
// CHECK: %[[WF:.*]] = graph.mul %[[W]], %[[FR]]
// CHECK: %[[C:.*]] = graph.conv %arg0, %[[WF]]
// CHECK: %[[Y:.*]] = graph.add %[[C]], %{{.*}} : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @conv_bias_norm(%x: tensor<1x3x8x8xf32>) -> tensor<1x8x6x6xf32> {
  %w = graph.get_weight @w : tensor<8x3x3x3xf32>
  %c = graph.get_weight @c : tensor<8xf32>
  %b = graph.reshape %c : (tensor<8xf32>) -> tensor<8x1x1xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x6xf32>
  %z = graph.add %y, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  %n = graph.batch_norm %z, %c, %c, %c, %c {epsilon = 1.0e-5 : f64} : (tensor<1x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  return %n : tensor<1x8x6x6xf32>
}

// -----
// Grouped transposed convolution: the channels of a group lie in dim 1 of its rows.
graph.weight @w : tensor<4x3x2x2xf32> "m" at 0 bytes 192
graph.weight @k : tensor<6x1x1xf32> "m" at 192 bytes 24
// CHECK-LABEL: func.func @conv_transpose_scale(
// CHECK: graph.reshape %{{.*}} : (tensor<4x3x2x2xf32>) -> tensor<2x2x3x2x2xf32>
// CHECK: graph.reshape %{{.*}} : (tensor<6xf32>) -> tensor<2x1x3x1x1xf32>
// CHECK: %[[C:.*]] = graph.conv_transpose
// CHECK-NEXT: return %[[C]]
func.func @conv_transpose_scale(%x: tensor<1x4x5x5xf32>) -> tensor<1x6x6x6xf32> {
  %w = graph.get_weight @w : tensor<4x3x2x2xf32>
  %k = graph.get_weight @k : tensor<6x1x1xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x4x5x5xf32>, tensor<4x3x2x2xf32>) -> tensor<1x6x6x6xf32>
  %z = graph.mul %y, %k : (tensor<1x6x6x6xf32>, tensor<6x1x1xf32>) -> tensor<1x6x6x6xf32>
  return %z : tensor<1x6x6x6xf32>
}

// -----
// A shift, a scale and a division after a matmul: scaled columns, one bias.
graph.weight @w : tensor<4x5xf32> "m" at 0 bytes 80
graph.weight @b : tensor<5xf32> "m" at 80 bytes 20
// CHECK-LABEL: func.func @matmul(
// CHECK: %[[M:.*]] = graph.matmul %arg0, %{{.*}} {transpose_rhs}
// CHECK: %[[Y:.*]] = graph.add %[[M]]
// CHECK-NEXT: return %[[Y]]
func.func @matmul(%x: tensor<2x3x5xf32>) -> tensor<2x3x4xf32> {
  %w = graph.get_weight @w : tensor<4x5xf32>
  %b = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %k = graph.constant dense<8.0> : tensor<f32>
  %y = graph.matmul %x, %w {transpose_rhs} : (tensor<2x3x5xf32>, tensor<4x5xf32>) -> tensor<2x3x4xf32>
  %s = graph.sub %y, %b : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %m = graph.mul %b, %s : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %d = graph.div %m, %k : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  return %d : tensor<2x3x4xf32>
}

// -----
// Nothing to do: the unscaled result is used too; the scale comes from the caller; the scale varies along the width.
graph.weight @w : tensor<6x3x1x1xf32> "m" at 0 bytes 72
// CHECK-LABEL: func.func @nothing(
// CHECK: graph.conv
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.conv
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.conv
// CHECK-NEXT: graph.mul
// CHECK-NEXT: return
func.func @nothing(%x: tensor<1x3x4x6xf32>, %s: tensor<6x1x1xf32>) -> (tensor<1x6x4x6xf32>, tensor<1x6x4x6xf32>, tensor<1x6x4x6xf32>, tensor<1x6x4x6xf32>) {
  %w = graph.get_weight @w : tensor<6x3x1x1xf32>
  %k = graph.constant dense<[[[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]]]> : tensor<6x1x1xf32>
  %h = graph.constant dense<[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<6xf32>
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x4x6xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x4x6xf32>
  %0 = graph.mul %a, %k : (tensor<1x6x4x6xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x6xf32>
  %b = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x4x6xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x4x6xf32>
  %1 = graph.mul %b, %s : (tensor<1x6x4x6xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x6xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x4x6xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x4x6xf32>
  %2 = graph.mul %c, %h : (tensor<1x6x4x6xf32>, tensor<6xf32>) -> tensor<1x6x4x6xf32>
  return %a, %0, %1, %2 : tensor<1x6x4x6xf32>, tensor<1x6x4x6xf32>, tensor<1x6x4x6xf32>, tensor<1x6x4x6xf32>
}
