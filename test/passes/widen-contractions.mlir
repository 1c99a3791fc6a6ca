// Half-precision contractions compute in f32 and round once, after their epilogue.
// RUN: graphc-opt --graphc-widen-contractions %s | FileCheck %s

// CHECK-LABEL: func.func @conv_bias_relu(
// CHECK: %[[C:.*]] = graph.conv %{{.*}} -> tensor<1x4x8x8xf32>
// CHECK: %[[A:.*]] = graph.add %[[C]], %{{.*}} -> tensor<1x4x8x8xf32>
// CHECK: %[[R:.*]] = graph.relu %[[A]] : {{.*}} -> tensor<1x4x8x8xf32>
// CHECK: %[[Y:.*]] = graph.cast %[[R]] : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf16>
// CHECK: return %[[Y]]
func.func @conv_bias_relu(%x: tensor<1x3x8x8xf16>, %w: tensor<4x3x1x1xf16>, %b: tensor<4x1x1xf16>) -> tensor<1x4x8x8xf16> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x8x8xf16>, tensor<4x3x1x1xf16>) -> tensor<1x4x8x8xf16>
  %z = graph.add %y, %b : (tensor<1x4x8x8xf16>, tensor<4x1x1xf16>) -> tensor<1x4x8x8xf16>
  %r = graph.relu %z : (tensor<1x4x8x8xf16>) -> tensor<1x4x8x8xf16>
  return %r : tensor<1x4x8x8xf16>
}

// A result used twice is rounded for both, once.
// CHECK-LABEL: func.func @two_uses(
// CHECK: %[[M:.*]] = graph.matmul {{.*}}xf32>
// CHECK: %[[H:.*]] = graph.cast %[[M]]
// CHECK: graph.relu %[[H]] : (tensor<2x2xbf16>)
func.func @two_uses(%x: tensor<2x2xbf16>) -> (tensor<2x2xbf16>, tensor<2x2xbf16>) {
  %y = graph.matmul %x, %x : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %r = graph.relu %y : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return %y, %r : tensor<2x2xbf16>, tensor<2x2xbf16>
}

// Nothing to do: integers, f32, and elementwise ops away from contractions.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: graph.matmul %arg0, %arg0 : (tensor<2x2xi32>
// CHECK-NEXT: graph.matmul %arg1, %arg1 : (tensor<2x2xf32>
// CHECK-NEXT: graph.relu %arg2 : (tensor<2x2xf16>
// CHECK-NEXT: return
func.func @nothing(%i: tensor<2x2xi32>, %f: tensor<2x2xf32>, %h: tensor<2x2xf16>) -> (tensor<2x2xi32>, tensor<2x2xf32>, tensor<2x2xf16>) {
  %a = graph.matmul %i, %i : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %b = graph.matmul %f, %f : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = graph.relu %h : (tensor<2x2xf16>) -> tensor<2x2xf16>
  return %a, %b, %c : tensor<2x2xi32>, tensor<2x2xf32>, tensor<2x2xf16>
}
