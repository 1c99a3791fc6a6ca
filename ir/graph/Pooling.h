// Maxima of windows and where they are.
//
// max_pool_index and max_unpool say places in one of two ways, and the element type tells which: i64 is an index into the
// flattened [N, C, spatial...] operand; any other integer type is the number of the place in its window, row by row, with all bits set
// for a window that has none. A byte a window is what training keeps.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc::graph {

/// Whether places are numbers in their windows.
bool numbersInWindow(mlir::Value places);

/// The maximum of each window and its place, as elements of max_pool and max_pool_index.
llvm::SmallVector<Expr> maximumAndPlace(MaxPoolIndexOp op, ElementBuilder &b, llvm::ArrayRef<mlir::AffineExpr> index);

/// Whether `index` says where the maxima are that `pool` computes.
bool numbersMaximaOf(MaxPoolIndexOp index, MaxPoolOp pool);

} // namespace graphc::graph
