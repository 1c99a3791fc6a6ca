// graphc-differentiate: a marked function returns the gradients of one result as well.
// RUN: graphc-opt %s -split-input-file -graphc-differentiate | FileCheck %s

// Two readers of x: their gradients add up. The mark is gone, the result is named.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "loss"}, tensor<4xf32> {graph.name = "x.grad"})
// CHECK-NOT: graph.gradient_of
// CHECK: %[[Y:.*]] = graph.mul %[[X]], %[[X]]
// CHECK: %[[S:.*]] = graph.reduce "sum" %[[Y]]
// CHECK: %[[ONES:.*]] = graph.broadcast
// CHECK: %[[A:.*]] = graph.mul %[[ONES]], %[[X]]
// CHECK: %[[B:.*]] = graph.mul %[[ONES]], %[[X]]
// CHECK: %[[G:.*]] = graph.add %[[A]], %[[B]]
// CHECK: return %[[S]], %[[G]]
func.func @main(%x: tensor<4xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// A broadcast gradient is summed; an argument the loss does not depend on gets zeros; nothing passes stop_gradient.
// CHECK-LABEL: func.func @broadcast(
// CHECK: graph.stop_gradient
// CHECK: %[[DB:.*]] = graph.reduce "sum" %{{.*}} axes [0]
// CHECK-SAME: (tensor<3x4xf32>) -> tensor<1x4xf32>
// CHECK: %[[B:.*]] = graph.reshape %[[DB]]
// CHECK: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[ZEROS:.*]] = graph.broadcast %[[ZERO]]
// CHECK: return %{{.*}}, %[[B]], %[[ZEROS]]
func.func @broadcast(%x: tensor<3x4xf32>, %b: tensor<4xf32> {graph.differentiate}, %unused: tensor<2xf32> {graph.differentiate}) -> tensor<f32> attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.add %x, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %s = graph.stop_gradient %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = graph.mul %0, %s : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = graph.reduce "sum" %1 axes [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Without a mark, nothing happens.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: graph.exp
// CHECK-NEXT: return %{{.*}} : tensor<f32>
func.func @plain(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
