// graphc-place-buffers. Before: plan commands on values. After: every command says with `place` where each result lives, so that
// the binary phase only writes it down:
//   "temp"       arena memory, alive from this command to its last reader
//   "inplace I"  the memory of operand I, which dies here
//   "prepared"   computed once when the model is loaded
//   "output K"   the K-th output of the call
//   "yield K"    in a body: the memory of what the body's K-th yielded value becomes: a result of an if, a carried value of a
//                loop (whose result it is in the end), this iteration's slice of a stacked result of a scan
// A carried value is overwritten where it lies once nobody reads it any more; otherwise the next one is computed elsewhere and
// copied at the end of the iteration. Loops take over the memory of operands that die there.
// A result tied to an argument (`graph.updates`) is an output that the caller may bind to that argument's memory; where
// computing it there would overwrite what is still read, it is computed elsewhere and copied at the end.
// Views have no place: they are their operand's memory. Offsets in the arena are computed by the runtime, from the same live
// ranges, because they depend on the sizes of a call.
#include "passes/plan/PlaceBuffers.h"
#include "ir/graph/Control.h"

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
bool makesBuffers(Operation *op) { return isa<plan::PlanDialect>(op->getDialect()) || graph::isControl(op); }

bool startsAtRoot(Value v) {
  while (auto view = v.getDefiningOp<plan::ViewOp>()) {
    if (!graph::isSize(view.getOffset().getDims()[0], 0))
      return false;
    v = view.getX();
  }
  auto operand = inplaceOperand(v);
  return !operand || startsAtRoot(v.getDefiningOp()->getOperand(*operand));
}
bool sameBytes(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getElementType() == y.getElementType() &&
         graph::product(graph::dimsOf(x), a.getContext()) == graph::product(graph::dimsOf(y), a.getContext());
}

/// Places the results of one block's commands: first those of the commands, then of what leaves the block.
class BlockPlacer {
public:
  explicit BlockPlacer(Block &block) : block(block), b(block.getParentOp()->getContext()) {
    for (auto [i, op] : llvm::enumerate(block))
      positions[&op] = i;
  }

  void placeCommands() {
    for (Operation &op : block) {
      if (isa<plan::ViewOp>(op) || !makesBuffers(&op) || op.getNumResults() == 0)
        continue;
      SmallVector<Attribute> places;
      for (OpResult result : op.getResults()) {
        std::string place = op.hasAttr("prepare") ? "prepared" : "temp";
        int64_t operand = -1;
        if (auto dispatch = dyn_cast<plan::DispatchOp>(op); dispatch && dispatch.getInplace())
          operand = (*dispatch.getInplace())[result.getResultNumber()];
        else if (isa<graph::WhileOp, graph::ScanOp>(op) && result.getResultNumber() < carriedOf(&op))
          operand = result.getResultNumber();
        if (operand >= 0 && !op.hasAttr("prepare") && diesAt(op.getOperand(operand), &op))
          place = "inplace " + std::to_string(operand);
        places.push_back(b.getStringAttr(place));
      }
      op.setAttr("place", b.getArrayAttr(places));
    }
  }

  /// Computes the value in memory of the kind `name`, where it lies in memory of its own so far.
  void placeAt(Value v, const std::string &name, llvm::function_ref<bool(OpResult)> allowed) {
    Value root = memoryRoot(v);
    auto result = dyn_cast<OpResult>(root);
    auto places = result && result.getOwner()->getBlock() == &block ? placesOf(result.getOwner()) : ArrayAttr();
    if (!places || !startsAtRoot(v) || !sameBytes(root.getType(), v.getType()))
      return;
    // A routine that decides a size needs room for its largest result; others get the exact one, by copy.
    if (auto routine = dyn_cast<plan::RoutineCallOp>(result.getOwner()); routine && !routine.getSymbols().empty())
      return;
    auto list = llvm::to_vector(places.getValue());
    if (list[result.getResultNumber()] != b.getStringAttr("temp") || !allowed(result))
      return;
    list[result.getResultNumber()] = b.getStringAttr(name);
    result.getOwner()->setAttr("place", b.getArrayAttr(list));
  }

  /// Memory that holds `argument` may be overwritten with `result`: whoever reads the argument did so before `result` is written,
  /// or is the command that writes it, element by element in place.
  bool mayOverwrite(OpResult result, Value argument) const {
    Operation *writer = result.getOwner();
    // Parts of a concatenation are computed in it, and before it.
    if (isa<plan::ConcatOp>(writer))
      return false;
    SmallVector<Value> aliases = {argument};
    for (unsigned i = 0; i < aliases.size(); ++i)
      for (OpOperand &use : aliases[i].getUses()) {
        Operation *user = use.getOwner();
        auto dispatch = dyn_cast<plan::DispatchOp>(user);
        bool inPlace = user == writer && dispatch && dispatch.getInplace() && aliases[i] == argument &&
                       (*dispatch.getInplace())[result.getResultNumber()] == use.getOperandNumber();
        if (!inPlace && positionOf(user) >= positionOf(writer))
          return false;
        if (auto view = dyn_cast<plan::ViewOp>(user))
          aliases.push_back(view.getResult());
      }
    return true;
  }

  static unsigned carriedOf(Operation *op) {
    auto scan = dyn_cast<graph::ScanOp>(op);
    return scan ? scan.getNumCarried() : isa<graph::WhileOp>(op) ? op->getNumResults() : 0;
  }

private:
  unsigned positionOf(Operation *op) const { return positions.lookup(graph::ancestorIn(block, op)); }

  /// No one but `reader` needs the memory behind `v` from `reader` on, and it is ours to overwrite.
  bool diesAt(Value v, Operation *reader) {
    Value root = memoryRoot(v);
    Operation *owner = root.getDefiningOp();
    if (!owner || owner->getBlock() != &block || !makesBuffers(owner) || owner->hasAttr("prepare"))
      return false;
    SmallVector<Value> aliases = {root};
    unsigned reads = 0;
    for (unsigned i = 0; i < aliases.size(); ++i)
      for (OpOperand &use : aliases[i].getUses()) {
        Operation *user = use.getOwner();
        if (user != reader && positionOf(user) >= positionOf(reader))
          return false;
        if (user == reader && aliases[i] != v)
          return false;
        reads += user == reader;
        for (OpResult result : user->getResults())
          if (isa<plan::ViewOp>(user) || inplaceOperand(result) == use.getOperandNumber())
            aliases.push_back(result);
      }
    // A command that reads the value by a second operand sees the overwritten elements at the same index only, which is what
    // in-place allows; a loop would see them in its next iteration.
    return !graph::isControl(reader) || reads == 1;
  }

  Block &block;
  Builder b;
  llvm::DenseMap<Operation *, unsigned> positions;
};

struct PlaceBuffers : PassWrapper<PlaceBuffers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceBuffers)
  StringRef getArgument() const final { return "graphc-place-buffers"; }
  StringRef getDescription() const final { return "decide where results of plan commands live"; }

  void runOnOperation() final {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    placeBodies(block);
    BlockPlacer placer(block);
    placer.placeCommands();
    // Results that leave the function are computed in the caller's memory where nothing stands against it.
    for (OpOperand &returned : block.getTerminator()->getOpOperands())
      placer.placeAt(returned.get(), "output " + std::to_string(returned.getOperandNumber()), [&](OpResult result) {
        auto tied = getOperation().getResultAttrOfType<IntegerAttr>(returned.getOperandNumber(), kUpdates);
        return !tied || placer.mayOverwrite(result, getOperation().getArgument(tied.getInt()));
      });
  }

  static void placeBodies(Block &block) {
    for (Operation &op : block)
      if (graph::isControl(&op))
        for (Region &region : op.getRegions()) {
          placeBodies(region.front());
          placeBody(&op, region.front());
        }
  }

  static void placeBody(Operation *op, Block &body) {
    unsigned carried = BlockPlacer::carriedOf(op);
    copyExchanged(body, carried);
    BlockPlacer placer(body);
    placer.placeCommands();
    for (OpOperand &yielded : body.getTerminator()->getOpOperands()) {
      unsigned i = yielded.getOperandNumber();
      placer.placeAt(yielded.get(), "yield " + std::to_string(i),
                     [&](OpResult result) { return i >= carried || placer.mayOverwrite(result, body.getArgument(i)); });
    }
  }

  /// A carried value that is yielded as another one, or to be stacked: from a copy, taken before anything is overwritten.
  static void copyExchanged(Block &body, unsigned carried) {
    Operation *yield = body.getTerminator();
    for (OpOperand &yielded : yield->getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(memoryRoot(yielded.get()));
      if (!argument || argument.getOwner() != &body || argument.getArgNumber() >= carried ||
          argument.getArgNumber() == yielded.getOperandNumber())
        continue;
      OpBuilder b(yield);
      if (yielded.get() == argument)
        b.setInsertionPointToStart(&body);
      yielded.set(copyOf(b, yield->getLoc(), yielded.get()));
    }
  }
};
} // namespace

Value graphc::copyOf(OpBuilder &b, Location loc, Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  if (type.getRank() > 0)
    return plan::ConcatOp::create(b, loc, type, ValueRange{v}, 0);
  // A concatenation needs an axis.
  auto one = RankedTensorType::get({1}, type.getElementType());
  auto start = graph::DimsAttr::get(b.getContext(), {graph::constantDim(0, b.getContext())});
  Value whole = plan::ViewOp::create(b, loc, one, v, start, UnitAttr());
  whole = plan::ConcatOp::create(b, loc, one, ValueRange{whole}, 0);
  return plan::ViewOp::create(b, loc, type, whole, start, UnitAttr());
}

std::unique_ptr<Pass> graphc::createPlaceBuffersPass() { return std::make_unique<PlaceBuffers>(); }
