// exp(x - max) / sum(exp(x - max)) is a softmax; (x - max) - log(sum(exp(x - max))) is its logarithm. Without the maximum
// taken out, large inputs overflow to NaN, which a softmax would not: such a program is left as it is.
#include "passes/raise/Match.h"
#include "passes/raise/Raise.h"

using namespace mlir;
using namespace graphc::graph;
using namespace graphc::raise;

namespace graphc {
namespace {

struct Shifted {
  Value x;
  int64_t axis;
};

/// x - max(x) along one axis. JAX writes max(-inf, max(x)).
std::optional<Shifted> shiftedByMaximum(Value v) {
  auto sub = v.getDefiningOp<SubOp>();
  if (!sub)
    return std::nullopt;
  Value most = peeled(sub.getRhs());
  inEitherOrder<MaxOp>(most, [&](Value a, Value b) {
    bool bounded = isUniform(b, -INFINITY);
    most = bounded ? a : most;
    return bounded;
  });
  auto maximum = reductionOf(most, "max");
  if (!maximum || maximum->x != sub.getLhs() || maximum->axes.size() != 1 || !alignsWith(sub.getRhs(), maximum->x, maximum->axes))
    return std::nullopt;
  return Shifted{maximum->x, maximum->axes[0]};
}

/// `v` sums `e` along `axis` and broadcasts back.
bool isSumOf(Value v, Value e, int64_t axis) {
  auto sum = reductionOf(v, "sum");
  return sum && sum->x == e && llvm::ArrayRef<int64_t>(sum->axes) == llvm::ArrayRef<int64_t>{axis};
}

struct RaiseSoftmax : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    auto e = op.getLhs().getDefiningOp<ExpOp>();
    if (!e)
      return rewriter.notifyMatchFailure(op, "the dividend is not an exponential");
    auto shifted = shiftedByMaximum(e.getX());
    if (!shifted)
      return rewriter.notifyMatchFailure(op, "the exponent is not x - max(x) along one axis");
    if (!isSumOf(op.getRhs(), e, shifted->axis) || !alignsWith(op.getRhs(), e, {shifted->axis}))
      return rewriter.notifyMatchFailure(op, "the divisor is not the sum along the same axis");
    if (shifted->x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "the result has another shape than x");
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, shifted->x, static_cast<uint64_t>(shifted->axis));
    return success();
  }
};

struct RaiseLogSoftmax : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    auto log = peeled(op.getRhs()).getDefiningOp<LogOp>();
    auto shifted = shiftedByMaximum(op.getLhs());
    if (!log || !shifted)
      return rewriter.notifyMatchFailure(op, "not (x - max(x)) - log(…)");
    auto sum = reductionOf(log.getX(), "sum");
    auto e = sum ? sum->x.getDefiningOp<ExpOp>() : ExpOp();
    if (!e || e.getX() != op.getLhs() || !isSumOf(log.getX(), e, shifted->axis) || !alignsWith(op.getRhs(), e, {shifted->axis}))
      return rewriter.notifyMatchFailure(op, "the logarithm is not that of sum(exp(x - max(x)))");
    if (shifted->x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "the result has another shape than x");
    rewriter.replaceOpWithNewOp<LogSoftmaxOp>(op, shifted->x, static_cast<uint64_t>(shifted->axis));
    return success();
  }
};

} // namespace

void populateSoftmaxRaising(RewritePatternSet &patterns) {
  patterns.add<RaiseSoftmax, RaiseLogSoftmax>(patterns.getContext());
}

} // namespace graphc
