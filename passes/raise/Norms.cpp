// Layer norm and RMS norm. A first pattern finds the normalised value, (x - mean) / sqrt(variance + eps), as a norm with
// scale one; two more absorb the product with a scale and the sum with a bias that follow.
#include "passes/raise/Match.h"
#include "passes/raise/Raise.h"

using namespace mlir;
using namespace graphc::graph;
using namespace graphc::raise;

namespace graphc {
namespace {

/// first, first + 1, … last dim of x: a norm's axes.
std::optional<int64_t> trailingAxis(llvm::ArrayRef<int64_t> axes, Value x) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != rank - int64_t(axes.size()) + int64_t(i))
      return std::nullopt;
  return axes.empty() ? std::nullopt : std::optional(axes[0]);
}

/// 1 / sqrt(t), in any spelling: t.
Value inverseRootOf(Value v) {
  v = peeled(v);
  auto rootOf = [](Value w) {
    auto sqrt = peeled(w).getDefiningOp<SqrtOp>();
    return sqrt ? sqrt.getX() : Value();
  };
  if (auto rsqrt = v.getDefiningOp<RsqrtOp>())
    return rsqrt.getX();
  if (auto reciprocal = v.getDefiningOp<ReciprocalOp>())
    return rootOf(reciprocal.getX());
  if (auto div = v.getDefiningOp<DivOp>(); div && isUniform(div.getLhs(), 1))
    return rootOf(div.getRhs());
  if (auto pow = v.getDefiningOp<PowOp>(); pow && isUniform(pow.getRhs(), -0.5))
    return pow.getLhs();
  return nullptr;
}

/// Something multiplied by 1 / sqrt(t), where t is seen as `inverse` (or `root`, when it is divided by sqrt(t)).
struct Normalised {
  Value dividend, t, seenAs, scale;
};

llvm::SmallVector<Normalised> normalisations(Operation *op) {
  llvm::SmallVector<Normalised> found;
  if (auto div = dyn_cast<DivOp>(op)) {
    if (auto sqrt = peeled(div.getRhs()).getDefiningOp<SqrtOp>())
      found.push_back({div.getLhs(), sqrt.getX(), div.getRhs(), {}});
    return found;
  }
  auto mul = dyn_cast<MulOp>(op);
  if (!mul)
    return found;
  for (auto [x, inverse] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())}) {
    if (Value t = inverseRootOf(inverse))
      found.push_back({x, t, inverse, {}});
    // x · (1/sqrt(t) · scale), as Flax and TensorFlow write it.
    if (auto inner = inverse.getDefiningOp<MulOp>())
      for (auto [root, scale] : {std::pair(inner.getLhs(), inner.getRhs()), std::pair(inner.getRhs(), inner.getLhs())})
        if (Value t = inverseRootOf(root))
          found.push_back({x, t, root, scale});
  }
  return found;
}

/// The variance of x: mean((x - mean)²), or max(0, mean(x²) - mean²), whose cancellation a layer norm avoids.
bool isVariance(Value v, Value x, Value deviation, llvm::ArrayRef<int64_t> axes) {
  v = peeled(v);
  auto over = [&](const std::optional<Statistic> &s) { return s && llvm::ArrayRef<int64_t>(s->axes) == axes; };
  if (auto mean = meanOf(v); over(mean) && squareRoot(mean->x) == deviation)
    return true;
  inEitherOrder<MaxOp>(v, [&](Value a, Value b) {
    bool bounded = isUniform(b, 0);
    v = bounded ? peeled(a) : v;
    return bounded;
  });
  auto sub = v.getDefiningOp<SubOp>();
  if (!sub)
    return false;
  auto meanOfSquares = meanOf(sub.getLhs());
  Value mean = squareRoot(sub.getRhs());
  auto inner = mean ? meanOf(mean) : std::nullopt;
  return over(meanOfSquares) && squareRoot(meanOfSquares->x) == x && over(inner) && inner->x == x;
}

/// Whether `v` may be a norm's scale or bias: it varies over the normalised dims only.
bool variesFromAxis(Value v, Value x, int64_t axis) {
  auto dims = dimsOf(v.getType()), sizes = dimsOf(x.getType());
  if (dims.size() > sizes.size() || cast<RankedTensorType>(v.getType()).getElementType() != cast<RankedTensorType>(x.getType()).getElementType())
    return false;
  int64_t missing = sizes.size() - dims.size();
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!isSize(dim, 1) && (missing + int64_t(i) < axis || dim != sizes[missing + i]))
      return false;
  return true;
}

Value one(PatternRewriter &rewriter, Location loc, Value x) {
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  return ConstantOp::create(rewriter, loc, DenseElementsAttr::get(RankedTensorType::get({}, element), rewriter.getFloatAttr(element, 1)));
}

template <typename Root>
struct RaiseNorm : OpRewritePattern<Root> {
  using OpRewritePattern<Root>::OpRewritePattern;
  LogicalResult matchAndRewrite(Root op, PatternRewriter &rewriter) const override {
    for (const Normalised &normalised : normalisations(op)) {
      auto shifted = plusConstant(peeled(normalised.t));
      if (shifted && (raiseLayerNorm(op, normalised, *shifted, rewriter) || raiseRMSNorm(op, normalised, *shifted, rewriter)))
        return success();
    }
    return rewriter.notifyMatchFailure(op, "not a value divided by sqrt(variance + epsilon)");
  }

  static bool raiseLayerNorm(Root op, const Normalised &normalised, std::pair<Value, double> shifted, PatternRewriter &rewriter) {
    auto sub = normalised.dividend.template getDefiningOp<SubOp>();
    auto mean = sub ? meanOf(sub.getRhs()) : std::nullopt;
    if (!mean || mean->x != sub.getLhs() || !alignsWith(sub.getRhs(), mean->x, mean->axes))
      return false;
    Value x = mean->x;
    auto axis = trailingAxis(mean->axes, x);
    if (!axis || !isVariance(shifted.first, x, sub, mean->axes) || !alignsWith(normalised.seenAs, x, mean->axes))
      return false;
    Value scale = normalised.scale ? normalised.scale : one(rewriter, op.getLoc(), x);
    if (x.getType() != op.getType() || !variesFromAxis(scale, x, *axis))
      return false;
    rewriter.replaceOpWithNewOp<LayerNormOp>(op, x, scale, Value(), static_cast<uint64_t>(*axis), llvm::APFloat(shifted.second));
    return true;
  }

  static bool raiseRMSNorm(Root op, const Normalised &normalised, std::pair<Value, double> shifted, PatternRewriter &rewriter) {
    Value x = normalised.dividend;
    auto mean = meanOf(shifted.first);
    if (!mean || squareRoot(mean->x) != x || !alignsWith(normalised.seenAs, x, mean->axes))
      return false;
    auto axis = trailingAxis(mean->axes, x);
    // x - mean is what a layer norm normalises; that pattern declined for a reason.
    if (!axis || x.getDefiningOp<SubOp>())
      return false;
    Value scale = normalised.scale ? normalised.scale : one(rewriter, op.getLoc(), x);
    if (x.getType() != op.getType() || !variesFromAxis(scale, x, *axis))
      return false;
    rewriter.replaceOpWithNewOp<RMSNormOp>(op, x, scale, static_cast<uint64_t>(*axis), llvm::APFloat(shifted.second));
    return true;
  }
};

bool hasUnitScale(LayerNormOp norm) { return !norm.getBias() && isUniform(norm.getScale(), 1); }
bool hasUnitScale(RMSNormOp norm) { return isUniform(norm.getScale(), 1); }

/// norm(x) · s, where the norm's own scale is one.
template <typename Norm>
struct AbsorbScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [value, scale] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto norm = value.template getDefiningOp<Norm>();
      if (!norm || !norm->hasOneUse() || !hasUnitScale(norm) || !variesFromAxis(scale, norm.getX(), norm.getAxis()) ||
          norm.getType() != op.getType())
        continue;
      rewriter.setInsertionPoint(op);
      auto scaled = cast<Norm>(rewriter.clone(*norm));
      scaled.getScaleMutable().assign(scale);
      rewriter.replaceOp(op, scaled.getResult());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not the product of a norm without scale and a scale");
  }
};

/// layer_norm(x) + b.
struct AbsorbBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [value, bias] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto norm = value.getDefiningOp<LayerNormOp>();
      if (!norm || !norm->hasOneUse() || norm.getBias() || !variesFromAxis(bias, norm.getX(), norm.getAxis()) ||
          norm.getType() != op.getType())
        continue;
      rewriter.replaceOpWithNewOp<LayerNormOp>(op, norm.getX(), norm.getScale(), bias, norm.getAxisAttr(), norm.getEpsilonAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not the sum of a layer norm without bias and a bias");
  }
};

} // namespace

void populateNormRaising(RewritePatternSet &patterns) {
  patterns.add<RaiseNorm<MulOp>, RaiseNorm<DivOp>, AbsorbScale<LayerNormOp>, AbsorbScale<RMSNormOp>, AbsorbBias>(patterns.getContext());
}

} // namespace graphc
