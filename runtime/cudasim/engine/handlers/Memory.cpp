// ld, st, atom, red, cp.async, ldmatrix, stmatrix and the wmma tiles' loads and stores.
//
// One warp access computes 32 addresses, checks their span against the bounds this instruction saw last (so a check is
// two compares), and moves whole vectors when the lanes are contiguous. Everything unusual — other allocation, generic
// windows, misalignment, local memory — goes through resolveAccess, which answers one host pointer per lane.
#include "runtime/cudasim/engine/handlers/Lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

LEVEL_BEGIN
namespace {

struct Access {
  alignas(64) uint64_t A[32];
  char *P[32];
  char *base = nullptr;
  uint64_t lo = 0;                    ///< the lowest address
  const AccessShape *shape = nullptr; ///< when all lanes take part and follow it
  bool contiguous = false, uniform = false, resolved = false;
  uint32_t m = 0;
  char *at(int i) const { return resolved ? P[i] : base + A[i]; }
};

inline void addressesOf(Warp &w, Ref reg, bool wide, bool none, int64_t offset, uint64_t (&A)[32]) {
  if (none) {
    LANES A[i] = uint64_t(offset);
  } else if (wide) {
    auto *a = reinterpret_cast<const uint64_t *>(w.at(reg));
    LANES A[i] = a[i] + uint64_t(offset);
  } else {
    auto *a = reinterpret_cast<const uint32_t *>(w.at(reg));
    LANES A[i] = uint32_t(a[i] + uint32_t(offset));
  }
}

inline void track(Warp &w, const MemOp &mem, BoundsCache &c, Access &x, uint32_t bytes, bool write) {
  if (!(write ? c.writeBits : c.readBits))
    return;
  uint64_t *words = write ? c.writeBits : c.readBits;
  auto mark = [&](uint64_t lo, uint64_t hi) { // relative to the map
    c.pageTouched[lo >> 12] = 1;
    c.pageTouched[(hi - 1) >> 12] = 1;
    for (uint64_t word = lo >> 6; word <= (hi - 1) >> 6; ++word) {
      uint64_t first = word << 6 < lo ? lo & 63 : 0, last = (word << 6) + 64 > hi ? (hi - 1) & 63 : 63;
      words[word] |= (~uint64_t(0) >> (63 - last)) & (~uint64_t(0) << first);
    }
  };
  if (x.contiguous || x.uniform) {
    mark(x.A[0] - c.bitsBase, (x.contiguous ? x.A[31] : x.A[0]) + bytes - c.bitsBase);
    return;
  }
  if (x.shape && x.shape->narrow) {
    uint64_t lo = x.lo - c.bitsBase;
    for (unsigned r = 0; r < x.shape->runs; ++r)
      mark(lo + x.shape->runBegin[r], lo + x.shape->runEnd[r]);
    return;
  }
  trackLanes(w, mem, x.A, bytes, write, x.m);
}

/// Fills in a shape from 32 addresses.
__attribute__((noinline)) void learn(AccessShape &s, const uint64_t (&A)[32], uint32_t bytes) {
  uint64_t first = A[0], all = 0, gaps = 0;
  int64_t low = 0, high = 0;
  LANES {
    int64_t v = int64_t(A[i] - first);
    s.pattern[i] = uint64_t(v);
    low = v < low ? v : low;
    high = v > high ? v : high;
    all |= uint64_t(v);
    gaps |= uint64_t(v) ^ uint64_t(i) * bytes;
  }
  s.low = low;
  s.high = high;
  s.alignBits = all;
  s.contiguous = gaps == 0;
  s.uniform = all == 0;
  s.narrow = high - low < (int64_t(1) << 30);
  LANES s.offsets[i] = uint32_t(s.pattern[i] - uint64_t(low));
  s.sameGroups = s.likeFirst = 0;
  for (int g = 0; g < 4; ++g) {
    uint32_t differs = 0, unlike = 0;
    for (int k = 0; k < 8; ++k) {
      differs |= s.offsets[g * 8 + k] ^ s.offsets[g * 8];
      unlike |= s.offsets[g * 8 + k] ^ s.offsets[k];
    }
    s.sameGroups |= uint8_t(differs == 0) << g;
    s.likeFirst |= uint8_t(unlike == 0) << g;
  }
  uint32_t begin = s.offsets[0], end = begin + bytes;
  s.runs = 0;
  for (int i = 1; i < 32; ++i) {
    uint32_t at = s.offsets[i];
    if (at == end) {
      end += bytes;
    } else if (at < begin || at + bytes > end) {
      s.runBegin[s.runs] = begin;
      s.runEnd[s.runs++] = end;
      begin = at;
      end = at + bytes;
    }
  }
  s.runBegin[s.runs] = begin;
  s.runEnd[s.runs++] = end;
}

/// False when no lane may proceed. x.A must be filled. `Regular`: one execution asks once.
template <bool Regular = true>
inline bool check(Warp &w, const Inst &inst, const MemOp &mem, MemSpace space, uint32_t bytes, bool write, uint32_t m,
                  Access &x, uint32_t align) {
  uint64_t lo, hi, all = 0;
  AccessShape &shape = w.shapes[mem.index];
  if (Regular && m == ~0u && shape.patience > 0) {
    uint64_t first = x.A[0], off = 0;
    LANES off |= (x.A[i] - first) ^ shape.pattern[i];
    if (off) [[unlikely]] {
      shape.patience = int8_t(shape.patience - 2);
      learn(shape, x.A, bytes);
    } else if (shape.patience < 64) {
      ++shape.patience;
    }
    lo = first + uint64_t(shape.low);
    hi = first + uint64_t(shape.high);
    all = first | shape.alignBits;
    x.shape = &shape;
    x.lo = lo;
    x.contiguous = shape.contiguous;
    x.uniform = shape.uniform;
  } else if (m == ~0u) {
    uint64_t first = x.A[0], off = 0, same = 0;
    LANES off |= x.A[i] ^ (first + uint64_t(i) * bytes);
    x.contiguous = off == 0;
    if (x.contiguous) {
      lo = first;
      hi = x.A[31];
      all = first;
    } else {
      LANES same |= x.A[i] ^ first;
      x.uniform = same == 0;
      lo = hi = all = first;
      if (!x.uniform) {
        int64_t low = int64_t(first), high = int64_t(first);
        LANES {
          int64_t v = int64_t(x.A[i]);
          low = v < low ? v : low;
          high = v > high ? v : high;
          all |= uint64_t(v);
        }
        lo = uint64_t(low);
        hi = uint64_t(high);
      }
    }
  } else {
    int first = __builtin_ctz(m);
    uint64_t filler = x.A[first];
    LANES x.A[i] = (m >> i) & 1 ? x.A[i] : filler;
    int64_t low = int64_t(filler), high = low;
    LANES {
      int64_t v = int64_t(x.A[i]);
      low = v < low ? v : low;
      high = v > high ? v : high;
      all |= uint64_t(v);
    }
    lo = uint64_t(low);
    hi = uint64_t(high);
  }
  x.m = m;
  BoundsCache &c = w.caches[mem.index];
  x.base = space == MemSpace::Shared ? w.shared : nullptr;
  if (lo < c.lo || hi + bytes > c.hi || (all & (align - 1))) [[unlikely]] {
    x.m = resolveAccess(w, inst, mem, x.A, bytes, write, m, x.P);
    x.resolved = true;
    x.contiguous = x.uniform = false;
    x.shape = nullptr;
    if (!x.m)
      return false;
    if (c.readBits)
      trackLanes(w, mem, x.A, bytes, write, x.m);
  } else {
    track(w, mem, c, x, bytes, write);
  }
  if (w.pending->granules && (space != MemSpace::Global || write)) [[unlikely]] {
    x.m = checkPending(w, inst, space, x.A, bytes, write, x.m);
    if (!x.m)
      return false;
  }
  return true;
}

template <class E, class W>
inline W widen(E e) { return W(e); }

template <int Bytes>
struct Unsigned;
template <> struct Unsigned<1> { using type = uint8_t; };
template <> struct Unsigned<2> { using type = uint16_t; };
template <> struct Unsigned<4> { using type = uint32_t; };
template <> struct Unsigned<8> { using type = uint64_t; };

template <class E>
inline E fetch(const char *p) {
  E e;
  __builtin_memcpy(&e, p, sizeof(E));
  return e;
}

typedef uint32_t Word4 __attribute__((vector_size(16)));
typedef uint32_t Word8 __attribute__((vector_size(32)));

/// One word of each lane.
inline void gatherWords(const Access &x, uint32_t *r) {
  const char *from = x.base + x.lo;
  const uint32_t *offsets = x.shape->offsets;
#if defined(__AVX512F__)
  for (int i = 0; i < 32; i += 16)
    _mm512_storeu_si512(r + i, _mm512_i32gather_epi32(_mm512_loadu_si512(offsets + i), from, 1));
#elif defined(__AVX2__)
  for (int i = 0; i < 32; i += 8) {
    __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(offsets + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(r + i), _mm256_i32gather_epi32(reinterpret_cast<const int *>(from), at, 1));
  }
#else
  for (int i = 0; i < 32; ++i)
    r[i] = fetch<uint32_t>(from + offsets[i]);
#endif
}

/// Four words of each lane into four registers: loads of 16 bytes and a transposition, not 128 scalar moves. Tiles of
/// matrices are read with eight lanes at one place, or every eight lanes at the same eight places.
inline void gatherFour(const Access &x, uint32_t *r0, uint32_t *r1, uint32_t *r2, uint32_t *r3) {
  uint8_t same = x.shape ? x.shape->sameGroups : 0, like = x.shape ? x.shape->likeFirst : 0;
  for (int i = 0; i < 32; i += 8) {
    if (same >> (i / 8) & 1) {
      Word4 v;
      __builtin_memcpy(&v, x.base + x.A[i], 16);
      uint32_t *r[4] = {r0, r1, r2, r3};
      for (int k = 0; k < 4; ++k) {
        Word8 all = Word8{} + v[k];
        __builtin_memcpy(r[k] + i, &all, 32);
      }
      continue;
    }
    if (i && like >> (i / 8) & 1) {
      uint32_t *r[4] = {r0, r1, r2, r3};
      for (int k = 0; k < 4; ++k) {
        Word8 first;
        __builtin_memcpy(&first, r[k], 32);
        __builtin_memcpy(r[k] + i, &first, 32);
      }
      continue;
    }
    Word4 low[4], high[4];
    Word8 v[4];
    for (int k = 0; k < 4; ++k) {
      __builtin_memcpy(&low[k], x.base + x.A[i + k], 16);
      __builtin_memcpy(&high[k], x.base + x.A[i + k + 4], 16);
      v[k] = __builtin_shufflevector(low[k], high[k], 0, 1, 2, 3, 4, 5, 6, 7);
    }
    Word8 a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13);
    Word8 b = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13);
    Word8 c = __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
    Word8 d = __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
    Word8 o0 = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    Word8 o1 = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    Word8 o2 = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    Word8 o3 = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
    __builtin_memcpy(r0 + i, &o0, 32);
    __builtin_memcpy(r1 + i, &o1, 32);
    __builtin_memcpy(r2 + i, &o2, 32);
    __builtin_memcpy(r3 + i, &o3, 32);
  }
}

/// E: element in memory (signed when sign-extending); W: register word; V: elements per lane.
template <class E, class W, int V>
void load(Warp &w, const Inst &inst, void *, uint32_t m) {
  const MemOp &mem = *inst.mem;
  Access x;
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, x.A);
  if (!check(w, inst, mem, mem.space, sizeof(E) * V, false, m, x, sizeof(E) * V))
    return;
  if (mem.strong)
    noteSpin(w);
  m = x.m;
  if (V == 1 && m == ~0u && !x.resolved) {
    W *r = reinterpret_cast<W *>(w.at(mem.values[0]));
    if (x.contiguous) {
      const char *p = x.base + x.A[0];
      if constexpr (sizeof(E) == sizeof(W))
        __builtin_memcpy(r, p, sizeof(W) * 32);
      else
        LANES r[i] = W(std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>(
            reinterpret_cast<const E *>(p)[i]));
    } else if (x.uniform) {
      W v = W(std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>(fetch<E>(x.base + x.A[0])));
      LANES r[i] = v;
    } else if (sizeof(E) == 4 && sizeof(W) == 4 && x.shape && x.shape->narrow) {
      gatherWords(x, reinterpret_cast<uint32_t *>(r));
    } else {
      alignas(64) W t[32];
      for (int i = 0; i < 32; ++i)
        t[i] = W(std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>(fetch<E>(x.base + x.A[i])));
      __builtin_memcpy(r, t, sizeof(t));
    }
    return;
  }
  alignas(64) W t[V][32];
  if (m == ~0u && x.uniform) {
    const char *p = x.base + x.A[0];
    for (int v = 0; v < V; ++v) {
      W value = W(std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>(fetch<E>(p + v * sizeof(E))));
      W *r = reinterpret_cast<W *>(w.at(mem.values[v]));
      LANES r[i] = value;
    }
    return;
  }
  if (m == ~0u && !x.resolved) {
    if constexpr (V == 4 && sizeof(E) == 4 && sizeof(W) == 4) {
      gatherFour(x, reinterpret_cast<uint32_t *>(w.at(mem.values[0])), reinterpret_cast<uint32_t *>(w.at(mem.values[1])),
                 reinterpret_cast<uint32_t *>(w.at(mem.values[2])), reinterpret_cast<uint32_t *>(w.at(mem.values[3])));
      return;
    }
    for (int i = 0; i < 32; ++i) {
      const char *p = x.base + x.A[i];
      for (int v = 0; v < V; ++v)
        t[v][i] = W(std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>(fetch<E>(p + v * sizeof(E))));
    }
    for (int v = 0; v < V; ++v)
      __builtin_memcpy(w.at(mem.values[v]), t[v], sizeof(t[v]));
    return;
  }
  for (uint32_t rest = m; rest; rest &= rest - 1) {
    int i = __builtin_ctz(rest);
    const char *p = x.at(i);
    for (int v = 0; v < V; ++v)
      t[v][i] = W(std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>(fetch<E>(p + v * sizeof(E))));
  }
  for (int v = 0; v < V; ++v) {
    W *r = reinterpret_cast<W *>(w.at(mem.values[v]));
    for (uint32_t rest = m; rest; rest &= rest - 1) {
      int i = __builtin_ctz(rest);
      r[i] = t[v][i];
    }
  }
}

template <class E, class W, int V>
void store(Warp &w, const Inst &inst, void *, uint32_t m) {
  const MemOp &mem = *inst.mem;
  Access x;
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, x.A);
  if (!check(w, inst, mem, mem.space, sizeof(E) * V, true, m, x, sizeof(E) * V))
    return;
  ++w.writes;
  m = x.m;
  if (V == 1 && m == ~0u && x.contiguous) {
    const W *r = reinterpret_cast<const W *>(w.at(mem.values[0]));
    char *p = x.base + x.A[0];
    if constexpr (sizeof(E) == sizeof(W))
      __builtin_memcpy(p, r, sizeof(W) * 32);
    else
      LANES reinterpret_cast<E *>(p)[i] = E(r[i]);
    return;
  }
  const W *r[V];
  for (int v = 0; v < V; ++v)
    r[v] = reinterpret_cast<const W *>(w.at(mem.values[v]));
  if (m == ~0u && !x.resolved) {
    for (int i = 0; i < 32; ++i) {
      char *p = x.base + x.A[i];
      for (int v = 0; v < V; ++v) {
        E e = E(r[v][i]);
        __builtin_memcpy(p + v * sizeof(E), &e, sizeof(E));
      }
    }
    return;
  }
  for (uint32_t rest = m; rest; rest &= rest - 1) {
    int i = __builtin_ctz(rest);
    char *p = x.at(i);
    for (int v = 0; v < V; ++v) {
      E e = E(r[v][i]);
      __builtin_memcpy(p + v * sizeof(E), &e, sizeof(E));
    }
  }
}

// -- atomics -------------------------------------------------------------------------------------------------------

inline float halfOf(NumKind num, uint16_t h) { return num == NumKind::Half || num == NumKind::Half2 ? floatFromHalf(h) : floatFromBf16(h); }
inline uint16_t halfTo(NumKind num, float f) { return num == NumKind::Half || num == NumKind::Half2 ? halfFromFloat(f) : bf16FromFloat(f); }
inline uint16_t halfApply(AtomOp op, NumKind num, uint16_t a, uint16_t b) {
  float x = halfOf(num, a), y = halfOf(num, b);
  if (op == AtomOp::Add)
    return halfTo(num, x + y);
  if (op == AtomOp::Min)
    return isNan(x) ? b : isNan(y) ? a : (y < x ? b : a);
  return isNan(x) ? b : isNan(y) ? a : (y > x ? b : a);
}

template <class T>
T apply(AtomOp op, NumKind num, T old, T b) {
  using S = std::make_signed_t<T>;
  if (num == NumKind::Float) {
    if constexpr (sizeof(T) == 4) {
      float x = bits<float>(old), y = bits<float>(b);
      return bits<T>(op == AtomOp::Add ? canonical(x + y) : op == AtomOp::Min ? (y < x ? y : x) : (y > x ? y : x));
    } else if constexpr (sizeof(T) == 8) {
      double x = bits<double>(old), y = bits<double>(b);
      return bits<T>(op == AtomOp::Add ? x + y : op == AtomOp::Min ? (y < x ? y : x) : (y > x ? y : x));
    }
  }
  if (num == NumKind::Half || num == NumKind::BHalf)
    return T(halfApply(op, num, uint16_t(old), uint16_t(b)));
  if constexpr (sizeof(T) == 4)
    if (num == NumKind::Half2 || num == NumKind::BHalf2)
      return uint32_t(halfApply(op, num, uint16_t(old), uint16_t(b))) |
             uint32_t(halfApply(op, num, uint16_t(old >> 16), uint16_t(b >> 16))) << 16;
  switch (op) {
  case AtomOp::Add: return T(old + b);
  case AtomOp::Sub: return T(old - b);
  case AtomOp::Min: return num == NumKind::Signed ? (S(b) < S(old) ? b : old) : (b < old ? b : old);
  case AtomOp::Max: return num == NumKind::Signed ? (S(b) > S(old) ? b : old) : (b > old ? b : old);
  case AtomOp::And: return T(old & b);
  case AtomOp::Or: return T(old | b);
  case AtomOp::Xor: return T(old ^ b);
  case AtomOp::Inc: return old >= b ? T(0) : T(old + 1);
  case AtomOp::Dec: return old == 0 || old > b ? b : T(old - 1);
  default: return b;
  }
}

template <class T, class W>
void atomic(Warp &w, const Inst &inst, void *, uint32_t m) {
  const MemOp &mem = *inst.mem;
  int V = mem.vector;
  Access x;
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, x.A);
  if (!check(w, inst, mem, mem.space, uint32_t(sizeof(T)) * V, true, m, x, uint32_t(sizeof(T)) * V))
    return;
  bool changed = false;
  for (int v = 0; v < V; ++v) {
    // Vector forms: values holds the V operands, inst.list is not free, so results follow at values[V + v].
    const W *b = reinterpret_cast<const W *>(w.at(mem.values[V == 1 ? 0 : v]));
    const W *c = V == 1 && mem.op == AtomOp::Cas ? reinterpret_cast<const W *>(w.at(mem.values[1])) : nullptr;
    W *r = inst.sub ? reinterpret_cast<W *>(w.at(V == 1 ? inst.d : mem.values[4 + v])) : nullptr;
    alignas(64) W olds[32];
    for (uint32_t rest = x.m; rest; rest &= rest - 1) {
      int i = __builtin_ctz(rest);
      T *p = reinterpret_cast<T *>(x.at(i)) + v;
      T operand = T(b[i]), old;
      if (mem.op == AtomOp::Cas) {
        old = operand;
        if (__atomic_compare_exchange_n(p, &old, T(c[i]), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
          changed |= old != T(c[i]);
      } else if (mem.op == AtomOp::Exch) {
        old = __atomic_exchange_n(p, operand, __ATOMIC_SEQ_CST);
        changed |= old != operand;
      } else if (mem.op == AtomOp::Add && mem.num <= NumKind::Signed) {
        old = __atomic_fetch_add(p, operand, __ATOMIC_SEQ_CST);
        changed |= operand != 0;
      } else {
        old = __atomic_load_n(p, __ATOMIC_RELAXED);
        T next;
        do
          next = apply<T>(mem.op, mem.num, old, operand);
        while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        changed |= next != old;
      }
      olds[i] = W(old);
    }
    if (r)
      blend(r, olds, x.m);
  }
  if (changed)
    ++w.writes;
  else
    noteSpin(w);
}

// -- cp.async ------------------------------------------------------------------------------------------------------

void asyncCopy(Warp &w, const Inst &inst, void *, uint32_t m) {
  const MemOp &mem = *inst.mem;
  uint32_t bytes = mem.elementBytes;
  Access to;
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, to.A);
  // The bounds cache of this instruction is the destination's; the source has the next one.
  if (!check(w, inst, mem, MemSpace::Shared, bytes, true, m, to, bytes))
    return;
  m = to.m;
  uint32_t sizes[32], reading = 0;
  auto *size = mem.hasSourceSize ? reinterpret_cast<const uint32_t *>(w.at(mem.sourceSize)) : nullptr;
  for (int i = 0; i < 32; ++i) {
    sizes[i] = size ? (size[i] < bytes ? size[i] : bytes) : bytes;
    if ((m >> i) & 1 && sizes[i])
      reading |= 1u << i;
  }
  Access from;
  for (int i = 0; i < 32; ++i)
    from.A[i] = 0;
  if (reading) {
    MemOp source = mem;
    source.index = mem.index + 1;
    source.space = MemSpace::Global;
    addressesOf(w, mem.source, true, false, mem.sourceOffset, from.A);
    if (!check(w, inst, source, MemSpace::Global, bytes, false, reading, from, bytes))
      return;
    reading = from.m;
  }
  for (uint32_t rest = m; rest; rest &= rest - 1) {
    int i = __builtin_ctz(rest);
    char *d = to.at(i);
    uint32_t n = (reading >> i) & 1 ? sizes[i] : 0;
    if (n == 16)
      __builtin_memcpy(d, from.at(i), 16);
    else {
      if (n)
        __builtin_memcpy(d, from.at(i), n);
      __builtin_memset(d + n, 0, bytes - n);
    }
  }
  ++w.writes;
  noteAsyncCopy(w, to.A, bytes, from.A, sizes, m);
}

// -- matrices ------------------------------------------------------------------------------------------------------

void transpose8(const uint16_t (&rows)[64], uint16_t *lanes) { // lanes: 32 × two halves
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c)
      lanes[(c * 4 + r / 2) * 2 + r % 2] = rows[r * 8 + c];
}

template <bool Transposed>
void ldmatrix(Warp &w, const Inst &inst, void *, uint32_t) { // vector: 1, 2 or 4 matrices
  const MemOp &mem = *inst.mem;
  int count = mem.vector;
  uint32_t lanes = count == 4 ? ~0u : count == 2 ? 0xFFFFu : 0xFFu;
  Access x;
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, x.A);
  if (!check(w, inst, mem, mem.space, 16, false, lanes, x, 16) || x.m != lanes)
    return;
  alignas(64) uint16_t t[4][64];
  for (int i = 0; i < count * 8; ++i)
    __builtin_memcpy(&t[i / 8][(i % 8) * 8], x.at(i), 16);
  for (int j = 0; j < count; ++j) {
    auto *r = reinterpret_cast<uint16_t *>(w.at(mem.values[j]));
    if (Transposed)
      transpose8(t[j], r);
    else
      __builtin_memcpy(r, t[j], 128);
  }
}
template <bool Transposed>
void stmatrix(Warp &w, const Inst &inst, void *, uint32_t) {
  const MemOp &mem = *inst.mem;
  int count = mem.vector;
  uint32_t lanes = count == 4 ? ~0u : count == 2 ? 0xFFFFu : 0xFFu;
  Access x;
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, x.A);
  if (!check(w, inst, mem, mem.space, 16, true, lanes, x, 16) || x.m != lanes)
    return;
  ++w.writes;
  for (int j = 0; j < count; ++j) {
    alignas(64) uint16_t t[64];
    auto *r = reinterpret_cast<const uint16_t *>(w.at(mem.values[j]));
    if (Transposed) {
      for (int row = 0; row < 8; ++row)
        for (int c = 0; c < 8; ++c)
          t[row * 8 + c] = r[(c * 4 + row / 2) * 2 + row % 2];
    } else {
      __builtin_memcpy(t, r, 128);
    }
    for (int row = 0; row < 8; ++row)
      __builtin_memcpy(x.at(j * 8 + row), t + row * 8, 16);
  }
}

/// wmma.load/store: element e = (lane · P + j) mod rows·columns of a tile; the layout inside fragments is ours.
/// mem.tile: registers; target: rows | columns << 8 | perRegister << 16; sub: 1 when the first index is contiguous
/// (column-major a, row-major b …), wide: elements per lane; c: stride register (elements), flags: element bytes.
template <bool Store>
void wmmaTile(Warp &w, const Inst &inst, void *, uint32_t m) {
  const MemOp &mem = *inst.mem;
  uint32_t rows = inst.target & 255, columns = (inst.target >> 8) & 255, perRegister = inst.target >> 16;
  uint32_t perLane = inst.wide, total = rows * columns, bytes = inst.flags;
  auto *strides = reinterpret_cast<const uint32_t *>(w.at(inst.c));
  alignas(64) uint64_t bases[32];
  addressesOf(w, mem.address, mem.wideAddress, mem.noAddress, mem.offset, bases);
  for (uint32_t j = 0; j < perLane; ++j) {
    Access x;
    for (uint32_t i = 0; i < 32; ++i) {
      uint32_t e = (i * perLane + j) % total, row = e / columns, column = e % columns;
      uint64_t index = inst.sub ? uint64_t(column) * strides[i] + row : uint64_t(row) * strides[i] + column;
      x.A[i] = bases[i] + index * bytes;
    }
    if (!check<false>(w, inst, mem, mem.space, bytes, Store, m, x, bytes))
      return;
    uint32_t reg = j / perRegister, shift = (j % perRegister) * bytes * 8;
    auto *word = reinterpret_cast<uint32_t *>(w.at(mem.tile[reg]));
    for (uint32_t rest = x.m; rest; rest &= rest - 1) {
      int i = __builtin_ctz(rest);
      uint32_t keep = bytes == 4 ? ~0u : ((1u << (bytes * 8)) - 1) << shift;
      if (Store) {
        uint32_t v = word[i] >> shift;
        __builtin_memcpy(x.at(i), &v, bytes);
      } else {
        uint32_t v = 0;
        __builtin_memcpy(&v, x.at(i), bytes);
        word[i] = (word[i] & ~keep) | (v << shift);
      }
    }
  }
  if (Store)
    ++w.writes;
}

template <class E, class W>
Handler loadVector(unsigned vector) {
  switch (vector) {
  case 1: return load<E, W, 1>;
  case 2: return load<E, W, 2>;
  case 4: return load<E, W, 4>;
  case 8: if constexpr (sizeof(E) == 4) return load<E, W, 8>; else return nullptr;
  default: return nullptr;
  }
}
template <class E, class W>
Handler storeVector(unsigned vector) {
  switch (vector) {
  case 1: return store<E, W, 1>;
  case 2: return store<E, W, 2>;
  case 4: return store<E, W, 4>;
  case 8: if constexpr (sizeof(E) == 4) return store<E, W, 8>; else return nullptr;
  default: return nullptr;
  }
}

} // namespace

Handler selectLoad(const MemOp &mem) {
  if (mem.access == AccessKind::Atomic) {
    switch (mem.elementBytes) {
    case 2: return atomic<uint16_t, uint32_t>;
    case 4: return atomic<uint32_t, uint32_t>;
    case 8: return atomic<uint64_t, uint64_t>;
    default: return nullptr;
    }
  }
  if (mem.access == AccessKind::AsyncCopy)
    return asyncCopy;
  if (mem.access == AccessKind::LdMatrix)
    return mem.isSigned ? ldmatrix<true> : ldmatrix<false>; // isSigned: .trans
  if (mem.access == AccessKind::MmaTile)
    return wmmaTile<false>;
  bool wide = mem.regBytes == 8, s = mem.isSigned;
  switch (mem.elementBytes) {
  case 1:
    return wide ? (s ? loadVector<int8_t, uint64_t>(mem.vector) : loadVector<uint8_t, uint64_t>(mem.vector))
                : (s ? loadVector<int8_t, uint32_t>(mem.vector) : loadVector<uint8_t, uint32_t>(mem.vector));
  case 2:
    return wide ? (s ? loadVector<int16_t, uint64_t>(mem.vector) : loadVector<uint16_t, uint64_t>(mem.vector))
                : (s ? loadVector<int16_t, uint32_t>(mem.vector) : loadVector<uint16_t, uint32_t>(mem.vector));
  case 4:
    return wide ? (s ? loadVector<int32_t, uint64_t>(mem.vector) : loadVector<uint32_t, uint64_t>(mem.vector))
                : loadVector<uint32_t, uint32_t>(mem.vector);
  case 8:
    return wide ? loadVector<uint64_t, uint64_t>(mem.vector) : nullptr;
  default:
    return nullptr;
  }
}
Handler selectStore(const MemOp &mem) {
  if (mem.access == AccessKind::StMatrix)
    return mem.isSigned ? stmatrix<true> : stmatrix<false>;
  if (mem.access == AccessKind::MmaTile)
    return wmmaTile<true>;
  bool wide = mem.regBytes == 8;
  switch (mem.elementBytes) {
  case 1: return wide ? storeVector<uint8_t, uint64_t>(mem.vector) : storeVector<uint8_t, uint32_t>(mem.vector);
  case 2: return wide ? storeVector<uint16_t, uint64_t>(mem.vector) : storeVector<uint16_t, uint32_t>(mem.vector);
  case 4: return wide ? storeVector<uint32_t, uint64_t>(mem.vector) : storeVector<uint32_t, uint32_t>(mem.vector);
  case 8: return wide ? storeVector<uint64_t, uint64_t>(mem.vector) : nullptr;
  default: return nullptr;
  }
}

LEVEL_END
