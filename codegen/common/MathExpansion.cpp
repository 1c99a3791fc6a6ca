// The formulas. Each is written for one scalar; targets run it at any width. Accuracy (ulp against double over dense
// sweeps, test/unit/codegen/MathTest.cpp): exp 1, expm1 2, log 1, log1p 2, tanh 3, erf 6, sin and cos 2. NaN, infinities,
// denormals and the sign of zero come out as in the C library; nothing here divides where a multiplication will do.
#include "codegen/common/MathExpansion.h"

#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;

namespace {


/// Writes expressions at one place.
struct Writer {
  OpBuilder &b;
  Location loc;

  Value f(float x) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(x)); }
  Value d(double x) { return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(x)); }
  Value i(int32_t x) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(x)); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value addi(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subi(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value andi(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value xori(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  Value shl(Value x, int32_t n) { return arith::ShLIOp::create(b, loc, x, i(n)); }
  Value sar(Value x, int32_t n) { return arith::ShRSIOp::create(b, loc, x, i(n)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, b.getF32Type(), x); }
  Value cmp(arith::CmpFPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, loc, p, x, y); }
  Value lt(Value x, Value y) { return cmp(arith::CmpFPredicate::OLT, x, y); }
  Value gt(Value x, Value y) { return cmp(arith::CmpFPredicate::OGT, x, y); }
  Value eq(Value x, Value y) { return cmp(arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
  /// Keeps NaN: the comparison is false, and x stands in the arm that is then taken.
  Value clamp(Value x, float low, float high) {
    x = select(gt(x, f(high)), f(high), x);
    return select(lt(x, f(low)), f(low), x);
  }
  Value copysign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }

  /// c[0] x^n + … + c[n].
  Value polynomial(Value x, ArrayRef<float> c) {
    Value sum = f(c[0]);
    for (float next : c.drop_front())
      sum = fma(sum, x, f(next));
    return sum;
  }

  /// x rounded to the nearest integer, |x| < 2^22: as a float and as an integer, without a conversion.
  std::pair<Value, Value> round(Value x) {
    constexpr float magic = 12582912.0f; // 1.5 * 2^23
    Value shifted = add(x, f(magic));
    return {sub(shifted, f(magic)), subi(bits(shifted), i(0x4B400000))};
  }

  /// 2^n * x for n in [-250, 250], exact through denormals: two halves.
  Value scale(Value x, Value n) {
    Value half = sar(n, 1);
    Value rest = subi(n, half);
    x = mul(x, fromBits(shl(addi(half, i(127)), 23)));
    return mul(x, fromBits(shl(addi(rest, i(127)), 23)));
  }

  /// exp(r) - 1 for |r| <= ln2 / 2.
  Value expReduced(Value r) {
    Value p = polynomial(r, {1.98757e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
    return fma(mul(r, r), p, r);
  }

  /// x = n ln2 + r.
  std::pair<Value, Value> reduceByLn2(Value x) {
    auto [n, integer] = round(mul(x, f(1.44269504088896341f)));
    Value r = fma(n, f(-0.693359375f), x);
    r = fma(n, f(2.12194440e-4f), r);
    return {r, integer};
  }

  Value exp(Value x) {
    // Beyond the ends the result is inf or 0 already.
    auto [r, n] = reduceByLn2(clamp(x, -104.0f, 89.0f));
    return scale(add(expReduced(r), f(1.0f)), n);
  }

  Value exp2(Value x) {
    Value inside = clamp(x, -151.0f, 129.0f);
    auto [n, integer] = round(inside);
    Value r = sub(inside, n);
    // r ln2 in two parts: the product rounded, and what rounding lost.
    Value high = mul(r, f(0.693147182464599609375f));
    Value low = fma(r, f(-1.904654299958e-9f), fma(r, f(0.693147182464599609375f), neg(high)));
    Value e = add(expReduced(high), f(1.0f));
    return scale(fma(e, low, e), integer);
  }

  Value expm1(Value x) {
    auto [r, n] = reduceByLn2(clamp(x, -20.0f, 89.0f));
    Value q = expReduced(r);
    // 2^n q + (2^n - 1), halved on the way so that 2^128 does not appear.
    Value s = fromBits(shl(addi(n, i(126)), 23));
    Value half = fma(q, s, sub(s, f(0.5f)));
    Value result = add(half, half);
    // n = 0: q itself, exactly, with the sign of zero.
    Value zero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, n, i(0));
    return select(eq(x, f(0.0f)), x, select(zero, q, result));
  }

  /// Exponent e (as a float) and log(m), for x = m 2^e with m in [sqrt 1/2, sqrt 2).
  std::pair<Value, Value> logParts(Value x) {
    Value tiny = lt(x, f(1.17549435e-38f));
    Value bitsOf = bits(select(tiny, mul(x, f(8388608.0f)), x));
    Value offset = subi(bitsOf, i(0x3f3504f3));
    Value e = sar(offset, 23);
    Value m = fromBits(subi(bitsOf, andi(offset, i(static_cast<int32_t>(0xff800000)))));
    Value exponent = arith::SIToFPOp::create(b, loc, b.getF32Type(), e);
    exponent = sub(exponent, select(tiny, f(23.0f), f(0.0f)));
    return {exponent, sub(m, f(1.0f))};
  }

  /// log(1 + t) - t for t in [sqrt 1/2 - 1, sqrt 2 - 1).
  Value logReduced(Value t) {
    Value z = mul(t, t);
    Value p = polynomial(t, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                             -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
    return fma(mul(t, z), p, mul(z, f(-0.5f)));
  }

  /// log's values where the formula has none: 0, below 0, inf, NaN.
  Value logEnds(Value x, Value result) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    result = select(eq(x, f(inf)), x, result);
    result = select(eq(x, f(0.0f)), f(-inf), result);
    result = select(lt(x, f(0.0f)), f(nan), result);
    return select(cmp(arith::CmpFPredicate::UNO, x, x), x, result);
  }

  Value log(Value x) {
    auto [e, t] = logParts(x);
    Value y = fma(e, f(-2.12194440e-4f), logReduced(t));
    return logEnds(x, fma(e, f(0.693359375f), add(t, y)));
  }

  /// log(x) * scale with the exponent's share exact: powers of two give integers in base 2.
  Value logBase(Value x, float scale, float scaleLow, float exponentScale, float exponentLow) {
    auto [e, t] = logParts(x);
    Value y = logReduced(t);
    // (t + y) as high + low.
    Value high = add(t, y), low = sub(y, sub(high, t));
    Value p = mul(high, f(scale));
    Value rest = fma(high, f(scale), neg(p));
    rest = fma(high, f(scaleLow), fma(low, f(scale), rest));
    rest = fma(e, f(exponentLow), rest);
    return logEnds(x, fma(e, f(exponentScale), add(p, rest)));
  }
  Value log2(Value x) { return logBase(x, 1.44269502162933349609375f, 1.92596299112661746e-8f, 1.0f, 0.0f); }
  Value log10(Value x) {
    return logBase(x, 0.4342944920063018798828125f, -1.0103050118726031e-8f, 0.301029980182647705078125f, 1.548133349e-8f);
  }

  Value log1p(Value x) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    Value u = add(f(1.0f), x);
    // What u lost of x, brought back to first order.
    Value lost = sub(x, sub(u, f(1.0f)));
    Value result = add(log(u), div(lost, u));
    Value plain = arith::OrIOp::create(b, loc, eq(x, f(inf)), lt(abs(x), f(5.9604645e-8f)));
    result = select(eq(u, f(0.0f)), f(-inf), result);
    return select(plain, x, result);
  }

  Value tanh(Value x) {
    // -t / (t + 2), t = exp(-2|x|) - 1.
    Value t = expm1(mul(abs(x), f(-2.0f)));
    return copysign(div(neg(t), add(t, f(2.0f))), x);
  }

  Value erf(Value x) {
    // A rational function of x², 1 - ulp/2 at the clamped end; beyond it exactly ±1, or x * (1 + erf(x)) would grow with x.
    Value c = clamp(x, -3.832506856900711f, 3.832506856900711f);
    Value z = mul(c, c);
    Value p = polynomial(z, {0.00022905065861350646f, 0.0034082910107109506f, 0.050955695062380861f, 0.18520832239976145f, 1.128379143519084f});
    Value q = polynomial(z, {-1.1791602954361697e-7f, 0.000023547966471313185f, 0.0010179625278914885f, 0.014070470171167667f,
                             0.11098505178285362f, 0.49746925110067538f, 1.0f});
    return select(gt(abs(x), f(3.832506856900711f)), copysign(f(1.0f), x), mul(c, div(p, q)));
  }

  /// sin (quarter = 0) or cos (quarter = 1). The argument is reduced in f64, right up to |x| = 2^50.
  Value sine(Value x, int32_t quarter) {
    Type f64 = b.getF64Type();
    Value wide = arith::ExtFOp::create(b, loc, f64, x);
    constexpr double magic = 6755399441055744.0; // 1.5 * 2^52
    Value shifted = math::FmaOp::create(b, loc, wide, d(0.63661977236758134308), d(magic));
    Value n = arith::SubFOp::create(b, loc, shifted, d(magic));
    Value quadrant = arith::TruncIOp::create(b, loc, b.getI32Type(),
                                             Value(arith::BitcastOp::create(b, loc, b.getI64Type(), shifted)));
    Value r = math::FmaOp::create(b, loc, n, d(-1.57079632679489655800), wide);
    r = math::FmaOp::create(b, loc, n, d(-6.12323399573676603587e-17), r);
    Value t = arith::TruncFOp::create(b, loc, b.getF32Type(), r);
    Value z = mul(t, t);
    Value s = fma(mul(t, z), polynomial(z, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f}), t);
    Value c = fma(mul(z, z), polynomial(z, {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f}), fma(z, f(-0.5f), f(1.0f)));
    if (quarter)
      quadrant = addi(quadrant, i(quarter));
    Value odd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, andi(quadrant, i(1)), i(0));
    Value value = select(odd, c, s);
    value = fromBits(xori(bits(value), shl(andi(quadrant, i(2)), 30)));
    if (quarter)
      return value;
    // Tiny arguments, and the sign of zero.
    return select(lt(abs(x), f(2.44140625e-4f)), x, value);
  }
};

/// A constant exponent most networks use.
Value expandPower(Writer &w, math::PowFOp op) {
  APFloat exponent(0.0f);
  if (!matchPattern(op.getRhs(), m_ConstantFloat(&exponent)))
    return {};
  Value x = op.getLhs();
  auto is = [&](double value) { return exponent.convertToDouble() == value; };
  bool single = x.getType().isF32();
  auto number = [&](double v) -> Value { return single ? w.f(static_cast<float>(v)) : w.d(v); };
  if (!single && !x.getType().isF64())
    return {};
  if (is(0.0))
    return number(1.0);
  if (is(1.0))
    return x;
  if (is(2.0))
    return w.mul(x, x);
  if (is(3.0))
    return w.mul(w.mul(x, x), x);
  if (is(-1.0))
    return w.div(number(1.0), x);
  if (is(-2.0))
    return w.div(number(1.0), w.mul(x, x));
  if (is(0.5) || is(-0.5)) {
    // pow(-0, 1/2) = 0 and pow(-inf, 1/2) = inf, unlike sqrt.
    constexpr double inf = std::numeric_limits<double>::infinity();
    Value root = math::SqrtOp::create(w.b, w.loc, w.add(x, number(0.0)));
    root = w.select(w.eq(x, number(-inf)), number(inf), root);
    return is(0.5) ? root : w.div(number(1.0), root);
  }
  return {};
}

bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// A replacement for `op`, or null.
Value expand(OpBuilder &b, Operation *op) {
  Writer w{b, op->getLoc()};
  if (auto root = dyn_cast<math::RsqrtOp>(op)) {
    Type type = op->getResult(0).getType();
    if (isHalf(type))
      return {};
    Value one = type.isF32() ? w.f(1.0f) : w.d(1.0);
    return w.div(one, Value(math::SqrtOp::create(b, w.loc, root.getOperand())));
  }
  if (auto power = dyn_cast<math::PowFOp>(op))
    return expandPower(w, power);
  if (op->getNumOperands() != 1 || !op->getOperand(0).getType().isF32())
    return {};
  Value x = op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return w.exp(x); })
      .Case<math::Exp2Op>([&](auto) { return w.exp2(x); })
      .Case<math::ExpM1Op>([&](auto) { return w.expm1(x); })
      .Case<math::LogOp>([&](auto) { return w.log(x); })
      .Case<math::Log2Op>([&](auto) { return w.log2(x); })
      .Case<math::Log10Op>([&](auto) { return w.log10(x); })
      .Case<math::Log1pOp>([&](auto) { return w.log1p(x); })
      .Case<math::TanhOp>([&](auto) { return w.tanh(x); })
      .Case<math::ErfOp>([&](auto) { return w.erf(x); })
      .Case<math::SinOp>([&](auto) { return w.sine(x, 0); })
      .Case<math::CosOp>([&](auto) { return w.sine(x, 1); })
      .Default([](Operation *) { return Value(); });
}

} // namespace

Value codegen::expandMathOp(OpBuilder &b, Operation *op) { return expand(b, op); }

void codegen::expandMath(kernel::FuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) && op->getNumResults() == 1)
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    // Half types: the same op in f32, rounded once.
    if (isHalf(op->getResult(0).getType()) && llvm::all_of(op->getOperandTypes(), isHalf)) {
      SmallVector<Value> wide;
      for (Value operand : op->getOperands())
        wide.push_back(arith::ExtFOp::create(b, op->getLoc(), b.getF32Type(), operand));
      OperationState state(op->getLoc(), op->getName(), wide, b.getF32Type(), op->getAttrs());
      Operation *single = b.create(state);
      Value narrow = arith::TruncFOp::create(b, op->getLoc(), op->getResult(0).getType(), single->getResult(0));
      op->getResult(0).replaceAllUsesWith(narrow);
      op->erase();
      op = single;
      b.setInsertionPoint(op);
    }
    if (Value value = expand(b, op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
  }
}
