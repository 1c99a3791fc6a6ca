// What passes ask of ops with bodies.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc::graph {

/// if, while, scan.
bool isControl(mlir::Operation *op);

/// Values defined outside of `op` that its bodies read, each once, in order of their first use.
llvm::SmallVector<mlir::Value> capturedValues(mlir::Operation *op);

/// All that an op reads: its operands, then its captured values.
llvm::SmallVector<mlir::Value> inputsOf(mlir::Operation *op);

/// The type of one slice along dim 0, and of `count` slices.
mlir::RankedTensorType sliceType(mlir::Type stack);
mlir::RankedTensorType stackType(mlir::Type slice, mlir::AffineExpr count);

/// The op of `block` that `op` is, or lies in; null when it lies elsewhere.
mlir::Operation *ancestorIn(mlir::Block &block, mlir::Operation *op);

} // namespace graphc::graph
