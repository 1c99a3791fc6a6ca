// Passes that make the graph smaller without changing what it means.
#pragma once
#include "ir/graph/Graph.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include <functional>

namespace graphc {

/// `graphc-fold-norms`: scales and shifts after a contraction go into its weight and one bias; zero padding before a
/// convolution or pool goes into its pads. Runs while batch_norm is still one op, before `decompose`.
std::unique_ptr<mlir::Pass> createFoldNormsPass();

/// `graphc-simplify`: folds literals, identities and chains of moves, and merges equal ops. Runs after `decompose`.
std::unique_ptr<mlir::Pass> createSimplifyPass();

/// Whether the target multiplies this contraction in its own element type.
using ComputesNatively = std::function<bool(graph::Contraction)>;

/// `graphc-widen-contractions`: f16 and bf16 contractions, and what is computed from them, are in f32 and rounded where the
/// value is stored. Contractions that the target computes natively stay.
std::unique_ptr<mlir::Pass> createWidenContractionsPass(ComputesNatively computesNatively = nullptr);

void registerSimplifyPasses();

/// The rewrite families of FoldNorms and MergePads, one file each.
void populateFoldNormsPatterns(mlir::RewritePatternSet &patterns);
void populateMergePadsPatterns(mlir::RewritePatternSet &patterns);

} // namespace graphc
