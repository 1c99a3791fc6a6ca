#ifndef GRAPHC_CODEGEN_COMMON_PASSES_TD
#define GRAPHC_CODEGEN_COMMON_PASSES_TD
include "mlir/Pass/PassBase.td"

def KernelSchedule : Pass<"kernel-schedule", "::graphc::kernel::FuncOp"> {
  let summary = "choose the order of dims, lanes, tails and tiles of a kernel";
  let description = [{
    Moves invariant work out of inner passes, joins dims that every access walks as one, marks the lanes along which
    memory is contiguous, and recognises transposing copies. Kernels that have a schedule are left alone.
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "32", "bytes of a vector register">,
    Option<"masks", "masks", "bool", "false", "the target masks loads and stores of every element size">
  ];
}

def KernelExpandMath : Pass<"kernel-expand-math", "::graphc::kernel::FuncOp"> {
  let summary = "write exp, log, erf, tanh, sin, cos … as arith and explicit fused multiply-adds";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
