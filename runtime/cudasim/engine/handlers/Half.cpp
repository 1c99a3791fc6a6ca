// f16 and bf16 arithmetic, single and packed. Every operation is computed wide and rounded once: f32 has more than
// twice the bits, so add, subtract, multiply and divide cannot round twice; fma goes through f64 with round-to-odd.
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

struct Half {
  static float widen(uint16_t h) { return floatFromHalf(h); }
  static uint16_t narrow(float f) { return halfFromFloat(f); }
  static constexpr uint32_t exponent = 0x7C00;
};
struct BHalf {
  static float widen(uint16_t h) { return floatFromBf16(h); }
  static uint16_t narrow(float f) { return bf16FromFloat(f); }
  static constexpr uint32_t exponent = 0x7F80;
};
template <class H>
uint16_t flushHalf(uint16_t h) {
  return (h & H::exponent) ? h : uint16_t(h & 0x8000);
}

/// a·b+c with the last bit of the f32 made sticky, so that rounding it again to 16 bits rounds once.
inline float fmaOdd(float a, float b, float c) {
  double product = double(a) * double(b); // exact
  double sum = product + double(c);
  double virtualC = sum - product;
  double error = (product - (sum - virtualC)) + (double(c) - virtualC);
  uint64_t u = bits<uint64_t>(sum);
  // Inexact: force the last bit to one on the side of the true value.
  bool inexact = error != 0.0 && !isNan(error);
  bool away = (error > 0.0) == (sum > 0.0);
  uint64_t odd = (u & 1) ? u : (away ? u | 1 : u - 1);
  double sticky = bits<double>(inexact ? odd : u);
  // f64 to f32, truncating with a sticky last bit.
  float f = float(sticky);
  double back = double(f);
  uint32_t v = bits<uint32_t>(f);
  bool lost = back != sticky && !isNan(sticky) && (v & 0x7F800000) != 0x7F800000;
  bool grew = sticky > 0 ? back > sticky : back < sticky;
  uint32_t truncated = grew ? v - 1 : v;
  return bits<float>(lost ? truncated | 1 : v);
}

struct Add { static float run(float a, float b) { return a + b; } };
struct Sub { static float run(float a, float b) { return a - b; } };
struct Mul { static float run(float a, float b) { return a * b; } };
struct Div { static float run(float a, float b) { return a / b; } };
template <bool Max, bool Nan>
struct Pick {
  static float run(float a, float b) {
    uint32_t x = bits<uint32_t>(a), y = bits<uint32_t>(b);
    float equal = bits<float>(Max ? x & y : x | y);
    float r = a == b ? equal : (Max ? a > b : a < b) ? a : b;
    if constexpr (Nan)
      r = isNan(a) || isNan(b) ? bits<float>(0x7FFFFFFFu) : r;
    else
      r = isNan(a) ? b : isNan(b) ? a : r;
    return r;
  }
};
template <bool Max>
struct PickXorSign {
  static float run(float a, float b) {
    uint32_t sign = (bits<uint32_t>(a) ^ bits<uint32_t>(b)) & 0x80000000;
    float x = bits<float>(bits<uint32_t>(a) & 0x7FFFFFFF), y = bits<float>(bits<uint32_t>(b) & 0x7FFFFFFF);
    float r = Pick<Max, false>::run(x, y);
    return isNan(r) ? r : bits<float>(bits<uint32_t>(r) | sign);
  }
};
struct Ex2 {
  static float run(float x) { return float(__builtin_exp2(double(x))); }
};
struct Tanh {
  static float run(float x) { return float(__builtin_tanh(double(x))); }
};

inline float finish(float v, uint32_t flags) {
  if (flags & Saturate)
    v = v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
  if (flags & Relu)
    v = v < 0.0f ? 0.0f : v;
  return v;
}

template <class H, class F, int Arity>
uint16_t one(uint16_t a, uint16_t b, uint16_t c, uint32_t flags) {
  if (flags & FlushZero)
    a = flushHalf<H>(a), b = flushHalf<H>(b), c = flushHalf<H>(c);
  float v;
  if constexpr (Arity == 1)
    v = F::run(H::widen(a));
  else if constexpr (Arity == 2)
    v = F::run(H::widen(a), H::widen(b));
  else
    v = fmaOdd(H::widen(a), H::widen(b), H::widen(c));
  uint16_t h = H::narrow(finish(v, flags));
  return flags & FlushZero ? flushHalf<H>(h) : h;
}

template <class H, class F, int Arity, bool Packed, bool Plain>
void run(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = static_cast<uint32_t *>(d);
  uint32_t flags = Plain ? 0 : inst.flags;
  LANES {
    uint32_t y = Arity > 1 ? b[i] : 0, z = Arity > 2 ? c[i] : 0;
    uint32_t low = one<H, F, Arity>(uint16_t(a[i]), uint16_t(y), uint16_t(z), flags);
    if constexpr (Packed)
      low |= uint32_t(one<H, F, Arity>(uint16_t(a[i] >> 16), uint16_t(y >> 16), uint16_t(z >> 16), flags)) << 16;
    r[i] = low;
  }
}

// Sign operations on bits.
template <bool IsAbs>
void sign(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  uint32_t mask = uint32_t(inst.sub) ? 0x80008000u : 0x8000u;
  LANES r[i] = IsAbs ? a[i] & ~mask : a[i] ^ mask;
}

template <class H, class F, int Arity>
Handler pick(bool packed, uint32_t flags) {
  if (packed)
    return flags ? run<H, F, Arity, true, false> : run<H, F, Arity, true, true>;
  return flags ? run<H, F, Arity, false, false> : run<H, F, Arity, false, true>;
}

template <class H>
Handler byFormat(Op op, bool packed, uint32_t flags) {
  switch (op) {
  case Op::Add: return pick<H, Add, 2>(packed, flags);
  case Op::Sub: return pick<H, Sub, 2>(packed, flags);
  case Op::Mul: return pick<H, Mul, 2>(packed, flags);
  case Op::Fma: return pick<H, Add, 3>(packed, flags);
  case Op::Min: return pick<H, Pick<false, false>, 2>(packed, flags);
  case Op::Max: return pick<H, Pick<true, false>, 2>(packed, flags);
  case Op::MinNan: return pick<H, Pick<false, true>, 2>(packed, flags);
  case Op::MaxNan: return pick<H, Pick<true, true>, 2>(packed, flags);
  case Op::MinXorSign: return pick<H, PickXorSign<false>, 2>(packed, flags);
  case Op::MaxXorSign: return pick<H, PickXorSign<true>, 2>(packed, flags);
  case Op::Ex2: return pick<H, Ex2, 1>(packed, flags);
  case Op::Tanh: return pick<H, Tanh, 1>(packed, flags);
  case Op::Abs: return sign<true>;
  case Op::Neg: return sign<false>;
  default: return nullptr;
  }
}

} // namespace

Handler selectHalf(Op op, ptx::Type type, uint32_t flags) {
  switch (type) {
  case ptx::Type::F16: return byFormat<Half>(op, false, flags);
  case ptx::Type::F16x2: return byFormat<Half>(op, true, flags);
  case ptx::Type::BF16: return byFormat<BHalf>(op, false, flags);
  case ptx::Type::BF16x2: return byFormat<BHalf>(op, true, flags);
  default: return nullptr;
  }
}

LEVEL_END
