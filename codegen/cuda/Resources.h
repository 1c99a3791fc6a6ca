// What a compiled kernel needs of a multiprocessor, read from the compiler's own report.
#pragma once
#include <string>
#include <vector>

namespace graphc::codegen::cuda {

struct KernelResources {
  std::string kernel, architecture;
  int registers = 0;                    // a thread
  int stackBytes = 0;                   // a thread
  int spillStoreBytes = 0, spillLoadBytes = 0;
  int sharedBytes = 0;                  // a block
};

/// `log`: what NVRTC says with `resourceOption()` for a real architecture (sm_90). Kernels in the order of the report.
std::vector<KernelResources> parseResources(const std::string &log);
inline const char *resourceOption() { return "--ptxas-options=-v"; }

} // namespace graphc::codegen::cuda
