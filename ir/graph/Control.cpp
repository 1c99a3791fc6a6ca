// Bodies: what they take, what they yield, how control flows between them.
#include "ir/graph/Control.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc::graph {

bool isControl(Operation *op) { return isa<IfOp, WhileOp, ScanOp>(op); }

SmallVector<Value> capturedValues(Operation *op) {
  llvm::SetVector<Value> captured;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (Operation *parent = v.getParentBlock()->getParentOp(); !parent || !op->isAncestor(parent))
          captured.insert(v);
    });
  return captured.takeVector();
}
SmallVector<Value> inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  if (op->getNumRegions())
    llvm::append_range(inputs, capturedValues(op));
  return inputs;
}

RankedTensorType sliceType(Type stack) { return withDims(stack, ArrayRef(dimsOf(stack)).drop_front()); }
RankedTensorType stackType(Type slice, AffineExpr count) {
  auto dims = dimsOf(slice);
  dims.insert(dims.begin(), count);
  return withDims(slice, dims);
}

Operation *ancestorIn(Block &block, Operation *op) {
  while (op && op->getBlock() != &block)
    op = op->getParentOp();
  return op;
}

} // namespace graphc::graph

static YieldOp yieldOf(Region &region) { return dyn_cast<YieldOp>(region.front().getTerminator()); }

static std::string typesText(TypeRange types) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(types, os);
  return "(" + text + ")";
}

/// A body takes and yields these types.
static LogicalResult verifyBody(Operation *op, Region &body, StringRef name, TypeRange takes, TypeRange yields) {
  if (body.getArgumentTypes() != takes)
    return op->emitOpError() << name << " takes " << typesText(body.getArgumentTypes()) << ", expected " << typesText(takes);
  YieldOp yield = body.front().mightHaveTerminator() ? yieldOf(body) : YieldOp();
  if (!yield)
    return op->emitOpError() << name << " must end in graph.yield";
  if (yield.getValues().getTypes() != yields)
    return op->emitOpError() << name << " yields " << typesText(yield.getValues().getTypes()) << ", expected " << typesText(yields);
  return success();
}

static bool isOneBool(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 0 && tensor.getElementType().isInteger(1);
}

//===-- if ----------------------------------------------------------------------------------------------------------===//
void IfOp::build(OpBuilder &b, OperationState &state, TypeRange results, Value condition) {
  OpBuilder::InsertionGuard guard(b);
  state.addOperands(condition);
  state.addTypes(results);
  for (int i = 0; i < 2; ++i)
    state.addRegion()->emplaceBlock();
}
LogicalResult IfOp::verify() {
  if (!isOneBool(getCondition().getType()))
    return emitOpError() << "needs one bool (tensor<i1>) as condition, got " << getCondition().getType();
  if (failed(verifyBody(*this, getThenBody(), "the first body", {}, getResultTypes())))
    return failure();
  return verifyBody(*this, getElseBody(), "the second body", {}, getResultTypes());
}
void IfOp::getSuccessorRegions(RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent()) {
    successors.emplace_back(&getThenBody());
    successors.emplace_back(&getElseBody());
  } else {
    successors.emplace_back(getOperation(), getResults());
  }
}

//===-- while -------------------------------------------------------------------------------------------------------===//
void WhileOp::build(OpBuilder &b, OperationState &state, ValueRange inits, IntegerAttr maxTrips) {
  OpBuilder::InsertionGuard guard(b);
  state.addOperands(inits);
  state.addTypes(inits.getTypes());
  if (maxTrips)
    state.addAttribute(getMaxTripsAttrName(state.name), maxTrips);
  Block &body = state.addRegion()->emplaceBlock();
  for (Type type : inits.getTypes())
    body.addArgument(type, state.location);
}
LogicalResult WhileOp::verify() {
  if (getInits().empty() || !isOneBool(getInits()[0].getType()))
    return emitOpError() << "carries its condition, one bool (tensor<i1>), as its first value, got " << typesText(getInits().getTypes());
  if (getInits().getTypes() != getResultTypes())
    return emitOpError() << "starts from " << typesText(getInits().getTypes()) << ", but gives " << typesText(getResultTypes());
  if (getMaxTrips() && *getMaxTrips() < 0)
    return emitOpError() << "max is " << *getMaxTrips() << "; a loop runs 0 times or more";
  return verifyBody(*this, getBody(), "the body", getInits().getTypes(), getInits().getTypes());
}
OperandRange WhileOp::getEntrySuccessorOperands(RegionSuccessor) { return getInits(); }
void WhileOp::getSuccessorRegions(RegionBranchPoint, SmallVectorImpl<RegionSuccessor> &successors) {
  successors.emplace_back(&getBody(), getBody().getArguments());
  successors.emplace_back(getOperation(), getResults());
}

//===-- scan --------------------------------------------------------------------------------------------------------===//
void ScanOp::build(OpBuilder &b, OperationState &state, AffineExpr trips, ValueRange inits, ValueRange scanned, TypeRange slices, bool reverse) {
  OpBuilder::InsertionGuard guard(b);
  state.addOperands(inits);
  state.addOperands(scanned);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.setTrips(DimsAttr::get(b.getContext(), {trips}));
  if (reverse)
    properties.setReverse(b.getUnitAttr());
  properties.operandSegmentSizes = {static_cast<int32_t>(inits.size()), static_cast<int32_t>(scanned.size())};
  state.addTypes(inits.getTypes());
  for (Type slice : slices)
    state.addTypes(stackType(slice, trips));
  Block &body = state.addRegion()->emplaceBlock();
  for (Type type : inits.getTypes())
    body.addArgument(type, state.location);
  for (Type type : scanned.getTypes())
    body.addArgument(sliceType(type), state.location);
}
LogicalResult ScanOp::verify() {
  if (getTrips().getDims().size() != 1)
    return emitOpError() << "needs one size as its number of iterations, got " << toString(getTrips().getDims());
  for (Value v : getScanned())
    if (cast<RankedTensorType>(v.getType()).getRank() == 0 || dimsOf(v.getType())[0] != getCount())
      return emitOpError() << "runs " << toString(getCount()) << " times, but a scanned operand has shape " << toString(dimsOf(v.getType()));
  unsigned carried = getNumCarried();
  if (getNumResults() < carried || getFinals().getTypes() != getInits().getTypes())
    return emitOpError() << "starts from " << typesText(getInits().getTypes()) << ", but gives " << typesText(getResultTypes());
  SmallVector<Type> takes(getInits().getTypes()), yields = takes;
  for (Type type : getScanned().getTypes())
    takes.push_back(sliceType(type));
  for (Type type : getStacked().getTypes()) {
    if (cast<RankedTensorType>(type).getRank() == 0 || dimsOf(type)[0] != getCount())
      return emitOpError() << "runs " << toString(getCount()) << " times, but a stacked result has shape " << toString(dimsOf(type));
    yields.push_back(sliceType(type));
  }
  return verifyBody(*this, getBody(), "the body", takes, yields);
}
OperandRange ScanOp::getEntrySuccessorOperands(RegionSuccessor) { return getInits(); }
void ScanOp::getSuccessorRegions(RegionBranchPoint, SmallVectorImpl<RegionSuccessor> &successors) {
  successors.emplace_back(&getBody(), getCarriedArgs());
  successors.emplace_back(getOperation(), getFinals());
}

//===-- yield -------------------------------------------------------------------------------------------------------===//
/// Stacked slices of a scan leave it by another way than the carried values.
MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  if (auto scan = dyn_cast<ScanOp>((*this)->getParentOp()))
    return MutableOperandRange(*this, 0, scan.getNumCarried());
  return MutableOperandRange(*this);
}
