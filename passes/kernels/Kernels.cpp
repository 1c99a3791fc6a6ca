// graphc-kernels. Before: graph.group ops, each one thing to run. After: kernel.func ops at module level, and in the function
// one plan op per group in the same order. Here, because below this point nothing knows what ops mean.
//
//     %1 = graph.group "loop" { … }   =>   kernel.func @main_3_softmax(…) { … }
//                                          %1 = plan.dispatch @main_3_softmax (%0) scalars <[n]> : …
//
// if, while and scan stay; their bodies hold plan ops in turn.
#include "passes/kernels/Kernels.h"
#include "passes/fuse/StridedView.h"
#include "passes/kernels/LibraryCalls.h"
#include "passes/kernels/LoopKernels.h"
#include "passes/kernels/RoutineKernels.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

namespace {

/// "main_12_softmax": function, number, and what the group ends in, as a C identifier.
std::string kernelName(func::FuncOp func, unsigned number, GroupOp group) {
  Operation *last = group.getBody().front().getTerminator()->getPrevNode();
  std::string name = func.getName().str() + "_" + std::to_string(number) + "_";
  // A reduction says more about a kernel than the op it ends in.
  StringRef what = last->getName().stripDialect();
  for (Operation &op : group.getBody().front())
    if (auto element = dyn_cast<ElementOp>(op); element && element.reduces())
      what = op.getName().stripDialect();
  name += what.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

/// Sizes that only the routine knows: symbols of the result types that appear in no operand and no function argument.
SmallVector<Attribute> decidedSizes(Operation *op, func::FuncOp func, Builder &b) {
  llvm::DenseSet<unsigned> known;
  auto addKnown = [&](Type type) {
    for (AffineExpr d : dimsOf(type))
      d.walk([&](AffineExpr e) {
        if (auto s = dyn_cast<AffineSymbolExpr>(e))
          known.insert(s.getPosition());
      });
  };
  for (Type t : func.getArgumentTypes())
    addKnown(t);
  for (Type t : op->getOperandTypes())
    addKnown(t);
  auto *dialect = op->getContext()->getOrLoadDialect<GraphDialect>();
  SmallVector<Attribute> decided;
  for (Type t : op->getResultTypes())
    for (AffineExpr d : dimsOf(t))
      d.walk([&](AffineExpr e) {
        if (auto s = dyn_cast<AffineSymbolExpr>(e); s && known.insert(s.getPosition()).second)
          decided.push_back(b.getStringAttr(dialect->symbolName(s.getPosition())));
      });
  return decided;
}

plan::RoutineCallOp buildRoutineCall(GroupOp group, func::FuncOp func, OpBuilder &b) {
  auto routine = cast<RoutineOp>(group.getBody().front().front());
  // The one routine that takes a host integer: how many.
  SmallVector<AffineExpr> exprs;
  if (auto topk = dyn_cast<TopKOp>(routine.getOperation()))
    exprs.push_back(dimsOf(topk.getValues().getType())[topk.getAxis()]);
  return plan::RoutineCallOp::create(b, group.getLoc(), routine->getResultTypes(), b.getStringAttr(routine.routineName()),
                                     routine->getOperands(), routine->getAttrDictionary(),
                                     DimsAttr::get(b.getContext(), exprs), b.getArrayAttr(decidedSizes(routine, func, b)),
                                     group->hasAttr("prepare") ? b.getUnitAttr() : UnitAttr());
}

struct Kernels : PassWrapper<Kernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Kernels)
  StringRef getArgument() const final { return "graphc-kernels"; }
  StringRef getDescription() const final { return "outline groups as kernels and plan commands"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<kernel::KernelDialect, plan::PlanDialect>();
  }
  void runOnOperation() final {
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : funcs)
      if (!func.isExternal() && failed(outline(func)))
        return signalPassFailure();
    shareKernels();
  }

  /// Layers of a network repeat: kernels that differ in their names alone become one.
  void shareKernels() {
    llvm::StringMap<kernel::FuncOp> byText;
    llvm::DenseMap<StringAttr, FlatSymbolRefAttr> replacement;
    SmallVector<kernel::FuncOp> repeated;
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      std::string text;
      llvm::raw_string_ostream os(text);
      StringAttr name = func.getSymNameAttr();
      ArrayAttr sources = func.getSourcesAttr();
      func.setSymName("k");
      func.removeSourcesAttr();
      func->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
      func.setSymNameAttr(name);
      if (sources)
        func.setSourcesAttr(sources);
      auto [it, first] = byText.try_emplace(text, func);
      if (first)
        continue;
      replacement[name] = FlatSymbolRefAttr::get(it->second.getSymNameAttr());
      repeated.push_back(func);
    }
    getOperation().walk([&](plan::DispatchOp op) {
      if (auto shared = replacement.lookup(op.getKernelAttr().getAttr()))
        op.setKernelAttr(shared);
    });
    for (kernel::FuncOp func : repeated)
      func.erase();
  }

  /// What a library call gives where it sums in chunks: one more dim in front, added up here in order of the chunks.
  Value sumOfChunks(plan::LibraryOp call, GroupOp group, func::FuncOp func, unsigned &number, OpBuilder &b) {
    Value parts = call.getResult();
    Type type = group.getResultTypes()[0];
    if (parts.getType() == type)
      return parts;
    if (isSize(dimsOf(parts.getType())[0], 1))
      return plan::ViewOp::create(b, group.getLoc(), type, parts, DimsAttr::get(&getContext(), {constantDim(0, &getContext())}),
                                  call.getPrepareAttr());
    auto sum = GroupOp::create(b, group.getLoc(), TypeRange{type}, b.getStringAttr("loop"));
    if (call.getPrepare())
      sum->setAttr("prepare", b.getUnitAttr());
    OpBuilder inner(b.getContext());
    inner.createBlock(&sum.getBody());
    Value total = graph::ReduceOp::create(inner, group.getLoc(), parts, "sum", ArrayRef<int64_t>{0});
    YieldOp::create(inner, group.getLoc(), total);
    auto dispatch = buildLoopKernel(sum, getOperation(), kernelName(func, number++, sum), b);
    sum.erase();
    return dispatch.getResults()[0];
  }

  static bool byKernel(Operation *op) {
    auto by = op->getAttrOfType<StringAttr>("by");
    return by && by.getValue() == "kernel";
  }

  LogicalResult outline(func::FuncOp func) {
    unsigned number = 0;
    SmallVector<AssumeEqualOp> checks;
    SmallVector<GroupOp> groups;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto check = dyn_cast<AssumeEqualOp>(op))
        checks.push_back(check);
      if (auto group = dyn_cast<GroupOp>(op))
        groups.push_back(group);
    });
    for (AssumeEqualOp check : checks) {
      OpBuilder b(check);
      plan::CheckOp::create(b, check.getLoc(), check.getSizes(), check.getMessage());
      check.erase();
    }
    for (GroupOp group : groups) {
      OpBuilder b(group);
      StringRef kind = group.getKind();
      SmallVector<Value> results;
      UnitAttr prepare = group->hasAttr("prepare") ? b.getUnitAttr() : UnitAttr();
      Operation &first = group.getBody().front().front();
      if (kind == "loop") {
        auto dispatch = buildLoopKernel(group, getOperation(), kernelName(func, number++, group), b);
        llvm::append_range(results, dispatch.getResults());
      } else if (kind == "library") {
        auto call = buildLibraryCall(group, b);
        if (failed(call))
          return failure();
        results.push_back(sumOfChunks(*call, group, func, number, b));
      } else if (kind == "routine") {
        // A routine's unused results are still computed: the group yields them all.
        Operation *routine = group.getBody().front().getTerminator()->getPrevNode();
        if (byKernel(routine) && !hasRoutineKernel(routine))
          routine->emitWarning() << routine->getName().stripDialect()
                                 << " has no kernel on this device: its operands come to the host, which computes it, and its results go back";
        if (byKernel(routine) && hasRoutineKernel(routine)) {
          auto dispatch = buildRoutineKernel(group, getOperation(), kernelName(func, number++, group), b);
          if (failed(dispatch))
            return failure();
          llvm::append_range(results, dispatch->getResults());
        } else {
          llvm::append_range(results, buildRoutineCall(group, func, b).getResults());
        }
      } else if (kind == "view") {
        results.push_back(plan::ViewOp::create(b, group.getLoc(), first.getResult(0).getType(), first.getOperand(0),
                                               DimsAttr::get(&getContext(), *contiguousOffset(&first)), prepare));
      } else if (kind == "concat") {
        auto concat = cast<graph::ConcatOp>(first);
        results.push_back(plan::ConcatOp::create(b, group.getLoc(), concat.getType(), concat.getInputs(), concat.getAxisAttr(), prepare));
      } else {
        return group.emitOpError() << "kind \"" << kind << "\" is none of loop, library, routine, view, concat";
      }
      group.replaceAllUsesWith(results);
      group.erase();
    }
    return success();
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createKernelsPass() { return std::make_unique<Kernels>(); }
