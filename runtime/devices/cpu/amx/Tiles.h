// Private to this folder: AMX tiles and the vector functions around them. Every function carries the instruction set it needs
// itself, so that no code of other files (standard headers' templates, for one) is compiled for it by accident.
//
// Tiles 0–3 hold a block of 32 x 32 results in f32 (0 1 / 2 3), 4–5 rows of the left operand, 6–7 columns of the right one.
#pragma once

#include "runtime/base/DType.h"

#include <cstdint>

namespace graphc::cpu::amx {
constexpr int64_t kBlock = 32;                     // rows and columns of a block of results
constexpr int64_t kDepth = 32;                     // of one tile product
constexpr int64_t kBlockBytes = kBlock * kBlock * 4;

constexpr int64_t blocksOf(int64_t size) { return (size + 31) / 32; }
} // namespace graphc::cpu::amx

#if defined(__x86_64__)
#include <immintrin.h>

#define GRAPHC_AMX_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")))
#define GRAPHC_AMX GRAPHC_AMX_TARGET static inline __attribute__((always_inline))

namespace graphc::cpu::amx {

using Bf16 = uint16_t;
using Vector = __m512;


// ---- tiles ----

/// Rows of a block in the upper and in the lower pair of tiles.
GRAPHC_AMX void configureTiles(int upper, int lower) {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t bytesPerRow[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int tile = 0; tile < 8; ++tile) {
    bool right = tile >= 6, low = tile == 2 || tile == 3 || tile == 5;
    config.bytesPerRow[tile] = 64;
    config.rows[tile] = static_cast<uint8_t>(right ? 16 : low ? lower : upper);
  }
  _tile_loadconfig(&config);
}

/// For a block of `rows` rows.
GRAPHC_AMX void configureRows(int64_t rows) {
  configureTiles(static_cast<int>(rows < 16 ? rows : 16), static_cast<int>(rows > 16 ? rows - 16 : 1));
}

/// Leaves the tiles' registers empty, so that nobody has to save them.
GRAPHC_AMX void releaseTiles() { _tile_release(); }

GRAPHC_AMX void zeroBlock(bool lower) {
  _tile_zero(0);
  _tile_zero(1);
  if (lower) {
    _tile_zero(2);
    _tile_zero(3);
  }
}
/// From and to 32 rows of 32 floats.
GRAPHC_AMX void loadBlock(bool lower, const float *block) {
  _tile_loadd(0, block, 128);
  _tile_loadd(1, block + 16, 128);
  if (lower) {
    _tile_loadd(2, block + 512, 128);
    _tile_loadd(3, block + 528, 128);
  }
}
GRAPHC_AMX void storeBlock(bool lower, float *block) {
  _tile_stored(0, block, 128);
  _tile_stored(1, block + 16, 128);
  if (lower) {
    _tile_stored(2, block + 512, 128);
    _tile_stored(3, block + 528, 128);
  }
}

/// One step of depth 32: `left` is the block's first row, `right` two tiles of the packed operand. The left operand passes
/// through, so that the right one stays in the first-level cache.
template <bool kLower>
GRAPHC_AMX void multiplyStep(const Bf16 *left, int64_t rowBytes, const Bf16 *right) {
  _tile_loadd(6, right, 64);
  _tile_stream_loadd(4, left, rowBytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, right + 512, 64);
  _tile_dpbf16ps(1, 4, 7);
  if (kLower) {
    _tile_stream_loadd(5, reinterpret_cast<const char *>(left) + 16 * rowBytes, rowBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

// ---- vectors ----

GRAPHC_AMX Vector splat(float value) { return _mm512_set1_ps(value); }
GRAPHC_AMX Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
GRAPHC_AMX __m512i narrowed(Vector low, Vector high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
GRAPHC_AMX Vector widened(__m256i half) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16)); }

/// The lanes below `count`; all when there are 16 or more, none when there are none.
GRAPHC_AMX __mmask16 lanesBelow(int64_t count) {
  return count >= 16 ? __mmask16(0xffff) : count <= 0 ? __mmask16(0) : __mmask16((1u << count) - 1);
}
GRAPHC_AMX __mmask32 pairLanesBelow(int64_t count) {
  return count >= 32 ? __mmask32(0xffffffff) : count <= 0 ? __mmask32(0) : __mmask32((1u << count) - 1);
}

/// 16 elements from element `at` on, as f32; `type` is F32 or BF16.
GRAPHC_AMX Vector loadElements(const void *base, int64_t at, DType type, __mmask16 lanes) {
  if (type == DType::F32)
    return _mm512_maskz_loadu_ps(lanes, static_cast<const float *>(base) + at);
  return widened(_mm256_maskz_loadu_epi16(lanes, static_cast<const Bf16 *>(base) + at));
}
GRAPHC_AMX Vector loadScalar(const void *base, int64_t at, DType type) {
  if (type == DType::F32)
    return splat(static_cast<const float *>(base)[at]);
  return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(uint32_t(static_cast<const Bf16 *>(base)[at]) << 16)));
}

/// 1 / x within an ulp or two, for finite x.
GRAPHC_AMX Vector reciprocal(Vector x) {
  Vector r = _mm512_rcp14_ps(x);
  return _mm512_mul_ps(r, _mm512_fnmadd_ps(x, r, splat(2)));
}

template <int kCount>
GRAPHC_AMX Vector polynomial(Vector x, const float (&coefficients)[kCount]) {
  Vector sum = splat(coefficients[0]);
  for (int i = 1; i < kCount; ++i)
    sum = fma(sum, x, splat(coefficients[i]));
  return sum;
}

/// exp(x) to about 2e-7; NaN stays, -inf gives 0. Ends at exp(88), which is finite and has a reciprocal.
GRAPHC_AMX Vector exponential(Vector x) {
  // The operand stands second, where NaN passes through.
  x = _mm512_min_ps(splat(88.0f), _mm512_max_ps(splat(-104.0f), x));
  Vector t = _mm512_mul_ps(x, splat(1.44269504088896341f));
  Vector n = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  Vector r = fma(n, splat(-0.693359375f), x);
  r = fma(n, splat(2.12194440e-4f), r);
  Vector p = polynomial(r, {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f, 1.0f, 1.0f});
  return _mm512_scalef_ps(p, n);
}

GRAPHC_AMX Vector logistic(Vector x) {
  Vector result = reciprocal(_mm512_add_ps(splat(1), exponential(_mm512_sub_ps(splat(0), x))));
  // Below exactly 0: x logistic(x) must not grow with -x.
  return _mm512_mask_mov_ps(result, _mm512_cmp_ps_mask(x, splat(-88), _CMP_LT_OQ), splat(0));
}
/// 1 - 2 / (exp(2x) + 1)
GRAPHC_AMX Vector hyperbolicTangent(Vector x) {
  return _mm512_fnmadd_ps(splat(2), reciprocal(_mm512_add_ps(exponential(_mm512_add_ps(x, x)), splat(1))), splat(1));
}

/// x/2 (1 + erf(x / sqrt 2)), with the rational function of codegen/common's erf.
GRAPHC_AMX Vector geluErf(Vector x) {
  constexpr float end = 3.832506856900711f;
  Vector y = _mm512_mul_ps(x, splat(0.70710678118654752f));
  Vector c = _mm512_min_ps(splat(end), _mm512_max_ps(splat(-end), y));
  Vector z = _mm512_mul_ps(c, c);
  Vector p = polynomial(z, {0.00022905065861350646f, 0.0034082910107109506f, 0.050955695062380861f, 0.18520832239976145f, 1.128379143519084f});
  Vector q = polynomial(z, {-1.1791602954361697e-7f, 0.000023547966471313185f, 0.0010179625278914885f, 0.014070470171167667f,
                            0.11098505178285362f, 0.49746925110067538f, 1.0f});
  Vector erf = _mm512_mul_ps(_mm512_mul_ps(c, p), reciprocal(q));
  // Beyond the ends exactly -1 or 1: x (1 + erf) must not grow with -x.
  erf = _mm512_mask_mov_ps(erf, _mm512_cmp_ps_mask(y, splat(end), _CMP_GT_OQ), splat(1));
  erf = _mm512_mask_mov_ps(erf, _mm512_cmp_ps_mask(y, splat(-end), _CMP_LT_OQ), splat(-1));
  Vector half = _mm512_mul_ps(x, splat(0.5f));
  return fma(half, erf, half);
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³)))  =  x logistic(2 …)
GRAPHC_AMX Vector geluTanh(Vector x) {
  Vector cubic = _mm512_mul_ps(fma(_mm512_mul_ps(x, x), splat(0.044715f), splat(1)), x);
  return _mm512_mul_ps(x, logistic(_mm512_mul_ps(cubic, splat(1.5957691216057308f))));
}

} // namespace graphc::cpu::amx

#endif
