// Kernels to CUDA C++: what a launch looks like and the text that NVRTC compiles. No compiler of CUDA is called here: whoever
// holds one (frontend/compile) hands it `translationUnit`.
#pragma once
#include "ir/kernel/Kernel.h"

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>
#include <vector>

namespace graphc::codegen::cuda {

/// How a kernel is launched: one-dimensional blocks of `threads`; a block covers `itemsPerBlock` units of the range.
struct LaunchShape {
  int threads = 256;
  int64_t itemsPerBlock = 1;
};

/// One kernel as text. Parameters by value: a pointer per buffer, a `long long` per scalar, `long long range`, the error cell.
struct KernelSource {
  std::string name;              // of the entry
  std::string text;              // the entry alone
  std::set<std::string> helpers; // device functions it calls; `translationUnit` writes them once
  LaunchShape launch;
  std::vector<std::string> sourceOps;
};

/// Decides how a kernel runs on a GPU and sets `#kernel.schedule`. Whoever asks for `getRangeMap` does so afterwards.
void scheduleKernel(kernel::FuncOp kernel);

/// Marks exponentials of softmaxes as approximate and divides by their sums once a row; `scheduleKernel` does so first.
void approximateSoftmax(kernel::FuncOp kernel);

/// Prints a scheduled kernel. A diagnostic says what cannot be printed.
mlir::FailureOr<KernelSource> printKernel(kernel::FuncOp kernel);

/// Everything NVRTC needs, in one text: the prelude, the helpers these kernels call, the kernels.
std::string translationUnit(llvm::ArrayRef<const KernelSource *> kernels, mlir::MLIRContext *context);

/// What NVRTC is told besides the architecture: nothing contracts, divides or rounds other than the kernel says.
std::vector<std::string> nvrtcOptions();

} // namespace graphc::codegen::cuda
