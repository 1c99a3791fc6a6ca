// Gradients of ops that read or write at computed places: reading becomes adding up at the same places, in order of the
// index, so that repeated places give the same sum on every run.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

static TensorExpr scatterElements(TensorExpr x, TensorExpr indices, TensorExpr updates, int64_t axis, StringRef reduction) {
  return x.with(ScatterElementsOp::create(x.ops(), x.location(), x.type(), x.get(), indices.get(), updates.get(), axis, reduction));
}
static TensorExpr scatterND(TensorExpr x, TensorExpr indices, TensorExpr updates, StringRef reduction) {
  return x.with(ScatterNDOp::create(x.ops(), x.location(), x.type(), x.get(), indices.get(), updates.get(), reduction));
}
static TensorExpr gatherElements(TensorExpr x, TensorExpr indices, int64_t axis) {
  return x.with(GatherElementsOp::create(x.ops(), x.location(), x.get(), indices.get(), axis));
}
static TensorExpr gatherND(TensorExpr x, TensorExpr indices) {
  return x.with(GatherNDOp::create(x.ops(), x.location(), x.get(), indices.get(), 0));
}

// Many small terms at one place: f16 and bf16 are added up in f32.
TensorExpr addAt(TensorExpr x, TensorExpr indices, int64_t axis, AffineExpr size) {
  auto perm = axisFirst(axis, x.rank());
  TensorExpr front = x.computed().transposed(perm);
  auto dims = front.dims();
  dims[0] = size;
  TensorExpr zeros = zerosOf(x, withDims(front.type(), dims));
  TensorExpr rows = indices.reshapedTo({indices.dims()[0], constantDim(1, x.ops().getContext())});
  return scatterND(zeros, rows, front, "add").transposed(inverted(perm)).castTo(x.elementType());
}

Gradients GatherOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  auto dims = g.dims();
  auto first = dims.begin() + getAxis();
  AffineExpr count = product(indices.dims(), getContext());
  llvm::SmallVector<AffineExpr> flat(dims.begin(), first);
  flat.push_back(count);
  flat.append(first + indices.rank(), dims.end());
  return firstOf(*this, addAt(g.reshapedTo(flat), indices.reshapedTo({count}), getAxis(), dimsOf(getX().getType())[getAxis()]));
}

Gradients GatherElementsOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]);
  return firstOf(*this, scatterElements(zerosOf(g, getX().getType()), g.with(getIndices()), g, getAxis(), "add"));
}

Gradients GatherNDOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  // scatter_nd has no batch dims: their indices are written out.
  llvm::SmallVector<Value> parts;
  auto dims = indices.dims();
  dims.back() = constantDim(1, getContext());
  for (int64_t d = 0; d < (int64_t)getBatchDims(); ++d)
    parts.push_back(g.iota(dims, d, indices.elementType()).get());
  if (!parts.empty()) {
    parts.push_back(indices.get());
    indices = g.with(ConcatOp::create(b, getLoc(), parts, indices.rank() - 1));
  }
  return firstOf(*this, scatterND(zerosOf(g, getX().getType()), indices, g, "add"));
}

/// x, indices, updates -> gradients, where `gather` reads and `scatter` writes at the op's places.
static Gradients scatterVjp(Operation *op, TensorExpr g, StringRef reduction, ArrayRef<bool> needs,
                            function_ref<TensorExpr(TensorExpr)> gather,
                            function_ref<TensorExpr(TensorExpr, TensorExpr, StringRef)> scatter) {
  TensorExpr x = g.with(op->getOperand(0)), updates = g.with(op->getOperand(2)), y = g.with(op->getResult(0));
  llvm::SmallVector<Value> gradients(3);
  if (reduction == "add") {
    gradients[0] = g.get();
    if (needs[2])
      gradients[2] = gather(g).get();
    return gradients;
  }
  if (reduction == "none") {
    if (needs[0])
      gradients[0] = scatter(g, zerosLike(updates), "none").get();
    if (needs[2]) {
      // Of several updates at one place the last was kept; its number is what a scatter of numbers leaves there.
      Type i64 = g.ops().getI64Type();
      auto count = product(updates.dims(), op->getContext());
      TensorExpr numbers = g.iota({count}, 0, i64).reshapedTo(updates.dims());
      TensorExpr kept = gather(scatter(zerosOf(g, withElementType(x.type(), i64)), numbers, "none"));
      gradients[2] = (kept == numbers).select(gather(g), 0).get();
    }
    return gradients;
  }
  if (reduction == "max" || reduction == "min") {
    // Shared equally by all that equal the result.
    TensorExpr old = (x == y).castTo(g.elementType());
    TensorExpr extreme = (updates == gather(y)).castTo(g.elementType());
    TensorExpr share = g / scatter(old, extreme, "add");
    if (needs[0])
      gradients[0] = (old * share).get();
    if (needs[2])
      gradients[2] = (extreme * gather(share)).get();
    return gradients;
  }
  return op->emitError() << op->getName() << " with reduction \"" << reduction
                         << "\" has no gradient rule; none, add, max and min have one",
         failure();
}

Gradients ScatterElementsOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  return scatterVjp(
      *this, g, getReduction(), needs, [&](TensorExpr x) { return gatherElements(x, indices, getAxis()); },
      [&](TensorExpr x, TensorExpr updates, StringRef how) { return scatterElements(x, indices, updates, getAxis(), how); });
}
Gradients ScatterNDOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  return scatterVjp(
      *this, g, getReduction(), needs, [&](TensorExpr x) { return gatherND(x, indices); },
      [&](TensorExpr x, TensorExpr updates, StringRef how) { return scatterND(x, indices, updates, how); });
}

Gradients TopKOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]);
  return firstOf(*this, scatterElements(zerosOf(g, getX().getType()), g.with(getIndices()), g, getAxis(), "add"));
}

Gradients CompressOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]);
  auto sizes = dimsOf(getX().getType());
  int64_t axis = getAxis().value_or(0);
  AffineExpr size = getAxis() ? sizes[axis] : product(sizes, getContext());
  TensorExpr places = g.iota({size}, 0, b.getI64Type());
  auto type = withDims(places.type(), {g.dims()[axis]});
  TensorExpr kept = g.with(CompressOp::create(b, getLoc(), type, places.get(), getCondition(), b.getI64IntegerAttr(0)));
  return firstOf(*this, addAt(g, kept, axis, size).reshapedTo(sizes));
}

Gradients EmbeddingOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  auto sizes = dimsOf(getWeight().getType());
  AffineExpr count = product(indices.dims(), getContext());
  TensorExpr rows = g.reshapedTo({count, sizes[1]}), places = indices.reshapedTo({count});
  if (int64_t padding = getPadding(); padding >= 0) {
    TensorExpr skipped = places.reshapedTo({count, constantDim(1, getContext())}) == static_cast<double>(padding);
    rows = skipped.select(0, rows);
  }
  return firstOf(*this, addAt(rows, places, 0, sizes[0]));
}

} // namespace graphc::graph
