// One row per instruction form: PTX in inline assembly, and what it must compute, written independently on the host.
//
// Rows run on edge values and random ones, in full and partial warps; lanes that take no part must stay untouched.
#include "test/unit/cudasim-conformance/Driver.h"

#include <cfenv>
#include <cmath>
#include <functional>
#include <random>

namespace graphc::cudasim::conformance {
namespace {

using Bits = uint64_t;
using Reference = std::function<Bits(Bits, Bits, Bits)>;

struct Row {
  const char *text;   ///< operands %0 = result, %1 …; or whole statements between braces
  const char *types;  ///< result, then sources: h r l f d
  Reference reference;
  double tolerance = 0; ///< relative, for approximate functions; 0 compares bits
  int minimum = 80;     ///< compute capability
  const char *inputs = nullptr; ///< "small": floats of moderate size; "shift": third operand below 40
};

template <class To, class From>
To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
float f(Bits b) { return as<float>(uint32_t(b)); }
double d(Bits b) { return as<double>(b); }
Bits fb(float v) { return std::isnan(v) ? 0x7FFFFFFF : as<uint32_t>(v); }
Bits db(double v) { return as<uint64_t>(v); }
uint32_t u(Bits b) { return uint32_t(b); }
int32_t s(Bits b) { return int32_t(b); }
uint16_t uh(Bits b) { return uint16_t(b); }
int16_t sh(Bits b) { return int16_t(b); }
int64_t sl(Bits b) { return int64_t(b); }
Bits r32(int64_t v) { return uint32_t(v); }
Bits r16(int64_t v) { return uint16_t(v); }

template <class F>
auto rounded(int mode, F fn) {
  int before = fegetround();
  fesetround(mode);
  auto result = fn();
  fesetround(before);
  return result;
}
float vf(float x) { volatile float v = x; return v; }
double vd(double x) { volatile double v = x; return v; }

// Reference conversions by search over neighbours, not by the arithmetic the simulator uses.
double halfValue(uint16_t h, int mantissa, int bias) {
  int exponentBits = 15 - mantissa, exponent = (h >> mantissa) & ((1 << exponentBits) - 1), fraction = h & ((1 << mantissa) - 1);
  double v;
  if (exponent == (1 << exponentBits) - 1)
    v = fraction ? NAN : INFINITY;
  else
    v = exponent ? std::ldexp(1.0 + double(fraction) / (1 << mantissa), exponent - bias)
                 : std::ldexp(double(fraction) / (1 << mantissa), 1 - bias);
  return h & 0x8000 ? -v : v;
}
uint16_t nearestHalf(double v, int mantissa, int bias, bool truncate = false) {
  if (std::isnan(v))
    return 0x7FFF;
  uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  double m = std::fabs(v);
  uint16_t infinity = uint16_t(((1 << (15 - mantissa)) - 1) << mantissa);
  if (std::isinf(v))
    return sign | infinity;
  // Largest encoding whose value does not exceed m.
  uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    uint16_t middle = uint16_t((low + high) / 2);
    (halfValue(middle, mantissa, bias) <= m ? low : high) = middle;
  }
  if (truncate)
    return sign | low;
  double below = halfValue(low, mantissa, bias);
  double above = high == infinity ? std::ldexp(1.0, bias + 1) : halfValue(high, mantissa, bias);
  double gapLow = m - below, gapHigh = above - m;
  return sign | (gapLow < gapHigh ? low : gapHigh < gapLow ? high : (low & 1) ? high : low);
}
double h(Bits b) { return halfValue(uint16_t(b), 10, 15); }
double bh(Bits b) { return halfValue(uint16_t(b), 7, 127); }
Bits hb(double v) { return nearestHalf(v, 10, 15); }
Bits bb(double v) { return nearestHalf(v, 7, 127); }
template <class F>
Reference packedHalf(F fn) {
  return [fn](Bits a, Bits b, Bits c) {
    return Bits(hb(fn(h(a), h(b), h(c)))) | Bits(hb(fn(h(a >> 16), h(b >> 16), h(c >> 16)))) << 16;
  };
}
template <class F>
Reference packedBf16(F fn) {
  return [fn](Bits a, Bits b, Bits c) {
    return Bits(bb(fn(bh(a), bh(b), bh(c)))) | Bits(bb(fn(bh(a >> 16), bh(b >> 16), bh(c >> 16)))) << 16;
  };
}

bool isOutside(Bits half) { return uint16_t(half) == 0x7FF7; }
template <class F>
Bits halves(Bits a, Bits b, Bits c, F fn) { return fn(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) | fn(a >> 16 & 0xFFFF, b >> 16 & 0xFFFF, c >> 16 & 0xFFFF) << 16; }

template <class T>
T minimumOf(T a, T b, bool isMax, bool nanWins) {
  if (std::isnan(a) || std::isnan(b))
    return nanWins || (std::isnan(a) && std::isnan(b)) ? T(NAN) : std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) != (isMax ? true : false) ? a : b;
  return isMax ? std::max(a, b) : std::min(a, b);
}

template <class To>
Bits toInteger(double v, int rounding, bool isF64) {
  if (std::isnan(v))
    return !isF64 && sizeof(To) < 8 ? 0 : Bits(1) << (sizeof(To) * 8 - 1);
  double r = rounded(rounding, [&] { return std::nearbyint(vd(v)); });
  double low = double(std::numeric_limits<To>::min());
  if (r < low)
    return std::make_unsigned_t<To>(std::numeric_limits<To>::min());
  if (r >= std::ldexp(1.0, int(sizeof(To) * 8) - (std::is_signed_v<To> ? 1 : 0)))
    return std::make_unsigned_t<To>(std::numeric_limits<To>::max());
  return std::make_unsigned_t<To>(To(r));
}

// 8-bit floats, by listing their values.
double byteValue(unsigned byte, bool isE5m2) {
  int mantissa = isE5m2 ? 2 : 3, bias = isE5m2 ? 15 : 7, exponent = int(byte >> mantissa & (isE5m2 ? 31 : 15)), fraction = int(byte) & ((1 << mantissa) - 1);
  double v = exponent ? std::ldexp(double((1 << mantissa) + fraction), exponent - bias - mantissa) : std::ldexp(double(fraction), 1 - bias - mantissa);
  if (isE5m2 ? exponent == 31 : (byte & 127) == 127)
    v = isE5m2 && !fraction ? INFINITY : NAN;
  return byte & 128 ? -v : v;
}
unsigned nearestByte(double v, bool isE5m2) { // saturating to the largest finite value
  if (std::isnan(v))
    return 0x7F;
  unsigned best = 0, last = isE5m2 ? 0x7B : 0x7E;
  double m = std::min(std::fabs(v), byteValue(last, isE5m2));
  for (unsigned code = 1; code <= last; ++code) {
    double d = std::fabs(byteValue(code, isE5m2) - m), e = std::fabs(byteValue(best, isE5m2) - m);
    if (d < e || (d == e && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(v) ? 128 : 0);
}
int byteAt(Bits v, int k) { return uint8_t(v >> (8 * k)); }

#define R [](Bits a, Bits b, Bits c) -> Bits { (void)a; (void)b; (void)c; return
#define E ; }

const std::vector<Row> &rows() {
  static const std::vector<Row> table = {
      // integers
      {"add.u32 %0, %1, %2;", "rrr", R u(a) + u(b) E}, {"add.s16 %0, %1, %2;", "hhh", R r16(sh(a) + sh(b)) E},
      {"add.u64 %0, %1, %2;", "lll", R a + b E}, {"sub.s32 %0, %1, %2;", "rrr", R u(a) - u(b) E},
      {"sub.u64 %0, %1, %2;", "lll", R a - b E}, {"sub.u16 %0, %1, %2;", "hhh", R r16(uh(a) - uh(b)) E},
      {"add.sat.s32 %0, %1, %2;", "rrr", R r32(std::clamp<int64_t>(int64_t(s(a)) + s(b), INT32_MIN, INT32_MAX)) E},
      {"sub.sat.s32 %0, %1, %2;", "rrr", R r32(std::clamp<int64_t>(int64_t(s(a)) - s(b), INT32_MIN, INT32_MAX)) E},
      {"mul.lo.u32 %0, %1, %2;", "rrr", R u(a) * u(b) E}, {"mul.lo.s64 %0, %1, %2;", "lll", R a * b E},
      {"mul.lo.u16 %0, %1, %2;", "hhh", R r16(uint32_t(uh(a)) * uh(b)) E},
      {"mul.hi.u32 %0, %1, %2;", "rrr", R (uint64_t(u(a)) * u(b)) >> 32 E},
      {"mul.hi.s32 %0, %1, %2;", "rrr", R r32((int64_t(s(a)) * s(b)) >> 32) E},
      {"mul.hi.u64 %0, %1, %2;", "lll", R Bits(((unsigned __int128)a * b) >> 64) E},
      {"mul.hi.s64 %0, %1, %2;", "lll", R Bits(((__int128)sl(a) * sl(b)) >> 64) E},
      {"mul.hi.u16 %0, %1, %2;", "hhh", R (uint32_t(uh(a)) * uh(b)) >> 16 E},
      {"mul.wide.u32 %0, %1, %2;", "lrr", R uint64_t(u(a)) * u(b) E},
      {"mul.wide.s32 %0, %1, %2;", "lrr", R Bits(int64_t(s(a)) * s(b)) E},
      {"mul.wide.u16 %0, %1, %2;", "rhh", R uint32_t(uh(a)) * uh(b) E},
      {"mul.wide.s16 %0, %1, %2;", "rhh", R r32(int32_t(sh(a)) * sh(b)) E},
      {"mad.lo.s32 %0, %1, %2, %3;", "rrrr", R u(a) * u(b) + u(c) E},
      {"mad.lo.u64 %0, %1, %2, %3;", "llll", R a * b + c E},
      {"mad.hi.u32 %0, %1, %2, %3;", "rrrr", R u(((uint64_t(u(a)) * u(b)) >> 32) + u(c)) E},
      {"mad.wide.u32 %0, %1, %2, %3;", "lrrl", R uint64_t(u(a)) * u(b) + c E},
      {"mad.wide.s32 %0, %1, %2, %3;", "lrrl", R Bits(int64_t(s(a)) * s(b)) + c E},
      {"mad.wide.s16 %0, %1, %2, %3;", "rhhr", R u(int32_t(sh(a)) * sh(b)) + u(c) E},
      {"mul24.lo.u32 %0, %1, %2;", "rrr", R (u(a) & 0xFFFFFF) * (u(b) & 0xFFFFFF) E},
      {"mul24.lo.s32 %0, %1, %2;", "rrr", R u((s(a << 8) >> 8) * int64_t(s(b << 8) >> 8)) E},
      {"mad24.lo.u32 %0, %1, %2, %3;", "rrrr", R u((u(a) & 0xFFFFFF) * (u(b) & 0xFFFFFF) + u(c)) E},
      {"div.u32 %0, %1, %2;", "rrr", R u(b) ? u(a) / u(b) : 0xFFFFFFFFu E},
      {"div.s32 %0, %1, %2;", "rrr", R s(b) == 0 ? 0xFFFFFFFFu : s(b) == -1 ? 0u - u(a) : u(s(a) / s(b)) E},
      {"div.u64 %0, %1, %2;", "lll", R b ? a / b : ~Bits(0) E},
      {"div.s64 %0, %1, %2;", "lll", R b == 0 ? ~Bits(0) : sl(b) == -1 ? 0 - a : Bits(sl(a) / sl(b)) E},
      {"div.s16 %0, %1, %2;", "hhh", R uh(b) == 0 ? 0xFFFF : r16(sh(a) / sh(b)) E},
      {"rem.u32 %0, %1, %2;", "rrr", R u(b) ? u(a) % u(b) : u(a) E},
      {"rem.s32 %0, %1, %2;", "rrr", R s(b) == 0 ? u(a) : s(b) == -1 ? 0 : u(s(a) % s(b)) E},
      {"rem.u64 %0, %1, %2;", "lll", R b ? a % b : a E},
      {"abs.s32 %0, %1;", "rr", R s(a) < 0 ? 0u - u(a) : u(a) E}, {"abs.s64 %0, %1;", "ll", R sl(a) < 0 ? 0 - a : a E},
      {"neg.s32 %0, %1;", "rr", R 0u - u(a) E}, {"neg.s16 %0, %1;", "hh", R r16(-sh(a)) E},
      {"min.s32 %0, %1, %2;", "rrr", R r32(std::min(s(a), s(b))) E}, {"max.u32 %0, %1, %2;", "rrr", R std::max(u(a), u(b)) E},
      {"min.u64 %0, %1, %2;", "lll", R std::min(a, b) E}, {"max.s64 %0, %1, %2;", "lll", R Bits(std::max(sl(a), sl(b))) E},
      {"max.s16 %0, %1, %2;", "hhh", R r16(std::max(sh(a), sh(b))) E}, {"min.u16 %0, %1, %2;", "hhh", R std::min(uh(a), uh(b)) E},
      {"and.b32 %0, %1, %2;", "rrr", R u(a) & u(b) E}, {"or.b64 %0, %1, %2;", "lll", R a | b E},
      {"xor.b16 %0, %1, %2;", "hhh", R uh(a) ^ uh(b) E}, {"not.b32 %0, %1;", "rr", R ~u(a) E}, {"not.b16 %0, %1;", "hh", R uh(~a) E},
      {"cnot.b32 %0, %1;", "rr", R u(a) == 0 E},
      {"shl.b32 %0, %1, %2;", "rrr", R u(b) > 31 ? 0 : u(a) << u(b) E, 0, 80, "shift"},
      {"shl.b64 %0, %1, %2;", "llr", R u(b) > 63 ? 0 : a << u(b) E, 0, 80, "shift"},
      {"shl.b16 %0, %1, %2;", "hhr", R u(b) > 15 ? 0 : uh(a << u(b)) E, 0, 80, "shift"},
      {"shr.u32 %0, %1, %2;", "rrr", R u(b) > 31 ? 0 : u(a) >> u(b) E, 0, 80, "shift"},
      {"shr.s32 %0, %1, %2;", "rrr", R u(s(a) >> std::min(u(b), 31u)) E, 0, 80, "shift"},
      {"shr.s64 %0, %1, %2;", "llr", R Bits(sl(a) >> std::min(u(b), 63u)) E, 0, 80, "shift"},
      {"shr.s16 %0, %1, %2;", "hhr", R r16(sh(a) >> std::min(u(b), 15u)) E, 0, 80, "shift"},
      {"shr.u64 %0, %1, %2;", "llr", R u(b) > 63 ? 0 : a >> u(b) E},
      {"shf.l.wrap.b32 %0, %1, %2, %3;", "rrrr", R u(((b << 32 | u(a)) << (u(c) & 31)) >> 32) E},
      {"shf.r.wrap.b32 %0, %1, %2, %3;", "rrrr", R u((b << 32 | u(a)) >> (u(c) & 31)) E},
      {"shf.l.clamp.b32 %0, %1, %2, %3;", "rrrr", R u(c) >= 32 ? u(a) : u(((b << 32 | u(a)) << u(c)) >> 32) E, 0, 80, "shift"},
      {"shf.r.clamp.b32 %0, %1, %2, %3;", "rrrr", R u((b << 32 | u(a)) >> std::min(u(c), 32u)) E, 0, 80, "shift"},
      {"popc.b32 %0, %1;", "rr", R Bits(__builtin_popcount(u(a))) E}, {"popc.b64 %0, %1;", "rl", R Bits(__builtin_popcountll(a)) E},
      {"clz.b32 %0, %1;", "rr", R u(a) ? Bits(__builtin_clz(u(a))) : 32 E}, {"clz.b64 %0, %1;", "rl", R a ? Bits(__builtin_clzll(a)) : 64 E},
      {"bfind.u32 %0, %1;", "rr", R u(a) ? Bits(31 - __builtin_clz(u(a))) : 0xFFFFFFFF E},
      {"bfind.s32 %0, %1;", "rr", R (s(a) < 0 ? ~u(a) : u(a)) ? Bits(31 - __builtin_clz(s(a) < 0 ? ~u(a) : u(a))) : 0xFFFFFFFF E},
      {"bfind.shiftamt.u32 %0, %1;", "rr", R u(a) ? Bits(__builtin_clz(u(a))) : 0xFFFFFFFF E},
      {"bfind.u64 %0, %1;", "rl", R a ? Bits(63 - __builtin_clzll(a)) : 0xFFFFFFFF E},
      {"brev.b32 %0, %1;", "rr", R [](uint32_t x) { uint32_t y = 0; for (int i = 0; i < 32; ++i) y |= ((x >> i) & 1) << (31 - i); return Bits(y); }(u(a)) E},
      {"brev.b64 %0, %1;", "ll", R [](Bits x) { Bits y = 0; for (int i = 0; i < 64; ++i) y |= ((x >> i) & 1) << (63 - i); return y; }(a) E},
      {"bfe.u32 %0, %1, %2, 8;", "rrr", R (u(b) & 255) > 31 ? 0 : (u(a) >> (u(b) & 255)) & 255 E, 0, 80, "shift"},
      {"bfe.s32 %0, %1, 4, %2;", "rrr", R [](int32_t x, uint32_t n) -> Bits { n &= 255; if (!n) return 0; int64_t wide = x; return r32(n >= 28 ? wide >> 4 : int64_t(uint64_t(wide) << (60 - n)) >> (64 - n)); }(s(a), u(b)) E, 0, 80, "shift"},
      {"bfe.u64 %0, %1, %2, 12;", "llr", R (u(b) & 255) > 63 ? 0 : (a >> (u(b) & 255)) & 0xFFF E, 0, 80, "shift"},
      {"bfi.b32 %0, %1, %2, 5, 9;", "rrr", R (u(b) & ~(0x1FFu << 5)) | ((u(a) & 0x1FF) << 5) E},
      {"bfi.b32 %0, %1, %2, %3, 20;", "rrrr", R [](uint32_t x, uint32_t y, uint32_t p) -> Bits { p &= 255; if (p > 31) return y; uint64_t m = uint64_t(0xFFFFF) << p; return u((y & ~m) | ((uint64_t(x) << p) & m)); }(u(a), u(b), u(c)) E, 0, 80, "shift"},
      {"bfi.b64 %0, %1, %2, 30, 20;", "lll", R (b & ~(Bits(0xFFFFF) << 30)) | ((a & 0xFFFFF) << 30) E},
      {"sad.u32 %0, %1, %2, %3;", "rrrr", R u(c) + (u(a) < u(b) ? u(b) - u(a) : u(a) - u(b)) E},
      {"sad.s32 %0, %1, %2, %3;", "rrrr", R u(u(c) + (s(a) < s(b) ? u(b) - u(a) : u(a) - u(b))) E},
      {"prmt.b32 %0, %1, %2, 0x5140;", "rrr", R [](uint32_t x, uint32_t y) -> Bits { return (x & 255) | (y & 255) << 8 | ((x >> 8) & 255) << 16 | ((y >> 8) & 255) << 24; }(u(a), u(b)) E},
      {"prmt.b32 %0, %1, %2, 0xBA98;", "rrr", R [](uint32_t x) -> Bits { uint32_t y = 0; for (int i = 0; i < 4; ++i) y |= ((x >> (8 * i + 7)) & 1 ? 255u : 0u) << (8 * i); return y; }(u(a)) E},
      {"prmt.b32.f4e %0, %1, %2, %3;", "rrrr", R u((b << 32 | u(a)) >> (8 * (u(c) & 3))) E},
      {"prmt.b32.rc8 %0, %1, %2, %3;", "rrrr", R 0x01010101u * ((u(a) >> (8 * (u(c) & 3))) & 255) E},
      {"prmt.b32.rc16 %0, %1, %2, %3;", "rrrr", R 0x00010001u * ((u(a) >> (16 * (u(c) & 1))) & 0xFFFF) E},
      {"lop3.b32 %0, %1, %2, %3, 0x96;", "rrrr", R u(a) ^ u(b) ^ u(c) E},
      {"lop3.b32 %0, %1, %2, %3, 0xE8;", "rrrr", R (u(a) & u(b)) | (u(a) & u(c)) | (u(b) & u(c)) E},
      {"lop3.b32 %0, %1, %2, %3, 0xCA;", "rrrr", R (u(a) & u(b)) | (~u(a) & u(c)) E},
      {"dp4a.s32.s32 %0, %1, %2, %3;", "rrrr", R [](Bits x, Bits y, Bits z) -> Bits { uint32_t t = u(z); for (int i = 0; i < 4; ++i) t += u(int8_t(x >> 8 * i) * int8_t(y >> 8 * i)); return t; }(a, b, c) E},
      {"dp4a.u32.u32 %0, %1, %2, %3;", "rrrr", R [](Bits x, Bits y, Bits z) -> Bits { uint32_t t = u(z); for (int i = 0; i < 4; ++i) t += uint8_t(x >> 8 * i) * uint8_t(y >> 8 * i); return t; }(a, b, c) E},
      {"dp4a.s32.u32 %0, %1, %2, %3;", "rrrr", R [](Bits x, Bits y, Bits z) -> Bits { uint32_t t = u(z); for (int i = 0; i < 4; ++i) t += u(int8_t(x >> 8 * i) * int32_t(uint8_t(y >> 8 * i))); return t; }(a, b, c) E},
      {"dp2a.lo.s32.s32 %0, %1, %2, %3;", "rrrr", R u(u(c) + sh(a) * int8_t(b) + sh(a >> 16) * int8_t(b >> 8)) E},
      {"dp2a.hi.u32.u32 %0, %1, %2, %3;", "rrrr", R u(u(c) + uh(a) * uint32_t(uint8_t(b >> 16)) + uh(a >> 16) * uint32_t(uint8_t(b >> 24))) E},
      {"{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0; }", "rrrr", R u(c + (u(a) > 0xFFFFFFFFu - u(b))) E},
      {"{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0; }", "rrrr", R u(u(c) - (u(a) < u(b))) E},
      {"{ .reg .u32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, 0; }", "rrrr", R u((uint64_t(u(a)) * u(b) + u(c)) >> 32) E},
      {"{ .reg .u64 t; add.cc.u64 t, %1, %2; addc.u64 %0, %3, 0; }", "llll", R c + (a > ~b) E},
      // selection and comparison
      {"{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, %1, %3, p; }", "rrrr", R s(a) < s(b) ? u(a) : u(c) E},
      {"{ .reg .pred p; setp.hi.u32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rrr", R u(a) > u(b) E},
      {"{ .reg .pred p, q; setp.ge.u64 p|q, %1, %2; selp.u64 %0, %1, %3, q; }", "llll", R a >= b ? c : a E},
      {"{ .reg .pred p, q; setp.eq.b32 q, %3, 0; setp.ne.and.b32 p, %1, %2, !q; selp.u32 %0, 1, 0, p; }", "rrrr", R u(a) != u(b) && u(c) != 0 E},
      {"{ .reg .pred p, q; setp.gt.s32 q, %3, 0; setp.lt.xor.s16 p, %1, %2, q; selp.u32 %0, 1, 0, p; }", "rhhr", R (sh(a) < sh(b)) != (s(c) > 0) E},
      {"{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R f(a) < f(b) E},
      {"{ .reg .pred p; setp.ne.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R f(a) < f(b) || f(a) > f(b) E},
      {"{ .reg .pred p; setp.neu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R !(f(a) == f(b)) E},
      {"{ .reg .pred p; setp.equ.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R f(a) == f(b) || std::isunordered(f(a), f(b)) E},
      {"{ .reg .pred p; setp.geu.f64 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rdd", R !(d(a) < d(b)) E},
      {"{ .reg .pred p; setp.gtu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R !(f(a) <= f(b)) E},
      {"{ .reg .pred p; setp.ltu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R !(f(a) >= f(b)) E},
      {"{ .reg .pred p; setp.leu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R !(f(a) > f(b)) E},
      {"{ .reg .pred p; setp.num.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R !std::isunordered(f(a), f(b)) E},
      {"{ .reg .pred p; setp.nan.f64 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rdd", R std::isunordered(d(a), d(b)) E},
      {"{ .reg .pred p; setp.le.ftz.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff", R [](float x, float y) { auto z = [](float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; }; return Bits(z(x) <= z(y)); }(f(a), f(b)) E},
      {"{ .reg .pred p; setp.lt.f16 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rhh", R h(a) < h(b) E},
      {"{ .reg .pred p, q; setp.gt.f16x2 p|q, %1, %2; selp.u32 %0, 1, 0, p; @q add.u32 %0, %0, 2; }", "rrr", R Bits(h(a) > h(b)) | Bits(h(a >> 16) > h(b >> 16)) << 1 E},
      {"set.lt.u32.s32 %0, %1, %2;", "rrr", R s(a) < s(b) ? 0xFFFFFFFFu : 0 E}, {"set.gt.f32.f32 %0, %1, %2;", "fff", R f(a) > f(b) ? 0x3F800000 : 0 E},
      {"slct.s32.s32 %0, %1, %2, %3;", "rrrr", R s(c) >= 0 ? u(a) : u(b) E},
      {"{ .reg .pred p, q; setp.lt.s32 p, %1, 0; setp.lt.s32 q, %2, 0; and.pred p, p, q; not.pred q, p; selp.u32 %0, 3, 5, q; }", "rrr", R !(s(a) < 0 && s(b) < 0) ? 3 : 5 E},
      {"{ .reg .pred p, q; setp.lt.s32 p, %1, 0; setp.lt.s32 q, %2, 0; xor.pred p, p, q; mov.pred q, p; selp.u32 %0, 3, 5, q; }", "rrr", R (s(a) < 0) != (s(b) < 0) ? 3 : 5 E},
      {"{ .reg .pred p, q; setp.lt.s32 p, %1, 0; setp.lt.s32 q, %2, 0; or.pred p, p, q; selp.u32 %0, 3, 5, p; }", "rrr", R s(a) < 0 || s(b) < 0 ? 3 : 5 E},
      // moves
      {"mov.b64 %0, {%1, %2};", "lrr", R u(a) | Bits(u(b)) << 32 E},
      {"{ .reg .b32 lo, hi; mov.b64 {lo, hi}, %1; sub.u32 %0, hi, lo; }", "rl", R u(u(a >> 32) - u(a)) E},
      {"{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }", "rr", R u(a << 16) | u(a) >> 16 E},
      {"{ .reg .b16 p, q, r, s; mov.b64 {p, q, r, s}, %1; mov.b64 %0, {s, r, q, p}; }", "ll", R a >> 48 | (a >> 32 & 0xFFFF) << 16 | (a >> 16 & 0xFFFF) << 32 | a << 48 E},
      // f32
      {"add.rn.f32 %0, %1, %2;", "fff", R fb(f(a) + f(b)) E}, {"sub.f32 %0, %1, %2;", "fff", R fb(f(a) - f(b)) E},
      {"mul.rn.f32 %0, %1, %2;", "fff", R fb(f(a) * f(b)) E}, {"fma.rn.f32 %0, %1, %2, %3;", "ffff", R fb(std::fma(f(a), f(b), f(c))) E},
      {"add.rz.f32 %0, %1, %2;", "fff", R fb(rounded(FE_TOWARDZERO, [&] { return vf(vf(f(a)) + vf(f(b))); })) E},
      {"add.rm.f32 %0, %1, %2;", "fff", R fb(rounded(FE_DOWNWARD, [&] { return vf(vf(f(a)) + vf(f(b))); })) E},
      {"add.rp.f32 %0, %1, %2;", "fff", R fb(rounded(FE_UPWARD, [&] { return vf(vf(f(a)) + vf(f(b))); })) E},
      {"mul.rz.f32 %0, %1, %2;", "fff", R fb(rounded(FE_TOWARDZERO, [&] { return vf(vf(f(a)) * vf(f(b))); })) E},
      {"mul.rp.f32 %0, %1, %2;", "fff", R fb(rounded(FE_UPWARD, [&] { return vf(vf(f(a)) * vf(f(b))); })) E},
      {"fma.rz.f32 %0, %1, %2, %3;", "ffff", R fb(rounded(FE_TOWARDZERO, [&] { return std::fma(vf(f(a)), vf(f(b)), vf(f(c))); })) E},
      {"fma.rm.f32 %0, %1, %2, %3;", "ffff", R fb(rounded(FE_DOWNWARD, [&] { return std::fma(vf(f(a)), vf(f(b)), vf(f(c))); })) E},
      {"add.ftz.f32 %0, %1, %2;", "fff", R [](float x, float y) { auto z = [](float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; }; return fb(z(z(x) + z(y))); }(f(a), f(b)) E},
      {"add.sat.f32 %0, %1, %2;", "fff", R [](float v) { return v > 0 ? (v < 1 ? fb(v) : fb(1.0f)) : Bits(0); }(f(a) + f(b)) E},
      {"div.rn.f32 %0, %1, %2;", "fff", R fb(f(a) / f(b)) E}, {"div.rz.f32 %0, %1, %2;", "fff", R fb(rounded(FE_TOWARDZERO, [&] { return vf(vf(f(a)) / vf(f(b))); })) E},
      {"rcp.rn.f32 %0, %1;", "ff", R fb(1.0f / f(a)) E}, {"sqrt.rn.f32 %0, %1;", "ff", R fb(std::sqrt(f(a))) E},
      {"sqrt.rp.f32 %0, %1;", "ff", R fb(rounded(FE_UPWARD, [&] { return std::sqrt(vf(f(a))); })) E},
      {"min.f32 %0, %1, %2;", "fff", R fb(minimumOf(f(a), f(b), false, false)) E}, {"max.f32 %0, %1, %2;", "fff", R fb(minimumOf(f(a), f(b), true, false)) E},
      {"min.NaN.f32 %0, %1, %2;", "fff", R fb(minimumOf(f(a), f(b), false, true)) E}, {"max.NaN.f32 %0, %1, %2;", "fff", R fb(minimumOf(f(a), f(b), true, true)) E},
      {"abs.f32 %0, %1;", "ff", R std::isnan(f(a)) ? fb(f(a)) : u(a) & 0x7FFFFFFF E}, {"neg.f32 %0, %1;", "ff", R std::isnan(f(a)) ? fb(f(a)) : u(a) ^ 0x80000000 E},
      {"copysign.f32 %0, %1, %2;", "fff", R std::isnan(f(b)) ? fb(f(b)) : (u(b) & 0x7FFFFFFF) | (u(a) & 0x80000000) E},
      {"{ .reg .pred p; testp.finite.f32 p, %1; selp.u32 %0, 1, 0, p; }", "rf", R std::isfinite(f(a)) E},
      {"{ .reg .pred p; testp.subnormal.f32 p, %1; selp.u32 %0, 1, 0, p; }", "rf", R std::fpclassify(f(a)) == FP_SUBNORMAL E},
      {"{ .reg .pred p; testp.notanumber.f64 p, %1; selp.u32 %0, 1, 0, p; }", "rd", R std::isnan(d(a)) E},
      {"ex2.approx.f32 %0, %1;", "ff", R fb(std::exp2(f(a))) E, 6e-7, 80, "small"}, {"lg2.approx.f32 %0, %1;", "ff", R fb(std::log2(std::fabs(f(a)))) E, 6e-7, 80, "positive"},
      {"sin.approx.f32 %0, %1;", "ff", R fb(std::sin(f(a))) E, 1e-6, 80, "angle"}, {"cos.approx.f32 %0, %1;", "ff", R fb(std::cos(f(a))) E, 1e-6, 80, "angle"},
      {"rsqrt.approx.f32 %0, %1;", "ff", R fb(1 / std::sqrt(f(a))) E, 3e-7, 80, "positive"}, {"rcp.approx.f32 %0, %1;", "ff", R fb(1 / f(a)) E, 3e-7, 80, "small"},
      {"sqrt.approx.f32 %0, %1;", "ff", R fb(std::sqrt(f(a))) E, 3e-7, 80, "positive"}, {"div.approx.f32 %0, %1, %2;", "fff", R fb(f(a) / f(b)) E, 5e-7, 80, "small"},
      {"div.full.f32 %0, %1, %2;", "fff", R fb(f(a) / f(b)) E, 5e-7, 80, "small"}, {"tanh.approx.f32 %0, %1;", "ff", R fb(std::tanh(f(a))) E, 6e-4, 80, "small"},
      // f64
      {"add.rn.f64 %0, %1, %2;", "ddd", R db(d(a) + d(b)) E}, {"sub.f64 %0, %1, %2;", "ddd", R db(d(a) - d(b)) E}, {"mul.rn.f64 %0, %1, %2;", "ddd", R db(d(a) * d(b)) E},
      {"fma.rn.f64 %0, %1, %2, %3;", "dddd", R db(std::fma(d(a), d(b), d(c))) E}, {"div.rn.f64 %0, %1, %2;", "ddd", R db(d(a) / d(b)) E},
      {"sqrt.rn.f64 %0, %1;", "dd", R db(std::sqrt(d(a))) E}, {"rcp.rn.f64 %0, %1;", "dd", R db(1 / d(a)) E},
      {"mul.rm.f64 %0, %1, %2;", "ddd", R db(rounded(FE_DOWNWARD, [&] { return vd(vd(d(a)) * vd(d(b))); })) E},
      {"min.f64 %0, %1, %2;", "ddd", R db(minimumOf(d(a), d(b), false, false)) E}, {"max.f64 %0, %1, %2;", "ddd", R db(minimumOf(d(a), d(b), true, false)) E},
      {"abs.f64 %0, %1;", "dd", R a & ~(Bits(1) << 63) E}, {"neg.f64 %0, %1;", "dd", R a ^ (Bits(1) << 63) E},
      // half
      {"add.f16 %0, %1, %2;", "hhh", R hb(h(a) + h(b)) E}, {"sub.f16 %0, %1, %2;", "hhh", R hb(h(a) - h(b)) E}, {"mul.f16 %0, %1, %2;", "hhh", R hb(h(a) * h(b)) E},
      {"fma.rn.f16 %0, %1, %2, %3;", "hhhh", R hb(h(a) * h(b) + h(c)) E}, {"fma.rn.relu.f16 %0, %1, %2, %3;", "hhhh", R [](double v) { return v < 0 ? Bits(0) : hb(v); }(h(a) * h(b) + h(c)) E},
      {"add.f16x2 %0, %1, %2;", "rrr", packedHalf([](double x, double y, double) { return x + y; })}, {"mul.f16x2 %0, %1, %2;", "rrr", packedHalf([](double x, double y, double) { return x * y; })},
      {"fma.rn.f16x2 %0, %1, %2, %3;", "rrrr", packedHalf([](double x, double y, double z) { return x * y + z; })},
      {"min.f16 %0, %1, %2;", "hhh", R hb(minimumOf(h(a), h(b), false, false)) E}, {"max.NaN.f16 %0, %1, %2;", "hhh", R hb(minimumOf(h(a), h(b), true, true)) E},
      {"max.f16x2 %0, %1, %2;", "rrr", packedHalf([](double x, double y, double) { return minimumOf(x, y, true, false); })},
      {"neg.f16 %0, %1;", "hh", R uh(a) ^ 0x8000 E}, {"abs.f16x2 %0, %1;", "rr", R u(a) & 0x7FFF7FFF E}, {"neg.bf16x2 %0, %1;", "rr", R u(a) ^ 0x80008000 E},
      // 0x7FF7 in a or b is what tensor copies fill in outside a tensor.
      {"fma.rn.oob.f16 %0, %1, %2, %3;", "hhhh", R isOutside(a) || isOutside(b) ? 0 : hb(h(a) * h(b) + h(c)) E, 0, 90, "outside"},
      {"fma.rn.oob.relu.f16x2 %0, %1, %2, %3;", "rrrr",
       R halves(a, b, c, [](Bits x, Bits y, Bits z) { double v = h(x) * h(y) + h(z); return isOutside(x) || isOutside(y) || v < 0 ? Bits(0) : hb(v); }) E, 0, 90, "outside"},
      {"fma.rn.oob.bf16x2 %0, %1, %2, %3;", "rrrr",
       R halves(a, b, c, [](Bits x, Bits y, Bits z) { return isOutside(x) || isOutside(y) ? Bits(0) : bb(bh(x) * bh(y) + bh(z)); }) E, 0, 90, "outside"},
      {"fma.rn.bf16 %0, %1, %2, %3;", "hhhh", R bb(bh(a) * bh(b) + bh(c)) E, 0, 80, "bf16small"},
      {"fma.rn.bf16x2 %0, %1, %2, %3;", "rrrr", packedBf16([](double x, double y, double z) { return x * y + z; }), 0, 80, "bf16small"},
      {"add.bf16 %0, %1, %2;", "hhh", R bb(bh(a) + bh(b)) E, 0, 90, "bf16small"}, {"mul.bf16x2 %0, %1, %2;", "rrr", packedBf16([](double x, double y, double) { return x * y; }), 0, 90, "bf16small"},
      {"max.bf16x2 %0, %1, %2;", "rrr", packedBf16([](double x, double y, double) { return minimumOf(x, y, true, false); })},
      {"tanh.approx.f16 %0, %1;", "hh", R hb(std::tanh(h(a))) E, 2e-3}, {"ex2.approx.f16 %0, %1;", "hh", R hb(std::exp2(h(a))) E, 2e-3},
      // conversions
      {"cvt.u32.u16 %0, %1;", "rh", R uh(a) E}, {"cvt.s32.s16 %0, %1;", "rh", R r32(sh(a)) E}, {"cvt.u64.u32 %0, %1;", "lr", R u(a) E},
      {"cvt.s64.s32 %0, %1;", "lr", R Bits(int64_t(s(a))) E}, {"cvt.u32.u64 %0, %1;", "rl", R u(a) E}, {"cvt.u16.u32 %0, %1;", "hr", R uh(a) E},
      {"cvt.s32.s8 %0, %1;", "rr", R r32(int8_t(a)) E}, {"cvt.u32.u8 %0, %1;", "rr", R uint8_t(a) E}, {"cvt.s8.s32 %0, %1;", "rr", R r32(int8_t(a)) E}, {"cvt.s64.s8 %0, %1;", "lr", R Bits(int64_t(int8_t(a))) E},
      {"cvt.sat.u8.s32 %0, %1;", "rr", R Bits(std::clamp(s(a), 0, 255)) E}, {"cvt.sat.s16.s32 %0, %1;", "hr", R r16(std::clamp(s(a), -32768, 32767)) E}, {"cvt.sat.u32.s64 %0, %1;", "rl", R Bits(std::clamp<int64_t>(sl(a), 0, UINT32_MAX)) E},
      {"cvt.rn.f32.s32 %0, %1;", "fr", R fb(float(s(a))) E}, {"cvt.rn.f32.u32 %0, %1;", "fr", R fb(float(u(a))) E}, {"cvt.rz.f32.u32 %0, %1;", "fr", R fb(rounded(FE_TOWARDZERO, [&] { return float(vd(double(u(a)))); })) E},
      {"cvt.rn.f32.u64 %0, %1;", "fl", R fb(float((long double)a)) E}, {"cvt.rn.f32.s64 %0, %1;", "fl", R fb(float((long double)sl(a))) E}, {"cvt.rn.f64.u64 %0, %1;", "dl", R db(double((long double)a)) E},
      {"cvt.rp.f64.s64 %0, %1;", "dl", R db(rounded(FE_UPWARD, [&] { volatile long double v = sl(a); return double(v); })) E}, {"cvt.rn.f64.s32 %0, %1;", "dr", R db(double(s(a))) E}, {"cvt.rn.f32.s8 %0, %1;", "fr", R fb(float(int8_t(a))) E},
      {"cvt.rn.f16.u16 %0, %1;", "hh", R hb(uh(a)) E}, {"cvt.rn.f16.s32 %0, %1;", "hr", R hb(s(a)) E}, {"cvt.f64.f32 %0, %1;", "df", R std::isnan(f(a)) ? db(double(f(a))) : db(double(f(a))) E}, {"cvt.rn.f32.f64 %0, %1;", "fd", R fb(float(d(a))) E},
      {"cvt.rz.f32.f64 %0, %1;", "fd", R fb(rounded(FE_TOWARDZERO, [&] { return float(vd(d(a))); })) E}, {"cvt.rm.f32.f64 %0, %1;", "fd", R fb(rounded(FE_DOWNWARD, [&] { return float(vd(d(a))); })) E},
      {"cvt.f32.f16 %0, %1;", "fh", R fb(float(h(a))) E}, {"cvt.rn.f16.f32 %0, %1;", "hf", R hb(f(a)) E}, {"cvt.rz.f16.f32 %0, %1;", "hf", R std::isnan(f(a)) ? 0x7FFF : nearestHalf(f(a), 10, 15, true) E}, {"cvt.rn.f16.f64 %0, %1;", "hd", R hb(d(a)) E},
      {"cvt.rn.bf16.f32 %0, %1;", "hf", R bb(f(a)) E}, {"cvt.f32.bf16 %0, %1;", "fh", R fb(float(bh(a))) E, 0, 90}, {"cvt.rz.bf16.f32 %0, %1;", "hf", R std::isnan(f(a)) ? 0x7FFF : nearestHalf(f(a), 7, 127, true) E},
      {"cvt.rn.f16x2.f32 %0, %1, %2;", "rff", R Bits(hb(f(b))) | Bits(hb(f(a))) << 16 E}, {"cvt.rn.bf16x2.f32 %0, %1, %2;", "rff", R Bits(bb(f(b))) | Bits(bb(f(a))) << 16 E},
      {"cvt.rz.bf16x2.f32 %0, %1, %2;", "rff", R [](float x, float y) { auto t = [](float v) { return std::isnan(v) ? Bits(0x7FFF) : Bits(nearestHalf(v, 7, 127, true)); }; return t(y) | t(x) << 16; }(f(a), f(b)) E},
      {"cvt.rn.relu.f16x2.f32 %0, %1, %2;", "rff", R [](float x, float y) { auto t = [](float v) { return v < 0 ? Bits(0) : Bits(hb(v)); }; return (t(y) | t(x) << 16) & ~Bits((y == 0 ? 0x8000 : 0) | (x == 0 ? 0x80000000 : 0)); }(f(a), f(b)) E, 0, 80, "nonzero"},
      {"cvt.rna.tf32.f32 %0, %1;", "rf", R std::isfinite(f(a)) ? u((u(a) + 0x1000) & 0xFFFFE000) : std::isnan(f(a)) ? 0x7FFFFFFF : u(a) E},
      {"cvt.rzi.s32.f32 %0, %1;", "rf", R toInteger<int32_t>(f(a), FE_TOWARDZERO, false) E}, {"cvt.rni.s32.f32 %0, %1;", "rf", R toInteger<int32_t>(f(a), FE_TONEAREST, false) E}, {"cvt.rmi.s32.f32 %0, %1;", "rf", R toInteger<int32_t>(f(a), FE_DOWNWARD, false) E},
      {"cvt.rpi.u32.f32 %0, %1;", "rf", R toInteger<uint32_t>(f(a), FE_UPWARD, false) E}, {"cvt.rzi.u64.f32 %0, %1;", "lf", R toInteger<uint64_t>(f(a), FE_TOWARDZERO, false) E}, {"cvt.rzi.s64.f64 %0, %1;", "ld", R toInteger<int64_t>(d(a), FE_TOWARDZERO, true) E},
      {"cvt.rni.s32.f64 %0, %1;", "rd", R toInteger<int32_t>(d(a), FE_TONEAREST, true) E}, {"cvt.rzi.s16.f32 %0, %1;", "hf", R toInteger<int16_t>(f(a), FE_TOWARDZERO, false) E}, {"cvt.rzi.s32.f16 %0, %1;", "rh", R toInteger<int32_t>(h(a), FE_TOWARDZERO, false) E},
      {"cvt.rni.f32.f32 %0, %1;", "ff", R fb(std::nearbyint(f(a))) E}, {"cvt.rmi.f32.f32 %0, %1;", "ff", R fb(std::floor(f(a))) E}, {"cvt.rpi.f64.f64 %0, %1;", "dd", R db(std::ceil(d(a))) E}, {"cvt.rzi.f32.f32 %0, %1;", "ff", R fb(std::trunc(f(a))) E},
      {"cvt.sat.f32.f32 %0, %1;", "ff", R [](float v) { return v > 0 ? (v < 1 ? fb(v) : fb(1.0f)) : Bits(0); }(f(a)) E},
      // sm_100's packed f32
      {"add.rn.f32x2 %0, %1, %2;", "lll", R fb(f(a) + f(b)) | fb(f(a >> 32) + f(b >> 32)) << 32 E, 0, 100},
      {"fma.rn.f32x2 %0, %1, %2, %3;", "llll", R fb(std::fma(f(a), f(b), f(c))) | fb(std::fma(f(a >> 32), f(b >> 32), f(c >> 32))) << 32 E, 0, 100},
      // specials
      {"{ .reg .u32 t, v; mov.u32 t, %%laneid; mov.u32 v, %%lanemask_lt; popc.b32 v, v; sub.u32 %0, t, v; }", "rr", R 0 E},
      {"{ .reg .u32 t, v; mov.u32 t, %%lanemask_ge; mov.u32 v, %%lanemask_lt; not.b32 v, v; xor.b32 %0, t, v; }", "rr", R 0 E},
      // rare ones
      {"mad.hi.sat.s32 %0, %1, %2, %3;", "rrrr", R r32(std::clamp<int64_t>(((int64_t(s(a)) * s(b)) >> 32) + s(c), INT32_MIN, INT32_MAX)) E},
      {"mul24.hi.u32 %0, %1, %2;", "rrr", R u((uint64_t(u(a) & 0xFFFFFF) * (u(b) & 0xFFFFFF)) >> 16) E},
      {"mul24.hi.s32 %0, %1, %2;", "rrr", R r32((int64_t(s(a << 8) >> 8) * (s(b << 8) >> 8)) >> 16) E},
      {"mad24.hi.sat.s32 %0, %1, %2, %3;", "rrrr", R r32(std::clamp<int64_t>(int64_t(int32_t((int64_t(s(a << 8) >> 8) * (s(b << 8) >> 8)) >> 16)) + s(c), INT32_MIN, INT32_MAX)) E},
      {"{ .reg .u32 t; and.b32 t, %2, 31; fns.b32 %0, %1, t, %3; }", "rrrr", R [](uint32_t m, uint32_t from, int n) -> Bits { if (n == 0) return m >> from & 1 ? from : 0xFFFFFFFF; for (uint32_t i = from; i < 32; ++i) if ((m >> i & 1) && --n == 0) return i; return 0xFFFFFFFF; }(u(a), u(b) & 31, s(c)) E, 0, 80, "shift"},
      {"{ .reg .u32 t, k; and.b32 t, %2, 31; neg.s32 k, %3; fns.b32 %0, %1, t, k; }", "rrrr", R [](uint32_t m, int from, int n) -> Bits { if (n == 0) return m >> from & 1 ? u(from) : 0xFFFFFFFF; for (int i = from; i >= 0; --i) if ((m >> i & 1) && --n == 0) return u(i); return 0xFFFFFFFF; }(u(a), s(b) & 31, s(c)) E, 0, 80, "shift"},
      {"szext.clamp.s32 %0, %1, %2;", "rrr", R [](int32_t x, uint32_t n) -> Bits { return n >= 32 ? u(x) : n == 0 ? 0 : r32(int64_t(uint64_t(int64_t(x)) << (64 - n)) >> (64 - n)); }(s(a), u(b)) E, 0, 80, "shift"},
      {"szext.wrap.u32 %0, %1, %2;", "rrr", R u(b) % 32 ? u(a) & ((1u << u(b) % 32) - 1) : 0 E},
      {"{ .reg .u32 t; and.b32 t, %1, 63; bmsk.clamp.b32 %0, t, %2; }", "rrr", R [](uint32_t p, uint32_t n) -> Bits { uint32_t r = 0; for (uint32_t i = 0; i < 32; ++i) r |= uint32_t(i >= p && i - p < n) << i; return r; }(u(a) & 63, u(b)) E, 0, 80, "shift"},
      {"bmsk.wrap.b32 %0, %1, %2;", "rrr", R [](uint32_t p, uint32_t n) -> Bits { uint32_t r = 0; for (uint32_t i = 0; i < 32; ++i) r |= uint32_t(i >= p && i - p < n) << i; return r; }(u(a) & 31, u(b) & 31) E},
      {"dp2a.lo.s32.u32 %0, %1, %2, %3;", "rrrr", R u(u(c) + u(sh(a) * byteAt(b, 0)) + u(sh(a >> 16) * byteAt(b, 1))) E},
      {"dp2a.hi.u32.s32 %0, %1, %2, %3;", "rrrr", R u(u(c) + u(int32_t(uh(a)) * int8_t(b >> 16)) + u(int32_t(uh(a >> 16)) * int8_t(b >> 24))) E},
      {"slct.u32.f32 %0, %1, %2, %3;", "rrrf", R f(c) >= 0 ? u(a) : u(b) E}, {"slct.f64.f32 %0, %1, %2, %3;", "dddf", R f(c) >= 0 ? a : b E},
      {"{ .reg .pred p, q; .reg .b32 t; setp.lt.s32 q, %3, 0; lop3.or.b32 t|p, %1, %2, %3, 0x96, q; selp.b32 %0, t, 7, p; }", "rrrr", R [](uint32_t x, uint32_t y, uint32_t z) -> Bits { uint32_t t = x ^ y ^ z; return t || int32_t(z) < 0 ? t : 7; }(u(a), u(b), u(c)) E},
      {"add.u16x2 %0, %1, %2;", "rrr", R r16(uh(a) + uh(b)) | Bits(r16(uh(a >> 16) + uh(b >> 16))) << 16 E, 0, 90},
      {"max.s16x2 %0, %1, %2;", "rrr", R r16(std::max(sh(a), sh(b))) | Bits(r16(std::max(sh(a >> 16), sh(b >> 16)))) << 16 E, 0, 90},
      {"min.relu.s16x2 %0, %1, %2;", "rrr", R r16(std::max<int>(std::min(sh(a), sh(b)), 0)) | Bits(r16(std::max<int>(std::min(sh(a >> 16), sh(b >> 16)), 0))) << 16 E, 0, 90},
      {"max.relu.s32 %0, %1, %2;", "rrr", R r32(std::max({s(a), s(b), 0})) E, 0, 90},
      {"max.NaN.xorsign.abs.f32 %0, %1, %2;", "fff", R std::isnan(f(a)) || std::isnan(f(b)) ? 0x7FFFFFFF : fb(std::copysign(std::max(std::fabs(f(a)), std::fabs(f(b))), std::signbit(f(a)) != std::signbit(f(b)) ? -1.0f : 1.0f)) E, 0, 90},
      {"min.NaN.abs.f32 %0, %1, %2, %3;", "ffff", R std::isnan(f(a)) || std::isnan(f(b)) || std::isnan(f(c)) ? 0x7FFFFFFF : fb(std::min({std::fabs(f(a)), std::fabs(f(b)), std::fabs(f(c))})) E, 0, 100},
      {"add.f32.f16 %0, %1, %2;", "fhf", R fb(float(h(a)) + f(b)) E, 0, 100}, {"sub.f32.bf16 %0, %1, %2;", "fhf", R fb(float(bh(a)) - f(b)) E, 0, 100},
      {"fma.rn.f32.f16 %0, %1, %2, %3;", "fhhf", R fb(std::fma(float(h(a)), float(h(b)), f(c))) E, 0, 100},
      {"cvt.pack.sat.s16.s32 %0, %1, %2;", "rrr", R r16(std::clamp(s(b), -32768, 32767)) | Bits(r16(std::clamp(s(a), -32768, 32767))) << 16 E},
      {"cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;", "rrrr", R u(std::clamp(s(a), 0, 255) << 8 | std::clamp(s(b), 0, 255) | u(c) << 16) E},
      {"cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;", "rrrr", R u((std::clamp(s(a), -8, 7) & 15) << 4 | (std::clamp(s(b), -8, 7) & 15) | u(c) << 8) E},
      {"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;", "hff", R nearestByte(f(a), false) << 8 | nearestByte(f(b), false) E, 0, 90},
      {"cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;", "hff", R [](double x, double y) -> Bits { return (x <= 0 ? 0 : nearestByte(x, true)) << 8 | (y <= 0 ? 0 : nearestByte(y, true)); }(f(a), f(b)) E, 0, 90},
      {"cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;", "hr", R nearestByte(h(a >> 16), true) << 8 | nearestByte(h(a), true) E, 0, 90},
      {"cvt.rn.f16x2.e4m3x2 %0, %1;", "rh", R hb(byteValue(byteAt(a, 0), false)) | hb(byteValue(byteAt(a, 1), false)) << 16 E, 0, 90},
      {"cvt.rn.f16x2.e5m2x2 %0, %1;", "rh", R hb(byteValue(byteAt(a, 0), true)) | hb(byteValue(byteAt(a, 1), true)) << 16 E, 0, 90},
      {"{ .reg .b128 q; .reg .b64 t; mov.b128 q, {%1, %2}; mov.b128 {t, %0}, q; }", "lll", R b E}, {"{ .reg .b128 q, w; .reg .b64 t; mov.b128 q, {%1, %2}; mov.b128 w, q; mov.b128 {%0, t}, w; }", "lll", R a E},
      // video instructions
      {"vadd.s32.s32.s32.sat %0, %1, %2;", "rrr", R r32(std::clamp<int64_t>(int64_t(s(a)) + s(b), INT32_MIN, INT32_MAX)) E},
      {"vsub.u32.u32.u32 %0, %1.b1, %2.b3;", "rrr", R u(byteAt(a, 1) - byteAt(b, 3)) E},
      {"vabsdiff.u32.s32.s32.add %0, %1.h0, %2.h1, %3;", "rrrr", R u(u(std::abs(sh(a) - sh(b >> 16))) + u(c)) E},
      {"vmin.s32.s32.s32 %0.h1, %1, %2, %3;", "rrrr", R Bits(r16(std::min(s(a), s(b)))) << 16 | uh(c) E},
      {"vmax.u32.u32.u32.max %0, %1.b0, %2.b2, %3;", "rrrr", R std::max<uint32_t>(u(std::max(byteAt(a, 0), byteAt(b, 2))), u(c)) E},
      {"vshl.u32.u32.u32.clamp %0, %1, %2;", "rrr", R u(b) > 31 ? 0 : u(a) << u(b) E, 0, 80, "shift"}, {"vshr.s32.s32.u32.wrap %0, %1, %2;", "rrr", R u(s(a) >> (u(b) & 31)) E},
      {"vmad.u32.u32.u32.shr7 %0, %1.b0, %2.b1, %3;", "rrrr", R u((uint64_t(byteAt(a, 0) * byteAt(b, 1)) + u(c)) >> 7) E},
      {"vmad.s32.s32.s32 %0, %1.h0, -%2.h1, %3;", "rrrr", R u(s(c) - sh(a) * sh(b >> 16)) E}, {"vmad.s32.s32.s32.sat %0, %1.h0, %2.h1, %3;", "rrrr", R r32(std::clamp<int64_t>(int64_t(s(c)) + sh(a) * sh(b >> 16), INT32_MIN, INT32_MAX)) E},
      {"vset.s32.s32.lt %0, %1, %2;", "rrr", R s(a) < s(b) E},
      {"vadd2.s32.s32.s32.sat %0, %1, %2, %3;", "rrrr", R r16(std::clamp(sh(a) + sh(b), -32768, 32767)) | Bits(r16(std::clamp(sh(a >> 16) + sh(b >> 16), -32768, 32767))) << 16 E},
      {"vavrg4.u32.u32.u32 %0, %1, %2, %3;", "rrrr", R [](Bits x, Bits y) { Bits r = 0; for (int k = 0; k < 4; ++k) r |= Bits((byteAt(x, k) + byteAt(y, k) + 1) >> 1) << (8 * k); return r; }(a, b) E},
      {"vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", "rrrr", R [](Bits x, Bits y, Bits z) -> Bits { uint32_t r = u(z); for (int k = 0; k < 4; ++k) r += u(std::abs(byteAt(x, k) - byteAt(y, k))); return r; }(a, b, c) E},
      {"vmax2.s32.s32.s32 %0.h0, %1.h32, %2.h10, %3;", "rrrr", R r16(std::max(sh(b), sh(a))) | (u(c) & 0xFFFF0000) E},
      {"vset4.u32.u32.ge %0, %1, %2, %3;", "rrrr", R [](Bits x, Bits y) { Bits r = 0; for (int k = 0; k < 4; ++k) r |= Bits(byteAt(x, k) >= byteAt(y, k)) << (8 * k); return r; }(a, b) E},
  };
  return table;
}

size_t bytesOf(char type) { return type == 'h' ? 2 : type == 'r' || type == 'f' ? 4 : 8; }
const char *cType(char type) {
  switch (type) {
  case 'h': return "unsigned short";
  case 'r': return "unsigned";
  case 'l': return "unsigned long long";
  case 'f': return "float";
  default: return "double";
  }
}

constexpr int count = 3000;

std::vector<Bits> inputsFor(const Row &row, size_t operand, unsigned seed) {
  char type = row.types[operand + 1];
  std::string kind = row.inputs ? row.inputs : "";
  std::mt19937_64 random(seed * 7919 + operand);
  const Bits edges[] = {0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                        0x7FFFFFFFFFFFFFFF, 0x8000000000000000, ~Bits(0)};
  const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1.5f, 2.5f, -2.5f, 1e-40f, -1e-40f, 1e38f, -3.4e38f, INFINITY, -INFINITY,
                          NAN, 2147483648.0f, -2147483904.0f, 65504.0f, 65520.0f, 6e-8f, 0.33333334f, 4294967296.0f};
  std::vector<Bits> values(count);
  for (int i = 0; i < count; ++i) {
    Bits bits = random();
    bool edge = random() % 4 == 0;
    if (kind == "shift" && operand >= 1 && row.types[operand + 1] == 'r' && operand + 2 == std::strlen(row.types)) {
      values[i] = random() % 40;
      continue;
    }
    double moderate = (double(random() >> 11) / 9007199254740992.0 - 0.5) * 20;
    if (kind == "outside" || kind == "bf16small") {
      uint16_t lo = nearestHalf(moderate, 7, 127), hi = nearestHalf(-moderate * 3, 7, 127);
      if (kind == "outside" && random() % 4 == 0)
        (random() % 2 ? lo : hi) = 0x7FF7;
      values[i] = type == 'h' ? lo : lo | uint32_t(hi) << 16;
      continue;
    }
    if (kind == "small" || kind == "positive" || kind == "angle" || kind == "nonzero") {
      double v = kind == "positive" ? std::fabs(moderate) + 1e-3 : kind == "angle" ? moderate * 0.314 : moderate == 0 ? 1 : moderate;
      values[i] = type == 'd' ? as<uint64_t>(v) : as<uint32_t>(float(v));
      continue;
    }
    switch (type) {
    case 'f':
      values[i] = edge ? as<uint32_t>(floats[random() % std::size(floats)]) : random() % 2 ? as<uint32_t>(float(moderate)) : uint32_t(bits);
      break;
    case 'd':
      values[i] = edge ? as<uint64_t>(double(floats[random() % std::size(floats)])) : random() % 2 ? as<uint64_t>(moderate) : bits;
      break;
    default:
      values[i] = edge ? edges[random() % std::size(edges)] : random() % 3 == 0 ? random() % 100 : bits;
    }
    if (bytesOf(type) < 8)
      values[i] &= (Bits(1) << (bytesOf(type) * 8)) - 1;
  }
  return values;
}

std::string kernelFor(const Row &row, size_t index) {
  std::string sources = row.types + 1, name = "row" + std::to_string(index);
  std::string text = "extern \"C\" __global__ void " + name + "(" + cType(row.types[0]) + " *out";
  for (size_t i = 0; i < sources.size(); ++i)
    text += std::string(", const ") + cType(sources[i]) + " *in" + std::to_string(i);
  text += ", int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n || i % 7 == 6) return;\n";
  text += std::string("  ") + cType(row.types[0]) + " r;\n  asm volatile(\"" + row.text + "\" : \"=" + row.types[0] + "\"(r) : ";
  for (size_t i = 0; i < sources.size(); ++i)
    text += std::string(i ? ", " : "") + "\"" + sources[i] + "\"(in" + std::to_string(i) + "[i])";
  text += ");\n  out[i] = r;\n}\n";
  return text;
}

class Instructions : public Conformance {};

TEST_P(Instructions, MatchTheHost) {
  int capability = std::atoi(arch().c_str() + 8);
  std::string source;
  for (size_t index = 0; index < rows().size(); ++index)
    if (rows()[index].minimum <= capability)
      source += kernelFor(rows()[index], index);
  Program &program = Program::get(source, arch());
  ASSERT_NE(program.module, nullptr);
  for (size_t index = 0; index < rows().size(); ++index) {
    const Row &row = rows()[index];
    if (row.minimum > capability)
      continue;
    SCOPED_TRACE(row.text);
    std::vector<Bits> inputs[3];
    std::vector<std::unique_ptr<Buffer<unsigned char>>> buffers;
    auto upload = [&](const std::vector<Bits> &values, size_t bytes) {
      std::vector<unsigned char> raw(values.size() * bytes);
      for (size_t i = 0; i < values.size(); ++i)
        std::memcpy(raw.data() + i * bytes, &values[i], bytes);
      buffers.push_back(std::make_unique<Buffer<unsigned char>>(raw));
    };
    size_t resultBytes = bytesOf(row.types[0]);
    const Bits untouched = 0x5A5A5A5A5A5A5A5A;
    upload(std::vector<Bits>(count, untouched), resultBytes);
    for (size_t k = 1; row.types[k]; ++k) {
      inputs[k - 1] = inputsFor(row, k - 1, unsigned(index));
      upload(inputs[k - 1], bytesOf(row.types[k]));
    }
    std::vector<void *> arguments;
    for (auto &buffer : buffers)
      arguments.push_back(&buffer->address);
    int n = count;
    arguments.push_back(&n);
    CUfunction function = program.function(("row" + std::to_string(index)).c_str());
    ASSERT_NE(function, nullptr);
    ASSERT_EQ(Driver::get().launchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, arguments.data(), nullptr), CUDA_SUCCESS);
    ASSERT_EQ(Driver::get().synchronize(), CUDA_SUCCESS);
    std::vector<unsigned char> raw = buffers[0]->read();
    int failures = 0;
    for (int i = 0; i < count && failures < 3; ++i) {
      Bits got = 0, a = inputs[0][i], b = inputs[1].empty() ? 0 : inputs[1][i], c = inputs[2].empty() ? 0 : inputs[2][i];
      std::memcpy(&got, raw.data() + i * resultBytes, resultBytes);
      Bits keep = resultBytes == 8 ? ~Bits(0) : (Bits(1) << (resultBytes * 8)) - 1;
      Bits want = (i % 7 == 6 ? untouched : row.reference(a, b, c)) & keep;
      bool good = got == want;
      if (!good && i % 7 != 6) {
        char type = row.types[0];
        double x = type == 'f' ? f(got) : type == 'd' ? d(got) : type == 'h' ? h(got) : 0;
        double y = type == 'f' ? f(want) : type == 'd' ? d(want) : type == 'h' ? h(want) : 1;
        if (row.tolerance)
          good = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= row.tolerance * std::max(std::fabs(y), type == 'h' ? 1e-4 : 0.5);
        else if (type == 'f' || type == 'd') // payloads and signs of NaNs are not compared
          good = std::isnan(x) && std::isnan(y);
      }
      if (!good) {
        ++failures;
        ADD_FAILURE() << "element " << i << " of " << std::hex << a << ", " << b << ", " << c << ": got " << got << ", expected " << want;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Arch, Instructions, testing::ValuesIn(architectures()), [](auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Instructions);

} // namespace
} // namespace graphc::cudasim::conformance
