// What layers do only while they train.
#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

// Normalised by the biased variance of the batch; the running variance moves towards the unbiased one.
llvm::SmallVector<Value> BatchNormTrainingOp::decompose(OpBuilder &b) {
  TensorExpr given(b, getLoc(), getX()), x = given.computed();
  int64_t channels = getChannelsLast() ? x.rank() - 1 : 1;
  auto axes = axesFrom(0, x.rank());
  axes.erase(axes.begin() + channels);
  auto perChannel = [&](Value v) { return x.with(v).castTo(x.elementType()); };
  auto placed = [&](Value v) { return perChannel(v).alongAxis(channels, x.rank()); };

  TensorExpr average = mean(x, axes);
  TensorExpr deviation = x - average;
  TensorExpr variance = mean(square(deviation), axes);
  TensorExpr inverse = rsqrt(variance + getEpsilon().convertToDouble());
  TensorExpr y = deviation * inverse;
  y = y * placed(getScale());
  y = y + placed(getBias());

  auto vector = dimsOf(getRunningMean().getType());
  TensorExpr n = x.count(axes), momentum = perChannel(getMomentum());
  TensorExpr unbiased = variance * n / (n - 1);
  auto moved = [&](Value running, TensorExpr towards) {
    TensorExpr from = perChannel(running);
    TensorExpr step = (towards.reshapedTo(vector) - from) * momentum;
    return (from + step).castTo(cast<RankedTensorType>(running.getType()).getElementType()).get();
  };
  Value newMean = moved(getRunningMean(), average);
  Value newVariance = moved(getRunningVariance(), unbiased);
  return {y.castTo(given.elementType()).get(), newMean, newVariance, average.reshapedTo(vector).get(),
          inverse.reshapedTo(vector).get()};
}

// The mask is drawn as f32 whatever x is, so that casting a network keeps its masks.
llvm::SmallVector<Value> DropoutOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  double p = getP().convertToDouble();
  auto type = withElementType(getX().getType(), b.getF32Type());
  TensorExpr drawn = x.with(RandomOp::create(b, getLoc(), type, getKey(), getOffset(), "uniform"));
  TensorExpr kept = drawn >= p;
  return {kept.select(x * (p < 1 ? 1 / (1 - p) : 0), 0).get()};
}

llvm::SmallVector<Value> EmbeddingOp::decompose(OpBuilder &b) {
  return {GatherOp::create(b, getLoc(), getWeight(), getIndices(), 0, /*nonnegative=*/true)};
}

} // namespace graphc::graph
