// Gradients of losses over classes: softmax minus target, without looking anything up. And of dropout.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {
namespace {

struct Targets {
  TensorExpr counts; // whether a place's label counts, [N, 1, ...]
  TensorExpr hit;    // 1 at the class of the label, times its weight; [N, C, ...]
  std::optional<TensorExpr> weights; // one factor per class, along dim 1

  Targets(TensorExpr x, Value labelValue, Value weight, int64_t ignore)
      : counts(x), hit(x) {
    TensorExpr labels = x.with(labelValue).reshapedTo(keptDims(x.dims(), {1}));
    counts = labels != static_cast<double>(ignore);
    TensorExpr classes = x.iota({x.dims()[1]}, 0, labels.elementType()).alongAxis(1, x.rank());
    hit = both({labels == classes, counts}).castTo(x.elementType());
    if (weight) {
      weights = x.with(weight).computed().alongAxis(1, x.rank());
      hit = hit * *weights;
    }
  }

  /// The loss's gradient as that of each place.
  TensorExpr perPlace(TensorExpr x, Value grad, StringRef reduction) const {
    TensorExpr g = x.with(grad).computed();
    if (reduction == "none")
      return g.reshapedTo(keptDims(x.dims(), {1}));
    if (reduction == "sum")
      return g;
    // The mean is over the weights of the labels, as the loss itself counts them.
    TensorExpr counted = weights ? hit : counts.select(filledLike(counts.castTo(x.elementType()), 1), 0);
    return g / sum(counted, axesFrom(0, counted.rank()));
  }
};

Gradients weightHasNone(Operation *op) {
  return op->emitError() << op->getName() << ": the class weights have no gradient; pass a tensor that does not require one",
         failure();
}

} // namespace

Gradients CrossEntropyOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  if (getWeight() && needs[2])
    return weightHasNone(*this);
  TensorExpr x = TensorExpr(b, getLoc(), getLogits()).computed();
  Targets targets(x, getLabels(), getWeight(), getIgnore());
  TensorExpr g = targets.perPlace(x, grads[0], getReduction());
  TensorExpr target = targets.hit;
  if (double smoothing = getSmoothing().convertToDouble()) {
    TensorExpr share = x.constant(smoothing) / x.count({1});
    if (targets.weights)
      share = share * *targets.weights;
    target = target * (1 - smoothing) + share;
  }
  TensorExpr p = x.with(SoftmaxOp::create(b, getLoc(), x.get(), 1));
  // What a row's targets sum to: 1 without weights.
  if (targets.weights)
    p = p * sum(target, {1});
  return firstOf(*this, targets.counts.select((p - target) * g, 0).castTo(elementOf(getLogits())));
}

Gradients NllLossOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  if (getWeight() && needs[2])
    return weightHasNone(*this);
  TensorExpr x = TensorExpr(b, getLoc(), getLogProbabilities()).computed();
  Targets targets(x, getLabels(), getWeight(), getIgnore());
  TensorExpr g = targets.perPlace(x, grads[0], getReduction());
  return firstOf(*this, (-(targets.hit * g)).castTo(elementOf(getLogProbabilities())));
}

Gradients DropoutOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  return firstOf(*this, TensorExpr(b, getLoc(), DropoutOp::create(b, getLoc(), grads[0], getKey(), getOffset(), getP())));
}

} // namespace graphc::graph
