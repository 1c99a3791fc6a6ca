#include "frontend/graphc/runtime.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/exec/Executable.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace graphc {

namespace {

void check(const Status &status) {
  if (!status.ok())
    throw Error(status);
}

template <typename T>
T take(Result<T> result) {
  if (!result.ok())
    throw Error(result.status());
  return *std::move(result);
}

/// The one thread that asynchronous calls run on; started by the first of them. It counts as a caller of the pool.
class AsyncThread {
public:
  ~AsyncThread() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ready_.notify_all();
    if (thread_.joinable())
      thread_.join();
  }

  void post(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable())
      thread_ = std::thread([this] { loop(); });
    jobs_.push_back(std::move(job));
    ready_.notify_one();
  }

private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty())
        return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> jobs_;
  std::thread thread_;
  bool stopping_ = false;
};

RunOptions runOptions(const CallOptions &options) {
  RunOptions result;
  result.cancelled = options.cancel ? &options.cancel->flag() : nullptr;
  result.flushDenormals = options.flushDenormals;
  return result;
}

} // namespace

struct Runtime::State {
  RuntimeOptions options;
  std::shared_ptr<ThreadPool> pool;
  AsyncThread async;
};

struct Model::State {
  std::shared_ptr<const Executable> executable;
  std::vector<ModelTensor> inputs, outputs;
  std::vector<ModelSymbol> symbols;
  std::shared_ptr<Runtime::State> runtime;
};

struct BoundCall::State {
  std::shared_ptr<const Model::State> model;
  std::shared_ptr<Context> context;
  std::vector<HostTensor> inputs, outputs;
};

// ---- Runtime ----

Runtime::Runtime(RuntimeOptions options) : state_(std::make_shared<State>()) {
  // AMX permission must be asked for before threads exist.
  (void)cpu::hostLevel();
  state_->options = std::move(options);
  if (state_->options.pool) {
    state_->pool = state_->options.pool;
    return;
  }
  SpinPoolOptions pool;
  pool.threads = state_->options.threads;
  pool.affinity = state_->options.affinity;
  int threads = pool.threads > 0 ? pool.threads : availableCores();
  if (threads == 1)
    return;
  auto spin = std::make_shared<SpinPool>(pool);
  if (!spin->affinityProblem().empty() && state_->options.log)
    state_->options.log(spin->affinityProblem());
  state_->pool = std::move(spin);
}

Runtime::~Runtime() = default;

int Runtime::threads() const { return state_->pool ? state_->pool->concurrency() : 1; }

const std::shared_ptr<ThreadPool> &Runtime::pool() const { return state_->pool; }

static ArtifactOptions artifactOptions(const RuntimeOptions &options, std::shared_ptr<ThreadPool> pool) {
  ArtifactOptions result;
  result.pool = std::move(pool);
  if (options.log)
    result.log = [log = options.log](LogLevel, const std::string &line) { log(line); };
  return result;
}

Model Runtime::load(const std::string &path) { return adopt(take(loadArtifact(path, artifactOptions(state_->options, state_->pool)))); }

Model Runtime::load(std::span<const std::byte> file, bool copy) {
  std::shared_ptr<const void> owner;
  if (copy) {
    auto bytes = allocateAligned(file.size());
    if (!bytes)
      throw Error(error(Code::OutOfMemory, "copying the artifact needs ", file.size(), " bytes, which the system does not have"));
    std::copy(file.begin(), file.end(), bytes.get());
    file = {bytes.get(), file.size()};
    owner = std::shared_ptr<std::byte>(bytes.release(), AlignedDelete());
  }
  return adopt(take(loadArtifact(file, std::move(owner), artifactOptions(state_->options, state_->pool))));
}

Model Runtime::adopt(std::shared_ptr<const Executable> executable) {
  auto model = std::make_shared<Model::State>();
  auto describe = [](const std::vector<TensorInfo> &from, std::vector<ModelTensor> &to) {
    for (const TensorInfo &info : from)
      to.push_back({info.name, info.dtype, info.dims, info.str()});
  };
  describe(executable->signature().inputs, model->inputs);
  describe(executable->signature().outputs, model->outputs);
  for (const SymbolInfo &symbol : executable->signature().symbols)
    model->symbols.push_back({symbol.name, symbol.lo, symbol.hi, symbol.multiple});
  model->executable = std::move(executable);
  model->runtime = state_;
  return Model(std::move(model));
}

// ---- Model ----

const std::vector<ModelTensor> &Model::inputs() const { return state_->inputs; }
const std::vector<ModelTensor> &Model::outputs() const { return state_->outputs; }
const std::vector<ModelSymbol> &Model::symbols() const { return state_->symbols; }
int Model::inputIndex(std::string_view name) const { return take(state_->executable->inputIndex(name)); }
int Model::outputIndex(std::string_view name) const { return take(state_->executable->outputIndex(name)); }

void Model::run(std::span<const HostTensor> inputs, std::vector<HostTensor> &outputs, const CallOptions &options) const {
  if (outputs.empty())
    outputs.resize(state_->outputs.size());
  check(state_->executable->run(inputs, outputs, runOptions(options)));
}

void Model::runAsync(std::vector<HostTensor> inputs, Done done, CallOptions options) const {
  struct Job {
    std::vector<HostTensor> inputs;
    Done done;
  };
  auto job = std::make_shared<Job>(Job{std::move(inputs), std::move(done)});
  // The executable is held, not the model: the last reference to the runtime must not go away on its own thread.
  state_->runtime->async.post([job, options, executable = state_->executable, count = state_->outputs.size()] {
    std::vector<HostTensor> outputs(count);
    std::exception_ptr failure;
    try {
      check(executable->run(job->inputs, outputs, runOptions(options)));
    } catch (...) {
      failure = std::current_exception();
      outputs.clear();
    }
    job->done(std::move(outputs), failure);
  });
}

std::future<std::vector<HostTensor>> Model::runAsync(std::vector<HostTensor> inputs, CallOptions options) const {
  auto promise = std::make_shared<std::promise<std::vector<HostTensor>>>();
  auto future = promise->get_future();
  runAsync(
      std::move(inputs),
      [promise](std::vector<HostTensor> outputs, std::exception_ptr failure) {
        if (failure)
          promise->set_exception(failure);
        else
          promise->set_value(std::move(outputs));
      },
      options);
  return future;
}

BoundCall Model::bind(std::vector<HostTensor> inputs, std::vector<HostTensor> outputs) const {
  auto state = std::make_unique<BoundCall::State>();
  state->model = state_;
  state->context = take(state_->executable->newContext());
  state->inputs = std::move(inputs);
  state->outputs = std::move(outputs);
  if (state->outputs.empty())
    state->outputs.resize(state_->outputs.size());
  check(state_->executable->bind(*state->context, state->inputs, state->outputs));
  return BoundCall(std::move(state));
}

int64_t Model::predictBytes(std::span<const Shape> inputShapes) const {
  return take(state_->executable->predict(inputShapes)).callTotal();
}

ModelStatistics Model::statistics() const {
  ExecutableStatistics s = state_->executable->statistics();
  return {s.weightBytes, s.preparedBytes, s.packedBytes, s.contexts, s.contextBytes, s.contextBytesPeak};
}

// ---- BoundCall ----

BoundCall::BoundCall(std::unique_ptr<State> state) : state_(std::move(state)) {}
BoundCall::BoundCall(BoundCall &&) noexcept = default;
BoundCall &BoundCall::operator=(BoundCall &&) noexcept = default;
BoundCall::~BoundCall() = default;

void BoundCall::run(const CallOptions &options) {
  check(state_->model->executable->runBound(*state_->context, runOptions(options)));
}

std::span<const HostTensor> BoundCall::outputs() const { return state_->outputs; }

} // namespace graphc
