// Shared memory: tiles of products, turned tiles of a transpose.
// RUN: graphc-opt %s -kernel-schedule-cuda -kernel-print-cuda -o /dev/null | FileCheck %s

// CHECK-LABEL: // matmul_relu
// CHECK: // 64 x 64 results a block, 8 x 4 a thread; the depth in steps of 16
// CHECK: const int row_count = 70, column_count = 90, depth_count = 50;
// CHECK: __shared__ alignas(16) float row_tile[16][68];
// CHECK: if (row < row_count && depth < depth_count) {
// CHECK:   const float in0_value = in0[row * 50 + depth];
// CHECK: row_tile[at_depth][at_row] = factor;
// CHECK: const int at_depth = slot / 64, at_column = slot % 64;
// CHECK: __syncthreads();
// CHECK: total[i][j] = fmaf(a[i], b[j], total[i][j]);
// CHECK: out0[row * 90 + column] = maximum(total[i][j] + in2_value, 0.0f);
// CHECK: // launch: 128 threads, 1 units a block
kernel.func @matmul_relu(%x: memref<70x50xf32>, %w: memref<50x90xf32>, %b: memref<90xf32>, %o: memref<70x90xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%m, %n) to (70, 90) {
    %s = kernel.reduce (%k) to (50) init (%zero : f32) {
      %v = kernel.load %x[%m, %k] : memref<70x50xf32>
      %u = kernel.load %w[%k, %n] : memref<50x90xf32>
      %p = arith.mulf %v, %u : f32
      kernel.yield %p : f32
    } combine (%a, %c) {
      %t = arith.addf %a, %c : f32
      kernel.yield %t : f32
    }
    %bias = kernel.load %b[%n] : memref<90xf32>
    %t = arith.addf %s, %bias : f32
    %r = arith.maximumf %t, %zero : f32
    kernel.store %r, %o[%m, %n] : memref<70x90xf32>
  }
}

// A convolution is the same sum: rows are pixels, columns output channels, the depth runs along channels last. Padding is a guard.
// CHECK-LABEL: // conv
// CHECK: const int row_count = 512, column_count = 32, depth_count = 144;
// CHECK: const int k0 = depth / 48;
// CHECK: const int k1 = depth / 16 % 3;
// CHECK: const int k2 = depth % 16;
// CHECK: ? in0[{{.*}}] : 0.0f;
kernel.func @conv(%x: memref<2x16x16x16xf32>, %w: memref<32x16x3x3xf32>, %o: memref<2x16x16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%n, %h, %v, %c) to (2, 16, 16, 32) {
    %s = kernel.reduce (%i, %a, %b) to (16, 3, 3) init (%zero : f32) {
      %p = kernel.load %x[%n, %h + %a - 1, %v + %b - 1, %i] guard %zero : memref<2x16x16x16xf32>
      %q = kernel.load %w[%c, %i, %a, %b] : memref<32x16x3x3xf32>
      %m = arith.mulf %p, %q : f32
      kernel.yield %m : f32
    } combine (%l, %r) {
      %t = arith.addf %l, %r : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %o[%n, %h, %v, %c] : memref<2x16x16x32xf32>
  }
}

// A matrix times a vector shares nothing: rows.
// CHECK-LABEL: // vector
// CHECK-NOT: row_tile
// CHECK: exchange(
kernel.func @vector(%x: memref<70x50xf32>, %w: memref<50xf32>, %o: memref<70xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%m) to (70) {
    %s = kernel.reduce (%k) to (50) init (%zero : f32) {
      %v = kernel.load %x[%m, %k] : memref<70x50xf32>
      %u = kernel.load %w[%k] : memref<50xf32>
      %p = arith.mulf %v, %u : f32
      kernel.yield %p : f32
    } combine (%a, %c) {
      %t = arith.addf %a, %c : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %o[%m] : memref<70xf32>
  }
}

// CHECK-LABEL: // turn
// CHECK: __shared__ float turned[32][33];
// CHECK: turned[step][lane] = in0[store_at * 60 + load_at];
// CHECK: __syncthreads();
// CHECK: const float in0_value = turned[lane][step];
// CHECK: out0[load_at * 100 + store_at] = in0_value;
kernel.func @turn(%x: memref<100x60xf32>, %y: memref<60x100xf32>) {
  kernel.parallel (%i, %j) to (60, 100) {
    %v = kernel.load %x[%j, %i] : memref<100x60xf32>
    kernel.store %v, %y[%i, %j] : memref<60x100xf32>
  }
}
