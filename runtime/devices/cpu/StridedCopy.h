// Strided copies and fills: views made dense, broadcasts, concatenation pieces.
#pragma once

#include <cstdint>
#include <span>

namespace graphc::cpu {

/// dst[i…] = src[i…] for elements of `elementBytes` (1, 2, 4, 8). Strides in elements; a source stride of 0 broadcasts.
/// Only the part [begin, end) of the outermost dimension is done, so that ranges can be shared out.
void stridedCopy(void *dst, std::span<const int64_t> dstStrides, const void *src, std::span<const int64_t> srcStrides,
                 std::span<const int64_t> dims, int elementBytes, int64_t begin, int64_t end);

void stridedFill(void *dst, std::span<const int64_t> strides, std::span<const int64_t> dims, int elementBytes,
                 uint64_t bits);

} // namespace graphc::cpu
