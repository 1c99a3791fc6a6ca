#include "runtime/memory/HostAllocator.h"

#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace graphc {

namespace {

constexpr int64_t kAlignBytes = 64;
constexpr int64_t kSmallBytes = 4096;   // below: lists of the thread, multiples of 64
constexpr int kSmallClasses = kSmallBytes / kAlignBytes;
constexpr int kSmallDepth = 64;         // blocks a thread keeps of one class
constexpr int kSteps = 32;              // classes per power of two above
constexpr int kLargeClasses = kSteps * 48;

/// Class of a large size: 32 steps per power of two, so at most a thirty-second is wasted. Four would waste a quarter of every
/// tensor of 2^n elements, whose storage has a header; programs ask for the same sizes again, so fine classes are found as often.
int largeClass(int64_t bytes, int64_t &rounded) {
  constexpr int kStepBits = std::countr_zero(static_cast<unsigned>(kSteps));
  int log = 63 - std::countl_zero(static_cast<uint64_t>(bytes - 1));
  int64_t step = int64_t(1) << (log - kStepBits);
  rounded = (bytes + step - 1) / step * step;
  log = 63 - std::countl_zero(static_cast<uint64_t>(rounded));
  return (log - 12) * kSteps + static_cast<int>((rounded >> (log - kStepBits)) & (kSteps - 1));
}

// Process-wide, like malloc: a block may be freed by another thread and owner than asked for it.
MemoryAccount allocatedAccount;
std::atomic<int64_t> cachedBytes{0}, allocationCount{0}; // cached: of large blocks; small ones are counted when asked

struct LargeLists {
  std::mutex mutex;
  std::vector<void *> blocks[kLargeClasses];
};
/// Never destroyed: tensors of other static objects may be freed after it would be.
LargeLists &large() {
  static auto *lists = new LargeLists;
  return *lists;
}

struct SmallLists {
  void *blocks[kSmallClasses][kSmallDepth];
  int count[kSmallClasses] = {};
  void clear() {
    for (int c = 0; c < kSmallClasses; ++c)
      while (count[c] > 0)
        std::free(blocks[c][--count[c]]);
  }
  int64_t bytes() const {
    int64_t total = 0;
    for (int c = 0; c < kSmallClasses; ++c)
      total += count[c] * (c + 1) * kAlignBytes;
    return total;
  }
  ~SmallLists() {
    clear();
    alive() = false;
  }
  /// Whether this thread's lists may still be used: tensors can outlive them while a thread ends.
  static bool &alive() {
    thread_local bool value = true;
    return value;
  }
};
thread_local SmallLists small;

} // namespace

int64_t hostBlockBytes(int64_t bytes) {
  if (bytes <= kSmallBytes)
    return bytes <= 0 ? kAlignBytes : (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  int64_t rounded;
  largeClass(bytes, rounded);
  return rounded;
}

void *allocateHost(int64_t bytes) {
  allocationCount.store(allocationCount.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (bytes <= kSmallBytes) {
    int c = bytes <= 0 ? 0 : static_cast<int>((bytes - 1) / kAlignBytes);
    int64_t rounded = (c + 1) * kAlignBytes;
    allocatedAccount.add(rounded);
    if (SmallLists::alive() && small.count[c] > 0)
      return small.blocks[c][--small.count[c]];
    return std::aligned_alloc(kAlignBytes, static_cast<size_t>(rounded));
  }
  int64_t rounded;
  int c = largeClass(bytes, rounded);
  if (c >= kLargeClasses)
    return nullptr;
  {
    LargeLists &lists = large();
    std::lock_guard lock(lists.mutex);
    if (!lists.blocks[c].empty()) {
      void *block = lists.blocks[c].back();
      lists.blocks[c].pop_back();
      cachedBytes.fetch_sub(rounded, std::memory_order_relaxed);
      allocatedAccount.add(rounded);
      return block;
    }
  }
  void *block = std::aligned_alloc(kAlignBytes, static_cast<size_t>(rounded));
  if (!block) {
    emptyHostCache();
    block = std::aligned_alloc(kAlignBytes, static_cast<size_t>(rounded));
  }
  if (block)
    allocatedAccount.add(rounded);
  return block;
}

void freeHost(void *block, int64_t bytes) {
  if (!block)
    return;
  if (bytes <= kSmallBytes) {
    int c = bytes <= 0 ? 0 : static_cast<int>((bytes - 1) / kAlignBytes);
    int64_t rounded = (c + 1) * kAlignBytes;
    allocatedAccount.remove(rounded);
    if (SmallLists::alive() && small.count[c] < kSmallDepth) {
      small.blocks[c][small.count[c]++] = block;
      return;
    }
    std::free(block);
    return;
  }
  int64_t rounded;
  int c = largeClass(bytes, rounded);
  allocatedAccount.remove(rounded);
  cachedBytes.fetch_add(rounded, std::memory_order_relaxed);
  LargeLists &lists = large();
  std::lock_guard lock(lists.mutex);
  lists.blocks[c].push_back(block);
}

HostMemoryStats hostMemoryStats() {
  int64_t own = SmallLists::alive() ? small.bytes() : 0;
  return {allocatedAccount.currentBytes(), allocatedAccount.peakBytes(), cachedBytes.load() + own, allocationCount.load()};
}

void resetHostMemoryPeak() { allocatedAccount.resetPeak(); }

void emptyHostCache() {
  if (SmallLists::alive())
    small.clear();
  LargeLists &lists = large();
  std::lock_guard lock(lists.mutex);
  for (int c = 0; c < kLargeClasses; ++c) {
    int64_t bytes = (int64_t(kSteps + c % kSteps) << (c / kSteps + 12)) / kSteps;
    for (void *block : lists.blocks[c]) {
      std::free(block);
      cachedBytes.fetch_sub(bytes, std::memory_order_relaxed);
    }
    lists.blocks[c].clear();
  }
}

} // namespace graphc
