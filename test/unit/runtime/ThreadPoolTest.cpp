#include "runtime/devices/cpu/ThreadPool.h"

#include <chrono>
#include <gtest/gtest.h>
#include <numeric>

using namespace graphc;

namespace {

struct Counter {
  std::vector<std::atomic<int>> hits;
  std::atomic<int> badWorker{0};
  int concurrency;
  Counter(int chunks, int concurrency) : hits(chunks), concurrency(concurrency) {}
  static void work(void *argument, int chunk, int worker) {
    auto &self = *static_cast<Counter *>(argument);
    self.hits[chunk].fetch_add(1);
    if (worker < 0 || worker >= self.concurrency)
      self.badWorker.fetch_add(1);
  }
};

TEST(SpinPool, RunsEveryChunkOnce) {
  SpinPool pool({.threads = 4});
  ASSERT_TRUE(pool.tryEnter());
  for (int round = 0; round < 20000; ++round) {
    int chunks = 1 + round % 13;
    Counter counter(chunks, pool.concurrency());
    pool.run(chunks, Counter::work, &counter);
    for (auto &hit : counter.hits)
      ASSERT_EQ(hit.load(), 1) << "round " << round;
    ASSERT_EQ(counter.badWorker.load(), 0);
  }
  pool.leave();
}

TEST(SpinPool, ParkedWorkersWakeUp) {
  SpinPool pool({.threads = 3, .spinNs = 1000});
  ASSERT_TRUE(pool.tryEnter());
  for (int round = 0; round < 50; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Counter counter(7, pool.concurrency());
    pool.run(7, Counter::work, &counter);
    for (auto &hit : counter.hits)
      ASSERT_EQ(hit.load(), 1);
  }
  pool.leave();
}

TEST(SpinPool, OneCallerAtATime) {
  SpinPool pool({.threads = 2});
  ASSERT_TRUE(pool.tryEnter());
  std::thread([&] { EXPECT_FALSE(pool.tryEnter()); }).join();
  pool.leave();
  EXPECT_TRUE(pool.tryEnter());
  pool.leave();
}

TEST(SpinPool, OneThreadMeansNoWorkers) {
  SpinPool pool({.threads = 1});
  EXPECT_EQ(pool.concurrency(), 1);
  Counter counter(3, 1);
  pool.run(3, Counter::work, &counter);
  EXPECT_EQ(counter.hits[2].load(), 1);
}

TEST(SpinPool, ImpossibleAffinityIsReportedNotFatal) {
  SpinPool pool({.threads = 2, .affinity = {100000}});
  EXPECT_NE(pool.affinityProblem().find("core 100000"), std::string::npos);
}

} // namespace
