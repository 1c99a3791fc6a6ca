// Orders of samples. Shuffling is Fisher and Yates's with a Philox stream of (seed, epoch): the same on every machine.
#include "frontend/graphc/data.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graphc::data {
namespace {

/// The stream that orders an epoch: no sample has this index, so no transform shares its numbers.
RandomStream orderStream(uint64_t seed, uint64_t epoch) { return RandomStream(seed, epoch, UINT64_MAX); }

std::vector<int64_t> counting(int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return indices;
}

/// The first `places` places get a uniformly drawn arrangement.
void shuffle(std::vector<int64_t> &indices, RandomStream random, size_t places) {
  for (size_t at = 0; at < places && at + 1 < indices.size(); ++at)
    std::swap(indices[at], indices[at + random.below(indices.size() - at)]);
}

class Sequential : public Sampler {
public:
  explicit Sequential(int64_t count) : count_(count) {}
  int64_t size() const override { return count_; }
  std::vector<int64_t> indices(uint64_t) const override { return counting(count_); }

private:
  int64_t count_;
};

class Random : public Sampler {
public:
  Random(int64_t count, const RandomSamplerOptions &options) : count_(count), options_(options) {
    if (size() < 0 || (size() > 0 && count == 0))
      raise(Code::InvalidOption, "randomSampler: cannot draw ", size(), " of ", count, " samples");
    if (!options.replacement && size() > count)
      raise(Code::InvalidOption, "randomSampler: ", size(), " of ", count, " samples need replacement = true");
  }
  int64_t size() const override { return options_.samples.value_or(count_); }
  std::vector<int64_t> indices(uint64_t epoch) const override {
    if (options_.replacement) {
      RandomStream random = orderStream(options_.seed, epoch);
      std::vector<int64_t> indices;
      for (int64_t k = 0; k < size(); ++k)
        indices.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(count_))));
      return indices;
    }
    std::vector<int64_t> indices = counting(count_);
    shuffle(indices, orderStream(options_.seed, epoch), static_cast<size_t>(size()));
    indices.resize(static_cast<size_t>(size()));
    return indices;
  }

private:
  int64_t count_;
  RandomSamplerOptions options_;
};

class SubsetRandom : public Sampler {
public:
  SubsetRandom(std::vector<int64_t> indices, uint64_t seed) : indices_(std::move(indices)), seed_(seed) {}
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  std::vector<int64_t> indices(uint64_t epoch) const override {
    std::vector<int64_t> indices = indices_;
    shuffle(indices, orderStream(seed_, epoch), indices.size());
    return indices;
  }

private:
  std::vector<int64_t> indices_;
  uint64_t seed_;
};

class Weighted : public Sampler {
public:
  Weighted(std::vector<double> weights, int64_t samples, const WeightedSamplerOptions &options)
      : weights_(std::move(weights)), samples_(samples), options_(options) {
    int64_t positive = 0;
    for (size_t k = 0; k < weights_.size(); ++k) {
      if (!(weights_[k] >= 0) || weights_[k] > 1e300)
        raise(Code::InvalidOption, "weightedRandomSampler: weight ", k, " is ", weights_[k], "; weights are finite and at least 0");
      positive += weights_[k] > 0;
    }
    if (samples < 0 || (samples > 0 && positive == 0) || (!options.replacement && samples > positive))
      raise(Code::InvalidOption, "weightedRandomSampler: cannot draw ", samples, " of ", positive, " samples with a weight above 0");
  }
  int64_t size() const override { return samples_; }
  std::vector<int64_t> indices(uint64_t epoch) const override {
    RandomStream random = orderStream(options_.seed, epoch);
    std::vector<int64_t> indices;
    if (!options_.replacement) {
      // The largest of u^(1/w) are a weighted draw without replacement (Efraimidis and Spirakis); log keeps tiny ones apart.
      std::vector<std::pair<double, int64_t>> keys;
      for (size_t k = 0; k < weights_.size(); ++k)
        if (double u = 1 - random.uniform(); weights_[k] > 0)
          keys.emplace_back(-std::log(u) / weights_[k], static_cast<int64_t>(k));
      std::sort(keys.begin(), keys.end());
      for (int64_t k = 0; k < samples_; ++k)
        indices.push_back(keys[static_cast<size_t>(k)].second);
      return indices;
    }
    std::vector<double> sums(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
    for (int64_t k = 0; k < samples_; ++k) {
      auto at = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sums.back());
      indices.push_back(std::min<int64_t>(at - sums.begin(), static_cast<int64_t>(sums.size()) - 1));
    }
    return indices;
  }

private:
  std::vector<double> weights_;
  int64_t samples_;
  WeightedSamplerOptions options_;
};

class Distributed : public Sampler {
public:
  Distributed(int64_t count, const DistributedSamplerOptions &options) : count_(count), options_(options) {
    if (options.replicas < 1 || options.rank < 0 || options.rank >= options.replicas)
      raise(Code::InvalidOption, "distributedSampler: rank ", options.rank, " is not in 0…", options.replicas - 1);
  }
  int64_t size() const override { return options_.dropLast ? count_ / options_.replicas : (count_ + options_.replicas - 1) / options_.replicas; }
  std::vector<int64_t> indices(uint64_t epoch) const override {
    std::vector<int64_t> all = counting(count_), mine;
    if (options_.shuffle)
      shuffle(all, orderStream(options_.seed, epoch), all.size());
    for (int64_t k = 0; k < size(); ++k)
      mine.push_back(all[static_cast<size_t>((options_.rank + k * options_.replicas) % count_)]);
    return mine;
  }

private:
  int64_t count_;
  DistributedSamplerOptions options_;
};

class Batches : public BatchSampler {
public:
  Batches(std::shared_ptr<Sampler> sampler, int64_t batchSize, bool dropLast)
      : sampler_(std::move(sampler)), batchSize_(batchSize), dropLast_(dropLast) {
    if (batchSize < 1)
      raise(Code::InvalidOption, "batchSampler: the batch size is ", batchSize, ", at least 1 is needed");
  }
  int64_t size() const override { return dropLast_ ? sampler_->size() / batchSize_ : (sampler_->size() + batchSize_ - 1) / batchSize_; }
  std::vector<std::vector<int64_t>> batches(uint64_t epoch) const override {
    std::vector<int64_t> all = sampler_->indices(epoch);
    std::vector<std::vector<int64_t>> result;
    for (size_t at = 0; at < all.size(); at += static_cast<size_t>(batchSize_)) {
      size_t end = std::min(all.size(), at + static_cast<size_t>(batchSize_));
      if (dropLast_ && end - at < static_cast<size_t>(batchSize_))
        break;
      result.emplace_back(all.begin() + at, all.begin() + end);
    }
    return result;
  }

private:
  std::shared_ptr<Sampler> sampler_;
  int64_t batchSize_;
  bool dropLast_;
};

} // namespace

std::shared_ptr<Sampler> sequentialSampler(int64_t count) { return std::make_shared<Sequential>(count); }
std::shared_ptr<Sampler> randomSampler(int64_t count, const RandomSamplerOptions &options) { return std::make_shared<Random>(count, options); }
std::shared_ptr<Sampler> subsetRandomSampler(std::vector<int64_t> indices, uint64_t seed) {
  return std::make_shared<SubsetRandom>(std::move(indices), seed);
}
std::shared_ptr<Sampler> weightedRandomSampler(std::vector<double> weights, int64_t samples, const WeightedSamplerOptions &options) {
  return std::make_shared<Weighted>(std::move(weights), samples, options);
}
std::shared_ptr<Sampler> distributedSampler(int64_t count, const DistributedSamplerOptions &options) {
  return std::make_shared<Distributed>(count, options);
}
std::shared_ptr<BatchSampler> batchSampler(std::shared_ptr<Sampler> sampler, int64_t batchSize, bool dropLast) {
  return std::make_shared<Batches>(std::move(sampler), batchSize, dropLast);
}

} // namespace graphc::data
