// The pass `kernel-to-vector`: VectorEmitter over every kernel of a module.
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/VectorEmitter.h"

namespace graphc::codegen::cpu {
#define GEN_PASS_DEF_KERNELTOVECTOR
#include "codegen/cpu/Passes.h.inc"

namespace {
struct KernelToVector : impl::KernelToVectorBase<KernelToVector> {
  void runOnOperation() override {
    mlir::SmallVector<kernel::FuncOp> kernels(getOperation().getOps<kernel::FuncOp>());
    for (kernel::FuncOp kernel : kernels) {
      mlir::OpBuilder builder(kernel);
      VectorEmitter(kernel, builder).emit();
      kernel.erase();
    }
  }
};
} // namespace
} // namespace graphc::codegen::cpu
