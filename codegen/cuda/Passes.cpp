// The passes around scheduleKernel and printKernel.
#include "codegen/cuda/Passes.h"

#include "codegen/cuda/CudaCodegen.h"

namespace graphc::codegen::cuda {
#define GEN_PASS_DEF_KERNELSCHEDULECUDA
#define GEN_PASS_DEF_KERNELPRINTCUDA
#include "codegen/cuda/Passes.h.inc"

namespace {
struct KernelScheduleCuda : impl::KernelScheduleCudaBase<KernelScheduleCuda> {
  void runOnOperation() override {
    if (!getOperation().getScheduleAttr())
      scheduleKernel(getOperation());
  }
};

struct KernelPrintCuda : impl::KernelPrintCudaBase<KernelPrintCuda> {
  using KernelPrintCudaBase::KernelPrintCudaBase;
  void runOnOperation() override {
    std::vector<KernelSource> sources;
    for (auto kernel : getOperation().getOps<kernel::FuncOp>()) {
      auto source = printKernel(kernel);
      if (mlir::failed(source))
        return signalPassFailure();
      sources.push_back(std::move(*source));
    }
    std::vector<const KernelSource *> all;
    for (const KernelSource &source : sources)
      all.push_back(&source);
    if (complete) {
      llvm::outs() << translationUnit(all, &getContext());
      return;
    }
    for (const KernelSource &source : sources) {
      llvm::outs() << source.text;
      llvm::outs() << "// launch: " << source.launch.threads << " threads, " << source.launch.itemsPerBlock << " units a block\n";
    }
  }
};
} // namespace
} // namespace graphc::codegen::cuda
