// Shared memory: tiles of products, turned tiles of a transpose.
// RUN: graphc-opt %s -kernel-schedule-cuda -kernel-print-cuda -o /dev/null | FileCheck %s

// CHECK-LABEL: // matmul_relu
// CHECK: // 64 x 64 results a block, 8 x 8 a thread; the depth in steps of 16
// CHECK: const int row_count = 70, column_count = 90;
// CHECK: __shared__ alignas(16) float row_tile[16][68];
// Which lines a thread brings is found out once; those behind the last are read as the last.
// CHECK: const int row_depth = threadIdx.x % 8 * 2, row_own = threadIdx.x / 8;
// CHECK: const int row = min(int(first_row + row_own + piece * 8), int(row_count - 1));
// CHECK: row_at[piece] = row;
// CHECK: for (int first_depth = 0; first_depth < 50; first_depth += 16) {
// Two neighbours along the depth in one access; zeros behind its end.
// CHECK: Pack<float, 2> factor = {};
// CHECK: if (depth < 50) {
// CHECK:   const auto in0_pack = load_pack<2>(in0 + row_at[piece] * 50 + depth, aligned);
// CHECK: row_tile[row_depth + lane][row_own + piece * 8] = factor.at[lane];
// The other factor lies along its lines.
// CHECK: const auto in1_pack = load_pack<2>(in1 + depth * 90 + column_at[piece], aligned);
// CHECK: store_pack(&column_tile[column_depth + layer * 2][column_own], factor);
// CHECK: __syncthreads();
// CHECK: a[i] = load_pack<4>(&row_tile[step][thread_row + i * 32]);
// CHECK: total[i][j] = fmaf(a[i / 4].at[i % 4], b[j / 4].at[j % 4], total[i][j]);
// CHECK: out0[row * 90 + column] = maximum(total[i][j] + in2_value, 0.0f);
// CHECK: // launch: 64 threads, 1 units a block
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
// Outer dims of the depth are loops, so that nothing is taken apart inside.
// CHECK-LABEL: // conv
// CHECK: const int row_count = 512, column_count = 32;
// CHECK: row_i1[piece] = i1;
// CHECK: for (int k = 0; k < 3; ++k) {
// CHECK: for (int k_2 = 0; k_2 < 3; ++k_2) {
// CHECK: for (int first_depth = 0; first_depth < 16; first_depth += 16) {
// CHECK: auto in0_pack = same_pack<4>(0.0f);
// CHECK: if ((row_i1[piece] + k - 1) >= 0 && {{.*}}) in0_pack = load_pack<4>(in0 + {{.*}} + depth - 272, aligned);
// CHECK-NOT: depth /
// Results go out in packs.
// CHECK: out0_pack.at[lane] = total[i][j + lane];
// CHECK: store_pack(out0 + {{.*}} + column, out0_pack, aligned);
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
