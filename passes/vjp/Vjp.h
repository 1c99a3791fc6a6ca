// Gradients of graph ops, as graph ops.
#pragma once
#include "ir/graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphc {

/// Whether `op` has a gradient: a rule of its own, or a formula to differentiate.
bool isDifferentiable(mlir::Operation *op);

/// The gradients of all that `op` reads (graph::inputsOf: its operands; for one with bodies, also what they capture), created at
/// `b`'s insertion point (after the op, or where its results are known): for each that `needs` asks for a value of its type, or null where no gradient reaches it. `resultGrads` has one
/// value per result, null for zero, not all null. The ops created read operands and results of `op`, and are
/// differentiable in turn. An op with bodies may be replaced by one with more results, and is gone then. Failure comes with a diagnostic that names the op.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> buildVjp(mlir::Operation *op, mlir::OpBuilder &b,
                                                         llvm::ArrayRef<mlir::Value> resultGrads,
                                                         llvm::ArrayRef<bool> needs);

/// A value and its gradient.
struct Seed {
  mlir::Value value, gradient;
};
/// The gradients of `inputs`, given those of some values that `ops` (in program order) compute; null where none reaches an
/// input. Created at `b`'s insertion point, which comes after all of `ops`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> buildGradients(mlir::OpBuilder &b, llvm::ArrayRef<mlir::Operation *> ops,
                                                               llvm::ArrayRef<Seed> seeds,
                                                               llvm::ArrayRef<mlir::Value> inputs);

/// The gradient of one op as a program of its own: `func.func @vjp` in a module.
struct VjpProgram {
  enum class Input { Operand, Result, Gradient };
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What each argument is: an operand or a result of the op that autograd must save, or the gradient of a result.
  llvm::SmallVector<std::pair<Input, unsigned>> inputs;
  /// Which operand each result is the gradient of. An operand that was asked for and is missing gets none.
  llvm::SmallVector<unsigned> operands;
};
/// `hasGrad`: the results whose gradient is given; `needs`: the operands whose gradient is wanted. The op stays as it is.
llvm::FailureOr<VjpProgram> buildVjpProgram(mlir::Operation *op, llvm::ArrayRef<bool> hasGrad, llvm::ArrayRef<bool> needs);

/// Erases ops of the block whose results nobody reads.
void eraseUnusedOps(mlir::Block &block);

} // namespace graphc
