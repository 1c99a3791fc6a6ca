#pragma once
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-raise`: turns spelled-out composites back into composites.
std::unique_ptr<mlir::Pass> createRaisePass();

void populateSoftmaxRaising(mlir::RewritePatternSet &patterns);
void populateNormRaising(mlir::RewritePatternSet &patterns);
void populateActivationRaising(mlir::RewritePatternSet &patterns);
void populateAttentionRaising(mlir::RewritePatternSet &patterns);

} // namespace graphc
