// Machine code of kernels kept on disk: what was compiled once for a level is not compiled again.
#pragma once
#include "codegen/cpu/CpuCodegen.h"
#include "runtime/base/Status.h"

#include <functional>
#include <string>

namespace graphc {

/// `compileKernels`, through the entries of `folder`. An entry is found by the kernel's IR, the level and the program that
/// compiled it; a damaged one is compiled anew. `warn` gets one line when the folder cannot be used
/// (Code::CacheUnusable) or held damaged kernels (Code::ArtifactCorrupt); the result is the same.
mlir::FailureOr<std::vector<codegen::cpu::CompiledKernel>>
compileKernelsCached(mlir::ModuleOp module, const codegen::cpu::CpuTarget &target, const codegen::cpu::CompileOptions &options,
                     const std::string &folder, const std::function<void(Code, const std::string &)> &warn);

} // namespace graphc
