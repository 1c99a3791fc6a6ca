// The caching allocator and the pinned pool over a device made of numbers: no memory is touched.
#include "runtime/memory/CachingAllocator.h"
#include "runtime/memory/PinnedPool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace graphc;
using testing::HasSubstr;

namespace {

constexpr int64_t KiB = 1 << 10, MiB = 1 << 20, GiB = int64_t(1) << 30;

/// Hands out addresses; events pass when the test says so.
class FakeSource final : public MemorySource {
public:
  explicit FakeSource(int64_t total = 16 * GiB) : total(total) {}
  Result<uint64_t> reserve(int64_t bytes) override {
    ++reservations;
    if (held + bytes > total)
      return error(Code::OutOfMemory, "the fake device is full");
    uint64_t address = next;
    next += static_cast<uint64_t>(bytes) + 4096;
    segments[address] = bytes;
    held += bytes;
    return address;
  }
  void release(uint64_t address, int64_t bytes) override {
    ASSERT_EQ(segments.at(address), bytes);
    segments.erase(address);
    held -= bytes;
  }
  Result<Event> record(Stream stream) override {
    if (broken)
      return error(Code::DeviceUnavailable, "broken");
    recorded.push_back(stream);
    live.insert(recorded.size());
    return static_cast<Event>(recorded.size());
  }
  Result<bool> done(Event event) override {
    ++queries;
    return event <= passed;
  }
  Status synchronize(Event event) override {
    passed = std::max(passed, event);
    return {};
  }
  void destroy(Event event) override { EXPECT_EQ(live.erase(event), 1u); }
  Info info() override { return {total - held, total}; }
  void handedOut(uint64_t address, int64_t bytes, const std::string &, Stream) override {
    auto [it, fresh] = out.insert({address, bytes});
    EXPECT_TRUE(fresh) << "handed out twice";
    auto after = std::next(it);
    if (after != out.end())
      EXPECT_LE(address + static_cast<uint64_t>(bytes), after->first) << "overlaps the next block";
    if (it != out.begin())
      EXPECT_LE(std::prev(it)->first + static_cast<uint64_t>(std::prev(it)->second), address) << "overlaps the block before";
  }
  void takenBack(uint64_t address, int64_t bytes, Stream) override {
    EXPECT_EQ(out.at(address), bytes);
    out.erase(address);
  }

  int64_t total, held = 0;
  uint64_t next = 0x100000;
  int reservations = 0, queries = 0;
  bool broken = false;
  std::map<uint64_t, int64_t> segments, out;
  std::vector<Stream> recorded;
  std::set<uint64_t> live;
  Event passed = 0;
};

class Allocator : public testing::Test {
protected:
  void begin(CachingAllocatorOptions options = {}, int64_t total = 16 * GiB) {
    allocator.reset();
    source = std::make_unique<FakeSource>(total);
    options.deviceName = "fake:0";
    allocator = std::make_unique<CachingAllocator>(*source, options);
  }
  void SetUp() override { begin(); }
  uint64_t take(int64_t bytes, uint64_t stream = 1, const std::string &label = {}, int pool = 0) {
    auto result = allocator->allocate(bytes, stream, label, pool);
    EXPECT_TRUE(result.ok()) << result.status().str();
    return result.ok() ? *result : 0;
  }
  std::unique_ptr<FakeSource> source;
  std::unique_ptr<CachingAllocator> allocator;
};

TEST_F(Allocator, RoundsAsPromised) {
  EXPECT_EQ(allocator->roundedSize(0), 512);
  EXPECT_EQ(allocator->roundedSize(1), 512);
  EXPECT_EQ(allocator->roundedSize(512), 512);
  EXPECT_EQ(allocator->roundedSize(513), 1024);
  CachingAllocatorOptions options;
  options.roundupPower2Divisions = 4;
  begin(options);
  EXPECT_EQ(allocator->roundedSize(1200 * KiB), 1280 * KiB); // 1 MiB + 1/4 MiB
  EXPECT_EQ(allocator->roundedSize(MiB), MiB);
  EXPECT_EQ(allocator->roundedSize(513), 1024); // too small for the divisions
}

TEST_F(Allocator, SegmentsHaveTheirSizes) {
  take(100);
  EXPECT_EQ(source->held, 2 * MiB);
  take(MiB); // also small: the same segment has room
  EXPECT_EQ(source->held, 2 * MiB);
  take(MiB + 1);
  EXPECT_EQ(source->held, 22 * MiB);
  take(10 * MiB); // 18.something are left in the 20 MiB segment
  EXPECT_EQ(source->held, 22 * MiB);
  take(11 * MiB + 1);
  EXPECT_EQ(source->held, 34 * MiB); // rounded up to 2 MiB
  MemoryStatistics s = allocator->statistics();
  EXPECT_EQ(s.segment.all.current, 3);
  EXPECT_EQ(s.segment.small.current, 1);
  EXPECT_EQ(s.reservedBytes.large.current, 32 * MiB);
  EXPECT_EQ(s.allocation.all.current, 5);
  EXPECT_EQ(s.allocatedBytes.small.current, MiB + 512);
  EXPECT_EQ(s.requestedBytes.small.current, MiB + 100);
}

TEST_F(Allocator, ReusesAtOnceInTheSameStreamOnly) {
  uint64_t a = take(4000);
  allocator->free(a);
  EXPECT_EQ(take(4000), a);
  allocator->free(a);
  uint64_t b = take(4000, 2);
  EXPECT_NE(b, a);
  EXPECT_EQ(source->reservations, 2);
}

TEST_F(Allocator, TakesTheSmallestThatFits) {
  uint64_t a = take(8 * KiB), gap1 = take(512), b = take(4 * KiB), gap2 = take(512), c = take(16 * KiB), gap3 = take(512);
  for (uint64_t block : {a, b, c})
    allocator->free(block);
  EXPECT_EQ(take(3 * KiB), b);
  EXPECT_EQ(take(6 * KiB), a);
  EXPECT_EQ(take(9 * KiB), c);
  (void)gap1, (void)gap2, (void)gap3;
}

TEST_F(Allocator, SplitsAndMergesBack) {
  uint64_t a = take(4 * MiB), b = take(4 * MiB), c = take(4 * MiB);
  EXPECT_EQ(b, a + 4 * MiB);
  EXPECT_EQ(c, b + 4 * MiB);
  EXPECT_EQ(allocator->statistics().inactiveSplitBytes.all.current, 8 * MiB);
  allocator->free(a);
  allocator->free(c);
  allocator->free(b); // joins both sides
  EXPECT_EQ(allocator->statistics().inactiveSplit.all.current, 0);
  EXPECT_EQ(take(20 * MiB), a) << "the segment is whole again";
  EXPECT_EQ(source->reservations, 1);
}

TEST_F(Allocator, LargeBlocksKeepRestsOfUpToOneMiB) {
  uint64_t a = take(20 * MiB);
  allocator->free(a);
  EXPECT_EQ(take(19 * MiB), a);
  EXPECT_EQ(allocator->sizeOf(a), 20 * MiB) << "a rest of 1 MiB is not split off";
  allocator->free(a);
  EXPECT_EQ(take(19 * MiB - 512), a);
  EXPECT_EQ(allocator->sizeOf(a), 19 * MiB - 512);
}

TEST_F(Allocator, OtherStreamsUsesDelayReuse) {
  uint64_t a = take(4000);
  allocator->recordUse(a, 1); // its own stream: nothing to wait for
  allocator->recordUse(a, 7);
  allocator->recordUse(a, 8);
  allocator->recordUse(a, 7);
  allocator->free(a);
  EXPECT_THAT(source->recorded, testing::ElementsAre(7, 8));
  EXPECT_EQ(allocator->statistics().activeBytes.all.current, 4096) << "freed, but not available";
  EXPECT_EQ(allocator->statistics().allocatedBytes.all.current, 0);
  EXPECT_NE(take(4000), a);
  source->passed = 1;
  EXPECT_NE(take(4000), a);
  source->passed = 2;
  EXPECT_EQ(take(4000), a);
  EXPECT_TRUE(source->live.empty());
}

TEST_F(Allocator, WhileRecordingNothingIsAskedOrReleased) {
  uint64_t a = take(4000), big = take(64 * MiB);
  allocator->recordUse(a, 7);
  allocator->free(big);
  allocator->beginRecording();
  int queries = source->queries;
  allocator->free(a);
  take(300 * KiB);
  EXPECT_TRUE(source->recorded.empty());
  EXPECT_EQ(source->queries, queries);
  EXPECT_FALSE(allocator->emptyCache().ok());
  allocator->endRecording();
  EXPECT_THAT(source->recorded, testing::ElementsAre(7));
}

TEST_F(Allocator, PrivatePoolsKeepTheirMemoryApart) {
  int pool = allocator->newPool();
  uint64_t a = take(4000, 1, "", pool);
  allocator->free(a);
  EXPECT_NE(take(4000), a) << "the shared pool must not get private memory";
  EXPECT_EQ(take(4000, 1, "", pool), a);
  EXPECT_EQ(allocator->statistics().privateBytes, 2 * MiB);
  allocator->releasePool(pool);
  EXPECT_EQ(source->segments.size(), 2u) << "a block is still out";
  allocator->free(a);
  EXPECT_EQ(source->segments.size(), 1u);
  EXPECT_EQ(allocator->statistics().privateBytes, 0);
}

TEST_F(Allocator, EmptyCacheReturnsWholeSegments) {
  uint64_t a = take(4000), b = take(30 * MiB), c = take(1000);
  allocator->free(a);
  allocator->free(b);
  ASSERT_TRUE(allocator->emptyCache().ok());
  EXPECT_EQ(source->held, 2 * MiB) << "the segment of c stays";
  allocator->free(c);
  ASSERT_TRUE(allocator->emptyCache().ok());
  EXPECT_EQ(source->held, 0);
}

TEST_F(Allocator, ShortOfMemoryReleasesTheCacheAndTriesAgain) {
  begin({}, 100 * MiB);
  uint64_t a = take(60 * MiB, 1);
  allocator->free(a);
  take(60 * MiB, 2); // stream 1's cached segment has to go
  EXPECT_EQ(allocator->statistics().retries, 1);
  EXPECT_EQ(source->held, 60 * MiB);
}

TEST_F(Allocator, ShortOfMemoryWaitsForEvents) {
  begin({}, 100 * MiB);
  uint64_t a = take(60 * MiB, 1);
  allocator->recordUse(a, 2);
  allocator->free(a);
  EXPECT_EQ(take(60 * MiB, 1), a + 60 * MiB + 4096) << "after waiting, the segment was returned and reserved anew";
  EXPECT_EQ(source->passed, 1u);
}

TEST_F(Allocator, OutOfMemorySaysWhoHoldsWhatAndRecovers) {
  begin({}, 100 * MiB);
  uint64_t a = take(40 * MiB, 1, "conv1"), b = take(20 * MiB, 1, "linear"), c = take(20 * MiB, 1, "conv1");
  auto refused = allocator->allocate(30 * MiB, 1, "attention");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::OutOfMemory);
  std::string message = refused.status().message();
  for (const char *part : {"fake:0 is out of memory: asked for 30.00 MiB for 'attention'", "100.00 MiB, 20.00 MiB are free",
                           "80.00 MiB in use", "'conv1' 60.00 MiB (2 blocks), 'linear' 20.00 MiB", "try a smaller batch"})
    EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(allocator->statistics().outOfMemory, 1);
  uint64_t smaller = take(20 * MiB, 1);
  for (uint64_t block : {a, b, c, smaller})
    allocator->free(block);
  EXPECT_EQ(allocator->statistics().allocatedBytes.all.current, 0);
  uint64_t whole = take(90 * MiB, 1);
  allocator->free(whole);
  ASSERT_TRUE(allocator->emptyCache().ok());
  EXPECT_EQ(source->held, 0);
}

TEST_F(Allocator, TheCapCountsAsTheDevicesEnd) {
  CachingAllocatorOptions options;
  options.capBytes = 50 * MiB;
  begin(options);
  take(40 * MiB);
  auto refused = allocator->allocate(20 * MiB, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("its limit is 50.00 MiB"));
  allocator->setCap(80 * MiB);
  take(20 * MiB);
}

TEST_F(Allocator, PressureCallbacksComeBeforeTheDevice) {
  uint64_t optional = take(8 * MiB, 1);
  take(2 * MiB);
  bool called = false;
  int id = allocator->onPressure([&] {
    if (called)
      return false;
    called = true;
    allocator->free(optional);
    return true;
  });
  EXPECT_EQ(take(8 * MiB, 1) != 0 && !called, true) << "there was room in the cache";
  uint64_t given = take(8 * MiB, 1);
  EXPECT_TRUE(called);
  EXPECT_EQ(given, optional);
  allocator->removePressureCallback(id);
}

TEST_F(Allocator, OversizeBlocksAreKeptForOversizeRequests) {
  CachingAllocatorOptions options;
  options.maxSplitBytes = 64 * MiB;
  begin(options);
  uint64_t a = take(100 * MiB);
  EXPECT_EQ(allocator->statistics().oversizeAllocations.current, 1);
  allocator->free(a);
  EXPECT_NE(take(30 * MiB), a);
  EXPECT_NE(take(70 * MiB), a) << "more than 20 MiB would be wasted";
  EXPECT_EQ(take(90 * MiB), a);
  EXPECT_EQ(allocator->sizeOf(a), 100 * MiB) << "never split";
}

TEST_F(Allocator, OversizeCacheIsReleasedForANewSegment) {
  CachingAllocatorOptions options;
  options.maxSplitBytes = 20 * MiB;
  begin(options, 200 * MiB);
  uint64_t a = take(120 * MiB), small = take(4 * MiB);
  allocator->free(a);
  allocator->free(small);
  take(60 * MiB);
  EXPECT_NE(take(90 * MiB), 0u);
  EXPECT_EQ(allocator->statistics().retries, 1);
  EXPECT_EQ(source->segments.size(), 3u) << "only the oversize segment went";
}

TEST_F(Allocator, GarbageCollectionFreesTheOldest) {
  CachingAllocatorOptions options;
  options.garbageCollection = 0.5;
  begin(options, 200 * MiB);
  uint64_t old = take(40 * MiB, 1), young = take(50 * MiB, 2);
  allocator->free(old);
  for (int i = 0; i < 20; ++i)
    allocator->free(take(1000));
  allocator->free(young);
  take(30 * MiB, 3); // 120 would be above half of 200
  EXPECT_FALSE(source->segments.contains(old));
  EXPECT_TRUE(source->segments.contains(young));
}

TEST_F(Allocator, AnEndedStreamLeavesItsMemoryToItsHeir) {
  uint64_t a = take(4000, 5), kept = take(4000, 5);
  allocator->free(a);
  allocator->streamEnds(5, 1);
  EXPECT_EQ(take(4000, 1), a);
  allocator->free(kept);
  EXPECT_EQ(take(4000, 1), kept);
}

TEST_F(Allocator, ABrokenDeviceKeepsNothing) {
  uint64_t a = take(4000);
  allocator->recordUse(a, 3);
  source->broken = true;
  allocator->free(a);
  EXPECT_EQ(allocator->statistics().activeBytes.all.current, 0);
}

TEST_F(Allocator, RedZonesSeparateNeighbours) {
  CachingAllocatorOptions options;
  options.redZoneBytes = 256;
  begin(options);
  uint64_t a = take(1024), b = take(1024);
  EXPECT_GE(b - a, 1024u + 256u);
}

TEST_F(Allocator, SummaryIsATableOf75Columns) {
  take(100);
  std::string table = allocator->summary();
  size_t at = 0, lines = 0;
  while (at < table.size()) {
    size_t end = table.find('\n', at);
    EXPECT_EQ(end - at, 75u) << table.substr(at, end - at);
    at = end + 1;
    ++lines;
  }
  EXPECT_GT(lines, 30u);
  EXPECT_THAT(table, HasSubstr("graphc memory of fake:0"));
  EXPECT_THAT(table, HasSubstr("| Reserved memory     |   2.00 MiB |"));
}

TEST_F(Allocator, AnyOrderOfRequestsKeepsTheBooks) {
  std::mt19937 random(7);
  struct Live {
    uint64_t address;
    int64_t bytes;
  };
  std::vector<Live> live;
  int64_t requested = 0;
  int pool = allocator->newPool();
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      int64_t bytes = int64_t(1) << random() % 25;
      bytes += static_cast<int64_t>(random() % static_cast<uint64_t>(bytes));
      auto block = allocator->allocate(bytes, 1 + random() % 3, "x", random() % 8 ? 0 : pool);
      if (!block.ok()) {
        ASSERT_EQ(block.status().code(), Code::OutOfMemory);
        while (live.size() > 5) {
          requested -= live.back().bytes;
          allocator->free(live.back().address);
          live.pop_back();
        }
        continue;
      }
      ASSERT_EQ(*block % 512, 0u);
      live.push_back({*block, bytes});
      requested += bytes;
    } else {
      size_t at = random() % live.size();
      if (random() % 3 == 0)
        allocator->recordUse(live[at].address, 1 + random() % 3);
      allocator->free(live[at].address);
      requested -= live[at].bytes;
      live[at] = live.back();
      live.pop_back();
      source->passed = source->recorded.size() - std::min<size_t>(source->recorded.size(), random() % 4);
    }
    ASSERT_EQ(allocator->statistics().requestedBytes.all.current, requested);
    ASSERT_EQ(allocator->statistics().reservedBytes.all.current, source->held);
  }
  for (const Live &block : live)
    allocator->free(block.address);
  allocator->releasePool(pool);
  source->passed = source->recorded.size();
  ASSERT_TRUE(allocator->emptyCache().ok());
  EXPECT_EQ(source->held, 0) << "everything merged back into whole segments";
  EXPECT_TRUE(source->live.empty());
  MemoryStatistics s = allocator->statistics();
  EXPECT_EQ(s.activeBytes.all.current, 0);
  EXPECT_EQ(s.inactiveSplitBytes.all.current, 0);
  EXPECT_EQ(s.allocatedBytes.all.allocated, s.allocatedBytes.all.freed);
}

TEST(PinnedPool, RoundsToPowersOfTwoAndReuses) {
  FakeSource source;
  PinnedPool pool(source);
  void *a = *pool.allocate(3000);
  EXPECT_EQ(pool.statistics().reservedBytes, 4096);
  EXPECT_TRUE(pool.contains(a, 4096));
  EXPECT_FALSE(pool.contains(a, 4097));
  EXPECT_FALSE(pool.contains(&pool, 8));
  pool.free(a);
  EXPECT_EQ(*pool.allocate(4096), a);
  EXPECT_NE(*pool.allocate(4096), a);
  EXPECT_EQ(pool.statistics().reservations, 2);
  EXPECT_EQ(pool.statistics().usedBytes, 8192);
}

TEST(PinnedPool, ABlockInFlightIsNotHandedOut) {
  FakeSource source;
  PinnedPool pool(source);
  void *a = *pool.allocate(4096);
  pool.recordUse(a, 3);
  pool.free(a);
  EXPECT_NE(*pool.allocate(4096), a);
  source.passed = 1;
  EXPECT_EQ(*pool.allocate(4096), a);
  pool.recordUse(a, 3);
  pool.free(a);
  pool.emptyCache(); // waits
  EXPECT_EQ(source.segments.size(), 1u);
  EXPECT_TRUE(source.live.empty());
}

} // namespace
