#include "frontend/tensor/CompareTensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace graphc;

namespace {

HostTensor floats(std::initializer_list<float> values) { return HostTensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values); }

TEST(CompareTensors, NodeRuleIsRelativeToTheExpectedValue) {
  EXPECT_TRUE(compareTensors(floats({1.0009f}), floats({1.0f}), Tolerance::node()).matches);
  EXPECT_FALSE(compareTensors(floats({1.002f}), floats({1.0f}), Tolerance::node()).matches);
  EXPECT_FALSE(compareTensors(floats({1e-6f}), floats({0.0f}), Tolerance::node()).matches);
}

TEST(CompareTensors, NetworkRuleAllowsAPartOfTheLargestValue) {
  EXPECT_TRUE(compareTensors(floats({1000, 0.009f}), floats({1000, 0}), Tolerance::network()).matches);
  EXPECT_FALSE(compareTensors(floats({1000, 0.02f}), floats({1000, 0}), Tolerance::network()).matches);
  EXPECT_FALSE(compareTensors(floats({1000, 0.009f}), floats({1000, 0}), Tolerance::node()).matches);
}

TEST(CompareTensors, NanEqualsNanAndNothingElse) {
  float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compareTensors(floats({nan, inf, -inf}), floats({nan, inf, -inf}), Tolerance::exact()).matches);
  EXPECT_FALSE(compareTensors(floats({nan}), floats({0}), Tolerance{1e9, 1e9, 0}).matches);
  EXPECT_FALSE(compareTensors(floats({0}), floats({nan}), Tolerance{1e9, 1e9, 0}).matches);
  EXPECT_FALSE(compareTensors(floats({inf}), floats({-inf}), Tolerance::node()).matches);
  EXPECT_FALSE(compareTensors(floats({3e38f}), floats({inf}), Tolerance::node()).matches);
}

TEST(CompareTensors, NamesTheElementThatDiffersMost) {
  HostTensor got = HostTensor::of<float>({2, 2}, {1, 2, 3.5f, 4.1f}), want = HostTensor::of<float>({2, 2}, {1, 2, 3, 4});
  Comparison result = compareTensors(got, want, Tolerance::node());
  EXPECT_EQ(result.worst, 2);
  EXPECT_EQ(result.differing, 2);
  EXPECT_EQ(result.message, "differs in 2 of 4 elements; most different: element [1, 0] is 3.5, expected 3 (off by 0.5, allowed 0.003)");
}

TEST(CompareTensors, MostDifferentIsMeasuredAgainstWhatIsAllowed) {
  // 1 of 1000 is within the tolerance; 0.01 of 0.1 is far outside.
  EXPECT_EQ(compareTensors(floats({1001, 0.11f}), floats({1000, 0.1f}), Tolerance::node()).worst, 1);
}

TEST(CompareTensors, LargeIntegersAreComparedExactly) {
  HostTensor got = HostTensor::of<int64_t>({1}, {(int64_t{1} << 62) + 1}), want = HostTensor::of<int64_t>({1}, {int64_t{1} << 62});
  EXPECT_FALSE(compareTensors(got, want, Tolerance::exact()).matches);
}

TEST(CompareTensors, TypesAndShapesMustAgree) {
  EXPECT_EQ(compareTensors(floats({1}), HostTensor::of<float>({1, 1}, {1}), Tolerance::node()).message, "is 1xf32, expected 1x1xf32");
  EXPECT_EQ(compareTensors(floats({1}), HostTensor::of<int32_t>({1}, {1}), Tolerance::node()).message, "is 1xf32, expected 1xi32");
}

TEST(CompareTensors, EmptyTensorsMatch) { EXPECT_TRUE(compareTensors(floats({}), floats({}), Tolerance::exact()).matches); }

} // namespace
