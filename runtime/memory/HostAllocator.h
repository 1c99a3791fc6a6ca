// Memory of CPU tensors: blocks are kept by size and given out again, because a step frees and asks for the same sizes over and
// over, and fresh pages of the system cost more than most ops.
#pragma once

#include "runtime/memory/Account.h"

#include <cstddef>
#include <cstdint>

namespace graphc {

/// `cached` counts the small blocks of the asking thread only.
struct HostMemoryStats {
  int64_t allocated = 0, peakAllocated = 0, cached = 0, allocations = 0;
};

/// 64-byte aligned, `bytes` rounded up to its size class; null when the system has no memory even after the cache was emptied.
/// Contents are undefined. Small blocks come from a list of this thread without a lock.
void *allocateHost(int64_t bytes);
/// `bytes` as given to allocateHost.
void freeHost(void *block, int64_t bytes);
/// What a block of `bytes` really takes.
int64_t hostBlockBytes(int64_t bytes);

HostMemoryStats hostMemoryStats();
void resetHostMemoryPeak();
/// Blocks that nobody uses go back to the system (of small blocks, those of this thread).
void emptyHostCache();

} // namespace graphc
