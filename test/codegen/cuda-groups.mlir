// Threads that share one point: a warp or a block along a row, a stack of threads above a column.
// RUN: graphc-opt %s -kernel-schedule-cuda -kernel-print-cuda -o /dev/null | FileCheck %s

// Softmax: a warp a row, four elements a member. The row is read once and written once; between its passes it stays in registers.
// CHECK-LABEL: // softmax
// CHECK: const int member = threadIdx.x % 32;
// CHECK: const bool aligned = is_aligned<16>(in0) && is_aligned<16>(out0);
// CHECK-DAG: Pack<float, 4> in0_kept[1];
// CHECK-DAG: Pack<float, 4> out0_kept[1];
// CHECK: for (int step = 0; step < 1; ++step) {
// CHECK:   const int element = member * 4 + step * 128;
// CHECK:   if (!(element < 100)) break;
// CHECK:   in0_kept[step] = load_pack<4>(in0 + point * 100 + element, aligned);
// CHECK: for (int step = 16; step > 0; step /= 2) {
// CHECK:   const float theirs = exchange(members, largest, step);
// CHECK:   largest = maximum(largest, theirs);
// CHECK-NOT: load_pack
// Exponentials are one instruction, the quotients one reciprocal a row.
// CHECK: const float exp_value = fast_exp(
// CHECK: out0_kept[step].at[lane] = exp_value;
// CHECK-NOT: __syncwarp
// CHECK: const float quotient = 1.0f / total;
// CHECK: out0_kept[step].at[lane] = out0_value * quotient;
// CHECK: store_pack(out0 + point * 100 + {{.*}}, out0_kept[step], aligned);
// CHECK: // launch: 256 threads, 8 units a block
kernel.func @softmax(%x: memref<37x100xf32>, %y: memref<37x100xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i) to (37) {
    %max = kernel.reduce (%k) to (100) init (%lowest : f32) {
      %v = kernel.load %x[%i, %k] : memref<37x100xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %m = arith.maximumf %a, %b : f32
      kernel.yield %m : f32
    }
    %sum = kernel.reduce (%k) to (100) init (%zero : f32) {
      %v = kernel.load %x[%i, %k] : memref<37x100xf32>
      %d = arith.subf %v, %max : f32
      %e = math.exp %d : f32
      kernel.store %e, %y[%i, %k] : memref<37x100xf32>
      kernel.yield %e : f32
    } combine (%a, %b) {
      %m = arith.addf %a, %b : f32
      kernel.yield %m : f32
    }
    kernel.map (%k) to (100) {
      %e = kernel.load %y[%i, %k] : memref<37x100xf32>
      %p = arith.divf %e, %sum : f32
      kernel.store %p, %y[%i, %k] : memref<37x100xf32>
    }
  }
}

// A long row: a block, warps joined through shared memory, one member stores.
// CHECK-LABEL: // long_rows
// CHECK: const int point = blockIdx.x;
// CHECK: __shared__ float parts[8];
// CHECK: if (member % 32 == 0) parts[member / 32] = total;
// CHECK: __syncthreads();
// CHECK: if (member == 0) out0[point] = total;
kernel.func @long_rows(%x: memref<9x5000xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i) to (9) {
    %s = kernel.reduce (%k) to (5000) init (%zero : f32) {
      %v = kernel.load %x[%i, %k] : memref<9x5000xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %t = arith.addf %a, %b : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%i] : memref<9xf32>
  }
}

// Columns: neighbouring threads read neighbouring columns, eight threads share one.
// CHECK-LABEL: // columns
// CHECK: const int across = threadIdx.x % 32, member = threadIdx.x / 32;
// CHECK: const bool live = place < range;
// CHECK: for (int element = member; element < 4096; element += 8) {
// CHECK: parts[threadIdx.x] = total;
// CHECK: total = parts[0 * 32 + across];
// CHECK: if (live && member == 0) out0[point] = total;
kernel.func @columns(%x: memref<4096x512xf32>, %y: memref<512xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%j) to (512) {
    %s = kernel.reduce (%i) to (4096) init (%zero : f32) {
      %v = kernel.load %x[%i, %j] : memref<4096x512xf32>
      kernel.yield %v : f32
    } combine (%a, %c) {
      %t = arith.addf %a, %c : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%j] : memref<512xf32>
  }
}

// A short pass across contiguous points stays in one thread.
// CHECK-LABEL: // short_columns
// CHECK: for (int k = 0; k < 3; ++k) {
// CHECK: // launch: 256 threads, 256 units a block
kernel.func @short_columns(%x: memref<3x512xf32>, %y: memref<512xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%j) to (512) {
    %s = kernel.reduce (%i) to (3) init (%zero : f32) {
      %v = kernel.load %x[%i, %j] : memref<3x512xf32>
      kernel.yield %v : f32
    } combine (%a, %c) {
      %t = arith.addf %a, %c : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%j] : memref<512xf32>
  }
}

// Rows that another pass reads elsewhere go through memory, and members meet before that.
// CHECK-LABEL: // reversed
// CHECK: store_pack(out0 + point * 100 + element, out0_pack, aligned);
// CHECK: __syncwarp(members);
// CHECK: out0[point * 100 - (element_2 + lane) + 99]
kernel.func @reversed(%x: memref<37x100xf32>, %y: memref<37x100xf32>, %z: memref<37x100xf32>) {
  kernel.parallel (%i) to (37) {
    kernel.map (%k) to (100) {
      %v = kernel.load %x[%i, %k] : memref<37x100xf32>
      %s = arith.addf %v, %v : f32
      kernel.store %s, %y[%i, %k] : memref<37x100xf32>
    }
    kernel.map (%k) to (100) {
      %v = kernel.load %y[%i, 99 - %k] : memref<37x100xf32>
      kernel.store %v, %z[%i, %k] : memref<37x100xf32>
    }
  }
}
