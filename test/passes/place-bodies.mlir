// Bodies through fuse, kernels and place-buffers: where carried, yielded and stacked values live.
// RUN: graphc-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(graphc-fuse),graphc-kernels,func.func(graphc-place-buffers))' | FileCheck %s

// Ops of a body make kernels of their own. The next state is computed over the state; the copy that is stacked of what the state
// was is taken before.
// CHECK-LABEL: func.func @state(
// CHECK: graph.scan
// CHECK: ^bb0(%[[C:[a-z0-9]*]]: tensor<3xf32>
// CHECK: %[[WAS:.*]] = plan.concat %[[C]] axis 0 {place = ["yield 1"]}
// CHECK: %[[N:.*]] = plan.dispatch @{{.*}}(%[[C]], %{{.*}}) {{.*}}place = ["yield 0"]
// CHECK: graph.yield %[[N]], %[[WAS]]
// CHECK: place = ["temp", "output 0"]
func.func @state(%xs: tensor<4x3xf32>, %h: tensor<3xf32>) -> tensor<4x3xf32> {
  %r:2 = graph.scan <[4]> carry(%h) over(%xs) {
  ^bb0(%c: tensor<3xf32>, %x: tensor<3xf32>):
    %n = graph.add %c, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %n, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<3xf32>, tensor<4x3xf32>) -> (tensor<3xf32>, tensor<4x3xf32>)
  return %r#1 : tensor<4x3xf32>
}

// -----

// A transpose reads elements after others of theirs are written: the next state is computed elsewhere. The operand dies at the loop,
// which takes its memory.
// CHECK-LABEL: func.func @elsewhere(
// CHECK: graph.while
// CHECK: ^bb0(%{{.*}}: tensor<i1>, %[[C:.*]]: tensor<3x3xf32>):
// CHECK: plan.dispatch @{{.*}}(%[[C]]) {{.*}}place = ["temp"]
// CHECK: place = ["temp", "inplace 1"]
func.func @elsewhere(%go: tensor<i1>, %x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %h = graph.exp %x : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %r:2 = graph.while (%go, %h) max 3 {
  ^bb0(%g: tensor<i1>, %c: tensor<3x3xf32>):
    %s = graph.tanh %c : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %n = graph.transpose %s {perm = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    graph.yield %g, %n : tensor<i1>, tensor<3x3xf32>
  } : (tensor<i1>, tensor<3x3xf32>) -> (tensor<i1>, tensor<3x3xf32>)
  %y = graph.neg %r#1 : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}
