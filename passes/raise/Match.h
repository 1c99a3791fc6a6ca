// The vocabulary of the raising patterns: what a value is, looking through what exporters put in between.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc::raise {

/// The number that all elements of a constant are, through casts, reshapes and broadcasts.
std::optional<double> uniformValue(mlir::Value v);
inline bool isUniform(mlir::Value v, double value) { return uniformValue(v) == value; }
/// Equal but for the rounding of a literal.
bool isClose(double a, double b);

/// `v` without broadcasts and without reshapes that only add or drop dims of size 1.
mlir::Value peeled(mlir::Value v);

/// A reduction of `x` over `axes`.
struct Statistic {
  mlir::Value x;
  llvm::SmallVector<int64_t> axes;
};
std::optional<Statistic> reductionOf(mlir::Value v, llvm::StringRef kind);
/// sum / n or sum · (1/n), where n is the number of elements summed.
std::optional<Statistic> meanOf(mlir::Value v);
/// Whether `v`, a value made from a reduction of `x` over `axes`, meets each row of `x` with the number that belongs to it.
bool alignsWith(mlir::Value v, mlir::Value x, llvm::ArrayRef<int64_t> axes);

/// a·a or a^2: a.
mlir::Value squareRoot(mlir::Value v);

/// The operands of a commutative op in both orders; `match` says whether it takes them.
template <typename Op>
bool inEitherOrder(mlir::Value v, llvm::function_ref<bool(mlir::Value, mlir::Value)> match) {
  auto op = v.getDefiningOp<Op>();
  return op && (match(op.getLhs(), op.getRhs()) || match(op.getRhs(), op.getLhs()));
}

/// a + constant: a and the constant.
std::optional<std::pair<mlir::Value, double>> plusConstant(mlir::Value v);

/// `v` as coefficient · Π leaves[i]^powers[i], through products, quotients by constants, powers and negations.
struct Product {
  double coefficient = 1;
  llvm::SmallVector<int> powers;
  bool is(double wanted, llvm::ArrayRef<int> wantedPowers) const {
    return isClose(coefficient, wanted) && llvm::ArrayRef<int>(powers) == wantedPowers;
  }
};
std::optional<Product> productOver(mlir::Value v, llvm::ArrayRef<mlir::Value> leaves);
/// All values in the product tree under `v`, `v` included: what may be a leaf of it.
llvm::SmallVector<mlir::Value> productNodes(mlir::Value v);
/// `v` without its constant factors, which are multiplied into `factor`.
mlir::Value withoutScale(mlir::Value v, double &factor);

} // namespace graphc::raise
