// One kernel through LLVM: dialect conversion, translation, a slim optimisation pipeline, an object file.
#pragma once
#include "codegen/cpu/CpuCodegen.h"

#include "llvm/Target/TargetMachine.h"

namespace graphc::codegen::cpu {

/// scf, arith, math, vector and func to the llvm dialect in one conversion.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

/// A target machine for the level; one per thread.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const CpuTarget &target);

/// `module` holds one kernel as a function over scf and vector ops.
mlir::FailureOr<CompiledKernel> compileFunction(mlir::ModuleOp module, llvm::StringRef name, const CpuTarget &target,
                                                llvm::TargetMachine &machine, bool keepText);

} // namespace graphc::codegen::cpu
