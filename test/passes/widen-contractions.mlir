// Half-precision contractions, and what is computed from them, are in f32; rounded once, where the value is stored.
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

// Each stored value is rounded, nothing else is.
// CHECK-LABEL: func.func @two_uses(
// CHECK: %[[M:.*]] = graph.matmul {{.*}}xf32>
// CHECK-DAG: %[[R:.*]] = graph.relu %[[M]] : (tensor<2x2xf32>)
// CHECK-DAG: %[[H:.*]] = graph.cast %[[M]] : (tensor<2x2xf32>) -> tensor<2x2xbf16>
// CHECK-DAG: %[[S:.*]] = graph.cast %[[R]] : (tensor<2x2xf32>) -> tensor<2x2xbf16>
// CHECK: return %[[H]], %[[S]]
func.func @two_uses(%x: tensor<2x2xbf16>) -> (tensor<2x2xbf16>, tensor<2x2xbf16>) {
  %y = graph.matmul %x, %x : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %r = graph.relu %y : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return %y, %r : tensor<2x2xbf16>, tensor<2x2xbf16>
}

// Two contractions with a concat between them: no conversion between them either. A concat with a half-precision value
// that nobody computed is not widened.
// CHECK-LABEL: func.func @between(
// CHECK-COUNT-2: graph.matmul
// CHECK-NOT: graph.cast {{.*}} -> {{.*}}f16>
// CHECK: graph.concat {{.*}} -> tensor<4x2xf32>
// CHECK: graph.matmul
// CHECK: graph.concat {{.*}} -> tensor<6x2xf16>
func.func @between(%x: tensor<2x2xf16>) -> tensor<6x2xf16> {
  %a = graph.matmul %x, %x : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  %b = graph.matmul %a, %x : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  %c = graph.concat %a, %b axis 0 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<4x2xf16>
  %d = graph.matmul %c, %x : (tensor<4x2xf16>, tensor<2x2xf16>) -> tensor<4x2xf16>
  %e = graph.concat %d, %x axis 0 : (tensor<4x2xf16>, tensor<2x2xf16>) -> tensor<6x2xf16>
  return %e : tensor<6x2xf16>
}

// The program's own casts round where it says so.
// CHECK-LABEL: func.func @explicit(
// CHECK: %[[H:.*]] = graph.cast %arg0 : (tensor<2x2xf32>) -> tensor<2x2xf16>
// CHECK: graph.cast %[[H]] : (tensor<2x2xf16>) -> tensor<2x2xf32>
func.func @explicit(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %h = graph.cast %x : (tensor<2x2xf32>) -> tensor<2x2xf16>
  %y = graph.cast %h : (tensor<2x2xf16>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// A mean is divided before it is rounded.
// CHECK-LABEL: func.func @mean(
// CHECK: %[[W:.*]] = graph.cast %arg0 : (tensor<2x4xf16>) -> tensor<2x4xf32>
// CHECK: %[[S:.*]] = graph.reduce "sum" %[[W]] axes [1] : (tensor<2x4xf32>) -> tensor<2xf32>
// CHECK: %[[D:.*]] = graph.div %[[S]], %{{.*}} -> tensor<2xf32>
// CHECK: %[[Y:.*]] = graph.cast %[[D]] : (tensor<2xf32>) -> tensor<2xf16>
// CHECK: return %[[Y]]
func.func @mean(%x: tensor<2x4xf16>) -> tensor<2xf16> {
  %n = graph.constant dense<4.0> : tensor<f16>
  %s = graph.reduce "sum" %x axes [1] : (tensor<2x4xf16>) -> tensor<2xf16>
  %y = graph.div %s, %n : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  return %y : tensor<2xf16>
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
