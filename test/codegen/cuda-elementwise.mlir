// One thread a point: packs of 16 bytes where memory is contiguous, one by one where it is not; guards and checks.
// RUN: graphc-opt %s -kernel-schedule-cuda -kernel-print-cuda -o /dev/null | FileCheck %s

// The name, what it computes, its buffers and costs stand above a kernel. Half elements widen; four points a thread.
// CHECK-LABEL: // gelu_add
// CHECK-NEXT: //   computes add /a, gelu /b
// CHECK-NEXT: //   in0: f32[4096]
// CHECK-NEXT: //   in1: f16[4096]
// CHECK-NEXT: //   out0: f32[4096]
// CHECK-NEXT: //   reads 24.58 kB, writes 16.38 kB, 20.48 kflop
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: gelu_add(const float* in0, const f16* in1, float* out0, i64 range, ErrorCell* error) {
// CHECK: if (first + 4 <= range && is_aligned<16>(in0) && is_aligned<8>(in1) && is_aligned<16>(out0)) {
// CHECK:   const auto [[PACK:.*]] = load_pack<4>(in0 + first);
// CHECK:   #pragma unroll
// CHECK:   for (int lane = 0; lane < 4; ++lane) {
// CHECK:     const float sum = in0_value + widen(in1_value);
// CHECK:     out0_pack.at[lane] = (sum * (exact_erf(sum) + 1.0f)) * 0.5f;
// CHECK:   store_pack(out0 + first, out0_pack);
// CHECK: } else {
// CHECK:   for (int point = first; point < range && point < first + 4; ++point) {
// CHECK: // launch: 256 threads, 1024 units a block
kernel.func @gelu_add(%x: memref<4096xf32>, %y: memref<4096xf16>, %o: memref<4096xf32>) attributes {sources = ["add /a", "gelu /b"]} {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  kernel.parallel (%i) to (4096) {
    %a = kernel.load %x[%i] : memref<4096xf32>
    %h = kernel.load %y[%i] : memref<4096xf16>
    %b = arith.extf %h : f16 to f32
    %s = arith.addf %a, %b : f32
    %e = math.erf %s : f32
    %f = arith.addf %e, %one : f32
    %g = arith.mulf %s, %f : f32
    %r = arith.mulf %g, %half : f32
    kernel.store %r, %o[%i] : memref<4096xf32>
  }
}

// Sizes known at run time alone: 64-bit indices. A padded copy reads under its guard; there are no packs to form.
// CHECK-LABEL: // padded
// CHECK: //   in0: f32[n0, 5]
// CHECK: const i64 point = i64(blockIdx.x) * 256 + threadIdx.x;
// CHECK: const i64 i0 = point / 7;
// CHECK: const i64 i1 = point % 7;
// CHECK: const float in0_value = (i1 - 1) >= 0 && (i1 - 1) < 5 ? in0[i0 * 5 + i1 - 1] : 0.0f;
kernel.func @padded(%x: memref<?x5xf32>, %o: memref<?x7xf32>, %n: index)
    attributes {arg_dims = [affine_map<()[s0] -> (s0, 5)>, affine_map<()[s0] -> (s0, 7)>]} {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i, %j) to (symbol(%n), 7) {
    %a = kernel.load %x[%i, %j - 1] guard %zero : memref<?x5xf32>
    kernel.store %a, %o[%i, %j] : memref<?x7xf32>
  }
}

// A gathered row is checked; integers wrap.
// CHECK-LABEL: // rows
// CHECK: const i64 in1_value = in1[i0];
// CHECK: const int row = int(check_index(in1_value, 10, false, 3, error));
// CHECK: wrapping_add(in0_value, in0_value)
kernel.func @rows(%x: memref<10x6xi32>, %at: memref<4xi64>, %o: memref<4x6xi32>) {
  %ten = arith.constant 10 : index
  kernel.parallel (%i, %j) to (4, 6) {
    %r = kernel.load %at[%i] : memref<4xi64>
    %c = arith.index_cast %r : i64 to index
    %s = kernel.check_index %c to %ten site 3
    %v = kernel.load %x[%s, %j] : memref<10x6xi32>
    %w = arith.addi %v, %v : i32
    kernel.store %w, %o[%i, %j] : memref<4x6xi32>
  }
}
