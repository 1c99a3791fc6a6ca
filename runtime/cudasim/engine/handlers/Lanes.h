// Shared by the files compiled once per x86 level (see CMakeLists.txt: CUDASIM_LEVEL names the namespace).
//
// Everything here is internal to its level: an inline function with external linkage, compiled for AVX-512 in one file
// and for SSE2 in another, would be merged by the linker and crash older machines. Hence no std templates here.
#pragma once

#include "runtime/cudasim/engine/handlers/Handlers.h"

#include <xmmintrin.h>
#include <type_traits>

#define LEVEL_BEGIN namespace graphc::cudasim::CUDASIM_LEVEL {
#define LEVEL_END }

// Registers are either the same or disjoint (two pools by width), so lanes never depend on each other.
#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety) interleave(disable)") for (int i = 0; i < 32; ++i)
#else
#define LANES _Pragma("GCC ivdep") for (int i = 0; i < 32; ++i)
#endif

LEVEL_BEGIN
Handler selectInteger(Op op, ptx::Type type);
Handler selectReal(Op op, ptx::Type type, uint32_t flags);
Handler selectHalf(Op op, ptx::Type type, uint32_t flags);
Handler selectConvert(ptx::Type to, ptx::Type from, CvtRound round, uint32_t flags);
Handler selectConvertPack(ptx::Type to, CvtRound round, uint32_t flags);
Handler selectCompare(ptx::Type type, Cmp cmp, bool ftz);
Handler selectCompareSet(ptx::Type type, Cmp cmp, bool ftz, ptx::Type result);
Handler selectTestp(ptx::Type type, unsigned what);
Handler selectLoad(const MemOp &mem);
Handler selectStore(const MemOp &mem);
Handler selectWarp(WarpOp op);
Handler selectPredicate(PredOp op);
Handler selectMma(MmaShape shape, ptx::Type d, ptx::Type a, ptx::Type b, bool saturate);

namespace {

template <class To, class From>
inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// How a value type sits in its slot.
template <class T>
struct Slot {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static T get(Word w) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      return bits<T>(w);
    else
      return T(w);
  }
  static Word put(T v) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      return bits<Word>(v);
    else
      return Word(std::make_unsigned_t<T>(v));
  }
};

template <class T>
inline const typename Slot<T>::Word *in(Warp &w, Ref ref) {
  return reinterpret_cast<const typename Slot<T>::Word *>(w.at(ref));
}
template <class T>
inline typename Slot<T>::Word *out(void *d) {
  return static_cast<typename Slot<T>::Word *>(d);
}

template <class T, class F>
void unary(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a);
  auto *r = out<T>(d);
  LANES r[i] = Slot<T>::put(F::run(Slot<T>::get(a[i])));
}
template <class T, class F>
void binary(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a);
  auto *b = in<T>(w, inst.b);
  auto *r = out<T>(d);
  LANES r[i] = Slot<T>::put(F::run(Slot<T>::get(a[i]), Slot<T>::get(b[i])));
}
template <class T, class F>
void ternary(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a);
  auto *b = in<T>(w, inst.b);
  auto *c = in<T>(w, inst.c);
  auto *r = out<T>(d);
  LANES r[i] = Slot<T>::put(F::run(Slot<T>::get(a[i]), Slot<T>::get(b[i]), Slot<T>::get(c[i])));
}

/// d = mask lane ? s : d.
template <class Word>
inline void blend(Word *d, const Word *s, uint32_t mask) {
  if (mask == 0xFFFFFFFFu) {
    LANES d[i] = s[i];
    return;
  }
  LANES {
    Word keep = Word(0) - Word((mask >> i) & 1);
    d[i] = (s[i] & keep) | (d[i] & ~keep);
  }
}

// -- half precision ------------------------------------------------------------------------------------------------

inline float floatFromBf16(uint16_t h) { return bits<float>(uint32_t(h) << 16); }

inline uint16_t bf16FromFloat(float f) {
  uint32_t u = bits<uint32_t>(f);
  uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
  return (u & 0x7FFFFFFF) > 0x7F800000 ? uint16_t(0x7FFF) : uint16_t(rounded);
}

#if defined(__F16C__)
inline float floatFromHalf(uint16_t h) { return float(bits<_Float16>(h)); }
inline uint16_t halfFromFloat(float f) {
  uint16_t h = bits<uint16_t>(_Float16(f));
  return (h & 0x7FFF) > 0x7C00 ? uint16_t(0x7FFF) : h;
}
#else
inline float floatFromHalf(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, rest = h & 0x7FFF;
  uint32_t normal = (rest << 13) + 0x38000000;
  float subnormal = float(int(rest)) * 0x1p-24f;
  uint32_t special = (rest << 13) | 0x7F800000;
  uint32_t r = rest >= 0x7C00 ? special : rest < 0x0400 ? bits<uint32_t>(subnormal) : normal;
  return bits<float>(r | sign);
}
inline uint16_t halfFromFloat(float f) {
  uint32_t u = bits<uint32_t>(f), sign = (u >> 16) & 0x8000;
  u &= 0x7FFFFFFF;
  // Adding 2^(−14+13−…)-scaled magic makes the addition itself round subnormals to nearest even.
  uint32_t tiny = bits<uint32_t>(bits<float>(u) + 0.5f) - 0x3F000000;
  uint32_t normal = (u - 0x38000000 + 0x0FFF + ((u >> 13) & 1)) >> 13;
  uint32_t r = u > 0x7F800000 ? 0x7FFF : u >= 0x47800000 ? 0x7C00 : u < 0x38800000 ? tiny : normal;
  return uint16_t(u > 0x7F800000 ? 0x7FFF : r | sign);
}
#endif

inline bool isNan(float x) { return x != x; }
inline bool isNan(double x) { return x != x; }
inline float canonical(float x) { return x == x ? x : bits<float>(0x7FFFFFFFu); }
inline double canonical(double x) { return x; }
inline float flush(float x) {
  uint32_t u = bits<uint32_t>(x);
  return bits<float>((u & 0x7F800000) ? u : u & 0x80000000);
}
inline double flush(double x) { return x; }

/// Rounding mode for the duration of a block; the memory clobbers keep loads and stores of lanes inside.
struct RoundingScope {
  unsigned saved;
  explicit RoundingScope(uint32_t flags) : saved(_mm_getcsr()) {
    static const unsigned modes[4] = {0, 0x6000, 0x2000, 0x4000};
    _mm_setcsr((saved & ~0x6000u) | modes[flags & RoundMask]);
    asm volatile("" ::: "memory");
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
    _mm_setcsr(saved);
  }
};

} // namespace
LEVEL_END
