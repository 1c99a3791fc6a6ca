#include "runtime/base/DeviceId.h"
#include "runtime/base/Float16.h"
#include "runtime/base/HostTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace graphc;

TEST(Half, EveryValueSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(static_cast<uint16_t>(bits));
    uint16_t back = floatToHalf(value);
    if (std::isnan(value))
      EXPECT_TRUE((back & 0x7c00) == 0x7c00 && (back & 0x3ff)) << bits;
    else
      EXPECT_EQ(back, bits);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(halfToFloat(floatToHalf(1.0f + 0x1p-11f)), 1.0f);               // tie, down to even
  EXPECT_EQ(halfToFloat(floatToHalf(1.0f + 3 * 0x1p-11f)), 1.0f + 0x1p-9f); // tie, up to even
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(0x1p-24f), 1);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);
  EXPECT_EQ(floatToHalf(-0x1.8p-25f), 0x8001);
  // Through float this double would round twice: down to the tie, then to even.
  EXPECT_EQ(doubleToHalf(1.0 + 0x1p-11 + 0x1p-40), floatToHalf(1.0f + 0x1p-10f));
}

TEST(BFloat, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(bfloatToFloat(floatToBfloat(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(bfloatToFloat(floatToBfloat(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(std::bit_cast<float>(0x7f800001)))));
  EXPECT_EQ(floatToBfloat(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kNumDTypes; ++i)
    EXPECT_EQ(dtypeFromName(dtypeName(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_FALSE(dtypeFromName("f31"));
  EXPECT_EQ(sizeOf(DType::BF16), 2u);
  EXPECT_TRUE(isInteger(DType::U16) && !isInteger(DType::Bool) && !isFloat(DType::I64));
}

TEST(Shape, ProductsAreChecked) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({}).elements(), 1);
  EXPECT_EQ(Shape({0, INT64_MAX, INT64_MAX}).checkedElements(), 0);
  EXPECT_FALSE(Shape({INT64_MAX, 2}).checkedElements());
  EXPECT_FALSE(Shape({-1}).checkedElements());
  EXPECT_EQ(Shape({2, 3, 4}).denseStrides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(Shape({1, 3}).str(), "[1, 3]");
}

TEST(HostTensor, OwnsAlignedBytesOrBorrows) {
  auto tensor = HostTensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % kAlignment, 0u);
  EXPECT_TRUE(tensor.ownsData());
  float data[3] = {5, 6, 7};
  auto borrowed = HostTensor::borrow(DType::F32, {3}, data);
  EXPECT_FALSE(borrowed.ownsData());
  EXPECT_EQ(borrowed.values<float>()[2], 7);
  auto copy = borrowed.clone();
  ASSERT_TRUE(copy.ok());
  data[0] = 0;
  EXPECT_EQ(copy->values<float>()[0], 5);
  auto empty = HostTensor::allocate(DType::F32, {0, 3});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->defined());
}

TEST(HostTensor, ImpossibleSizesAreErrors) {
  auto huge = HostTensor::allocate(DType::F64, {INT64_MAX / 4, 4});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.status().code(), Code::OutOfMemory);
  EXPECT_EQ(huge.status().str().substr(0, 7), "GC4001:");
}

TEST(DeviceId, ParsesWhatItPrints) {
  for (const char *words : {"cpu", "cuda:0", "cuda:3", "sim:0", "sim:12"}) {
    auto id = DeviceId::parse(words);
    ASSERT_TRUE(id.ok()) << id.status().str();
    EXPECT_EQ(id->str(), words);
  }
  EXPECT_EQ(DeviceId::parse("cuda")->str(), "cuda:0");
  EXPECT_EQ(DeviceId::parse("sim")->str(), "sim:0");
  EXPECT_EQ(*DeviceId::parse("sim"), *DeviceId::parse("sim:0"));
}

TEST(DeviceId, WrongWordsListTheRightOnes) {
  for (const char *words : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cpu:0", "CUDA", "sim:99999999999"}) {
    auto id = DeviceId::parse(words);
    ASSERT_FALSE(id.ok()) << words;
    EXPECT_EQ(id.status().code(), Code::InvalidOption);
    EXPECT_NE(id.status().message().find("valid are cpu, sim[:N] and cuda[:N]"), std::string::npos) << id.status().message();
  }
  auto mps = DeviceId::parse("mps");
  ASSERT_FALSE(mps.ok());
  EXPECT_EQ(mps.status().code(), Code::DeviceUnavailable);
  EXPECT_NE(mps.status().message().find("not available in this build"), std::string::npos);
}
