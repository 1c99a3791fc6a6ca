#include "runtime/exec/StreamSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace graphc;

namespace {

MemoryRange own(int buffer) { return {buffer + 1, 0, 1}; }

TEST(StreamSchedule, AChainStaysInOneStreamWithoutWaits) {
  std::vector<CommandAccess> commands = {{{}, {0}}, {{0}, {1}}, {{1}, {2}}, {{0, 2}, {3}}};
  auto streams = assignStreams(commands, 4);
  EXPECT_EQ(streams, std::vector<int>(4, 0));
  auto waits = planWaits(commands, streams, own);
  for (auto &list : waits.waits)
    EXPECT_TRUE(list.empty());
}

TEST(StreamSchedule, IndependentChainsGetStreamsAndOneWaitToJoin) {
  std::vector<CommandAccess> commands = {{{}, {0}}, {{}, {1}}, {{0}, {2}}, {{1}, {3}}, {{2, 3}, {4}}};
  auto streams = assignStreams(commands, 4);
  EXPECT_EQ(streams, (std::vector<int>{0, 1, 0, 1, 1}));
  auto waits = planWaits(commands, streams, own);
  EXPECT_EQ(waits.waits[4], std::vector<int>{2});
  EXPECT_EQ(waits.afterStart, (std::vector<bool>{false, true, false, false, false}));
  EXPECT_EQ(waits.joins, std::vector<int>{4});
  EXPECT_EQ(waits.recorded, (std::vector<bool>{false, false, true, false, true}));
}

TEST(StreamSchedule, WhatIsKnownIsNotWaitedForAgain) {
  // 2 waits for 0; 3, behind 2, needs 0 as well.
  std::vector<CommandAccess> commands = {{{}, {0}, 0}, {{}, {1}, 1}, {{0, 1}, {2}, 1}, {{0, 2}, {3}, 1}};
  auto streams = assignStreams(commands, 2);
  EXPECT_EQ(streams, (std::vector<int>{0, 1, 1, 1})) << "as the plan says";
  auto waits = planWaits(commands, streams, own);
  EXPECT_EQ(waits.waits[2], std::vector<int>{0});
  EXPECT_TRUE(waits.waits[3].empty());
}

TEST(StreamSchedule, ReusedMemoryIsWaitedFor) {
  std::vector<CommandAccess> commands = {{{}, {0}, 0}, {{}, {1}, 1}};
  auto streams = assignStreams(commands, 2);
  auto apart = [](int buffer) -> MemoryRange { return {0, buffer * 64, buffer * 64 + 64}; };
  auto overlapping = [](int buffer) -> MemoryRange { return {0, buffer * 32, buffer * 32 + 64}; };
  EXPECT_TRUE(planWaits(commands, streams, apart).waits[1].empty());
  EXPECT_EQ(planWaits(commands, streams, overlapping).waits[1], std::vector<int>{0});
}

/// Any program: every conflicting pair is ordered by streams and waits, and no wait can be left out.
TEST(StreamSchedule, RandomProgramsAreOrderedAndNoWaitIsSpare) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    size_t count = 2 + random() % 30;
    int buffers = 1 + static_cast<int>(random() % 8);
    std::vector<CommandAccess> commands(count);
    for (CommandAccess &command : commands) {
      for (int buffer = 0; buffer < buffers; ++buffer)
        if (unsigned what = random() % 6; what < 2)
          (what ? command.reads : command.writes).push_back(buffer);
    }
    auto streams = assignStreams(commands, 1 + static_cast<int>(random() % 4));
    auto waits = planWaits(commands, streams, own);
    auto conflicts = [&](size_t a, size_t b) {
      auto meet = [](const std::vector<int> &x, const std::vector<int> &y) {
        return std::any_of(x.begin(), x.end(), [&](int v) { return std::find(y.begin(), y.end(), v) != y.end(); });
      };
      return meet(commands[a].writes, commands[b].writes) || meet(commands[a].writes, commands[b].reads) || meet(commands[a].reads, commands[b].writes);
    };
    auto unordered = [&](const StreamWaits &w) {
      std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
      std::vector<int> tail(8, -1);
      auto follow = [&](size_t i, int j) {
        before[i][static_cast<size_t>(j)] = true;
        for (size_t k = 0; k < count; ++k)
          if (before[static_cast<size_t>(j)][k])
            before[i][k] = true;
      };
      int missing = 0;
      std::vector<bool> started(count);
      for (size_t i = 0; i < count; ++i) {
        int &last = tail[static_cast<size_t>(streams[i])];
        if (last >= 0)
          follow(i, last);
        last = static_cast<int>(i);
        for (int j : w.waits[i])
          follow(i, j);
        for (size_t j = 0; j < i; ++j)
          missing += conflicts(i, j) && !before[i][j];
        started[i] = streams[i] == 0 || (!w.afterStart.empty() && w.afterStart[i]);
        for (size_t j = 0; j < i; ++j)
          started[i] = started[i] || (before[i][j] && started[j]);
        missing += !started[i];
      }
      // The end of the call follows stream 0 and the joins.
      for (size_t i = 0; i < count; ++i) {
        bool ended = streams[i] == 0;
        for (int join : w.joins)
          ended = ended || static_cast<size_t>(join) == i || before[static_cast<size_t>(join)][i];
        ended = ended || (tail[0] >= 0 && before[static_cast<size_t>(tail[0])][i]);
        missing += !ended;
      }
      return missing;
    };
    ASSERT_EQ(unordered(waits), 0) << round;
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; k < waits.waits[i].size(); ++k) {
        ASSERT_TRUE(waits.recorded[static_cast<size_t>(waits.waits[i][k])]);
        StreamWaits fewer = waits;
        fewer.waits[i].erase(fewer.waits[i].begin() + static_cast<std::ptrdiff_t>(k));
        ASSERT_GT(unordered(fewer), 0) << "command " << i << " of round " << round << " waits in vain";
      }
    for (size_t i = 0; i < count; ++i) {
      StreamWaits fewer = waits;
      if (!waits.afterStart.empty() && waits.afterStart[i]) {
        fewer.afterStart[i] = false;
        ASSERT_GT(unordered(fewer), 0) << "command " << i << " of round " << round << " waits for the start in vain";
      }
    }
    for (size_t k = 0; k < waits.joins.size(); ++k) {
      StreamWaits fewer = waits;
      fewer.joins.erase(fewer.joins.begin() + static_cast<std::ptrdiff_t>(k));
      ASSERT_GT(unordered(fewer), 0) << "join " << k << " of round " << round << " is in vain";
    }
  }
}

} // namespace
