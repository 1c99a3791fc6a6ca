// Losses over classes. A label is looked up as an index, so one out of range is reported; what is ignored is looked up at 0 and
// counts nothing.
#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {
namespace {

/// Labels as [N, 1, ...], beside the classes.
struct Labels {
  TensorExpr counts, safe, factor; // bool; an index; the class's weight, 0 where ignored

  Labels(TensorExpr scores, TensorExpr labels, Value weight, int64_t ignore)
      : counts(labels != static_cast<double>(ignore)), safe(counts.select(labels, 0)),
        factor(counts.select(weightOf(scores, weight), 0)) {}

private:
  TensorExpr weightOf(TensorExpr scores, Value weight) const {
    if (!weight)
      return filledLike(safe.castTo(scores.elementType()), 1);
    TensorExpr factors = scores.with(weight).castTo(scores.elementType());
    return scores.with(GatherOp::create(scores.ops(), scores.location(), factors.get(), safe.get(), 0, /*nonnegative=*/true));
  }
};

TensorExpr besideClasses(TensorExpr scores, Value labels) {
  auto dims = scores.dims();
  dims[1] = constantDim(1, scores.ops().getContext());
  return scores.with(labels).reshapedTo(dims);
}

TensorExpr lookUp(TensorExpr scores, TensorExpr index) {
  return scores.with(GatherElementsOp::create(scores.ops(), scores.location(), scores.get(), index.get(), 1, /*nonnegative=*/true));
}

TensorExpr reduced(TensorExpr losses, TensorExpr factor, StringRef reduction, Value result) {
  auto all = axesFrom(0, losses.rank());
  if (reduction != "none") {
    TensorExpr total = sum(losses, all);
    losses = reduction == "sum" ? total : total / sum(factor, all);
  }
  return losses.reshapedTo(dimsOf(result.getType())).castTo(cast<RankedTensorType>(result.getType()).getElementType());
}

} // namespace

// -log softmax(x)[label], with the row's maximum taken off first; a share `smoothing` of the target lies on all classes.
llvm::SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &b) {
  TensorExpr x = TensorExpr(b, getLoc(), getLogits()).computed();
  Labels labels(x, besideClasses(x, getLabels()), getWeight(), getIgnore());
  TensorExpr highest = max(x, {1});
  TensorExpr shifted = x - highest;
  TensorExpr logSum = log(sum(exp(shifted), {1}));
  TensorExpr losses = (logSum - (lookUp(x, labels.safe) - highest)) * labels.factor;
  if (double smoothing = getSmoothing().convertToDouble()) {
    TensorExpr spread = logSum - shifted;
    if (getWeight())
      spread = spread * x.with(getWeight()).castTo(x.elementType()).alongAxis(1, x.rank());
    TensorExpr uniform = sum(spread, {1}) / x.count({1}) * smoothing;
    losses = losses * (1 - smoothing) + uniform;
  }
  losses = labels.counts.select(losses, 0);
  return {reduced(losses, labels.factor, getReduction(), getResult()).get()};
}

llvm::SmallVector<Value> NllLossOp::decompose(OpBuilder &b) {
  TensorExpr x = TensorExpr(b, getLoc(), getLogProbabilities()).computed();
  Labels labels(x, besideClasses(x, getLabels()), getWeight(), getIgnore());
  TensorExpr losses = labels.counts.select(-(lookUp(x, labels.safe) * labels.factor), 0);
  return {reduced(losses, labels.factor, getReduction(), getResult()).get()};
}

} // namespace graphc::graph
