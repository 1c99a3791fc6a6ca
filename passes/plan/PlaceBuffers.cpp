// graphc-place-buffers. Before: plan commands on values. After: every command says with `place` where each result lives, so that
// the binary phase only writes it down:
//   "temp"       arena memory, alive from this command to its last reader
//   "inplace I"  the memory of operand I, which dies here
//   "prepared"   computed once when the model is loaded
//   "output K"   the K-th output of the call
// A result tied to an argument (`graph.updates`) is an output that the caller may bind to that argument's memory; where
// computing it there would overwrite what is still read, it is computed elsewhere and copied at the end.
// Views have no place: they are their operand's memory. Offsets in the arena are computed by the runtime, from the same live
// ranges, because they depend on the sizes of a call.
#include "passes/plan/PlaceBuffers.h"

using namespace mlir;
using namespace graphc;

static ArrayAttr placesOf(Operation *op) { return op->getAttrOfType<ArrayAttr>("place"); }

static std::optional<unsigned> inplaceOperand(Value v) {
  auto result = dyn_cast<OpResult>(v);
  auto places = result ? placesOf(result.getOwner()) : ArrayAttr();
  if (!places)
    return std::nullopt;
  StringRef place = cast<StringAttr>(places[result.getResultNumber()]).getValue();
  unsigned operand;
  if (!place.consume_front("inplace ") || place.getAsInteger(10, operand))
    return std::nullopt;
  return operand;
}

Value graphc::memoryRoot(Value v) {
  while (true) {
    if (auto view = v.getDefiningOp<plan::ViewOp>())
      v = view.getX();
    else if (auto operand = inplaceOperand(v))
      v = v.getDefiningOp()->getOperand(*operand);
    else
      return v;
  }
}

namespace {
struct PlaceBuffers : PassWrapper<PlaceBuffers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceBuffers)
  StringRef getArgument() const final { return "graphc-place-buffers"; }
  StringRef getDescription() const final { return "decide where results of plan commands live"; }

  void runOnOperation() final {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    Builder b(&getContext());
    llvm::DenseMap<Operation *, unsigned> position;
    for (auto [i, op] : llvm::enumerate(block))
      position[&op] = i;

    for (Operation &op : block) {
      if (isa<plan::ViewOp>(op) || !isa<plan::PlanDialect>(op.getDialect()) || op.getNumResults() == 0)
        continue;
      SmallVector<Attribute> places;
      for (OpResult result : op.getResults()) {
        std::string place = op.hasAttr("prepare") ? "prepared" : "temp";
        auto dispatch = dyn_cast<plan::DispatchOp>(op);
        if (dispatch && dispatch.getInplace() && !op.hasAttr("prepare")) {
          int64_t operand = (*dispatch.getInplace())[result.getResultNumber()];
          if (operand >= 0 && diesAt(op.getOperand(operand), &op, position))
            place = "inplace " + std::to_string(operand);
        }
        places.push_back(b.getStringAttr(place));
      }
      op.setAttr("place", b.getArrayAttr(places));
    }

    // Results that leave the function are computed in the caller's memory where nothing stands against it.
    for (OpOperand &returned : block.getTerminator()->getOpOperands()) {
      Value root = memoryRoot(returned.get());
      auto result = dyn_cast<OpResult>(root);
      auto places = result ? placesOf(result.getOwner()) : ArrayAttr();
      if (!places || !startsAtRoot(returned.get()) || !sameBytes(root.getType(), returned.get().getType()))
        continue;
      // A routine that decides a size needs room for its largest result; the caller gets the exact one, by copy.
      if (auto routine = dyn_cast<plan::RoutineCallOp>(result.getOwner()); routine && !routine.getSymbols().empty())
        continue;
      auto list = llvm::to_vector(places.getValue());
      if (list[result.getResultNumber()] != b.getStringAttr("temp"))
        continue;
      auto tied = getOperation().getResultAttrOfType<IntegerAttr>(returned.getOperandNumber(), kUpdates);
      if (tied && !mayOverwrite(result, getOperation().getArgument(tied.getInt()), position))
        continue;
      list[result.getResultNumber()] = b.getStringAttr("output " + std::to_string(returned.getOperandNumber()));
      result.getOwner()->setAttr("place", b.getArrayAttr(list));
    }
  }

  /// No one but `reader` needs the memory behind `v` from `reader` on, and it is ours to overwrite.
  bool diesAt(Value v, Operation *reader, const llvm::DenseMap<Operation *, unsigned> &position) {
    Value root = memoryRoot(v);
    Operation *owner = root.getDefiningOp();
    if (!owner || !isa<plan::PlanDialect>(owner->getDialect()) || owner->hasAttr("prepare"))
      return false;
    SmallVector<Value> aliases = {root};
    for (unsigned i = 0; i < aliases.size(); ++i)
      for (OpOperand &use : aliases[i].getUses()) {
        Operation *user = use.getOwner();
        if (user != reader && position.lookup(user) >= position.lookup(reader))
          return false;
        if (user == reader && aliases[i] != v)
          return false;
        for (OpResult result : user->getResults())
          if (isa<plan::ViewOp>(user) || inplaceOperand(result) == use.getOperandNumber())
            aliases.push_back(result);
      }
    // Read once by this command: a second operand on the same value would see the overwritten elements at the same index only,
    // which is what in-place allows.
    return true;
  }
  /// A tied output may be bound to its argument's own memory: whoever reads the argument did so before `result` is written,
  /// or is the command that writes it, element by element in place.
  static bool mayOverwrite(OpResult result, Value argument, const llvm::DenseMap<Operation *, unsigned> &position) {
    Operation *writer = result.getOwner();
    SmallVector<Value> aliases = {argument};
    for (unsigned i = 0; i < aliases.size(); ++i)
      for (OpOperand &use : aliases[i].getUses()) {
        Operation *user = use.getOwner();
        auto dispatch = dyn_cast<plan::DispatchOp>(user);
        bool inPlace = user == writer && dispatch && dispatch.getInplace() && aliases[i] == argument &&
                       (*dispatch.getInplace())[result.getResultNumber()] == use.getOperandNumber();
        if (!inPlace && position.lookup(user) >= position.lookup(writer))
          return false;
        if (auto view = dyn_cast<plan::ViewOp>(user))
          aliases.push_back(view.getResult());
      }
    return true;
  }
  static bool startsAtRoot(Value v) {
    while (auto view = v.getDefiningOp<plan::ViewOp>()) {
      if (!graph::isSize(view.getOffset().getDims()[0], 0))
        return false;
      v = view.getX();
    }
    return !inplaceOperand(v) || startsAtRoot(v.getDefiningOp()->getOperand(*inplaceOperand(v)));
  }
  static bool sameBytes(Type a, Type b) {
    auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
    return x.getElementType() == y.getElementType() &&
           graph::product(graph::dimsOf(x), a.getContext()) == graph::product(graph::dimsOf(y), a.getContext());
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createPlaceBuffersPass() { return std::make_unique<PlaceBuffers>(); }
