// Random numbers, datasets and the orders of samples.
#include "frontend/graphc/data.h"
#include "frontend/tensor/Npy.h"
#include "runtime/base/Philox.h"
#include "test/unit/data/Expect.h"

#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

using namespace graphc;
using namespace graphc::data;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Known answers published with the algorithm (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32({f, f, f, f}, {f, f}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, IsAFunctionOfSeedEpochAndIndex) {
  auto first = [](uint64_t seed, uint64_t epoch, uint64_t index) { return RandomStream(seed, epoch, index).bits(); };
  EXPECT_EQ(first(1, 2, 3), first(1, 2, 3));
  EXPECT_EQ((std::set<uint32_t>{first(1, 2, 3), first(2, 2, 3), first(1, 3, 3), first(1, 2, 4), first(1, 2, 3 + (uint64_t{1} << 32))}.size()), 5u);
}

TEST(RandomStream, Distributions) {
  RandomStream random(7, 0, 0);
  double sum = 0, squares = 0, normals = 0, normalSquares = 0;
  std::vector<int> counts(3);
  const int n = 60000;
  for (int k = 0; k < n; ++k) {
    double u = random.uniform(), z = random.normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u, squares += u * u, normals += z, normalSquares += z * z;
    ++counts[random.below(3)];
  }
  EXPECT_NEAR(sum / n, .5, .005);
  EXPECT_NEAR(squares / n, 1. / 3, .005);
  EXPECT_NEAR(normals / n, 0, .015);
  EXPECT_NEAR(normalSquares / n, 1, .03);
  for (int count : counts)
    EXPECT_NEAR(count, n / 3, 600);
}

Dataset numbers(int64_t count) {
  HostTensor values = *HostTensor::allocate(DType::F32, {count, 2});
  HostTensor labels = *HostTensor::allocate(DType::I64, {count});
  for (int64_t k = 0; k < count; ++k) {
    values.data<float>()[2 * k] = static_cast<float>(k);
    values.data<float>()[2 * k + 1] = -static_cast<float>(k);
    labels.data<int64_t>()[k] = k * 10;
  }
  std::vector<HostTensor> fields;
  fields.push_back(std::move(values));
  fields.push_back(std::move(labels));
  return fromTensors(std::move(fields));
}

TEST(Dataset, RowsSubsetsAndConcatenations) {
  Dataset base = numbers(6);
  EXPECT_EQ(base.size(), 6);
  Sample third = base.get(3);
  EXPECT_EQ(third.fields[0].shape(), (Shape{2}));
  EXPECT_EQ(third.fields[1].shape(), Shape{});
  EXPECT_EQ(third.fields[1].values<int64_t>()[0], 30);
  Dataset part = base.subset({5, 1});
  EXPECT_EQ(part.get(0).fields[1].values<int64_t>()[0], 50);
  Dataset both = concat({part, base.subset(2, 4)});
  EXPECT_EQ(both.size(), 4);
  EXPECT_EQ(both.get(1).fields[1].values<int64_t>()[0], 10);
  EXPECT_EQ(both.get(3).fields[1].values<int64_t>()[0], 30);
  EXPECT_ERROR(both.get(4), Code::IndexOutOfRange, "dataset: index 4 is out of range for 4 samples");
  EXPECT_ERROR(base.get(-1), Code::IndexOutOfRange, "dataset: index -1 is out of range for 6 samples");
  EXPECT_ERROR(base.subset({6}), Code::IndexOutOfRange, HasSubstr("index 6"));
  EXPECT_ERROR(base.subset(4, 7), Code::IndexOutOfRange, "subset: [4, 7) is not inside 6 samples");
}

TEST(Dataset, MapsOneFieldOrAll) {
  Dataset mapped = numbers(3).map([](HostTensor tensor, RandomStream &random) { return HostTensor::of<double>({}, {random.uniform()}); }, 1);
  EXPECT_EQ(mapped.get(1, 5, 0).fields[1].values<double>()[0], mapped.get(1, 5, 0).fields[1].values<double>()[0]);
  EXPECT_NE(mapped.get(1, 5, 0).fields[1].values<double>()[0], mapped.get(1, 5, 1).fields[1].values<double>()[0]);
  Dataset wide = numbers(3).mapSample([](Sample sample, RandomStream &) {
    sample.fields.push_back(HostTensor::of<int32_t>({}, {7}));
    return sample;
  });
  EXPECT_EQ(wide.get(0).fields.size(), 3u);
  EXPECT_ERROR(numbers(1).map([](HostTensor t, RandomStream &) { return t; }, 2).get(0), Code::IndexOutOfRange,
               "map: field 2 is out of range, samples have 2");
}

TEST(Dataset, FromNumPysFiles) {
  auto path = [](const char *name) { return (std::filesystem::path(testing::TempDir()) / name).string(); };
  ASSERT_TRUE(writeNpy(path("x.npy"), HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})).ok());
  ASSERT_TRUE(writeNpy(path("y.npy"), HostTensor::of<int64_t>({2}, {8, 9})).ok());
  Dataset data = fromNpy({path("x.npy"), path("y.npy")});
  EXPECT_EQ(data.get(1).fields[0].values<float>()[2], 6);
  EXPECT_EQ(data.get(1).fields[1].values<int64_t>()[0], 9);
  ASSERT_TRUE(writeNpy(path("y.npy"), HostTensor::of<int64_t>({1}, {8})).ok());
  EXPECT_ERROR(fromNpy({path("x.npy"), path("y.npy")}), Code::ShapeMismatch, "fromTensors: tensor 1 holds 1 samples, the first 2");
}

TEST(Samplers, RandomIsAPermutationThatChangesWithTheEpoch) {
  auto sampler = randomSampler(100, {.seed = 4});
  std::vector<int64_t> zero = sampler->indices(0), one = sampler->indices(1), sorted = zero;
  EXPECT_EQ(zero, sampler->indices(0));
  EXPECT_NE(zero, one);
  EXPECT_NE(zero, randomSampler(100, {.seed = 5})->indices(0));
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, sequentialSampler(100)->indices(0));
  EXPECT_EQ(randomSampler(100, {.seed = 4, .samples = 7})->indices(0), std::vector<int64_t>(zero.begin(), zero.begin() + 7));
  EXPECT_EQ(randomSampler(3, {.replacement = true, .samples = 50})->indices(0).size(), 50u);
  EXPECT_ERROR(randomSampler(3, {.samples = 4}), Code::InvalidOption, "randomSampler: 4 of 3 samples need replacement = true");
}

TEST(Samplers, EveryPlaceIsEquallyLikely) {
  std::vector<int> counts(4);
  for (uint64_t epoch = 0; epoch < 8000; ++epoch)
    ++counts[randomSampler(4)->indices(epoch)[2]];
  for (int count : counts)
    EXPECT_NEAR(count, 2000, 160);
}

TEST(Samplers, SubsetAndWeights) {
  EXPECT_THAT(subsetRandomSampler({9, 4, 6}, 3)->indices(0), UnorderedElementsAre(9, 4, 6));
  auto weighted = weightedRandomSampler({0, 1, 3}, 8000)->indices(0);
  EXPECT_EQ(std::count(weighted.begin(), weighted.end(), 0), 0);
  EXPECT_NEAR(std::count(weighted.begin(), weighted.end(), 2), 6000, 150);
  EXPECT_THAT(weightedRandomSampler({2, 0, 1, 5}, 3, {.replacement = false})->indices(0), UnorderedElementsAre(0, 2, 3));
  EXPECT_ERROR(weightedRandomSampler({1, -1}, 1), Code::InvalidOption, HasSubstr("weight 1 is -1"));
  EXPECT_ERROR(weightedRandomSampler({1, 0}, 2, {.replacement = false}), Code::InvalidOption, HasSubstr("cannot draw 2 of 1"));
}

TEST(Samplers, RanksShareAnEpochWithoutOverlap) {
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < 3; ++rank) {
    auto mine = distributedSampler(10, {.replicas = 3, .rank = rank, .seed = 2})->indices(5);
    EXPECT_EQ(mine.size(), 4u);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 10u) << "12 places, 10 samples: two come twice";
  EXPECT_THAT(distributedSampler(5, {.replicas = 2, .rank = 1, .shuffle = false})->indices(0), ElementsAre(1, 3, 0));
  EXPECT_THAT(distributedSampler(5, {.replicas = 2, .rank = 1, .shuffle = false, .dropLast = true})->indices(0), ElementsAre(1, 3));
  EXPECT_ERROR(distributedSampler(5, {.replicas = 2, .rank = 2}), Code::InvalidOption, "distributedSampler: rank 2 is not in 0…1");
}

TEST(Samplers, Batches) {
  auto batches = batchSampler(sequentialSampler(5), 2);
  EXPECT_EQ(batches->size(), 3);
  EXPECT_THAT(batches->batches(0), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_EQ(batchSampler(sequentialSampler(5), 2, true)->size(), 2);
  EXPECT_EQ(batchSampler(sequentialSampler(5), 2, true)->batches(0).size(), 2u);
}

} // namespace
