// Page-locked host memory, reused: locking pages costs far more than most copies.
//
// Sizes are rounded up to powers of two. A block that a queue still reads or writes (`recordUse`) is not handed out
// again before that work is done.
#pragma once

#include "runtime/memory/MemorySource.h"

#include <map>
#include <mutex>
#include <vector>

namespace graphc {

struct PinnedStatistics {
  int64_t reservedBytes = 0, usedBytes = 0, peakUsedBytes = 0;
  int64_t reservations = 0; // trips to the driver
};

class PinnedPool {
public:
  /// `source` reserves host memory.
  explicit PinnedPool(MemorySource &source) : source_(source) {}
  ~PinnedPool();
  PinnedPool(const PinnedPool &) = delete;
  PinnedPool &operator=(const PinnedPool &) = delete;

  Result<void *> allocate(int64_t bytes);
  void free(void *address);
  void recordUse(void *address, MemorySource::Stream stream);
  /// Whether all of the range lies in one block of this pool.
  bool contains(const void *address, int64_t bytes) const;
  /// Returns unused blocks to the system.
  void emptyCache();
  PinnedStatistics statistics() const;

  static int64_t roundedSize(int64_t bytes);

private:
  struct Block {
    int64_t bytes = 0;
    bool used = false;
    std::vector<MemorySource::Stream> uses;
    std::vector<MemorySource::Event> events; // outstanding, of a freed block
  };
  void processEvents(bool wait);

  MemorySource &source_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  std::multimap<int64_t, uint64_t> cached_; // by size
  PinnedStatistics statistics_;
};

} // namespace graphc
