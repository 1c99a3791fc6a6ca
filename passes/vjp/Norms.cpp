// Gradients of softmax, normalisations and attention, written out: that of the formulas would go through maxima and
// variances.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

Gradients SoftmaxOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr y = TensorExpr(b, getLoc(), getResult()).computed(), g = y.with(grads[0]).computed();
  int64_t axis = axisOf(getAxis(), y.rank());
  return firstOf(*this, ((g - sum(g * y, {axis})) * y).castTo(elementOf(getX())));
}

Gradients LogSoftmaxOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr y = TensorExpr(b, getLoc(), getResult()).computed(), g = y.with(grads[0]).computed();
  TensorExpr share = times({exp(y), sum(g, {axisOf(getAxis(), y.rank())})});
  return firstOf(*this, (g - share).castTo(elementOf(getX())));
}

/// Through y = (x - mean) * inverse over `axes`, where inverse is 1 / sqrt(mean of squared deviations + epsilon).
static TensorExpr throughStandardized(TensorExpr g, TensorExpr y, TensorExpr inverse, ArrayRef<int64_t> axes) {
  TensorExpr centred = g - mean(g, axes);
  return (centred - y * mean(g * y, axes)) * inverse;
}

namespace {
/// x standardised again: one pass over it is cheaper than keeping y.
struct Standardized {
  TensorExpr deviation, inverse, y;
  Standardized(TensorExpr x, ArrayRef<int64_t> axes, double epsilon)
      : deviation(x - mean(x, axes)), inverse(rsqrt(mean(square(deviation), axes) + epsilon)), y(deviation * inverse) {}
};
} // namespace

Gradients LayerNormOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed(), g = x.with(grads[0]).computed();
  auto axes = axesFrom(axisOf(getAxis(), x.rank()), x.rank());
  llvm::SmallVector<Value> gradients(getNumOperands());
  if (needs[0] || needs[1]) {
    Standardized s(x, axes, getEpsilon().convertToDouble());
    if (needs[0]) {
      TensorExpr scaled = g * x.with(getScale()).computed();
      gradients[0] = throughStandardized(scaled, s.y, s.inverse, axes).castTo(elementOf(getX())).get();
    }
    if (needs[1])
      gradients[1] = sumTo(g * s.y, getScale().getType()).get();
  }
  if (getBias() && needs[2])
    gradients[2] = sumTo(g, getBias().getType()).get();
  return gradients;
}

Gradients RMSNormOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed(), g = x.with(grads[0]).computed();
  auto axes = axesFrom(axisOf(getAxis(), x.rank()), x.rank());
  TensorExpr inverse = rsqrt(mean(square(x), axes) + getEpsilon().convertToDouble());
  TensorExpr y = x * inverse;
  llvm::SmallVector<Value> gradients(2);
  if (needs[0]) {
    TensorExpr scaled = g * x.with(getScale()).computed();
    gradients[0] = ((scaled - y * mean(scaled * y, axes)) * inverse).castTo(elementOf(getX())).get();
  }
  if (needs[1])
    gradients[1] = sumTo(g * y, getScale().getType()).get();
  return gradients;
}

/// Operands x, scale, bias, the last two one value per channel (dim 1); x is standardised as [grouped] over dims from 2 on.
static Gradients perChannelVjp(Operation *op, OpBuilder &b, Value grad, ArrayRef<bool> needs, ArrayRef<AffineExpr> grouped,
                               double epsilon) {
  TensorExpr x = TensorExpr(b, op->getLoc(), op->getOperand(0)).computed(), g = x.with(grad).computed();
  auto sizes = x.dims();
  auto axes = axesFrom(2, grouped.size()), all = axesFrom(0, x.rank());
  all.erase(all.begin() + 1);
  Standardized s(x.reshapedTo(grouped), axes, epsilon);
  llvm::SmallVector<Value> gradients(3);
  auto total = [&](TensorExpr t, Value operand) {
    return sum(t, all).reshapedTo(dimsOf(operand.getType())).castTo(elementOf(operand)).get();
  };
  if (needs[0]) {
    TensorExpr scaled = g * x.with(op->getOperand(1)).computed().alongAxis(1, x.rank());
    gradients[0] = throughStandardized(scaled.reshapedTo(grouped), s.y, s.inverse, axes)
                       .reshapedTo(sizes)
                       .castTo(elementOf(op->getOperand(0)))
                       .get();
  }
  if (needs[1])
    gradients[1] = total(g * s.y.reshapedTo(sizes), op->getOperand(1));
  if (needs[2])
    gradients[2] = total(g, op->getOperand(2));
  return gradients;
}

Gradients InstanceNormOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  return perChannelVjp(*this, b, grads[0], needs, dimsOf(getX().getType()), getEpsilon().convertToDouble());
}
Gradients GroupNormOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  auto grouped = dimsOf(getX().getType());
  grouped[1] = simplify(grouped[1].floorDiv(getGroups()));
  grouped.insert(grouped.begin() + 1, constantDim(getGroups(), getContext()));
  return perChannelVjp(*this, b, grads[0], needs, grouped, getEpsilon().convertToDouble());
}

// By given statistics: linear in x.
Gradients BatchNormOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed(), g = x.with(grads[0]).computed();
  int64_t channels = getChannelsLast() ? x.rank() - 1 : 1;
  auto all = axesFrom(0, x.rank());
  all.erase(all.begin() + channels);
  auto perChannel = [&](Value v) { return x.with(v).computed().alongAxis(channels, x.rank()); };
  auto total = [&](TensorExpr t, Value operand) {
    return sum(t, all).reshapedTo(dimsOf(operand.getType())).castTo(elementOf(operand)).get();
  };
  TensorExpr inverse = rsqrt(perChannel(getVariance()) + getEpsilon().convertToDouble());
  TensorExpr factor = inverse * perChannel(getScale());
  TensorExpr scaled = g * factor;
  llvm::SmallVector<Value> gradients(5);
  if (needs[0])
    gradients[0] = scaled.castTo(elementOf(getX())).get();
  if (needs[1] || needs[4]) {
    TensorExpr deviation = x - perChannel(getMean());
    if (needs[1])
      gradients[1] = total(g * deviation * inverse, getScale());
    if (needs[4])
      gradients[4] = total(scaled * deviation * square(inverse) * -0.5, getVariance());
  }
  if (needs[2])
    gradients[2] = total(g, getBias());
  if (needs[3])
    gradients[3] = total(-scaled, getMean());
  return gradients;
}

// Gradients come through y, and in higher orders through the mean and inverse deviation that the first order read. The
// running statistics are state: nothing is differentiated through them.
Gradients BatchNormTrainingOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed();
  int64_t channels = getChannelsLast() ? x.rank() - 1 : 1;
  auto axes = axesFrom(0, x.rank());
  axes.erase(axes.begin() + channels);
  auto perChannel = [&](Value v) { return x.with(v).computed().alongAxis(channels, x.rank()); };
  auto total = [&](TensorExpr t, Value operand) {
    return sum(t, axes).reshapedTo(dimsOf(operand.getType())).castTo(elementOf(operand)).get();
  };
  llvm::SmallVector<Value> gradients(getNumOperands());
  if (!grads[0] && !grads[3] && !grads[4])
    return gradients;
  TensorExpr inverse = perChannel(getInverseDeviation());
  TensorExpr deviation = x - perChannel(getMean());
  std::optional<TensorExpr> dx;
  auto add = [&](TensorExpr term) { dx = dx ? *dx + term : term; };
  if (grads[0]) {
    TensorExpr g = x.with(grads[0]).computed(), y = deviation * inverse;
    if (needs[0])
      add(throughStandardized(g, y, inverse, axes) * perChannel(getScale()));
    if (needs[1])
      gradients[1] = total(g * y, getScale());
    if (needs[2])
      gradients[2] = total(g, getBias());
  }
  if (needs[0] && grads[3])
    add((perChannel(grads[3]) / x.count(axes)).broadcastTo(x.dims()));
  if (needs[0] && grads[4]) {
    TensorExpr factor = inverse * inverse * inverse * perChannel(grads[4]) / x.count(axes);
    add(-(deviation * factor));
  }
  if (dx)
    gradients[0] = dx->castTo(elementOf(getX())).get();
  return gradients;
}

// The probabilities are computed again. A row that keeps nothing has NaN probabilities, or none: then no gradient either.
Gradients AttentionOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr q = TensorExpr(b, getLoc(), getQuery()).computed();
  TensorExpr k = q.with(getKey()).computed(), v = q.with(getValue()).computed(), g = q.with(grads[0]).computed();
  double scale = getScale().convertToDouble();
  TensorExpr scores = matmul(q, k, /*transposeB=*/true) * scale;
  if (Value given = getMask()) {
    TensorExpr mask = q.with(given);
    scores = mask.elementType().isInteger(1) ? mask.select(scores, -INFINITY) : scores + mask.castTo(scores.elementType());
  }
  TensorExpr p = q.with(SoftmaxOp::create(b, getLoc(), scores.get(), static_cast<uint64_t>(scores.rank() - 1)));
  if (getNanToZero())
    p = isNaN(p).select(0, p);
  llvm::SmallVector<Value> gradients(getNumOperands());
  if (needs[2])
    gradients[2] = sumTo(matmul(p, g, false, /*transposeA=*/true), getValue().getType()).get();
  if (!needs[0] && !needs[1] && !(getMask() && needs[3]))
    return gradients;
  TensorExpr dp = matmul(g, v, /*transposeB=*/true);
  TensorExpr ds = (dp - sum(dp * p, {p.rank() - 1})) * p;
  if (needs[0])
    gradients[0] = sumTo(matmul(ds, k) * scale, getQuery().getType()).get();
  if (needs[1])
    gradients[1] = sumTo(matmul(ds, q, false, /*transposeA=*/true) * scale, getKey().getType()).get();
  if (getMask() && needs[3])
    gradients[3] = sumTo(ds, getMask().getType()).get();
  return gradients;
}

} // namespace graphc::graph
