// Groups become kernels and plan commands.
// RUN: graphc-opt --graphc-kernels --graphc-place-buffers --split-input-file %s | FileCheck %s

// One pass per reduction; the exponentials wait in the output's memory for their sum.
// CHECK-LABEL: func.func @main(
// CHECK: plan.dispatch @main_0_reduce(%arg0) scalars <[n]> {{.*}}place = ["output 0"]
// CHECK-LABEL: kernel.func @main_0_reduce(
// CHECK-SAME: %[[X:.*]]: memref<?x16xf32>, %[[Y:.*]]: memref<?x16xf32>, %[[N:.*]]: index)
// CHECK: kernel.parallel (%[[I:.*]]) to (symbol(%[[N]]))
// CHECK: %[[MAX:.*]] = kernel.reduce
// CHECK: %[[SUM:.*]] = kernel.reduce
// CHECK: %[[E:.*]] = math.exp
// CHECK: kernel.store %[[E]], %[[Y]]
// CHECK: kernel.map (%[[J:.*]]) to (16)
// CHECK: %[[KEPT:.*]] = kernel.load %[[Y]][%[[I]], %[[J]]]
// CHECK: arith.divf %[[KEPT]], %[[SUM]]
func.func @main(%x: tensor<?x16xf32, #graph.dims<[n, 16]>>) -> tensor<?x16xf32, #graph.dims<[n, 16]>> {
  %g = graph.group "loop" attributes {rows = array<i64: 1>} {
    %m = graph.reduce "max" %x axes [1] keep : (tensor<?x16xf32, #graph.dims<[n, 16]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
    %d = graph.sub %x, %m : (tensor<?x16xf32, #graph.dims<[n, 16]>>, tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x16xf32, #graph.dims<[n, 16]>>
    %e = graph.exp %d : (tensor<?x16xf32, #graph.dims<[n, 16]>>) -> tensor<?x16xf32, #graph.dims<[n, 16]>>
    %s = graph.reduce "sum" %e axes [1] keep : (tensor<?x16xf32, #graph.dims<[n, 16]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
    %y = graph.div %e, %s : (tensor<?x16xf32, #graph.dims<[n, 16]>>, tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x16xf32, #graph.dims<[n, 16]>>
    graph.yield %y : tensor<?x16xf32, #graph.dims<[n, 16]>>
  } : tensor<?x16xf32, #graph.dims<[n, 16]>>
  return %g : tensor<?x16xf32, #graph.dims<[n, 16]>>
}

// -----

// A gather checks its index; f16 is computed in f32 and rounded once.
// CHECK-LABEL: kernel.func @main_0_
// CHECK: kernel.check_index %{{.*}} to %{{.*}} site 0
// CHECK: %[[V:.*]] = kernel.load {{.*}} : memref<10x4xf16>
// CHECK: arith.extf %[[V]] : f16 to f32
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @main(%x: tensor<10x4xf16>, %i: tensor<3xi64>) -> tensor<3x4xf16> {
  %g = graph.group "loop" {
    %v = graph.gather %x, %i {axis = 0 : i64} : (tensor<10x4xf16>, tensor<3xi64>) -> tensor<3x4xf16>
    %y = graph.exp %v : (tensor<3x4xf16>) -> tensor<3x4xf16>
    graph.yield %y : tensor<3x4xf16>
  } : tensor<3x4xf16>
  return %g : tensor<3x4xf16>
}

// -----

// In place only where reads and the write meet at one element and the operand dies; never over a parameter.
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = plan.dispatch @main_0_exp(%arg0){{.*}}place = ["output 0"]
// CHECK: plan.dispatch @main_1_neg(%[[A]]){{.*}}place = ["inplace 0"]
// CHECK: plan.dispatch @main_2_transpose({{.*}}place = ["output 1"]
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = graph.group "loop" {
    %v = graph.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %v : tensor<4x4xf32>
  } : tensor<4x4xf32>
  %b = graph.group "loop" {
    %v = graph.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %v : tensor<4x4xf32>
  } : tensor<4x4xf32>
  %c = graph.group "loop" {
    %v = graph.transpose %b {perm = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %v : tensor<4x4xf32>
  } : tensor<4x4xf32>
  return %b, %c : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A library call: the first channel-wise addition is its bias, the rest are post-ops.
// CHECK-LABEL: func.func @main(
// CHECK: plan.library "matmul"(%arg0, %arg1, %arg2)
// CHECK-SAME: post [#plan.post<"relu", 0.000000e+00, 0.000000e+00>]
// CHECK-SAME: bias
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %g = graph.group "library" {
    %0 = graph.matmul %x, %w {by = "library"} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %1 = graph.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    %2 = graph.relu %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
    graph.yield %2 : tensor<4x6xf32>
  } : tensor<4x6xf32>
  return %g : tensor<4x6xf32>
}

// -----

// Kernels that differ in their names alone are one.
// CHECK-LABEL: func.func @main(
// CHECK: plan.dispatch @main_0_exp(%arg0)
// CHECK: plan.dispatch @main_0_exp(%arg1)
// CHECK: kernel.func @main_0_exp
// CHECK-NOT: kernel.func
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = graph.group "loop" {
    %v = graph.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %v : tensor<4x4xf32>
  } : tensor<4x4xf32>
  %b = graph.group "loop" {
    %v = graph.exp %y : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %v : tensor<4x4xf32>
  } : tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A result does not take the memory of an operand that is read for a later result.
// CHECK-LABEL: func.func @later_read(
// CHECK: plan.dispatch @later_read_0_select({{.*}}) {{.*}}inplace = array<i64: -1, 1>
func.func @later_read(%c: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xi1>, tensor<8xf32>) {
  %g:2 = graph.group "loop" {
    %s = graph.select %c, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %l = graph.less_equal %y, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %r = graph.select %l, %y, %s : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    graph.yield %l, %r : tensor<8xi1>, tensor<8xf32>
  } : tensor<8xi1>, tensor<8xf32>
  return %g#0, %g#1 : tensor<8xi1>, tensor<8xf32>
}
