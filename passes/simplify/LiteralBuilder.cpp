#include "passes/simplify/LiteralBuilder.h"
#include <limits>

using namespace mlir;

namespace graphc::graph {

static double roundedTo(Type type, double value) {
  // One NaN, so that the same program folds to the same bytes on every machine.
  if (std::isnan(value))
    return std::numeric_limits<double>::quiet_NaN();
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  // From double at once: rounding to f32 in between could round twice.
  APFloat f(value);
  bool loses;
  f.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  f.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return f.convertToDouble();
}

static bool isSigned(Type type) { return !isUnsigned(type) && type.getIntOrFloatBitWidth() > 1; }

static int64_t wrappedTo(Type type, int64_t value) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 64)
    return value;
  return isSigned(type) ? llvm::SignExtend64(value, width) : static_cast<int64_t>(value & ((int64_t(1) << width) - 1));
}

Expr LiteralBuilder::make(Scalar value, Type type) {
  scalars.push_back(value);
  return {this, &scalars.back(), type};
}
Expr LiteralBuilder::real(double value, Type type) { return make({roundedTo(type, value), 0}, type); }
Expr LiteralBuilder::integer(int64_t value, Type type) { return make({0, wrappedTo(type, value)}, type); }

Expr LiteralBuilder::constant(double value, Type type) {
  return isa<FloatType>(type) ? real(value, type) : integer(static_cast<int64_t>(value), type);
}
Expr LiteralBuilder::constantInt(int64_t value, Type type) {
  return isa<FloatType>(type) ? real(static_cast<double>(value), type) : integer(value, type);
}

static double realUnary(ScalarKind kind, double a) {
  switch (kind) {
  case ScalarKind::Neg: return -a;
  case ScalarKind::Abs: return std::fabs(a);
  case ScalarKind::Sign: return std::isnan(a) ? a : double((a > 0) - (a < 0));
  case ScalarKind::Exp: return std::exp(a);
  case ScalarKind::Expm1: return std::expm1(a);
  case ScalarKind::Log: return std::log(a);
  case ScalarKind::Log1p: return std::log1p(a);
  case ScalarKind::Sqrt: return std::sqrt(a);
  case ScalarKind::Sin: return std::sin(a);
  case ScalarKind::Cos: return std::cos(a);
  case ScalarKind::Tan: return std::tan(a);
  case ScalarKind::Asin: return std::asin(a);
  case ScalarKind::Acos: return std::acos(a);
  case ScalarKind::Atan: return std::atan(a);
  case ScalarKind::Sinh: return std::sinh(a);
  case ScalarKind::Cosh: return std::cosh(a);
  case ScalarKind::Asinh: return std::asinh(a);
  case ScalarKind::Acosh: return std::acosh(a);
  case ScalarKind::Atanh: return std::atanh(a);
  case ScalarKind::Erf: return std::erf(a);
  case ScalarKind::Tanh: return std::tanh(a);
  case ScalarKind::Ceil: return std::ceil(a);
  case ScalarKind::Floor: return std::floor(a);
  case ScalarKind::RoundEven: return std::nearbyint(a);
  default: llvm_unreachable("not a unary operation on floats");
  }
}

Expr LiteralBuilder::unary(ScalarKind kind, Expr a) {
  Scalar v = valueOf(a);
  if (isa<FloatType>(a.type)) {
    if (kind == ScalarKind::IsNaN)
      return integer(std::isnan(v.real), IntegerType::get(ctx, 1));
    return real(realUnary(kind, v.real), a.type);
  }
  switch (kind) {
  case ScalarKind::Neg: return integer(static_cast<int64_t>(-static_cast<uint64_t>(v.integer)), a.type);
  case ScalarKind::Abs: return isSigned(a.type) && v.integer < 0 ? unary(ScalarKind::Neg, a) : a;
  case ScalarKind::Sign: return integer(isSigned(a.type) && v.integer < 0 ? -1 : v.integer != 0, a.type);
  case ScalarKind::BitNot: return integer(~v.integer, a.type);
  case ScalarKind::Ceil:
  case ScalarKind::Floor:
  case ScalarKind::RoundEven: return a;
  default: failed = true; return a;
  }
}

/// Max and min propagate NaN and order -0 below +0.
static double extreme(double a, double b, bool largest) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) == largest ? b : a;
  return (a > b) == largest ? a : b;
}

static double realMod(double a, double b) {
  double m = std::fmod(a, b);
  if (m == 0)
    return std::copysign(m, b);
  return (m < 0) != (b < 0) ? m + b : m;
}

Expr LiteralBuilder::binary(ScalarKind kind, Expr a, Expr b) {
  Type type = a.type, boolean = IntegerType::get(ctx, 1);
  Scalar v = valueOf(a), w = valueOf(b);
  if (isa<FloatType>(type)) {
    double x = v.real, y = w.real;
    switch (kind) {
    case ScalarKind::Add: return real(x + y, type);
    case ScalarKind::Sub: return real(x - y, type);
    case ScalarKind::Mul: return real(x * y, type);
    case ScalarKind::Div: return real(x / y, type);
    case ScalarKind::Pow: return real(std::pow(x, y), type);
    case ScalarKind::Max: return real(extreme(x, y, true), type);
    case ScalarKind::Min: return real(extreme(x, y, false), type);
    case ScalarKind::Rem: return real(std::fmod(x, y), type);
    case ScalarKind::Mod: return real(realMod(x, y), type);
    case ScalarKind::Equal: return integer(x == y, boolean);
    case ScalarKind::NotEqual: return integer(x != y, boolean);
    case ScalarKind::Less: return integer(x < y, boolean);
    case ScalarKind::LessEqual: return integer(x <= y, boolean);
    default: failed = true; return a;
    }
  }
  int64_t x = v.integer, y = w.integer;
  uint64_t ux = x, uy = y;
  bool isSigned = graph::isSigned(type);
  auto less = [&](uint64_t p, uint64_t q) { return isSigned ? int64_t(p) < int64_t(q) : p < q; };
  switch (kind) {
  case ScalarKind::Add: return integer(int64_t(ux + uy), type);
  case ScalarKind::Sub: return integer(int64_t(ux - uy), type);
  case ScalarKind::Mul: return integer(int64_t(ux * uy), type);
  case ScalarKind::Max: return less(ux, uy) ? b : a;
  case ScalarKind::Min: return less(uy, ux) ? b : a;
  case ScalarKind::And: return integer(x & y, type);
  case ScalarKind::Or: return integer(x | y, type);
  case ScalarKind::Xor: return integer(x ^ y, type);
  case ScalarKind::Equal: return integer(x == y, boolean);
  case ScalarKind::NotEqual: return integer(x != y, boolean);
  case ScalarKind::Less: return integer(less(ux, uy), boolean);
  case ScalarKind::LessEqual: return integer(!less(uy, ux), boolean);
  case ScalarKind::Div:
  case ScalarKind::Rem:
  case ScalarKind::Mod:
    // What the machine does with zero and with overflow is left to the machine.
    if (y == 0 || (isSigned && y == -1)) {
      failed = true;
      return a;
    }
    if (!isSigned)
      return integer(int64_t(kind == ScalarKind::Div ? ux / uy : ux % uy), type);
    if (kind == ScalarKind::Div)
      return integer(x / y, type);
    return integer(kind == ScalarKind::Mod && x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y, type);
  default: failed = true; return a; // powers and shifts
  }
}

Expr LiteralBuilder::select(Expr condition, Expr a, Expr b) { return valueOf(condition).integer ? a : b; }

Expr LiteralBuilder::cast(Expr a, Type to) {
  Scalar v = valueOf(a);
  if (isa<FloatType>(a.type)) {
    if (isa<FloatType>(to))
      return real(v.real, to);
    if (to.isInteger(1))
      return integer(v.real != 0, to);
    // Only what an integer can hold; saturation and NaN are left to the machine.
    double t = std::trunc(v.real);
    if (!(std::fabs(t) < 9.0e18) || (double)wrappedTo(to, (int64_t)t) != t) {
      failed = true;
      return integer(0, to);
    }
    return integer((int64_t)t, to);
  }
  if (isa<FloatType>(to)) {
    bool wide = isUnsigned(a.type) && v.integer < 0;
    // An i64 beyond 2^53 would round twice on its way through double.
    if (!to.isF64() && (wide || std::abs(v.integer) > (int64_t(1) << 53)))
      failed = true;
    return real(wide ? double(uint64_t(v.integer)) : double(v.integer), to);
  }
  return integer(to.isInteger(1) ? v.integer != 0 : v.integer, to);
}

std::optional<int64_t> LiteralBuilder::number(AffineExpr index) {
  auto value = evaluate(index, [](unsigned) { return std::nullopt; });
  if (!value)
    failed = true;
  return value;
}

Expr LiteralBuilder::indexValue(AffineExpr index) {
  return integer(number(index).value_or(0), IntegerType::get(ctx, 64));
}

AffineExpr LiteralBuilder::computedIndex(Expr value, AffineExpr limit) {
  int64_t i = valueOf(value).integer;
  if (limit) {
    auto end = number(limit);
    if (!end || i < 0 || i >= *end)
      failed = true; // reported by the kernel at run time
  }
  return getAffineConstantExpr(i, ctx);
}

Expr LiteralBuilder::load(Value operand, ArrayRef<AffineExpr> index, std::optional<Expr> fill) {
  auto it = operands.find(operand);
  assert(it != operands.end() && "a formula loads operands only");
  const Literal &literal = it->second;
  int64_t flat = 0;
  for (auto [e, size] : llvm::zip_equal(index, literal.shape)) {
    auto i = number(e);
    bool inside = i && *i >= 0 && *i < size;
    if (!inside && fill)
      return *fill;
    if (!inside)
      failed = true;
    flat = flat * size + (inside ? *i : 0);
  }
  if (--loadsLeft < 0)
    failed = true;
  if (failed)
    return constantInt(0, computeType(literal.type));
  return make(literal.values.size() == 1 ? literal.values[0] : literal.values[flat], computeType(literal.type));
}

SmallVector<Expr> LiteralBuilder::reduce(ArrayRef<AffineExpr> sizes, ArrayRef<Expr> init,
                                         function_ref<SmallVector<Expr>(ArrayRef<AffineExpr>)> body,
                                         function_ref<SmallVector<Expr>(ArrayRef<Expr>, ArrayRef<Expr>)> combine) {
  SmallVector<int64_t> counts, at(sizes.size(), 0);
  for (AffineExpr size : sizes)
    counts.push_back(number(size).value_or(0));
  SmallVector<Expr> total(init);
  if (failed || llvm::is_contained(counts, 0))
    return total;
  while (!failed) {
    SmallVector<AffineExpr> dims;
    for (int64_t i : at)
      dims.push_back(getAffineConstantExpr(i, ctx));
    total = combine(total, body(dims));
    int64_t d = (int64_t)at.size() - 1;
    while (d >= 0 && ++at[d] == counts[d])
      at[d--] = 0;
    if (d < 0)
      break;
  }
  return total;
}

void LiteralBuilder::setOperand(Value operand, DenseElementsAttr value) {
  Literal literal;
  literal.shape = llvm::to_vector(value.getType().getShape());
  literal.type = value.getElementType();
  int64_t count = value.isSplat() ? 1 : value.getNumElements();
  if (auto floats = dyn_cast<FloatType>(literal.type)) {
    for (APFloat f : llvm::make_range(value.value_begin<APFloat>(), value.value_begin<APFloat>() + count)) {
      bool loses;
      f.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      literal.values.push_back({f.convertToDouble(), 0});
    }
  } else {
    for (APInt i : llvm::make_range(value.value_begin<APInt>(), value.value_begin<APInt>() + count))
      literal.values.push_back({0, isSigned(literal.type) ? i.getSExtValue() : (int64_t)i.getZExtValue()});
  }
  operands[operand] = std::move(literal);
}

std::optional<Scalar> LiteralBuilder::element(ElementOp op, ArrayRef<int64_t> index, Type elementType) {
  scalars.clear();
  SmallVector<AffineExpr> at;
  for (int64_t i : index)
    at.push_back(getAffineConstantExpr(i, ctx));
  Expr result = op.element(*this, 0, at);
  if (failed)
    return std::nullopt;
  return isa<FloatType>(elementType) ? Scalar{roundedTo(elementType, valueOf(result).real), 0} : valueOf(result);
}

Attribute toAttribute(Scalar value, Type type) {
  if (auto floats = dyn_cast<FloatType>(type)) {
    APFloat f(value.real);
    bool loses;
    f.convert(floats.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    return FloatAttr::get(type, f);
  }
  APInt i(type.getIntOrFloatBitWidth(), (uint64_t)value.integer, /*isSigned=*/false, /*implicitTrunc=*/true);
  return IntegerAttr::get(type, i);
}

} // namespace graphc::graph
