// An index computed in the body keeps plain lanes: a transposing tile would load before it is known.
// RUN: graphc-opt --kernel-schedule %s | FileCheck %s
// CHECK-LABEL: kernel.func @gathered_transpose(
// CHECK-NOT: strategy = transpose
kernel.func @gathered_transpose(%x: memref<3x197x768xf32>, %y: memref<768x197xf32>) {
  %one = arith.constant 1 : index
  kernel.parallel (%i, %j) to (768, 197) {
    %size = kernel.index (3)
    %at = kernel.check_index %one to %size site 0
    %v = kernel.load %x[%at, %j, %i] : memref<3x197x768xf32>
    kernel.store %v, %y[%i, %j] : memref<768x197xf32>
  }
}
