// Elements of matrix products and convolutions: the definition that every library call and template must agree with.
#include "ir/graph/Graph.h"

using namespace mlir;
using namespace graphc::graph;

static Type elementOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }

static Expr sumOf(ElementBuilder &b, ArrayRef<AffineExpr> sizes, Type type,
                  function_ref<Expr(ArrayRef<AffineExpr>)> body) {
  return b.reduce(
      sizes, {b.constant(0, type)}, [&](ArrayRef<AffineExpr> dims) { return SmallVector<Expr>{body(dims)}; },
      [&](ArrayRef<Expr> x, ArrayRef<Expr> y) { return SmallVector<Expr>{x[0] + y[0]}; })[0];
}

Expr MatmulOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto batchOf = [&](Value v) { return broadcastIndex(index.drop_back(2), tensorType(ArrayRef(dimsOf(v.getType())).drop_back(2), elementOf(v))); };
  Type type = computeType(elementOf(getLhs()));
  AffineExpr m = index[index.size() - 2], n = index.back();
  return sumOf(b, {depth()}, type, [&](ArrayRef<AffineExpr> k) {
    auto l = batchOf(getLhs()), r = batchOf(getRhs());
    l.append({getTransposeLhs() ? k[0] : m, getTransposeLhs() ? m : k[0]});
    r.append({getTransposeRhs() ? n : k[0], getTransposeRhs() ? k[0] : n});
    return b.load(getLhs(), l) * b.load(getRhs(), r);
  });
}

Expr ConvOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto w = dimsOf(getWeight().getType());
  unsigned channel = getChannelsLast() ? index.size() - 1 : 1, first = getChannelsLast() ? 1 : 2;
  Type type = computeType(elementOf(getX()));
  int64_t groups = getGroups();
  AffineExpr out = index[channel];
  AffineExpr perGroup = w[0].floorDiv(groups); // output channels of a group
  return sumOf(b, ArrayRef(w).drop_front(), type, [&](ArrayRef<AffineExpr> r) {
    SmallVector<AffineExpr> x = llvm::to_vector(index), weight = {out};
    llvm::append_range(weight, r);
    x[channel] = groups == 1 ? r[0] : out.floorDiv(perGroup) * w[1] + r[0];
    for (unsigned s = 0; s < getStrides().size(); ++s)
      x[first + s] = index[first + s] * getStrides()[s] + r[1 + s] * getDilations()[s] - getPadsLow()[s];
    return b.load(getX(), x, b.constant(0, type)) * b.load(getWeight(), weight);
  });
}

// x[i] contributes to result[i * stride + k * dilation - pad]; seen from the result, i exists where the division is exact.
Expr ConvTransposeOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto w = dimsOf(getWeight().getType());
  unsigned channel = getChannelsLast() ? index.size() - 1 : 1, first = getChannelsLast() ? 1 : 2;
  Type type = computeType(elementOf(getX())), i64 = IntegerType::get(getContext(), 64);
  int64_t groups = getGroups();
  AffineExpr out = index[channel], perGroup = w[0].floorDiv(groups); // input channels of a group
  AffineExpr group = out.floorDiv(w[1]);
  SmallVector<AffineExpr> sizes = {perGroup};
  sizes.append(w.begin() + 2, w.end());
  return sumOf(b, sizes, type, [&](ArrayRef<AffineExpr> r) {
    SmallVector<AffineExpr> x = llvm::to_vector(index);
    AffineExpr in = groups == 1 ? r[0] : group * perGroup + r[0];
    SmallVector<AffineExpr> weight = {in, groups == 1 ? out : out % w[1]};
    weight.append(r.begin() + 1, r.end());
    x[channel] = in;
    Expr exact;
    for (unsigned s = 0; s < getStrides().size(); ++s) {
      AffineExpr position = index[first + s] + getPadsLow()[s] - r[1 + s] * getDilations()[s];
      int64_t stride = getStrides()[s];
      x[first + s] = stride == 1 ? position : position.floorDiv(stride);
      if (stride == 1)
        continue;
      Expr divides = b.indexValue(position % stride) == b.constantInt(0, i64);
      exact = exact.builder ? exact && divides : divides;
    }
    Expr zero = b.constant(0, type);
    Expr value = b.load(getX(), x, zero);
    if (exact.builder)
      value = select(exact, value, zero);
    return value * b.load(getWeight(), weight);
  });
}

Expr ConvWeightGradOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto grad = dimsOf(getGrad().getType()), w = dimsOf(getType());
  unsigned channel = getChannelsLast() ? grad.size() - 1 : 1, first = getChannelsLast() ? 1 : 2;
  Type type = computeType(elementOf(getX()));
  int64_t groups = getGroups();
  AffineExpr out = index[0], in = index[1];
  if (groups != 1)
    in = out.floorDiv(w[0].floorDiv(groups)) * w[1] + in;
  SmallVector<AffineExpr> sizes = {grad[0]};
  sizes.append(grad.begin() + first, grad.begin() + first + getStrides().size());
  return sumOf(b, sizes, type, [&](ArrayRef<AffineExpr> r) {
    SmallVector<AffineExpr> x(grad.size()), g(grad.size());
    x[0] = g[0] = r[0];
    x[channel] = in;
    g[channel] = out;
    for (unsigned s = 0; s < getStrides().size(); ++s) {
      g[first + s] = r[1 + s];
      x[first + s] = r[1 + s] * getStrides()[s] + index[2 + s] * getDilations()[s] - getPadsLow()[s];
    }
    return b.load(getX(), x, b.constant(0, type)) * b.load(getGrad(), g);
  });
}
