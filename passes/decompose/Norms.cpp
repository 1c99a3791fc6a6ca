// Normalisations. The variance is the mean of squared deviations (two passes over the data): the one-pass form
// E[x²] - E[x]² loses every digit when the mean is large.
#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

/// Zero mean and unit variance over `axes`.
static TensorExpr standardized(TensorExpr x, llvm::ArrayRef<int64_t> axes, double epsilon) {
  TensorExpr deviation = x - mean(x, axes);
  return deviation * rsqrt(mean(square(deviation), axes) + epsilon);
}

/// y · scale + bias, where both are one value per channel (dim 1).
static TensorExpr scaledPerChannel(TensorExpr y, Value scale, Value bias) {
  y = y * y.with(scale).castTo(y.elementType()).alongAxis(1, y.rank());
  return y + y.with(bias).castTo(y.elementType()).alongAxis(1, y.rank());
}

llvm::SmallVector<Value> LayerNormOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  auto axes = axesFrom(axisOf(getAxis(), x.rank()), x.rank());
  TensorExpr y = standardized(x.computed(), axes, getEpsilon().convertToDouble());
  y = y * x.with(getScale()).castTo(y.elementType());
  if (getBias())
    y = y + x.with(getBias()).castTo(y.elementType());
  return {y.castTo(x.elementType()).get()};
}

llvm::SmallVector<Value> RMSNormOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  auto axes = axesFrom(axisOf(getAxis(), x.rank()), x.rank());
  TensorExpr y = x.computed();
  y = y * rsqrt(mean(square(y), axes) + getEpsilon().convertToDouble());
  y = y * x.with(getScale()).castTo(y.elementType());
  return {y.castTo(x.elementType()).get()};
}

// Everything but x is one value per channel, so what is computed from weights alone is prepared once.
llvm::SmallVector<Value> BatchNormOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  int64_t channels = getChannelsLast() ? x.rank() - 1 : 1;
  TensorExpr computed = x.computed();
  auto perChannel = [&](Value v) { return x.with(v).castTo(computed.elementType()); };
  TensorExpr inverse = rsqrt(perChannel(getVariance()) + getEpsilon().convertToDouble());
  TensorExpr factor = inverse * perChannel(getScale());
  TensorExpr y = computed - perChannel(getMean()).alongAxis(channels, x.rank());
  y = y * factor.alongAxis(channels, x.rank());
  y = y + perChannel(getBias()).alongAxis(channels, x.rank());
  return {y.castTo(x.elementType()).get()};
}

llvm::SmallVector<Value> InstanceNormOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  TensorExpr y = standardized(x.computed(), axesFrom(2, x.rank()), getEpsilon().convertToDouble());
  return {scaledPerChannel(y, getScale(), getBias()).castTo(x.elementType()).get()};
}

// Channels split as [groups, channels / groups]; each group is normalised over its channels and all spatial dims.
llvm::SmallVector<Value> GroupNormOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  int64_t groups = getGroups();
  llvm::SmallVector<AffineExpr> sizes = x.dims(), grouped = sizes;
  grouped[1] = simplify(sizes[1].floorDiv(groups));
  grouped.insert(grouped.begin() + 1, constantDim(groups, b.getContext()));
  TensorExpr y = standardized(x.computed().reshapedTo(grouped), axesFrom(2, x.rank() + 1), getEpsilon().convertToDouble());
  y = y.reshapedTo(sizes);
  return {scaledPerChannel(y, getScale(), getBias()).castTo(x.elementType()).get()};
}

// x / (bias + alpha * mean of squares over `size` neighbouring channels)^beta. The mean is a pooling of the channels:
// [N, C, ...] becomes [N, 1, C, ...], and channels outside count as zero.
llvm::SmallVector<Value> LrnOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  TensorExpr computed = x.computed();
  int64_t size = getSize(), spatial = x.rank() - 1;
  llvm::SmallVector<AffineExpr> sizes = x.dims(), pooledSizes = sizes;
  pooledSizes.insert(pooledSizes.begin() + 1, constantDim(1, b.getContext()));
  TensorExpr squares = square(computed).reshapedTo(pooledSizes);
  llvm::SmallVector<int64_t> window(spatial, 1), ones(spatial, 1), low(spatial, 0), high(spatial, 0);
  window[0] = size;
  low[0] = (size - 1) / 2;
  high[0] = size - 1 - low[0];
  TensorExpr pooled = x.with(AvgPoolOp::create(b, getLoc(), squares.type(), squares.get(), window, ones, ones, low, high,
                                               /*channels_last=*/false, /*count_pad=*/true));
  TensorExpr base = pooled.reshapedTo(sizes) * getAlpha().convertToDouble() + getBias().convertToDouble();
  return {(computed * pow(base, -getBeta().convertToDouble())).castTo(x.elementType()).get()};
}

} // namespace graphc::graph
