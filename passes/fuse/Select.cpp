// graphc-select. Before: contractions as the importer left them. After: each carries `by = "library"` or `by = "kernel"`,
// so that `fuse` knows which epilogues are legal. An attribute already there (a tuner's, a user's) is kept. So does each op that a
// routine of the runtime executes elsewhere, where the target has none: `by = "kernel"`.
#include "passes/fuse/DirectConv.h"
#include "passes/fuse/Fuse.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

static bool libraryRuns(Operation *op, const TargetInfo &target) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = type.getElementType();
  if (!target.library)
    return false;
  if (!element.isF32() && !(target.bf16Products && element.isBF16()))
    return false;
  if (cast<RankedTensorType>(op->getOperand(1).getType()).getElementType() != element)
    return false;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return type.getRank() <= 6;
  return type.getRank() >= 3 && type.getRank() <= 5; // one to three spatial dims
}

/// A product in a loop's body that takes less time than a library call.
static bool isTinyStep(Operation *op) {
  constexpr int64_t kMaxTerms = 4096;
  auto matmul = dyn_cast<MatmulOp>(op);
  if (!matmul || !isa<WhileOp, ScanOp>(op->getParentOp()))
    return false;
  auto terms = constantSize(product(dimsOf(matmul.getType()), op->getContext()) * matmul.depth());
  return terms && *terms <= kMaxTerms;
}

namespace {
struct Select : PassWrapper<Select, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Select)
  explicit Select(TargetInfo target) : target(target) {}
  Select(const Select &other) : PassWrapper(other), target(other.target) {}
  StringRef getArgument() const final { return "graphc-select"; }
  StringRef getDescription() const final { return "decide for each contraction: library call or generated kernel"; }
  void runOnOperation() final {
    target.bf16Products |= bf16;
    SmallVector<ConvOp> direct;
    getOperation().walk([&](Contraction op) {
      auto conv = dyn_cast<ConvOp>(op.getOperation());
      if (auto by = op->getAttrOfType<StringAttr>("by")) {
        if (conv && by.getValue() == "kernel" && runsDirect(conv))
          direct.push_back(conv);
        return;
      }
      bool library = libraryRuns(op, target) && !isTinyStep(op);
      if (auto reason = conv && library ? directConvReason(conv, target) : std::nullopt) {
        library = false;
        direct.push_back(conv);
        remark::passed(op->getLoc(), remark::RemarkOpts::name("DirectConvolution").category("select")) << remark::reason("{0}", *reason);
      }
      op->setAttr("by", StringAttr::get(&getContext(), library ? "library" : "kernel"));
    });
    for (ConvOp conv : direct)
      prepareDirectConv(conv);
    // A composite that is still whole is one the target runs so.
    getOperation().walk([&](Composite op) { op->setAttr("by", StringAttr::get(&getContext(), target.library ? "library" : "kernel")); });
    if (!target.routines)
      getOperation().walk([&](RoutineOp op) { op->setAttr("by", StringAttr::get(&getContext(), "kernel")); });
  }
  TargetInfo target;
  Option<bool> bf16{*this, "bf16", llvm::cl::desc("the target has bf16 products, whatever its description says")};
};
} // namespace

std::unique_ptr<Pass> graphc::createSelectPass(TargetInfo target) { return std::make_unique<Select>(target); }
