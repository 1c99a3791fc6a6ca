// Elements of ops that move data: which operand element a result index is.
#include "ir/graph/Graph.h"

using namespace mlir;
using namespace graphc::graph;

static AffineExpr constant(int64_t v, MLIRContext *ctx) { return getAffineConstantExpr(v, ctx); }

Expr TransposeOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  SmallVector<AffineExpr> operand(index.size());
  for (auto [i, p] : llvm::enumerate(getPerm()))
    operand[p] = index[i];
  return b.load(getX(), operand);
}

Expr BroadcastOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  return b.load(getX(), broadcastIndex(index, getX().getType()));
}

Expr SliceOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  SmallVector<AffineExpr> operand;
  for (auto [i, step, start] : llvm::zip(index, getSteps(), getStarts().getDims()))
    operand.push_back(start + i * step);
  return b.load(getX(), operand);
}

/// Dims of both shapes are matched in blocks of equal products, so that unrelated dims stay affine; a block with one
/// dim on the operand's side linearises, a block with several divides.
Expr ReshapeOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto *ctx = getContext();
  auto from = dimsOf(getX().getType()), to = dimsOf(getType());
  SmallVector<AffineExpr> operand;
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    unsigned i0 = i, j0 = j;
    AffineExpr p = constant(1, ctx), q = constant(1, ctx);
    if (i < from.size())
      p = from[i++];
    if (j < to.size())
      q = to[j++];
    while (p != q && (i < from.size() || j < to.size())) {
      auto a = constantSize(p), c = constantSize(q);
      bool growFrom = i < from.size() && (j >= to.size() || (a && c ? *a < *c : i <= j));
      if (growFrom)
        p = simplify(p * from[i++]);
      else
        q = simplify(q * to[j++]);
    }
    // Trailing ones belong to this block when everything else is used up.
    AffineExpr linear = constant(0, ctx);
    for (unsigned k = j0; k < j; ++k)
      linear = isSize(to[k], 1) ? linear : linear * to[k] + index[k];
    SmallVector<AffineExpr> block;
    AffineExpr rest = linear;
    for (unsigned k = i; k-- > i0;) {
      bool outermost = true;
      for (unsigned m = i0; m < k; ++m)
        outermost &= isSize(from[m], 1);
      if (isSize(from[k], 1)) {
        block.push_back(constant(0, ctx));
      } else if (outermost) {
        block.push_back(rest);
        rest = constant(0, ctx);
      } else {
        block.push_back(rest % from[k]);
        rest = rest.floorDiv(from[k]);
      }
    }
    operand.append(block.rbegin(), block.rend());
  }
  return b.load(getX(), operand);
}

Expr PadOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto dims = dimsOf(getX().getType()), result = dimsOf(getType());
  SmallVector<AffineExpr> shifted;
  for (auto [i, low] : llvm::zip(index, getLow()))
    shifted.push_back(i - low);
  Type type = computeType(cast<RankedTensorType>(getType()).getElementType());
  if (getMode() == "constant")
    return b.load(getX(), shifted, b.constant(getValue().convertToDouble(), type));

  // The other modes fold an index outside back inside; computed with values, since min, max and |.| are not affine.
  Type i64 = IntegerType::get(getContext(), 64);
  for (auto [i, size] : llvm::enumerate(dims)) {
    if (getLow()[i] == 0 && result[i] == size)
      continue;
    Expr x = b.indexValue(shifted[i]), n = b.indexValue(size), zero = b.constantInt(0, i64), one = b.constantInt(1, i64);
    Expr folded;
    if (getMode() == "edge") {
      folded = min(max(x, zero), n - one);
    } else if (getMode() == "wrap") {
      folded = mod(x, n);
    } else { // reflect, without repeating the edge: period 2 (n - 1)
      Expr period = max((n - one) * b.constantInt(2, i64), one);
      Expr m = mod(x, period);
      folded = min(m, period - m);
      folded = select(n == one, zero, folded);
    }
    shifted[i] = b.computedIndex(folded, nullptr);
  }
  return b.load(getX(), shifted);
}

Expr ConcatOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  unsigned axis = getAxis();
  Type type = computeType(cast<RankedTensorType>(getType()).getElementType());
  Expr zero = b.constant(0, type), position = b.indexValue(index[axis]);
  Expr result;
  AffineExpr offset = constant(0, getContext());
  for (Value input : getInputs()) {
    SmallVector<AffineExpr> shifted = llvm::to_vector(index);
    shifted[axis] = index[axis] - offset;
    Expr part = getInputs().size() == 1 ? b.load(input, shifted) : b.load(input, shifted, zero);
    result = result.builder ? select(position < b.indexValue(offset), result, part) : part;
    offset = simplify(offset + dimsOf(input.getType())[axis]);
  }
  return result;
}

/// A possibly negative index along a dim of `size`; out of range is reported by the kernel.
static AffineExpr wrappedIndex(ElementBuilder &b, Expr value, AffineExpr size, bool nonnegative = false) {
  Type i64 = IntegerType::get(b.context(), 64);
  Expr v = value.castTo(i64);
  if (nonnegative)
    return b.computedIndex(v, size);
  return b.computedIndex(select(v < b.constantInt(0, i64), v + b.indexValue(size), v), size);
}

Expr GatherOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto dims = dimsOf(getX().getType());
  unsigned axis = getAxis(), count = dimsOf(getIndices().getType()).size();
  Expr position = b.load(getIndices(), index.slice(axis, count));
  SmallVector<AffineExpr> operand(index.begin(), index.begin() + axis);
  operand.push_back(wrappedIndex(b, position, dims[axis], getNonnegative()));
  llvm::append_range(operand, index.drop_front(axis + count));
  return b.load(getX(), operand);
}
Expr GatherElementsOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  unsigned axis = getAxis();
  SmallVector<AffineExpr> operand = llvm::to_vector(index);
  operand[axis] =
      wrappedIndex(b, b.load(getIndices(), index), dimsOf(getX().getType())[axis], getNonnegative());
  return b.load(getX(), operand);
}
Expr GatherNDOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto dims = dimsOf(getX().getType()), indexDims = dimsOf(getIndices().getType());
  unsigned batch = getBatchDims(), leading = indexDims.size() - 1, depth = *constantSize(indexDims.back());
  SmallVector<AffineExpr> operand(index.begin(), index.begin() + batch);
  for (unsigned d = 0; d < depth; ++d) {
    SmallVector<AffineExpr> at(index.begin(), index.begin() + leading);
    at.push_back(b.constantIndex(d));
    operand.push_back(wrappedIndex(b, b.load(getIndices(), at), dims[batch + d]));
  }
  llvm::append_range(operand, index.drop_front(leading));
  return b.load(getX(), operand);
}

Expr IotaOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type element = cast<RankedTensorType>(getType()).getElementType(), type = computeType(element);
  Expr i = b.indexValue(index[getAxis()]);
  if (isa<FloatType>(type))
    return b.constant(getStart().convertToDouble(), type) + i.castTo(type) * b.constant(getStep().convertToDouble(), type);
  Type i64 = i.type;
  return (b.constantInt((int64_t)getStart().convertToDouble(), i64) +
          i * b.constantInt((int64_t)getStep().convertToDouble(), i64)).castTo(type);
}
Expr SizeOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Expr result;
  for (auto [k, size] : llvm::enumerate(getSizes().getDims())) {
    Expr value = b.indexValue(size);
    result = result.builder ? select(b.indexValue(index[0]) < b.constantInt(k, value.type), result, value) : value;
  }
  return result;
}
