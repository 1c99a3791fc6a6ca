// Gradients of ops with bodies. The gradient of a body is built beside it from the ops in it; what that reads of the body's values
// (its residuals) becomes further results of the op:
//   if      one slot for each residual, shared by residuals of the two bodies that have the same type; the gradient is an if again
//   scan    residuals are stacked; the gradient is a scan in the other direction that carries the gradients of carried values
//           and the sums of those of captured ones
//   while   with a bound: a scan of that many iterations whose body does nothing once the condition is false
#include "ir/graph/Control.h"
#include "passes/vjp/Rules.h"
#include "passes/vjp/Vjp.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace graphc::graph {

static SmallVector<Operation *> opsOf(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  return ops;
}

/// At the end of a block that belongs to no op yet.
static OpBuilder atEnd(Block &block, MLIRContext *ctx) {
  OpBuilder b(ctx);
  b.setInsertionPointToEnd(&block);
  return b;
}

/// Values of the body `forward` that `backward` reads. What needs no operands to compute is computed again there instead.
static llvm::SetVector<Value> residualsOf(Block &forward, Region &backward) {
  llvm::SetVector<Value> residuals;
  backward.walk([&](Operation *op) {
    for (Value v : op->getOperands())
      if (v.getParentBlock() == &forward)
        residuals.insert(v);
  });
  SmallVector<Value> literals;
  for (Value v : residuals)
    if (Operation *def = v.getDefiningOp(); def && def->getNumOperands() == 0 && def->getNumRegions() == 0)
      literals.push_back(v);
  OpBuilder b(forward.getParentOp()->getContext());
  b.setInsertionPointToStart(&backward.front());
  for (Value v : literals) {
    Value copy = b.clone(*v.getDefiningOp())->getResult(cast<OpResult>(v).getResultNumber());
    v.replaceUsesWithIf(copy, [&](OpOperand &use) { return backward.isAncestor(use.getOwner()->getParentRegion()); });
    residuals.remove(v);
  }
  return residuals;
}

static void replaceIn(Region &region, Value from, Value to) {
  from.replaceUsesWithIf(to, [&](OpOperand &use) { return region.isAncestor(use.getOwner()->getParentRegion()); });
}

static Value zeros(OpBuilder &b, Location loc, Type type) { return zerosOf(TensorExpr(b, loc, Value()), type).get(); }

//===-- if ----------------------------------------------------------------------------------------------------------===//
Gradients IfOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  Location loc = getLoc();
  SmallVector<Value> read = inputsOf(*this), wanted;
  for (auto [v, needed] : llvm::zip_equal(read, needs))
    if (needed)
      wanted.push_back(v);
  Region *forward[] = {&getThenBody(), &getElseBody()};
  Region backward[2];
  SmallVector<Value> found[2];
  for (int i = 0; i < 2; ++i) {
    Block &body = forward[i]->front();
    SmallVector<Seed> seeds;
    for (auto [yielded, gradient] : llvm::zip_equal(body.getTerminator()->getOperands(), grads))
      if (gradient)
        seeds.push_back({yielded, gradient});
    OpBuilder inner = atEnd(backward[i].emplaceBlock(), getContext());
    auto gradients = buildGradients(inner, opsOf(body), seeds, wanted);
    if (failed(gradients))
      return failure();
    found[i] = *gradients;
  }
  SmallVector<Type> types;
  for (auto [n, v] : llvm::enumerate(wanted))
    if (found[0][n] || found[1][n])
      types.push_back(v.getType());
  for (int i = 0; i < 2; ++i) {
    OpBuilder inner = atEnd(backward[i].front(), getContext());
    SmallVector<Value> yielded;
    for (auto [n, v] : llvm::enumerate(wanted))
      if (found[0][n] || found[1][n])
        yielded.push_back(found[i][n] ? found[i][n] : zeros(inner, loc, v.getType()));
    YieldOp::create(inner, loc, yielded);
  }

  // Slots of the residuals, behind the results.
  SmallVector<Type> slots;
  SmallVector<std::pair<Value, unsigned>> kept[2];
  for (int i = 0; i < 2; ++i) {
    llvm::SmallDenseSet<unsigned> taken;
    for (Value v : residualsOf(forward[i]->front(), backward[i])) {
      unsigned slot = 0;
      while (slot < slots.size() && (slots[slot] != v.getType() || taken.contains(slot)))
        ++slot;
      if (slot == slots.size())
        slots.push_back(v.getType());
      taken.insert(slot);
      kept[i].push_back({v, slot});
    }
  }
  IfOp whole = *this;
  if (!slots.empty()) {
    OpBuilder at(*this);
    SmallVector<Type> results(getResultTypes());
    results.append(slots);
    whole = IfOp::create(at, loc, results, getCondition());
    whole->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
    for (int i = 0; i < 2; ++i) {
      Operation *yield = forward[i]->front().getTerminator();
      OpBuilder inner(yield);
      SmallVector<Value> values(slots.size());
      for (auto [v, slot] : kept[i])
        values[slot] = v;
      for (auto [slot, type] : llvm::enumerate(slots))
        if (!values[slot])
          values[slot] = zeros(inner, loc, type);
      yield->insertOperands(yield->getNumOperands(), values);
    }
    for (int i = 0; i < 2; ++i)
      for (auto [v, slot] : kept[i])
        replaceIn(backward[i], v, whole.getResult(getNumResults() + slot));
    whole.getThenBody().takeBody(getThenBody());
    whole.getElseBody().takeBody(getElseBody());
    (*this)->replaceAllUsesWith(whole.getResults().take_front(getNumResults()));
  }
  SmallVector<Value> gradients(read.size());
  if (!types.empty()) {
    auto gradient = IfOp::create(b, loc, types, whole.getCondition());
    gradient.getThenBody().takeBody(backward[0]);
    gradient.getElseBody().takeBody(backward[1]);
    unsigned n = 0, result = 0;
    for (auto [i, needed] : llvm::enumerate(needs))
      if (needed) {
        if (found[0][n] || found[1][n])
          gradients[i] = gradient.getResult(result++);
        ++n;
      }
  }
  if (whole != *this)
    erase();
  return gradients;
}

//===-- scan --------------------------------------------------------------------------------------------------------===//
Gradients ScanOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  Location loc = getLoc();
  Block &body = getBody().front();
  SmallVector<Value> read = inputsOf(*this), yielded(body.getTerminator()->getOperands());
  unsigned carried = getNumCarried(), scanned = getScanned().size();
  AffineExpr count = getCount();

  Region backward;
  Block &block = backward.emplaceBlock();
  OpBuilder inner = atEnd(block, getContext());
  // Carried: the gradient of every float that the scan carries, then the sums for what the body captures.
  SmallVector<unsigned> states, captures, slices, stacks;
  SmallVector<Value> wanted, inits, stacksRead;
  SmallVector<Seed> seeds;
  for (unsigned i = 0; i < carried; ++i)
    if (isa<FloatType>(elementOf(read[i]))) {
      states.push_back(i);
      wanted.push_back(body.getArgument(i));
      inits.push_back(grads[i] ? grads[i] : zeros(b, loc, read[i].getType()));
      seeds.push_back({yielded[i], block.addArgument(read[i].getType(), loc)});
    }
  for (unsigned i = carried + scanned; i < read.size(); ++i)
    if (needs[i]) {
      captures.push_back(i);
      inits.push_back(zeros(b, loc, read[i].getType()));
      block.addArgument(read[i].getType(), loc);
    }
  for (unsigned i = carried; i < carried + scanned; ++i)
    if (needs[i]) {
      slices.push_back(i);
      wanted.push_back(body.getArgument(i));
    }
  for (unsigned i : captures)
    wanted.push_back(read[i]);
  for (unsigned i = carried; i < grads.size(); ++i)
    if (grads[i]) {
      stacksRead.push_back(grads[i]);
      seeds.push_back({yielded[i], block.addArgument(yielded[i].getType(), loc)});
    }
  auto found = buildGradients(inner, opsOf(body), seeds, wanted);
  if (failed(found))
    return failure();
  yielded.assign(body.getTerminator()->operand_begin(), body.getTerminator()->operand_end()); // an op with bodies has been replaced
  SmallVector<Value> next, gradientSlices;
  auto at = found->begin();
  for (unsigned i : states) {
    Value gradient = *at++;
    next.push_back(gradient ? gradient : zeros(inner, loc, read[i].getType()));
  }
  for (unsigned &i : slices)
    if (Value gradient = *at++) {
      gradientSlices.push_back(gradient);
      stacks.push_back(i);
    }
  for (auto [n, i] : llvm::enumerate(captures)) {
    Value sum = block.getArgument(states.size() + n), gradient = *at++;
    next.push_back(gradient ? AddOp::create(inner, loc, sum, gradient).getResult() : sum);
  }
  SmallVector<Type> sliceTypes(ValueRange(gradientSlices).getTypes());
  next.append(gradientSlices);
  YieldOp::create(inner, loc, next);

  // Residuals: slices of what is scanned are scanned again, others are stacked.
  llvm::SetVector<Value> residuals = residualsOf(body, backward);
  SmallVector<Value> stacked;
  for (Value v : residuals) {
    auto argument = dyn_cast<BlockArgument>(v);
    if (!argument || argument.getArgNumber() < carried)
      stacked.push_back(v);
  }
  ScanOp whole = *this;
  if (!stacked.empty()) {
    OpBuilder before(*this);
    SmallVector<Type> types(ValueRange(yielded).drop_front(carried).getTypes());
    llvm::append_range(types, ValueRange(stacked).getTypes());
    whole = ScanOp::create(before, loc, count, getInits(), getScanned(), types, getReverse());
    whole->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
    whole.getBody().takeBody(getBody());
    body.getTerminator()->insertOperands(yielded.size(), stacked);
    (*this)->replaceAllUsesWith(whole.getResults().take_front(getNumResults()));
  }
  unsigned nextStack = yielded.size();
  for (Value v : residuals) {
    auto argument = dyn_cast<BlockArgument>(v);
    bool isSlice = argument && argument.getArgNumber() >= carried;
    stacksRead.push_back(isSlice ? read[argument.getArgNumber()] : whole.getResult(nextStack++));
    replaceIn(backward, v, block.addArgument(v.getType(), loc));
  }
  auto gradient = ScanOp::create(b, loc, count, inits, stacksRead, sliceTypes, !whole.getReverse());
  gradient.getBody().takeBody(backward);

  SmallVector<Value> gradients(read.size());
  for (auto [n, i] : llvm::enumerate(states))
    gradients[i] = gradient.getResult(n);
  for (auto [n, i] : llvm::enumerate(captures))
    gradients[i] = gradient.getResult(states.size() + n);
  for (auto [n, i] : llvm::enumerate(stacks))
    gradients[i] = gradient.getStacked()[n];
  if (whole != *this)
    erase();
  return gradients;
}

//===-- while -------------------------------------------------------------------------------------------------------===//
Gradients WhileOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  if (!getMaxTrips())
    return emitError() << "a while loop without a bound has no gradient: declare the most iterations that it may run (`max`), "
                          "or use a scan", failure();
  Location loc = getLoc();
  SmallVector<Value> read = inputsOf(*this);
  llvm::DenseMap<Value, unsigned> numbers;
  for (unsigned i = getInits().size(); i < read.size(); ++i)
    numbers[read[i]] = i;
  OpBuilder at(*this);
  auto scan = ScanOp::create(at, loc, constantDim(*getMaxTrips(), getContext()), getInits(), ValueRange(), TypeRange(), false);
  Block &block = scan.getBody().front();
  at.setInsertionPointToEnd(&block);
  auto step = IfOp::create(at, loc, getInits().getTypes(), block.getArgument(0));
  YieldOp::create(at, loc, step.getResults());
  for (auto [argument, outer] : llvm::zip_equal(getBody().getArguments(), block.getArguments()))
    argument.replaceAllUsesWith(outer);
  getBody().front().eraseArguments(0, getBody().getNumArguments());
  step.getThenBody().takeBody(getBody());
  at.setInsertionPointToEnd(&step.getElseBody().front());
  YieldOp::create(at, loc, block.getArguments());
  (*this)->replaceAllUsesWith(scan);

  unsigned inits = getInits().size();
  SmallVector<bool> scanNeeds(needs.take_front(inits));
  SmallVector<Value> scanRead = inputsOf(scan);
  for (Value v : ArrayRef(scanRead).drop_front(inits))
    scanNeeds.push_back(needs[numbers.lookup(v)]);
  auto found = scan.buildVjp(b, grads, scanNeeds);
  if (failed(found))
    return failure();
  SmallVector<Value> gradients(read.size());
  for (auto [i, gradient] : llvm::enumerate(*found))
    gradients[i < inits ? i : numbers.lookup(scanRead[i])] = gradient;
  erase();
  return gradients;
}

} // namespace graphc::graph
