#include "runtime/memory/CachingAllocator.h"

#include <algorithm>
#include <cassert>

namespace graphc {

namespace {

constexpr int64_t kMinBlock = 512;
constexpr int64_t kSmallSize = 1 << 20;
constexpr int64_t kSmallSegment = 2 << 20;
constexpr int64_t kLargeSegment = 20 << 20;
constexpr int64_t kMinLargeRequest = 10 << 20;
constexpr int64_t kLargeRounding = 2 << 20;

int64_t roundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

int64_t segmentSize(int64_t size) {
  if (size <= kSmallSize)
    return kSmallSegment;
  if (size < kMinLargeRequest)
    return kLargeSegment;
  return roundUp(size, kLargeRounding);
}

} // namespace

struct CachingAllocator::Segment {
  uint64_t address = 0;
  int64_t bytes = 0;
  Stream stream = 0;
  bool small = false;
  PoolId pool = kSharedPool;
};

struct CachingAllocator::Block {
  Segment *segment = nullptr;
  uint64_t address = 0;
  int64_t bytes = 0, requested = 0;
  bool allocated = false;
  int outstanding = 0; // events a freed block still waits for
  Block *previous = nullptr, *next = nullptr; // neighbours in the segment
  std::vector<Stream> uses;                   // streams besides the segment's
  std::string label;
  uint64_t cachedAt = 0;

  bool isSplit() const { return previous || next; }
};

bool CachingAllocator::BySize::operator()(const Block *a, const Block *b) const {
  if (a->segment->stream != b->segment->stream)
    return a->segment->stream < b->segment->stream;
  if (a->bytes != b->bytes)
    return a->bytes < b->bytes;
  return a->address < b->address;
}

void MemoryStatistic::add(int64_t amount) {
  current += amount;
  allocated += amount;
  peak = std::max(peak, current);
}

void MemoryStatistic::remove(int64_t amount) {
  current -= amount;
  freed += amount;
}

std::string bytesText(int64_t bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0)
    return text(bytes, " bytes");
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.2f %s", value, units[unit]);
  return buffer;
}

CachingAllocator::CachingAllocator(MemorySource &source, CachingAllocatorOptions options)
    : source_(source), options_(std::move(options)) {
  pools_[kSharedPool];
}

CachingAllocator::~CachingAllocator() {
  for (auto &[event, block] : events_)
    source_.destroy(event);
  for (auto &[address, segment] : segments_)
    source_.release(address, segment->bytes);
}

int64_t CachingAllocator::roundedSize(int64_t bytes) const {
  bytes = std::max<int64_t>(bytes, 1) + options_.redZoneBytes;
  if (bytes < kMinBlock)
    return kMinBlock;
  int divisions = options_.roundupPower2Divisions;
  if (divisions > 1 && bytes > kMinBlock * divisions) {
    int64_t power = 1;
    while (power * 2 <= bytes)
      power *= 2;
    return power == bytes ? bytes : roundUp(bytes, std::max(power / divisions, kMinBlock));
  }
  return roundUp(bytes, kMinBlock);
}

void CachingAllocator::count(MemoryStatistics::Pools &pools, const Segment &segment, int64_t amount) {
  auto apply = [amount](MemoryStatistic &statistic) { amount >= 0 ? statistic.add(amount) : statistic.remove(-amount); };
  apply(pools.all);
  apply(segment.small ? pools.small : pools.large);
}

CachingAllocator::FreeList &CachingAllocator::listOf(Block &block) {
  Pool &pool = pools_.at(block.segment->pool);
  return block.segment->small ? pool.small : pool.large;
}

Result<uint64_t> CachingAllocator::allocate(int64_t bytes, Stream stream, std::string label, PoolId poolId) {
  std::lock_guard lock(mutex_);
  assert(bytes >= 0 && "a block cannot have a negative size");
  auto found = pools_.find(poolId);
  assert(found != pools_.end() && !found->second.released && "the memory pool was released");
  Pool &pool = found->second;
  if (bytes > INT64_MAX / 4)
    return outOfMemory(bytes, bytes, label, Status());
  ++clock_;
  int64_t size = roundedSize(bytes);
  FreeList &list = size <= kSmallSize ? pool.small : pool.large;

  if (!recording_)
    processEvents(false);
  Block *block = takeCached(list, size, stream);
  if (!block && callPressureCallbacks())
    block = takeCached(list, size, stream);
  Status failure;
  if (!block) {
    if (!recording_ && options_.garbageCollection > 0)
      collectGarbage(segmentSize(size));
    block = reserveSegment(pool, poolId, size, stream, failure);
  }
  if (!block && !recording_ && releaseOversize(size, stream, list)) {
    ++statistics_.retries;
    block = reserveSegment(pool, poolId, size, stream, failure);
  }
  if (!block && !recording_ && failure.code() == Code::OutOfMemory) {
    processEvents(true);
    ++statistics_.retries;
    releaseCached();
    block = takeCached(list, size, stream); // waiting blocks may have come back into a segment still in use
    if (!block)
      block = reserveSegment(pool, poolId, size, stream, failure);
  }
  if (!block) {
    if (failure.code() != Code::OutOfMemory)
      return failure;
    return outOfMemory(bytes, segmentSize(size), label, failure);
  }

  if (splitLeavesRest(*block, size))
    splitBlock(*block, size);
  block->allocated = true;
  block->requested = bytes;
  block->label = std::move(label);
  ++pool.liveBlocks;
  const Segment &segment = *block->segment;
  count(statistics_.allocation, segment, 1);
  count(statistics_.allocatedBytes, segment, block->bytes);
  count(statistics_.active, segment, 1);
  count(statistics_.activeBytes, segment, block->bytes);
  count(statistics_.requestedBytes, segment, bytes);
  if (block->bytes >= options_.maxSplitBytes)
    statistics_.oversizeAllocations.add(1);
  source_.handedOut(block->address, std::max<int64_t>(bytes, 1), block->label, stream);
  return block->address;
}

/// The smallest cached block of this stream that holds `size`.
CachingAllocator::Block *CachingAllocator::takeCached(FreeList &list, int64_t size, Stream stream) {
  Segment keySegment;
  keySegment.stream = stream;
  Block key;
  key.segment = &keySegment;
  key.bytes = size;
  auto it = list.lower_bound(&key);
  if (it == list.end() || (*it)->segment->stream != stream)
    return nullptr;
  Block *block = *it;
  if (size < options_.maxSplitBytes && block->bytes >= options_.maxSplitBytes)
    return nullptr; // an oversize block is not broken for a small request
  if (size >= options_.maxSplitBytes && block->bytes >= size + kLargeSegment)
    return nullptr; // nor wasted on one much smaller
  list.erase(it);
  if (block->isSplit()) {
    count(statistics_.inactiveSplit, *block->segment, -1);
    count(statistics_.inactiveSplitBytes, *block->segment, -block->bytes);
  }
  return block;
}

CachingAllocator::Block *CachingAllocator::reserveSegment(Pool &pool, PoolId id, int64_t size, Stream stream, Status &failure) {
  int64_t bytes = segmentSize(size);
  if (bytes > options_.capBytes - statistics_.reservedBytes.all.current) {
    failure = error(Code::OutOfMemory, "the limit of ", bytesText(options_.capBytes), " is reached");
    return nullptr;
  }
  auto address = source_.reserve(bytes);
  if (!address.ok()) {
    failure = address.status();
    return nullptr;
  }
  auto segment = std::make_unique<Segment>();
  segment->address = *address;
  segment->bytes = bytes;
  segment->stream = stream;
  segment->small = size <= kSmallSize;
  segment->pool = id;
  auto block = std::make_unique<Block>();
  block->segment = segment.get();
  block->address = *address;
  block->bytes = bytes;
  count(statistics_.segment, *segment, 1);
  count(statistics_.reservedBytes, *segment, bytes);
  if (id != kSharedPool)
    statistics_.privateBytes += bytes;
  if (bytes >= options_.maxSplitBytes)
    statistics_.oversizeSegments.add(1);
  Block *result = block.get();
  segments_[*address] = std::move(segment);
  blocks_[*address] = std::move(block);
  return result;
}

bool CachingAllocator::splitLeavesRest(const Block &block, int64_t size) const {
  int64_t rest = block.bytes - size;
  if (block.segment->small)
    return rest >= kMinBlock;
  return size < options_.maxSplitBytes && rest > kSmallSize;
}

/// Cuts `block`, which is in no list, to `size`; the rest is cached.
void CachingAllocator::splitBlock(Block &block, int64_t size) {
  auto rest = std::make_unique<Block>();
  rest->segment = block.segment;
  rest->address = block.address + static_cast<uint64_t>(size);
  rest->bytes = block.bytes - size;
  rest->previous = &block;
  rest->next = block.next;
  rest->cachedAt = clock_;
  if (rest->next)
    rest->next->previous = rest.get();
  block.next = rest.get();
  block.bytes = size;
  count(statistics_.inactiveSplit, *block.segment, 1);
  count(statistics_.inactiveSplitBytes, *block.segment, rest->bytes);
  listOf(*rest).insert(rest.get());
  blocks_[rest->address] = std::move(rest);
}

void CachingAllocator::free(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(address);
  assert(found != blocks_.end() && found->second->allocated && "this address is not an allocated block");
  Block &block = *found->second;
  block.allocated = false;
  count(statistics_.allocation, *block.segment, -1);
  count(statistics_.allocatedBytes, *block.segment, -block.bytes);
  count(statistics_.requestedBytes, *block.segment, -block.requested);
  if (block.bytes >= options_.maxSplitBytes)
    statistics_.oversizeAllocations.remove(1);
  if (block.uses.empty())
    returnBlock(block);
  else if (recording_)
    deferred_.push_back(&block);
  else
    recordEvents(block);
}

void CachingAllocator::recordUse(uint64_t address, Stream stream) {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(address);
  assert(found != blocks_.end() && found->second->allocated && "this address is not an allocated block");
  Block &block = *found->second;
  if (stream != block.segment->stream && std::find(block.uses.begin(), block.uses.end(), stream) == block.uses.end())
    block.uses.push_back(stream);
}

/// An event behind each further stream's work; the block is cached when all have passed.
void CachingAllocator::recordEvents(Block &block) {
  for (Stream stream : block.uses) {
    auto event = source_.record(stream);
    if (!event.ok())
      continue; // the device is broken: nothing it runs will be waited for
    events_.push_back({*event, &block});
    ++block.outstanding;
  }
  block.uses.clear();
  if (!block.outstanding)
    returnBlock(block);
}

void CachingAllocator::processEvents(bool wait) {
  for (size_t i = 0; i < events_.size();) {
    auto [event, block] = events_[i];
    bool passed = true;
    if (wait) {
      (void)source_.synchronize(event); // a broken device keeps nothing
    } else {
      auto done = source_.done(event);
      passed = !done.ok() || *done;
    }
    if (!passed) {
      ++i;
      continue;
    }
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
    source_.destroy(event);
    if (--block->outstanding == 0)
      returnBlock(*block);
  }
}

/// Into the cache, joined with free neighbours.
void CachingAllocator::returnBlock(Block &freed) {
  Segment &segment = *freed.segment;
  count(statistics_.active, segment, -1);
  count(statistics_.activeBytes, segment, -freed.bytes);
  source_.takenBack(freed.address, std::max<int64_t>(freed.requested, 1), segment.stream);
  PoolId poolId = segment.pool;
  Pool &pool = pools_.at(poolId);
  --pool.liveBlocks;
  freed.label.clear();
  freed.cachedAt = clock_;
  FreeList &list = listOf(freed);
  auto isFree = [&list](Block *block) { return block && list.contains(block); };
  Block *block = &freed;
  for (Block *neighbour : {freed.previous, freed.next})
    if (isFree(neighbour)) {
      list.erase(neighbour);
      count(statistics_.inactiveSplit, segment, -1);
      count(statistics_.inactiveSplitBytes, segment, -neighbour->bytes);
      block = mergedWith(block, neighbour);
    }
  list.insert(block);
  if (block->isSplit()) {
    count(statistics_.inactiveSplit, segment, 1);
    count(statistics_.inactiveSplitBytes, segment, block->bytes);
  }
  if (pool.released && pool.liveBlocks == 0 && !recording_)
    releasePool(poolId);
}

/// Two neighbours as one block, the one with the lower address.
CachingAllocator::Block *CachingAllocator::mergedWith(Block *block, Block *neighbour) {
  Block *first = block->address < neighbour->address ? block : neighbour;
  Block *second = first == block ? neighbour : block;
  first->bytes += second->bytes;
  first->next = second->next;
  if (first->next)
    first->next->previous = first;
  first->cachedAt = std::max(first->cachedAt, second->cachedAt);
  blocks_.erase(second->address);
  return first;
}

bool CachingAllocator::callPressureCallbacks() {
  if (inPressure_ || recording_ || pressure_.empty())
    return false;
  inPressure_ = true;
  bool freed = false;
  auto callbacks = pressure_;
  for (auto &[id, callback] : callbacks)
    freed = callback() || freed;
  inPressure_ = false;
  return freed;
}

/// Above the threshold, unsplit cached segments older than the average go, oldest first, until `size` is covered.
void CachingAllocator::collectGarbage(int64_t size) {
  int64_t limit = std::min(options_.capBytes, source_.info().totalBytes);
  auto threshold = static_cast<int64_t>(options_.garbageCollection * static_cast<double>(limit));
  int64_t over = statistics_.reservedBytes.all.current + size - threshold;
  if (over <= 0)
    return;
  FreeList &list = pools_.at(kSharedPool).large;
  std::vector<Block *> candidates;
  for (Block *block : list)
    if (!block->isSplit())
      candidates.push_back(block);
  int64_t freed = 0;
  while (freed < over && !candidates.empty()) {
    uint64_t total = 0;
    for (Block *block : candidates)
      total += clock_ - block->cachedAt;
    uint64_t average = total / candidates.size();
    auto oldest = std::min_element(candidates.begin(), candidates.end(),
                                   [](Block *a, Block *b) { return a->cachedAt < b->cachedAt; });
    if (clock_ - (*oldest)->cachedAt < std::max<uint64_t>(average, 1))
      return;
    freed += (*oldest)->bytes;
    Block *block = *oldest;
    candidates.erase(oldest);
    list.erase(block);
    releaseSegment(*block);
  }
}

/// With oversize blocks (`maxSplitBytes`), frees just enough of them for the request.
bool CachingAllocator::releaseOversize(int64_t size, Stream stream, FreeList &list) {
  if (options_.maxSplitBytes == INT64_MAX)
    return false;
  int64_t wanted = std::max(size, options_.maxSplitBytes), freed = 0;
  std::vector<Block *> cached;
  for (Block *block : list)
    if (block->segment->stream == stream && !block->isSplit() && block->bytes >= options_.maxSplitBytes)
      cached.push_back(block);
  auto release = [&](Block *block) {
    freed += block->bytes;
    list.erase(block);
    releaseSegment(*block);
  };
  for (Block *block : cached)
    if (block->bytes >= wanted) {
      release(block); // one suffices
      return true;
    }
  for (size_t i = cached.size(); i-- > 0 && freed < wanted;)
    release(cached[i]);
  return freed >= wanted;
}

/// Every unsplit cached block of the shared pool, and of private pools whose owner is gone.
bool CachingAllocator::releaseCached() {
  bool released = false;
  for (auto &[id, pool] : pools_) {
    if (id != kSharedPool && !pool.released)
      continue;
    for (FreeList *list : {&pool.small, &pool.large})
      for (auto it = list->begin(); it != list->end();) {
        Block *block = *it;
        if (block->isSplit()) {
          ++it;
          continue;
        }
        it = list->erase(it);
        releaseSegment(*block);
        released = true;
      }
  }
  return released;
}

/// `block` is the whole segment and in no list.
void CachingAllocator::releaseSegment(Block &block) {
  Segment &segment = *block.segment;
  count(statistics_.segment, segment, -1);
  count(statistics_.reservedBytes, segment, -segment.bytes);
  if (segment.pool != kSharedPool)
    statistics_.privateBytes -= segment.bytes;
  if (segment.bytes >= options_.maxSplitBytes)
    statistics_.oversizeSegments.remove(1);
  uint64_t address = segment.address;
  source_.release(address, segment.bytes);
  blocks_.erase(address);
  segments_.erase(address);
}

Status CachingAllocator::outOfMemory(int64_t requested, int64_t segmentBytes, const std::string &label, const Status &cause) {
  ++statistics_.outOfMemory;
  MemorySource::Info info = source_.info();
  int64_t allocated = statistics_.activeBytes.all.current, reserved = statistics_.reservedBytes.all.current;
  std::string message = text(options_.deviceName, " is out of memory: asked for ", bytesText(requested));
  if (!label.empty())
    message += text(" for '", label, "'");
  message += text("; of its ", bytesText(info.totalBytes), ", ", bytesText(info.freeBytes), " are free; this process holds ",
                  bytesText(reserved), ": ", bytesText(allocated), " in use, ", bytesText(reserved - allocated), " cached");
  if (statistics_.privateBytes)
    message += text(" (", bytesText(statistics_.privateBytes), " of them in private pools of recorded runs)");
  if (options_.capBytes != INT64_MAX)
    message += text("; its limit is ", bytesText(options_.capBytes));
  // Largest live blocks by what they are for: many blocks of one op count together.
  std::map<std::string, std::pair<int64_t, int>> byLabel;
  for (auto &[address, block] : blocks_)
    if (block->allocated) {
      auto &entry = byLabel[block->label.empty() ? "(unnamed)" : block->label];
      entry.first += block->bytes;
      ++entry.second;
    }
  std::vector<std::pair<std::string, std::pair<int64_t, int>>> largest(byLabel.begin(), byLabel.end());
  std::sort(largest.begin(), largest.end(), [](auto &a, auto &b) {
    return a.second.first != b.second.first ? a.second.first > b.second.first : a.first < b.first;
  });
  if (!largest.empty()) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < std::min<size_t>(largest.size(), 5); ++i)
      parts.push_back(text("'", largest[i].first, "' ", bytesText(largest[i].second.first),
                           largest[i].second.second > 1 ? text(" (", largest[i].second.second, " blocks)") : std::string()));
    message += text("; the largest users are ", joined(parts));
  }
  message += "; try a smaller batch, a narrower type (--amp) or checkpointing";
  if (reserved - allocated > segmentBytes)
    message += "; as much as was asked for is cached, but in pieces: raise roundupPower2Divisions or lower maxSplitBytes";
  if (!cause.message().empty())
    message += text(" (", cause.message(), ")");
  return Status(Code::OutOfMemory, message);
}

int64_t CachingAllocator::sizeOf(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(address);
  return found == blocks_.end() || !found->second->allocated ? 0 : found->second->bytes - options_.redZoneBytes;
}

CachingAllocator::PoolId CachingAllocator::newPool() {
  std::lock_guard lock(mutex_);
  pools_[nextPool_];
  return nextPool_++;
}

void CachingAllocator::releasePool(PoolId id) {
  std::lock_guard lock(mutex_);
  assert(id != kSharedPool && "the shared pool stays");
  auto found = pools_.find(id);
  if (found == pools_.end())
    return;
  Pool &pool = found->second;
  pool.released = true;
  if (pool.liveBlocks || recording_)
    return;
  for (FreeList *list : {&pool.small, &pool.large}) {
    std::vector<Block *> blocks(list->begin(), list->end());
    list->clear();
    for (Block *block : blocks) {
      assert(!block->isSplit() && "all blocks of the pool are free, so each is a whole segment");
      releaseSegment(*block);
    }
  }
  pools_.erase(found);
}

void CachingAllocator::beginRecording() {
  std::lock_guard lock(mutex_);
  ++recording_;
}

void CachingAllocator::endRecording() {
  std::lock_guard lock(mutex_);
  assert(recording_ > 0 && "no recording is under way");
  if (--recording_)
    return;
  std::vector<Block *> freed;
  freed.swap(deferred_);
  for (Block *block : freed)
    recordEvents(*block);
  std::vector<PoolId> dead;
  for (auto &[id, pool] : pools_)
    if (pool.released && pool.liveBlocks == 0)
      dead.push_back(id);
  for (PoolId id : dead)
    releasePool(id);
}

void CachingAllocator::streamEnds(Stream stream, Stream heir) {
  std::lock_guard lock(mutex_);
  // The free lists are sorted by stream: take the stream's blocks out before they change it.
  std::vector<Block *> cached;
  for (auto &[id, pool] : pools_)
    for (FreeList *list : {&pool.small, &pool.large})
      for (auto it = list->begin(); it != list->end();)
        if ((*it)->segment->stream == stream) {
          cached.push_back(*it);
          it = list->erase(it);
        } else {
          ++it;
        }
  for (auto &[address, segment] : segments_)
    if (segment->stream == stream)
      segment->stream = heir;
  for (Block *block : cached)
    listOf(*block).insert(block);
  for (auto &[address, block] : blocks_)
    std::erase(block->uses, stream);
}

Status CachingAllocator::emptyCache() {
  std::lock_guard lock(mutex_);
  if (recording_)
    return error(Code::InvalidOption, "the cache of ", options_.deviceName, " cannot be emptied while work is being recorded");
  processEvents(true);
  releaseCached();
  return {};
}

int CachingAllocator::onPressure(std::function<bool()> callback) {
  std::lock_guard lock(mutex_);
  pressure_[nextCallback_] = std::move(callback);
  return nextCallback_++;
}

void CachingAllocator::removePressureCallback(int callback) {
  std::lock_guard lock(mutex_);
  pressure_.erase(callback);
}

void CachingAllocator::setCap(int64_t bytes) {
  std::lock_guard lock(mutex_);
  options_.capBytes = bytes;
}

MemoryStatistics CachingAllocator::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

void CachingAllocator::resetPeaks() {
  std::lock_guard lock(mutex_);
  for (MemoryStatistics::Pools *pools :
       {&statistics_.allocation, &statistics_.segment, &statistics_.active, &statistics_.inactiveSplit, &statistics_.allocatedBytes,
        &statistics_.reservedBytes, &statistics_.activeBytes, &statistics_.inactiveSplitBytes, &statistics_.requestedBytes})
    for (MemoryStatistic *statistic : {&pools->all, &pools->small, &pools->large})
      statistic->peak = statistic->current;
  statistics_.oversizeAllocations.peak = statistics_.oversizeAllocations.current;
  statistics_.oversizeSegments.peak = statistics_.oversizeSegments.current;
}

std::vector<CachingAllocator::SegmentSnapshot> CachingAllocator::snapshot() const {
  std::lock_guard lock(mutex_);
  std::vector<SegmentSnapshot> result;
  for (auto &[address, segment] : segments_) {
    SegmentSnapshot &entry = result.emplace_back();
    entry.address = address;
    entry.bytes = segment->bytes;
    entry.stream = segment->stream;
    entry.small = segment->small;
    entry.pool = segment->pool;
    for (const Block *block = blocks_.at(address).get(); block; block = block->next)
      entry.blocks.push_back({block->address, block->bytes, block->requested, block->allocated,
                              !block->allocated && (block->outstanding > 0 || !block->uses.empty()), block->label});
  }
  return result;
}

} // namespace graphc
