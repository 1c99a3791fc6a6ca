#include "runtime/devices/cpu/StridedCopy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace graphc::cpu {

namespace {

constexpr int kMaxRank = 16;

/// The loop nest after merging neighbours that step through memory as one and dropping sizes of 1.
struct Nest {
  int rank = 0;
  std::array<int64_t, kMaxRank> dims, dst, src;

  Nest(std::span<const int64_t> allDims, std::span<const int64_t> dstStrides, std::span<const int64_t> srcStrides) {
    assert(allDims.size() <= kMaxRank && "tensors of more than 16 dimensions are refused at load");
    for (size_t i = 0; i < allDims.size(); ++i) {
      if (allDims[i] == 1)
        continue;
      if (rank > 0 && dst[rank - 1] == dstStrides[i] * allDims[i] && src[rank - 1] == srcStrides[i] * allDims[i]) {
        dims[rank - 1] *= allDims[i];
        dst[rank - 1] = dstStrides[i];
        src[rank - 1] = srcStrides[i];
      } else {
        dims[rank] = allDims[i];
        dst[rank] = dstStrides[i];
        src[rank] = srcStrides[i];
        ++rank;
      }
    }
  }
};

template <typename T>
void copyLevel(const Nest &nest, int level, T *dst, const T *src) {
  if (level == nest.rank) {
    *dst = *src;
    return;
  }
  int64_t count = nest.dims[level], dstStep = nest.dst[level], srcStep = nest.src[level];
  if (level + 1 < nest.rank) {
    for (int64_t i = 0; i < count; ++i)
      copyLevel(nest, level + 1, dst + i * dstStep, src + i * srcStep);
  } else if (dstStep == 1 && srcStep == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(T));
  } else if (dstStep == 1 && srcStep == 0) {
    std::fill_n(dst, count, *src);
  } else {
    for (int64_t i = 0; i < count; ++i)
      dst[i * dstStep] = src[i * srcStep];
  }
}

template <typename T>
void fillLevel(const Nest &nest, int level, T *dst, T value) {
  if (level == nest.rank) {
    *dst = value;
    return;
  }
  int64_t count = nest.dims[level], step = nest.dst[level];
  if (level + 1 < nest.rank) {
    for (int64_t i = 0; i < count; ++i)
      fillLevel(nest, level + 1, dst + i * step, value);
  } else if (step == 1) {
    std::fill_n(dst, count, value);
  } else {
    for (int64_t i = 0; i < count; ++i)
      dst[i * step] = value;
  }
}

/// Calls `body` with a null pointer of the unsigned type of that size.
template <typename Body>
void withElementType(int elementBytes, Body &&body) {
  switch (elementBytes) {
  case 1:
    return body(static_cast<uint8_t *>(nullptr));
  case 2:
    return body(static_cast<uint16_t *>(nullptr));
  case 4:
    return body(static_cast<uint32_t *>(nullptr));
  case 8:
    return body(static_cast<uint64_t *>(nullptr));
  }
  assert(false && "elements have 1, 2, 4 or 8 bytes");
}

bool anyEmpty(std::span<const int64_t> dims) {
  return std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 0; });
}

} // namespace

void stridedCopy(void *dst, std::span<const int64_t> dstStrides, const void *src, std::span<const int64_t> srcStrides,
                 std::span<const int64_t> dims, int elementBytes, int64_t begin, int64_t end) {
  if (anyEmpty(dims) || begin >= end)
    return;
  std::array<int64_t, kMaxRank> part;
  std::copy(dims.begin(), dims.end(), part.begin());
  int64_t dstStart = 0, srcStart = 0;
  if (!dims.empty()) {
    part[0] = end - begin;
    dstStart = begin * dstStrides[0];
    srcStart = begin * srcStrides[0];
  }
  Nest nest({part.data(), dims.size()}, dstStrides, srcStrides);
  withElementType(elementBytes, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    copyLevel(nest, 0, static_cast<T *>(dst) + dstStart, static_cast<const T *>(src) + srcStart);
  });
}

void stridedFill(void *dst, std::span<const int64_t> strides, std::span<const int64_t> dims, int elementBytes,
                 uint64_t bits) {
  if (anyEmpty(dims))
    return;
  Nest nest(dims, strides, strides);
  withElementType(elementBytes, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    fillLevel(nest, 0, static_cast<T *>(dst), static_cast<T>(bits));
  });
}

} // namespace graphc::cpu
