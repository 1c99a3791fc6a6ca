#include "runtime/memory/ArenaPlanner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace graphc;

static bool alive(const ArenaItem &a, const ArenaItem &b) { return a.first <= b.last && b.first <= a.last; }

/// No two items alive together overlap, every offset is aligned, the extent is the largest end.
static void check(const std::vector<ArenaItem> &items, const std::vector<int64_t> &offsets, int64_t extent) {
  int64_t largest = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(offsets[i] % kArenaAlignment, 0);
    if (items[i].bytes)
      largest = std::max(largest, (offsets[i] + items[i].bytes + 63) / 64 * 64);
    for (size_t j = 0; j < i; ++j)
      if (alive(items[i], items[j]) && items[i].bytes && items[j].bytes)
        EXPECT_TRUE(offsets[i] + items[i].bytes <= offsets[j] || offsets[j] + items[j].bytes <= offsets[i])
            << "items " << i << " and " << j;
  }
  EXPECT_EQ(extent, largest);
}

TEST(ArenaPlanner, RandomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaItem> items(random() % 60);
    for (ArenaItem &item : items) {
      item.first = static_cast<int>(random() % 40);
      item.last = item.first + static_cast<int>(random() % (round % 2 ? 5 : 30));
      item.bytes = random() % 5 ? static_cast<int64_t>(random() % 10000) : 0;
    }
    std::vector<int64_t> offsets(items.size());
    int64_t extent = planArena(items, offsets);
    check(items, offsets, extent);

    // Never worse than no reuse, never better than the largest set alive at once.
    int64_t sum = 0, busiest = 0;
    for (const ArenaItem &item : items)
      sum += (item.bytes + 63) / 64 * 64;
    for (int t = 0; t < 80; ++t) {
      int64_t live = 0;
      for (const ArenaItem &item : items)
        if (item.first <= t && t <= item.last)
          live += (item.bytes + 63) / 64 * 64;
      busiest = std::max(busiest, live);
    }
    EXPECT_LE(extent, sum);
    EXPECT_GE(extent, busiest);
  }
}

TEST(ArenaPlanner, AChainNeedsTwoBuffers) {
  std::vector<ArenaItem> items;
  for (int i = 0; i < 10; ++i)
    items.push_back({1000, i, i + 1});
  std::vector<int64_t> offsets(items.size());
  EXPECT_EQ(planArena(items, offsets), 2 * 1024);
}

TEST(ArenaPlanner, SmallItemsTakeTheTightestGap) {
  // Two holes of 128 and 64 bytes beside long-lived items; the 64-byte item must take the smaller one.
  std::vector<ArenaItem> items = {{1024, 0, 9}, {512, 0, 1}, {256, 0, 9}, {128, 0, 1}, {64, 0, 9}, {64, 5, 6}};
  std::vector<int64_t> offsets(items.size());
  int64_t extent = planArena(items, offsets);
  check(items, offsets, extent);
  EXPECT_GE(offsets[5], offsets[3]);
  EXPECT_LT(offsets[5], offsets[3] + 128);
}

TEST(ArenaPlanner, NothingNeedsNothing) {
  EXPECT_EQ(planArena({}, {}), 0);
  std::vector<ArenaItem> items = {{0, 0, 1}};
  std::vector<int64_t> offsets(1);
  EXPECT_EQ(planArena(items, offsets), 0);
}
