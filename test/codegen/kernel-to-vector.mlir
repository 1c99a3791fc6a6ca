// A scheduled kernel as vectors: full steps, then one masked step; a row's uniform load happens once per row.
// RUN: graphc-opt %s -kernel-to-vector | FileCheck %s

// CHECK-LABEL: func.func @scale(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: i64, %arg4: i64)
// CHECK: scf.for
// CHECK:   llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK:   scf.for
// CHECK:     llvm.load %{{.*}} : !llvm.ptr -> vector<8xf32>
// CHECK:     arith.mulf %{{.*}} : vector<8xf32>
// CHECK:     llvm.store %{{.*}} : vector<8xf32>, !llvm.ptr
// CHECK:   scf.if
// CHECK:     llvm.intr.masked.load
// CHECK:     llvm.intr.masked.store
kernel.func @scale(%x: memref<?x?xf32>, %b: memref<?xf32>, %y: memref<?x?xf32>, %n: index, %m: index)
    attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0, s1)>],
                schedule = #kernel.schedule<>} {
  kernel.parallel (%i, %j) to (symbol(%n), symbol(%m)) lanes 8 {
    %v = kernel.load %x[%i, %j] : memref<?x?xf32>
    %s = kernel.load %b[%i] : memref<?xf32>
    %r = arith.mulf %v, %s : f32
    kernel.store %r, %y[%i, %j] : memref<?x?xf32>
  }
}
