#include "runtime/devices/cpu/amx/MatMul.h"

#include "runtime/devices/cpu/CpuLevel.h"
#include "runtime/devices/cpu/amx/Pack.h"
#include "runtime/devices/cpu/amx/Tiles.h"

#include <algorithm>
#include <utility>

namespace graphc::cpu::amx {

bool available() {
  static const bool has = hostLevel() == Level::V4Amx;
  return has;
}

constexpr int64_t kSmallWeights = 256 << 10;

MatMul::MatMul(MatMulShape shape) : shape_(std::move(shape)) {
  int64_t depth = blocksOf(shape_.k) * kDepth;
  // Blocked rows are a tenth to a quarter faster than strided ones, once several panels read them.
  copiesLeft_ = shape_.leftColumnStride != 1 || shape_.k % kDepth != 0 || shape_.n >= 256;
  chunk_ = depth / kDepth <= 24 ? depth / kDepth : 12;
  bool partialSums = chunk_ * kDepth < depth;
  constexpr int64_t cacheBytes = 3 << 19; // of 2 MB
  int64_t rowBytes = 2 * depth + (partialSums ? 128 : 0);
  int64_t most = std::clamp<int64_t>(cacheBytes / rowBytes / kBlock * kBlock, kBlock, 1024);
  int64_t times = std::max<int64_t>(1, (shape_.m + most - 1) / most);
  rowsAtOnce_ = blocksOf((shape_.m + times - 1) / times) * kBlock;
  // Small weights stay in the caches while rows pass by: then a row of results is written from its first column to its last.
  if (!partialSums && packedBytes(shape_.k, shape_.n) <= kSmallWeights)
    rowsAtOnce_ = kBlock;
  blockBuffers_ = partialSums ? rowsAtOnce_ / kBlock : 1;
  scratchBytes_ = blockBuffers_ * kBlockBytes + (copiesLeft_ ? 2 * rowsAtOnce_ * depth : 0);
}

#if defined(__x86_64__)

namespace {

GRAPHC_AMX Vector applied(const Step &step, Vector x, const void *other, int64_t row, int64_t column, __mmask16 lanes) {
  auto operand = [&]() GRAPHC_AMX_TARGET {
    return step.columnStride ? loadElements(other, row * step.rowStride + column, step.type, lanes)
                             : loadScalar(other, row * step.rowStride, step.type);
  };
  switch (step.kind) {
  case StepKind::Relu: {
    Vector below = step.alpha == 0 ? _mm512_max_ps(splat(0), x) : _mm512_mul_ps(x, splat(step.alpha));
    return step.alpha == 0 ? below : _mm512_mask_mov_ps(below, _mm512_cmp_ps_mask(x, splat(0), _CMP_GT_OQ), x);
  }
  case StepKind::Clip:
    return _mm512_min_ps(splat(step.beta), _mm512_max_ps(splat(step.alpha), x));
  case StepKind::Linear:
    return fma(x, splat(step.alpha), splat(step.beta));
  case StepKind::GeluErf:
    return geluErf(x);
  case StepKind::GeluTanh:
    return geluTanh(x);
  case StepKind::Tanh:
    return hyperbolicTangent(x);
  case StepKind::Logistic:
    return logistic(x);
  case StepKind::Swish:
    return _mm512_mul_ps(x, logistic(_mm512_mul_ps(x, splat(step.alpha))));
  case StepKind::HardSwish:
    return _mm512_mul_ps(x, _mm512_min_ps(splat(1), _mm512_max_ps(splat(0), fma(x, splat(1.0f / 6), splat(0.5f)))));
  case StepKind::HardSigmoid:
    return _mm512_min_ps(splat(1), _mm512_max_ps(splat(0), fma(x, splat(step.alpha), splat(step.beta))));
  case StepKind::Add:
    return _mm512_add_ps(x, operand());
  case StepKind::Sub:
    return _mm512_sub_ps(x, operand());
  case StepKind::Mul:
    return _mm512_mul_ps(x, operand());
  case StepKind::Div:
    return _mm512_div_ps(x, operand());
  }
  return x;
}

/// Writes finished blocks: bias, steps, rounding. Most networks' steps are none, one addition of a matrix in bf16, an activation:
/// those run without looking at each step again for each row.
class Epilogue {
public:
  GRAPHC_AMX_TARGET Epilogue(const MatMulShape &shape, const MatMulOperands &operands) : shape(shape), operands(operands) {
    size_t next = 0;
    auto &steps = shape.steps;
    if (next < steps.size() && steps[next].kind == StepKind::Add && steps[next].type == DType::BF16 && steps[next].columnStride == 1)
      added = static_cast<const Bf16 *>(operands.steps[next++]);
    if (next < steps.size() && steps[next].kind == StepKind::Relu && steps[next].alpha == 0)
      ++next, relu = true;
    simple = next == steps.size() && shape.result == DType::BF16;
  }

  /// Rows 2 * part and 2 * part + 1 of a block whose first element is (row0, column0).
  GRAPHC_AMX_TARGET void writeRows(const float *block, int64_t row0, int64_t column0, int part) {
    if (column0 != biasColumn)
      loadBias(column0);
    if (simple && column0 + kBlock <= shape.n && row0 + 2 * part + 2 <= shape.m)
      writeSimple(block + 64 * part, (row0 + 2 * part) * shape.resultRowStride + column0, (row0 + 2 * part), column0);
    else
      writeAny(block, row0, column0, part);
  }

private:
  GRAPHC_AMX_TARGET void loadBias(int64_t column0) {
    biasColumn = column0;
    biasLow = biasHigh = splat(0);
    if (!shape.hasBias)
      return;
    biasLow = loadElements(operands.bias, column0, shape.bias, lanesBelow(shape.n - column0));
    biasHigh = loadElements(operands.bias, column0 + 16, shape.bias, lanesBelow(shape.n - column0 - 16));
  }

  GRAPHC_AMX_TARGET void writeSimple(const float *rows, int64_t at, int64_t row, int64_t column) const {
    for (int r = 0; r < 2; ++r, rows += kBlock, at += shape.resultRowStride) {
      Vector x = _mm512_add_ps(_mm512_load_ps(rows), biasLow), y = _mm512_add_ps(_mm512_load_ps(rows + 16), biasHigh);
      if (added) {
        const Bf16 *other = added + (row + r) * shape.steps[0].rowStride + column;
        x = _mm512_add_ps(x, widened(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(other))));
        y = _mm512_add_ps(y, widened(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(other + 16))));
      }
      if (relu) {
        x = _mm512_max_ps(splat(0), x);
        y = _mm512_max_ps(splat(0), y);
      }
      _mm512_storeu_si512(static_cast<Bf16 *>(operands.result) + at, narrowed(x, y));
    }
  }

  GRAPHC_AMX_TARGET void writeAny(const float *block, int64_t row0, int64_t column0, int part) const {
    __mmask16 low = lanesBelow(shape.n - column0), high = lanesBelow(shape.n - column0 - 16);
    for (int64_t r = 2 * part; r < 2 * part + 2 && row0 + r < shape.m; ++r) {
      Vector x = _mm512_add_ps(_mm512_load_ps(block + r * kBlock), biasLow), y = _mm512_add_ps(_mm512_load_ps(block + r * kBlock + 16), biasHigh);
      for (size_t i = 0; i < shape.steps.size(); ++i) {
        x = applied(shape.steps[i], x, operands.steps[i], row0 + r, column0, low);
        y = applied(shape.steps[i], y, operands.steps[i], row0 + r, column0 + 16, high);
      }
      int64_t at = (row0 + r) * shape.resultRowStride + column0;
      if (shape.result == DType::F32) {
        _mm512_mask_storeu_ps(static_cast<float *>(operands.result) + at, low, x);
        _mm512_mask_storeu_ps(static_cast<float *>(operands.result) + at + 16, high, y);
      } else {
        _mm512_mask_storeu_epi16(static_cast<Bf16 *>(operands.result) + at, pairLanesBelow(shape.n - column0), narrowed(x, y));
      }
    }
  }

  const MatMulShape &shape;
  const MatMulOperands &operands;
  const Bf16 *added = nullptr;
  bool relu = false, simple = false;
  int64_t biasColumn = -1;
  Vector biasLow, biasHigh; // of the columns from biasColumn on
};

/// A finished block that waits for its epilogue.
struct Finished {
  const float *block = nullptr;
  int64_t row0 = 0, column0 = 0;
  int parts = 16; // done so far
};

/// [rows, k] as [rows/32][K/32][32][32]; what lies beyond k is zero, what lies beyond the last row is left as it is.
GRAPHC_AMX_TARGET void copyLeft(Bf16 *to, const Bf16 *from, int64_t rows, const MatMulShape &shape, int64_t steps) {
  for (int64_t row = 0; row < rows; ++row) {
    const Bf16 *source = from + row * shape.leftRowStride;
    Bf16 *at = to + row / kBlock * steps * 1024 + row % kBlock * kDepth;
    for (int64_t step = 0; step < steps; ++step, at += 1024) {
      int64_t left = shape.k - step * kDepth;
      if (shape.leftColumnStride == 1)
        _mm512_store_si512(at, _mm512_maskz_loadu_epi16(pairLanesBelow(left), source + step * kDepth));
      else
        for (int64_t i = 0; i < kDepth; ++i)
          at[i] = i < left ? source[(step * kDepth + i) * shape.leftColumnStride] : Bf16(0);
    }
  }
}

/// One chunk of one block: `steps` tile products, the next chunk's prefetches and the epilogue of the block before spread among
/// them.
template <bool kLower>
GRAPHC_AMX void multiplyChunk(const Bf16 *left, int64_t rowBytes, int64_t stepElements, const Bf16 *right, int64_t steps, const char *next,
                              int lines, Epilogue &epilogue, Finished &before) {
  int partsAStep = static_cast<int>((16 + steps - 1) / steps);
  for (int64_t step = 0; step < steps; ++step, left += stepElements, right += 1024) {
    multiplyStep<kLower>(left, rowBytes, right);
    for (int line = 0; line < lines; ++line, next += 64)
      _mm_prefetch(next, _MM_HINT_T0);
    for (int i = 0; i < partsAStep && before.parts < 16; ++i)
      epilogue.writeRows(before.block, before.row0, before.column0, before.parts++);
  }
}

GRAPHC_AMX_TARGET void multiply(const MatMulShape &shape, const MatMulOperands &operands, bool copiesLeft, int64_t rowsAtOnce, int64_t chunk,
                                int64_t blockBuffers) {
  Epilogue epilogue(shape, operands);
  auto *buffers = static_cast<float *>(operands.scratch);
  auto *copied = reinterpret_cast<Bf16 *>(static_cast<char *>(operands.scratch) + blockBuffers * kBlockBytes);
  const auto *right = static_cast<const Bf16 *>(operands.right);
  int64_t steps = blocksOf(shape.k), panels = blocksOf(shape.n);
  configureRows(kBlock);
  for (int64_t rowsBegin = 0; rowsBegin < shape.m; rowsBegin += rowsAtOnce) {
    int64_t rows = std::min(rowsAtOnce, shape.m - rowsBegin), blocks = blocksOf(rows);
    const Bf16 *left = static_cast<const Bf16 *>(operands.left) + rowsBegin * shape.leftRowStride;
    int64_t rowBytes = 2 * shape.leftRowStride, stepElements = kDepth, blockElements = kBlock * shape.leftRowStride;
    if (copiesLeft) {
      copyLeft(copied, left, rows, shape, steps);
      left = copied;
      rowBytes = 2 * kDepth;
      stepElements = 1024;
      blockElements = steps * 1024;
    }
    Finished before;
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t step0 = 0; step0 < steps; step0 += chunk) {
        int64_t count = std::min(chunk, steps - step0);
        bool last = step0 + count == steps;
        const Bf16 *b = right + (panel * steps + step0) * 1024;
        const char *next = last && panel + 1 == panels ? nullptr : reinterpret_cast<const char *>(b + count * 1024);
        // The next chunk is as long as this one, or shorter by a little: 32 lines a step, shared out over the blocks.
        // Weights that were read before are near enough.
        int64_t linesLeft = next && rowsBegin == 0 ? 32 : 0;
        for (int64_t block = 0; block < blocks; ++block) {
          int64_t blockRows = std::min(kBlock, rows - block * kBlock);
          bool lower = blockRows > 16;
          float *sums = buffers + (blockBuffers > 1 ? block : 0) * (kBlockBytes / 4);
          if (blockRows < kBlock)
            configureRows(blockRows);
          if (step0 == 0)
            zeroBlock(lower);
          else
            loadBlock(lower, sums);
          int lines = static_cast<int>(std::min(linesLeft, (32 + blocks - 1) / blocks));
          linesLeft -= lines;
          const Bf16 *a = left + block * blockElements + step0 * stepElements;
          if (lower)
            multiplyChunk<true>(a, rowBytes, stepElements, b, count, next, lines, epilogue, before);
          else
            multiplyChunk<false>(a, rowBytes, stepElements, b, count, next, lines, epilogue, before);
          next += 64 * lines * count;
          while (before.parts < 16)
            epilogue.writeRows(before.block, before.row0, before.column0, before.parts++);
          storeBlock(lower, sums);
          if (last)
            before = {sums, rowsBegin + block * kBlock, panel * kBlock, 0};
          if (blockRows < kBlock)
            configureRows(kBlock);
        }
      }
    while (before.parts < 16)
      epilogue.writeRows(before.block, before.row0, before.column0, before.parts++);
  }
  releaseTiles();
}

} // namespace

void MatMul::run(const MatMulOperands &operands) const { multiply(shape_, operands, copiesLeft_, rowsAtOnce_, chunk_, blockBuffers_); }

#else

void MatMul::run(const MatMulOperands &) const {}

#endif

} // namespace graphc::cpu::amx
