// One loop group as a kernel: the outer domain, then one pass per reduction, then a pass that stores what has the full shape.
#include "passes/kernels/LoopKernels.h"
#include "passes/kernels/KernelBuilder.h"
#include "passes/kernels/KernelFrame.h"
#include "passes/plan/PlaceBuffers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

namespace {

/// A value of the full shape that a reduction computes and a later pass needs again, dear enough to be kept in the output's
/// memory meanwhile (the exponentials of a softmax).
Value valueToKeep(GroupOp group, ArrayRef<Value> outputs, ArrayRef<AffineExpr> shape) {
  constexpr int kDear = 10;
  for (Operation &op : group.getBody().front()) {
    auto elementwise = dyn_cast<Elementwise>(op);
    if (!elementwise || elementwise.scalarCost() < kDear || dimsOf(op.getResult(0).getType()) != llvm::to_vector(shape))
      continue;
    bool reduced = false, again = false, elementwiseOnly = true;
    for (Operation *user : op.getUsers()) {
      reduced |= isa<graph::ReduceOp>(user);
      again |= isa<Elementwise>(user);
      elementwiseOnly &= isa<graph::ReduceOp, Elementwise>(user);
    }
    if (reduced && again && elementwiseOnly && outputs.size() == 1 &&
        outputs[0].getType() == op.getResult(0).getType() && outputs[0] != op.getResult(0))
      return op.getResult(0);
  }
  return {};
}

/// For each result of the group, the input it is the new value of (`graph.updates`), or -1.
SmallVector<int64_t> updatedInputs(GroupOp group, const llvm::SetVector<Value> &inputs) {
  SmallVector<int64_t> updated(group.getNumResults(), -1);
  auto func = group->getParentOfType<func::FuncOp>();
  for (OpResult result : group.getResults())
    for (OpOperand &use : result.getUses()) {
      if (!isa<func::ReturnOp>(use.getOwner()))
        continue;
      auto tied = func.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), kUpdates);
      auto input = tied ? llvm::find(inputs, func.getArgument(tied.getInt())) : inputs.end();
      if (input != inputs.end())
        updated[result.getResultNumber()] = input - inputs.begin();
    }
  return updated;
}

} // namespace

plan::DispatchOp graphc::buildLoopKernel(GroupOp group, ModuleOp module, StringRef name, OpBuilder &b) {
  auto *ctx = b.getContext();
  Block &body = group.getBody().front();
  auto yield = cast<graph::YieldOp>(body.getTerminator());
  SmallVector<Value> outputs = llvm::to_vector(yield.getValues());
  KernelFrame frame(group, outputs, module, name);
  kernel::FuncOp func = frame.func;
  auto outputArgs = frame.outputArguments();

  OpBuilder kb(ctx);
  kb.setInsertionPointToStart(&func.getBody().front());
  KernelBuilder builder(kb, group.getLoc(), frame.buffers, frame.scalars);

  SmallVector<int64_t> reduced;
  if (auto rows = group->getAttrOfType<DenseI64ArrayAttr>("rows"))
    reduced = llvm::to_vector(rows.asArrayRef());
  // The full shape: the largest output; row groups always store one of that shape or only row values.
  SmallVector<AffineExpr> shape;
  for (Value v : outputs) {
    auto dims = dimsOf(v.getType());
    bool rowShaped = !reduced.empty() && llvm::all_of(reduced, [&](int64_t r) { return r < (int64_t)dims.size() && isSize(dims[r], 1); });
    if (shape.empty() || !rowShaped)
      shape = dims;
  }
  bool spilled = false;
  if (reduced.empty()) {
    builder.parallel(shape, [&](ArrayRef<AffineExpr> index) {
      for (auto [v, buffer] : llvm::zip(outputs, outputArgs))
        builder.store(v, buffer, index);
    });
  } else {
    SmallVector<AffineExpr> outer, inner;
    for (auto [d, size] : llvm::enumerate(shape))
      (llvm::is_contained(reduced, (int64_t)d) ? inner : outer).push_back(size);
    builder.parallel(outer, [&](ArrayRef<AffineExpr> outerIndex) {
      auto indexWith = [&](ArrayRef<AffineExpr> innerIndex) {
        SmallVector<AffineExpr> index;
        unsigned o = 0, i = 0;
        for (unsigned d = 0; d < shape.size(); ++d)
          if (llvm::is_contained(reduced, (int64_t)d))
            index.push_back(innerIndex.empty() ? getAffineConstantExpr(0, ctx) : innerIndex[i++]);
          else
            index.push_back(outerIndex[o++]);
        return index;
      };
      auto isRow = [&](Value v) {
        auto dims = dimsOf(v.getType());
        return llvm::all_of(reduced, [&](int64_t r) { return isSize(dims[r], 1); });
      };
      if (Value keep = valueToKeep(group, outputs, shape)) {
        spilled = true;
        builder.spill(keep, outputArgs[0]);
        for (Operation &op : body.without_terminator())
          if (isa<graph::ReduceOp>(op) && isRow(op.getResult(0)))
            builder.elementOf(op.getResult(0), indexWith({}));
        builder.readFrom(keep, outputArgs[0]);
      }
      for (auto [v, buffer] : llvm::zip(outputs, outputArgs))
        if (isRow(v))
          builder.store(v, buffer, indexWith({}));
      if (!llvm::all_of(outputs, isRow))
        builder.map(inner, [&](ArrayRef<AffineExpr> innerIndex) {
          for (auto [v, buffer] : llvm::zip(outputs, outputArgs))
            if (!isRow(v))
              builder.store(v, buffer, indexWith(innerIndex));
        });
    });
  }

  auto inplace = spilled ? SmallVector<int64_t>(outputs.size(), -1) : inplacePairs(func, frame.inputs.size(), updatedInputs(group, frame.inputs));
  // Roughly: a tenth of a nanosecond per scalar op on a vector unit, for each element of an outer point.
  double elements = 1;
  for (int64_t r : reduced)
    elements *= (double)constantSize(shape[r]).value_or(256);
  body.walk([&](graph::ReduceOp op) {
    if (!reduced.empty())
      return;
    double n = 1;
    for (int64_t axis : op.getAxes())
      n *= (double)constantSize(dimsOf(op.getX().getType())[axis]).value_or(64);
    elements = std::max(elements, n);
  });
  body.walk([&](Contraction op) { elements = std::max(elements, (double)constantSize(op.depth()).value_or(256)); });
  return frame.dispatch(group, builder.sites(), inplace, 0.1 * frame.scalarOps * elements, b);
}

//===-- in-place --------------------------------------------------------------------------------------------------===//
namespace {
/// Where an access is relative to the point of the outer domain: per dim, which loop dim indexes it plainly.
using Signature = SmallVector<std::pair<bool, unsigned>>; // (outer?, argument number)

std::optional<Signature> signatureOf(kernel::AccessOp op, MemRefType type) {
  Signature signature;
  AffineMap map = op.getIndexMap();
  for (auto [d, e] : llvm::enumerate(map.getResults())) {
    if (type.getDimSize(d) == 1) {
      signature.push_back({true, ~0u});
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (!dim)
      return std::nullopt;
    auto arg = dyn_cast<BlockArgument>(op.getIndexOperands()[dim.getPosition()]);
    if (!arg)
      return std::nullopt;
    Operation *loop = arg.getOwner()->getParentOp();
    bool outer = isa<kernel::ParallelOp>(loop);
    if (!outer && !isa<kernel::ParallelOp>(loop->getParentOp()))
      return std::nullopt; // nested passes may come back to an element
    signature.push_back({outer, arg.getArgNumber()});
  }
  return signature;
}
} // namespace

SmallVector<int64_t> graphc::inplacePairs(kernel::FuncOp func, unsigned numInputs, ArrayRef<int64_t> preferred) {
  auto buffers = func.getBuffers();
  std::vector<std::optional<Signature>> signatures(buffers.size(), Signature());
  std::vector<bool> seen(buffers.size());
  std::vector<unsigned> first(buffers.size()), last(buffers.size()); // access of each
  unsigned accesses = 0;
  func.walk([&](kernel::AccessOp op) {
    auto arg = cast<BlockArgument>(op.getAccessBuffer());
    unsigned i = arg.getArgNumber();
    last[i] = ++accesses;
    if (!seen[i])
      first[i] = accesses;
    auto signature = signatureOf(op, cast<MemRefType>(arg.getType()));
    if (!seen[i])
      signatures[i] = signature;
    else if (signatures[i] != signature)
      signatures[i] = std::nullopt;
    seen[i] = true;
  });
  std::vector<bool> taken(numInputs);
  auto fits = [&](unsigned i, unsigned o) {
    return !taken[i] && seen[i] && seen[o] && signatures[i] && signatures[o] && *signatures[i] == *signatures[o] &&
           buffers[i].getType() == buffers[o].getType() && func.getBufferDims(i) == func.getBufferDims(o) &&
           last[i] < first[o]; // read before the element is overwritten
  };
  // What is asked for first, then whatever is left.
  SmallVector<int64_t> pairs(buffers.size() - numInputs, -1);
  auto pair = [&](unsigned o, unsigned i) {
    pairs[o] = i;
    taken[i] = true;
  };
  for (auto [o, wanted] : llvm::enumerate(preferred))
    if (wanted >= 0 && fits(wanted, numInputs + o))
      pair(o, wanted);
  for (unsigned o = 0; o < pairs.size(); ++o)
    for (unsigned i = 0; i < numInputs && pairs[o] < 0; ++i)
      if (fits(i, numInputs + o))
        pair(o, i);
  return pairs;
}
