// Kernels for a GPU: CUDA C++ through NVRTC, kept on disk by content, architecture and NVRTC version.
#pragma once
#include "codegen/cuda/CompileModules.h"
#include "codegen/cuda/Resources.h"
#include "runtime/base/Status.h"

#include <functional>
#include <string>

namespace graphc {

struct CudaBuild {
  std::vector<std::string> architectures; // "compute_80", "sm_90"
  std::vector<std::string> nvrtc;         // names and paths to try; empty: the usual ones
  unsigned threads = 1;
  std::string cacheDir;                   // empty: nothing is kept
  std::vector<codegen::cuda::KernelResources> *resources = nullptr; // what each kernel needs; nothing is taken from the cache then
  std::function<void(Code, const std::string &)> warn; // one line when the folder cannot be used
};

/// Errors say what is missing (no NVRTC), or carry the compiler's log.
Result<codegen::cuda::DeviceCode> compileCudaKernels(mlir::ModuleOp module, const CudaBuild &build);

} // namespace graphc
