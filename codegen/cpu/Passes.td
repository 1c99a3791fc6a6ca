#ifndef GRAPHC_CODEGEN_CPU_PASSES_TD
#define GRAPHC_CODEGEN_CPU_PASSES_TD
include "mlir/Pass/PassBase.td"

def KernelToVector : Pass<"kernel-to-vector", "::mlir::ModuleOp"> {
  let summary = "rewrite scheduled kernels as functions over scf, vector and llvm memory ops";
  let description = [{
    Before: `kernel.func`s, scheduled. After: one `func.func` per kernel with the CPU kernel ABI (buffers, scalars,
    context, begin, end). Math must be expanded by then; what is left becomes calls of the C library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif
