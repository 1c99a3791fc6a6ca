// graphc-probe-groups. After `fuse`: every result of every group becomes a result of the function too, named "probe:" and the
// group's location, so that `graphc verify` can compare each with the reference interpreter. Used by verify alone: a probed value
// can neither be overwritten in place nor live in the arena.
#include "passes/plan/PlaceBuffers.h"

using namespace mlir;
using namespace graphc;

namespace {
struct ProbeGroups : PassWrapper<ProbeGroups, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProbeGroups)
  StringRef getArgument() const final { return "graphc-probe-groups"; }
  StringRef getDescription() const final { return "make every group result a result of the function"; }
  void runOnOperation() final {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Operation *terminator = func.getBody().front().getTerminator();
    SmallVector<Value> values(terminator->getOperands());
    SmallVector<Type> types(func.getResultTypes());
    SmallVector<Attribute> names;
    Builder b(&getContext());
    for (auto group : func.getOps<graph::GroupOp>()) {
      if (group->hasAttr("prepare"))
        continue;
      for (Value v : group.getResults()) {
        auto named = group.getLoc()->findInstanceOf<NameLoc>();
        names.push_back(b.getStringAttr("probe:" + (named ? named.getName().str() : std::string("group"))));
        values.push_back(v);
        types.push_back(v.getType());
      }
    }
    unsigned first = func.getNumResults();
    terminator->setOperands(values);
    func.setFunctionType(b.getFunctionType(func.getArgumentTypes(), types));
    if (auto attrs = func.getResAttrsAttr()) {
      SmallVector<Attribute> list(attrs.getValue());
      list.resize(types.size(), b.getDictionaryAttr({}));
      func.setResAttrsAttr(b.getArrayAttr(list));
    }
    for (auto [i, name] : llvm::enumerate(names))
      func.setResultAttr(first + i, "graph.name", name);
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createProbeGroupsPass() { return std::make_unique<ProbeGroups>(); }
