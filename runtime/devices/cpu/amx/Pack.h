// The right operand of a product on tiles: [N/32][K/32][2 tiles][16 pairs of rows][16 columns][2], zero padded.
#pragma once

#include <cstdint>

namespace graphc::cpu::amx {

int64_t packedBytes(int64_t k, int64_t n);
/// Bytes between panels of 32 columns.
int64_t panelBytes(int64_t k);
/// The bf16 elements `from[row * rowStride + column * columnStride]` into packedBytes(k, n) at `to`, 64-byte aligned. Quick where
/// one of the strides is 1.
void packRight(void *to, const void *from, int64_t k, int64_t n, int64_t rowStride, int64_t columnStride);

} // namespace graphc::cpu::amx
