// Before: composites (softmax, layer_norm, attention, …) wherever the program or `raise` put them. After: only primitives
// and the composites that the target keeps whole. Not later, because `simplify` and `fuse` look at primitives; not
// earlier, because `differentiate` prefers the derivative of a composite to that of its formula.
//
//     %y = graph.softmax %x, 1          %m = graph.reduce max %x axes [1] keep
//                                 →     %e = graph.exp (%x - %m)
//                                       %y = graph.div %e, (graph.reduce sum %e axes [1] keep)
#include "passes/decompose/Decompose.h"

using namespace mlir;

namespace graphc {
namespace {

/// Formulas may use other composites (attention uses softmax): what they insert is decomposed in turn.
struct CompositesInserted : OpBuilder::Listener {
  llvm::SmallVector<graph::Composite> pending;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto composite = dyn_cast<graph::Composite>(op))
      pending.push_back(composite);
  }
};

class DecomposePass : public PassWrapper<DecomposePass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DecomposePass)
  explicit DecomposePass(KeepsWhole keepsWhole) : keepsWhole(std::move(keepsWhole)) {}
  DecomposePass(const DecomposePass &other) : PassWrapper(other), keepsWhole(other.keepsWhole) {}
  llvm::StringRef getArgument() const override { return "graphc-decompose"; }
  llvm::StringRef getDescription() const override { return "replace composites by their formulas"; }

  void runOnOperation() override {
    CompositesInserted worklist;
    getOperation()->walk([&](graph::Composite op) { worklist.pending.push_back(op); });
    while (!worklist.pending.empty()) {
      graph::Composite op = worklist.pending.pop_back_val();
      if (!isKept(op))
        replaceByFormula(op, worklist);
    }
  }

private:
  bool isKept(graph::Composite op) {
    return (keepsWhole && keepsWhole(op)) || llvm::is_contained(keep, op->getName().stripDialect());
  }

  static void replaceByFormula(graph::Composite op, CompositesInserted &worklist) {
    OpBuilder builder(op, &worklist);
    llvm::SmallVector<Value> values = op.decompose(builder);
    assert(values.size() == op->getNumResults() && "a formula gives one value per result");
    for (auto [value, result] : llvm::zip_equal(values, op->getResults())) {
      assert(value.getType() == result.getType() && "a formula has the type of the composite it replaces");
      result.replaceAllUsesWith(value);
    }
    op->erase();
  }

  KeepsWhole keepsWhole;
  ListOption<std::string> keep{*this, "keep", llvm::cl::desc("composites to keep whole, whatever the target says")};
};

} // namespace

std::unique_ptr<Pass> createDecomposePass(KeepsWhole keepsWhole) {
  return std::make_unique<DecomposePass>(std::move(keepsWhole));
}

} // namespace graphc
