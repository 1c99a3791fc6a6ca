// graphc-control: less control flow, and less in it.
// RUN: graphc-opt %s -split-input-file -graphc-control | FileCheck %s

// A literal condition takes its body.
// CHECK-LABEL: func.func @decided(
// CHECK-NOT: graph.if
// CHECK: %[[N:.*]] = graph.neg
// CHECK: return %[[N]]
func.func @decided(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<false> : tensor<i1>
  %r = graph.if %c {
    graph.yield %x : tensor<4xf32>
  } else {
    %n = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Two iterations, the last slice first: slices are views, the stack is a concatenation in order of the slices.
// CHECK-LABEL: func.func @written_out(
// CHECK-SAME: %[[XS:[a-z0-9]*]]: tensor<2x3xf32>, %[[H:.*]]: tensor<3xf32>
// CHECK-NOT: graph.scan
// CHECK: graph.slice %[[XS]] from <[1, 0]>
// CHECK: %[[A:.*]] = graph.add %[[H]]
// CHECK: %[[LAST:.*]] = graph.reshape %[[A]]
// CHECK: graph.slice %[[XS]] from <[0, 0]>
// CHECK: %[[B:.*]] = graph.add %[[A]]
// CHECK: %[[FIRST:.*]] = graph.reshape %[[B]]
// CHECK: graph.concat %[[FIRST]], %[[LAST]] axis 0
func.func @written_out(%xs: tensor<2x3xf32>, %h: tensor<3xf32>) -> tensor<2x3xf32> {
  %r:2 = graph.scan <[2]> reverse carry(%h) over(%xs) {
  ^bb0(%c: tensor<3xf32>, %x: tensor<3xf32>):
    %n = graph.add %c, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %n, %n : tensor<3xf32>, tensor<3xf32>
  } : (tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>)
  return %r#1 : tensor<2x3xf32>
}

// -----

// What does not change is computed in front; a stack that nobody reads goes. Too many iterations stay a scan.
// CHECK-LABEL: func.func @hoisted(
// CHECK: %[[E:.*]] = graph.exp
// CHECK: %[[R:.*]] = graph.scan <[100]> carry(%{{.*}}) over(%{{.*}}) {
// CHECK-NOT: graph.exp
// CHECK: graph.mul %{{.*}}, %[[E]]
// CHECK: graph.yield %{{[^,]*}} : tensor<3xf32>
// CHECK: -> tensor<3xf32>
func.func @hoisted(%xs: tensor<100x3xf32>, %h: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %r:2 = graph.scan <[100]> carry(%h) over(%xs) {
  ^bb0(%c: tensor<3xf32>, %x: tensor<3xf32>):
    %e = graph.exp %w : (tensor<3xf32>) -> tensor<3xf32>
    %m = graph.mul %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %n = graph.add %m, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %n, %m : tensor<3xf32>, tensor<3xf32>
  } : (tensor<3xf32>, tensor<100x3xf32>) -> (tensor<3xf32>, tensor<100x3xf32>)
  return %r#0 : tensor<3xf32>
}

// -----

// The gates of a small cell: a product for each part that is read, with weights cut in front of the loop.
// CHECK-LABEL: func.func @gates(
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<100x1x8xf32>, %{{[a-z0-9]*}}: tensor<1x4xf32>, %[[W:.*]]: tensor<4x8xf32>
// CHECK: %[[A:.*]] = graph.slice %[[W]] from <[0, 0]> step [1, 1] : (tensor<4x8xf32>) -> tensor<4x4xf32>
// CHECK: %[[B:.*]] = graph.slice %[[W]] from <[0, 4]> step [1, 1] : (tensor<4x8xf32>) -> tensor<4x4xf32>
// CHECK: graph.scan
// CHECK-DAG: graph.matmul %{{.*}}, %[[A]] : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
// CHECK-DAG: graph.matmul %{{.*}}, %[[B]]
func.func @gates(%xs: tensor<100x1x8xf32>, %h: tensor<1x4xf32>, %w: tensor<4x8xf32>) -> tensor<1x4xf32> {
  %r = graph.scan <[100]> carry(%h) over(%xs) {
  ^bb0(%c: tensor<1x4xf32>, %x: tensor<1x8xf32>):
    %m = graph.matmul %c, %w : (tensor<1x4xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
    %a = graph.slice %m from <[0, 0]> step [1, 1] : (tensor<1x8xf32>) -> tensor<1x4xf32>
    %b = graph.slice %m from <[0, 4]> step [1, 1] : (tensor<1x8xf32>) -> tensor<1x4xf32>
    %n = graph.mul %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    graph.yield %n : tensor<1x4xf32>
  } : (tensor<1x4xf32>, tensor<100x1x8xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}

// -----

// Nothing is known of this one, and its body depends on what it carries.
// CHECK-LABEL: func.func @stays(
// CHECK: graph.while
// CHECK: graph.if
func.func @stays(%c: tensor<i1>, %d: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = graph.while (%c, %x) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %n = graph.if %d {
      graph.yield %v : tensor<4xf32>
    } else {
      %m = graph.neg %v : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %m : tensor<4xf32>
    } : (tensor<i1>) -> tensor<4xf32>
    graph.yield %d, %n : tensor<i1>, tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}
