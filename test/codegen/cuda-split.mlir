// Long reductions to few results become two kernels; short ones, and those with many results, stay.
// RUN: graphc-opt %s -cuda-split-reductions | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[PARTS:.*]] = plan.dispatch @mean_parts(%arg0) {{.*}} -> tensor<256xf32>
// CHECK: plan.dispatch @mean_join(%arg0, %[[PARTS]]) {{.*}} -> tensor<f32>
// CHECK: plan.dispatch @rows(
func.func @main(%x: tensor<1048576xf32>, %r: tensor<4096x64xf32>) -> (tensor<f32>, tensor<4096xf32>) {
  %0 = plan.dispatch @mean(%x) scalars <[]> : (tensor<1048576xf32>) -> tensor<f32>
  %1 = plan.dispatch @rows(%r) scalars <[]> : (tensor<4096x64xf32>) -> tensor<4096xf32>
  return %0, %1 : tensor<f32>, tensor<4096xf32>
}

// CHECK-LABEL: kernel.func @mean_parts(
// CHECK-SAME: %[[X:.*]]: memref<1048576xf32>, %[[P:.*]]: memref<256xf32>)
// CHECK: kernel.parallel (%[[C:.*]]) to (256)
// CHECK: kernel.reduce (%[[K:.*]]) to (4096)
// CHECK: kernel.load %[[X]][%[[K]] + %[[C]] * 4096]
// CHECK: kernel.store %{{.*}}, %[[P]][%[[C]]]
// CHECK-LABEL: kernel.func @mean_join(
// CHECK-SAME: %{{.*}}: memref<1048576xf32>, %[[P:.*]]: memref<256xf32>, %[[Y:.*]]: memref<f32>)
// CHECK: %[[S:.*]] = kernel.reduce (%[[C:.*]]) to (256)
// CHECK: kernel.load %[[P]][%[[C]]]
// CHECK: %[[M:.*]] = arith.mulf %[[S]]
// CHECK: kernel.store %[[M]], %[[Y]][]
kernel.func @mean(%x: memref<1048576xf32>, %y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 9.5367431640625e-07 : f32
  kernel.parallel () to () {
    %s = kernel.reduce (%k) to (1048576) init (%zero : f32) {
      %v = kernel.load %x[%k] : memref<1048576xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    %m = arith.mulf %s, %scale : f32
    kernel.store %m, %y[] : memref<f32>
  }
}

// CHECK-LABEL: kernel.func @rows(
kernel.func @rows(%x: memref<4096x64xf32>, %y: memref<4096xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i) to (4096) {
    %s = kernel.reduce (%k) to (64) init (%zero : f32) {
      %v = kernel.load %x[%i, %k] : memref<4096x64xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%i] : memref<4096xf32>
  }
}
