#include "test/gradients/Mutants.h"
#include "ir/graph/TensorExpr.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc::test {
namespace {

bool has(func::FuncOp func, StringRef op) {
  return func.walk([&](Operation *o) { return o->getName().stripDialect() == op ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// A float constant of this value becomes another.
bool changeConstant(Operation *op, double from, double to) {
  auto constant = dyn_cast<ConstantOp>(op);
  auto value = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!value || !value.isSplat() || value.getSplatValue<APFloat>().convertToDouble() != from)
    return false;
  constant.setValueAttr(DenseElementsAttr::get(value.getType(), FloatAttr::get(value.getElementType(), to).getValue()));
  return true;
}

template <typename To>
bool replaceBinary(Operation *op) {
  OpBuilder b(op);
  op->replaceAllUsesWith(ValueRange{To::create(b, op->getLoc(), op->getOperand(0), op->getOperand(1))});
  op->erase();
  return true;
}

bool padOffByOne(Operation *op, func::FuncOp) {
  auto conv = dyn_cast<ConvTransposeOp>(op);
  if (!conv)
    return false;
  auto pads = llvm::to_vector(conv.getPadsLow());
  ++pads[0];
  conv.setPadsLow(pads);
  return true;
}
bool strideIgnored(Operation *op, func::FuncOp) {
  auto gradient = dyn_cast<ConvWeightGradOp>(op);
  if (!gradient || llvm::all_of(gradient.getStrides(), [](int64_t s) { return s == 1; }))
    return false;
  gradient.setStrides(SmallVector<int64_t>(gradient.getStrides().size(), 1));
  return true;
}
bool dilationIgnored(Operation *op, func::FuncOp) {
  auto gradient = dyn_cast<ConvWeightGradOp>(op);
  if (!gradient || llvm::all_of(gradient.getDilations(), [](int64_t s) { return s == 1; }))
    return false;
  gradient.setDilations(SmallVector<int64_t>(gradient.getDilations().size(), 1));
  return true;
}
/// Repeated rows overwrite one another.
bool rowsOverwritten(Operation *op, func::FuncOp) {
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  if (!isa<ScatterNDOp, ScatterElementsOp>(op) || reduction.getValue() != "add")
    return false;
  op->setAttr("reduction", StringAttr::get(op->getContext(), "none"));
  return true;
}
/// The mask of the backward pass is drawn anew.
bool maskDrawnAgain(Operation *op, func::FuncOp) {
  auto dropout = dyn_cast<DropoutOp>(op);
  if (!dropout)
    return false;
  OpBuilder b(op);
  TensorExpr offset(b, op->getLoc(), dropout.getOffset());
  dropout.getOffsetMutable().assign((offset + 16).get());
  return true;
}
/// Only one of the places that a value was repeated to sends its gradient back.
bool broadcastNotSummed(Operation *op, func::FuncOp original) {
  auto reduce = dyn_cast<graph::ReduceOp>(op);
  if (!reduce || reduce.getKind() != "sum" || !has(original, "mul") || has(original, "reduce"))
    return false;
  reduce.setKind("max");
  return true;
}
bool varianceUnbiased(Operation *op, func::FuncOp original) {
  return has(original, "layer_norm") && (changeConstant(op, 12, 11) || changeConstant(op, 4, 3));
}
bool tanhForErf(Operation *op, func::FuncOp original) {
  if (!isa<ErfOp>(op) || !has(original, "gelu"))
    return false;
  OpBuilder b(op);
  op->replaceAllUsesWith(ValueRange{TanhOp::create(b, op->getLoc(), op->getOperand(0))});
  op->erase();
  return true;
}
/// Ignored labels count in the mean.
bool ignoredCount(Operation *op, func::FuncOp original) {
  if (!isa<NotEqualOp>(op) || !has(original, "cross_entropy"))
    return false;
  return replaceBinary<LessOp>(op), true; // a label is never below -100: none counts
}
bool smoothingOverOthers(Operation *op, func::FuncOp original) {
  return has(original, "cross_entropy") && changeConstant(op, 4, 3);
}
bool scanNotReversed(Operation *op, func::FuncOp original) {
  auto scan = dyn_cast<CumulativeOp>(op);
  if (!scan || scan.getKind() != "sum" || !has(original, "cumulative"))
    return false;
  scan.setReverse(!scan.getReverse());
  return true;
}
bool paddingCounted(Operation *op, func::FuncOp) {
  auto unpool = dyn_cast<AvgUnpoolOp>(op);
  if (!unpool || unpool.getSum())
    return false;
  unpool.setCountPad(!unpool.getCountPad());
  return true;
}
/// Every place of the maximum's value gets the gradient of the first window only.
bool indexTransposed(Operation *op, func::FuncOp) {
  auto index = dyn_cast<MaxPoolIndexOp>(op);
  if (!index)
    return false;
  index.setColumnMajor(true);
  return true;
}
bool scaleForgotten(Operation *op, func::FuncOp original) { return has(original, "attention") && changeConstant(op, 0.5, 1); }
bool signLost(Operation *op, func::FuncOp) {
  if (!isa<NegOp>(op))
    return false;
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return true;
}
bool differenceAdded(Operation *op, func::FuncOp) { return isa<SubOp>(op) && replaceBinary<AddOp>(op); }

const Mutant list[] = {
    {"dgrad padding off by one", padOffByOne},
    {"wgrad stride ignored", strideIgnored},
    {"wgrad dilation ignored", dilationIgnored},
    {"gradient of repeated rows overwritten", rowsOverwritten},
    {"dropout mask not reused in backward", maskDrawnAgain},
    {"broadcast gradient not summed", broadcastNotSummed},
    {"layer norm with the unbiased variance", varianceUnbiased},
    {"gelu with tanh for erf", tanhForErf},
    {"cross-entropy counts by another rule", ignoredCount},
    {"label smoothing over C - 1", smoothingOverOthers},
    {"gradient of a running sum not reversed", scanNotReversed},
    {"average pool counts padding", paddingCounted},
    {"max-pool index in another order", indexTransposed},
    {"attention scale forgotten", scaleForgotten},
    {"a sign lost", signLost},
    {"a difference added", differenceAdded},
};

} // namespace

llvm::ArrayRef<Mutant> mutants() { return list; }

bool mutate(const Mutant &mutant, func::FuncOp differentiated, func::FuncOp original) {
  // The ops of the original come first, then the loss, then the gradients.
  unsigned forward = llvm::range_size(original.getBody().front().without_terminator());
  SmallVector<Operation *> added;
  for (auto [i, op] : llvm::enumerate(differentiated.getBody().front().without_terminator()))
    if (i >= forward)
      added.push_back(&op);
  // Neither the weighted sum that is the loss: up to the constant 1 that its gradient is.
  bool changed = false, backward = false;
  for (Operation *op : added) {
    if (!backward) {
      backward = isa<ConstantOp>(op);
      continue;
    }
    changed |= mutant.change(op, original);
  }
  return changed;
}

} // namespace graphc::test
