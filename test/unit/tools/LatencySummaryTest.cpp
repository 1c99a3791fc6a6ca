#include "tools/graphc/LatencySummary.h"

#include <gtest/gtest.h>

#include <vector>

using namespace graphc::tool;

namespace {

TEST(LatencySummary, PercentilesAreMeasuredValues) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i)
    values.push_back(i);
  LatencySummary summary = summarise(values);
  EXPECT_EQ(summary.minMs, 1);
  EXPECT_EQ(summary.p50Ms, 50);
  EXPECT_EQ(summary.p90Ms, 90);
  EXPECT_EQ(summary.p95Ms, 95);
  EXPECT_EQ(summary.p99Ms, 99);
  EXPECT_EQ(summary.meanMs, 50.5);
  EXPECT_NEAR(summary.perSecond, 1000 / 50.5, 1e-9);
}

TEST(LatencySummary, OneCall) {
  std::vector<double> one = {4};
  LatencySummary summary = summarise(one);
  EXPECT_EQ(summary.p99Ms, 4);
  EXPECT_EQ(summary.perSecond, 250);
  EXPECT_FALSE(summary.noisy);
}

TEST(LatencySummary, SteadyIsQuietAndASlowOutlierDoesNotCount) {
  std::vector<double> values(1000, 2.0);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] += 0.02 * static_cast<double>(i % 3);
  values[500] = 50;
  EXPECT_FALSE(summarise(values).noisy);
}

TEST(LatencySummary, DriftIsNoisy) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(i < 500 ? 2 : 2.6); // the second half 30 % slower
  EXPECT_TRUE(summarise(values).noisy);
}

TEST(LatencySummary, AFifthOfSlowCallsIsNoisy) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(i % 5 == 0 ? 4 : 2);
  EXPECT_TRUE(summarise(values).noisy);
}

} // namespace
