// mma.sync and wmma.mma. A slot of 32 lanes already holds eight rows of 16 contiguous bytes (lanes 4g … 4g+3 are row g),
// so unpacking a fragment is a conversion, not a gather. Accumulation is in f32 in k order; hardware's rounding inside a
// tensor core is undocumented, so results agree within tolerance only. Integer forms are exact.
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

using ptx::Type;

typedef float Row8 __attribute__((vector_size(32), aligned(32)));
typedef int32_t IntRow8 __attribute__((vector_size(32), aligned(32)));

typedef uint16_t Half8 __attribute__((vector_size(16)));
typedef uint32_t Word4 __attribute__((vector_size(16)));
typedef uint32_t Word8 __attribute__((vector_size(32)));

/// 16 bytes of 16-bit (or 32-bit) values to f32. Written as vectors: compilers given loops over all rows at once find
/// long ways around.
template <Type E>
inline void widenChunk(const char *p, float *out) {
  if constexpr (E == Type::TF32) {
    Word4 v;
    __builtin_memcpy(&v, p, 16);
    v &= 0xFFFFE000u; // hardware ignores the low 13 bits
    __builtin_memcpy(out, &v, 16);
  } else if constexpr (E == Type::BF16) {
    Half8 v;
    __builtin_memcpy(&v, p, 16);
    Word8 wide = __builtin_convertvector(v, Word8) << 16;
    __builtin_memcpy(out, &wide, 32);
  } else {
#if defined(__F16C__) && defined(__clang__)
    typedef _Float16 Float16x8 __attribute__((vector_size(16)));
    Float16x8 v;
    __builtin_memcpy(&v, p, 16);
    Row8 wide = __builtin_convertvector(v, Row8);
    __builtin_memcpy(out, &wide, 32);
#else
    for (int i = 0; i < 8; ++i)
      out[i] = floatFromHalf(reinterpret_cast<const uint16_t *>(p)[i]);
#endif
  }
}

/// Two registers of an accumulator hold the even and the odd columns of eight rows.
inline void mergeColumns(const char *even, const char *odd, float *rows) {
  for (int i = 0; i < 32; i += 8) {
    Row8 e, o;
    __builtin_memcpy(&e, even + i * 4, 32);
    __builtin_memcpy(&o, odd + i * 4, 32);
    Row8 low = __builtin_shufflevector(e, o, 0, 8, 1, 9, 2, 10, 3, 11), high = __builtin_shufflevector(e, o, 4, 12, 5, 13, 6, 14, 7, 15);
    __builtin_memcpy(rows + 2 * i, &low, 32);
    __builtin_memcpy(rows + 2 * i + 8, &high, 32);
  }
}
inline void splitColumns(const float *rows, char *even, char *odd) {
  for (int i = 0; i < 32; i += 8) {
    Row8 low, high;
    __builtin_memcpy(&low, rows + 2 * i, 32);
    __builtin_memcpy(&high, rows + 2 * i + 8, 32);
    Row8 e = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14), o = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
    __builtin_memcpy(even + i * 4, &e, 32);
    __builtin_memcpy(odd + i * 4, &o, 32);
  }
}

template <int K>
__attribute__((always_inline)) inline void multiply(const float (&A)[16][K], const float (&B)[K][8], float (&C)[16][8]) {
#if defined(__clang__)
#pragma clang fp contract(fast) // products of 11-bit mantissas are exact in f32: fusing changes nothing but speed
#endif
  for (int r = 0; r < 16; r += 4) {
    Row8 c0 = *reinterpret_cast<Row8 *>(C[r]), c1 = *reinterpret_cast<Row8 *>(C[r + 1]);
    Row8 c2 = *reinterpret_cast<Row8 *>(C[r + 2]), c3 = *reinterpret_cast<Row8 *>(C[r + 3]);
    for (int k = 0; k < K; ++k) {
      Row8 b = *reinterpret_cast<const Row8 *>(B[k]);
      c0 = c0 + b * A[r][k];
      c1 = c1 + b * A[r + 1][k];
      c2 = c2 + b * A[r + 2][k];
      c3 = c3 + b * A[r + 3][k];
    }
    *reinterpret_cast<Row8 *>(C[r]) = c0;
    *reinterpret_cast<Row8 *>(C[r + 1]) = c1;
    *reinterpret_cast<Row8 *>(C[r + 2]) = c2;
    *reinterpret_cast<Row8 *>(C[r + 3]) = c3;
  }
}

/// m16n8kK with f32 or f16 accumulators.
template <Type E, int K, bool HalfAccumulator>
void mma16n8(Warp &w, const Inst &inst, void *, uint32_t) {
  constexpr int perChunk = E == Type::TF32 ? 4 : 8, chunks = K / perChunk;
  constexpr int dRegs = HalfAccumulator ? 2 : 4, aRegs = 2 * chunks, bRegs = chunks;
  const Ref *list = inst.list;
  alignas(32) float A[16][K], Bt[8][K], B[K][8], C[16][8];
  for (int c = 0; c < chunks; ++c) {
    for (int h = 0; h < 2; ++h) {
      const char *a = w.at(list[dRegs + c * 2 + h]);
      for (int g = 0; g < 8; ++g)
        widenChunk<E>(a + g * 16, &A[h * 8 + g][c * perChunk]);
    }
    const char *b = w.at(list[dRegs + aRegs + c]);
    for (int g = 0; g < 8; ++g)
      widenChunk<E>(b + g * 16, &Bt[g][c * perChunk]);
  }
  for (int k = 0; k < K; k += 4) { // 8 rows of 4 to 4 rows of 8
    typedef float Four __attribute__((vector_size(16)));
    Four q[8];
    for (int n = 0; n < 8; ++n)
      __builtin_memcpy(&q[n], &Bt[n][k], 16);
    for (int half = 0; half < 2; ++half) {
      Four *v = q + half * 4;
      Four a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
      Four c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7), d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
      Four rows[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                      __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
      for (int row = 0; row < 4; ++row)
        __builtin_memcpy(&B[k + row][half * 4], &rows[row], 16);
    }
  }
  const Ref *c = list + dRegs + aRegs + bRegs;
  if constexpr (HalfAccumulator) {
    for (int h = 0; h < 2; ++h) {
      auto *p = reinterpret_cast<const uint16_t *>(w.at(c[h]));
      for (int i = 0; i < 64; ++i)
        C[h * 8 + i / 8][i % 8] = floatFromHalf(p[i]);
    }
  } else {
    for (int h = 0; h < 2; ++h)
      mergeColumns(w.at(c[2 * h]), w.at(c[2 * h + 1]), C[h * 8]);
  }
  multiply<K>(A, B, C);
  if constexpr (HalfAccumulator) {
    for (int h = 0; h < 2; ++h) {
      auto *p = reinterpret_cast<uint16_t *>(w.at(list[h]));
      for (int i = 0; i < 64; ++i)
        p[i] = halfFromFloat(C[h * 8 + i / 8][i % 8]);
    }
  } else {
    for (int h = 0; h < 2; ++h)
      splitColumns(C[h * 8], w.at(list[2 * h]), w.at(list[2 * h + 1]));
  }
}

/// Eight-bit integers: M is 8 or 16, n is 8.
template <int M, int K, bool SignedA, bool SignedB>
void mmaInteger(Warp &w, const Inst &inst, void *, uint32_t) {
  constexpr int chunks = K / 16, halves = M / 8, cRegs = 2 * halves, aRegs = halves * chunks;
  const Ref *list = inst.list;
  int32_t A[M][K], B[8][K], C[M][8];
  for (int c = 0; c < chunks; ++c) {
    for (int h = 0; h < halves; ++h) {
      auto *a = reinterpret_cast<const uint8_t *>(w.at(list[cRegs + c * halves + h]));
      for (int g = 0; g < 8; ++g)
        for (int i = 0; i < 16; ++i)
          A[h * 8 + g][c * 16 + i] = SignedA ? int8_t(a[g * 16 + i]) : a[g * 16 + i];
    }
    auto *b = reinterpret_cast<const uint8_t *>(w.at(list[cRegs + aRegs + c]));
    for (int g = 0; g < 8; ++g)
      for (int i = 0; i < 16; ++i)
        B[g][c * 16 + i] = SignedB ? int8_t(b[g * 16 + i]) : b[g * 16 + i];
  }
  const Ref *cList = list + cRegs + aRegs + chunks;
  for (int h = 0; h < halves; ++h)
    for (int i = 0; i < 32; ++i)
      for (int e = 0; e < 2; ++e)
        C[h * 8 + i / 4][(i % 4) * 2 + e] = reinterpret_cast<const int32_t *>(w.at(cList[2 * h + e]))[i];
  bool saturate = inst.flags & Saturate;
  for (int r = 0; r < M; ++r)
    for (int n = 0; n < 8; ++n) {
      int64_t sum = C[r][n];
      for (int k = 0; k < K; ++k)
        sum += A[r][k] * B[n][k];
      if (saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      C[r][n] = int32_t(uint32_t(uint64_t(sum)));
    }
  for (int h = 0; h < halves; ++h)
    for (int i = 0; i < 32; ++i)
      for (int e = 0; e < 2; ++e)
        reinterpret_cast<int32_t *>(w.at(list[2 * h + e]))[i] = C[h * 8 + i / 4][(i % 4) * 2 + e];
}

// -- wmma.mma: fragments in our own layout, element e = (lane · P + j) mod size (see Memory.cpp) -------------------

struct Fragment8 {
  int regs, perRegister;
};
template <Type E>
float element(uint32_t word, int j) {
  if constexpr (E == Type::F32)
    return bits<float>(word);
  else if constexpr (E == Type::TF32)
    return bits<float>(word & 0xFFFFE000u);
  else if constexpr (E == Type::F16)
    return floatFromHalf(uint16_t(word >> (16 * j)));
  else if constexpr (E == Type::BF16)
    return floatFromBf16(uint16_t(word >> (16 * j)));
  else if constexpr (E == Type::S8)
    return float(int8_t(word >> (8 * j)));
  else
    return float(uint8_t(word >> (8 * j)));
}
constexpr int per(Type type) { return type == Type::F16 || type == Type::BF16 ? 2 : type == Type::S8 || type == Type::U8 ? 4 : 1; }

template <Type E>
void unpackTile(Warp &w, const Ref *refs, int regs, int rows, int columns, float *out) {
  int perLane = regs * per(E), total = rows * columns;
  int lanes = total / perLane < 32 ? total / perLane : 32;
  for (int r = 0; r < regs; ++r) {
    auto *word = reinterpret_cast<const uint32_t *>(w.at(refs[r]));
    for (int i = 0; i < lanes; ++i)
      for (int j = 0; j < per(E); ++j)
        out[i * perLane + r * per(E) + j] = element<E>(word[i], j);
  }
}

/// target: m | n << 8 | k << 16; wide: registers of a | registers of b << 4; sub: accumulator kinds (bit 0: d is f16,
/// bit 1: c is f16). a is unpacked as [m][k], b as [k][n]: the loads put them so, whatever their layout in memory.
template <Type EA, Type EB, bool Integer>
void wmma(Warp &w, const Inst &inst, void *, uint32_t) {
  int M = inst.target & 255, N = (inst.target >> 8) & 255, K = (inst.target >> 16) & 255;
  int aRegs = inst.wide & 15, bRegs = inst.wide >> 4;
  bool halfD = inst.sub & 1, halfC = inst.sub & 2;
  const Ref *d = inst.list, *a = d + (halfD ? 4 : 8), *b = a + aRegs, *c = b + bRegs;
  float A[32 * 16], B[32 * 16];
  unpackTile<EA>(w, a, aRegs, M, K, A);
  unpackTile<EB>(w, b, bRegs, K, N, B);
  float C[256];
  int64_t I[256];
  if (Integer) {
    for (int r = 0; r < 8; ++r)
      for (int i = 0; i < 32; ++i)
        I[i * 8 + r] = reinterpret_cast<const int32_t *>(w.at(c[r]))[i];
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        int64_t sum = I[m * N + n];
        for (int k = 0; k < K; ++k)
          sum += int64_t(A[m * K + k]) * int64_t(B[k * N + n]);
        if (inst.flags & Saturate)
          sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        I[m * N + n] = sum;
      }
    for (int r = 0; r < 8; ++r)
      for (int i = 0; i < 32; ++i)
        reinterpret_cast<uint32_t *>(w.at(d[r]))[i] = uint32_t(uint64_t(I[i * 8 + r]));
    return;
  }
  if (halfC)
    unpackTile<Type::F16>(w, c, 4, M, N, C);
  else
    unpackTile<Type::F32>(w, c, 8, M, N, C);
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k) {
      float x = A[m * K + k];
      for (int n = 0; n < N; ++n)
        C[m * N + n] += x * B[k * N + n];
    }
  for (int i = 0; i < 32; ++i)
    for (int r = 0; r < 8; ++r) {
      if (halfD) {
        auto *word = reinterpret_cast<uint16_t *>(w.at(d[r / 2]));
        word[i * 2 + r % 2] = halfFromFloat(C[i * 8 + r]);
      } else {
        reinterpret_cast<float *>(w.at(d[r]))[i] = C[i * 8 + r];
      }
    }
}

template <int M, int K>
Handler integerForm(Type a, Type b) {
  if (a == Type::S8)
    return b == Type::S8 ? mmaInteger<M, K, true, true> : mmaInteger<M, K, true, false>;
  return b == Type::S8 ? mmaInteger<M, K, false, true> : mmaInteger<M, K, false, false>;
}

void movmatrix(Warp &w, const Inst &inst, void *, uint32_t) { // 8×8 halves, transposed
  alignas(64) uint16_t t[64];
  __builtin_memcpy(t, w.at(inst.a), 128);
  auto *r = reinterpret_cast<uint16_t *>(w.at(inst.d));
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      r[column * 8 + row] = t[row * 8 + column];
}

} // namespace

Handler selectMma(MmaShape shape, Type d, Type a, Type b, bool) {
  if (shape.m == 8 && shape.k == 0)
    return movmatrix;
  bool eightBit = (a == Type::S8 || a == Type::U8) && (b == Type::S8 || b == Type::U8);
  if (shape.n == 8 && shape.m == 16 && !eightBit) { // mma.sync
    if (a != b)
      return nullptr;
    bool half = d == Type::F16;
    if (a == Type::F16)
      return shape.k == 16 ? (half ? mma16n8<Type::F16, 16, true> : mma16n8<Type::F16, 16, false>)
             : shape.k == 8 ? (half ? mma16n8<Type::F16, 8, true> : mma16n8<Type::F16, 8, false>) : nullptr;
    if (half)
      return nullptr;
    if (a == Type::BF16)
      return shape.k == 16 ? mma16n8<Type::BF16, 16, false> : shape.k == 8 ? mma16n8<Type::BF16, 8, false> : nullptr;
    if (a == Type::TF32)
      return shape.k == 8 ? mma16n8<Type::TF32, 8, false> : shape.k == 4 ? mma16n8<Type::TF32, 4, false> : nullptr;
    return nullptr;
  }
  if (shape.n == 8 && (shape.m == 16 || shape.m == 8) && eightBit) {
    if (shape.m == 8)
      return shape.k == 16 ? integerForm<8, 16>(a, b) : nullptr;
    return shape.k == 16 ? integerForm<16, 16>(a, b) : shape.k == 32 ? integerForm<16, 32>(a, b) : nullptr;
  }
  // wmma shapes: m16n16k16, m32n8k16, m8n32k16, m16n16k8 (tf32)
  if (eightBit)
    return a == Type::S8 ? wmma<Type::S8, Type::S8, true> : wmma<Type::U8, Type::U8, true>;
  if (a == Type::F16)
    return wmma<Type::F16, Type::F16, false>;
  if (a == Type::BF16)
    return wmma<Type::BF16, Type::BF16, false>;
  if (a == Type::TF32)
    return wmma<Type::TF32, Type::TF32, false>;
  return nullptr;
}

LEVEL_END
