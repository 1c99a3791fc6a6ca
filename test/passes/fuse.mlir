// Ops that run as one end in one group.
// RUN: graphc-opt --graphc-select --graphc-fuse --split-input-file %s | FileCheck %s
// RUN: graphc-opt --graphc-select --graphc-fuse --split-input-file --remarks-filter=fuse %s 2>&1 | FileCheck %s --check-prefix=REMARK

// A softmax is one row group: its reductions are broadcast back over the rows they came from.
// CHECK-LABEL: func.func @softmax(
// CHECK: graph.group "loop" attributes {rows = array<i64: 1>}
// CHECK-NEXT: graph.reduce "max"
// CHECK-NEXT: graph.sub
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.reduce "sum"
// CHECK-NEXT: graph.div
// CHECK-NEXT: graph.yield
// CHECK-NOT: graph.group
func.func @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %m = graph.reduce "max" %x axes [1] keep : (tensor<8x16xf32>) -> tensor<8x1xf32>
  %d = graph.sub %x, %m : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %e = graph.exp %d : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %s = graph.reduce "sum" %e axes [1] keep : (tensor<8x16xf32>) -> tensor<8x1xf32>
  %y = graph.div %e, %s : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A product takes bias, activation and residual as its epilogue; a transposed operand is read by its strides.
// CHECK-LABEL: func.func @epilogue(
// CHECK: graph.group "library"
// CHECK: graph.transpose
// CHECK: graph.matmul
// CHECK: graph.add
// CHECK: graph.gelu
// CHECK: graph.add
// CHECK: graph.yield
// CHECK-NOT: graph.group
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>, %r: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %t = graph.transpose %w {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %0 = graph.matmul %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = graph.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %2 = graph.gelu %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = graph.add %2, %r : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

// -----

// A reduction read by a larger shape, outside its own rows, is not repeated: two kernels, and a remark that says why.
// CHECK-LABEL: func.func @refused(
// CHECK: graph.group "loop"
// CHECK-NEXT: graph.reduce "sum"
// CHECK-NEXT: graph.yield
// CHECK: graph.group "loop"
// CHECK-NEXT: graph.add
// REMARK: NotFused{{.*}}its result would be reduced again for every element that reads it
func.func @refused(%x: tensor<16x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = graph.reduce "sum" %x axes [0] : (tensor<16x8xf32>) -> tensor<8xf32>
  %z = graph.add %y, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

// What depends on weights alone runs once and joins nothing that runs per call.
graph.weight @w : tensor<8xf32> "m" at 0 bytes 32
// CHECK-LABEL: func.func @prepare(
// CHECK: graph.group "loop" attributes {prepare}
// CHECK-NEXT: graph.rsqrt
// CHECK: graph.group "loop" {
// CHECK-NEXT: graph.mul
func.func @prepare(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = graph.get_weight @w : tensor<8xf32>
  %r = graph.rsqrt %w : (tensor<8xf32>) -> tensor<8xf32>
  %y = graph.mul %x, %r : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A value with readers in two kernels is computed in the first and stored for the second.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[G:.*]]:2 = graph.group "loop" attributes {rows = array<i64: 1>}
// CHECK: graph.matmul %[[G]]#{{[01]}},
func.func @shared(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %x = graph.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = graph.reduce "sum" %x axes [1] keep : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = graph.div %x, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %z = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A kernel's work is bounded: 70 exponentials are more than one takes.
// CHECK-LABEL: func.func @long_chain(
// CHECK-COUNT-2: graph.group "loop"
// CHECK-NOT: graph.group
func.func @long_chain(%v: tensor<64xf32>) -> tensor<64xf32> {
  %e0 = graph.exp %v : (tensor<64xf32>) -> tensor<64xf32>
  %e1 = graph.exp %e0 : (tensor<64xf32>) -> tensor<64xf32>
  %e2 = graph.exp %e1 : (tensor<64xf32>) -> tensor<64xf32>
  %e3 = graph.exp %e2 : (tensor<64xf32>) -> tensor<64xf32>
  %e4 = graph.exp %e3 : (tensor<64xf32>) -> tensor<64xf32>
  %e5 = graph.exp %e4 : (tensor<64xf32>) -> tensor<64xf32>
  %e6 = graph.exp %e5 : (tensor<64xf32>) -> tensor<64xf32>
  %e7 = graph.exp %e6 : (tensor<64xf32>) -> tensor<64xf32>
  %e8 = graph.exp %e7 : (tensor<64xf32>) -> tensor<64xf32>
  %e9 = graph.exp %e8 : (tensor<64xf32>) -> tensor<64xf32>
  %e10 = graph.exp %e9 : (tensor<64xf32>) -> tensor<64xf32>
  %e11 = graph.exp %e10 : (tensor<64xf32>) -> tensor<64xf32>
  %e12 = graph.exp %e11 : (tensor<64xf32>) -> tensor<64xf32>
  %e13 = graph.exp %e12 : (tensor<64xf32>) -> tensor<64xf32>
  %e14 = graph.exp %e13 : (tensor<64xf32>) -> tensor<64xf32>
  %e15 = graph.exp %e14 : (tensor<64xf32>) -> tensor<64xf32>
  %e16 = graph.exp %e15 : (tensor<64xf32>) -> tensor<64xf32>
  %e17 = graph.exp %e16 : (tensor<64xf32>) -> tensor<64xf32>
  %e18 = graph.exp %e17 : (tensor<64xf32>) -> tensor<64xf32>
  %e19 = graph.exp %e18 : (tensor<64xf32>) -> tensor<64xf32>
  %e20 = graph.exp %e19 : (tensor<64xf32>) -> tensor<64xf32>
  %e21 = graph.exp %e20 : (tensor<64xf32>) -> tensor<64xf32>
  %e22 = graph.exp %e21 : (tensor<64xf32>) -> tensor<64xf32>
  %e23 = graph.exp %e22 : (tensor<64xf32>) -> tensor<64xf32>
  %e24 = graph.exp %e23 : (tensor<64xf32>) -> tensor<64xf32>
  %e25 = graph.exp %e24 : (tensor<64xf32>) -> tensor<64xf32>
  %e26 = graph.exp %e25 : (tensor<64xf32>) -> tensor<64xf32>
  %e27 = graph.exp %e26 : (tensor<64xf32>) -> tensor<64xf32>
  %e28 = graph.exp %e27 : (tensor<64xf32>) -> tensor<64xf32>
  %e29 = graph.exp %e28 : (tensor<64xf32>) -> tensor<64xf32>
  %e30 = graph.exp %e29 : (tensor<64xf32>) -> tensor<64xf32>
  %e31 = graph.exp %e30 : (tensor<64xf32>) -> tensor<64xf32>
  %e32 = graph.exp %e31 : (tensor<64xf32>) -> tensor<64xf32>
  %e33 = graph.exp %e32 : (tensor<64xf32>) -> tensor<64xf32>
  %e34 = graph.exp %e33 : (tensor<64xf32>) -> tensor<64xf32>
  %e35 = graph.exp %e34 : (tensor<64xf32>) -> tensor<64xf32>
  %e36 = graph.exp %e35 : (tensor<64xf32>) -> tensor<64xf32>
  %e37 = graph.exp %e36 : (tensor<64xf32>) -> tensor<64xf32>
  %e38 = graph.exp %e37 : (tensor<64xf32>) -> tensor<64xf32>
  %e39 = graph.exp %e38 : (tensor<64xf32>) -> tensor<64xf32>
  %e40 = graph.exp %e39 : (tensor<64xf32>) -> tensor<64xf32>
  %e41 = graph.exp %e40 : (tensor<64xf32>) -> tensor<64xf32>
  %e42 = graph.exp %e41 : (tensor<64xf32>) -> tensor<64xf32>
  %e43 = graph.exp %e42 : (tensor<64xf32>) -> tensor<64xf32>
  %e44 = graph.exp %e43 : (tensor<64xf32>) -> tensor<64xf32>
  %e45 = graph.exp %e44 : (tensor<64xf32>) -> tensor<64xf32>
  %e46 = graph.exp %e45 : (tensor<64xf32>) -> tensor<64xf32>
  %e47 = graph.exp %e46 : (tensor<64xf32>) -> tensor<64xf32>
  %e48 = graph.exp %e47 : (tensor<64xf32>) -> tensor<64xf32>
  %e49 = graph.exp %e48 : (tensor<64xf32>) -> tensor<64xf32>
  %e50 = graph.exp %e49 : (tensor<64xf32>) -> tensor<64xf32>
  %e51 = graph.exp %e50 : (tensor<64xf32>) -> tensor<64xf32>
  %e52 = graph.exp %e51 : (tensor<64xf32>) -> tensor<64xf32>
  %e53 = graph.exp %e52 : (tensor<64xf32>) -> tensor<64xf32>
  %e54 = graph.exp %e53 : (tensor<64xf32>) -> tensor<64xf32>
  %e55 = graph.exp %e54 : (tensor<64xf32>) -> tensor<64xf32>
  %e56 = graph.exp %e55 : (tensor<64xf32>) -> tensor<64xf32>
  %e57 = graph.exp %e56 : (tensor<64xf32>) -> tensor<64xf32>
  %e58 = graph.exp %e57 : (tensor<64xf32>) -> tensor<64xf32>
  %e59 = graph.exp %e58 : (tensor<64xf32>) -> tensor<64xf32>
  %e60 = graph.exp %e59 : (tensor<64xf32>) -> tensor<64xf32>
  %e61 = graph.exp %e60 : (tensor<64xf32>) -> tensor<64xf32>
  %e62 = graph.exp %e61 : (tensor<64xf32>) -> tensor<64xf32>
  %e63 = graph.exp %e62 : (tensor<64xf32>) -> tensor<64xf32>
  %e64 = graph.exp %e63 : (tensor<64xf32>) -> tensor<64xf32>
  %e65 = graph.exp %e64 : (tensor<64xf32>) -> tensor<64xf32>
  %e66 = graph.exp %e65 : (tensor<64xf32>) -> tensor<64xf32>
  %e67 = graph.exp %e66 : (tensor<64xf32>) -> tensor<64xf32>
  %e68 = graph.exp %e67 : (tensor<64xf32>) -> tensor<64xf32>
  %e69 = graph.exp %e68 : (tensor<64xf32>) -> tensor<64xf32>
  return %e69 : tensor<64xf32>
}

// -----

// A dear op is not computed once for each window that covers an element, however many cheap ops lie between.
// CHECK-LABEL: func.func @overlapping_windows(
// CHECK: graph.group "loop"
// CHECK: graph.pow
// CHECK: graph.group "loop"
// CHECK: graph.max_pool
func.func @overlapping_windows(%x: tensor<1x9x9x8xf32>, %e: tensor<f32>) -> tensor<1x4x4x8xf32> {
  %p = graph.pow %x, %e : (tensor<1x9x9x8xf32>, tensor<f32>) -> tensor<1x9x9x8xf32>
  %m = graph.mul %p, %x : (tensor<1x9x9x8xf32>, tensor<1x9x9x8xf32>) -> tensor<1x9x9x8xf32>
  %y = graph.max_pool %m {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x9x9x8xf32>) -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// -----

// The gates of a small recurrent cell are one kernel, products included. The body's ops join each other, not what is around it.
// CHECK-LABEL: func.func @cell(
// CHECK: graph.scan
// CHECK: graph.group "loop"
// CHECK: graph.matmul
// CHECK: graph.matmul
// CHECK: graph.mul
// CHECK-NOT: graph.group
// CHECK: graph.yield
func.func @cell(%xs: tensor<100x1x4xf32>, %h: tensor<1x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x4xf32> {
  %r = graph.scan <[100]> carry(%h) over(%xs) {
  ^bb0(%c: tensor<1x4xf32>, %x: tensor<1x4xf32>):
    %a = graph.matmul %c, %v {by = "kernel"} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %b = graph.matmul %c, %w {by = "kernel"} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %t = graph.tanh %a : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %n = graph.mul %t, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %m = graph.add %n, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    graph.yield %m : tensor<1x4xf32>
  } : (tensor<1x4xf32>, tensor<100x1x4xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}
