// An op in another order is the same op with its axes renamed.
#include "passes/layout/Remap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace graphc::graph {

static Value reshaped(OpBuilder &b, Location loc, Value v, ArrayRef<AffineExpr> dims) {
  if (llvm::equal(dimsOf(v.getType()), dims))
    return v;
  return ReshapeOp::create(b, loc, withDims(v.getType(), dims), v);
}

static Value transposed(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> perm) {
  return TransposeOp::create(b, loc, v, perm);
}

Value inOrder(OpBuilder &b, Value value, ArrayRef<int64_t> order, bool broadcasts) {
  Location loc = value.getLoc();
  SmallVector<AffineExpr> dims = dimsOf(value.getType());
  if (broadcasts && llvm::all_of(dims, [](AffineExpr d) { return isSize(d, 1); }))
    return value;
  bool extended = dims.size() < order.size();
  dims.insert(dims.begin(), order.size() - dims.size(), constantDim(1, b.getContext()));
  auto stored = reordered(dims, order);
  if (!movesOnesOnly(dims, order))
    return transposed(b, loc, reshaped(b, loc, value, dims), inverse(order));
  if (broadcasts && extended)
    stored.erase(stored.begin(), llvm::find_if(stored, [](AffineExpr d) { return !isSize(d, 1); }));
  return reshaped(b, loc, value, stored);
}

Value asGiven(OpBuilder &b, Location loc, Value stored, ArrayRef<int64_t> order) {
  auto dims = dimsOf(stored.getType());
  SmallVector<AffineExpr> given;
  for (int64_t o : order)
    given.push_back(dims[o]);
  if (movesOnesOnly(given, order))
    return reshaped(b, loc, stored, given);
  return transposed(b, loc, stored, order);
}

static int64_t renamedAxis(int64_t axis, ArrayRef<int64_t> order) {
  return order[axis < 0 ? axis + (int64_t)order.size() : axis];
}

/// A list with one entry per dim.
template <typename T>
static SmallVector<T> renamedEntries(ArrayRef<T> entries, ArrayRef<int64_t> order) {
  SmallVector<T> result(entries.begin(), entries.end());
  for (auto [i, o] : llvm::enumerate(order))
    result[o] = entries[i];
  return result;
}

/// Entries per spatial dim, in the sequence the order gives them.
static SmallVector<int64_t> renamedSpatial(ArrayRef<int64_t> entries, ArrayRef<int64_t> order) {
  Order given = inverse(order); // stored dim -> given dim
  SmallVector<int64_t> result;
  for (int64_t dim : given)
    if (dim >= 2)
      result.push_back(entries[dim - 2]);
  return result;
}

static void renameAxes(Operation *op, ArrayRef<int64_t> order) {
  TypeSwitch<Operation *>(op)
      .Case<ConvOp, ConvTransposeOp, ConvWeightGradOp, MaxPoolIndexOp, MaxUnpoolOp, AvgUnpoolOp, BatchNormOp>([&](auto window) { window.setChannelsLast(true); })
      .Case<MaxPoolOp, AvgPoolOp, LpPoolOp>([&](auto pool) {
        pool.setChannelsLast(order[1] != 1);
        pool.setWindow(renamedSpatial(pool.getWindow(), order));
        pool.setStrides(renamedSpatial(pool.getStrides(), order));
        pool.setDilations(renamedSpatial(pool.getDilations(), order));
        pool.setPadsLow(renamedSpatial(pool.getPadsLow(), order));
        pool.setPadsHigh(renamedSpatial(pool.getPadsHigh(), order));
      })
      .Case<ResizeOp>([&](ResizeOp resize) { resize.setScales(renamedEntries(resize.getScales(), order)); })
      .Case<ConcatOp, GatherOp, ArgReduceOp, SoftmaxOp, LogSoftmaxOp>(
          [&](auto axial) { axial.setAxis(renamedAxis(axial.getAxis(), order)); })
      .Case<PadOp>([&](PadOp pad) { pad.setLow(renamedEntries(pad.getLow(), order)); })
      .Case<SliceOp>([&](SliceOp slice) {
        auto starts = renamedEntries(slice.getStarts().getDims(), order);
        slice.setStartsAttr(DimsAttr::get(op->getContext(), starts));
        slice.setSteps(renamedEntries(slice.getSteps(), order));
      })
      .Case<ReduceOp>([&](ReduceOp reduce) {
        SmallVector<int64_t> axes;
        for (int64_t axis : reduce.getAxes())
          axes.push_back(order[axis]);
        llvm::sort(axes);
        reduce.setAxes(axes);
      });
}

Value remap(OpBuilder &b, Operation *op, const OrderRule &rule, ValueRange operands) {
  auto given = dimsOf(op->getResult(0).getType());
  auto dims = rule.result.empty() ? given : reordered(given, rule.result);
  if (rule.cancels)
    return reshaped(b, op->getLoc(), operands[0], dims);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    // Dim result[i] of what is stored is dim i of the result, which is dim perm[i] of the operand as given.
    SmallVector<int64_t> perm(dims.size());
    for (auto [i, p] : llvm::enumerate(transpose.getPerm()))
      perm[rule.result[i]] = p;
    return transposed(b, op->getLoc(), operands[0], perm);
  }
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(withDims(op->getResult(0).getType(), dims));
  if (!isa<Elementwise>(op))
    renameAxes(clone, rule.operands[0]);
  return clone->getResult(0);
}

} // namespace graphc::graph
