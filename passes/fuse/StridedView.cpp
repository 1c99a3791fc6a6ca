#include "passes/fuse/StridedView.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

SmallVector<AffineExpr> graphc::denseStrides(ArrayRef<AffineExpr> dims, MLIRContext *ctx) {
  SmallVector<AffineExpr> strides(dims.size());
  AffineExpr stride = constantDim(1, ctx);
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = simplify(stride * dims[i]);
  }
  return strides;
}

bool StridedView::isDense() const {
  auto dense = denseStrides(dims, base.getContext());
  for (auto [d, s, expected] : llvm::zip(dims, strides, dense))
    if (s != expected && !isSize(d, 1))
      return false;
  return true;
}

/// Strides of `view` under another shape with the same elements, or failure when a merge would need a copy.
static LogicalResult reshapeView(StridedView &view, ArrayRef<AffineExpr> to) {
  auto *ctx = view.base.getContext();
  AffineExpr one = constantDim(1, ctx), zero = constantDim(0, ctx);
  // Sizes of 1 carry no stride: drop them on both sides, match the rest in blocks of equal products.
  SmallVector<AffineExpr> dims, strides;
  for (auto [d, s] : llvm::zip(view.dims, view.strides))
    if (d != one) {
      dims.push_back(d);
      strides.push_back(s);
    }
  SmallVector<AffineExpr> result(to.size(), zero);
  unsigned i = 0, j = 0;
  while (true) {
    while (j < to.size() && to[j] == one)
      ++j;
    if (i == dims.size() && j == to.size())
      break;
    if (i == dims.size() || j == to.size())
      return failure();
    AffineExpr p = dims[i], q = to[j];
    unsigned i1 = i + 1, j1 = j + 1;
    while (p != q) {
      auto a = constantSize(p), c = constantSize(q);
      if (i1 < dims.size() && (j1 == to.size() || (a && c && *a < *c)))
        p = simplify(p * dims[i1++]);
      else if (j1 < to.size())
        q = simplify(q * to[j1++]);
      else
        return failure();
    }
    // Merge the source dims: each must continue the next.
    for (unsigned k = i; k + 1 < i1; ++k)
      if (strides[k] != simplify(strides[k + 1] * dims[k + 1]))
        return failure();
    AffineExpr stride = strides[i1 - 1];
    for (unsigned k = j1; k-- > j;) {
      result[k] = stride;
      stride = simplify(stride * to[k]);
    }
    i = i1;
    j = j1;
  }
  view.dims = llvm::to_vector(to);
  view.strides = result;
  return success();
}

static LogicalResult applyView(StridedView &view, Operation *op) {
  auto *ctx = op->getContext();
  auto to = dimsOf(op->getResult(0).getType());
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<AffineExpr> dims, strides;
    for (int64_t p : transpose.getPerm()) {
      dims.push_back(view.dims[p]);
      strides.push_back(view.strides[p]);
    }
    view.dims = dims;
    view.strides = strides;
    return success();
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (unsigned d = 0; d < to.size(); ++d) {
      view.offset = simplify(view.offset + slice.getStarts().getDims()[d] * view.strides[d]);
      view.strides[d] = simplify(view.strides[d] * slice.getSteps()[d]);
    }
    view.dims = to;
    return success();
  }
  if (isa<BroadcastOp>(op)) {
    SmallVector<AffineExpr> strides(to.size() - view.dims.size(), constantDim(0, ctx));
    for (unsigned d = 0; d < view.dims.size(); ++d)
      strides.push_back(view.dims[d] == to[to.size() - view.dims.size() + d] ? view.strides[d] : constantDim(0, ctx));
    view.dims = to;
    view.strides = strides;
    return success();
  }
  if (isa<ReshapeOp>(op))
    return reshapeView(view, to);
  return failure();
}

StridedView graphc::stridedViewOf(Value value, function_ref<bool(Operation *)> lookThrough) {
  SmallVector<Operation *> chain;
  for (Operation *op = value.getDefiningOp();
       op && isa<TransposeOp, SliceOp, BroadcastOp, ReshapeOp>(op) && lookThrough(op);
       op = op->getOperand(0).getDefiningOp())
    chain.push_back(op);
  // From the innermost outwards; where an op cannot be a view, the view starts anew behind it.
  auto *ctx = value.getContext();
  auto start = [&](Value base) {
    auto dims = dimsOf(base.getType());
    return StridedView{base, dims, denseStrides(dims, ctx), constantDim(0, ctx)};
  };
  StridedView view = start(chain.empty() ? value : chain.back()->getOperand(0));
  for (Operation *op : llvm::reverse(chain))
    if (failed(applyView(view, op)))
      view = start(op->getResult(0));
  return view;
}

std::optional<AffineExpr> graphc::contiguousOffset(Operation *op) {
  if (isa<ReshapeOp>(op))
    return constantDim(0, op->getContext());
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return std::nullopt;
  auto from = dimsOf(slice.getX().getType()), to = dimsOf(slice.getType());
  auto strides = denseStrides(from, op->getContext());
  bool outermost = true;
  AffineExpr offset = constantDim(0, op->getContext());
  for (unsigned d = 0; d < from.size(); ++d) {
    AffineExpr start = slice.getStarts().getDims()[d];
    bool whole = from[d] == to[d] && isSize(start, 0) && slice.getSteps()[d] == 1;
    if (!whole && !(outermost && (slice.getSteps()[d] == 1 || isSize(to[d], 1))))
      return std::nullopt;
    offset = simplify(offset + start * strides[d]);
    if (!isSize(to[d], 1))
      outermost = false;
  }
  return offset;
}
