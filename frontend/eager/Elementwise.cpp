// Elementwise ops: which type the result has, and which graph op it is.
#include "frontend/eager/State.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <bit>
#include <cmath>
#include <cstdio>

namespace graphc {

using namespace eager;

//===-- type promotion --------------------------------------------------------------------------------------------===//
DType promoteTypes(DType a, DType b) {
  if (a == b)
    return a;
  if (isFloat(a) || isFloat(b)) {
    if (!isFloat(a))
      return b;
    if (!isFloat(b))
      return a;
    if (sizeOf(a) == sizeOf(b))
      return DType::F32; // f16 and bf16
    return sizeOf(a) > sizeOf(b) ? a : b;
  }
  if (a == DType::Bool)
    return b;
  if (b == DType::Bool)
    return a;
  if (isSigned(a) == isSigned(b))
    return sizeOf(a) > sizeOf(b) ? a : b;
  // A signed type that holds both.
  DType sign = isSigned(a) ? a : b, plain = isSigned(a) ? b : a;
  if (sizeOf(sign) > sizeOf(plain))
    return sign;
  switch (sizeOf(plain)) {
  case 1: return DType::I16;
  case 2: return DType::I32;
  case 4: return DType::I64;
  default: return DType::F32;
  }
}

static int category(DType dtype) { return dtype == DType::Bool ? 0 : isFloat(dtype) ? 2 : 1; }

DType resultType(const TensorArg &a, const Tensor &b) {
  DType x = a.dtype(), y = b.dtype();
  if (x == y)
    return x;
  bool scalarA = a.dim() == 0, scalarB = b.dim() == 0;
  if (scalarA != scalarB) {
    // A 0-d tensor matters only when it is of a higher kind.
    DType with = scalarA ? y : x, scalar = scalarA ? x : y;
    return category(scalar) > category(with) ? promoteTypes(with, scalar) : with;
  }
  return promoteTypes(x, y);
}

DType resultType(const TensorArg &a, Scalar b) {
  DType x = a.dtype();
  int kind = b.kind() == Scalar::Kind::Bool ? 0 : b.kind() == Scalar::Kind::Int ? 1 : 2;
  if (kind <= category(x))
    return x;
  return kind == 2 ? defaultDtype() : DType::I64;
}

namespace {

DType floatType(DType dtype) { return isFloat(dtype) ? dtype : defaultDtype(); }

void defined(const char *op, const Tensor &a) {
  if (!a.defined())
    failWith(codes::InvalidArgument, op, ": an operand is an undefined tensor");
}

// Errors and gradient nodes say `name`, what users call; `op` is the graph's.
Tensor unary(const char *name, const char *op, const Tensor &a, DType dtype) {
  Call call(name);
  call.elementwise().input(a, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0)})); });
}
Tensor floatUnary(const char *name, const char *op, const Tensor &a) {
  defined(name, a);
  return unary(name, op, a, floatType(a.dtype()));
}
Tensor floatUnary(const char *name, const Tensor &a) { return floatUnary(name, name, a); }
Tensor anyUnary(const char *op, const Tensor &a) {
  defined(op, a);
  if (a.dtype() == DType::Bool)
    failWith(Code::TypeMismatch, op, ": ", nameOf(a), " is bool; logicalNot() negates, to() converts");
  return unary(op, op, a, a.dtype());
}
/// floor, ceil, round: integers are whole already.
Tensor wholeUnary(const char *op, const Tensor &a) {
  defined(op, a);
  return isFloat(a.dtype()) ? unary(op, op, a, a.dtype()) : a.clone();
}

Tensor alphaUnary(const char *name, const char *op, const Tensor &a, double alpha) {
  defined(name, a);
  Call call(name);
  call.elementwise().attribute(alpha).input(a, floatType(a.dtype()));
  return call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0)}, text("alpha = ", number(alpha), " : f64"))); });
}
Tensor alphaBetaUnary(const char *name, const char *op, const Tensor &a, double alpha, double beta) {
  defined(name, a);
  Call call(name);
  call.elementwise().attribute(alpha).attribute(beta).input(a, a.dtype());
  return call.run([&](GraphBuilder &g) {
    g.result(g.op(op, {g.input(0)}, text("alpha = ", number(alpha), " : f64, beta = ", number(beta), " : f64")));
  });
}

Tensor binaryAs(const char *name, const char *op, const Tensor &a, const Tensor &b, DType dtype) {
  Call call(name);
  if (name != op)
    call.attribute(op);
  call.elementwise().input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0), g.input(1)})); });
}
Tensor binaryAs(const char *name, const char *op, const Tensor &a, Scalar b, DType dtype) {
  Call call(name);
  if (name != op)
    call.attribute(op);
  call.elementwise().input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0), g.input(1)})); });
}
Tensor binaryAs(const char *name, const char *op, Scalar a, const Tensor &b, DType dtype) {
  Call call(name);
  if (name != op)
    call.attribute(op);
  call.elementwise().input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0), g.input(1)})); });
}
template <typename B>
DType resultOf(const char *name, const Tensor &a, const B &b) {
  defined(name, a);
  if constexpr (std::derived_from<B, Tensor>)
    defined(name, b);
  return resultType(a, b);
}
template <typename B>
Tensor binary(const char *name, const char *op, const Tensor &a, const B &b) {
  return binaryAs(name, op, a, b, resultOf(name, a, b));
}
template <typename B>
Tensor binary(const char *name, const Tensor &a, const B &b) {
  return binary(name, name, a, b);
}
Tensor bitwise(const char *name, const char *op, const char *onBool, const Tensor &a, const Tensor &b) {
  DType dtype = resultOf(name, a, b);
  if (isFloat(dtype))
    failWith(Code::TypeMismatch, name, ": ", nameOf(a), " and ", nameOf(b), " are not both integers or bools");
  return binaryAs(name, dtype == DType::Bool ? onBool : op, a, b, dtype);
}

} // namespace

std::string eager::number(double value) {
  char buffer[40];
  if (std::isnan(value) || std::isinf(value))
    std::snprintf(buffer, sizeof buffer, "0x%016llX", static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  else
    std::snprintf(buffer, sizeof buffer, "%.17e", value);
  return buffer;
}

//===-- arithmetic ------------------------------------------------------------------------------------------------===//
Tensor add(const TensorArg &a, const Tensor &b, Scalar alpha) {
  OpScope scope("add");
  if (!alpha.isFloat() && alpha.toInt() == 1)
    return binary("add", a, b);
  DType dtype = resultType(a, b);
  if (alpha.isFloat() && !isFloat(dtype))
    failWith(Code::TypeMismatch, "add: alpha is a float and ", nameOf(a), " and ", nameOf(b), " are not");
  Call call("add");
  call.attribute(1);
  call.elementwise().input(a, dtype).input(b, dtype).input(alpha, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.add(g.input(0), g.mul(g.input(1), g.input(2)))); });
}
Tensor sub(const TensorArg &a, const Tensor &b, Scalar alpha) {
  OpScope scope("sub");
  if (a.defined() && b.defined() && a.dtype() == DType::Bool && b.dtype() == DType::Bool)
    failWith(Code::TypeMismatch, "sub: bools cannot be subtracted; logicalXor() or to(DType::I64) would do");
  if (!alpha.isFloat() && alpha.toInt() == 1)
    return binary("sub", a, b);
  DType dtype = resultType(a, b);
  Call call("sub");
  call.attribute(1);
  call.elementwise().input(a, dtype).input(b, dtype).input(alpha, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.sub(g.input(0), g.mul(g.input(1), g.input(2)))); });
}
Tensor mul(const TensorArg &a, const Tensor &b) { return binary("mul", a, b); }
Tensor div(const TensorArg &a, const Tensor &b) { return binaryAs("div", "div", a, b, floatType(resultOf("div", a, b))); }
Tensor div(const TensorArg &a, const Tensor &b, Rounding rounding) {
  OpScope scope("div");
  DType dtype = resultType(a, b);
  Call call("div");
  call.attribute(1 + static_cast<int>(rounding));
  call.elementwise().input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) {
    auto x = g.input(0), y = g.input(1);
    if (isFloat(dtype)) {
      auto quotient = g.div(x, y);
      if (rounding == Rounding::Floor) {
        // What the remainder leaves is divided, or 1 / 0.1 would round to 10 before it is floored, and -1 / inf to 0.
        auto zero = g.constant(0, dtype), one = g.constant(1, dtype), rest = g.op("rem", {x, y});
        auto exact = g.div(g.sub(x, rest), y);
        auto apart = g.op("xor", {g.op("less", {y, zero}), g.op("less", {rest, zero})});
        auto below = g.op("and", {g.op("not", {g.op("equal", {rest, zero})}), apart});
        exact = g.op("select", {below, g.sub(exact, one), exact});
        auto floor = g.op("floor", {exact});
        floor = g.op("select", {g.op("less", {g.constant(0.5, dtype), g.sub(exact, floor)}), g.add(floor, one), floor});
        floor = g.op("select", {g.op("equal", {exact, zero}), g.mul(zero, quotient), floor});
        return g.result(g.op("select", {g.op("equal", {y, zero}), quotient, floor}));
      }
      auto negative = g.op("less", {quotient, g.constant(0, dtype)});
      return g.result(g.op("select", {negative, g.op("ceil", {quotient}), g.op("floor", {quotient})}));
    }
    if (rounding == Rounding::Trunc)
      return g.result(g.div(x, y));
    // Exact after the remainder of the divisor's sign is taken off.
    g.result(g.div(g.sub(x, g.op("mod", {x, y})), y));
  });
}
Tensor remainder(const TensorArg &a, const Tensor &b) { return binary("remainder", "mod", a, b); }
Tensor remainder(const TensorArg &a, Scalar b) { return binary("remainder", "mod", a, b); }
Tensor fmod(const TensorArg &a, const Tensor &b) { return binary("fmod", "rem", a, b); }
Tensor pow(const TensorArg &a, const Tensor &b) { return binary("pow", a, b); }
Tensor maximum(const TensorArg &a, const Tensor &b) { return binary("maximum", "max", a, b); }
Tensor minimum(const TensorArg &a, const Tensor &b) { return binary("minimum", "min", a, b); }
Tensor atan2(const TensorArg &a, const Tensor &b) {
  OpScope scope("atan2");
  DType dtype = floatType(resultType(a, b));
  Call call("atan2");
  call.elementwise().input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) {
    auto y = g.input(0), x = g.input(1), zero = g.constant(0, dtype);
    auto base = g.op("atan", {g.div(y, x)});
    auto pi = g.constant(M_PI, dtype), half = g.constant(M_PI / 2, dtype);
    auto below = g.op("less", {y, zero});
    auto left = g.op("select", {below, g.sub(base, pi), g.add(base, pi)});
    auto turned = g.op("select", {g.op("less", {x, zero}), left, base});
    auto up = g.op("select", {below, g.op("neg", {half}), g.op("select", {g.op("greater", {y, zero}), half, zero})});
    g.result(g.op("select", {g.op("equal", {x, zero}), up, turned}));
  });
}
Tensor add(const TensorArg &a, Scalar b) { return binary("add", a, b); }
Tensor sub(const TensorArg &a, Scalar b) { return binary("sub", a, b); }
Tensor mul(const TensorArg &a, Scalar b) { return binary("mul", a, b); }
Tensor div(const TensorArg &a, Scalar b) { return binaryAs("div", "div", a, b, floatType(resultOf("div", a, b))); }
Tensor rsub(const TensorArg &a, Scalar b) { return binaryAs("rsub", "sub", b, a, resultOf("rsub", a, b)); }
Tensor rdiv(const TensorArg &a, Scalar b) { return binaryAs("rdiv", "div", b, a, floatType(resultOf("rdiv", a, b))); }
Tensor pow(const TensorArg &a, Scalar b) {
  OpScope scope("pow");
  defined("pow", a);
  DType dtype = resultType(a, b);
  if (b.toDouble() == 2)
    return square(a.to(dtype));
  if (b.toDouble() == 1)
    return a.to(dtype).clone();
  if (b.toDouble() == 0.5 && isFloat(dtype))
    return sqrt(a.to(dtype));
  return binaryAs("pow", "pow", a, b, dtype);
}
Tensor pow(Scalar a, const TensorArg &b) { return binaryAs("pow", "pow", a, b, resultOf("pow", b, a)); }
Tensor maximum(const TensorArg &a, Scalar b) { return binary("maximum", "max", a, b); }
Tensor minimum(const TensorArg &a, Scalar b) { return binary("minimum", "min", a, b); }

#define GRAPHC_COMPARISON(name, op)                                            \
  Tensor name(const TensorArg &a, const Tensor &b) { return binary(#name, op, a, b); }   \
  Tensor name(const TensorArg &a, Scalar b) { return binary(#name, op, a, b); }
GRAPHC_COMPARISON(eq, "equal")
GRAPHC_COMPARISON(ne, "not_equal")
GRAPHC_COMPARISON(lt, "less")
GRAPHC_COMPARISON(le, "less_equal")
GRAPHC_COMPARISON(gt, "greater")
GRAPHC_COMPARISON(ge, "greater_equal")
#undef GRAPHC_COMPARISON

Tensor logicalAnd(const TensorArg &a, const Tensor &b) { return binaryAs("logicalAnd", "and", a, b, DType::Bool); }
Tensor logicalOr(const TensorArg &a, const Tensor &b) { return binaryAs("logicalOr", "or", a, b, DType::Bool); }
Tensor logicalXor(const TensorArg &a, const Tensor &b) { return binaryAs("logicalXor", "xor", a, b, DType::Bool); }
Tensor logicalNot(const TensorArg &a) { return unary("logicalNot", "not", a, DType::Bool); }
Tensor bitwiseAnd(const TensorArg &a, const Tensor &b) { return bitwise("bitwiseAnd", "bitwise_and", "and", a, b); }
Tensor bitwiseOr(const TensorArg &a, const Tensor &b) { return bitwise("bitwiseOr", "bitwise_or", "or", a, b); }
Tensor bitwiseXor(const TensorArg &a, const Tensor &b) { return bitwise("bitwiseXor", "bitwise_xor", "xor", a, b); }
Tensor bitwiseNot(const TensorArg &a) {
  OpScope scope("bitwiseNot");
  if (isFloat(a.dtype()))
    failWith(Code::TypeMismatch, "bitwiseNot: ", nameOf(a), " is no integer or bool");
  return unary("bitwiseNot", a.dtype() == DType::Bool ? "not" : "bitwise_not", a, a.dtype());
}
Tensor shiftLeft(const TensorArg &a, const Tensor &b) { return bitwise("shiftLeft", "shift_left", "shift_left", a, b); }
Tensor shiftRight(const TensorArg &a, const Tensor &b) { return bitwise("shiftRight", "shift_right", "shift_right", a, b); }

//===-- choosing --------------------------------------------------------------------------------------------------===//
namespace {
template <typename A, typename B>
Tensor choose(const char *name, const char *what, const Tensor &condition, const A &a, const B &b, DType dtype) {
  defined(name, condition);
  if (condition.dtype() != DType::Bool)
    failWith(Code::TypeMismatch, name, ": the ", what, " ", nameOf(condition), " is not bool; compare it with 0");
  Call call(name);
  call.elementwise().input(condition).input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.op("select", {g.input(0), g.input(1), g.input(2)})); });
}
} // namespace
Tensor where(const TensorArg &condition, const Tensor &a, const Tensor &b) { return choose("where", "condition", condition, a, b, resultOf("where", a, b)); }
Tensor where(const TensorArg &condition, const Tensor &a, Scalar b) { return choose("where", "condition", condition, a, b, resultOf("where", a, b)); }
Tensor where(const TensorArg &condition, Scalar a, const Tensor &b) { return choose("where", "condition", condition, a, b, resultOf("where", b, a)); }
Tensor maskedFill(const TensorArg &a, const Tensor &mask, Scalar value) {
  OpScope scope("maskedFill");
  if (resultType(a, value) != a.dtype())
    failWith(Code::TypeMismatch, "maskedFill: the value is of a higher kind than ", nameOf(a));
  return choose("maskedFill", "mask", mask, value, a, a.dtype());
}
Tensor lerp(const TensorArg &start, const Tensor &end, Scalar weight) {
  OpScope scope("lerp");
  DType dtype = floatType(resultType(start, end));
  Call call("lerp");
  call.elementwise().input(start, dtype).input(end, dtype).input(weight, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.add(g.input(0), g.mul(g.input(2), g.sub(g.input(1), g.input(0))))); });
}
Tensor addcmul(const TensorArg &x, const Tensor &a, const Tensor &b, Scalar value) {
  OpScope scope("addcmul");
  DType dtype = promoteTypes(resultType(x, a), b.dtype());
  Call call("addcmul");
  call.elementwise().input(x, dtype).input(a, dtype).input(b, dtype).input(value, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.add(g.input(0), g.mul(g.input(3), g.mul(g.input(1), g.input(2))))); });
}
Tensor addcdiv(const TensorArg &x, const Tensor &a, const Tensor &b, Scalar value) {
  OpScope scope("addcdiv");
  DType dtype = floatType(promoteTypes(resultType(x, a), b.dtype()));
  Call call("addcdiv");
  call.elementwise().input(x, dtype).input(a, dtype).input(b, dtype).input(value, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.add(g.input(0), g.mul(g.input(3), g.div(g.input(1), g.input(2))))); });
}
Tensor clamp(const TensorArg &a, std::optional<Scalar> low, std::optional<Scalar> high) {
  OpScope scope("clamp");
  defined("clamp", a);
  if (!low && !high)
    failWith(codes::InvalidArgument, "clamp: neither bound is given");
  DType dtype = a.dtype();
  if (low)
    dtype = promoteTypes(dtype, resultType(a, *low));
  if (high)
    dtype = promoteTypes(dtype, resultType(a, *high));
  if (isFloat(dtype))
    return alphaBetaUnary("clamp", "clamp", a.to(dtype), low ? low->toDouble() : -INFINITY, high ? high->toDouble() : INFINITY);
  Tensor result = a.to(dtype);
  if (low)
    result = binaryAs("clamp", "max", result, *low, dtype);
  return high ? binaryAs("clamp", "min", result, *high, dtype) : result;
}

//===-- functions -------------------------------------------------------------------------------------------------===//
Tensor neg(const TensorArg &a) { return anyUnary("neg", a); }
Tensor abs(const TensorArg &a) { return anyUnary("abs", a); }
Tensor sign(const TensorArg &a) { return anyUnary("sign", a); }
Tensor exp(const TensorArg &a) { return floatUnary("exp", a); }
Tensor expm1(const TensorArg &a) { return floatUnary("expm1", a); }
Tensor log(const TensorArg &a) { return floatUnary("log", a); }
Tensor log1p(const TensorArg &a) { return floatUnary("log1p", a); }
Tensor sqrt(const TensorArg &a) { return floatUnary("sqrt", a); }
Tensor rsqrt(const TensorArg &a) { return floatUnary("rsqrt", a); }
Tensor reciprocal(const TensorArg &a) { return floatUnary("reciprocal", a); }
Tensor sin(const TensorArg &a) { return floatUnary("sin", a); }
Tensor cos(const TensorArg &a) { return floatUnary("cos", a); }
Tensor tan(const TensorArg &a) { return floatUnary("tan", a); }
Tensor asin(const TensorArg &a) { return floatUnary("asin", a); }
Tensor acos(const TensorArg &a) { return floatUnary("acos", a); }
Tensor atan(const TensorArg &a) { return floatUnary("atan", a); }
Tensor sinh(const TensorArg &a) { return floatUnary("sinh", a); }
Tensor cosh(const TensorArg &a) { return floatUnary("cosh", a); }
Tensor tanh(const TensorArg &a) { return floatUnary("tanh", a); }
Tensor asinh(const TensorArg &a) { return floatUnary("asinh", a); }
Tensor acosh(const TensorArg &a) { return floatUnary("acosh", a); }
Tensor atanh(const TensorArg &a) { return floatUnary("atanh", a); }
Tensor erf(const TensorArg &a) { return floatUnary("erf", a); }
Tensor floor(const TensorArg &a) { return wholeUnary("floor", a); }
Tensor ceil(const TensorArg &a) { return wholeUnary("ceil", a); }
Tensor round(const TensorArg &a) { return wholeUnary("round", a); }

namespace {
/// A formula of one operand.
template <typename Formula>
Tensor composed(const char *name, const Tensor &a, DType dtype, Formula &&formula) {
  Call call(name);
  call.elementwise().input(a, dtype);
  return call.run([&](GraphBuilder &g) { g.result(formula(g, g.input(0))); });
}
} // namespace
using Value = GraphBuilder::Value;
Tensor square(const TensorArg &a) {
  OpScope scope("square");
  return composed("square", a, a.dtype(), [](GraphBuilder &g, Value x) { return g.mul(x, x); });
}
Tensor exp2(const TensorArg &a) {
  OpScope scope("exp2");
  DType dtype = floatType(a.dtype());
  return composed("exp2", a, dtype, [&](GraphBuilder &g, Value x) { return g.op("exp", {g.mul(x, g.constant(M_LN2, dtype))}); });
}
Tensor log2(const TensorArg &a) {
  OpScope scope("log2");
  DType dtype = floatType(a.dtype());
  return composed("log2", a, dtype, [&](GraphBuilder &g, Value x) { return g.mul(g.op("log", {x}), g.constant(1 / M_LN2, dtype)); });
}
Tensor log10(const TensorArg &a) {
  OpScope scope("log10");
  DType dtype = floatType(a.dtype());
  return composed("log10", a, dtype, [&](GraphBuilder &g, Value x) { return g.mul(g.op("log", {x}), g.constant(1 / M_LN10, dtype)); });
}
Tensor erfc(const TensorArg &a) {
  OpScope scope("erfc");
  DType dtype = floatType(a.dtype());
  return composed("erfc", a, dtype, [&](GraphBuilder &g, Value x) { return g.sub(g.constant(1, dtype), g.op("erf", {x})); });
}
static Value truncated(GraphBuilder &g, Value x, DType dtype) {
  return g.op("select", {g.op("less", {x, g.constant(0, dtype)}), g.op("ceil", {x}), g.op("floor", {x})});
}
Tensor trunc(const TensorArg &a) {
  OpScope scope("trunc");
  if (!isFloat(a.dtype()))
    return a.clone();
  return composed("trunc", a, a.dtype(), [&](GraphBuilder &g, Value x) { return truncated(g, x, a.dtype()); });
}
Tensor frac(const TensorArg &a) {
  OpScope scope("frac");
  if (!isFloat(a.dtype()))
    failWith(Code::TypeMismatch, "frac: ", nameOf(a), " is no float");
  return composed("frac", a, a.dtype(), [&](GraphBuilder &g, Value x) { return g.sub(x, truncated(g, x, a.dtype())); });
}
Tensor isnan(const TensorArg &a) { return floatUnary("isnan", "is_nan", a); }
Tensor isinf(const TensorArg &a) { return floatUnary("isinf", "is_inf", a); }
Tensor isfinite(const TensorArg &a) {
  OpScope scope("isfinite");
  return composed("isfinite", a, floatType(a.dtype()),
                  [](GraphBuilder &g, Value x) { return g.op("not", {g.op("or", {g.op("is_nan", {x}), g.op("is_inf", {x})})}); });
}

//===-- activations -----------------------------------------------------------------------------------------------===//
Tensor relu(const TensorArg &a) { return anyUnary("relu", a); }
Tensor relu6(const TensorArg &a) { return alphaBetaUnary("relu6", "clamp", a, 0, 6); }
Tensor leakyRelu(const TensorArg &a, double slope) { return alphaUnary("leakyRelu", "leaky_relu", a, slope); }
Tensor prelu(const TensorArg &a, const Tensor &weight) {
  OpScope scope("prelu");
  defined("prelu", weight);
  if (weight.dim() > 1)
    failWith(Code::ShapeMismatch, "prelu: the weight ", nameOf(weight), " is no vector");
  Tensor w = weight;
  if (weight.numel() != 1) {
    if (a.dim() < 2 || a.size(1) != weight.numel())
      failWith(Code::ShapeMismatch, "prelu: the weight ", nameOf(weight), " does not fit the channels of ", nameOf(a));
    std::vector<int64_t> shape(static_cast<size_t>(a.dim()), 1);
    shape[1] = weight.numel();
    w = weight.reshape(shape);
  }
  return binary("prelu", a, w);
}
Tensor elu(const TensorArg &a, double alpha) { return alphaUnary("elu", "elu", a, alpha); }
Tensor celu(const TensorArg &a, double alpha) { return alphaUnary("celu", "celu", a, alpha); }
Tensor selu(const TensorArg &a) { return floatUnary("selu", a); }
Tensor gelu(const TensorArg &a, bool tanh) {
  OpScope scope("gelu");
  Call call("gelu");
  call.attribute(tanh).elementwise().input(a, floatType(a.dtype()));
  return call.run([&](GraphBuilder &g) { g.result(g.op("gelu", {g.input(0)}, tanh ? "tanh" : "")); });
}
Tensor silu(const TensorArg &a) { return floatUnary("silu", a); }
Tensor mish(const TensorArg &a) { return floatUnary("mish", a); }
Tensor sigmoid(const TensorArg &a) { return floatUnary("sigmoid", a); }
Tensor logSigmoid(const TensorArg &a) {
  OpScope scope("logSigmoid");
  return composed("logSigmoid", a, floatType(a.dtype()),
                  [](GraphBuilder &g, Value x) { return g.op("neg", {g.op("softplus", {g.op("neg", {x})})}); });
}
Tensor softplus(const TensorArg &a, double beta, double limit) {
  OpScope scope("softplus");
  DType dtype = floatType(a.dtype());
  Call call("softplus");
  call.elementwise().attribute(beta).attribute(limit).input(a, dtype);
  return call.run([&](GraphBuilder &g) {
    auto x = g.input(0);
    auto scaled = beta == 1 ? x : g.mul(x, g.constant(beta, dtype));
    auto soft = g.op("softplus", {scaled});
    if (beta != 1)
      soft = g.mul(soft, g.constant(1 / beta, dtype));
    g.result(g.op("select", {g.op("greater", {scaled, g.constant(limit, dtype)}), x, soft}));
  });
}
Tensor softsign(const TensorArg &a) { return floatUnary("softsign", a); }
Tensor softshrink(const TensorArg &a, double lambda) { return alphaBetaUnary("softshrink", "shrink", a, lambda, lambda); }
Tensor hardshrink(const TensorArg &a, double lambda) { return alphaBetaUnary("hardshrink", "shrink", a, 0, lambda); }
Tensor hardtanh(const TensorArg &a, double low, double high) { return alphaBetaUnary("hardtanh", "clamp", a, low, high); }
Tensor hardsigmoid(const TensorArg &a) { return alphaBetaUnary("hardsigmoid", "hard_sigmoid", a, 1.0 / 6, 0.5); }
Tensor hardswish(const TensorArg &a) { return floatUnary("hardswish", "hard_swish", a); }
Tensor threshold(const TensorArg &a, double limit, double value) {
  OpScope scope("threshold");
  return where(gt(a, limit), a, value);
}
Tensor tanhshrink(const TensorArg &a) {
  OpScope scope("tanhshrink");
  return composed("tanhshrink", a, floatType(a.dtype()), [](GraphBuilder &g, Value x) { return g.sub(x, g.op("tanh", {x})); });
}
Tensor glu(const TensorArg &a, int64_t dim) {
  OpScope scope("glu");
  int64_t d = wrapAxis("glu", dim, a.dim());
  if (a.dim() == 0 || a.size(d) % 2)
    failWith(Code::ShapeMismatch, "glu: axis ", d, " of ", nameOf(a), " cannot be halved");
  int64_t half = a.size(d) / 2;
  return a.narrow(d, 0, half) * sigmoid(a.narrow(d, half, half));
}

//===-- methods ---------------------------------------------------------------------------------------------------===//
Tensor Tensor::add(const TensorArg &other, Scalar alpha) const { return graphc::add(*this, other, alpha); }
Tensor Tensor::sub(const TensorArg &other, Scalar alpha) const { return graphc::sub(*this, other, alpha); }
Tensor Tensor::mul(const TensorArg &other) const { return graphc::mul(*this, other); }
Tensor Tensor::div(const TensorArg &other) const { return graphc::div(*this, other); }
Tensor Tensor::add(Scalar other) const { return graphc::add(*this, other); }
Tensor Tensor::sub(Scalar other) const { return graphc::sub(*this, other); }
Tensor Tensor::mul(Scalar other) const { return graphc::mul(*this, other); }
Tensor Tensor::div(Scalar other) const { return graphc::div(*this, other); }
Tensor Tensor::pow(Scalar exponent) const { return graphc::pow(*this, exponent); }
Tensor Tensor::pow(const TensorArg &exponent) const { return graphc::pow(*this, exponent); }
Tensor Tensor::maximum(const TensorArg &other) const { return graphc::maximum(*this, other); }
Tensor Tensor::minimum(const TensorArg &other) const { return graphc::minimum(*this, other); }
Tensor Tensor::clamp(std::optional<Scalar> low, std::optional<Scalar> high) const { return graphc::clamp(*this, low, high); }
Tensor Tensor::maskedFill(const TensorArg &mask, Scalar value) const { return graphc::maskedFill(*this, mask, value); }
Tensor Tensor::eq(const TensorArg &other) const { return graphc::eq(*this, other); }
Tensor Tensor::eq(Scalar other) const { return graphc::eq(*this, other); }
#define GRAPHC_METHOD(name) \
  Tensor Tensor::name() const { return graphc::name(*this); }
GRAPHC_METHOD(neg) GRAPHC_METHOD(abs) GRAPHC_METHOD(sign) GRAPHC_METHOD(exp) GRAPHC_METHOD(log) GRAPHC_METHOD(sqrt)
GRAPHC_METHOD(rsqrt) GRAPHC_METHOD(square) GRAPHC_METHOD(sin) GRAPHC_METHOD(cos) GRAPHC_METHOD(tanh) GRAPHC_METHOD(sigmoid)
GRAPHC_METHOD(relu) GRAPHC_METHOD(erf) GRAPHC_METHOD(floor) GRAPHC_METHOD(ceil) GRAPHC_METHOD(round) GRAPHC_METHOD(reciprocal)
#undef GRAPHC_METHOD

} // namespace graphc
