// f32 functions become arithmetic; f64 and rare ones are left for a library; half types go through f32.
// RUN: graphc-opt %s -kernel-expand-math | FileCheck %s

// CHECK-LABEL: kernel.func @expand
// CHECK-NOT: math.exp %{{.*}} : f32
// CHECK: math.fma
// CHECK-NOT: math.tanh
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.acos %{{.*}} : f32
kernel.func @expand(%x: memref<8xf32>, %d: memref<8xf64>, %h: memref<8xf16>) {
  kernel.parallel (%i) to (8) {
    %v = kernel.load %x[%i] : memref<8xf32>
    %e = math.exp %v : f32
    kernel.store %e, %x[%i] : memref<8xf32>
    %w = kernel.load %h[%i] : memref<8xf16>
    %t = math.tanh %w : f16
    kernel.store %t, %h[%i] : memref<8xf16>
    %u = kernel.load %d[%i] : memref<8xf64>
    %f = math.exp %u : f64
    kernel.store %f, %d[%i] : memref<8xf64>
    %c = math.acos %v : f32
    kernel.store %c, %x[%i] : memref<8xf32>
  }
}

// Nothing to do.
// CHECK-LABEL: kernel.func @plain
// CHECK: math.sqrt
kernel.func @plain(%x: memref<8xf32>) {
  kernel.parallel (%i) to (8) {
    %v = kernel.load %x[%i] : memref<8xf32>
    %e = math.sqrt %v : f32
    kernel.store %e, %x[%i] : memref<8xf32>
  }
}
