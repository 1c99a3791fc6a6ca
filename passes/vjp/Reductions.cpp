// Gradients of reductions and scans. Ties of max and min share equally; products are exact through zeros, since they multiply
// the other factors instead of dividing.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

/// A reduced value (result or gradient) with its axes kept as 1, in the computation type.
static TensorExpr kept(TensorExpr x, Value v, ArrayRef<int64_t> axes) {
  return x.with(v).computed().reshapedTo(keptDims(x.dims(), axes));
}

static TensorExpr cumulative(TensorExpr x, StringRef kind, int64_t axis, bool exclusive, bool reverse) {
  return x.with(CumulativeOp::create(x.ops(), x.location(), x.type(), x.get(), kind, axis, exclusive, reverse));
}

/// The product of all other elements along `axes`.
static TensorExpr productOfOthers(TensorExpr x, ArrayRef<int64_t> axes) {
  auto perm = axesLast(axes, x.rank());
  TensorExpr last = x.transposed(perm);
  auto dims = last.dims();
  llvm::SmallVector<AffineExpr> flat(dims.begin(), dims.end() - axes.size());
  flat.push_back(product(llvm::ArrayRef(dims).take_back(axes.size()), x.ops().getContext()));
  TensorExpr line = last.reshapedTo(flat);
  TensorExpr others = times({cumulative(line, "prod", line.rank() - 1, true, false), cumulative(line, "prod", line.rank() - 1, true, true)});
  return others.reshapedTo(dims).transposed(inverted(perm));
}

/// g for each element that equals the reduction r, divided among those that do.
static TensorExpr sharedAmongEqual(TensorExpr x, TensorExpr r, TensorExpr g, ArrayRef<int64_t> axes) {
  TensorExpr equal = (x == r).castTo(x.elementType());
  return equal * (g / sum(equal, axes));
}

Gradients ReduceOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr given(b, getLoc(), getX()), x = given.computed();
  TensorExpr g = kept(x, grads[0], getAxes());
  StringRef kind = getKind();
  TensorExpr gradient = g;
  if (kind == "sum")
    gradient = g.broadcastTo(x.dims());
  else if (kind == "prod")
    gradient = getAxes().empty() ? g : productOfOthers(x, getAxes()) * g;
  else if (kind == "max" || kind == "min")
    gradient = sharedAmongEqual(x, kept(x, getResult(), getAxes()), g, getAxes());
  else
    return llvm::SmallVector<Value>(1);
  return firstOf(*this, gradient.castTo(given.elementType()));
}

// y_j is the product of x_i over the i before it. dy_j/dx_i is that product without x_i: all of them make a matrix over (i, j).
static TensorExpr cumulativeProductVjp(CumulativeOp op, TensorExpr x, TensorExpr g) {
  auto perm = axesLast({(int64_t)op.getAxis()}, x.rank());
  TensorExpr line = x.transposed(perm), out = g.transposed(perm);
  auto *ctx = op.getContext();
  Type i64 = x.ops().getI64Type();
  int64_t rank = line.rank();
  auto dims = line.dims(), wide = dims, matrix = dims;
  AffineExpr n = dims.back();
  wide.insert(wide.end() - 1, constantDim(1, ctx));
  matrix.push_back(n);
  llvm::SmallVector<AffineExpr> square = {n, n};
  TensorExpr i = x.iota(square, 0, i64);
  TensorExpr j = x.iota(square, 1, i64);
  TensorExpr without = (i == j).select(1, line.reshapedTo(wide)).broadcastTo(matrix);
  TensorExpr products = cumulative(without, "prod", rank, op.getExclusive(), op.getReverse());
  TensorExpr before = op.getReverse() ? j : i, after = op.getReverse() ? i : j;
  TensorExpr contributes = op.getExclusive() ? before < after : before <= after;
  TensorExpr terms = contributes.select(products * out.reshapedTo(wide), 0);
  return sum(terms, {rank}).reshapedTo(dims).transposed(inverted(perm));
}

Gradients CumulativeOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]);
  if (getKind() == "sum")
    return firstOf(*this, cumulative(g, "sum", getAxis(), getExclusive(), !getReverse()));
  return firstOf(*this, cumulativeProductVjp(*this, g.with(getX()), g));
}

Gradients LogSumExpOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr given(b, getLoc(), getX()), x = given.computed();
  TensorExpr r = kept(x, getResult(), getAxes());
  TensorExpr g = kept(x, grads[0], getAxes());
  return firstOf(*this, (exp(x - r) * g).castTo(given.elementType()));
}

/// g / r, but 0 where r is 0, in all orders.
static TensorExpr dividedUnlessZero(TensorExpr g, TensorExpr r) {
  TensorExpr zero = r == 0;
  return zero.select(0, g / zero.select(1, r));
}

Gradients NormOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr given(b, getLoc(), getX()), x = given.computed();
  TensorExpr r = kept(x, getResult(), getAxes());
  TensorExpr g = kept(x, grads[0], getAxes());
  double p = getP().convertToDouble();
  TensorExpr gradient = x;
  if (p == 0) {
    gradient = zerosLike(x);
  } else if (p == 1) {
    gradient = sign(x) * g;
  } else if (p == 2) {
    gradient = dividedUnlessZero(g, r) * x;
  } else if (std::isinf(p)) {
    TensorExpr direction = sign(x);
    gradient = sharedAmongEqual(abs(x), r, g, getAxes()) * direction;
  } else {
    // sign(x) |x / r|^(p - 1); where x is 0 the power of a negative exponent would be infinite.
    TensorExpr zero = x == 0;
    TensorExpr ratio = zero.select(1, abs(x)) / (r == 0).select(1, r);
    gradient = zero.select(0, times({pow(ratio, p - 1), sign(x), g}));
  }
  return firstOf(*this, gradient.castTo(given.elementType()));
}

Gradients StdOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr given(b, getLoc(), getX()), x = given.computed();
  TensorExpr r = kept(x, getResult(), getAxes());
  TensorExpr g = kept(x, grads[0], getAxes());
  TensorExpr deviation = x - mean(x, getAxes());
  TensorExpr count = x.count(getAxes()) - getCorrection().convertToDouble();
  TensorExpr factor = dividedUnlessZero(g, r) / count;
  return firstOf(*this, (deviation * factor).castTo(given.elementType()));
}

} // namespace graphc::graph
