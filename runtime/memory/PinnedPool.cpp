#include "runtime/memory/PinnedPool.h"

#include <algorithm>
#include <cassert>

namespace graphc {

PinnedPool::~PinnedPool() {
  for (auto &[address, block] : blocks_) {
    for (MemorySource::Event event : block.events)
      source_.destroy(event);
    source_.release(address, block.bytes);
  }
}

int64_t PinnedPool::roundedSize(int64_t bytes) {
  int64_t size = 512;
  while (size < bytes)
    size *= 2;
  return size;
}

Result<void *> PinnedPool::allocate(int64_t bytes) {
  assert(bytes >= 0 && bytes < INT64_MAX / 4);
  std::lock_guard lock(mutex_);
  int64_t size = roundedSize(bytes);
  processEvents(false);
  auto found = cached_.find(size);
  uint64_t address = 0;
  if (found != cached_.end()) {
    address = found->second;
    cached_.erase(found);
  } else {
    GRAPHC_ASSIGN_OR_RETURN(address, source_.reserve(size));
    blocks_[address].bytes = size;
    statistics_.reservedBytes += size;
    ++statistics_.reservations;
  }
  blocks_[address].used = true;
  statistics_.usedBytes += size;
  statistics_.peakUsedBytes = std::max(statistics_.peakUsedBytes, statistics_.usedBytes);
  return reinterpret_cast<void *>(address);
}

void PinnedPool::free(void *pointer) {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(reinterpret_cast<uint64_t>(pointer));
  assert(found != blocks_.end() && found->second.used && "this address is not a pinned block");
  Block &block = found->second;
  block.used = false;
  statistics_.usedBytes -= block.bytes;
  for (MemorySource::Stream stream : block.uses)
    if (auto event = source_.record(stream); event.ok())
      block.events.push_back(*event);
  block.uses.clear();
  if (block.events.empty())
    cached_.insert({block.bytes, found->first});
}

void PinnedPool::recordUse(void *pointer, MemorySource::Stream stream) {
  std::lock_guard lock(mutex_);
  auto found = blocks_.upper_bound(reinterpret_cast<uint64_t>(pointer));
  assert(found != blocks_.begin() && "this address is not pinned");
  Block &block = std::prev(found)->second;
  if (std::find(block.uses.begin(), block.uses.end(), stream) == block.uses.end())
    block.uses.push_back(stream);
}

bool PinnedPool::contains(const void *pointer, int64_t bytes) const {
  std::lock_guard lock(mutex_);
  auto address = reinterpret_cast<uint64_t>(pointer);
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin())
    return false;
  --found;
  return address + static_cast<uint64_t>(bytes) <= found->first + static_cast<uint64_t>(found->second.bytes);
}

void PinnedPool::processEvents(bool wait) {
  for (auto &[address, block] : blocks_) {
    if (block.events.empty())
      continue;
    std::erase_if(block.events, [&](MemorySource::Event event) {
      if (wait) {
        (void)source_.synchronize(event);
      } else {
        auto done = source_.done(event);
        if (done.ok() && !*done)
          return false;
      }
      source_.destroy(event);
      return true;
    });
    if (block.events.empty())
      cached_.insert({block.bytes, address});
  }
}

void PinnedPool::emptyCache() {
  std::lock_guard lock(mutex_);
  processEvents(true);
  for (auto &[size, address] : cached_) {
    source_.release(address, size);
    statistics_.reservedBytes -= size;
    blocks_.erase(address);
  }
  cached_.clear();
}

PinnedStatistics PinnedPool::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

} // namespace graphc
