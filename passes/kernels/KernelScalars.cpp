// Scalar arithmetic of element formulas as arith and math ops. Numerics: nothing here contracts or reassociates.
#include "passes/kernels/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

static Expr integerPower(Expr base, Expr exponent);

Expr KernelBuilder::constant(double value, Type type) {
  if (auto f = dyn_cast<FloatType>(type))
    return emitIn(0, type, [&]() -> Value { return arith::ConstantOp::create(b, loc, b.getFloatAttr(f, value)); });
  if (std::isinf(value)) {
    // Saturates, as a conversion would.
    unsigned width = type.getIntOrFloatBitWidth();
    bool isUnsignedType = isUnsigned(type) || width == 1;
    int64_t most = (int64_t)(~uint64_t(0) >> (isUnsignedType ? 64 - width : 65 - width));
    return constantInt(value > 0 ? most : isUnsignedType ? 0 : -most - 1, type);
  }
  return constantInt((int64_t)value, type);
}
Expr KernelBuilder::constantInt(int64_t value, Type type) {
  if (isa<FloatType>(type))
    return constant((double)value, type);
  Type signless = kernelElementType(type);
  return emitIn(0, type, [&]() -> Value {
    APInt bits(signless.getIntOrFloatBitWidth(), (uint64_t)value, /*isSigned=*/true, /*implicitTrunc=*/true);
    return arith::ConstantOp::create(b, loc, IntegerAttr::get(signless, bits));
  });
}

Expr KernelBuilder::unary(ScalarKind kind, Expr a) {
  Type type = a.type;
  bool isFloat = isa<FloatType>(type);
  auto emit = [&](auto fn) { return emitAt(depthOf(a), type, [&]() -> Value { return fn(valueOf(a)); }); };
#define GRAPHC_MATH(Kind, Op) \
  case ScalarKind::Kind: \
    assert(isFloat && #Kind " needs a float operand"); \
    return emit([&](Value v) { return Op::create(b, loc, v); });
  switch (kind) {
    GRAPHC_MATH(Exp, math::ExpOp)
    GRAPHC_MATH(Expm1, math::ExpM1Op)
    GRAPHC_MATH(Log, math::LogOp)
    GRAPHC_MATH(Log1p, math::Log1pOp)
    GRAPHC_MATH(Sqrt, math::SqrtOp)
    GRAPHC_MATH(Sin, math::SinOp)
    GRAPHC_MATH(Cos, math::CosOp)
    GRAPHC_MATH(Tan, math::TanOp)
    GRAPHC_MATH(Asin, math::AsinOp)
    GRAPHC_MATH(Acos, math::AcosOp)
    GRAPHC_MATH(Atan, math::AtanOp)
    GRAPHC_MATH(Sinh, math::SinhOp)
    GRAPHC_MATH(Cosh, math::CoshOp)
    GRAPHC_MATH(Asinh, math::AsinhOp)
    GRAPHC_MATH(Acosh, math::AcoshOp)
    GRAPHC_MATH(Atanh, math::AtanhOp)
    GRAPHC_MATH(Erf, math::ErfOp)
    GRAPHC_MATH(Tanh, math::TanhOp)
  case ScalarKind::Ceil:
    return isFloat ? emit([&](Value v) { return math::CeilOp::create(b, loc, v); }) : a;
  case ScalarKind::Floor:
    return isFloat ? emit([&](Value v) { return math::FloorOp::create(b, loc, v); }) : a;
  case ScalarKind::RoundEven:
    return isFloat ? emit([&](Value v) { return math::RoundEvenOp::create(b, loc, v); }) : a;
  case ScalarKind::Neg:
    return isFloat ? emit([&](Value v) { return arith::NegFOp::create(b, loc, v); }) : constantInt(0, type) - a;
  case ScalarKind::Abs:
    if (isFloat)
      return emit([&](Value v) { return math::AbsFOp::create(b, loc, v); });
    return isUnsigned(type) ? a : emit([&](Value v) { return math::AbsIOp::create(b, loc, v); });
  case ScalarKind::Sign: {
    Expr zero = a.like(0);
    Expr sign = select(zero < a, a.like(1), isUnsigned(type) ? zero : select(a < zero, a.like(-1), isFloat ? a : zero));
    return sign; // of a float zero or NaN: itself
  }
  case ScalarKind::BitNot:
    return binary(ScalarKind::Xor, a, type.isInteger(1) ? a.boolean(true) : constantInt(-1, type));
  case ScalarKind::IsNaN:
    if (!isFloat)
      return a.boolean(false);
    return emitAt(depthOf(a), IntegerType::get(context(), 1), [&]() -> Value {
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, valueOf(a), valueOf(a));
    });
  default:
    llvm_unreachable("not a unary scalar op");
  }
#undef GRAPHC_MATH
}

Expr KernelBuilder::binary(ScalarKind kind, Expr l, Expr r) {
  assert(l.type == r.type && "both operands of a scalar op have one type");
  Type type = l.type, i1 = IntegerType::get(context(), 1);
  bool isFloat = isa<FloatType>(type), uns = isUnsigned(type) || type.isInteger(1);
  unsigned depth = std::max(depthOf(l), depthOf(r));
  auto emit = [&](auto fn) {
    return emitAt(depth, type, [&]() -> Value { return fn(valueOf(l), valueOf(r)); });
  };
  auto compare = [&](arith::CmpFPredicate f, arith::CmpIPredicate s, arith::CmpIPredicate u) {
    return emitAt(depth, i1, [&]() -> Value {
      if (isFloat)
        return arith::CmpFOp::create(b, loc, f, valueOf(l), valueOf(r));
      return arith::CmpIOp::create(b, loc, uns ? u : s, valueOf(l), valueOf(r));
    });
  };
#define GRAPHC_ARITH(FloatOp, SignedOp, UnsignedOp) \
  return emit([&](Value x, Value y) -> Value { \
    if (isFloat) \
      return FloatOp::create(b, loc, x, y); \
    if (uns) \
      return UnsignedOp::create(b, loc, x, y); \
    return SignedOp::create(b, loc, x, y); \
  });
  switch (kind) {
  case ScalarKind::Add:
    if (type.isInteger(1)) // true and true is true, as for numbers that saturate
      return binary(ScalarKind::Or, l, r);
    GRAPHC_ARITH(arith::AddFOp, arith::AddIOp, arith::AddIOp)
  case ScalarKind::Sub:
    GRAPHC_ARITH(arith::SubFOp, arith::SubIOp, arith::SubIOp)
  case ScalarKind::Mul:
    GRAPHC_ARITH(arith::MulFOp, arith::MulIOp, arith::MulIOp)
  case ScalarKind::Max:
    GRAPHC_ARITH(arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp)
  case ScalarKind::Min:
    GRAPHC_ARITH(arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp)
  case ScalarKind::Div:
  case ScalarKind::Rem: {
    if (isFloat)
      return kind == ScalarKind::Div ? emit([&](Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); })
                                     : emit([&](Value x, Value y) { return arith::RemFOp::create(b, loc, x, y); });
    // Division by zero, and the least value by -1, trap on CPUs: divide by 1 there. x / 0 = x % 0 = 0.
    Expr byZero = r == constantInt(0, type), divisor = select(byZero, constantInt(1, type), r);
    if (!uns) {
      unsigned width = type.getIntOrFloatBitWidth();
      int64_t least = (int64_t)(~uint64_t(0) << (width - 1));
      Expr overflows = (l == constantInt(least, type)) && (r == constantInt(-1, type));
      divisor = select(overflows, constantInt(1, type), divisor);
    }
    depth = std::max(depth, depthOf(divisor));
    Expr result = emitAt(depth, type, [&]() -> Value {
      Value x = valueOf(l), y = valueOf(divisor);
      if (kind == ScalarKind::Div)
        return uns ? Value(arith::DivUIOp::create(b, loc, x, y)) : Value(arith::DivSIOp::create(b, loc, x, y));
      return uns ? Value(arith::RemUIOp::create(b, loc, x, y)) : Value(arith::RemSIOp::create(b, loc, x, y));
    });
    return kind == ScalarKind::Div ? select(byZero, constantInt(0, type), result) : result;
  }
  case ScalarKind::Mod: {
    Expr m = rem(l, r);
    if (uns)
      return m;
    Expr zero = m.like(0);
    Expr differs = (m != zero) && ((m < zero) != (r < zero));
    return select(differs, m + r, m);
  }
  case ScalarKind::Pow:
    if (isFloat)
      return emit([&](Value x, Value y) { return math::PowFOp::create(b, loc, x, y); });
    return integerPower(l, r);
  case ScalarKind::And:
    return emit([&](Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); });
  case ScalarKind::Or:
    return emit([&](Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); });
  case ScalarKind::Xor:
    return emit([&](Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); });
  case ScalarKind::ShiftLeft:
  case ScalarKind::ShiftRight: {
    // A shift by the width or more shifts everything out, whatever the CPU makes of it; a signed right shift keeps the sign.
    bool keepsSign = kind == ScalarKind::ShiftRight && !isUnsigned(type);
    int64_t width = type.getIntOrFloatBitWidth();
    Expr in = r < constantInt(width, type);
    Expr amount = select(in, r, constantInt(keepsSign ? width - 1 : 0, type));
    depth = std::max(depth, depthOf(amount));
    Expr shifted = emitAt(depth, type, [&]() -> Value {
      if (kind == ScalarKind::ShiftLeft)
        return arith::ShLIOp::create(b, loc, valueOf(l), valueOf(amount));
      if (keepsSign)
        return arith::ShRSIOp::create(b, loc, valueOf(l), valueOf(amount));
      return arith::ShRUIOp::create(b, loc, valueOf(l), valueOf(amount));
    });
    return keepsSign ? shifted : select(in, shifted, constantInt(0, type));
  }
  case ScalarKind::Equal:
    return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, arith::CmpIPredicate::eq);
  case ScalarKind::NotEqual:
    return compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, arith::CmpIPredicate::ne);
  case ScalarKind::Less:
    return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, arith::CmpIPredicate::ult);
  case ScalarKind::LessEqual:
    return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, arith::CmpIPredicate::ule);
  default:
    llvm_unreachable("not a binary scalar op");
  }
#undef GRAPHC_ARITH
}

/// By squaring, wrapping like multiplication does; a negative exponent gives 1 / base^n truncated: 0 unless base is 1 or -1.
static Expr integerPower(Expr base, Expr exponent) {
  Expr one = base.like(1), zero = base.like(0), result = one, square = base;
  unsigned bits = exponent.type.getIntOrFloatBitWidth() - (isUnsigned(exponent.type) ? 0 : 1);
  for (unsigned bit = 0; bit < bits; ++bit) {
    Expr set = bitAnd(shiftRight(exponent, exponent.like(bit)), exponent.like(1)) != exponent.like(0);
    result = select(set, result * square, result);
    square = square * square;
  }
  if (isUnsigned(base.type))
    return result;
  Expr odd = bitAnd(exponent, exponent.like(1)) != exponent.like(0);
  Expr reciprocal = select(base == one, one, select(base == base.like(-1), select(odd, base.like(-1), one), zero));
  return select(exponent < exponent.like(0), reciprocal, result);
}

Expr KernelBuilder::select(Expr c, Expr x, Expr y) {
  assert(x.type == y.type && "both arms of a select have one type");
  unsigned depth = std::max({depthOf(c), depthOf(x), depthOf(y)});
  return emitAt(depth, x.type,
                [&]() -> Value { return arith::SelectOp::create(b, loc, valueOf(c), valueOf(x), valueOf(y)); });
}

Expr KernelBuilder::cast(Expr a, Type to) {
  Type from = a.type;
  if (from == to)
    return a;
  auto emit = [&](auto fn) { return emitAt(depthOf(a), to, [&]() -> Value { return fn(valueOf(a)); }); };
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  Type target = kernelElementType(to);
  if (to.isInteger(1))
    return a != a.like(0);
  if (fromFloat && toFloat) {
    if (fromFloat.getWidth() == toFloat.getWidth()) // f16 <-> bf16
      return cast(cast(a, Float32Type::get(context())), to);
    if (fromFloat.getWidth() < toFloat.getWidth())
      return emit([&](Value v) { return arith::ExtFOp::create(b, loc, target, v); });
    return emit([&](Value v) { return arith::TruncFOp::create(b, loc, target, v); });
  }
  if (fromFloat) {
    if (fromFloat.getWidth() < 32)
      return cast(cast(a, Float32Type::get(context())), to);
    // Out of range saturates; NaN gives 0. Limits are exact in the float type: the upper one is 2^n, excluded.
    unsigned width = to.getIntOrFloatBitWidth();
    bool uns = isUnsigned(to);
    double high = std::ldexp(1.0, uns ? width : width - 1), low = uns ? 0 : -high;
    uint64_t most = ~uint64_t(0) >> (uns ? 64 - width : 65 - width);
    int64_t least = uns ? 0 : (int64_t)(~uint64_t(0) << (width - 1));
    Expr tooHigh = a >= a.like(high), tooLow = uns ? a <= a.like(-1) : a < a.like(low);
    Expr inRange = select(tooHigh || tooLow || isNaN(a), a.like(0), a);
    Expr value = emitAt(depthOf(inRange), to, [&]() -> Value {
      if (uns)
        return arith::FPToUIOp::create(b, loc, target, valueOf(inRange));
      return arith::FPToSIOp::create(b, loc, target, valueOf(inRange));
    });
    return select(tooHigh, constantInt((int64_t)most, to), select(tooLow, constantInt(least, to), value));
  }
  if (toFloat) {
    if (toFloat.getWidth() < 32)
      return cast(cast(a, Float32Type::get(context())), to);
    if (isUnsigned(from) || from.isInteger(1))
      return emit([&](Value v) { return arith::UIToFPOp::create(b, loc, target, v); });
    return emit([&](Value v) { return arith::SIToFPOp::create(b, loc, target, v); });
  }
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return emit([&](Value v) { return v; });
  if (fromWidth > toWidth)
    return emit([&](Value v) { return arith::TruncIOp::create(b, loc, target, v); });
  if (isUnsigned(from) || from.isInteger(1))
    return emit([&](Value v) { return arith::ExtUIOp::create(b, loc, target, v); });
  return emit([&](Value v) { return arith::ExtSIOp::create(b, loc, target, v); });
}
