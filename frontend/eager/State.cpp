#include "frontend/eager/State.h"

#include "frontend/eager/DeviceTensors.h"
#include "runtime/artifact/ObjectCode.h"
#include "runtime/devices/Devices.h"
#include "runtime/memory/HostAllocator.h"
#include "runtime/plan/Plan.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace graphc {
namespace eager {

size_t KeyHash::operator()(std::string_view key) const { return XXH3_64bits(key.data(), key.size()); }

namespace {
/// The process's threads, unless the calling thread's context wants none but its own.
class ContextPool final : public ThreadPool {
public:
  int concurrency() const override { return pool_.concurrency(); }
  bool tryEnter() override { return ThreadContext::current().threads != 1 && pool_.tryEnter(); }
  void leave() override { pool_.leave(); }
  void run(int chunks, Work work, void *argument) override { pool_.run(chunks, work, argument); }

private:
  SpinPool pool_;
};
} // namespace

Services::Services()
    : pool_(availableCores() > 1 ? std::make_shared<ContextPool>() : nullptr), compiler_({.cpuLevel = "host"}) {
  seed_ = OpSeed::ofBuild(compiler_);
}

Services &Services::get() {
  // One per process, against our habit of passing state: tensors made anywhere meet in one op, and two compilers and pools would
  // compile everything twice and fight for the cores. Never destroyed: tensors of static objects may still run ops.
  static auto *services = new Services;
  return *services;
}

Recorder *recorder() { return ThreadContext::current().state().recorder; }

TracePause::TracePause() : before_(std::exchange(ThreadContext::current().state().recorder, nullptr)) {}
TracePause::~TracePause() { ThreadContext::current().state().recorder = before_; }

void needElements(const TensorImpl &tensor, const char *what) {
  Recorder *tracing = recorder();
  if (tracing && tracing->isTraced(tensor))
    failWith(codes::TensorAccess, what, ": the elements of ", nameOf(tensor),
             " are not known while the program is compiled; return the tensor and read it outside, choose by it with cond() or where(), repeat with whileLoop()");
  if (!tensor.storage->data)
    failWith(codes::TensorAccess, what, ": ", nameOf(tensor), " was made while a program was compiled and holds no elements; return it from the program instead");
}

const OpDefinition &Services::keep(OpDefinition definition) {
  std::lock_guard lock(mutex_);
  return definitions_.emplace_back(std::move(definition));
}

void Services::forget() {
  std::lock_guard lock(mutex_);
  functions_.clear();
  ThreadContext::current().state().functions.clear();
  ThreadContext::current().state().contexts.clear();
}

void Services::setStore(const std::string &folder) {
  std::lock_guard lock(storeMutex_);
  store_.reset();
  if (folder.empty())
    return;
  auto identity = compiler_.identity();
  check(identity.status());
  std::string problem;
  store_ = OpStore::open(folder, *identity, /*readOnly=*/false, problem);
  if (!store_)
    failWith(Code::CacheUnusable, "setOpCacheFolder: ", problem);
}

std::optional<std::string> Services::findStored(const char *kind, const std::string &key) {
  if (seed_)
    if (auto bytes = seed_->find(kind, key))
      return bytes;
  std::lock_guard lock(storeMutex_);
  return store_ ? store_->find(kind, key) : std::nullopt;
}

void Services::store(const char *kind, const std::string &key, const std::string &bytes) {
  std::lock_guard lock(storeMutex_);
  if (store_)
    store_->store(kind, key, bytes);
}

Result<std::shared_ptr<ComputeDevice>> Services::device(const DeviceId &id) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<ComputeDevice> &device = devices_[id.str()];
  if (!device) {
    GRAPHC_ASSIGN_OR_RETURN(device, openDevice(id));
  }
  return device;
}

Result<std::shared_ptr<const Executable>> Services::load(CompiledOp op, std::optional<WeightBytes> weights) {
  GRAPHC_ASSIGN_OR_RETURN(auto plan, plan::fromBytes(op.plan));
  LoadOptions options;
  options.keepPrepared = weights.has_value();
  for (auto &file : plan->files)
    if (weights) {
      file->bytes = weights->bytes.size();
      options.weightFiles.push_back(*weights);
    }
  std::vector<std::shared_ptr<const ObjectCode>> code;
  for (const auto &[name, object] : op.kernels) {
    auto loaded = ObjectCode::load(std::as_bytes(std::span(object.data(), object.size())));
    auto *kernel = loaded.ok() ? reinterpret_cast<GraphcKernelFn>((*loaded)->symbol(name)) : nullptr;
    if (kernel) {
      code.push_back(*loaded);
    } else {
      GRAPHC_ASSIGN_OR_RETURN(kernel, compiler_.link(name, object));
    }
    options.kernels.push_back(kernel);
  }
  options.keepAlive = std::make_shared<decltype(code)>(std::move(code));
  options.pool = pool_;
  return Executable::load(std::move(plan), std::move(options));
}

std::shared_ptr<Function> Services::find(std::string_view key) {
  std::lock_guard lock(mutex_);
  auto found = functions_.find(key);
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Function>> Services::functions() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Function>> all;
  for (const auto &[key, function] : functions_)
    if (!function->key.empty())
      all.push_back(function);
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a->key < b->key; });
  return all;
}

std::shared_ptr<Function> Services::add(std::string_view key, std::shared_ptr<Function> function) {
  std::lock_guard lock(mutex_);
  return functions_.try_emplace(std::string(key), std::move(function)).first->second;
}

} // namespace eager

namespace {
thread_local ThreadContext *currentContext = nullptr;
}

ThreadContext::ThreadContext() : state_(std::make_unique<State>()) {}
ThreadContext::~ThreadContext() = default;

ThreadContext &ThreadContext::current() {
  if (currentContext) [[likely]]
    return *currentContext;
  thread_local ThreadContext own;
  currentContext = &own;
  return own;
}

ThreadContext::Use::Use(ThreadContext &context) : before_(&current()) { currentContext = &context; }
ThreadContext::Use::~Use() { currentContext = before_; }

Generator &ThreadContext::generator() { return state_->generator; }
const OpStatistics &ThreadContext::opStatistics() const { return state_->statistics; }
void ThreadContext::resetOpStatistics() { state_->statistics = {}; }

void setDefaultDtype(DType dtype) {
  if (!isFloat(dtype))
    throw Error(error(Code::TypeMismatch, "setDefaultDtype: ", dtype, " is no float; f32 or f64 would do"));
  ThreadContext::current().defaultDtype = dtype;
}
DType defaultDtype() { return ThreadContext::current().defaultDtype; }
void manualSeed(uint64_t seed) { generator().manualSeed(seed); }
Generator &generator() { return ThreadContext::current().generator(); }
void setOpCacheFolder(const std::string &folder) { eager::Services::get().setStore(folder); }

namespace memory {
Stats stats(Device device) {
  if (!device.isCpu()) {
    MemoryStatistics found = eager::deviceMemory("memory::stats", device).statistics();
    const MemoryStatistic &used = found.allocatedBytes.all;
    return {used.current, used.peak, found.reservedBytes.all.current - used.current, found.allocation.all.allocated};
  }
  HostMemoryStats host = hostMemoryStats();
  return {host.allocated, host.peakAllocated, host.cached, host.allocations};
}
void resetPeak(Device device) {
  if (!device.isCpu())
    return eager::deviceMemory("memory::resetPeak", device).resetPeaks();
  resetHostMemoryPeak();
}
void emptyCache(Device device) {
  if (device.isCpu())
    return emptyHostCache();
  if (Status emptied = eager::deviceMemory("memory::emptyCache", device).emptyCache(); !emptied.ok())
    throw Error(emptied);
}
} // namespace memory

} // namespace graphc
