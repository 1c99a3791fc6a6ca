// The journey of a module as one table: each phase builds passes, and promises what the IR looks like afterwards.
#pragma once
#include "codegen/cpu/CpuTarget.h"
#include "ir/target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace graphc {

struct PhaseContext {
  codegen::cpu::CpuTarget target;
  /// Kernels are scheduled for a GPU rather than for `target`.
  bool cuda = false;
  /// What every level that the compiled model shall run on has.
  TargetInfo info;
  std::string amp; // low precision of the whole model, or empty
  bool fuse = true;
  bool probeGroups = false;
};

/// Of a GPU: products in any precision accumulate in f32; what the host can do has no meaning.
TargetInfo cudaTargetInfo();

struct Phase {
  llvm::StringRef name;
  llvm::StringRef does;
  void (*build)(mlir::OpPassManager &, const PhaseContext &);
  /// Verifies the promise; emits what is wrong.
  llvm::LogicalResult (*contract)(mlir::ModuleOp);
};

llvm::ArrayRef<Phase> phases();

} // namespace graphc
