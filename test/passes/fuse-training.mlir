// What training asks of graphc-fuse: results written in another order, and kernels that read the same values joined.
// RUN: graphc-opt %s -split-input-file -graphc-select -graphc-fuse | FileCheck %s
// RUN: graphc-opt %s -split-input-file -graphc-select -graphc-fuse -graphc-kernels | FileCheck %s --check-prefix=PLAN

// The product writes its heads where the next one reads them, although two ops read the transpose.
// CHECK-LABEL: func.func @heads
// CHECK: graph.group "library"
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.yield
// CHECK-NOT: graph.transpose
// PLAN-LABEL: func.func @heads
// PLAN: plan.library "matmul"
// PLAN-SAME: plan.result_view = #plan.strided<dims <[2, 4, 16, 8]> strides <[512, 8, 32, 1]> offset <[0]>>
// PLAN-SAME: -> tensor<2x16x4x8xf32>
func.func @heads(%p: tensor<2x4x16x16xf32>, %v: tensor<2x4x16x8xf32>, %s: tensor<f32>) -> (tensor<2x16x32xf32>, tensor<32x32xf32>) {
  %0 = graph.matmul %p, %v : (tensor<2x4x16x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
  %1 = graph.mul %0, %s : (tensor<2x4x16x8xf32>, tensor<f32>) -> tensor<2x4x16x8xf32>
  %2 = graph.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32>
  %3 = graph.reshape %2 : (tensor<2x16x4x8xf32>) -> tensor<2x16x32xf32>
  %4 = graph.reshape %2 : (tensor<2x16x4x8xf32>) -> tensor<32x32xf32>
  return %3, %4 : tensor<2x16x32xf32>, tensor<32x32xf32>
}

// -----

// The last dim moves: the library writes rows, a kernel turns them.
// CHECK-LABEL: func.func @columns
// CHECK: graph.group "library"
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.yield
func.func @columns(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = graph.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.transpose %0 {perm = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// Gradients of a scale and a bias: one kernel reads what both add up.
// CHECK-LABEL: func.func @scale_and_bias
// CHECK: %[[R:.*]]:2 = graph.group "loop"
// CHECK: graph.mul
// CHECK: graph.reduce
// CHECK: graph.reduce
// CHECK: return %[[R]]#
func.func @scale_and_bias(%g: tensor<8x16x32xf32>, %y: tensor<8x16x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = graph.mul %g, %y : (tensor<8x16x32xf32>, tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %1 = graph.reduce "sum" %0 axes [1] : (tensor<8x16x32xf32>) -> tensor<8x32xf32>
  %2 = graph.reduce "sum" %g axes [1] : (tensor<8x16x32xf32>) -> tensor<8x32xf32>
  return %1, %2 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// An activation and its derivative are all who read %0: one kernel, and %0 need not be kept.
// CHECK-LABEL: func.func @activation
// CHECK: graph.group "library"
// CHECK: %[[K:.*]]:2 = graph.group "loop"
// CHECK: graph.tanh
// CHECK: graph.cos
// CHECK: graph.yield
func.func @activation(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.tanh %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = graph.matmul %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = graph.cos %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = graph.matmul %3, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2, %4 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The maxima of windows and their places, in one pass over the windows; the relu before them joins.
// CHECK-LABEL: func.func @pool
// CHECK: %[[K:.*]]:2 = graph.group "loop"
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.max_pool
// CHECK-NEXT: graph.max_pool_index
// PLAN-LABEL: func.func @pool
// PLAN: kernel.func
// PLAN: kernel.reduce
// PLAN-NOT: kernel.reduce
func.func @pool(%x: tensor<2x8x8x16xf32>) -> (tensor<2x4x4x16xf32>, tensor<2x4x4x16xui8>) {
  %r = graph.relu %x : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %0 = graph.max_pool %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<2x8x8x16xf32>) -> tensor<2x4x4x16xf32>
  %1 = graph.max_pool_index %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<2x8x8x16xf32>) -> tensor<2x4x4x16xui8>
  return %0, %1 : tensor<2x4x4x16xf32>, tensor<2x4x4x16xui8>
}
