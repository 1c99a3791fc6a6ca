#pragma once
#include "ir/graph/Graph.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// The attribute that makes a function (later: any op, or an op with a region) an autocast region: the low precision as a type, or
/// unit for "none here, whatever is around".
inline constexpr llvm::StringLiteral kAutocastAttr = "graph.autocast";

/// The low precision in force at `op`: of the innermost region around it; null outside of regions.
mlir::Type autocastTypeAt(mlir::Operation *op);

/// What the class of `op` is in an autocast region; Natural for ops that name none.
graph::AutocastClass autocastClassOf(mlir::Operation *op);

/// `graphc-autocast`: mixed precision inside regions. `dtype` ("bf16", "f16", or empty) makes a region of every function that does
/// not say otherwise.
std::unique_ptr<mlir::Pass> createAutocastPass(llvm::StringRef dtype = "");

/// The phase's promise: in a region, products are in the low precision and norms in f32. Emits what is wrong.
llvm::LogicalResult verifyAutocast(mlir::ModuleOp module);

} // namespace graphc
