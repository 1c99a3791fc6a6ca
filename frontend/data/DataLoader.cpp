// The loader: worker threads take the numbers of batches in order, load them on their own, and leave them where the consumer
// picks them up in order. Nothing that a batch holds depends on which worker made it.
#include "frontend/graphc/data.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

namespace graphc::data {
namespace {

/// What a batch became: itself or the error to throw when its turn comes.
struct Outcome {
  Batch batch;
  std::exception_ptr failure;
};

[[noreturn]] void rethrowAt(const std::string &where) {
  try {
    throw;
  } catch (const Error &problem) {
    raise(problem.code(), "data loader: ", where, ": ", problem.message());
  } catch (const std::exception &problem) {
    raise(Code::RoutineFailed, "data loader: ", where, ": ", problem.what());
  } catch (...) {
    raise(Code::RoutineFailed, "data loader: ", where, ": an exception that is not a std::exception");
  }
}

/// One pass over the data. Workers of a dropped epoch keep it alive until they notice.
struct Epoch {
  Epoch(const Dataset &dataset, const LoaderOptions &options, uint64_t seed, uint64_t number, int64_t first)
      : dataset(dataset), options(options), seed(seed), number(number), nextClaim(first), nextDelivery(first) {
    if (dataset.isStream()) {
      read = dataset.stream().open(number);
      // What was consumed before is read again, but not transformed.
      for (int64_t k = 0; k < first * options.batchSize && read(); ++k)
        ++position;
      return;
    }
    std::shared_ptr<BatchSampler> sampler = options.batches;
    if (!sampler) {
      std::shared_ptr<Sampler> order = options.sampler;
      if (!order)
        order = options.shuffle ? randomSampler(dataset.size(), {.seed = seed}) : sequentialSampler(dataset.size());
      sampler = batchSampler(order, options.batchSize, options.dropLast);
    }
    batches = sampler->batches(number);
    end = static_cast<int64_t>(batches.size());
  }

  /// The raw material of the next batch: its number, its indices and, of a stream, its samples.
  struct Claim {
    int64_t number;
    std::vector<int64_t> indices;
    std::vector<Sample> raw;
    std::exception_ptr failure;
  };
  /// Nothing at the end. Called under `claiming`, so that a stream is read in order.
  std::optional<Claim> claim() {
    if (end && nextClaim >= *end)
      return std::nullopt;
    Claim result{nextClaim, {}, {}, nullptr};
    if (!dataset.isStream()) {
      result.indices = batches[static_cast<size_t>(nextClaim)];
    } else {
      try {
        while (static_cast<int64_t>(result.raw.size()) < options.batchSize) {
          auto sample = read();
          if (!sample) {
            bool keep = !result.raw.empty() && !options.dropLast;
            std::lock_guard lock(mutex);
            end = nextClaim + keep;
            if (!keep)
              return std::nullopt;
            break;
          }
          result.raw.push_back(*std::move(sample));
          result.indices.push_back(position++);
        }
      } catch (...) {
        try {
          rethrowAt(text("sample ", position++, " (batch ", nextClaim, ")"));
        } catch (...) {
          result.failure = std::current_exception();
        }
      }
    }
    std::lock_guard lock(mutex);
    ++nextClaim;
    return result;
  }

  Outcome load(Claim claim) const {
    if (claim.failure)
      return {{}, claim.failure};
    try {
      std::vector<Sample> samples;
      for (size_t k = 0; k < claim.indices.size(); ++k) {
        if (cancelled)
          return {};
        try {
          int64_t index = claim.indices[k];
          RandomStream random(seed, number, static_cast<uint64_t>(index));
          samples.push_back(dataset.isStream() ? dataset.transform(std::move(claim.raw[k]), random) : dataset.get(index, random));
        } catch (...) {
          rethrowAt(text("sample ", claim.indices[k], " (batch ", claim.number, ")"));
        }
      }
      try {
        return {{options.collate(std::move(samples)), std::move(claim.indices)}, nullptr};
      } catch (...) {
        rethrowAt(text("batch ", claim.number, " (samples ", joined(claim.indices), ")"));
      }
    } catch (...) {
      return {{}, std::current_exception()};
    }
  }

  const Dataset &dataset;
  const LoaderOptions &options;
  const uint64_t seed, number;
  std::vector<std::vector<int64_t>> batches;
  std::function<std::optional<Sample>()> read;
  int64_t position = 0;

  std::mutex claiming;
  std::mutex mutex; // guards what follows
  std::optional<int64_t> end;
  int64_t nextClaim, nextDelivery;
  std::map<int64_t, Outcome> ready;
  std::exception_ptr workerFailure;
  std::atomic<bool> cancelled = false;
};

} // namespace

struct DataLoader::Engine {
  Engine(Dataset dataset, LoaderOptions given) : dataset(std::move(dataset)), options(std::move(given)) {
    check();
    if (!options.collate)
      options.collate = stackSamples;
    if (!options.log)
      options.log = [](const std::string &line) { std::cerr << line << '\n'; };
    seed = options.seed;
    if (options.pinned)
      options.log("data loader: pinned = true needs a CUDA device; batches stay in ordinary memory");
  }
  ~Engine() { stop(); }

  void check() const {
    auto bad = [](auto &&...parts) { raise(Code::InvalidOption, "data loader: ", parts...); };
    if (options.batchSize < 1)
      bad("batchSize is ", options.batchSize, ", at least 1 is needed");
    if (options.workers < 0)
      bad("workers is ", options.workers, ", at least 0 is needed");
    if (options.timeoutMs < 0)
      bad("timeoutMs is ", options.timeoutMs, ", at least 0 is needed");
    if (options.prefetch && options.workers == 0)
      bad("prefetch needs workers > 0");
    if (options.prefetch && *options.prefetch < 1)
      bad("prefetch is ", *options.prefetch, ", at least 1 is needed");
    if (options.persistent && options.workers == 0)
      bad("persistent needs workers > 0");
    if (options.timeoutMs > 0 && options.workers == 0)
      bad("timeoutMs needs workers > 0: without them nobody loads while the caller waits");
    if (options.sampler && options.shuffle)
      bad("sampler and shuffle exclude each other");
    if (options.batches && (options.batchSize != 1 || options.shuffle || options.sampler || options.dropLast))
      bad("batches excludes batchSize, shuffle, sampler and dropLast");
    if (dataset.isStream() && (options.shuffle || options.sampler || options.batches))
      bad("a stream has one order; shuffle, sampler and batches need a dataset with indices");
  }

  int64_t samples() const { return dataset.isStream() ? 0 : dataset.size(); }

  // ---- the consumer's side ----

  void start() {
    drop();
    if (running && !resuming)
      ++epochNumber; // an earlier loop broke off: its epoch is over
    if (!resuming)
      consumed = 0;
    resuming = false;
    running = true;
    auto epoch = std::make_shared<Epoch>(dataset, options, seed, epochNumber, consumed);
    {
      std::lock_guard lock(mutex);
      current = epoch;
    }
    wake.notify_all();
    while (static_cast<int>(threads.size()) < options.workers)
      threads.emplace_back([this, worker = static_cast<int>(threads.size())] { work(worker); });
  }

  std::optional<Batch> next() {
    if (!current)
      raise(Code::InvalidOption, "data loader: next() without start()");
    std::shared_ptr<Epoch> epoch = current;
    Outcome outcome;
    if (options.workers == 0) {
      auto claim = epoch->claim();
      if (!claim) {
        finish();
        return std::nullopt;
      }
      outcome = epoch->load(*std::move(claim));
    } else {
      std::unique_lock lock(epoch->mutex);
      auto arrived = [&] {
        return epoch->workerFailure || epoch->ready.contains(epoch->nextDelivery) || (epoch->end && epoch->nextDelivery >= *epoch->end);
      };
      if (options.timeoutMs == 0)
        delivered.wait(lock, arrived);
      else if (!delivered.wait_for(lock, std::chrono::milliseconds(options.timeoutMs), arrived))
        raise(Code::Cancelled, "data loader: batch ", epoch->nextDelivery, " did not arrive within ", options.timeoutMs, " ms");
      if (epoch->workerFailure)
        std::rethrow_exception(epoch->workerFailure);
      auto found = epoch->ready.find(epoch->nextDelivery);
      if (found == epoch->ready.end()) {
        lock.unlock();
        finish();
        return std::nullopt;
      }
      outcome = std::move(found->second);
      epoch->ready.erase(found);
      ++epoch->nextDelivery;
      lock.unlock();
      wakeWorkers();
    }
    ++consumed;
    if (outcome.failure)
      std::rethrow_exception(outcome.failure);
    return std::move(outcome.batch);
  }

  void finish() {
    drop();
    running = false;
    ++epochNumber;
    consumed = 0;
  }

  /// Gives up the epoch that runs; threads stay only when they are persistent.
  void drop() {
    {
      std::lock_guard lock(mutex);
      if (current)
        current->cancelled = true;
      current = nullptr;
    }
    held.reset();
    if (!options.persistent)
      stop();
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      quit = true;
      if (current)
        current->cancelled = true;
    }
    wake.notify_all();
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
    quit = false;
  }

  void wakeWorkers() {
    // Taking the lock orders this wake-up after a worker's decision to sleep.
    { std::lock_guard lock(mutex); }
    wake.notify_all();
  }

  // ---- the workers' side ----

  /// A batch may be loaded now: it exists and is not too far ahead of the consumer.
  bool hasWork() const {
    if (!current)
      return false;
    std::lock_guard lock(current->mutex);
    int64_t ahead = options.prefetch.value_or(2) * options.workers;
    return !(current->end && current->nextClaim >= *current->end) && current->nextClaim < current->nextDelivery + ahead;
  }

  void work(int worker) {
    std::exception_ptr initFailure;
    if (options.workerInit) {
      try {
        try {
          options.workerInit(worker);
        } catch (...) {
          rethrowAt(text("workerInit of worker ", worker));
        }
      } catch (...) {
        initFailure = std::current_exception();
      }
    }
    while (true) {
      std::shared_ptr<Epoch> epoch;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return quit || hasWork(); });
        if (quit)
          return;
        epoch = current;
      }
      if (initFailure) {
        {
          std::lock_guard lock(epoch->mutex);
          epoch->workerFailure = initFailure;
        }
        delivered.notify_all();
        return;
      }
      std::optional<Epoch::Claim> claim;
      {
        std::lock_guard lock(epoch->claiming);
        int64_t ahead = options.prefetch.value_or(2) * options.workers;
        {
          std::lock_guard inner(epoch->mutex);
          if (epoch->nextClaim >= epoch->nextDelivery + ahead)
            continue; // another worker was quicker
        }
        claim = epoch->claim();
      }
      if (claim) {
        int64_t number = claim->number;
        Outcome outcome = epoch->load(*std::move(claim));
        std::lock_guard lock(epoch->mutex);
        epoch->ready.emplace(number, std::move(outcome));
      }
      delivered.notify_all();
    }
  }

  Dataset dataset;
  LoaderOptions options;
  uint64_t seed;
  uint64_t epochNumber = 0;
  int64_t consumed = 0;
  bool running = false, resuming = false;
  std::optional<Batch> held; // what an Iterator points at

  mutable std::mutex mutex; // guards `current` and `quit`; taken before an epoch's
  std::condition_variable wake, delivered;
  std::shared_ptr<Epoch> current;
  bool quit = false;
  std::vector<std::thread> threads;
};

DataLoader::DataLoader(Dataset dataset, LoaderOptions options)
    : engine_(std::make_unique<Engine>(std::move(dataset), std::move(options))) {}
DataLoader::DataLoader(DataLoader &&) noexcept = default;
DataLoader &DataLoader::operator=(DataLoader &&) noexcept = default;
DataLoader::~DataLoader() = default;

int64_t DataLoader::size() const {
  const LoaderOptions &options = engine_->options;
  if (options.batches)
    return options.batches->size();
  int64_t samples = options.sampler ? options.sampler->size() : engine_->dataset.size();
  return options.dropLast ? samples / options.batchSize : (samples + options.batchSize - 1) / options.batchSize;
}

uint64_t DataLoader::epoch() const { return engine_->epochNumber; }
void DataLoader::setEpoch(uint64_t epoch) {
  engine_->drop();
  engine_->running = false;
  engine_->resuming = false;
  engine_->epochNumber = epoch;
  engine_->consumed = 0;
}

void DataLoader::start() { engine_->start(); }
std::optional<Batch> DataLoader::next() { return engine_->next(); }

DataLoader::Iterator DataLoader::begin() {
  engine_->start();
  engine_->held = engine_->next();
  return Iterator(engine_.get());
}
Batch &DataLoader::Iterator::operator*() const { return *engine_->held; }
DataLoader::Iterator &DataLoader::Iterator::operator++() {
  engine_->held.reset(); // its memory may be the next batch's
  engine_->held = engine_->next();
  return *this;
}
bool DataLoader::Iterator::operator==(std::default_sentinel_t) const { return !engine_->held; }

LoaderState DataLoader::state() const {
  return {engine_->seed, engine_->epochNumber, engine_->consumed, engine_->samples(), engine_->options.batchSize};
}

void DataLoader::check(const LoaderState &state) const {
  auto differs = [](const char *what, auto was, auto is) {
    raise(Code::WeightFile, "data loader: the state was saved with ", what, " ", was, ", this loader has ", is);
  };
  if (state.samples != engine_->samples())
    differs("a number of samples of", state.samples, engine_->samples());
  if (state.batchSize != engine_->options.batchSize)
    differs("a batch size of", state.batchSize, engine_->options.batchSize);
}

void DataLoader::restore(const LoaderState &state) {
  check(state);
  setEpoch(state.epoch);
  engine_->seed = state.seed;
  engine_->consumed = state.consumed;
  engine_->resuming = true;
}

} // namespace graphc::data
