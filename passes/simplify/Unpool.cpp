// A gradient that was put back where a pool's maxima are, and is then masked by the pooled values themselves, is masked
// before: on one value a window instead of all of them. What is masked away is 0 either way, and the value at a maximum's place is
// the maximum. Afterwards nothing in the backward pass reads what was pooled.
//
// And what is put back somewhere in each image need not be put back to be added up: a bias's gradient reads one value a window.
//
//     select(x <= 0, 0, max_unpool(g, max_pool_index(x)))   →   max_unpool(select(max_pool(x) <= 0, 0, g), max_pool_index(x))
//     reduce "sum" (max_unpool(g, …)) axes [0, 2, 3]           →   reduce "sum" g axes [0, 2, 3]
#include "ir/graph/Pooling.h"
#include "passes/simplify/Patterns.h"
#include "passes/simplify/Weights.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

bool isZero(Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return splat && isa<FloatType>(splat.getElementType()) && splat.getSplatValue<APFloat>().isPosZero();
}

/// A number, in any rank.
bool isOneNumber(Value v) {
  return v.getDefiningOp<ConstantOp>() && llvm::all_of(dimsOf(v.getType()), [](AffineExpr d) { return isSize(d, 1); });
}

/// The maxima of the windows whose places `index` says, where the program computes them.
MaxPoolOp maximaOf(MaxPoolIndexOp index) {
  for (Operation *user : index.getX().getUsers())
    if (auto pool = dyn_cast<MaxPoolOp>(user); pool && numbersMaximaOf(index, pool))
      return pool;
  return {};
}

struct MaskBeforeUnpool : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    for (unsigned zero : {1u, 2u}) {
      unsigned other = 3 - zero;
      auto unpool = op->getOperand(other).getDefiningOp<MaxUnpoolOp>();
      auto index = unpool ? unpool.getIndices().getDefiningOp<MaxPoolIndexOp>() : MaxPoolIndexOp();
      Operation *condition = op->getOperand(0).getDefiningOp();
      if (!index || !unpool->hasOneUse() || !isZero(op->getOperand(zero)) || !isa_and_nonnull<Elementwise>(condition))
        continue;
      Value x = index.getX();
      bool ofX = llvm::is_contained(condition->getOperands(), x) &&
                 llvm::all_of(condition->getOperands(), [&](Value v) { return v == x || isOneNumber(v); });
      MaxPoolOp pool = maximaOf(index);
      if (!ofX || !pool || op.getType() != unpool.getType())
        continue;
      // The maxima must be there where the gradient is used.
      if (pool->getBlock() != op->getBlock() || !pool->isBeforeInBlock(op))
        continue;
      IRMapping map;
      map.map(x, pool.getResult());
      Operation *masked = rewriter.clone(*condition, map);
      masked->getResult(0).setType(withElementType(pool.getType(), elementTypeOf(op->getOperand(0))));
      SmallVector<Value> operands(3);
      operands[0] = masked->getResult(0);
      operands[zero] = op->getOperand(zero);
      operands[other] = unpool.getX();
      Value gradient = SelectOp::create(rewriter, op.getLoc(), unpool.getX().getType(), operands);
      Operation *back = rewriter.clone(*unpool);
      back->setOperand(0, gradient);
      rewriter.replaceOp(op, back->getResults());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "masks no maxima that were put back");
  }
};

/// Whether each window has a place inside the image, where its value went.
bool keepsAll(MaxUnpoolOp op) {
  if (!op.getIndices().getDefiningOp<MaxPoolIndexOp>())
    return false;
  auto wide = dimsOf(op.getType()), narrow = dimsOf(op.getX().getType());
  unsigned first = op.getChannelsLast() ? 1 : 2;
  for (unsigned s = 0; s < op.getWindow().size(); ++s) {
    auto size = constantSize(wide[first + s]), count = constantSize(narrow[first + s]);
    if (op.getPadsLow()[s] || !size || !count || (*count - 1) * op.getStrides()[s] >= *size)
      return false;
  }
  return true;
}

struct SumOfUnpool : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto unpool = op.getX().getDefiningOp<MaxUnpoolOp>();
    if (!unpool || op.getKind() != "sum" || !keepsAll(unpool))
      return rewriter.notifyMatchFailure(op, "adds up no values that were put back");
    unsigned first = unpool.getChannelsLast() ? 1 : 2;
    for (unsigned s = 0; s < unpool.getWindow().size(); ++s)
      if (!llvm::is_contained(op.getAxes(), int64_t(first + s)))
        return rewriter.notifyMatchFailure(op, "keeps a dim along which values were put back");
    rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(unpool.getX()); });
    return success();
  }
};

} // namespace

void populateUnpoolPatterns(RewritePatternSet &patterns) { patterns.add<MaskBeforeUnpool, SumOfUnpool>(patterns.getContext()); }

} // namespace graphc
