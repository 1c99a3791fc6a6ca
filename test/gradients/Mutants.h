// Known ways to get a gradient wrong, done to a right one: the check must notice each.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphc::test {

struct Mutant {
  const char *name;
  /// Changes `op`, one of those that differentiating `original` added; whether it did.
  bool (*change)(mlir::Operation *op, mlir::func::FuncOp original);
};

llvm::ArrayRef<Mutant> mutants();

/// Applies the mutant to every op of `differentiated` that is of a kind `original` has none of, or comes after the ops that
/// `original` has. Whether anything changed.
bool mutate(const Mutant &mutant, mlir::func::FuncOp differentiated, mlir::func::FuncOp original);

} // namespace graphc::test
