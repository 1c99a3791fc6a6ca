// The two 16-bit floats, as storage: converted to f32 to compute, rounded to nearest even on the way back.
#pragma once

#include <bit>
#include <cstdint>

namespace graphc {

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
/// One rounding from double: going through float would round twice.
uint16_t doubleToHalf(double value);

inline float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t floatToBfloat(float value);
uint16_t doubleToBfloat(double value);

struct Half {
  uint16_t bits;
  operator float() const { return halfToFloat(bits); }
  static Half from(float value) { return {floatToHalf(value)}; }
};

struct BFloat {
  uint16_t bits;
  operator float() const { return bfloatToFloat(bits); }
  static BFloat from(float value) { return {floatToBfloat(value)}; }
};

} // namespace graphc
