// Before: matmul and conv on f16 or bf16, which the CPU's library refuses or computes slowly. After: the contraction on
// f32 operands (an exact widening), and everything computed from its result in f32 too, up to where the program stores or
// inspects a half-precision value; it is rounded there, once. Not rounding in between is what other runtimes do: their
// stored answers are met to the bit, and no kernel only converts. After `decompose`, so that attention's products are
// seen; before `layout`, so that the casts take part in it.
//
//     %c = graph.conv %x, %w : f16            %c = graph.conv (cast %x), (cast %w) : f32
//     %a = graph.add %c, %b             →     %r = graph.relu (%c + cast %b)
//     %r = graph.relu %a                      %d = graph.conv %r, (cast %v) : f32
//     %d = graph.conv %r, %v                  %y = graph.cast %d : f16
#include "ir/graph/TensorExpr.h"
#include "passes/simplify/Simplify.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

/// Marks the roundings this pass inserts, while it runs: those may move or go, the program's own casts may not.
constexpr llvm::StringLiteral ours = "rounding";

/// `wide` rounded to `half`.
Value rounded(PatternRewriter &rewriter, Location loc, Value wide, Type half) {
  auto cast = CastOp::create(rewriter, loc, withElementType(wide.getType(), half), wide);
  cast->setAttr(ours, rewriter.getUnitAttr());
  return cast;
}

/// The f32 value behind one of our roundings; null for any other value.
Value unrounded(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  return cast && cast->hasAttr(ours) ? cast.getX() : Value();
}

/// Replaces a half-precision op by the same op in f32 and a rounding.
void widen(PatternRewriter &rewriter, Operation *op) {
  Value result = op->getResult(0);
  Type half = elementTypeOf(result), wide = rewriter.getF32Type();
  SmallVector<Value> operands;
  for (Value v : op->getOperands()) {
    if (Value exact = unrounded(v))
      operands.push_back(exact);
    else
      operands.push_back(elementTypeOf(v) == half ? TensorExpr(rewriter, op->getLoc(), v).castTo(wide).get() : v);
  }
  Operation *widened = rewriter.clone(*op);
  rewriter.modifyOpInPlace(widened, [&] {
    widened->setOperands(operands);
    widened->getResult(0).setType(withElementType(result.getType(), wide));
  });
  rewriter.replaceOp(op, rounded(rewriter, op->getLoc(), widened->getResult(0), half));
}

struct WidenContraction : OpInterfaceRewritePattern<Contraction> {
  WidenContraction(MLIRContext *ctx, ComputesNatively native)
      : OpInterfaceRewritePattern(ctx), native(std::move(native)) {}
  LogicalResult matchAndRewrite(Contraction op, PatternRewriter &rewriter) const override {
    if (!isHalf(elementTypeOf(op->getResult(0))))
      return rewriter.notifyMatchFailure(op, "is not f16 or bf16");
    if (native && native(op))
      return rewriter.notifyMatchFailure(op, "the target computes it natively");
    widen(rewriter, op);
    return success();
  }
  ComputesNatively native;
};

/// Sums and products: accumulated in f32 anyway, and a mean must not be rounded before its division.
struct WidenSum : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (!isHalf(elementTypeOf(op.getX())) || (op.getKind() != "sum" && op.getKind() != "prod"))
      return rewriter.notifyMatchFailure(op, "accumulates nothing in half precision");
    widen(rewriter, op);
    return success();
  }
};

/// op(round(x), …) becomes round(op(x, …)): elements are computed in f32 anyway, only the rounding moves.
struct RoundAfter : OpInterfaceRewritePattern<ElementOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementOp op, PatternRewriter &rewriter) const override {
    if (isa<CastOp, Contraction>(op.getOperation()) || op->getNumResults() != 1 || !isHalf(elementTypeOf(op->getResult(0))))
      return rewriter.notifyMatchFailure(op, "has no f16 or bf16 result to round later");
    Type half = elementTypeOf(op->getResult(0));
    unsigned roundings = 0, others = 0;
    for (Value v : op->getOperands())
      if (elementTypeOf(v) == half)
        ++(unrounded(v) ? roundings : others);
    if (roundings == 0)
      return rewriter.notifyMatchFailure(op, "no operand is one of our roundings");
    // Moving data in f32 only pays when nothing has to be widened for it.
    if (others != 0 && !isa<Elementwise>(op.getOperation()))
      return rewriter.notifyMatchFailure(op, "would widen an operand just to move it");
    widen(rewriter, op);
    return success();
  }
};

/// What is widened right after being rounded is not rounded.
struct NoRoundTrip : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    Value exact = unrounded(op.getX());
    if (!exact || op.getType() != exact.getType())
      return rewriter.notifyMatchFailure(op, "does not widen one of our roundings");
    rewriter.replaceOp(op, exact);
    return success();
  }
};

class WidenContractionsPass : public PassWrapper<WidenContractionsPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenContractionsPass)
  explicit WidenContractionsPass(ComputesNatively native) : native(std::move(native)) {}
  llvm::StringRef getArgument() const override { return "graphc-widen-contractions"; }
  llvm::StringRef getDescription() const override {
    return "f16 and bf16 contractions, and what is computed from them, in f32; rounded once, where the value is stored";
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<WidenContraction>(&getContext(), native);
    patterns.add<WidenSum, RoundAfter, NoRoundTrip>(&getContext());
    // Folding here would look at every constant: `simplify` follows.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    getOperation()->walk([](CastOp cast) { cast->removeAttr(ours); });
  }

private:
  ComputesNatively native;
};

} // namespace

std::unique_ptr<Pass> createWidenContractionsPass(ComputesNatively native) {
  return std::make_unique<WidenContractionsPass>(std::move(native));
}

} // namespace graphc
