// Formulas over tensors that read like formulas: each operator creates one graph op at the builder's insertion point. What
// composites mean (passes/decompose) and what gradients are (Elementwise.td, passes/vjp) is written with them.
//
//     TensorExpr e = exp(x - max(x, {axis}));
//     return e / sum(e, {axis});
//
// C++ does not say which operand of `a * b` is evaluated first, and order is part of the output: in one expression, let
// only one side create ops, or write times({…}) and plus({…}), which go from the left.
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
  /// A rank-0 constant of this expression's element type, or of another.
  TensorExpr constant(double scalar) const { return constant(scalar, elementType()); }
  TensorExpr constant(double scalar, mlir::Type elementType) const;
  /// The number of elements along these axes, as a rank-0 or [1] tensor of this expression's element type.
  TensorExpr count(llvm::ArrayRef<int64_t> axes) const;
  /// 0, 1, 2, … along `axis` of these sizes.
  TensorExpr iota(llvm::ArrayRef<mlir::AffineExpr> sizes, int64_t axis, mlir::Type elementType) const;

  /// The same elements under another type; no op when nothing changes.
  TensorExpr castTo(mlir::Type elementType) const;
  /// In the computation type: f32 for f16 and bf16.
  TensorExpr computed() const { return castTo(computeType(elementType())); }
  TensorExpr reshapedTo(llvm::ArrayRef<mlir::AffineExpr> sizes) const;
  TensorExpr broadcastTo(llvm::ArrayRef<mlir::AffineExpr> sizes) const;
  /// Padded (or cut, where `low` is negative) to these sizes.
  TensorExpr padded(llvm::ArrayRef<int64_t> low, llvm::ArrayRef<mlir::AffineExpr> sizes,
                    llvm::StringRef mode = "constant") const;
  TensorExpr transposed(llvm::ArrayRef<int64_t> perm) const;
  /// A vector over `axis` of a tensor of this rank: [C] becomes [C, 1, 1], so that it broadcasts there.
  TensorExpr alongAxis(int64_t axis, int64_t rank) const;

  /// Of a condition: where true `a`, else `b`. The arms have one type; either may be a scalar.
  TensorExpr select(TensorExpr a, TensorExpr b) const;
  TensorExpr select(TensorExpr a, double b) const { return select(a, a.constant(b)); }
  TensorExpr select(double a, TensorExpr b) const { return select(b.constant(a), b); }

private:
  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

TensorExpr operator+(TensorExpr a, TensorExpr b);
TensorExpr operator-(TensorExpr a, TensorExpr b);
TensorExpr operator*(TensorExpr a, TensorExpr b);
TensorExpr operator/(TensorExpr a, TensorExpr b);
TensorExpr operator-(TensorExpr a);
inline TensorExpr operator+(TensorExpr a, double b) { return a + a.constant(b); }
inline TensorExpr operator-(TensorExpr a, double b) { return a - a.constant(b); }
inline TensorExpr operator-(double a, TensorExpr b) { return b.constant(a) - b; }
inline TensorExpr operator*(TensorExpr a, double b) { return a * a.constant(b); }
inline TensorExpr operator/(TensorExpr a, double b) { return a / a.constant(b); }
/// Products and sums of operands that each create ops: evaluated from the left.
TensorExpr times(std::initializer_list<TensorExpr> factors);
TensorExpr plus(std::initializer_list<TensorExpr> terms);

TensorExpr operator==(TensorExpr a, TensorExpr b);
TensorExpr operator!=(TensorExpr a, TensorExpr b);
TensorExpr operator<(TensorExpr a, TensorExpr b);
TensorExpr operator<=(TensorExpr a, TensorExpr b);
inline TensorExpr operator>(TensorExpr a, TensorExpr b) { return b < a; }
inline TensorExpr operator>=(TensorExpr a, TensorExpr b) { return b <= a; }
inline TensorExpr operator==(TensorExpr a, double b) { return a == a.constant(b); }
inline TensorExpr operator!=(TensorExpr a, double b) { return a != a.constant(b); }
inline TensorExpr operator<(TensorExpr a, double b) { return a < a.constant(b); }
inline TensorExpr operator<=(TensorExpr a, double b) { return a <= a.constant(b); }
inline TensorExpr operator>(TensorExpr a, double b) { return a > a.constant(b); }
inline TensorExpr operator>=(TensorExpr a, double b) { return a >= a.constant(b); }
/// Both conditions, from the left.
TensorExpr both(std::initializer_list<TensorExpr> conditions);
TensorExpr logicalNot(TensorExpr a);
/// low < a < high, where an infinite bound bounds nothing.
TensorExpr strictlyInside(TensorExpr a, double low, double high);

TensorExpr abs(TensorExpr a);
TensorExpr sign(TensorExpr a);
TensorExpr exp(TensorExpr a);
TensorExpr log(TensorExpr a);
TensorExpr sqrt(TensorExpr a);
TensorExpr rsqrt(TensorExpr a);
TensorExpr sin(TensorExpr a);
TensorExpr cos(TensorExpr a);
TensorExpr sinh(TensorExpr a);
TensorExpr cosh(TensorExpr a);
TensorExpr tanh(TensorExpr a);
TensorExpr erf(TensorExpr a);
TensorExpr floor(TensorExpr a);
TensorExpr sigmoid(TensorExpr a);
TensorExpr softplus(TensorExpr a);
TensorExpr isNaN(TensorExpr a);
TensorExpr stopGradient(TensorExpr a);
TensorExpr pow(TensorExpr a, TensorExpr exponent);
inline TensorExpr pow(TensorExpr a, double exponent) { return pow(a, a.constant(exponent)); }
inline TensorExpr square(TensorExpr a) { return a * a; }
/// Zeros (ones …) of `a`'s type.
TensorExpr filledLike(TensorExpr a, double value);
inline TensorExpr zerosLike(TensorExpr a) { return filledLike(a, 0); }

/// condition ? a : b. The arms have one type; either may be a scalar.
inline TensorExpr select(TensorExpr condition, TensorExpr a, TensorExpr b) { return condition.select(a, b); }
TensorExpr matmul(TensorExpr a, TensorExpr b, bool transposeB = false, bool transposeA = false);

/// Reductions keep the reduced axes as size 1, so that their results broadcast back.
TensorExpr sum(TensorExpr a, llvm::ArrayRef<int64_t> axes);
TensorExpr max(TensorExpr a, llvm::ArrayRef<int64_t> axes);
TensorExpr mean(TensorExpr a, llvm::ArrayRef<int64_t> axes);

/// The gradient of an operand that was broadcast: summed over the dims it was repeated along, in its type.
TensorExpr sumTo(TensorExpr gradient, mlir::Type operandType);

/// first, first + 1, … rank - 1
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank);
/// Counts a negative axis from the end.
inline int64_t axisOf(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

/// `buildVjp` of an elementwise op: `slope` gives the gradient of one operand before broadcast dims are summed.
llvm::SmallVector<mlir::Value> elementwiseVjp(
    mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value resultGrad, llvm::ArrayRef<bool> needs,
    llvm::function_ref<TensorExpr(unsigned operand, llvm::ArrayRef<TensorExpr> args, TensorExpr r, TensorExpr g)> slope);

} // namespace graphc::graph
