// Folders and canonical patterns. They keep IEEE meaning: x*0, x-x and x+0 are not folded.
#include "ir/graph/Graph.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace graphc::graph;


OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
void ConstantOp::build(OpBuilder &, OperationState &state, DenseElementsAttr value) {
  state.getOrAddProperties<Properties>().value = value;
  state.addTypes(value.getType());
}

OpFoldResult CastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? OpFoldResult(getX()) : nullptr; }

OpFoldResult SizeOp::fold(FoldAdaptor) {
  SmallVector<int64_t> values;
  for (AffineExpr d : getSizes().getDims()) {
    auto c = constantSize(d);
    if (!c)
      return nullptr;
    values.push_back(*c);
  }
  return DenseElementsAttr::get(cast<RankedTensorType>(getType()), ArrayRef<int64_t>(values));
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX());
  auto type = cast<RankedTensorType>(getType());
  if (value && type.hasStaticShape())
    return value.reshape(type);
  return nullptr;
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? OpFoldResult(getX()) : nullptr; }
OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getX().getType() == getType() && llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  return whole ? OpFoldResult(getX()) : nullptr;
}
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 && getInputs()[0].getType() == getType() ? OpFoldResult(getInputs()[0]) : nullptr;
}
OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  bool identity = true;
  for (auto [i, p] : llvm::enumerate(getPerm()))
    identity &= (int64_t)i == p;
  if (identity && getX().getType() == getType())
    return getX();
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX());
  if (value && value.isSplat() && cast<RankedTensorType>(getType()).hasStaticShape())
    return value.resizeSplat(cast<ShapedType>(getType()));
  return nullptr;
}

namespace {
struct ReshapeOfReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a reshape");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX());
    return success();
  }
};
struct TransposeOfTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a transpose");
    SmallVector<int64_t> perm;
    for (int64_t p : op.getPerm())
      perm.push_back(inner.getPerm()[p]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getX(), perm);
    return success();
  }
};
/// A transpose that only moves dims of size 1 is a reshape: free.
struct TransposeOfOnes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto dims = dimsOf(op.getX().getType());
    int64_t previous = -1;
    for (int64_t p : op.getPerm()) {
      if (isSize(dims[p], 1))
        continue;
      if (p < previous)
        return rewriter.notifyMatchFailure(op, "dims larger than 1 change order");
      previous = p;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};
/// Derivatives are taken by then (passes/differentiate): nothing reads the mark any more.
struct DropStopGradient : OpRewritePattern<StopGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(StopGradientOp op, PatternRewriter &rewriter) const override {
    auto func = op->getParentOfType<FunctionOpInterface>();
    if (func && func->hasAttr("graph.gradient_of"))
      return rewriter.notifyMatchFailure(op, "the function is yet to be differentiated");
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};
} // namespace

void StopGradientOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<DropStopGradient>(ctx);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<ReshapeOfReshape>(ctx);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<TransposeOfTranspose, TransposeOfOnes>(ctx);
}
