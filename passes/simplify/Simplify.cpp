// Before: primitives as importers, tracers and formulas wrote them. After: fewer ops that mean the same: literals folded,
// identities and chains of moves removed, equal ops merged. Before `partition` and `layout`, which look at what is left;
// only rewrites that hold for NaN, infinities and -0, since nobody asked for other numbers.
#include "passes/simplify/Simplify.h"
#include "passes/simplify/Patterns.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace graphc {
namespace {

class SimplifyPass : public PassWrapper<SimplifyPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyPass)
  llvm::StringRef getArgument() const override { return "graphc-simplify"; }
  llvm::StringRef getDescription() const override {
    return "fold literals, identities and chains of moves; merge equal ops";
  }
  LogicalResult initialize(MLIRContext *ctx) override {
    RewritePatternSet set(ctx);
    for (RegisteredOperationName op : ctx->getRegisteredOperationsByDialect("graph"))
      op.getCanonicalizationPatterns(set, ctx);
    populateArithmeticPatterns(set);
    populateMovementPatterns(set);
    populateIndexingPatterns(set);
    populateFoldConstantsPatterns(set);
    populateConvTransposePatterns(set);
    populateUnpoolPatterns(set);
    patterns = std::move(set);
    return success();
  }
  void runOnOperation() override {
    refineSizes(getOperation());
    applyPatterns();
    mergeEqualOps();
    // Merging makes slices neighbours and operands equal.
    applyPatterns();
  }

private:
  void applyPatterns() {
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      signalPassFailure();
  }
  void mergeEqualOps() {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
  FrozenRewritePatternSet patterns;
};

} // namespace

std::unique_ptr<Pass> createSimplifyPass() { return std::make_unique<SimplifyPass>(); }

void registerSimplifyPasses() {
  registerPass([] { return createFoldNormsPass(); });
  registerPass([] { return createSimplifyPass(); });
  registerPass([] { return createWidenContractionsPass(); });
}

} // namespace graphc
