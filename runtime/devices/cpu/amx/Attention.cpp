#include "runtime/devices/cpu/amx/Attention.h"

#include "runtime/devices/cpu/amx/Pack.h"
#include "runtime/devices/cpu/amx/Tiles.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace graphc::cpu::amx {

namespace {

/// Where the parts of a worker's scratch begin, in bytes.
struct Layout {
  int64_t depthSteps, keySteps, valuePanels;
  int64_t keys, values, query, scores, probabilities, block, total;

  explicit Layout(const AttentionShape &shape)
      : depthSteps(blocksOf(shape.depth)), keySteps(blocksOf(shape.keys)), valuePanels(blocksOf(shape.valueDepth)) {
    int64_t at = 0;
    auto reserve = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
    keys = reserve(keySteps * depthSteps * 2048);
    values = reserve(keySteps * valuePanels * 2048);
    query = reserve(depthSteps * 2048);
    scores = reserve(keySteps * kBlockBytes);
    probabilities = reserve(keySteps * 2048);
    block = reserve(kBlockBytes);
    total = at;
  }
};

} // namespace

Attention::Attention(AttentionShape shape) : shape_(std::move(shape)) {
  for (int64_t size : shape_.batch)
    heads_ *= size;
}

int64_t Attention::scratchBytes() const { return Layout(shape_).total; }

#if defined(__x86_64__)

namespace {

/// 32 elements of a row from `column` on, zero from `columns` on.
GRAPHC_AMX __m512i loadRow(const Bf16 *row, int64_t column, int64_t columns, int64_t columnStride) {
  __mmask32 lanes = pairLanesBelow(columns - column);
  if (columnStride == 1)
    return _mm512_maskz_loadu_epi16(lanes, row + column);
  alignas(64) Bf16 buffer[32] = {};
  for (int64_t i = 0; i < 32 && column + i < columns; ++i)
    buffer[i] = row[(column + i) * columnStride];
  return _mm512_load_si512(buffer);
}

/// Scores of 16 keys, scaled and masked; -inf beyond the last key.
GRAPHC_AMX Vector maskedScores(const float *scores, int64_t key, const AttentionShape &shape, const void *mask, int64_t maskRow) {
  __mmask16 lanes = lanesBelow(shape.keys - key);
  Vector x = _mm512_mul_ps(_mm512_load_ps(scores), splat(shape.scale));
  if (shape.hasMask) {
    bool repeats = shape.mask.columnStride == 0;
    int64_t at = maskRow + (repeats ? 0 : key);
    if (shape.maskType == DType::Bool) {
      const auto *flags = static_cast<const uint8_t *>(mask) + at;
      __m128i bytes = repeats ? _mm_set1_epi8(static_cast<char>(*flags)) : _mm_maskz_loadu_epi8(lanes, flags);
      x = _mm512_mask_mov_ps(splat(-INFINITY), _mm_test_epi8_mask(bytes, bytes), x);
    } else {
      x = _mm512_add_ps(x, repeats ? loadScalar(mask, at, shape.maskType) : loadElements(mask, at, shape.maskType, lanes));
    }
  }
  return _mm512_mask_mov_ps(splat(-INFINITY), lanes, x);
}

/// One row of a block: exp(score - largest) as bf16, not yet divided by their sum, whose reciprocal is returned.
GRAPHC_AMX_TARGET float softmaxRow(float *scores, Bf16 *probabilities, const AttentionShape &shape, const Layout &layout, const void *mask,
                                   int64_t maskRow) {
  Vector largest = splat(-INFINITY);
  for (int64_t step = 0; step < layout.keySteps; ++step)
    for (int64_t half = 0; half < 32; half += 16) {
      float *at = scores + step * 1024 + half;
      Vector x = maskedScores(at, step * 32 + half, shape, mask, maskRow);
      _mm512_store_ps(at, x);
      largest = _mm512_max_ps(largest, x); // a NaN that is lost here comes back in the sum
    }
  largest = splat(_mm512_reduce_max_ps(largest));
  Vector sum = splat(0);
  for (int64_t step = 0; step < layout.keySteps; ++step) {
    Vector e[2];
    for (int64_t half = 0; half < 2; ++half) {
      __mmask16 lanes = lanesBelow(shape.keys - step * 32 - 16 * half);
      Vector x = _mm512_sub_ps(_mm512_load_ps(scores + step * 1024 + 16 * half), largest);
      e[half] = _mm512_maskz_mov_ps(lanes, exponential(x));
      sum = _mm512_add_ps(sum, e[half]);
    }
    _mm512_store_si512(probabilities + step * 1024, narrowed(e[0], e[1]));
  }
  return 1 / _mm512_reduce_add_ps(sum);
}

int64_t batchOffset(const AttentionShape &shape, const AttentionSide &side, int64_t head) {
  int64_t offset = 0;
  for (size_t d = shape.batch.size(); d-- > 0; head /= shape.batch[d])
    offset += head % shape.batch[d] * side.batchStrides[d];
  return offset;
}

GRAPHC_AMX_TARGET void attend(const AttentionShape &shape, const AttentionOperands &operands, int64_t head) {
  Layout layout(shape);
  char *scratch = static_cast<char *>(operands.scratch);
  auto *keys = reinterpret_cast<Bf16 *>(scratch + layout.keys), *values = reinterpret_cast<Bf16 *>(scratch + layout.values),
       *query = reinterpret_cast<Bf16 *>(scratch + layout.query), *probabilities = reinterpret_cast<Bf16 *>(scratch + layout.probabilities);
  auto *scores = reinterpret_cast<float *>(scratch + layout.scores), *block = reinterpret_cast<float *>(scratch + layout.block);
  auto at = [&](const void *base, const AttentionSide &side) { return static_cast<const Bf16 *>(base) + batchOffset(shape, side, head); };
  packRight(keys, at(operands.key, shape.key), shape.depth, shape.keys, shape.key.columnStride, shape.key.rowStride);
  packRight(values, at(operands.value, shape.value), shape.keys, shape.valueDepth, shape.value.rowStride, 1);
  const Bf16 *from = at(operands.query, shape.query);
  Bf16 *to = static_cast<Bf16 *>(operands.result) + batchOffset(shape, shape.result, head);
  int64_t mask0 = shape.hasMask ? batchOffset(shape, shape.mask, head) : 0;

  for (int64_t row0 = 0; row0 < shape.rows; row0 += 32) {
    int64_t rows = std::min<int64_t>(32, shape.rows - row0);
    for (int64_t step = 0; step < layout.depthSteps; ++step)
      for (int64_t r = 0; r < 32; ++r)
        _mm512_store_si512(query + step * 1024 + r * 32,
                           r < rows ? loadRow(from + (row0 + r) * shape.query.rowStride, step * 32, shape.depth, shape.query.columnStride)
                                    : _mm512_setzero_si512());
    for (int64_t panel = 0; panel < layout.keySteps; ++panel) {
      zeroBlock(true);
      for (int64_t step = 0; step < layout.depthSteps; ++step)
        multiplyStep<true>(query + step * 1024, 64, keys + (panel * layout.depthSteps + step) * 1024);
      storeBlock(true, scores + panel * 1024);
    }
    float factor[32];
    for (int64_t r = 0; r < rows; ++r)
      factor[r] = shape.keys == 0 ? 0 : softmaxRow(scores + r * 32, probabilities + r * 32, shape, layout, operands.mask, mask0 + (row0 + r) * shape.mask.rowStride);
    for (int64_t panel = 0; panel < layout.valuePanels; ++panel) {
      zeroBlock(true);
      for (int64_t step = 0; step < layout.keySteps; ++step)
        multiplyStep<true>(probabilities + step * 1024, 64, values + (panel * layout.keySteps + step) * 1024);
      storeBlock(true, block);
      __mmask32 lanes = pairLanesBelow(shape.valueDepth - panel * 32);
      for (int64_t r = 0; r < rows; ++r) {
        __m512i result = narrowed(_mm512_mul_ps(_mm512_load_ps(block + r * 32), splat(factor[r])),
                                  _mm512_mul_ps(_mm512_load_ps(block + r * 32 + 16), splat(factor[r])));
        if (shape.nanToZero && std::isnan(factor[r]))
          result = _mm512_setzero_si512();
        _mm512_mask_storeu_epi16(to + (row0 + r) * shape.result.rowStride + panel * 32, lanes, result);
      }
    }
  }
}

} // namespace

void Attention::run(const AttentionOperands &operands, int64_t begin, int64_t end) const {
  [&]() GRAPHC_AMX_TARGET { configureTiles(16, 16); }();
  for (int64_t head = begin; head < end; ++head)
    attend(shape_, operands, head);
  [&]() GRAPHC_AMX_TARGET { releaseTiles(); }();
}

#else

void Attention::run(const AttentionOperands &, int64_t, int64_t) const {}

#endif

} // namespace graphc::cpu::amx
