// Device memory that is reused without asking the driver, which would wait for the device.
//
// Memory comes in *segments* from the device and is cut into *blocks*. A freed block is handed out again at once, to the
// same stream only: whatever that stream still does with the block comes before whatever the new owner queues. A block
// used by further streams (`recordUse`) waits until events behind those uses have passed. Small requests (≤ 1 MiB) share
// segments of 2 MiB, middle ones (< 10 MiB) segments of 20 MiB, larger ones get their own.
//
// When nothing fits: blocks whose events have passed, then the owners of optional memory are asked (`onPressure`), then old
// unsplit segments go, then the device, then cached segments large enough to matter, then all cached segments, then the
// error, which says who holds what.
#pragma once

#include "runtime/memory/MemorySource.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace graphc {

struct CachingAllocatorOptions {
  std::string deviceName = "device";
  int64_t maxSplitBytes = INT64_MAX; // larger blocks are never split, nor given to requests smaller than this
  int roundupPower2Divisions = 0;    // > 1: sizes are rounded up to steps of a power of two divided by this
  double garbageCollection = 0;      // > 0: above this fraction of the cap, old cached segments go before new ones come
  int64_t capBytes = INT64_MAX;      // most that may be reserved
  int64_t redZoneBytes = 0;          // unused bytes behind every block, for devices that watch
};

/// One quantity over time.
struct MemoryStatistic {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t amount);
  void remove(int64_t amount);
};

struct MemoryStatistics {
  /// all, small_pool, large_pool.
  struct Pools {
    MemoryStatistic all, small, large;
  };
  Pools allocation, segment, active, inactiveSplit;                     // counts
  Pools allocatedBytes, reservedBytes, activeBytes, inactiveSplitBytes; // bytes
  Pools requestedBytes;                                                 // as asked, before rounding
  MemoryStatistic oversizeAllocations, oversizeSegments;
  int64_t retries = 0;    // device allocations repeated after cached memory was released
  int64_t outOfMemory = 0; // requests refused
  int64_t privateBytes = 0; // reserved by private pools
};

class CachingAllocator {
public:
  using Stream = MemorySource::Stream;
  using PoolId = int;
  static constexpr PoolId kSharedPool = 0;

  CachingAllocator(MemorySource &source, CachingAllocatorOptions options);
  /// Blocks still out are forgotten; their memory is released.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator &) = delete;
  CachingAllocator &operator=(const CachingAllocator &) = delete;

  /// At least `bytes` (0 gives a valid address too), for work queued in `stream`. `label` says for what, in the user's
  /// words.
  Result<uint64_t> allocate(int64_t bytes, Stream stream, std::string label = {}, PoolId pool = kSharedPool);
  void free(uint64_t address);
  /// `stream` works on the block too: it is not reused before that work is done.
  void recordUse(uint64_t address, Stream stream);
  /// What the block really has, 0 when `address` starts none.
  int64_t sizeOf(uint64_t address) const;

  /// Memory of its own, for work that is recorded once and replayed: nothing else is placed there.
  PoolId newPool();
  /// The pool's segments return to the device once its last block is free.
  void releasePool(PoolId pool);

  /// While work is being recorded no event may be asked and nothing given back to the device.
  void beginRecording();
  void endRecording();

  /// The stream is idle and about to end: its memory passes to `heir`.
  void streamEnds(Stream stream, Stream heir);

  /// Returns cached segments to the device.
  Status emptyCache();
  /// Called when memory is short; frees what it can do without and says whether it freed anything.
  int onPressure(std::function<bool()> callback);
  void removePressureCallback(int callback);
  void setCap(int64_t bytes);

  MemoryStatistics statistics() const;
  void resetPeaks();
  /// The table of `statistics`.
  std::string summary() const;

  struct BlockSnapshot {
    uint64_t address = 0;
    int64_t bytes = 0, requested = 0;
    bool allocated = false, waiting = false; // waiting: freed, but events are outstanding
    std::string label;
  };
  struct SegmentSnapshot {
    uint64_t address = 0;
    int64_t bytes = 0;
    Stream stream = 0;
    bool small = false;
    PoolId pool = kSharedPool;
    std::vector<BlockSnapshot> blocks;
  };
  std::vector<SegmentSnapshot> snapshot() const;

  /// What a request takes from a pool.
  int64_t roundedSize(int64_t bytes) const;

private:
  struct Segment;
  struct Block;
  struct BySize {
    bool operator()(const Block *a, const Block *b) const;
  };
  using FreeList = std::set<Block *, BySize>;
  struct Pool {
    FreeList small, large;
    int64_t liveBlocks = 0;
    bool released = false;
  };

  FreeList &listOf(Block &block);
  Block *takeCached(FreeList &list, int64_t size, Stream stream);
  Block *reserveSegment(Pool &pool, PoolId id, int64_t size, Stream stream, Status &failure);
  void splitBlock(Block &block, int64_t size);
  void returnBlock(Block &block);
  Block *mergedWith(Block *block, Block *neighbour);
  void recordEvents(Block &block);
  void processEvents(bool wait);
  bool callPressureCallbacks();
  void collectGarbage(int64_t size);
  bool releaseOversize(int64_t size, Stream stream, FreeList &list);
  bool releaseCached();
  void releaseSegment(Block &block);
  Status outOfMemory(int64_t requested, int64_t segmentBytes, const std::string &label, const Status &cause);
  bool splitLeavesRest(const Block &block, int64_t size) const;
  void count(MemoryStatistics::Pools &pools, const Segment &segment, int64_t amount);

  MemorySource &source_;
  CachingAllocatorOptions options_;
  mutable std::recursive_mutex mutex_; // pressure callbacks free blocks
  std::map<PoolId, Pool> pools_;
  PoolId nextPool_ = 1;
  std::map<uint64_t, std::unique_ptr<Block>> blocks_; // by address
  std::map<uint64_t, std::unique_ptr<Segment>> segments_;
  std::vector<std::pair<MemorySource::Event, Block *>> events_; // oldest first
  std::vector<Block *> deferred_;                                // freed while recording
  std::map<int, std::function<bool()>> pressure_;
  int nextCallback_ = 1;
  int recording_ = 0;
  bool inPressure_ = false;
  uint64_t clock_ = 0; // counts requests: the age of cached blocks
  MemoryStatistics statistics_;
};

/// "3.25 GiB"
std::string bytesText(int64_t bytes);

} // namespace graphc
