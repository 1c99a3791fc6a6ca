// A promise of a phase that does not hold is our fault: exit 4, and a reproducer that fails the same way.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %exits 4 graphc run %s --from-phase fuse --random 2>&1 | FileCheck %s
// CHECK: {{^}}graphc: error GC9001: phase kernels did not keep its promise
// CHECK: breaks a contract: only plan commands, control flow, literals and weights are left
// CHECK: reproducer: graphc run graphc-reproducer-kernels.mlir --from-phase fuse
// RUN: %exits 4 graphc run %t/graphc-reproducer-kernels.mlir --from-phase fuse --random 2>&1 | FileCheck %s
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %y = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
