#ifndef GRAPHC_CODEGEN_CUDA_PASSES_TD
#define GRAPHC_CODEGEN_CUDA_PASSES_TD
include "mlir/Pass/PassBase.td"

def KernelScheduleCuda : Pass<"kernel-schedule-cuda", "::graphc::kernel::FuncOp"> {
  let summary = "choose tiles, groups of threads and packs of a kernel for a GPU";
  let description = [{
    Invariant work leaves inner passes and dims join as on a CPU; then `#kernel.schedule` says which threads compute what.
    Kernels that have a schedule are left alone.
  }];
}

def CudaSplitReductions : Pass<"cuda-split-reductions", "::mlir::ModuleOp"> {
  let summary = "cut long reductions to few results into two kernels";
  let description = [{
    Before: one kernel, too few blocks. After: `NAME_parts` reduces chunks into a buffer, `NAME_join` reduces that and goes on. Cuts
    depend on shapes alone. Kernels with symbolic sizes, with a schedule, or with several passes stay whole.
  }];
}

def KernelPrintCuda : Pass<"kernel-print-cuda", "::mlir::ModuleOp"> {
  let summary = "print every kernel as CUDA C++ on standard output";
  let options = [
    Option<"complete", "complete", "bool", "false", "the whole translation unit, with what all kernels share"> ];
}

#endif
