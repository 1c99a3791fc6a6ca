// Routines as kernels, for targets whose runtime has none.
// RUN: graphc-opt --graphc-kernels --split-input-file --verify-diagnostics %s | FileCheck %s

// An element's place is the number of elements that go before it.
// CHECK-LABEL: func.func @main(
// CHECK: plan.dispatch @main_0_topk(%arg0)
// CHECK-LABEL: kernel.func @main_0_topk(
// CHECK: kernel.parallel (%[[I:.*]], %[[J:.*]]) to (2, 4)
// CHECK: %[[RANK:.*]] = kernel.reduce (%{{.*}}) to (4)
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[RANK]]
// CHECK: kernel.store %{{.*}}, %{{.*}}[%[[I]], %{{.*}}] if %[[IN]] : memref<2x2xf32>
// CHECK: kernel.store %{{.*}}, %{{.*}}[%[[I]], %{{.*}}] if %[[IN]] : memref<2x2xi64>
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>) {
  %g:2 = graph.group "routine" {
    %0:2 = graph.topk %x {axis = 1 : i64, largest = true, sorted = true, by = "kernel"} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
    graph.yield %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi64>
  } : tensor<2x2xf32>, tensor<2x2xi64>
  return %g#0, %g#1 : tensor<2x2xf32>, tensor<2x2xi64>
}

// -----
// Running sums: in sequence along the axis, side by side across it.
// CHECK-LABEL: kernel.func @main_0_cumulative(
// CHECK: kernel.parallel (%[[I:.*]]) to (3)
// CHECK: kernel.scan (%[[K:.*]]) to (5) iter (%[[BEFORE:.*]] = %{{.*}} : f32)
// CHECK: %[[AFTER:.*]] = arith.addf %[[BEFORE]], %{{.*}} : f32
// CHECK: kernel.store %[[AFTER]], %{{.*}}[%[[I]], %[[K]]]
// CHECK: kernel.yield %[[AFTER]] : f32
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %g = graph.group "routine" {
    %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64, by = "kernel"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    graph.yield %0 : tensor<3x5xf32>
  } : tensor<3x5xf32>
  return %g : tensor<3x5xf32>
}

// -----
// What has no kernel is done by the host, and said.
// CHECK: plan.routine "nonzero"
func.func @main(%x: tensor<3x5xf32>) -> tensor<2x?xi64, #graph.dims<[2, count]>> {
  %g = graph.group "routine" {
    // expected-warning @+1 {{nonzero has no kernel on this device: its operands come to the host, which computes it, and its results go back}}
    %0 = graph.nonzero %x {by = "kernel"} : (tensor<3x5xf32>) -> tensor<2x?xi64, #graph.dims<[2, count]>>
    graph.yield %0 : tensor<2x?xi64, #graph.dims<[2, count]>>
  } : tensor<2x?xi64, #graph.dims<[2, count]>>
  return %g : tensor<2x?xi64, #graph.dims<[2, count]>>
}
