// The rewrite families of `graphc-simplify`, one file each.
#pragma once
#include "ir/graph/Graph.h"
#include "mlir/IR/PatternMatch.h"

namespace graphc {

void populateArithmeticPatterns(mlir::RewritePatternSet &patterns);
void populateMovementPatterns(mlir::RewritePatternSet &patterns);
void populateIndexingPatterns(mlir::RewritePatternSet &patterns);
void populateFoldConstantsPatterns(mlir::RewritePatternSet &patterns);
void populateConvTransposePatterns(mlir::RewritePatternSet &patterns);
void populateUnpoolPatterns(mlir::RewritePatternSet &patterns);

/// Replaces size symbols that are known to have one value.
void refineSizes(mlir::Operation *root);

} // namespace graphc
