// What each scalar operation means, on doubles and on 64-bit integers that are wrapped to their width afterwards.
#pragma once
#include "codegen/reference/WideTensor.h"
#include "ir/graph/Element.h"
#include <cmath>
#include <limits>

namespace graphc::reference {

using graph::ScalarKind;

template <ScalarKind kind>
double floatUnary(double a) {
  if constexpr (kind == ScalarKind::Neg) return -a;
  if constexpr (kind == ScalarKind::Abs) return std::fabs(a);
  if constexpr (kind == ScalarKind::Sign) return std::isnan(a) ? a : double((a > 0) - (a < 0));
  if constexpr (kind == ScalarKind::Exp) return std::exp(a);
  if constexpr (kind == ScalarKind::Expm1) return std::expm1(a);
  if constexpr (kind == ScalarKind::Log) return std::log(a);
  if constexpr (kind == ScalarKind::Log1p) return std::log1p(a);
  if constexpr (kind == ScalarKind::Sqrt) return std::sqrt(a);
  if constexpr (kind == ScalarKind::Sin) return std::sin(a);
  if constexpr (kind == ScalarKind::Cos) return std::cos(a);
  if constexpr (kind == ScalarKind::Tan) return std::tan(a);
  if constexpr (kind == ScalarKind::Asin) return std::asin(a);
  if constexpr (kind == ScalarKind::Acos) return std::acos(a);
  if constexpr (kind == ScalarKind::Atan) return std::atan(a);
  if constexpr (kind == ScalarKind::Sinh) return std::sinh(a);
  if constexpr (kind == ScalarKind::Cosh) return std::cosh(a);
  if constexpr (kind == ScalarKind::Asinh) return std::asinh(a);
  if constexpr (kind == ScalarKind::Acosh) return std::acosh(a);
  if constexpr (kind == ScalarKind::Atanh) return std::atanh(a);
  if constexpr (kind == ScalarKind::Erf) return std::erf(a);
  if constexpr (kind == ScalarKind::Tanh) return std::tanh(a);
  if constexpr (kind == ScalarKind::Ceil) return std::ceil(a);
  if constexpr (kind == ScalarKind::Floor) return std::floor(a);
  if constexpr (kind == ScalarKind::RoundEven) return std::nearbyint(a);
  llvm_unreachable("not a unary operation on floats");
}

/// Max and min propagate NaN and order -0 below +0.
inline double floatMax(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline double floatMin(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <ScalarKind kind>
double floatBinary(double a, double b) {
  if constexpr (kind == ScalarKind::Add) return a + b;
  if constexpr (kind == ScalarKind::Sub) return a - b;
  if constexpr (kind == ScalarKind::Mul) return a * b;
  if constexpr (kind == ScalarKind::Div) return a / b;
  if constexpr (kind == ScalarKind::Pow) return std::pow(a, b);
  if constexpr (kind == ScalarKind::Max) return floatMax(a, b);
  if constexpr (kind == ScalarKind::Min) return floatMin(a, b);
  if constexpr (kind == ScalarKind::Rem) return std::fmod(a, b);
  if constexpr (kind == ScalarKind::Mod) {
    double m = std::fmod(a, b);
    if (m == 0)
      return std::copysign(m, b);
    return (m < 0) != (b < 0) ? m + b : m;
  }
  llvm_unreachable("not a binary operation on floats");
}

inline int64_t integerUnary(ScalarKind kind, int64_t a, ScalarType type) {
  switch (kind) {
  case ScalarKind::Neg: return static_cast<int64_t>(-static_cast<uint64_t>(a));
  case ScalarKind::Abs: return type.isUnsigned || a >= 0 ? a : static_cast<int64_t>(-static_cast<uint64_t>(a));
  case ScalarKind::Sign: return type.isUnsigned ? a != 0 : (a > 0) - (a < 0);
  case ScalarKind::BitNot: return ~a;
  case ScalarKind::Ceil:
  case ScalarKind::Floor:
  case ScalarKind::RoundEven: return a;
  default: llvm_unreachable("this unary operation is for floats only");
  }
}

inline int64_t integerPower(int64_t base, int64_t exponent, ScalarType type) {
  if (!type.isUnsigned && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = base;
  for (uint64_t left = exponent; left; left >>= 1, factor *= factor)
    if (left & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

/// Bools add to true; dividing by zero gives 0; the smallest integer divided by -1 wraps to itself.
template <ScalarKind kind>
int64_t integerBinary(int64_t a, int64_t b, ScalarType type) {
  uint64_t ua = a, ub = b;
  bool wide = type.isWideUnsigned();
  if constexpr (kind == ScalarKind::Add) return type.width == 1 ? a | b : static_cast<int64_t>(ua + ub);
  if constexpr (kind == ScalarKind::Sub) return static_cast<int64_t>(ua - ub);
  if constexpr (kind == ScalarKind::Mul) return static_cast<int64_t>(ua * ub);
  if constexpr (kind == ScalarKind::Div || kind == ScalarKind::Rem || kind == ScalarKind::Mod) {
    constexpr bool quotient = kind == ScalarKind::Div;
    if (b == 0)
      return 0;
    if (wide)
      return static_cast<int64_t>(quotient ? ua / ub : ua % ub);
    if (b == -1)
      return quotient ? static_cast<int64_t>(-ua) : 0;
    if (quotient)
      return a / b;
    int64_t r = a % b;
    return kind == ScalarKind::Mod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  if constexpr (kind == ScalarKind::Pow) return integerPower(a, b, type);
  if constexpr (kind == ScalarKind::Max) return (wide ? ua > ub : a > b) ? a : b;
  if constexpr (kind == ScalarKind::Min) return (wide ? ua < ub : a < b) ? a : b;
  if constexpr (kind == ScalarKind::And) return a & b;
  if constexpr (kind == ScalarKind::Or) return a | b;
  if constexpr (kind == ScalarKind::Xor) return a ^ b;
  // A shift by the width or more shifts everything out.
  if constexpr (kind == ScalarKind::ShiftLeft) return ub >= type.width ? 0 : static_cast<int64_t>(ua << ub);
  if constexpr (kind == ScalarKind::ShiftRight) {
    if (ub >= type.width)
      return !type.isUnsigned && a < 0 ? -1 : 0;
    return wide ? static_cast<int64_t>(ua >> ub) : a >> b;
  }
  llvm_unreachable("not a binary operation on integers");
}

} // namespace graphc::reference
