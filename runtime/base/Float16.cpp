#include "runtime/base/Float16.h"

#include <cmath>

namespace graphc {

float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    // Subnormal: mantissa · 2^-24 is exact in f32.
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | ((bits >> 13) & 0x3ff));
  if (bits >= 0x477ff000) // 65520 and above round to infinity
    return sign | 0x7c00;
  if (bits < 0x38800000) {
    // Subnormal result: adding 0.5 aligns the mantissa so that the hardware does the rounding.
    float aligned = std::bit_cast<float>(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000));
  }
  bits += 0xfff + ((bits >> 13) & 1);
  return static_cast<uint16_t>(sign | ((bits - 0x38000000) >> 13));
}

uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Rounds to f32 by "round to odd", which keeps enough information for one correct second rounding.
static float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (!std::isfinite(value) || static_cast<double>(nearest) == value)
    return nearest;
  float towardZero = nearest;
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    towardZero = std::nextafter(nearest, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(towardZero) | 1u);
}

uint16_t doubleToHalf(double value) { return floatToHalf(roundToOdd(value)); }
uint16_t doubleToBfloat(double value) { return floatToBfloat(roundToOdd(value)); }

} // namespace graphc
