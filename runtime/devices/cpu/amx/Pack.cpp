#include "runtime/devices/cpu/amx/Pack.h"

#include "runtime/devices/cpu/amx/Tiles.h"

#include <algorithm>

namespace graphc::cpu::amx {

int64_t panelBytes(int64_t k) { return blocksOf(k) * 2048; }
int64_t packedBytes(int64_t k, int64_t n) { return blocksOf(n) * panelBytes(k); }

#if defined(__x86_64__)

namespace {

/// The right operand's element (row, column) lies at from[row * rowStride + column * columnStride].
struct Source {
  const Bf16 *from;
  int64_t k, n, rowStride, columnStride;
};

/// 16 rows of 16 double words, transposed.
GRAPHC_AMX void transpose(__m512i (&rows)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      rows[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + 2 + j]);
      rows[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + 2 + j]);
    }
  for (int h = 0; h < 2; ++h)
    for (int j = 0; j < 4; ++j) {
      t[8 * h + j] = _mm512_shuffle_i32x4(rows[8 * h + j], rows[8 * h + 4 + j], 0x88);
      t[8 * h + 4 + j] = _mm512_shuffle_i32x4(rows[8 * h + j], rows[8 * h + 4 + j], 0xdd);
    }
  for (int j = 0; j < 8; ++j) {
    rows[j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0xdd);
  }
}

/// Two tiles from 32 rows whose columns are adjacent: each pair of rows is interleaved.
GRAPHC_AMX_TARGET void packRows(Bf16 *to, const Source &source, int64_t row0, int64_t column0) {
  alignas(64) static constexpr struct Order {
    Bf16 lanes[2][32] = {};
    constexpr Order() {
      for (int i = 0; i < 16; ++i)
        for (int tile = 0; tile < 2; ++tile) {
          lanes[tile][2 * i] = static_cast<Bf16>(16 * tile + i);
          lanes[tile][2 * i + 1] = static_cast<Bf16>(32 + 16 * tile + i);
        }
    }
  } order;
  __m512i low = _mm512_load_si512(order.lanes[0]), high = _mm512_load_si512(order.lanes[1]);
  __mmask32 columns = pairLanesBelow(source.n - column0);
  const Bf16 *from = source.from + row0 * source.rowStride + column0;
  for (int64_t pair = 0; pair < 16; ++pair, to += 32) {
    __m512i rows[2];
    for (int64_t i = 0; i < 2; ++i)
      rows[i] = row0 + 2 * pair + i < source.k ? _mm512_maskz_loadu_epi16(columns, from + (2 * pair + i) * source.rowStride) : _mm512_setzero_si512();
    _mm512_store_si512(to, _mm512_permutex2var_epi16(rows[0], low, rows[1]));
    _mm512_store_si512(to + 512, _mm512_permutex2var_epi16(rows[0], high, rows[1]));
  }
}

/// Two tiles from 32 columns whose rows are adjacent: pairs of rows are double words, transposed.
GRAPHC_AMX_TARGET void packColumns(Bf16 *to, const Source &source, int64_t row0, int64_t column0) {
  __mmask32 rowsLeft = pairLanesBelow(source.k - row0);
  for (int64_t tile = 0; tile < 2; ++tile, to += 512) {
    __m512i columns[16];
    for (int64_t i = 0; i < 16; ++i) {
      int64_t column = column0 + tile * 16 + i;
      columns[i] = column < source.n ? _mm512_maskz_loadu_epi16(rowsLeft, source.from + row0 + column * source.columnStride) : _mm512_setzero_si512();
    }
    transpose(columns);
    for (int64_t i = 0; i < 16; ++i)
      _mm512_store_si512(to + 32 * i, columns[i]);
  }
}

void packAny(Bf16 *to, const Source &source, int64_t row0, int64_t column0) {
  for (int64_t tile = 0; tile < 32; tile += 16)
    for (int64_t pair = 0; pair < 32; pair += 2)
      for (int64_t column = column0 + tile; column < column0 + tile + 16; ++column)
        for (int64_t row = row0 + pair; row < row0 + pair + 2; ++row)
          *to++ = row < source.k && column < source.n ? source.from[row * source.rowStride + column * source.columnStride] : Bf16(0);
}

} // namespace

void packRight(void *to, const void *from, int64_t k, int64_t n, int64_t rowStride, int64_t columnStride) {
  Source source{static_cast<const Bf16 *>(from), k, n, rowStride, columnStride};
  auto *at = static_cast<Bf16 *>(to);
  auto pack = columnStride == 1 ? packRows : rowStride == 1 ? packColumns : packAny;
  for (int64_t column = 0; column < n; column += 32)
    for (int64_t row = 0; row < k; row += 32, at += 1024)
      pack(at, source, row, column);
}

#else

void packRight(void *, const void *, int64_t, int64_t, int64_t, int64_t) {}

#endif

} // namespace graphc::cpu::amx
