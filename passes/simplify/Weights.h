// What can be known of a value without running: whether weights alone decide it, and along which dims it varies.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc::graph {

/// Whether the value depends on constants and weights alone, so that the plan computes it once, in @prepare.
bool dependsOnWeightsOnly(mlir::Value value);

/// Whether `value`, broadcast to a tensor of `rank` dims, varies along `axis` at most.
bool variesOnlyAlong(mlir::Value value, int64_t axis, int64_t rank);

/// The one number a constant holds, when it holds the same one everywhere.
std::optional<double> splatNumber(mlir::Value value);
/// The elements of a small integer constant.
std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Value value);

bool isFloat(mlir::Value value);
mlir::Type elementTypeOf(mlir::Value value);

} // namespace graphc::graph
