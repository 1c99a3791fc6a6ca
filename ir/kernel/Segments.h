// Kernels in segments. With `kernel.segments = k` a kernel runs on k lists of buffers and scalars in one call: whoever runs it
// passes the lists one behind the other, and its range is that of the first list, then that of the second, and so on, each rounded up
// to `kSegmentGrain` units (the units added do nothing). `getRangeMap` gives the range of one segment.
#pragma once
#include "ir/kernel/Kernel.h"

namespace graphc::kernel {

inline constexpr llvm::StringLiteral kSegmentsAttr = "kernel.segments";

/// Segments begin at multiples of so many units, so that their vectors begin where vectors of the buffers do.
inline constexpr int64_t kSegmentGrain = 64;

/// The number of segments; nothing for a kernel without.
std::optional<int64_t> segmentsOf(FuncOp func);

} // namespace graphc::kernel
