// Strided copies and fills on the device: two small kernels in PTX, so that they need no compiler.
#pragma once

#include "runtime/device/ComputeDevice.h"

#include <cstdint>
#include <string>

namespace graphc::cuda {

inline constexpr int kCopyMaxRank = 16;
inline constexpr int kCopyThreads = 256;

/// The kernels' one parameter.
struct CopyParameters {
  uint64_t dst = 0;
  uint64_t src = 0; // fill: the bits
  int64_t elements = 0;
  int64_t rank = 0;
  int64_t dims[kCopyMaxRank] = {};
  int64_t dstStrides[kCopyMaxRank] = {}, srcStrides[kCopyMaxRank] = {}; // in bytes
};

/// Entries graphc_copy_N and graphc_fill_N for elements of N = 1, 2, 4, 8 bytes.
std::string copyKernelsPtx();

/// A copy or fill with dimensions merged where both sides allow it. `dense`: one run of bytes on both sides.
struct PlainCopy {
  CopyParameters parameters;
  int elementBytes = 1;
  bool dense = false;
};
PlainCopy plainCopy(const CopyWork &work);
PlainCopy plainFill(const FillWork &work);

} // namespace graphc::cuda
