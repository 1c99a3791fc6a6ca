// cvt. The forms that kernels use all the time are vectorised; every other pair goes through one exact scalar path.
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

using ptx::Type;

// -- fast forms ----------------------------------------------------------------------------------------------------

template <class D, class S>
void integers(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<S>(w, inst.a);
  auto *r = out<D>(d);
  LANES r[i] = Slot<D>::put(D(S(a[i])));
}
/// Narrowing from a 64-bit slot.
template <class D, class S>
void floats(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<S>(w, inst.a);
  auto *r = out<D>(d);
  LANES r[i] = Slot<D>::put(canonical(D(Slot<S>::get(a[i]))));
}
template <class S>
void toFloat(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<S>(w, inst.a);
  auto *r = out<float>(d);
  LANES r[i] = bits<uint32_t>(float(S(a[i])));
}
void halfToFloat(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = bits<uint32_t>(floatFromHalf(uint16_t(a[i])));
}
void bf16ToFloat(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = a[i] << 16;
}
void floatToHalf(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = halfFromFloat(bits<float>(a[i]));
}
void floatToBf16(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = bf16FromFloat(bits<float>(a[i]));
}
void floatToInt(Warp &w, const Inst &inst, void *d, uint32_t) { // rzi, s32, saturating
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES {
    float x = bits<float>(a[i]);
    float safe = x > -2147483648.0f ? x : -2147483648.0f; // also NaN
    safe = safe < 2147483520.0f ? safe : 2147483520.0f;
    uint32_t v = uint32_t(int32_t(safe));
    v = x >= 2147483648.0f ? 0x7FFFFFFFu : v;
    r[i] = isNan(x) ? 0 : v;
  }
}
/// f32 to a whole f32 (floor, ceil, truncate, nearest even).
template <CvtRound Round>
inline float whole(float x) {
  float r = Round == CvtRound::Rmi ? __builtin_floorf(x) : Round == CvtRound::Rpi ? __builtin_ceilf(x)
            : Round == CvtRound::Rzi ? __builtin_truncf(x) : __builtin_rintf(x);
  return canonical(r);
}
template <CvtRound Round>
void toWhole(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = bits<uint32_t>(whole<Round>(bits<float>(a[i])));
}
template <CvtRound Round>
void toInt(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES {
    float x = whole<Round>(bits<float>(a[i]));
    float safe = x > -2147483648.0f ? x : -2147483648.0f;
    safe = safe < 2147483520.0f ? safe : 2147483520.0f;
    uint32_t v = uint32_t(int32_t(safe));
    v = x >= 2147483648.0f ? 0x7FFFFFFFu : v;
    r[i] = isNan(x) ? 0 : v;
  }
}

void tf32(Warp &w, const Inst &inst, void *d, uint32_t) { // rna: ties away from zero; rn when flagged
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  bool even = inst.flags & 256, relu = inst.flags & Relu;
  LANES {
    uint32_t u = a[i];
    uint32_t rounded = (u + (even ? 0xFFF + ((u >> 13) & 1) : 0x1000)) & 0xFFFFE000;
    rounded = (u & 0x7F800000) == 0x7F800000 ? ((u & 0x7FFFFF) ? 0x7FFFFFFF : u) : rounded;
    r[i] = relu && (rounded & 0x80000000) && (u & 0x7FFFFFFF) <= 0x7F800000 ? 0 : rounded;
  }
}

// -- the exact path ------------------------------------------------------------------------------------------------

struct FloatFormat {
  int mantissa, minExponent, maxExponent; // stored bits; of the smallest and largest normal
};
constexpr FloatFormat f16Format{10, -14, 15}, bf16Format{7, -126, 127}, f32Format{23, -126, 127};

/// Rounds to a narrower format; all formats share the sign-exponent-mantissa layout.
uint64_t roundTo(double x, FloatFormat format, uint32_t mode, bool finite) {
  uint64_t u = bits<uint64_t>(x);
  bool negative = u >> 63;
  int expBits = format.maxExponent == 15 ? 5 : 8;
  uint64_t sign = uint64_t(negative) << (format.mantissa + expBits);
  uint64_t infinity = ((uint64_t(1) << expBits) - 1) << format.mantissa;
  int exponent = int((u >> 52) & 0x7FF);
  uint64_t fraction = u & ((uint64_t(1) << 52) - 1);
  if (exponent == 0x7FF)
    return fraction ? (format.mantissa == 23 ? 0x7FFFFFFFu : 0x7FFFu)
                    : sign | (finite ? infinity - 1 : infinity);
  if (exponent == 0 && fraction == 0)
    return sign;
  int e = exponent ? exponent - 1023 : -1022;
  uint64_t full = exponent ? fraction | (uint64_t(1) << 52) : fraction; // value = full · 2^(e−52)
  int shift = 52 - format.mantissa;
  if (e < format.minExponent)
    shift += format.minExponent - e;
  uint64_t kept, rest, halfway;
  if (shift > 62) {
    kept = 0;
    rest = 1;
    halfway = 2;
  } else {
    kept = full >> shift;
    rest = full & ((uint64_t(1) << shift) - 1);
    halfway = uint64_t(1) << (shift - 1);
  }
  bool up = false;
  if (mode == RoundNearest)
    up = rest > halfway || (rest == halfway && (kept & 1));
  else if (mode == RoundDown)
    up = negative && rest;
  else if (mode == RoundUp)
    up = !negative && rest;
  else if (mode == 4) // ties away
    up = rest >= halfway;
  kept += up;
  uint64_t biased = e < format.minExponent ? 0 : uint64_t(e - format.minExponent + 1);
  // A carry out of the mantissa moves into the exponent by itself; the hidden bit is subtracted for normals.
  uint64_t encoded = biased ? ((biased - 1) << format.mantissa) + kept : kept;
  if (encoded >= infinity) {
    bool toInfinity = mode == RoundNearest || mode == 4 || (mode == RoundUp && !negative) || (mode == RoundDown && negative);
    encoded = toInfinity && !finite ? infinity : infinity - 1;
  }
  return sign | encoded;
}

struct Any {
  bool isFloat = false, negative = false;
  double real = 0;
  uint64_t integer = 0; ///< two's complement when negative
};

inline double roundReal(double x, uint32_t mode) {
  switch (mode) {
  case RoundZero: return __builtin_trunc(x);
  case RoundDown: return __builtin_floor(x);
  case RoundUp: return __builtin_ceil(x);
  default: {
    double r = __builtin_trunc(x), diff = x - r; // nearest even without touching the environment
    if (__builtin_fabs(diff) > 0.5 || (__builtin_fabs(diff) == 0.5 && __builtin_fmod(r, 2.0) != 0.0))
      r += x > 0 ? 1.0 : -1.0;
    return __builtin_copysign(r, x);
  }
  }
}

struct CvtSpec { // packed into imm
  uint8_t to, from, round, pad;
};

unsigned bitsOf(Type type) { return ptx::sizeOf(type) * 8; }
bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
bool isFloat(Type type) { return type >= Type::F16; }

void generic(Warp &w, const Inst &inst, void *d, uint32_t) {
  uint64_t packed = uint64_t(inst.imm);
  Type to = Type(packed & 255), from = Type((packed >> 8) & 255);
  CvtRound round = CvtRound((packed >> 16) & 255);
  bool ftz = inst.flags & FlushZero, saturate = inst.flags & Saturate, relu = inst.flags & Relu;
  uint32_t mode = round == CvtRound::Rz || round == CvtRound::Rzi   ? RoundZero
                  : round == CvtRound::Rm || round == CvtRound::Rmi ? RoundDown
                  : round == CvtRound::Rp || round == CvtRound::Rpi ? RoundUp
                  : round == CvtRound::Rna                          ? 4u
                                                                    : RoundNearest;
  bool toWhole = round >= CvtRound::Rni && round <= CvtRound::Rpi;
  unsigned fromBits = bitsOf(from), toBits = bitsOf(to);
  bool wideSource = fromBits == 64;
  // A narrow integer may come from a 64-bit register; the decoder then sets `wide`.
  if (inst.wide)
    wideSource = true;
  for (int i = 0; i < 32; ++i) {
    uint64_t raw = wideSource ? reinterpret_cast<uint64_t *>(w.at(inst.a))[i]
                              : reinterpret_cast<uint32_t *>(w.at(inst.a))[i];
    uint64_t result = 0;
    double real = 0;
    bool negative = false;
    uint64_t integer = 0;
    if (isFloat(from)) {
      if (from == Type::F16)
        real = floatFromHalf(uint16_t(raw));
      else if (from == Type::BF16)
        real = floatFromBf16(uint16_t(raw));
      else if (from == Type::F32)
        real = ftz ? flush(bits<float>(uint32_t(raw))) : bits<float>(uint32_t(raw));
      else
        real = bits<double>(raw);
    } else {
      integer = fromBits == 64 ? raw : raw & ((uint64_t(1) << fromBits) - 1);
      if (isSigned(from) && fromBits < 64)
        integer = uint64_t(int64_t(integer << (64 - fromBits)) >> (64 - fromBits));
      negative = isSigned(from) && int64_t(integer) < 0;
    }
    if (isFloat(to)) {
      if (isFloat(from)) {
        if (toWhole)
          real = isNan(real) ? real : roundReal(real, mode);
        if (saturate)
          real = real > 0 ? (real < 1 ? real : 1.0) : 0.0;
        if (relu && !isNan(real))
          real = real < 0 ? 0.0 : real;
      } else {
        // Integers above 2^53 must be rounded once: split off what f64 cannot hold as a sticky bit.
        uint64_t magnitude = negative ? 0 - integer : integer;
        if (to == Type::F64) {
          RoundingScope scope(mode);
          volatile double v = negative ? double(int64_t(integer)) : double(magnitude);
          if (!negative && magnitude >> 63) { // x86 converts unsigned 64 in two steps; do it by hand
            uint64_t top = magnitude >> 11, rest = magnitude & 2047;
            bool up = mode == RoundNearest ? rest > 1024 || (rest == 1024 && (top & 1)) : mode == RoundUp && rest;
            v = double(top + up) * 2048.0;
          }
          real = v;
        } else {
          if (magnitude >> 53)
            magnitude = (magnitude & ~uint64_t(4095)) | ((magnitude & 4095) ? 2048 : 0);
          real = negative ? -double(magnitude) : double(magnitude);
        }
        if (saturate)
          real = real > 0 ? (real < 1 ? real : 1.0) : 0.0;
      }
      bool finite = inst.flags & 512;
      switch (to) {
      case Type::F16: result = roundTo(real, f16Format, toWhole ? RoundNearest : mode, finite); break;
      case Type::BF16: result = roundTo(real, bf16Format, toWhole ? RoundNearest : mode, finite); break;
      case Type::F32:
        result = roundTo(real, f32Format, toWhole ? RoundNearest : mode, finite);
        if (ftz)
          result = bits<uint32_t>(flush(bits<float>(uint32_t(result))));
        break;
      default: result = bits<uint64_t>(real); break;
      }
    } else if (isFloat(from)) {
      bool destinationSigned = isSigned(to);
      if (isNan(real)) {
        result = from != Type::F64 && toBits != 64 ? 0 : uint64_t(1) << (toBits - 1);
      } else {
        double whole = roundReal(real, toWhole ? mode : RoundZero);
        double low = destinationSigned ? -__builtin_ldexp(1.0, int(toBits) - 1) : 0.0;
        double high = __builtin_ldexp(1.0, int(toBits) - (destinationSigned ? 1 : 0));
        uint64_t all = toBits == 64 ? ~uint64_t(0) : (uint64_t(1) << toBits) - 1;
        if (whole < low)
          result = destinationSigned ? uint64_t(1) << (toBits - 1) : 0;
        else if (whole >= high)
          result = destinationSigned ? all >> 1 : all;
        else if (destinationSigned)
          result = uint64_t(int64_t(whole));
        else
          result = whole >= 9223372036854775808.0 ? uint64_t(int64_t(whole - 9223372036854775808.0)) ^ (uint64_t(1) << 63)
                                                  : uint64_t(int64_t(whole));
        result &= all;
      }
    } else { // integer to integer
      result = integer;
      if (saturate) {
        bool destinationSigned = isSigned(to);
        uint64_t top = toBits == 64 ? ~uint64_t(0) : (uint64_t(1) << toBits) - 1;
        if (destinationSigned) {
          int64_t high = int64_t(top >> 1), low = -high - 1;
          if (isSigned(from) || !(integer >> 63)) {
            int64_t v = int64_t(integer);
            v = v < low ? low : v > high ? high : v;
            result = uint64_t(v);
          } else {
            result = uint64_t(high);
          }
        } else {
          result = negative ? 0 : integer > top ? top : integer;
        }
      }
    }
    // Results narrower than the register: signed ones are sign-extended to it (flags bit 10: 64-bit register).
    if (!isFloat(to) && toBits < 64) {
      result &= (uint64_t(1) << toBits) - 1;
      if (isSigned(to))
        result = uint64_t(int64_t(result << (64 - toBits)) >> (64 - toBits));
    }
    if (inst.kind == Kind::Simd64)
      static_cast<uint64_t *>(d)[i] = result;
    else
      static_cast<uint32_t *>(d)[i] = inst.flags & 1024 ? uint32_t(result & 0xFFFF) : uint32_t(result);
  }
}

// -- packed pairs: a becomes the upper half ------------------------------------------------------------------------

void packHalf(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = uint32_t(halfFromFloat(bits<float>(a[i]))) << 16 | halfFromFloat(bits<float>(b[i]));
}
void packBf16(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = uint32_t(bf16FromFloat(bits<float>(a[i]))) << 16 | bf16FromFloat(bits<float>(b[i]));
}
void packGeneral(Warp &w, const Inst &inst, void *d, uint32_t) { // imm: bit 0 bf16, bits 8.. rounding
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  auto *r = static_cast<uint32_t *>(d);
  FloatFormat format = inst.imm & 1 ? bf16Format : f16Format;
  uint32_t mode = uint32_t(inst.imm >> 8);
  bool relu = inst.flags & Relu, finite = inst.flags & 512;
  for (int i = 0; i < 32; ++i) {
    float x = bits<float>(a[i]), y = bits<float>(b[i]);
    if (relu) {
      x = x < 0 ? 0.0f : x;
      y = y < 0 ? 0.0f : y;
    }
    r[i] = uint32_t(roundTo(x, format, mode, finite)) << 16 | uint32_t(roundTo(y, format, mode, finite));
  }
}

template <class S>
Handler widenFrom(Type to) {
  switch (to) {
  case Type::U16: case Type::B16: return integers<uint16_t, S>;
  case Type::S16: return integers<int16_t, S>;
  case Type::U32: case Type::B32: return integers<uint32_t, S>;
  case Type::S32: return integers<int32_t, S>;
  case Type::U64: case Type::B64: return integers<uint64_t, S>;
  case Type::S64: return integers<int64_t, S>;
  default: return nullptr;
  }
}

} // namespace

Handler selectConvert(Type to, Type from, CvtRound round, uint32_t flags) {
  if (to == Type::TF32)
    return from == Type::F32 ? tf32 : nullptr;
  if (to == Type::F16x2 || to == Type::BF16x2 || from == Type::F16x2 || from == Type::BF16x2 || to >= Type::E4M3 ||
      from >= Type::E4M3 || to == Type::F32x2 || from == Type::F32x2)
    return nullptr;
  if (flags == 0) {
    if (!isFloat(to) && !isFloat(from)) {
      Handler handler = nullptr;
      switch (from) {
      case Type::U8: case Type::B8: handler = widenFrom<uint8_t>(to); break;
      case Type::S8: handler = widenFrom<int8_t>(to); break;
      case Type::U16: case Type::B16: handler = widenFrom<uint16_t>(to); break;
      case Type::S16: handler = widenFrom<int16_t>(to); break;
      case Type::U32: case Type::B32: handler = widenFrom<uint32_t>(to); break;
      case Type::S32: handler = widenFrom<int32_t>(to); break;
      case Type::U64: case Type::B64: handler = widenFrom<uint64_t>(to); break;
      case Type::S64: handler = widenFrom<int64_t>(to); break;
      default: break;
      }
      if (handler)
        return handler;
    }
    bool nearest = round == CvtRound::Rn || round == CvtRound::Default;
    if (to == Type::F32 && nearest) {
      switch (from) {
      case Type::F16: return halfToFloat;
      case Type::BF16: return bf16ToFloat;
      case Type::F64: return floats<float, double>;
      case Type::S32: return toFloat<int32_t>;
      case Type::U32: return toFloat<uint32_t>;
      case Type::S16: return toFloat<int16_t>;
      case Type::U16: return toFloat<uint16_t>;
      case Type::S8: return toFloat<int8_t>;
      case Type::U8: return toFloat<uint8_t>;
      default: break;
      }
    }
    if (to == Type::F64 && from == Type::F32 && nearest)
      return floats<double, float>;
    if (to == Type::F16 && from == Type::F32 && nearest)
      return floatToHalf;
    if (to == Type::BF16 && from == Type::F32 && nearest)
      return floatToBf16;
    if (to == Type::S32 && from == Type::F32)
      switch (round) {
      case CvtRound::Rzi: return floatToInt;
      case CvtRound::Rni: return toInt<CvtRound::Rni>;
      case CvtRound::Rmi: return toInt<CvtRound::Rmi>;
      case CvtRound::Rpi: return toInt<CvtRound::Rpi>;
      default: break;
      }
    if (to == Type::F32 && from == Type::F32)
      switch (round) {
      case CvtRound::Rzi: return toWhole<CvtRound::Rzi>;
      case CvtRound::Rni: return toWhole<CvtRound::Rni>;
      case CvtRound::Rmi: return toWhole<CvtRound::Rmi>;
      case CvtRound::Rpi: return toWhole<CvtRound::Rpi>;
      default: break;
      }
  }
  return generic;
}

Handler selectConvertPack(Type to, CvtRound round, uint32_t flags) {
  if (to != Type::F16x2 && to != Type::BF16x2)
    return nullptr;
  if (flags == 0 && round == CvtRound::Rn)
    return to == Type::F16x2 ? packHalf : packBf16;
  return packGeneral;
}

LEVEL_END
