// Dimension orders: how a value may lie in memory other than the program says, and what each op asks of its operands
// when its result lies in another order.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc::graph {

/// A value `v` in another order is `w` with v = transpose(w, order): dim i of v is dim order[i] of w.
/// Empty means: as given.
using Order = llvm::SmallVector<int64_t, 6>;

/// [N, C, spatial...] stored as [N, spatial..., C].
Order channelsLast(int64_t rank);
Order inverse(llvm::ArrayRef<int64_t> order);
/// Sizes in the stored order.
llvm::SmallVector<mlir::AffineExpr> reordered(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<int64_t> order);
/// Whether only dims of size 1 change places, so that the transpose is a reshape.
bool movesOnesOnly(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<int64_t> order);

/// How an op can be computed in another order.
struct OrderRule {
  /// The order each operand is wanted in; empty: as given.
  llvm::SmallVector<Order, 3> operands;
  /// The order of the result; empty: as given, whatever the operands' orders are.
  Order result;
  /// Operands broadcast as in numpy: smaller ranks and sizes of 1 may be reshaped instead of transposed.
  bool broadcasts = false;
  /// The op is a transpose that the other order makes superfluous (or a reshape).
  bool cancels = false;
  /// The op is a transpose that starts from whichever order its operand has: one transpose either way.
  bool takesAnyOrder = false;
  /// A reshape before a matrix product, whose weight's rows follow the order instead.
  bool permutesWeightRows = false;
};

/// The other order in which `op` may be computed, given the orders its operands may have; nullopt: only as given.
std::optional<OrderRule> orderRule(mlir::Operation *op, llvm::function_ref<Order(mlir::Value)> orderOf);

} // namespace graphc::graph
