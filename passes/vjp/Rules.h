// What gradient rules share.
#pragma once
#include "ir/graph/TensorExpr.h"

namespace graphc::graph {

using Gradients = llvm::FailureOr<llvm::SmallVector<mlir::Value>>;

/// The one gradient of an op whose first operand alone has one.
inline Gradients firstOf(mlir::Operation *op, TensorExpr gradient) {
  llvm::SmallVector<mlir::Value> gradients(op->getNumOperands());
  gradients[0] = gradient.get();
  return gradients;
}

inline mlir::Type elementOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

/// Sizes with those of `axes` as 1.
llvm::SmallVector<mlir::AffineExpr> keptDims(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<int64_t> axes);

/// Zeros of a type.
TensorExpr zerosOf(TensorExpr like, mlir::Type type);

/// perm such that `transposed(perm)` moves `axis` to the front (or, inverted, back).
llvm::SmallVector<int64_t> axisFirst(int64_t axis, int64_t rank);
llvm::SmallVector<int64_t> axesLast(llvm::ArrayRef<int64_t> axes, int64_t rank);
llvm::SmallVector<int64_t> inverted(llvm::ArrayRef<int64_t> perm);

/// Adds slice i of `x` along `axis` to slice indices[i] of zeros that have `size` there. indices: [n], any order, repeats.
TensorExpr addAt(TensorExpr x, TensorExpr indices, int64_t axis, mlir::AffineExpr size);

} // namespace graphc::graph
