// Running compiled models inside another program: the library `graphc_runtime`, a few MB, no compiler.
//
//   graphc::Runtime runtime;                                   // threads, log; share one among all models
//   graphc::Model model = runtime.load("resnet50.gcx");
//   std::vector<graphc::HostTensor> inputs, outputs;
//   inputs.push_back(graphc::HostTensor::borrow(graphc::DType::F32, {1, 3, 224, 224}, pixels));
//   model.run(inputs, outputs);                                // outputs are allocated, or written in place when given
//
// Everything here throws graphc::Error. A Model may be used by any number of threads at once.
#pragma once

#include "frontend/graphc/error.h"
#include "runtime/base/HostTensor.h"
#include "runtime/base/ThreadPool.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphc {

class Executable;

/// Set from any thread; the call stops before its next command and throws Code::Cancelled.
class CancelToken {
public:
  void cancel() { flag_.store(true, std::memory_order_relaxed); }
  void reset() { flag_.store(false, std::memory_order_relaxed); }
  const std::atomic<bool> &flag() const { return flag_; }

private:
  std::atomic<bool> flag_{false};
};

struct RuntimeOptions {
  /// Threads a call may use, its own included; 0: the cores this process may use. One pool serves all models of the
  /// runtime; a call that finds it taken runs on its own thread alone.
  int threads = 0;
  /// Cores for the pool's threads, in order; empty: the system decides.
  std::vector<int> affinity;
  /// A pool of the host program's instead of one of ours.
  std::shared_ptr<ThreadPool> pool;
  /// Remarks and warnings, one line each. Called from any thread.
  std::function<void(const std::string &line)> log;
};

struct CallOptions {
  const CancelToken *cancel = nullptr;
  bool flushDenormals = false; // tiny numbers count as zero while the call runs
};

struct ModelTensor {
  std::string name;
  DType dtype;
  std::vector<std::string> dims; // "3", "n", "2*n + 1"
  std::string text;              // "f32[n, 3, 224, 224]"
};

struct ModelSymbol {
  std::string name;
  int64_t lo, hi, multiple;
};

struct ModelStatistics {
  int64_t weightBytes, preparedBytes, packedBytes;
  int64_t contexts, contextBytes, contextBytesPeak;
};

/// A model with its arguments bound (`reduce-overhead`): run() resolves nothing and allocates nothing. One thread at a time.
class BoundCall {
public:
  struct State; // opaque
  BoundCall(BoundCall &&) noexcept;
  BoundCall &operator=(BoundCall &&) noexcept;
  ~BoundCall();
  void run(const CallOptions &options = {});
  std::span<const HostTensor> outputs() const;

private:
  friend class Model;
  explicit BoundCall(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Model {
public:
  struct State; // opaque
  const std::vector<ModelTensor> &inputs() const;
  const std::vector<ModelTensor> &outputs() const;
  /// Sizes that inputs choose, with the ranges the model was compiled for.
  const std::vector<ModelSymbol> &symbols() const;
  int inputIndex(std::string_view name) const;
  int outputIndex(std::string_view name) const;

  /// `outputs` may be empty (all are allocated) or hold one tensor per output; defined ones are written in place.
  void run(std::span<const HostTensor> inputs, std::vector<HostTensor> &outputs, const CallOptions &options = {}) const;
  /// The same on a thread of the runtime; inputs are moved in, outputs come out of the future.
  std::future<std::vector<HostTensor>> runAsync(std::vector<HostTensor> inputs, CallOptions options = {}) const;
  /// The same with a function to call there when it is done: the outputs, or why there are none.
  using Done = std::function<void(std::vector<HostTensor> outputs, std::exception_ptr failure)>;
  void runAsync(std::vector<HostTensor> inputs, Done done, CallOptions options = {}) const;
  /// For loops over the same buffers: `inputs` and `outputs` are kept (borrowed tensors must stay alive). Runs
  /// nothing yet. An error for models with sizes that only the data decide.
  BoundCall bind(std::vector<HostTensor> inputs, std::vector<HostTensor> outputs = {}) const;

  /// Bytes of temporary memory and allocated outputs a call with these input shapes needs.
  int64_t predictBytes(std::span<const Shape> inputShapes) const;
  ModelStatistics statistics() const;

private:
  friend class Runtime;
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

class Runtime {
public:
  struct State; // opaque
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;

  int threads() const;
  /// The pool that all models share; null when calls run on their caller's thread alone.
  const std::shared_ptr<ThreadPool> &pool() const;
  Model load(const std::string &path);
  /// From memory, which must stay as it is while the model lives (or is copied when `copy`).
  Model load(std::span<const std::byte> file, bool copy = false);
  /// An executable made by the compiler in this process; it keeps the pool it was loaded with.
  Model adopt(std::shared_ptr<const Executable> executable);

private:
  std::shared_ptr<State> state_;
};

} // namespace graphc
