// f32, f64 and packed f32x2 arithmetic. Basic operations are correctly rounded; the `approx` functions are computed by
// polynomials within the error the PTX ISA documents (they are not what hardware tables give, bit for bit).
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

struct Add { template <class T> static T run(T a, T b) { return canonical(a + b); } };
struct Sub { template <class T> static T run(T a, T b) { return canonical(a - b); } };
struct Mul { template <class T> static T run(T a, T b) { return canonical(a * b); } };
struct Div { template <class T> static T run(T a, T b) { return canonical(a / b); } };
struct Fma {
  static float run(float a, float b, float c) { return canonical(__builtin_fmaf(a, b, c)); }
  static double run(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct Rcp { template <class T> static T run(T a) { return canonical(T(1) / a); } };
struct Sqrt {
  static float run(float a) { return canonical(__builtin_sqrtf(a)); }
  static double run(double a) { return __builtin_sqrt(a); }
};
struct Rsqrt {
  static float run(float a) { return canonical(float(1.0 / __builtin_sqrt(double(a)))); }
  static double run(double a) { return 1.0 / __builtin_sqrt(a); }
};
// Moves of bits: NaN payloads and signs survive.
struct Abs {
  static float run(float a) { return bits<float>(bits<uint32_t>(a) & 0x7FFFFFFF); }
  static double run(double a) { return bits<double>(bits<uint64_t>(a) & ~(uint64_t(1) << 63)); }
};
struct Neg {
  static float run(float a) { return bits<float>(bits<uint32_t>(a) ^ 0x80000000); }
  static double run(double a) { return bits<double>(bits<uint64_t>(a) ^ (uint64_t(1) << 63)); }
};
struct Copysign { // the sign of a on b
  static float run(float a, float b) {
    return bits<float>((bits<uint32_t>(b) & 0x7FFFFFFF) | (bits<uint32_t>(a) & 0x80000000));
  }
  static double run(double a, double b) {
    uint64_t sign = uint64_t(1) << 63;
    return bits<double>((bits<uint64_t>(b) & ~sign) | (bits<uint64_t>(a) & sign));
  }
};

template <class T>
T quiet();
template <> inline float quiet<float>() { return bits<float>(0x7FFFFFFFu); }
template <> inline double quiet<double>() { return bits<double>(uint64_t(0x7FFFFFFFFFFFFFFF)); }
template <class T> using WordOf = typename Slot<T>::Word;

template <bool Max, bool PropagateNan, bool XorSign>
struct Pick {
  template <class T> static T run(T a, T b) {
    WordOf<T> signBit = WordOf<T>(1) << (sizeof(T) * 8 - 1);
    WordOf<T> sign = (bits<WordOf<T>>(a) ^ bits<WordOf<T>>(b)) & signBit;
    if constexpr (XorSign) {
      a = Abs::run(a);
      b = Abs::run(b);
    }
    WordOf<T> x = bits<WordOf<T>>(a), y = bits<WordOf<T>>(b);
    // Equal values may be zeros of two signs: the minimum is the negative one.
    T equal = bits<T>(Max ? x & y : x | y);
    T r = a == b ? equal : (Max ? a > b : a < b) ? a : b;
    bool nanA = isNan(a), nanB = isNan(b);
    if constexpr (PropagateNan) {
      r = nanA || nanB ? quiet<T>() : r;
    } else {
      r = nanA ? b : nanB ? a : r;
      r = nanA && nanB ? quiet<T>() : r;
    }
    if constexpr (XorSign)
      r = isNan(r) ? r : bits<T>((bits<WordOf<T>>(r) & ~signBit) | sign);
    return r;
  }
};

struct Ex2 {
  static float run(float x) {
    float clamped = x < -152.0f ? -152.0f : x > 130.0f ? 130.0f : x;
    float n = (clamped + 12582912.0f) - 12582912.0f;
    float r = clamped - n;
    float p = 1.5252734e-5f;
    p = p * r + 1.5403530e-4f;
    p = p * r + 1.3333558e-3f;
    p = p * r + 9.6181291e-3f;
    p = p * r + 5.5504109e-2f;
    p = p * r + 2.4022651e-1f;
    p = p * r + 6.9314718e-1f;
    p = p * r + 1.0f;
    // 2^n in two factors, so that subnormal results round once.
    int whole = int(n), half = whole >> 1;
    float y = p * bits<float>(uint32_t(half + 127) << 23) * bits<float>(uint32_t(whole - half + 127) << 23);
    return isNan(x) ? quiet<float>() : y;
  }
};
struct Lg2 {
  static float run(float x) {
    bool tiny = x < 0x1p-126f;
    float scaled = tiny ? x * 0x1p24f : x;
    uint32_t u = bits<uint32_t>(scaled);
    int exponent = int((u - 0x3F3504F3u) >> 23); // mantissa in [sqrt(1/2), sqrt(2))
    exponent = exponent > 255 ? exponent - 512 : exponent;
    float m = bits<float>(u - (uint32_t(exponent) << 23));
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float p = 0.2222222f;
    p = p * z + 0.2857143f;
    p = p * z + 0.4f;
    p = p * z + 0.6666667f;
    p = p * z * s + 2.0f * s;
    float y = float(exponent - (tiny ? 24 : 0)) + p * 1.44269504f;
    y = x == 0.0f ? -__builtin_inff() : y;
    y = x == __builtin_inff() ? x : y;
    return x < 0.0f || isNan(x) ? quiet<float>() : y;
  }
};
template <int Phase> // 0 sine, 1 cosine
struct Trig {
  static float run(float x) {
    double wide = double(x);
    wide = wide < -1e9 || wide > 1e9 ? 0.0 : wide; // the approximation has no meaning out there
    double shifted = wide * 0.63661977236758134 + 6755399441055744.0;
    uint64_t quadrant = bits<uint64_t>(shifted) + uint64_t(Phase);
    double n = shifted - 6755399441055744.0;
    double r = wide - n * 1.5707963267948966;
    double z = r * r;
    double s = r * (1.0 + z * (-1.6666666666666666e-1 +
                               z * (8.3333333333333332e-3 + z * (-1.984126984126984e-4 + z * 2.7557319223985893e-6))));
    double c = 1.0 + z * (-0.5 + z * (4.1666666666666664e-2 +
                                      z * (-1.3888888888888889e-3 + z * (2.4801587301587302e-5 - z * 2.755731922398589e-7))));
    double y = quadrant & 1 ? c : s;
    y = quadrant & 2 ? -y : y;
    bool finite = (bits<uint32_t>(x) & 0x7F800000) != 0x7F800000;
    return finite ? float(y) : quiet<float>();
  }
};
struct Tanh {
  static float run(float x) {
    float magnitude = Abs::run(x), z = x * x;
    float small = x * (1.0f + z * (-0.33333334f + z * (0.13333334f + z * (-0.05396825f + z * 0.021869488f))));
    float large = 1.0f - 2.0f / (Ex2::run(magnitude * 2.88539008f) + 1.0f);
    float y = magnitude < 0.35f ? small : Copysign::run(x, large);
    return isNan(x) ? quiet<float>() : y;
  }
};

// .ftz: subnormal inputs and results become zeros of their sign.
template <class F>
struct Ftz {
  static float run(float a) { return flush(F::run(flush(a))); }
  static float run(float a, float b) { return flush(F::run(flush(a), flush(b))); }
  static float run(float a, float b, float c) { return flush(F::run(flush(a), flush(b), flush(c))); }
};

/// Everything but nearest rounding, and saturation: the mode is set around the lanes.
template <class T, class F, int Arity>
void general(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b), *c = in<T>(w, inst.c);
  auto *r = out<T>(d);
  bool ftz = inst.flags & FlushZero, saturate = inst.flags & Saturate, relu = inst.flags & Relu;
  RoundingScope scope(inst.flags);
  for (int i = 0; i < 32; ++i) {
    T x = Slot<T>::get(a[i]), y = Arity > 1 ? Slot<T>::get(b[i]) : T(0), z = Arity > 2 ? Slot<T>::get(c[i]) : T(0);
    if (ftz)
      x = flush(x), y = flush(y), z = flush(z);
    T v;
    if constexpr (Arity == 1)
      v = F::run(x);
    else if constexpr (Arity == 2)
      v = F::run(x, y);
    else
      v = F::run(x, y, z);
    if (ftz)
      v = flush(v);
    if (saturate)
      v = v > T(0) ? (v < T(1) ? v : T(1)) : T(0); // NaN becomes 0
    if (relu)
      v = v < T(0) ? T(0) : v;
    r[i] = Slot<T>::put(v);
  }
}

template <class F, int Arity, uint32_t Modes>
Handler pick32(uint32_t flags) {
  if (flags & ~uint32_t(FlushZero))
    return general<float, F, Arity>;
  if constexpr (Arity == 1)
    return flags ? unary<float, Ftz<F>> : unary<float, F>;
  else if constexpr (Arity == 2)
    return flags ? binary<float, Ftz<F>> : binary<float, F>;
  else
    return flags ? ternary<float, Ftz<F>> : ternary<float, F>;
}
template <class F, int Arity>
Handler pick64(uint32_t flags) {
  if (flags)
    return general<double, F, Arity>;
  if constexpr (Arity == 1)
    return unary<double, F>;
  else if constexpr (Arity == 2)
    return binary<double, F>;
  else
    return ternary<double, F>;
}

template <class F, int Arity>
void packed(Warp &w, const Inst &inst, void *d, uint32_t) { // f32x2
  auto *a = reinterpret_cast<const float *>(w.at(inst.a));
  auto *b = reinterpret_cast<const float *>(w.at(inst.b));
  auto *c = reinterpret_cast<const float *>(w.at(inst.c));
  auto *r = static_cast<float *>(d);
  bool ftz = inst.flags & FlushZero;
  RoundingScope scope(inst.flags);
  for (int i = 0; i < 64; ++i) {
    float x = a[i], y = b[i], z = Arity > 2 ? c[i] : 0.0f;
    if (ftz)
      x = flush(x), y = flush(y), z = flush(z);
    float v;
    if constexpr (Arity == 2)
      v = F::run(x, y);
    else
      v = F::run(x, y, z);
    r[i] = ftz ? flush(v) : v;
  }
}

Handler select32(Op op, uint32_t flags) {
  switch (op) {
  case Op::Add: return pick32<Add, 2, 0>(flags);
  case Op::Sub: return pick32<Sub, 2, 0>(flags);
  case Op::Mul: return pick32<Mul, 2, 0>(flags);
  case Op::Fma: return pick32<Fma, 3, 0>(flags);
  case Op::Div: return pick32<Div, 2, 0>(flags);
  case Op::Rcp: return pick32<Rcp, 1, 0>(flags);
  case Op::Sqrt: return pick32<Sqrt, 1, 0>(flags);
  case Op::Rsqrt: return pick32<Rsqrt, 1, 0>(flags);
  case Op::Abs: return pick32<Abs, 1, 0>(flags);
  case Op::Neg: return pick32<Neg, 1, 0>(flags);
  case Op::Copysign: return binary<float, Copysign>;
  case Op::Min: return pick32<Pick<false, false, false>, 2, 0>(flags);
  case Op::Max: return pick32<Pick<true, false, false>, 2, 0>(flags);
  case Op::MinNan: return pick32<Pick<false, true, false>, 2, 0>(flags);
  case Op::MaxNan: return pick32<Pick<true, true, false>, 2, 0>(flags);
  case Op::MinXorSign: return pick32<Pick<false, false, true>, 2, 0>(flags);
  case Op::MaxXorSign: return pick32<Pick<true, false, true>, 2, 0>(flags);
  case Op::Ex2: return pick32<Ex2, 1, 0>(flags);
  case Op::Lg2: return pick32<Lg2, 1, 0>(flags);
  case Op::Sin: return pick32<Trig<0>, 1, 0>(flags);
  case Op::Cos: return pick32<Trig<1>, 1, 0>(flags);
  case Op::Tanh: return pick32<Tanh, 1, 0>(flags);
  default: return nullptr;
  }
}
Handler select64(Op op, uint32_t flags) {
  switch (op) {
  case Op::Add: return pick64<Add, 2>(flags);
  case Op::Sub: return pick64<Sub, 2>(flags);
  case Op::Mul: return pick64<Mul, 2>(flags);
  case Op::Fma: return pick64<Fma, 3>(flags);
  case Op::Div: return pick64<Div, 2>(flags);
  case Op::Rcp: return pick64<Rcp, 1>(flags & ~FlushZero);
  case Op::Sqrt: return pick64<Sqrt, 1>(flags);
  case Op::Rsqrt: return pick64<Rsqrt, 1>(flags & ~FlushZero);
  case Op::Abs: return pick64<Abs, 1>(flags);
  case Op::Neg: return pick64<Neg, 1>(flags);
  case Op::Copysign: return pick64<Copysign, 2>(flags);
  case Op::Min: return pick64<Pick<false, false, false>, 2>(flags);
  case Op::Max: return pick64<Pick<true, false, false>, 2>(flags);
  default: return nullptr;
  }
}

} // namespace

Handler selectReal(Op op, ptx::Type type, uint32_t flags) {
  if (type == ptx::Type::F32)
    return select32(op, flags);
  if (type == ptx::Type::F64)
    return select64(op, flags);
  if (type == ptx::Type::F32x2)
    return op == Op::Add ? packed<Add, 2> : op == Op::Sub ? packed<Sub, 2> : op == Op::Mul ? packed<Mul, 2>
           : op == Op::Fma ? packed<Fma, 3> : nullptr;
  return nullptr;
}

LEVEL_END
