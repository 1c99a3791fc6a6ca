// Kernels to machine code: objects for a CPU level, and running them in this process.
#pragma once
#include "codegen/cpu/CpuTarget.h"
#include "ir/kernel/Kernel.h"
#include "runtime/base/KernelContext.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace graphc::codegen::cpu {

struct CompileOptions {
  /// Threads that compile; kernels are compiled one by one each.
  unsigned threads = 1;
  /// Fill CompiledKernel::llvmIr and ::assembly.
  bool keepText = false;
};

struct CompiledKernel {
  std::string name;
  /// A relocatable ELF object, position independent: for a cache, `JitKernels`, or `ld.lld -shared`.
  std::string object;
  std::string llvmIr, assembly;
};

/// Dialects and translations compilation needs in the context of the module it is given.
void registerCpuCodegenDialects(mlir::DialectRegistry &registry);

/// Compiles every kernel.func of the module, in its order. Kernels without a schedule are scheduled on the way; the
/// module itself is not changed. Diagnostics explain a failure.
mlir::FailureOr<std::vector<CompiledKernel>> compileKernels(mlir::ModuleOp module, const CpuTarget &target,
                                                            const CompileOptions &options = {});

/// Machine code of any number of objects in this process; it lives as long as this does.
class JitKernels {
public:
  static llvm::Expected<std::unique_ptr<JitKernels>> create();
  ~JitKernels();

  /// Links one object; returns the function `name` it defines. Objects do not see each other's symbols. May be called
  /// from several threads.
  llvm::Expected<GraphcKernelFn> add(llvm::StringRef name, llvm::StringRef object);

private:
  struct State;
  explicit JitKernels(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Loads the code generator's pages and runs its lazy initialisation on an empty kernel: the first kernel of a process
/// costs tens of milliseconds otherwise. Call it early on a thread of its own.
void warmUp(const CpuTarget &target);

} // namespace graphc::codegen::cpu
