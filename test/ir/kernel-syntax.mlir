// Every op of the kernel dialect in its text form, printed and read back unchanged.
// RUN: graphc-opt %s | graphc-opt | FileCheck %s

// CHECK-LABEL: kernel.func @rows(%arg0: memref<?x1024xf32>, %arg1: memref<?x1024xf32>, %arg2: index)
// CHECK-SAME: schedule = #kernel.schedule<tail = scalar>
kernel.func @rows(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>, %n: index)
    attributes {arg_dims = [affine_map<()[s0] -> (s0, 1024)>, affine_map<()[s0] -> (s0, 1024)>],
                schedule = #kernel.schedule<strategy = loop, tail = scalar>, sources = ["Softmax_3"]} {
  %lowest = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i64
  // CHECK: kernel.parallel (%i) to (symbol(%arg2)) {
  kernel.parallel (%i) to (symbol(%n)) {
    // CHECK: %{{.*}}:2 = kernel.reduce (%j) to (1024) init (%{{.*}}, %{{.*}} : f32, i64) lanes 8 {
    %max:2 = kernel.reduce (%k) to (1024) init (%lowest, %none : f32, i64) lanes 8 {
      %v = kernel.load %x[%i, %k] : memref<?x1024xf32>
      %k64 = arith.index_cast %k : index to i64
      kernel.yield %v, %k64 : f32, i64
    // CHECK: } combine (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
    } combine (%a, %ai, %b, %bi) {
      %gt = arith.cmpf ogt, %b, %a : f32
      %m = arith.select %gt, %b, %a : f32
      %mi = arith.select %gt, %bi, %ai : i64
      kernel.yield %m, %mi : f32, i64
    }
    // CHECK: kernel.map (%j) to (1024) lanes 16 {
    kernel.map (%k) to (1024) lanes 16 {
      // CHECK: kernel.load %arg0[%i, -%j + 1023] guard %{{.*}} : memref<?x1024xf32>
      %v = kernel.load %x[%i, 1023 - %k] guard %lowest : memref<?x1024xf32>
      %d = arith.subf %v, %max#0 : f32
      kernel.store %d, %y[%i, %k] : memref<?x1024xf32>
    }
  }
}

// CHECK-LABEL: kernel.func @scatter
kernel.func @scatter(%data: memref<64xi32>, %at: memref<100xi64>, %count: memref<1xi32>) {
  %size = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  // CHECK: kernel.parallel () to () {
  kernel.parallel () to () {
    // CHECK: %{{.*}} = kernel.scan (%i) to (100) iter (%{{.*}} = %{{.*}} : i32) {
    %sum = kernel.scan (%k) to (100) iter (%carry = %zero : i32) {
      %i64 = kernel.load %at[%k] : memref<100xi64>
      %i = arith.index_cast %i64 : i64 to index
      // CHECK: kernel.check_index %{{.*}} to %{{.*}} wrap site 7
      %safe = kernel.check_index %i to %size wrap site 7
      // CHECK: kernel.index (%{{.*}} floordiv 2)
      %half = kernel.index (%safe floordiv 2)
      %keep = arith.cmpi slt, %i, %size : index
      // CHECK: kernel.store %{{.*}}, %arg0[%{{.*}} * 2] if %{{.*}} ordered addi : memref<64xi32>
      kernel.store %one, %data[%half * 2] if %keep ordered addi : memref<64xi32>
      %next = arith.addi %carry, %one : i32
      kernel.yield %next : i32
    }
    // CHECK: kernel.store %{{.*}}, %arg2[0] atomic addi : memref<1xi32>
    kernel.store %sum, %count[0] atomic addi : memref<1xi32>
    // CHECK: kernel.scan (%i) to (3) {
    kernel.scan (%k) to (3) {
      kernel.store %sum, %count[0] ordered : memref<1xi32>
    }
  }
}

// Sizes may multiply scalars.
// CHECK-LABEL: kernel.func @flat
// CHECK: kernel.parallel (%i) to (symbol(%arg2) * symbol(%arg3)) lanes 8 {
kernel.func @flat(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index)
    attributes {arg_dims = [affine_map<()[s0, s1] -> (s0 * s1)>, affine_map<()[s0, s1] -> (s0 * s1)>]} {
  kernel.parallel (%i) to (symbol(%n) * symbol(%m)) lanes 8 {
    %v = kernel.load %x[%i] : memref<?xf32>
    kernel.store %v, %y[%i] : memref<?xf32>
  }
}
