// Composites become formulas over primitives, unless they are kept whole.
// RUN: graphc-opt %s --graphc-decompose | FileCheck %s
// RUN: graphc-opt %s --graphc-decompose="keep=softmax,layer_norm" | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: @softmax
// CHECK-SAME: (%[[X:.*]]: tensor<2x5xf32>)
// CHECK-NEXT: %[[M:.*]] = graph.reduce "max" %[[X]] axes [1] keep
// CHECK-NEXT: %[[D:.*]] = graph.sub %[[X]], %[[M]]
// CHECK-NEXT: %[[E:.*]] = graph.exp %[[D]]
// CHECK-NEXT: %[[S:.*]] = graph.reduce "sum" %[[E]] axes [1] keep
// CHECK-NEXT: %[[Y:.*]] = graph.div %[[E]], %[[S]]
// CHECK-NEXT: return %[[Y]]
// KEEP-LABEL: @softmax
// KEEP-NEXT: graph.softmax
func.func @softmax(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %y = graph.softmax %x {axis = 1 : i64} : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// Half precision is computed in f32: one cast in, one out. The number of elements is a size when it is not known.
// CHECK-LABEL: @symbolic_half
// CHECK: %[[X:.*]] = graph.cast %arg0
// CHECK-SAME: -> tensor<2x?xf32
// CHECK: %[[N:.*]] = graph.size <[n]>
// CHECK: graph.cast %[[N]]
// CHECK: graph.rsqrt
// CHECK: graph.cast %arg1
// CHECK: graph.cast
// CHECK-SAME: -> tensor<2x?xf16
// CHECK-NEXT: return
// KEEP-LABEL: @symbolic_half
// KEEP-NEXT: graph.layer_norm
func.func @symbolic_half(%x: tensor<2x?xf16, #graph.dims<[2, n]>>, %scale: tensor<?xf16, #graph.dims<[n]>>) -> tensor<2x?xf16, #graph.dims<[2, n]>> {
  %y = graph.layer_norm %x, %scale {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x?xf16, #graph.dims<[2, n]>>, tensor<?xf16, #graph.dims<[n]>>) -> tensor<2x?xf16, #graph.dims<[2, n]>>
  return %y : tensor<2x?xf16, #graph.dims<[2, n]>>
}

// Attention uses softmax, which is decomposed in turn, or kept.
// CHECK-LABEL: @attention
// CHECK-NOT: graph.softmax
// CHECK: graph.matmul %{{.*}}, %{{.*}} {transpose_rhs}
// CHECK: graph.exp
// CHECK: graph.matmul
// KEEP-LABEL: @attention
// KEEP: graph.matmul
// KEEP: graph.softmax
// KEEP: graph.matmul
func.func @attention(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %y = graph.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y : tensor<2x4x6xf32>
}

// An elementwise op with a long scalar rule is a primitive: nothing to do.
// CHECK-LABEL: @primitive
// CHECK-NEXT: graph.gelu
// CHECK-NEXT: return
func.func @primitive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
