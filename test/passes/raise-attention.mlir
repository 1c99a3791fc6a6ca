// Attention as exporters spell it.
// RUN: graphc-opt %s --graphc-raise | FileCheck %s

// PyTorch: both factors scaled, batch flattened around the transposition of k, NaN rows replaced by 0.
// CHECK-LABEL: @torch
// CHECK-SAME: (%[[Q:.*]]: tensor<1x2x4x8xf32>, %[[K:.*]]: tensor<1x2x4x8xf32>, %[[V:.*]]: tensor<1x2x4x8xf32>, %[[M:.*]]: tensor<1x1x4x4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.attention %[[Q]], %[[K]], %[[V]], %[[M]] {nan_to_zero, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @torch(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %mask: tensor<1x1x4x4xf32>) -> tensor<1x2x4x8xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %k0 = graph.reshape %k : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
  %k1 = graph.transpose %k0 {perm = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %k2 = graph.reshape %k1 : (tensor<2x8x4xf32>) -> tensor<1x2x8x4xf32>
  %qs = graph.mul %q, %half : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<1x2x4x8xf32>
  %ks = graph.mul %k2, %half : (tensor<1x2x8x4xf32>, tensor<f32>) -> tensor<1x2x8x4xf32>
  %s = graph.matmul %qs, %ks : (tensor<1x2x4x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x4x4xf32>
  %sm = graph.add %s, %mask : (tensor<1x2x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %nan = graph.is_nan %p : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi1>
  %pz = graph.select %nan, %zero, %p : (tensor<1x2x4x4xi1>, tensor<f32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = graph.matmul %pz, %v : (tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  return %y : tensor<1x2x4x8xf32>
}

// Scores scaled after the product, a transposed k whose transposition combines with that of the heads, no mask.
// CHECK-LABEL: @plain
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x8xf32>, %[[K:.*]]: tensor<4x2x8xf32>, %[[V:.*]]: tensor<2x4x6xf32>)
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[K]] {perm = array<i64: 1, 0, 2>}
// CHECK-NEXT: graph.attention %[[Q]], %[[T]], %[[V]] {scale = 1.250000e-01 : f64}
func.func @plain(%q: tensor<2x4x8xf32>, %k: tensor<4x2x8xf32>, %v: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %eight = graph.constant dense<8.0> : tensor<f32>
  %kt = graph.transpose %k {perm = array<i64: 1, 2, 0>} : (tensor<4x2x8xf32>) -> tensor<2x8x4xf32>
  %s = graph.matmul %q, %kt : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %d = graph.div %s, %eight : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %p = graph.softmax %d {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x4xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y : tensor<2x4x6xf32>
}

// A transposition of the heads that was merged with that of k, and the batch restored by a reshape (a vision transformer).
// CHECK-LABEL: @merged_transposition
// CHECK-SAME: (%[[Q:.*]]: tensor<1x2x4x8xf32>, %[[K:.*]]: tensor<4x2x8xf32>, %[[V:.*]]: tensor<1x2x4x6xf32>)
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[K]] {perm = array<i64: 1, 0, 2>}
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[T]]
// CHECK-NEXT: graph.attention %[[Q]], %[[R]], %[[V]] {scale = 1.000000e+00 : f64}
func.func @merged_transposition(%q: tensor<1x2x4x8xf32>, %k: tensor<4x2x8xf32>, %v: tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32> {
  %k1 = graph.transpose %k {perm = array<i64: 1, 2, 0>} : (tensor<4x2x8xf32>) -> tensor<2x8x4xf32>
  %kt = graph.reshape %k1 : (tensor<2x8x4xf32>) -> tensor<1x2x8x4xf32>
  %s = graph.matmul %q, %kt : (tensor<1x2x4x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x4x4xf32>
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = graph.matmul %p, %v : (tensor<1x2x4x4xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  return %y : tensor<1x2x4x6xf32>
}

// The probabilities are a result too: fusing them away would compute them twice.
// CHECK-LABEL: @probabilities_read
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @probabilities_read(%q: tensor<2x4x8xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2x4x4xf32>) {
  %s = graph.matmul %q, %k : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %p = graph.softmax %s {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x4xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y, %p : tensor<2x4x6xf32>, tensor<2x4x4xf32>
}

// A softmax along the queries is not attention.
// CHECK-LABEL: @other_axis
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @other_axis(%q: tensor<2x4x8xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %s = graph.matmul %q, %k : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %p = graph.softmax %s {axis = 1 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x4xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y : tensor<2x4x6xf32>
}

// Shifted windows: a bias, and a mask per window around a reshape; the two become one mask.
// CHECK-LABEL: @windows
// CHECK-SAME: (%[[Q:.*]]: tensor<6x2x4x8xf32>, %[[K:.*]]: tensor<6x2x4x8xf32>, %[[V:.*]]: tensor<6x2x4x8xf32>, %[[B:.*]]: tensor<1x2x4x4xf32>, %[[M:.*]]: tensor<1x6x1x4x4xf32>)
// CHECK-NEXT: %[[W:.*]] = graph.reshape %[[M]] : (tensor<1x6x1x4x4xf32>) -> tensor<6x1x4x4xf32>
// CHECK-NEXT: %[[S:.*]] = graph.add %[[B]], %[[W]] : {{.*}} -> tensor<6x2x4x4xf32>
// CHECK-NEXT: graph.attention %[[Q]], %[[K]], %[[V]], %[[S]]
func.func @windows(%q: tensor<6x2x4x8xf32>, %k: tensor<6x2x4x8xf32>, %v: tensor<6x2x4x8xf32>, %bias: tensor<1x2x4x4xf32>, %mask: tensor<1x6x1x4x4xf32>) -> tensor<6x2x4x8xf32> {
  %s = graph.matmul %q, %k {transpose_rhs} : (tensor<6x2x4x8xf32>, tensor<6x2x4x8xf32>) -> tensor<6x2x4x4xf32>
  %b = graph.add %s, %bias : (tensor<6x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %w = graph.reshape %b : (tensor<6x2x4x4xf32>) -> tensor<1x6x2x4x4xf32>
  %m = graph.add %w, %mask : (tensor<1x6x2x4x4xf32>, tensor<1x6x1x4x4xf32>) -> tensor<1x6x2x4x4xf32>
  %j = graph.reshape %m : (tensor<1x6x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %p = graph.softmax %j {axis = 3 : i64} : (tensor<6x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %y = graph.matmul %p, %v : (tensor<6x2x4x4xf32>, tensor<6x2x4x8xf32>) -> tensor<6x2x4x8xf32>
  return %y : tensor<6x2x4x8xf32>
}
