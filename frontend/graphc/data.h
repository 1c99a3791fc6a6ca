// Feeding a training loop: datasets, samplers, the loader.
//
//   auto mnist = data::mnist("data/mnist");
//   data::DataLoader loader(mnist.train.map(data::toTensor()).map(data::normalize(.1307, .3081)),
//                           {.batchSize = 64, .shuffle = true, .workers = 2, .seed = 1});
//   for (data::Batch &batch : loader)              // one epoch; the next `for` runs the next one
//     train(batch[0], batch[1]);
//
// The order of samples and every random number of a transform depend on (seed, epoch, index) alone: the same batches for any
// number of workers. A loader's state counts the batches handed out, not those prefetched, so a run that is killed and
// resumed in mid-epoch continues with the very next batch.
#pragma once

#include "frontend/graphc/error.h"
#include "runtime/base/HostTensor.h"

#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace graphc::data {

/// What a dataset holds at one index: its fields in order, usually data and target. Values lie in host memory.
struct Sample {
  std::vector<HostTensor> fields;
};

/// Random numbers of one sample in one epoch (Philox).
class RandomStream {
public:
  RandomStream(uint64_t seed, uint64_t epoch, uint64_t index) : seed_(seed), epoch_(epoch), index_(index) {}
  uint32_t bits();
  /// In [0, 1).
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// In [0, bound), every value equally likely.
  uint64_t below(uint64_t bound);
  /// Mean 0, variance 1.
  double normal();

private:
  uint64_t seed_, epoch_, index_, block_ = 0;
  uint32_t words_[4] = {};
  int left_ = 0;
};

/// A dataset to write: any sample by its index. `get` runs on several threads at once.
class MapSource {
public:
  virtual ~MapSource() = default;
  virtual int64_t size() const = 0;
  virtual Sample get(int64_t index, RandomStream &random) const = 0;
};

/// A dataset that can only be read from its start: a log, a socket, an archive. One thread at a time reads; transforms added
/// with `Dataset::map` run on all workers.
class StreamSource {
public:
  virtual ~StreamSource() = default;
  /// A function that gives the next sample, and nothing at the end.
  virtual std::function<std::optional<Sample>()> open(uint64_t epoch) const = 0;
};

using Transform = std::function<HostTensor(HostTensor, RandomStream &)>;
using SampleTransform = std::function<Sample(Sample, RandomStream &)>;

/// A handle on a source and the transforms on top of it; copies share the source.
class Dataset {
public:
  Dataset(std::shared_ptr<const MapSource> source);
  Dataset(std::shared_ptr<const StreamSource> source);
  template <typename Source>
    requires std::derived_from<Source, MapSource>
  Dataset(std::shared_ptr<Source> source) : Dataset(std::shared_ptr<const MapSource>(std::move(source))) {}
  template <typename Source>
    requires std::derived_from<Source, StreamSource>
  Dataset(std::shared_ptr<Source> source) : Dataset(std::shared_ptr<const StreamSource>(std::move(source))) {}

  bool isStream() const { return stream_ != nullptr; }
  /// Of a map dataset only.
  int64_t size() const;
  /// Transforms included; of a map dataset only.
  Sample get(int64_t index, RandomStream &random) const;
  Sample get(int64_t index, uint64_t seed = 0, uint64_t epoch = 0) const;

  /// A transform of one field, the first unless said otherwise.
  Dataset map(Transform transform, size_t field = 0) const;
  Dataset mapSample(SampleTransform transform) const;
  /// The samples at these indices, or in [begin, end). Random numbers follow the position in the subset.
  Dataset subset(std::vector<int64_t> indices) const;
  Dataset subset(int64_t begin, int64_t end) const;

  const StreamSource &stream() const { return *stream_; }
  Sample transform(Sample sample, RandomStream &random) const;

private:
  std::shared_ptr<const MapSource> map_;
  std::shared_ptr<const StreamSource> stream_;
  std::vector<SampleTransform> transforms_;
};

/// One after the other.
Dataset concat(std::vector<Dataset> parts);
/// Field k of sample i is `fields[k][i]`.
Dataset fromTensors(std::vector<HostTensor> fields);
/// The same from NumPy's files.
Dataset fromNpy(const std::vector<std::string> &paths);

// ---- which samples, in which order ----

class Sampler {
public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;
  virtual std::vector<int64_t> indices(uint64_t epoch) const = 0;
};
class BatchSampler {
public:
  virtual ~BatchSampler() = default;
  virtual int64_t size() const = 0;
  virtual std::vector<std::vector<int64_t>> batches(uint64_t epoch) const = 0;
};

std::shared_ptr<Sampler> sequentialSampler(int64_t count);
struct RandomSamplerOptions {
  uint64_t seed = 0;
  bool replacement = false;
  std::optional<int64_t> samples; // default: as many as there are
};
std::shared_ptr<Sampler> randomSampler(int64_t count, const RandomSamplerOptions &options = {});
std::shared_ptr<Sampler> subsetRandomSampler(std::vector<int64_t> indices, uint64_t seed = 0);
struct WeightedSamplerOptions {
  uint64_t seed = 0;
  bool replacement = true;
};
std::shared_ptr<Sampler> weightedRandomSampler(std::vector<double> weights, int64_t samples, const WeightedSamplerOptions &options = {});
struct DistributedSamplerOptions {
  int64_t replicas = 1, rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;      // the same on every rank
  bool dropLast = false;  // else the first samples fill up the last round
};
std::shared_ptr<Sampler> distributedSampler(int64_t count, const DistributedSamplerOptions &options);
std::shared_ptr<BatchSampler> batchSampler(std::shared_ptr<Sampler> sampler, int64_t batchSize, bool dropLast = false);

// ---- the loader ----

struct Batch {
  std::vector<HostTensor> fields;
  std::vector<int64_t> indices; // of the dataset; of a stream: positions
  const HostTensor &operator[](size_t field) const { return fields[field]; }
  HostTensor &operator[](size_t field) { return fields[field]; }
};

using Collate = std::function<std::vector<HostTensor>(std::vector<Sample>)>;
/// Stacks each field along a new first dimension.
std::vector<HostTensor> stackSamples(std::vector<Sample> samples);

struct LoaderOptions {
  int64_t batchSize = 1;
  bool shuffle = false;
  int workers = 0;                       // threads; 0: the caller's own thread loads
  std::optional<int> prefetch;           // batches per worker that may wait, 2 by default; needs workers
  bool persistent = false;               // keep the threads between epochs; needs workers
  bool pinned = false;                   // page-locked batches, for copies that overlap compute
  bool dropLast = false;                 // leave out a smaller last batch
  int64_t timeoutMs = 0;                 // how long to wait for a batch; 0: for ever
  uint64_t seed = 0;                     // of the order and of the transforms
  std::shared_ptr<Sampler> sampler;      // instead of shuffle
  std::shared_ptr<BatchSampler> batches; // instead of batchSize, shuffle, sampler and dropLast
  Collate collate;
  std::function<void(int worker)> workerInit;
  std::function<void(const std::string &line)> log; // warnings; default: standard error
};

/// Where a loader stands. `samples` and `batchSize` are checked when it is restored.
struct LoaderState {
  uint64_t seed = 0, epoch = 0;
  int64_t consumed = 0; // batches of this epoch that were handed out
  int64_t samples = 0, batchSize = 0;
  bool operator==(const LoaderState &) const = default;
};

class DataLoader {
  struct Engine;

public:
  DataLoader(Dataset dataset, LoaderOptions options = {});
  DataLoader(DataLoader &&) noexcept;
  DataLoader &operator=(DataLoader &&) noexcept;
  /// Joins the workers; a batch in flight is dropped.
  ~DataLoader();

  /// Batches of an epoch; an error for a stream, whose length nobody knows.
  int64_t size() const;
  /// The epoch that runs, or the one that the next begin() starts.
  uint64_t epoch() const;
  void setEpoch(uint64_t epoch);

  class Iterator {
  public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch &operator*() const;
    Batch *operator->() const { return &**this; }
    Iterator &operator++();
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const;

  private:
    friend class DataLoader;
    explicit Iterator(Engine *engine) : engine_(engine) {}
    Engine *engine_;
  };
  /// Starts an epoch, or goes on where a restored state stood. What an earlier loop left unread is dropped.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// The same without a loop: start() and then next() until it gives nothing. An error belongs to its batch alone: after it,
  /// next() goes on with the batch that follows.
  void start();
  std::optional<Batch> next();

  LoaderState state() const;
  /// Refuses a state of other data or another batch size; restore() does the same.
  void check(const LoaderState &state) const;
  void restore(const LoaderState &state);

private:
  std::unique_ptr<Engine> engine_;
};

} // namespace graphc::data
