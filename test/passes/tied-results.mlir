// graphc-tied-results and graphc-place-buffers: updates of arguments.
// RUN: graphc-opt %s -split-input-file -graphc-tied-results -graphc-place-buffers | FileCheck %s

// The update moves behind the command that still reads the argument, and is made in the output, in place.
// CHECK-LABEL: func.func @step
// CHECK: plan.dispatch @loss(%arg0, %arg1)
// CHECK-SAME: place = ["output 0"]
// CHECK: plan.dispatch @step(%arg0, %arg1)
// CHECK-SAME: place = ["output 1"]
func.func @step(%w: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {graph.updates = 0 : i64}) {
  %new = plan.dispatch @step(%w, %g) scalars <[]> {inplace = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = plan.dispatch @loss(%w, %g) scalars <[]> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %new : tensor<4xf32>, tensor<4xf32>
}

// -----

// The writing kernel reads the argument at other places: computed elsewhere, copied at the end.
// CHECK-LABEL: func.func @reversed
// CHECK: plan.dispatch @reverse
// CHECK-SAME: place = ["temp"]
func.func @reversed(%w: tensor<4xf32>) -> (tensor<4xf32> {graph.updates = 0 : i64}) {
  %new = plan.dispatch @reverse(%w) scalars <[]> : (tensor<4xf32>) -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// The old value is returned as well: from a copy made before the update.
// CHECK-LABEL: func.func @old
// CHECK: %[[OLD:.*]] = plan.concat %arg0
// CHECK-SAME: place = ["output 0"]
// CHECK: %[[NEW:.*]] = plan.dispatch @step
// CHECK-SAME: place = ["output 1"]
// CHECK: return %[[OLD]], %[[NEW]]
func.func @old(%w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {graph.updates = 0 : i64}) {
  %new = plan.dispatch @step(%w) scalars <[]> {inplace = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %w, %new : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nothing is tied: nothing moves.
// CHECK-LABEL: func.func @plain
// CHECK: @step
// CHECK: @loss
func.func @plain(%w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %new = plan.dispatch @step(%w) scalars <[]> : (tensor<4xf32>) -> tensor<4xf32>
  %loss = plan.dispatch @loss(%w) scalars <[]> : (tensor<4xf32>) -> tensor<4xf32>
  return %loss, %new : tensor<4xf32>, tensor<4xf32>
}
