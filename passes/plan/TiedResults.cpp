// graphc-tied-results. Before: plan commands on values, and results of the function tied to arguments (`graph.updates` = the
// argument's number: parameters, optimiser and random state, running statistics). After: what only computes tied results
// stands at the end, so that a call that fails earlier has changed nothing, and binding a tied output to its argument's own
// memory is right. Before `place-buffers`, which then computes most of them there without a copy.
//
//     %1 = plan.dispatch @step (%w, %g)                 %2 = plan.dispatch @loss (%x, %w)
//     %2 = plan.dispatch @loss (%x, %w)          →      %1 = plan.dispatch @step (%w, %g)
//     return %2, %1 (graph.updates = 1)                 return %2, %1
#include "passes/plan/PlaceBuffers.h"

using namespace mlir;
using namespace graphc;

namespace {

struct TiedResults : PassWrapper<TiedResults, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TiedResults)
  StringRef getArgument() const final { return "graphc-tied-results"; }
  StringRef getDescription() const final { return "compute updates of arguments last"; }

  void runOnOperation() final {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    llvm::DenseSet<Value> arguments;
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto tied = func.getResultAttrOfType<IntegerAttr>(i, kUpdates)) {
        if (failed(check(func, i, tied.getInt(), arguments)))
          return signalPassFailure();
      }
    if (arguments.empty())
      return;
    copyReturnedArguments(func, arguments);
    sink(func);
  }

private:
  static LogicalResult check(func::FuncOp func, unsigned result, int64_t argument, llvm::DenseSet<Value> &arguments) {
    if (argument < 0 || argument >= func.getNumArguments())
      return func.emitError() << "result " << result << " updates argument " << argument << ", but there are "
                              << func.getNumArguments();
    if (func.getArgumentTypes()[argument] != func.getResultTypes()[result])
      return func.emitError() << "result " << result << " of type " << func.getResultTypes()[result] << " updates argument "
                              << argument << " of type " << func.getArgumentTypes()[argument];
    if (!arguments.insert(func.getArgument(argument)).second)
      return func.emitError() << "argument " << argument << " is updated by two results";
    return success();
  }

  /// An argument (or a view of one) that is returned as it came, while an update may overwrite it: returned from a copy.
  static void copyReturnedArguments(func::FuncOp func, const llvm::DenseSet<Value> &arguments) {
    Operation *terminator = func.getBody().front().getTerminator();
    OpBuilder b(terminator);
    for (OpOperand &returned : terminator->getOpOperands()) {
      Value root = memoryRoot(returned.get());
      auto tied = func.getResultAttrOfType<IntegerAttr>(returned.getOperandNumber(), kUpdates);
      bool itself = tied && root == func.getArgument(tied.getInt());
      if (!arguments.contains(root) || itself)
        continue;
      returned.set(copyOf(b, terminator->getLoc(), returned.get()));
    }
  }

  /// Moves to the end what nobody reads but tied results and others that move.
  static void sink(func::FuncOp func) {
    Block &block = func.getBody().front();
    Operation *terminator = block.getTerminator();
    llvm::DenseSet<Operation *> moving;
    SmallVector<Operation *> order;
    for (Operation &op : llvm::reverse(block.without_terminator())) {
      if (!isa<plan::PlanDialect>(op.getDialect()) || op.hasAttr("prepare") || op.getNumResults() == 0 || op.use_empty())
        continue;
      bool late = llvm::all_of(op.getUses(), [&](OpOperand &use) {
        return use.getOwner() == terminator ? bool(func.getResultAttr(use.getOperandNumber(), kUpdates))
                                            : moving.contains(use.getOwner());
      });
      // Only the last step: moving a gradient would keep alive all that it is computed from.
      bool last = llvm::any_of(op.getUsers(), [&](Operation *user) { return user == terminator || isa<plan::ViewOp>(user); });
      if (late && last) {
        moving.insert(&op);
        order.push_back(&op);
      }
    }
    for (Operation *op : llvm::reverse(order))
      op->moveBefore(terminator);
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createTiedResultsPass() { return std::make_unique<TiedResults>(); }
