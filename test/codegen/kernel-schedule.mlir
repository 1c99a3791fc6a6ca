// Where lanes go, which dims join, and what stays as it is.
// RUN: graphc-opt %s -kernel-schedule | FileCheck %s

// Every access walks the dims as one: a flat range.
// CHECK-LABEL: kernel.func @flat
// CHECK: kernel.parallel (%i) to (symbol(%arg2) * 15) lanes 16
kernel.func @flat(%x: memref<?x3x5xf32>, %y: memref<?x3x5xf32>, %n: index)
    attributes {arg_dims = [affine_map<()[s0] -> (s0, 3, 5)>, affine_map<()[s0] -> (s0, 3, 5)>]} {
  kernel.parallel (%i, %j, %k) to (symbol(%n), 3, 5) {
    %v = kernel.load %x[%i, %j, %k] : memref<?x3x5xf32>
    kernel.store %v, %y[%i, %j, %k] : memref<?x3x5xf32>
  }
}

// A bias per channel keeps the channel dim; the image dims still join. Its load depends on no lane.
// CHECK-LABEL: kernel.func @bias
// CHECK: kernel.parallel (%i, %j, %k) to (2, 8, 42) lanes 16
kernel.func @bias(%x: memref<2x8x6x7xf32>, %b: memref<8xf32>, %y: memref<2x8x6x7xf32>) {
  kernel.parallel (%n, %c, %h, %w) to (2, 8, 6, 7) {
    %v = kernel.load %x[%n, %c, %h, %w] : memref<2x8x6x7xf32>
    %s = kernel.load %b[%c] : memref<8xf32>
    %r = arith.addf %v, %s : f32
    kernel.store %r, %y[%n, %c, %h, %w] : memref<2x8x6x7xf32>
  }
}

// Rows: lanes inside the reduction, which is wider than the map; the division leaves the loop.
// CHECK-LABEL: kernel.func @rows
// CHECK: kernel.parallel (%i) to (4) {
// CHECK: kernel.reduce (%j) to (1024) init ({{.*}}) lanes 32
// CHECK: arith.divf
// CHECK: kernel.map (%j) to (1024) lanes 16
kernel.func @rows(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  kernel.parallel (%i) to (4) {
    %s = kernel.reduce (%k) to (1024) init (%zero : f32) {
      %v = kernel.load %x[%i, %k] : memref<4x1024xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    kernel.map (%k) to (1024) {
      %v = kernel.load %x[%i, %k] : memref<4x1024xf32>
      %r = arith.divf %one, %s : f32
      %p = arith.mulf %v, %r : f32
      kernel.store %p, %y[%i, %k] : memref<4x1024xf32>
    }
  }
}

// Columns: lanes along the outer domain, rows stream below.
// CHECK-LABEL: kernel.func @columns
// CHECK-SAME: strategy = columns
// CHECK: kernel.parallel (%i) to (512) lanes 64
// CHECK: kernel.reduce (%j) to (4096) init ({{.*}}) {
kernel.func @columns(%x: memref<4096x512xf32>, %y: memref<512xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%j) to (512) {
    %s = kernel.reduce (%k) to (4096) init (%zero : f32) {
      %v = kernel.load %x[%k, %j] : memref<4096x512xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%j] : memref<512xf32>
  }
}

// Loads one way, stores the other: tiles.
// CHECK-LABEL: kernel.func @transpose
// CHECK-SAME: strategy = transpose{{.*}}tile = 32
kernel.func @transpose(%x: memref<64x96xf32>, %y: memref<96x64xf32>) {
  kernel.parallel (%i, %j) to (96, 64) {
    %v = kernel.load %x[%j, %i] : memref<64x96xf32>
    kernel.store %v, %y[%i, %j] : memref<96x64xf32>
  }
}

// An accumulating store may meet itself: no lanes.
// CHECK-LABEL: kernel.func @histogram
// CHECK: kernel.parallel (%i) to (100) {
kernel.func @histogram(%at: memref<100xi32>, %y: memref<7xi32>) {
  %one = arith.constant 1 : i32
  kernel.parallel (%k) to (100) {
    %i32 = kernel.load %at[%k] : memref<100xi32>
    %index = arith.index_cast %i32 : i32 to index
    kernel.store %one, %y[%index] atomic addi : memref<7xi32>
  }
}

// A schedule that is there stays.
// CHECK-LABEL: kernel.func @given
// CHECK: kernel.parallel (%i) to (64) {
kernel.func @given(%x: memref<64xf32>, %y: memref<64xf32>) attributes {schedule = #kernel.schedule<tail = scalar>} {
  kernel.parallel (%i) to (64) {
    %v = kernel.load %x[%i] : memref<64xf32>
    kernel.store %v, %y[%i] : memref<64xf32>
  }
}

// A sum of products: the sum in memory order of %x with its neighbouring dims joined, tiles of ten columns, lanes along
// the output channels.
// CHECK-LABEL: kernel.func @contract
// CHECK-SAME: schedule = #kernel.schedule<strategy = contract, tile = 10>
// CHECK: kernel.parallel (%i, %j, %k) to (6, 20, 8) lanes 8
// CHECK: kernel.reduce (%l, %m) to (3, 9)
kernel.func @contract(%x: memref<8x22x3xf32>, %w: memref<3x3x3x8xf32>, %y: memref<6x20x8xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%h, %v, %c) to (6, 20, 8) {
    %s = kernel.reduce (%r, %i, %j) to (3, 3, 3) init (%zero : f32) {
      %a = kernel.load %x[%h + %i, %v + %j, %r] : memref<8x22x3xf32>
      %b = kernel.load %w[%i, %j, %r, %c] : memref<3x3x3x8xf32>
      %p = arith.mulf %a, %b : f32
      kernel.yield %p : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%h, %v, %c] : memref<6x20x8xf32>
  }
}

// With a load that may lie outside, the sum stays as it was.
// CHECK-LABEL: kernel.func @guarded
// CHECK-NOT: contract
// CHECK: kernel.reduce
kernel.func @guarded(%x: memref<6x20xf32>, %w: memref<3x8xf32>, %y: memref<6x20x8xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%h, %v, %c) to (6, 20, 8) {
    %s = kernel.reduce (%j) to (3) init (%zero : f32) {
      %a = kernel.load %x[%h, %v + %j - 1] guard %zero : memref<6x20xf32>
      %b = kernel.load %w[%j, %c] : memref<3x8xf32>
      %p = arith.mulf %a, %b : f32
      kernel.yield %p : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%h, %v, %c] : memref<6x20x8xf32>
  }
}
