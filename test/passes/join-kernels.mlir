// graphc-join-kernels: dispatches that do the same to their own buffers become one.
// RUN: graphc-opt %s -split-input-file -graphc-join-kernels | FileCheck %s

// Two updates of different sizes, one by a gradient with a size of 1 more: one dispatch where the second stood, of a kernel for any
// size. What else the function computes is left alone.
// CHECK-LABEL: func.func @step
// CHECK-NEXT: %[[LOSS:.*]] = plan.dispatch @loss(%arg0)
// CHECK-NEXT: %[[NEW:.*]]:2 = plan.dispatch @small_all(%arg0, %arg1, %arg4, %arg2, %arg3, %arg4) scalars <[12, 5]> {inplace = array<i64: 0, 3>}
// CHECK-NEXT: return %[[LOSS]], %[[NEW]]#0, %[[NEW]]#1
func.func @step(%w: tensor<3x4xf32>, %dw: tensor<3x4xf32>, %b: tensor<5xf32>, %db: tensor<1x5xf32>, %rate: tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<5xf32>) {
  %0 = plan.dispatch @big(%w, %dw, %rate) scalars <[]> {inplace = array<i64: 0>} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %1 = plan.dispatch @loss(%w) scalars <[]> : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = plan.dispatch @small(%b, %db, %rate) scalars <[]> {inplace = array<i64: 0>} : (tensor<5xf32>, tensor<1x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %1, %0, %2 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<5xf32>
}
// CHECK-NOT: kernel.func @big(
// CHECK: kernel.func @loss(
// CHECK-NOT: kernel.func @small(
// CHECK: kernel.func @small_all(
// CHECK-SAME: %[[P:.*]]: memref<?xf32>, %[[G:.*]]: memref<?xf32>, %[[R:.*]]: memref<f32>, %[[Y:.*]]: memref<?xf32>, %[[N:.*]]: index)
// CHECK-SAME: kernel.segments = 2
// CHECK: kernel.parallel (%[[I:.*]]) to (symbol(%[[N]]))
// CHECK: kernel.load %[[P]][%[[I]]]
// CHECK: kernel.load %[[R]][]
// CHECK: kernel.store %{{.*}}, %[[Y]][%[[I]]]
kernel.func @big(%p: memref<3x4xf32>, %g: memref<3x4xf32>, %r: memref<f32>, %y: memref<3x4xf32>) {
  kernel.parallel (%i, %j) to (3, 4) {
    %0 = kernel.load %p[%i, %j] : memref<3x4xf32>
    %1 = kernel.load %g[%i, %j] : memref<3x4xf32>
    %2 = kernel.load %r[] : memref<f32>
    %3 = arith.mulf %2, %1 : f32
    %4 = arith.addf %0, %3 : f32
    kernel.store %4, %y[%i, %j] : memref<3x4xf32>
  }
}
kernel.func @loss(%p: memref<3x4xf32>, %y: memref<3x4xf32>) {
  kernel.parallel (%i, %j) to (3, 4) {
    %0 = kernel.load %p[%i, %j] : memref<3x4xf32>
    kernel.store %0, %y[%i, %j] : memref<3x4xf32>
  }
}
kernel.func @small(%p: memref<5xf32>, %g: memref<1x5xf32>, %r: memref<f32>, %y: memref<5xf32>) {
  kernel.parallel (%i) to (5) {
    %0 = kernel.load %p[%i] : memref<5xf32>
    %1 = kernel.load %g[0, %i] : memref<1x5xf32>
    %2 = kernel.load %r[] : memref<f32>
    %3 = arith.mulf %2, %1 : f32
    %4 = arith.addf %0, %3 : f32
    kernel.store %4, %y[%i] : memref<5xf32>
  }
}

// -----

// Nothing to join: one reads its operand turned, one result is read again, and two do different things.
// CHECK-LABEL: func.func @different
// CHECK-NEXT: plan.dispatch @turned
// CHECK-NEXT: plan.dispatch @copy
// CHECK-NEXT: plan.dispatch @copy
// CHECK-NEXT: plan.dispatch @negate
// CHECK-NEXT: return
// CHECK-NOT: segments
func.func @different(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = plan.dispatch @turned(%x) scalars <[]> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = plan.dispatch @copy(%x) scalars <[]> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = plan.dispatch @copy(%1) scalars <[]> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = plan.dispatch @negate(%x) scalars <[]> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
kernel.func @turned(%p: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.parallel (%i, %j) to (4, 4) {
    %0 = kernel.load %p[%j, %i] : memref<4x4xf32>
    kernel.store %0, %y[%i, %j] : memref<4x4xf32>
  }
}
kernel.func @copy(%p: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.parallel (%i, %j) to (4, 4) {
    %0 = kernel.load %p[%i, %j] : memref<4x4xf32>
    kernel.store %0, %y[%i, %j] : memref<4x4xf32>
  }
}
kernel.func @negate(%p: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.parallel (%i, %j) to (4, 4) {
    %0 = kernel.load %p[%i, %j] : memref<4x4xf32>
    %1 = arith.negf %0 : f32
    kernel.store %1, %y[%i, %j] : memref<4x4xf32>
  }
}
