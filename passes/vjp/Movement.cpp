// Gradients of ops that move elements: each element's gradient goes back where the element came from.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

llvm::SmallVector<AffineExpr> keptDims(llvm::ArrayRef<AffineExpr> dims, llvm::ArrayRef<int64_t> axes) {
  auto kept = llvm::to_vector(dims);
  for (int64_t axis : axes)
    kept[axis] = constantDim(1, dims[axis].getContext());
  return kept;
}
TensorExpr zerosOf(TensorExpr like, Type type) {
  return like.constant(0, cast<RankedTensorType>(type).getElementType()).broadcastTo(dimsOf(type));
}
llvm::SmallVector<int64_t> axisFirst(int64_t axis, int64_t rank) {
  llvm::SmallVector<int64_t> perm = {axis};
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      perm.push_back(d);
  return perm;
}
llvm::SmallVector<int64_t> axesLast(llvm::ArrayRef<int64_t> axes, int64_t rank) {
  llvm::SmallVector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(axes, d))
      perm.push_back(d);
  llvm::append_range(perm, axes);
  return perm;
}
llvm::SmallVector<int64_t> inverted(llvm::ArrayRef<int64_t> perm) {
  llvm::SmallVector<int64_t> inverse(perm.size());
  for (auto [i, p] : llvm::enumerate(perm))
    inverse[p] = i;
  return inverse;
}

Gradients ReshapeOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  return firstOf(*this, TensorExpr(b, getLoc(), grads[0]).reshapedTo(dimsOf(getX().getType())));
}
Gradients BroadcastOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  return firstOf(*this, sumTo(TensorExpr(b, getLoc(), grads[0]), getX().getType()));
}
Gradients TransposeOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  return firstOf(*this, TensorExpr(b, getLoc(), grads[0]).transposed(inverted(getPerm())));
}

/// Every `step`-th element along `axis` is one of x, those between are zero.
static TensorExpr spread(TensorExpr x, int64_t axis, int64_t step) {
  auto dims = x.dims(), split = dims, padded = dims;
  auto *ctx = x.ops().getContext();
  split.insert(split.begin() + axis + 1, constantDim(1, ctx));
  padded.insert(padded.begin() + axis + 1, constantDim(step, ctx));
  dims[axis] = simplify(dims[axis] * step);
  TensorExpr apart = x.reshapedTo(split);
  llvm::SmallVector<int64_t> low(split.size(), 0);
  return apart.padded(low, padded).reshapedTo(dims);
}

Gradients SliceOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]);
  auto sizes = dimsOf(getX().getType()), starts = llvm::to_vector(getStarts().getDims());
  auto *ctx = getContext();
  for (int64_t d = 0; d < g.rank(); ++d) {
    int64_t step = getSteps()[d];
    AffineExpr n = g.dims()[d];
    if (step < 0) { // turned around: then the slice starts at what was its last element
      llvm::SmallVector<AffineExpr> from(g.rank(), constantDim(0, ctx));
      llvm::SmallVector<int64_t> steps(g.rank(), 1);
      from[d] = simplify(n - 1);
      steps[d] = -1;
      g = g.with(SliceOp::create(b, getLoc(), g.type(), g.get(), DimsAttr::get(ctx, from), steps));
      starts[d] = simplify(starts[d] + (n - 1) * step);
      step = -step;
    }
    if (step > 1)
      g = spread(g, d, step);
  }
  // Zeros before and after; a start known only at run time needs a part of its own.
  llvm::SmallVector<int64_t> low(g.rank(), 0);
  auto padded = g.dims();
  for (int64_t d = 0; d < g.rank(); ++d)
    if (auto start = constantSize(starts[d])) {
      low[d] = *start;
      padded[d] = sizes[d];
    }
  if (g.dims() != padded || llvm::any_of(low, [](int64_t l) { return l != 0; }))
    g = g.padded(low, padded);
  for (int64_t d = 0; d < g.rank(); ++d) {
    if (constantSize(starts[d]))
      continue;
    auto before = g.dims(), after = g.dims();
    // Spreading may have gone beyond the end: cut there by taking what is left of the size.
    AffineExpr end = simplify(starts[d] + (dimsOf(grads[0].getType())[d] - 1) * std::abs(getSteps()[d]) + 1);
    auto cut = g.dims();
    cut[d] = simplify(end - starts[d]);
    if (cut != g.dims())
      g = g.padded(llvm::SmallVector<int64_t>(g.rank(), 0), cut);
    before[d] = starts[d];
    after[d] = simplify(sizes[d] - end);
    Value zerosBefore = zerosOf(g, withDims(g.type(), before)).get();
    Value zerosAfter = zerosOf(g, withDims(g.type(), after)).get();
    auto joined = g.dims();
    joined[d] = sizes[d];
    g = g.with(ConcatOp::create(b, getLoc(), withDims(g.type(), joined), ValueRange{zerosBefore, g.get(), zerosAfter}, d));
  }
  return firstOf(*this, g.reshapedTo(sizes));
}

Gradients PadOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]);
  auto sizes = dimsOf(getX().getType());
  if (getMode() == "constant") {
    auto low = llvm::map_to_vector(getLow(), [](int64_t l) { return -l; });
    return firstOf(*this, g.padded(low, sizes));
  }
  // The other modes read some elements several times: which, is what padding the indices says.
  for (int64_t d = g.rank(); d-- > 0;) {
    if (getLow()[d] == 0 && g.dims()[d] == sizes[d])
      continue;
    TensorExpr places = g.iota({sizes[d]}, 0, b.getI64Type());
    TensorExpr read = places.padded({getLow()[d]}, {g.dims()[d]}, getMode());
    g = addAt(g, read, d, sizes[d]);
  }
  return firstOf(*this, g);
}

Gradients ConcatOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr g(b, getLoc(), grads[0]);
  auto *ctx = getContext();
  llvm::SmallVector<Value> gradients(getInputs().size());
  llvm::SmallVector<AffineExpr> starts(g.rank(), constantDim(0, ctx));
  llvm::SmallVector<int64_t> steps(g.rank(), 1);
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    if (needs[i])
      gradients[i] = SliceOp::create(b, getLoc(), input.getType(), g.get(), DimsAttr::get(ctx, starts), steps);
    starts[getAxis()] = simplify(starts[getAxis()] + dimsOf(input.getType())[getAxis()]);
  }
  return gradients;
}

// Resampling is linear and works on one dim after the other, so its transpose multiplies by the transposed matrix of each
// dim; resampling the identity gives that matrix, whatever the mode.
Gradients ResizeOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr given(b, getLoc(), grads[0]), g = given.computed();
  auto sizes = dimsOf(getX().getType());
  for (int64_t d = 0; d < g.rank(); ++d) {
    AffineExpr in = sizes[d], out = g.dims()[d];
    if (in == out && getScales()[d] == 1)
      continue;
    llvm::SmallVector<AffineExpr> square = {in, in};
    TensorExpr row = g.iota(square, 0, b.getI64Type());
    TensorExpr column = g.iota(square, 1, b.getI64Type());
    TensorExpr identity = (row == column).castTo(g.elementType());
    TensorExpr matrix = g.with(ResizeOp::create(b, getLoc(), withDims(identity.type(), {out, in}), identity.get(),
                                                {getScales()[d], 1.0}, getMode(), getCoordinates(), getNearest(),
                                                getCubicA(), getExcludeOutside()));
    auto perm = axesLast({d}, g.rank());
    TensorExpr last = g.transposed(perm);
    auto dims = last.dims();
    TensorExpr rows = last.reshapedTo({product(llvm::ArrayRef(dims).drop_back(), getContext()), out});
    dims.back() = in;
    g = matmul(rows, matrix).reshapedTo(dims).transposed(inverted(perm));
  }
  return firstOf(*this, g.castTo(given.elementType()));
}

} // namespace graphc::graph
