// Before: a contraction followed by scales and shifts per output channel (batch_norm, a constant mul or add). After: the
// scale is multiplied into the weight and all shifts are one add, by graph ops that depend on weights alone, so the plan
// runs them once in @prepare. Before `decompose`, because batch_norm is then still one op whose statistics are plain
// operands; an epilogue of one bias is what libraries and kernels absorb for free.
//
//     %c = graph.conv %x, %w              %f = graph.mul %scale, (rsqrt(%var + eps))
//     %a = graph.add %c, %b         →     %c = graph.conv %x, (%w * %f)
//     %y = graph.batch_norm %a, …         %y = graph.add %c, ((%b - %mean) * %f + %bias)
#include "ir/graph/TensorExpr.h"
#include "passes/simplify/Simplify.h"
#include "passes/simplify/Weights.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

//===-- what a scale can be folded into ------------------------------------------------------------------------------===//

/// A contraction with a weight of its own, perhaps with a bias already added.
struct BiasedContraction {
  Operation *op = nullptr;
  Value bias; // varies along the channels only; null when there is none
  int64_t channels = 0;
};

Value weightOf(Operation *contraction) { return contraction->getOperand(1); }

std::optional<int64_t> channelAxis(Operation *op) {
  int64_t last = cast<RankedTensorType>(op->getResult(0).getType()).getRank() - 1;
  if (auto conv = dyn_cast<ConvOp>(op))
    return conv.getChannelsLast() ? last : 1;
  if (auto conv = dyn_cast<ConvTransposeOp>(op))
    return conv.getChannelsLast() ? last : 1;
  return isa<MatmulOp>(op) ? std::optional(last) : std::nullopt;
}

/// The operand of a binary op that is a per-channel weight, when the other one has the type of the result.
Value channelOperand(Operation *binary, Value other, int64_t axis) {
  Value candidate = binary->getOperand(0) == other ? binary->getOperand(1) : binary->getOperand(0);
  auto type = cast<RankedTensorType>(other.getType());
  bool fits = other.getType() == binary->getResult(0).getType() && candidate != other &&
              variesOnlyAlong(candidate, axis, type.getRank()) && dependsOnWeightsOnly(candidate);
  return fits ? candidate : Value();
}

FailureOr<BiasedContraction> biasedContraction(Value v, Operation *user, PatternRewriter &rewriter) {
  auto refuse = [&](const Twine &reason) -> FailureOr<BiasedContraction> {
    return FailureOr<BiasedContraction>(rewriter.notifyMatchFailure(user, reason));
  };
  BiasedContraction found;
  Operation *op = v.getDefiningOp();
  if (auto add = dyn_cast_or_null<AddOp>(op)) {
    for (Value operand : add->getOperands())
      if (operand.getDefiningOp<Contraction>())
        op = operand.getDefiningOp();
    auto axis = channelAxis(op);
    found.bias = axis ? channelOperand(add, op->getResult(0), *axis) : Value();
    if (!found.bias || !v.hasOneUse())
      return refuse("operand is an add that is no bias of a contraction");
  }
  auto axis = op ? channelAxis(op) : std::nullopt;
  if (!axis)
    return refuse("operand is no contraction");
  if (!isFloat(op->getResult(0)) || !dependsOnWeightsOnly(weightOf(op)))
    return refuse("the contraction has no floating-point weight of its own");
  if (!op->getResult(0).hasOneUse()) {
    remark::missed(user->getLoc(), remark::RemarkOpts::name("FoldNorms").category("simplify"))
        << remark::reason("the result of {0} is used elsewhere without the scale", op->getName().getStringRef());
    return refuse("the contraction's result has other uses");
  }
  found.op = op;
  found.channels = *axis;
  return found;
}

//===-- folding ------------------------------------------------------------------------------------------------------===//

/// A per-channel value as a vector in the computation type.
TensorExpr asVector(TensorExpr v) {
  return v.computed().reshapedTo({product(v.dims(), v.ops().getContext())});
}

/// The weight with output channel m multiplied by factor[m], rounded once to the weight's type.
Value scaledWeight(Operation *op, TensorExpr factor) {
  TensorExpr weight = factor.with(weightOf(op)), w = weight.computed();
  auto sizes = w.dims();
  int64_t rank = w.rank();
  bool one = isSize(factor.dims()[0], 1);
  if (auto conv = dyn_cast<ConvTransposeOp>(op); conv && !one) {
    // [C, M/g, …] holds the channels of group g in its rows: view it as [g, C/g, M/g, …].
    int64_t groups = conv.getGroups();
    SmallVector<AffineExpr> grouped = {constantDim(groups, op->getContext()), simplify(sizes[0].floorDiv(groups))};
    grouped.append(sizes.begin() + 1, sizes.end());
    SmallVector<AffineExpr> factors(rank + 1, constantDim(1, op->getContext()));
    factors[0] = grouped[0];
    factors[2] = sizes[1];
    w = (w.reshapedTo(grouped) * factor.reshapedTo(factors)).reshapedTo(sizes);
  } else if (auto matmul = dyn_cast<MatmulOp>(op)) {
    w = w * factor.alongAxis(matmul.getTransposeRhs() ? rank - 2 : rank - 1, rank);
  } else {
    w = w * factor.alongAxis(0, rank);
  }
  return w.castTo(weight.elementType()).get();
}

/// Replaces `root` by contraction * factor + shift; both vectors in the computation type, either may be absent.
void replaceByContraction(PatternRewriter &rewriter, Operation *root, const BiasedContraction &from,
                          std::optional<TensorExpr> factor, std::optional<TensorExpr> shift) {
  Location loc = rewriter.getFusedLoc({from.op->getLoc(), root->getLoc()});
  Operation *contraction = rewriter.clone(*from.op);
  contraction->setLoc(loc);
  if (factor) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(contraction);
    Value weight = scaledWeight(from.op, *factor);
    rewriter.modifyOpInPlace(contraction, [&] { contraction->setOperand(1, weight); });
  }
  TensorExpr y(rewriter, loc, contraction->getResult(0));
  if (shift)
    y = y + shift->castTo(y.elementType()).alongAxis(from.channels, y.rank());
  rewriter.replaceOp(root, y.get());
}

struct FoldBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormOp op, PatternRewriter &rewriter) const override {
    for (Value v : {op.getScale(), op.getBias(), op.getMean(), op.getVariance()})
      if (!dependsOnWeightsOnly(v))
        return rewriter.notifyMatchFailure(op, "statistics are computed at run time");
    auto from = biasedContraction(op.getX(), op, rewriter);
    if (failed(from))
      return failure();
    int64_t rank = op.getX().getType().getRank();
    if (from->channels != (op.getChannelsLast() ? rank - 1 : 1))
      return rewriter.notifyMatchFailure(op, "normalises another dim than the contraction's output channels");

    TensorExpr x(rewriter, op.getLoc(), op.getX());
    auto vector = [&](Value v) { return asVector(x.with(v)); };
    TensorExpr factor = vector(op.getScale()) * rsqrt(vector(op.getVariance()) + op.getEpsilon().convertToDouble());
    TensorExpr shift = from->bias ? vector(op.getBias()) + (vector(from->bias) - vector(op.getMean())) * factor
                                  : vector(op.getBias()) - vector(op.getMean()) * factor;
    replaceByContraction(rewriter, op, *from, factor, shift);
    return success();
  }
};

/// mul or div by a per-channel weight.
template <typename Op>
struct FoldScale : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool divides = std::is_same_v<Op, DivOp>;
    for (Value operand : op->getOperands()) {
      if (dependsOnWeightsOnly(operand) || (divides && operand != op->getOperand(0)))
        continue;
      auto from = biasedContraction(operand, op, rewriter);
      if (failed(from))
        return failure();
      Value scale = channelOperand(op, operand, from->channels);
      if (!scale)
        return rewriter.notifyMatchFailure(op, "the other operand is no weight per output channel");
      TensorExpr factor = asVector(TensorExpr(rewriter, op.getLoc(), scale));
      if (divides)
        factor = factor.constant(1) / factor;
      std::optional<TensorExpr> shift;
      if (from->bias)
        shift = asVector(factor.with(from->bias)) * factor;
      replaceByContraction(rewriter, op, *from, factor, shift);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "both operands are weights");
  }
};

/// A second add or sub after a contraction's bias.
template <typename Op>
struct FoldShift : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool subtracts = std::is_same_v<Op, SubOp>;
    for (Value operand : op->getOperands()) {
      if (dependsOnWeightsOnly(operand) || (subtracts && operand != op->getOperand(0)))
        continue;
      auto from = biasedContraction(operand, op, rewriter);
      if (failed(from))
        return failure();
      Value given = channelOperand(op, operand, from->channels);
      if (!given)
        return rewriter.notifyMatchFailure(op, "the other operand is no weight per output channel");
      if (!from->bias && !subtracts)
        return rewriter.notifyMatchFailure(op, "is the only bias already");
      TensorExpr shift = asVector(TensorExpr(rewriter, op.getLoc(), given));
      if (subtracts)
        shift = shift.with(NegOp::create(rewriter, op.getLoc(), shift.get()));
      if (from->bias)
        shift = asVector(shift.with(from->bias)) + shift;
      replaceByContraction(rewriter, op, *from, std::nullopt, shift);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "both operands are weights");
  }
};

class FoldNormsPass : public PassWrapper<FoldNormsPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldNormsPass)
  llvm::StringRef getArgument() const override { return "graphc-fold-norms"; }
  llvm::StringRef getDescription() const override {
    return "scales and shifts into the weights before them, zero padding into convolutions and pools";
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFoldNormsPatterns(patterns);
    populateMergePadsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void populateFoldNormsPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldBatchNorm, FoldScale<MulOp>, FoldScale<DivOp>, FoldShift<AddOp>, FoldShift<SubOp>>(
      patterns.getContext());
}

std::unique_ptr<Pass> createFoldNormsPass() { return std::make_unique<FoldNormsPass>(); }

} // namespace graphc
