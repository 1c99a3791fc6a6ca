// Formulas over tensors that read like formulas: each operator creates one graph op at the builder's insertion point.
//
//     TensorExpr e = exp(x - max(x, {axis}));
//     return e / sum(e, {axis});
//
// C++ does not say which operand of `a * b` is evaluated first, and order is part of the output: in one expression, let
// only one side create ops.
#pragma once
#include "ir/graph/Graph.h"
#include "mlir/IR/Builders.h"

namespace graphc::graph {

class TensorExpr {
public:
  TensorExpr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(&builder), loc(loc), value(value) {}

  mlir::Value get() const { return value; }
  mlir::RankedTensorType type() const { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
  mlir::Type elementType() const { return type().getElementType(); }
  int64_t rank() const { return type().getRank(); }
  llvm::SmallVector<mlir::AffineExpr> dims() const { return dimsOf(type()); }
  mlir::OpBuilder &ops() const { return *builder; }
  mlir::Location location() const { return loc; }

  /// Another value under the same builder and location.
  TensorExpr with(mlir::Value other) const { return {*builder, loc, other}; }
  /// A rank-0 constant of this expression's element type.
  TensorExpr constant(double scalar) const;
  /// The number of elements along these axes, as a rank-0 or [1] tensor of this expression's element type.
  TensorExpr count(llvm::ArrayRef<int64_t> axes) const;

  /// The same elements under another type; no op when nothing changes.
  TensorExpr castTo(mlir::Type elementType) const;
  /// In the computation type: f32 for f16 and bf16.
  TensorExpr computed() const { return castTo(computeType(elementType())); }
  TensorExpr reshapedTo(llvm::ArrayRef<mlir::AffineExpr> sizes) const;
  /// A vector over `axis` of a tensor of this rank: [C] becomes [C, 1, 1], so that it broadcasts there.
  TensorExpr alongAxis(int64_t axis, int64_t rank) const;

private:
  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

TensorExpr operator+(TensorExpr a, TensorExpr b);
TensorExpr operator-(TensorExpr a, TensorExpr b);
TensorExpr operator*(TensorExpr a, TensorExpr b);
TensorExpr operator/(TensorExpr a, TensorExpr b);
inline TensorExpr operator+(TensorExpr a, double b) { return a + a.constant(b); }
inline TensorExpr operator*(TensorExpr a, double b) { return a * a.constant(b); }
TensorExpr exp(TensorExpr a);
TensorExpr log(TensorExpr a);
TensorExpr rsqrt(TensorExpr a);
TensorExpr isNaN(TensorExpr a);
TensorExpr pow(TensorExpr a, double exponent);
/// condition ? a : b. The arms have one type; either may be a scalar.
TensorExpr select(TensorExpr condition, TensorExpr a, TensorExpr b);
TensorExpr matmul(TensorExpr a, TensorExpr b, bool transposeB = false);

/// Reductions keep the reduced axes as size 1, so that their results broadcast back.
TensorExpr sum(TensorExpr a, llvm::ArrayRef<int64_t> axes);
TensorExpr max(TensorExpr a, llvm::ArrayRef<int64_t> axes);
TensorExpr mean(TensorExpr a, llvm::ArrayRef<int64_t> axes);
inline TensorExpr square(TensorExpr a) { return a * a; }

/// first, first + 1, … rank - 1
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank);
/// Counts a negative axis from the end.
inline int64_t axisOf(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

} // namespace graphc::graph
