// The compiler as a shared library that is opened only when something must be compiled: an empty program linked to LLVM and
// MLIR costs tens of milliseconds and 80 MB. No MLIR in this header.
#pragma once

#include "frontend/compile/Compiler.h"
#include "frontend/compile/Verify.h"

#include <span>
#include <string>
#include <vector>

namespace graphc {

/// Everything others ask of the compiler. Both sides of the border are built together; `layout` proves it.
struct CompilerEntry {
  size_t layout;
  CompileResult (*compileFile)(const std::string &path, const CompileOptions &options);
  std::vector<PhaseInfo> (*phaseList)();
  Result<VerifyReport> (*verifyFile)(const std::string &path, VerifyOptions options, std::span<const HostTensor> inputs);
  Status (*writeGraphPicture)(const std::string &moduleText, const std::string &title, const std::string &path);

  static constexpr size_t kLayout =
      sizeof(CompileOptions) * 1'000'003 + sizeof(CompileResult) * 10'007 + sizeof(VerifyOptions) * 101 + sizeof(VerifyReport);
};

/// Loads the compiler's library, which lies beside the runtime's or where the system looks, on the first call; it stays loaded.
Result<const CompilerEntry *> openCompiler();

/// Stands for the code of compiler and runtime: what one build has compiled, another must not take for its own.
/// Loads nothing.
std::string compilerIdentity();

} // namespace graphc

/// The only symbol of the compiler's library that is looked up by name.
extern "C" const graphc::CompilerEntry *graphc_compiler_entry();
