// Every kernel of a module to device code: printed, grouped into translation units, compiled on several threads.
#pragma once
#include "codegen/cuda/CudaCodegen.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <functional>
#include <optional>

namespace graphc::codegen::cuda {

/// What a CUDA compiler makes of one text for one architecture: PTX for virtual ones (compute_80), else a cubin.
using DeviceCompiler =
    std::function<Result<std::vector<std::byte>>(const std::string &source, const std::string &name, const std::string &architecture)>;

struct ModuleOptions {
  /// "compute_80" for PTX, "sm_90" for a cubin; one image each.
  std::vector<std::string> architectures = {"compute_80"};
  unsigned threads = 1;
  /// A compiler starts in 50 to 100 ms, and forgets what it knows of the prelude after each text.
  unsigned kernelsPerModule = 8;
  DeviceCompiler compile;
};

struct DeviceImage {
  std::string architecture;
  std::vector<std::byte> bytes; // PTX ends with a zero byte
  bool isPtx() const { return architecture.starts_with("compute_"); }
};

struct DeviceModule {
  std::string name, source;
  std::vector<DeviceImage> images;
};

struct DeviceCode {
  std::vector<KernelSource> kernels; // in the order of the module
  std::vector<int> moduleOf;         // per kernel
  std::vector<DeviceModule> modules;
};

/// Kernels without a schedule are scheduled on the way; the module itself is not changed. Diagnostics explain a failure.
mlir::FailureOr<DeviceCode> compileModules(mlir::ModuleOp module, const ModuleOptions &options);

} // namespace graphc::codegen::cuda
