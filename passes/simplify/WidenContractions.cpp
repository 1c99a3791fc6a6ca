// Before: matmul and conv on f16 or bf16, which the CPU's library refuses or computes slowly. After: the contraction on
// f32 operands (an exact widening), its epilogue in f32 too, and one rounding at the end, as a fused half-precision
// kernel would do it. After `decompose`, so that attention's products are seen; before `layout`, so that the casts take
// part in it.
//
//     %c = graph.conv %x, %w : f16            %c = graph.conv (cast %x), (cast %w) : f32
//     %a = graph.add %c, %b             →     %r = graph.relu (%c + cast %b)
//     %r = graph.relu %a                      %y = graph.cast %r : f16
#include "passes/decompose/TensorExpr.h"
#include "passes/simplify/Simplify.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

struct WidenContraction : OpInterfaceRewritePattern<Contraction> {
  WidenContraction(MLIRContext *ctx, ComputesNatively native)
      : OpInterfaceRewritePattern(ctx), native(std::move(native)) {}
  LogicalResult matchAndRewrite(Contraction op, PatternRewriter &rewriter) const override {
    Value result = op->getResult(0);
    Type half = elementTypeOf(result);
    if (!isHalf(half))
      return rewriter.notifyMatchFailure(op, "is not f16 or bf16");
    if (native && native(op))
      return rewriter.notifyMatchFailure(op, "the target computes it natively");
    Type wide = rewriter.getF32Type();
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(TensorExpr(rewriter, op.getLoc(), v).castTo(wide).get());
    IRMapping mapping;
    Operation *widened = rewriter.clone(*op.getOperation(), mapping);
    rewriter.modifyOpInPlace(widened, [&] {
      widened->setOperands(operands);
      widened->getResult(0).setType(withElementType(result.getType(), wide));
    });
    rewriter.replaceOp(op, TensorExpr(rewriter, op.getLoc(), widened->getResult(0)).castTo(half).get());
    return success();
  }
  ComputesNatively native;
};

/// The f32 value behind `cast f32 -> f16` when that rounding ends a widened contraction or its epilogue.
Value beforeRounding(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  if (!cast || !v.hasOneUse() || !isHalf(elementTypeOf(v)) || !elementTypeOf(cast.getX()).isF32())
    return {};
  Operation *op = cast.getX().getDefiningOp();
  while (op && isa<Elementwise>(op) && !isa<CastOp>(op)) {
    // The epilogue's value runs through the operand that has the type of the result.
    Operation *next = nullptr;
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(0).getType() && !operand.getDefiningOp<CastOp>())
        next = operand.getDefiningOp();
    op = next;
  }
  return op && isa<Contraction>(op) ? cast.getX() : Value();
}

/// op(round(x), …) becomes round(op(x, …)): the epilogue is computed in f32 anyway, only the rounding moves.
struct RoundAfterEpilogue : OpInterfaceRewritePattern<Elementwise> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(Elementwise op, PatternRewriter &rewriter) const override {
    Value result = op->getResult(0);
    Type half = elementTypeOf(result);
    if (isa<CastOp>(op) || !isHalf(half))
      return rewriter.notifyMatchFailure(op, "has no f16 or bf16 result");
    if (llvm::none_of(op->getOperands(), [&](Value v) { return v.getType() == result.getType() && beforeRounding(v); }))
      return rewriter.notifyMatchFailure(op, "no operand ends a widened contraction");
    Type wide = rewriter.getF32Type();
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      Value exact = beforeRounding(v);
      if (!exact)
        exact = elementTypeOf(v) == half ? TensorExpr(rewriter, op->getLoc(), v).castTo(wide).get() : v;
      operands.push_back(exact);
    }
    Operation *widened = rewriter.clone(*op.getOperation());
    rewriter.modifyOpInPlace(widened, [&] {
      widened->setOperands(operands);
      widened->getResult(0).setType(withElementType(result.getType(), wide));
    });
    rewriter.replaceOp(op, TensorExpr(rewriter, op->getLoc(), widened->getResult(0)).castTo(half).get());
    return success();
  }
};

class WidenContractionsPass : public PassWrapper<WidenContractionsPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenContractionsPass)
  explicit WidenContractionsPass(ComputesNatively native) : native(std::move(native)) {}
  llvm::StringRef getArgument() const override { return "graphc-widen-contractions"; }
  llvm::StringRef getDescription() const override {
    return "f16 and bf16 contractions compute in f32 and round once, after their epilogue";
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<WidenContraction>(&getContext(), native);
    patterns.add<RoundAfterEpilogue>(&getContext());
    // CSE is not ours to run, and folding here would look at every constant: `simplify` follows.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }

private:
  ComputesNatively native;
};

} // namespace

std::unique_ptr<Pass> createWidenContractionsPass(ComputesNatively native) {
  return std::make_unique<WidenContractionsPass>(std::move(native));
}

} // namespace graphc
