// The loader: the same batches whoever loads them, exact resuming, errors where they belong, and threads that go away.
#include "frontend/graphc/data.h"
#include "frontend/tensor/Raise.h"
#include "test/unit/data/Expect.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace graphc;
using namespace graphc::data;
using testing::ElementsAre;

namespace {

/// Sample i is (i, a random number); index 7 fails when told so, and every sample may take a while.
class Counting : public MapSource {
public:
  explicit Counting(int64_t count) : count_(count) {}
  int64_t size() const override { return count_; }
  Sample get(int64_t index, RandomStream &random) const override {
    ++calls;
    if (sleepMs)
      std::this_thread::sleep_for(std::chrono::milliseconds(sleepMs));
    if (index == failAt)
      throw std::runtime_error("the disk is on fire");
    Sample sample;
    sample.fields.push_back(HostTensor::of<int64_t>({}, {index}));
    sample.fields.push_back(HostTensor::of<double>({1}, {random.uniform()}));
    return sample;
  }
  int64_t failAt = -1;
  int sleepMs = 0;
  mutable std::atomic<int> calls = 0;

private:
  int64_t count_;
};

class Stream : public StreamSource {
public:
  explicit Stream(int64_t count) : count_(count) {}
  std::function<std::optional<Sample>()> open(uint64_t) const override {
    return [at = int64_t{0}, count = count_, failAt = failAt]() mutable -> std::optional<Sample> {
      if (at == count)
        return std::nullopt;
      if (at == failAt) {
        ++at;
        raise(Code::FileSystem, "unreadable record");
      }
      Sample sample;
      sample.fields.push_back(HostTensor::of<int64_t>({}, {at++}));
      return sample;
    };
  }
  int64_t failAt = -1;

private:
  int64_t count_;
};

struct Seen {
  std::vector<int64_t> indices;
  std::vector<double> randoms;
  bool operator==(const Seen &) const = default;
};
void look(Seen &seen, const Batch &batch) {
  for (int64_t value : batch[0].values<int64_t>())
    seen.indices.push_back(value);
  EXPECT_EQ(batch.indices.size(), static_cast<size_t>(batch[0].shape()[0]));
  if (batch.fields.size() > 1)
    for (double value : batch[1].values<double>())
      seen.randoms.push_back(value);
}
Seen oneEpoch(DataLoader &loader) {
  Seen seen;
  for (Batch &batch : loader)
    look(seen, batch);
  return seen;
}

TEST(Loader, BatchesStackFieldsAndTheLastMayBeSmaller) {
  DataLoader loader(std::make_shared<Counting>(5), {.batchSize = 2});
  EXPECT_EQ(loader.size(), 3);
  std::vector<Shape> shapes;
  for (Batch &batch : loader)
    shapes.push_back(batch[1].shape());
  EXPECT_THAT(shapes, ElementsAre(Shape{2, 1}, Shape{2, 1}, Shape{1, 1}));
  DataLoader full(std::make_shared<Counting>(5), {.batchSize = 2, .dropLast = true});
  EXPECT_EQ(full.size(), 2);
  EXPECT_THAT(oneEpoch(full).indices, ElementsAre(0, 1, 2, 3));
}

TEST(Loader, AnyNumberOfWorkersGivesTheSameEpochs) {
  std::vector<Seen> reference;
  for (int workers : {0, 1, 2, 4})
    for (bool persistent : {false, true}) {
      if (persistent && workers == 0)
        continue;
      DataLoader loader(std::make_shared<Counting>(101), {.batchSize = 7, .shuffle = true, .workers = workers, .persistent = persistent, .seed = 9});
      std::vector<Seen> epochs = {oneEpoch(loader), oneEpoch(loader)};
      EXPECT_NE(epochs[0], epochs[1]);
      EXPECT_EQ(loader.epoch(), 2u);
      if (reference.empty())
        reference = epochs;
      EXPECT_EQ(epochs, reference) << workers << " workers, persistent " << persistent;
    }
}

TEST(Loader, ResumesWithTheNextBatchAfterThoseHandedOut) {
  auto make = [](int workers) {
    return DataLoader(std::make_shared<Counting>(50), {.batchSize = 4, .shuffle = true, .workers = workers, .seed = 3});
  };
  DataLoader whole = make(0);
  oneEpoch(whole);
  Seen expected = oneEpoch(whole), after = oneEpoch(whole);
  for (int workers : {0, 3})
    for (int64_t stopAt : {0, 1, 5, 12, 13}) {
      DataLoader before = make(workers);
      oneEpoch(before);
      Seen seen;
      before.start();
      for (int64_t k = 0; k < stopAt; ++k)
        look(seen, *before.next()); // prefetching has gone further by now
      LoaderState state = before.state();
      EXPECT_EQ(state.epoch, 1u);
      EXPECT_EQ(state.consumed, stopAt);
      DataLoader again = make(workers ? 1 : 2);
      again.restore(state);
      for (Batch &batch : again)
        look(seen, batch);
      EXPECT_EQ(seen, expected) << "stopped after " << stopAt << " batches with " << workers << " workers";
      EXPECT_EQ(oneEpoch(again), after);
    }
}

TEST(Loader, BreakingOffEndsTheEpoch) {
  DataLoader loader(std::make_shared<Counting>(20), {.batchSize = 4, .shuffle = true, .workers = 2, .seed = 3});
  for (Batch &batch : loader) {
    (void)batch;
    break;
  }
  Seen second = oneEpoch(loader);
  DataLoader fresh(std::make_shared<Counting>(20), {.batchSize = 4, .shuffle = true, .seed = 3});
  fresh.setEpoch(1);
  EXPECT_EQ(oneEpoch(fresh), second);
}

TEST(Loader, RefusesTheStateOfAnother) {
  DataLoader loader(std::make_shared<Counting>(20), {.batchSize = 4});
  LoaderState state = loader.state();
  state.samples = 21;
  EXPECT_ERROR(loader.restore(state), Code::WeightFile, "data loader: the state was saved with a number of samples of 21, this loader has 20");
  state = loader.state();
  state.batchSize = 5;
  EXPECT_ERROR(loader.restore(state), Code::WeightFile, "data loader: the state was saved with a batch size of 5, this loader has 4");
}

TEST(Loader, AnErrorArrivesAtItsBatchAndTheRestFollows) {
  for (int workers : {0, 2}) {
    auto source = std::make_shared<Counting>(12);
    source->failAt = 7;
    DataLoader loader(source, {.batchSize = 3, .workers = workers});
    loader.start();
    EXPECT_EQ((*loader.next())[0].values<int64_t>()[0], 0);
    EXPECT_EQ((*loader.next())[0].values<int64_t>()[0], 3);
    EXPECT_ERROR(loader.next(), Code::RoutineFailed, "data loader: sample 7 (batch 2): the disk is on fire");
    EXPECT_EQ((*loader.next())[0].values<int64_t>()[0], 9);
    EXPECT_FALSE(loader.next());
    EXPECT_EQ(loader.epoch(), 1u);
  }
}

TEST(Loader, ACollateThatFailsNamesItsSamples) {
  Dataset ragged = Dataset(std::make_shared<Counting>(4)).mapSample([](Sample sample, RandomStream &) {
    if (sample.fields[0].values<int64_t>()[0] == 3)
      sample.fields[1] = HostTensor::of<double>({2}, {1, 2});
    return sample;
  });
  DataLoader loader(ragged, {.batchSize = 2, .workers = 1});
  loader.start();
  loader.next();
  EXPECT_ERROR(loader.next(), Code::ShapeMismatch,
               "data loader: batch 1 (samples 2, 3): field 1 of sample 1 of the batch is f64[2], of the first f64[1]; give a collate function or make them equal");
}

TEST(Loader, AWorkerThatCannotStartIsNamed) {
  DataLoader loader(std::make_shared<Counting>(4), {.workers = 2, .workerInit = [](int worker) { throw std::runtime_error(text("no luck for ", worker)); }});
  loader.start();
  EXPECT_ERROR(loader.next(), Code::RoutineFailed, testing::StartsWith("data loader: workerInit of worker "));
}

TEST(Loader, WaitsNoLongerThanTheTimeout) {
  auto source = std::make_shared<Counting>(2);
  source->sleepMs = 300;
  DataLoader loader(source, {.batchSize = 2, .workers = 1, .timeoutMs = 20});
  loader.start();
  EXPECT_ERROR(loader.next(), Code::Cancelled, "data loader: batch 0 did not arrive within 20 ms");
  // The batch is not lost.
  std::optional<Batch> batch;
  while (!batch) {
    try {
      batch = loader.next();
    } catch (const Error &) {
    }
  }
  EXPECT_EQ(batch->indices, (std::vector<int64_t>{0, 1}));
}

TEST(Loader, EarlyDestructionJoinsWithinASample) {
  auto source = std::make_shared<Counting>(100000);
  source->sleepMs = 2;
  auto started = std::chrono::steady_clock::now();
  for (bool persistent : {false, true}) {
    DataLoader loader(source, {.batchSize = 1000, .workers = 3, .prefetch = 4, .persistent = persistent});
    loader.start(); // the first batch would take two seconds
  }
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(1));
  EXPECT_EQ(source.use_count(), 1) << "nothing of the loader is left";
}

TEST(Loader, PrefetchesNoMoreThanAsked) {
  auto source = std::make_shared<Counting>(1000);
  DataLoader loader(source, {.batchSize = 10, .workers = 2, .prefetch = 3});
  loader.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(source->calls, 2 * 3 * 10);
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(source->calls, 2 * 3 * 10 + 10);
}

TEST(Loader, WorkersOverlapSlowSamples) {
  auto source = std::make_shared<Counting>(40);
  source->sleepMs = 5;
  auto started = std::chrono::steady_clock::now();
  DataLoader loader(source, {.batchSize = 1, .workers = 4});
  oneEpoch(loader);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(180)) << "one after the other takes 200 ms";
}

TEST(Loader, StreamsAreReadInOrderByAnyNumberOfWorkers) {
  auto tenfold = [](HostTensor tensor, RandomStream &random) {
    return HostTensor::of<int64_t>({}, {tensor.values<int64_t>()[0] * 10 + static_cast<int64_t>(random.below(10))});
  };
  Seen reference;
  for (int workers : {0, 1, 3}) {
    DataLoader loader(Dataset(std::make_shared<Stream>(11)).map(tenfold), {.batchSize = 4, .workers = workers, .seed = 1});
    Seen seen = oneEpoch(loader);
    EXPECT_EQ(seen.indices.size(), 11u);
    EXPECT_EQ(seen.indices[10] / 10, 10);
    if (workers == 0)
      reference = seen;
    EXPECT_EQ(seen, reference);
    // In the middle of the second epoch.
    loader.start();
    Seen resumed;
    look(resumed, *loader.next());
    DataLoader again(Dataset(std::make_shared<Stream>(11)).map(tenfold), {.batchSize = 4, .workers = workers, .seed = 1});
    again.restore(loader.state());
    for (Batch &batch : again)
      look(resumed, batch);
    EXPECT_EQ(resumed, oneEpoch([&]() -> DataLoader & {
                static thread_local std::optional<DataLoader> fresh;
                fresh.emplace(Dataset(std::make_shared<Stream>(11)).map(tenfold), LoaderOptions{.batchSize = 4, .seed = 1});
                fresh->setEpoch(1);
                return *fresh;
              }()));
  }
  DataLoader dropping(std::make_shared<Stream>(11), {.batchSize = 4, .workers = 2, .dropLast = true});
  EXPECT_EQ(oneEpoch(dropping).indices.size(), 8u);
  EXPECT_ERROR(dropping.size(), Code::InvalidOption, "dataset: a stream does not know how many samples it has");
}

TEST(Loader, AStreamThatFailsNamesThePosition) {
  auto source = std::make_shared<Stream>(6);
  source->failAt = 3;
  DataLoader loader(source, {.batchSize = 2, .workers = 2});
  loader.start();
  loader.next();
  EXPECT_ERROR(loader.next(), Code::FileSystem, "data loader: sample 3 (batch 1): unreadable record");
  EXPECT_EQ(loader.next()->indices, (std::vector<int64_t>{4, 5}));
}

TEST(Loader, OptionsThatContradictEachOther) {
  auto make = [](LoaderOptions options) { DataLoader loader(std::make_shared<Counting>(4), std::move(options)); };
  EXPECT_ERROR(make({.batchSize = 0}), Code::InvalidOption, "data loader: batchSize is 0, at least 1 is needed");
  EXPECT_ERROR(make({.workers = -1}), Code::InvalidOption, "data loader: workers is -1, at least 0 is needed");
  EXPECT_ERROR(make({.prefetch = 2}), Code::InvalidOption, "data loader: prefetch needs workers > 0");
  EXPECT_ERROR(make({.workers = 1, .prefetch = 0}), Code::InvalidOption, "data loader: prefetch is 0, at least 1 is needed");
  EXPECT_ERROR(make({.persistent = true}), Code::InvalidOption, "data loader: persistent needs workers > 0");
  EXPECT_ERROR(make({.timeoutMs = 5}), Code::InvalidOption, testing::HasSubstr("timeoutMs needs workers > 0"));
  EXPECT_ERROR(make({.shuffle = true, .sampler = sequentialSampler(4)}), Code::InvalidOption, "data loader: sampler and shuffle exclude each other");
  EXPECT_ERROR(make({.batchSize = 2, .batches = batchSampler(sequentialSampler(4), 2)}), Code::InvalidOption,
               "data loader: batches excludes batchSize, shuffle, sampler and dropLast");
  EXPECT_ERROR(DataLoader(std::make_shared<Stream>(3), {.shuffle = true}), Code::InvalidOption, testing::HasSubstr("a stream has one order"));
  std::vector<std::string> lines;
  DataLoader pinned(std::make_shared<Counting>(4), {.pinned = true, .log = [&](const std::string &line) { lines.push_back(line); }});
  EXPECT_THAT(lines, ElementsAre("data loader: pinned = true needs a CUDA device; batches stay in ordinary memory"));
}

TEST(Loader, SamplersAndBatchesOfTheUsers) {
  DataLoader ordered(std::make_shared<Counting>(6), {.batchSize = 2, .sampler = subsetRandomSampler({4, 5, 0})});
  EXPECT_THAT(oneEpoch(ordered).indices, testing::UnorderedElementsAre(0, 4, 5));
  EXPECT_EQ(ordered.size(), 2);
  DataLoader grouped(std::make_shared<Counting>(6), {.batches = batchSampler(sequentialSampler(6), 3)});
  EXPECT_EQ(grouped.size(), 2);
  EXPECT_EQ(oneEpoch(grouped).indices.size(), 6u);
}

} // namespace
