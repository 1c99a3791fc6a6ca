// Elementwise identities that hold for every value, NaN, infinities and -0 included: what IEEE does not promise (x*0, x-x,
// x+0) is not here. A result that an identity would give another shape is left alone.
//
//     pow(x, 2) → x * x      x / 4 → x * 0.25      max(x, 0) → relu(x)      cast(cast(x : f16 → f32) → f64) → cast(x → f64)
#include "passes/simplify/Patterns.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

Type elementOf(Operation *op) { return elementTypeOf(op->getResult(0)); }

Value scalarConstant(PatternRewriter &rewriter, Location loc, Type element, double value) {
  Attribute attr = isa<FloatType>(element) ? Attribute(rewriter.getFloatAttr(element, value))
                                           : Attribute(rewriter.getIntegerAttr(element, (int64_t)value));
  return ConstantOp::create(rewriter, loc, DenseElementsAttr::get(RankedTensorType::get({}, element), attr));
}

/// Whether an element type holds every value of another.
bool holdsAll(Type wide, Type narrow) {
  if (wide == narrow)
    return true;
  auto floatDigits = [](Type t) { return APFloat::semanticsPrecision(cast<FloatType>(t).getFloatSemantics()); };
  auto floatExponent = [](Type t) { return APFloat::semanticsMaxExponent(cast<FloatType>(t).getFloatSemantics()); };
  if (isa<FloatType>(wide) && isa<FloatType>(narrow))
    return floatDigits(wide) >= floatDigits(narrow) && floatExponent(wide) >= floatExponent(narrow);
  if (isa<FloatType>(narrow))
    return false;
  unsigned bits = narrow.getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(narrow) && bits > 1;
  if (isa<FloatType>(wide))
    return bits - isSigned <= floatDigits(wide);
  unsigned wideBits = wide.getIntOrFloatBitWidth();
  bool wideSigned = !isUnsigned(wide) && wideBits > 1;
  return wideSigned ? bits + !isSigned <= wideBits : !isSigned && bits <= wideBits;
}

struct CastOfCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<CastOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a cast");
    Type from = elementTypeOf(inner.getX()), middle = elementTypeOf(op.getX()), to = elementOf(op);
    if (!holdsAll(middle, from))
      return rewriter.notifyMatchFailure(op, "the first cast loses something");
    // A float saturates on its way to an integer, an integer wraps.
    bool kindsDiffer = isa<FloatType>(middle) && isa<IntegerType>(from) && isa<IntegerType>(to) && !to.isInteger(1);
    if (kindsDiffer && !holdsAll(to, from))
      return rewriter.notifyMatchFailure(op, "saturates where a direct cast would wrap");
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), inner.getX());
    return success();
  }
};

/// op(op(x)) is x.
template <typename Op>
struct Involution : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().template getDefiningOp<Op>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not the same op");
    rewriter.replaceOp(op, inner.getX());
    return success();
  }
};

/// Never negative and never -0 (NaN is allowed).
bool isPositiveOrZero(Value v, unsigned depth = 6) {
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto operandsAre = [&] {
    return llvm::all_of(op->getOperands(), [&](Value o) { return isPositiveOrZero(o, depth - 1); });
  };
  if (isa<AbsOp, ExpOp, ReluOp, SigmoidOp>(op))
    return true;
  if (auto mul = dyn_cast<MulOp>(op); mul && mul.getLhs() == mul.getRhs())
    return true;
  if (isa<MulOp, AddOp, DivOp, MaxOp, SqrtOp, RsqrtOp, ReshapeOp, BroadcastOp, TransposeOp, SliceOp, CastOp>(op))
    return operandsAre();
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() != "prod" && operandsAre();
  if (isa<SizeOp>(op))
    return true;
  auto number = splatNumber(v);
  return number && *number >= 0 && !std::signbit(*number);
}

struct PowByConstant : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    auto exponent = splatNumber(op.getRhs());
    Value x = op.getLhs();
    if (!exponent || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "exponent is no constant, or widens the shape");
    Location loc = op.getLoc();
    bool isReal = isFloat(x);
    if (*exponent == 1) {
      rewriter.replaceOp(op, x);
    } else if (*exponent == 2) {
      rewriter.replaceOpWithNewOp<MulOp>(op, x, x);
    } else if (*exponent == 3) {
      Value square = MulOp::create(rewriter, loc, x, x);
      rewriter.replaceOpWithNewOp<MulOp>(op, square, x);
    } else if (*exponent == -1 && isReal) {
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, x);
    } else if (*exponent == 0.5 && isReal && isPositiveOrZero(x)) {
      // Elsewhere pow(-inf, 0.5) is inf and pow(-0, 0.5) is 0; sqrt disagrees.
      rewriter.replaceOpWithNewOp<SqrtOp>(op, x);
    } else if (*exponent == -0.5 && isReal && isPositiveOrZero(x)) {
      rewriter.replaceOpWithNewOp<RsqrtOp>(op, x);
    } else {
      return rewriter.notifyMatchFailure(op, "no cheaper form is exact for this exponent");
    }
    return success();
  }
};

/// x / c for a power of two c: multiplying by 1 / c rounds the same.
struct DivByPowerOfTwo : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    auto divisor = splatNumber(op.getRhs());
    if (!divisor || !isFloat(op.getRhs()) || op.getLhs().getType() != op.getType() || *divisor == 1)
      return rewriter.notifyMatchFailure(op, "divisor is no float constant");
    int exponent;
    // Within ±14 also f16 holds both the divisor and its reciprocal as normal numbers.
    if (std::fabs(std::frexp(*divisor, &exponent)) != 0.5 || exponent < -13 || exponent > 14)
      return rewriter.notifyMatchFailure(op, "divisor is no moderate power of two");
    Value factor = scalarConstant(rewriter, op.getLoc(), elementOf(op), 1 / *divisor);
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), factor);
    return success();
  }
};

/// x * 1, x / 1, x - 0, x + (-0), and integers' x + 0.
template <typename Op>
struct NeutralConstant : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  static bool isNeutral(double c, bool isReal) {
    if (std::is_same_v<Op, MulOp> || std::is_same_v<Op, DivOp>)
      return c == 1;
    bool negative = std::signbit(c);
    return c == 0 && (!isReal || negative == std::is_same_v<Op, AddOp>);
  }
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool commutes = std::is_same_v<Op, MulOp> || std::is_same_v<Op, AddOp>;
    for (unsigned i = 0; i < (commutes ? 2 : 1); ++i) {
      Value x = op->getOperand(i);
      auto c = splatNumber(op->getOperand(1 - i));
      if (c && x.getType() == op.getType() && isNeutral(*c, isFloat(x))) {
        rewriter.replaceOp(op, x);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(op, "no operand is a constant that changes nothing");
  }
};

/// max(x, c) and min(x, c) of floats become clamp, which libraries take as an epilogue; max(x, 0) becomes relu.
template <typename Op>
struct ExtremeToClamp : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool isMax = std::is_same_v<Op, MaxOp>;
    if (!isFloat(op.getResult()))
      return rewriter.notifyMatchFailure(op, "clamp is for floats");
    for (unsigned i = 0; i < 2; ++i) {
      Value x = op->getOperand(i);
      auto c = splatNumber(op->getOperand(1 - i));
      if (!c || std::isnan(*c) || x.getType() != op.getType())
        continue;
      if (isMax && *c == 0 && !std::signbit(*c))
        rewriter.replaceOpWithNewOp<ReluOp>(op, x);
      else
        rewriter.replaceOpWithNewOp<ClampOp>(op, op.getType(), x, rewriter.getF64FloatAttr(isMax ? *c : -INFINITY),
                                             rewriter.getF64FloatAttr(isMax ? INFINITY : *c));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand is a constant");
  }
};

/// clamp(clamp(x, a, inf), -inf, b) is clamp(x, a, b): the maximum is taken first either way.
struct ClampOfClamp : OpRewritePattern<ClampOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ClampOp op, PatternRewriter &rewriter) const override {
    double low = op.getAlpha().convertToDouble(), high = op.getBeta().convertToDouble();
    if (low == 0 && !std::signbit(low) && high == INFINITY) {
      rewriter.replaceOpWithNewOp<ReluOp>(op, op.getX());
      return success();
    }
    double innerLow, innerHigh;
    Value x;
    if (auto inner = op.getX().getDefiningOp<ClampOp>()) {
      innerLow = inner.getAlpha().convertToDouble(), innerHigh = inner.getBeta().convertToDouble(), x = inner.getX();
    } else if (auto relu = op.getX().getDefiningOp<ReluOp>()) {
      innerLow = 0, innerHigh = INFINITY, x = relu.getX();
    } else {
      return rewriter.notifyMatchFailure(op, "operand is no clamp");
    }
    if (low != -INFINITY || std::isnan(innerHigh) || std::isnan(high))
      return rewriter.notifyMatchFailure(op, "both clamps have a lower bound");
    rewriter.replaceOpWithNewOp<ClampOp>(op, op.getType(), x, rewriter.getF64FloatAttr(innerLow),
                                         rewriter.getF64FloatAttr(std::min(innerHigh, high)));
    return success();
  }
};

struct SelectByConstant : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    auto condition = splatNumber(op.getCondition());
    if (!condition)
      return rewriter.notifyMatchFailure(op, "condition is not the same everywhere");
    Value chosen = *condition != 0 ? op.getLhs() : op.getRhs();
    if (chosen.getType() != op.getType())
      chosen = BroadcastOp::create(rewriter, op.getLoc(), op.getType(), chosen);
    rewriter.replaceOp(op, chosen);
    return success();
  }
};

} // namespace

void populateArithmeticPatterns(RewritePatternSet &patterns) {
  patterns.add<CastOfCast, Involution<NegOp>, Involution<NotOp>, Involution<BitwiseNotOp>, PowByConstant, DivByPowerOfTwo,
               NeutralConstant<MulOp>, NeutralConstant<DivOp>, NeutralConstant<AddOp>, NeutralConstant<SubOp>,
               ExtremeToClamp<MaxOp>, ExtremeToClamp<MinOp>, ClampOfClamp, SelectByConstant>(patterns.getContext());
}

} // namespace graphc
