// Before: the program as its exporter spelled it: a softmax is five ops, an attention twenty. After: composites where the
// spelled-out ops mean one. First of all phases, because everything later (autocast classes, derivatives, what a target
// keeps whole) asks for composites.
//
//     %m = graph.reduce max %x axes [1] keep
//     %e = graph.exp (%x - %m)                       →    %y = graph.softmax %x, 1
//     %y = graph.div %e, (graph.reduce sum %e axes [1] keep)
#include "passes/raise/Raise.h"
#include "ir/graph/Graph.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace graphc {
namespace {

class RaisePass : public PassWrapper<RaisePass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RaisePass)
  llvm::StringRef getArgument() const override { return "graphc-raise"; }
  llvm::StringRef getDescription() const override { return "turn spelled-out composites back into composites"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<graph::GraphDialect>(); }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateSoftmaxRaising(patterns);
    populateNormRaising(patterns);
    populateActivationRaising(patterns);
    populateAttentionRaising(patterns);
    // What attention leaves of the exporter's reshapes and transposes around the keys.
    graph::ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    graph::TransposeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createRaisePass() { return std::make_unique<RaisePass>(); }

} // namespace graphc
