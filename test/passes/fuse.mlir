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
