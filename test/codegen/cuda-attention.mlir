// Attention in one pass: queries and keys in shared memory, scores and results in registers, nothing of the scores in memory.
// RUN: graphc-opt %s -kernel-schedule-cuda -kernel-print-cuda -o /dev/null | FileCheck %s

// CHECK-LABEL: // attention
// CHECK: // 64 queries a block, 32 keys a step; 8 threads share 4 queries
// CHECK: const int first_query = blockIdx.x % tiles_down * 64;
// CHECK: __shared__ alignas(16) float query_tile[64][24];
// CHECK: __shared__ alignas(16) float key_tile[32][68]; // then values
// CHECK: for (int first_key = 0; first_key < key_count; first_key += 32) {
// CHECK: load_pack<4>(in1 + head * 900 + line * 20 + element, aligned);
// CHECK: __syncthreads();
// CHECK: score[i][j] = fmaf(q[i].at[lane], c[j].at[lane], score[i][j]);
// Keys behind the last one weigh nothing.
// CHECK: float met = -INFINITY;
// CHECK-NEXT: if (key < key_count) {
// CHECK: met = (score[i][j] * 0.25f) + in3_value;
// A larger score makes what was summed smaller.
// CHECK: const float shrink = fast_exp(largest[i] - base);
// CHECK: total[i] = total[i] * shrink + weight;
// CHECK: __syncthreads();
// CHECK: load_pack<4>(in2 + head * 1620 + line * 36 + element, aligned);
// CHECK: sum[i][j] = fmaf(w[i].at[lane], v[j / 4].at[j % 4], sum[i][j]);
// One reciprocal a query.
// CHECK: const float share = 1.0f / total[i];
// CHECK: out0[head * 2520 + query * 36 + column] = mean / 1.0f;
// CHECK: // launch: 128 threads, 1 units a block
kernel.func @attention(%q: memref<6x70x20xf32>, %k: memref<6x45x20xf32>, %v: memref<6x45x36xf32>, %m: memref<70x45xf32>, %o: memref<6x70x36xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.25 : f32
  kernel.parallel (%h, %i, %d) to (6, 70, 36) {
    %r:3 = kernel.reduce (%j) to (45) init (%lowest, %zero, %zero : f32, f32, f32) {
      %dot = kernel.reduce (%e) to (20) init (%zero : f32) {
        %a = kernel.load %q[%h, %i, %e] : memref<6x70x20xf32>
        %b = kernel.load %k[%h, %j, %e] : memref<6x45x20xf32>
        %p = arith.mulf %a, %b : f32
        kernel.yield %p : f32
      } combine (%l, %s) {
        %t = arith.addf %l, %s : f32
        kernel.yield %t : f32
      }
      %scaled = arith.mulf %dot, %scale : f32
      %mask = kernel.load %m[%i, %j] : memref<70x45xf32>
      %score = arith.addf %scaled, %mask : f32
      %value = kernel.load %v[%h, %j, %d] : memref<6x45x36xf32>
      kernel.yield %score, %one, %value : f32, f32, f32
    } combine (%la, %ta, %sa, %lb, %tb, %sb) {
      %largest = arith.maximumf %la, %lb : f32
      %none = arith.cmpf oeq, %largest, %lowest : f32
      %base = arith.select %none, %zero, %largest : f32
      %da = arith.subf %la, %base : f32
      %wa = math.exp %da : f32
      %db = arith.subf %lb, %base : f32
      %wb = math.exp %db : f32
      %t1 = arith.mulf %ta, %wa : f32
      %t2 = arith.mulf %tb, %wb : f32
      %t = arith.addf %t1, %t2 : f32
      %s1 = arith.mulf %sa, %wa : f32
      %s2 = arith.mulf %sb, %wb : f32
      %s = arith.addf %s1, %s2 : f32
      kernel.yield %largest, %t, %s : f32, f32, f32
    }
    %mean = arith.divf %r#2, %r#1 : f32
    kernel.store %mean, %o[%h, %i, %d] : memref<6x70x36xf32>
  }
}

// Any other three parts are an ordinary reduction.
// CHECK-LABEL: // other
// CHECK-NOT: query_tile
// CHECK: // launch
kernel.func @other(%x: memref<64x300xf32>, %o: memref<64x4xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i, %d) to (64, 4) {
    %r:3 = kernel.reduce (%j) to (300) init (%zero, %zero, %zero : f32, f32, f32) {
      %v = kernel.load %x[%i, %j] : memref<64x300xf32>
      %w = arith.mulf %v, %v : f32
      kernel.yield %v, %w, %v : f32, f32, f32
    } combine (%a, %b, %c, %d2, %e, %f) {
      %s = arith.addf %a, %d2 : f32
      %t = arith.addf %b, %e : f32
      %u = arith.addf %c, %f : f32
      kernel.yield %s, %t, %u : f32, f32, f32
    }
    kernel.store %r#2, %o[%i, %d] : memref<64x4xf32>
  }
}
