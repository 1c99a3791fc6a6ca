// Before: an op whose operands are all small literals. After: its result as a literal, computed by the op's own element
// formula, so that every op folds and none needs a folder. Larger tensors are weights: the plan computes those once, in
// @prepare, with the ordinary kernels.
//
//     %s = graph.mul %two, %three      →      %s = graph.constant dense<6.0>
#include "passes/simplify/LiteralBuilder.h"
#include "passes/simplify/Patterns.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

constexpr int64_t maxElements = 1024, maxLoads = 1 << 16;

/// Ops that give equal elements for equal elements.
bool keepsSplats(Operation *op) { return isa<Elementwise, BroadcastOp, TransposeOp, SliceOp, ReshapeOp>(op); }

struct FoldLiterals : OpInterfaceRewritePattern<ElementOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementOp op, PatternRewriter &rewriter) const override {
    auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
    if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
      return rewriter.notifyMatchFailure(op, "has no result of known size");
    LiteralBuilder builder(op->getContext(), maxLoads);
    bool allSplat = true;
    for (Value v : op->getOperands()) {
      auto constant = v.getDefiningOp<ConstantOp>();
      auto literal = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
      if (!literal || literal.empty())
        return rewriter.notifyMatchFailure(op, "an operand is no literal");
      allSplat &= literal.isSplat();
      if (!literal.isSplat() && literal.getNumElements() > maxElements)
        return rewriter.notifyMatchFailure(op, "an operand is larger than what is folded");
      builder.setOperand(v, literal);
    }
    bool splat = allSplat && keepsSplats(op) && op->getNumOperands() > 0;
    int64_t count = splat ? 1 : type.getNumElements();
    if (count > maxElements)
      return rewriter.notifyMatchFailure(op, "the result is larger than what is folded");
    SmallVector<Attribute> values;
    SmallVector<int64_t> index(type.getRank(), 0);
    for (int64_t i = 0; i < count; ++i) {
      auto value = builder.element(op, index, type.getElementType());
      if (!value)
        return rewriter.notifyMatchFailure(op, "is left to run time: too large, or not defined for these values");
      values.push_back(toAttribute(*value, type.getElementType()));
      for (int64_t d = type.getRank() - 1; d >= 0 && ++index[d] == type.getDimSize(d); --d)
        index[d] = 0;
    }
    rewriter.replaceOpWithNewOp<ConstantOp>(op, DenseElementsAttr::get(type, values));
    return success();
  }
};

} // namespace

void populateFoldConstantsPatterns(RewritePatternSet &patterns) { patterns.add<FoldLiterals>(patterns.getContext()); }

} // namespace graphc
