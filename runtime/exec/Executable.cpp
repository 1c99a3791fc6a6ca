#include "runtime/exec/Executable.h"

#include "runtime/exec/Context.h"
#include "runtime/exec/Program.h"

#include <iterator>
#include <map>

namespace graphc {

std::string TensorInfo::str() const { return std::string(dtypeName(dtype)) + "[" + joined(dims) + "]"; }

Executable::Executable() : program_(std::make_unique<Program>()) {}

Executable::~Executable() = default;

Result<std::shared_ptr<const Executable>> Executable::load(std::unique_ptr<plan::PlanT> plan, LoadOptions options) {
  std::shared_ptr<Executable> executable(new Executable);
  GRAPHC_RETURN_IF_ERROR(executable->program_->build(std::move(plan), std::move(options)));
  return std::shared_ptr<const Executable>(std::move(executable));
}

const Signature &Executable::signature() const { return program_->signature; }
const plan::PlanT &Executable::plan() const { return *program_->plan; }

static Result<int> indexOf(const std::vector<TensorInfo> &params, std::string_view name, const char *what) {
  std::vector<std::string> names;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == name)
      return static_cast<int>(i);
    names.push_back("'" + params[i].name + "'");
  }
  return error(Code::UnknownName, "there is no ", what, " '", name, "'; the model has ", joined(names));
}

Result<int> Executable::inputIndex(std::string_view name) const { return indexOf(signature().inputs, name, "input"); }
Result<int> Executable::outputIndex(std::string_view name) const { return indexOf(signature().outputs, name, "output"); }

namespace {

/// A context from the free list, back there at the end.
class Lease {
public:
  explicit Lease(const Program &program) : program_(program) {
    for (auto &slot : program.freeContexts)
      if (slot.load(std::memory_order_relaxed))
        if ((context_ = slot.exchange(nullptr, std::memory_order_acquire)))
          return;
    // Never reached by a program with up to 16 calls in flight, once each has run.
    std::lock_guard lock(program.overflowMutex);
    if (!program.overflow.empty()) {
      context_ = program.overflow.back();
      program.overflow.pop_back();
    } else {
      context_ = new Context(program, program.main);
    }
  }
  ~Lease() {
    for (auto &slot : program_.freeContexts) {
      Context *expected = nullptr;
      if (!slot.load(std::memory_order_relaxed) &&
          slot.compare_exchange_strong(expected, context_, std::memory_order_release, std::memory_order_relaxed))
        return;
    }
    std::lock_guard lock(program_.overflowMutex);
    program_.overflow.push_back(context_);
  }
  Context &operator*() const { return *context_; }
  Context *operator->() const { return context_; }

private:
  const Program &program_;
  Context *context_ = nullptr;
};

} // namespace

Status Executable::run(std::span<const HostTensor> inputs, std::span<HostTensor> outputs, const RunOptions &options) const {
  return Lease(*program_)->run(inputs, outputs, options);
}

Status Executable::run(std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs, const RunOptions &options) const {
  return Lease(*program_)->run(inputs, outputs, options);
}

Status Executable::run(Context &context, std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs,
                       const RunOptions &options) const {
  return context.run(inputs, outputs, options);
}

const std::shared_ptr<ComputeDevice> &Executable::device() const { return program_->options.device; }

Result<std::shared_ptr<Context>> Executable::newContext() const {
  return std::make_shared<Context>(*program_, program_->main);
}

Status Executable::run(Context &context, std::span<const HostTensor> inputs, std::span<HostTensor> outputs,
                       const RunOptions &options) const {
  return context.run(inputs, outputs, options);
}

Status Executable::bind(Context &context, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) const {
  return context.bind(inputs, outputs);
}

Status Executable::runBound(Context &context, const RunOptions &options) const { return context.runBound(options); }

Result<MemoryUse> Executable::predict(std::span<const Shape> inputShapes) const {
  Context context(*program_, program_->main);
  return context.predict(inputShapes);
}

MemoryUse Executable::measured(const Context &context) { return context.measured(); }

ExecutableStatistics Executable::statistics() const {
  ExecutableStatistics statistics;
  statistics.weightBytes = program_->weightBytes;
  for (int64_t bytes : program_->preparedSize)
    statistics.preparedBytes += bytes;
  if (program_->device)
    statistics.preparedBytes = program_->device->preparedBytes;
  statistics.packedBytes = program_->packing->ownedBytes();
  statistics.contexts = program_->contextCount.load();
  statistics.contextBytes = program_->contextAccount.currentBytes();
  statistics.contextBytesPeak = program_->contextAccount.peakBytes();
  return statistics;
}

std::string Executable::implementation(int command) const {
  const auto &steps = program_->main.steps;
  if (command < 0 || command >= static_cast<int>(steps.size()) || steps[command].library < 0)
    return "";
  return Lease(*program_)->implementation(steps[command].library);
}

std::span<const std::byte> Executable::constant(int buffer) const {
  const BufferInfo &info = program_->buffers[buffer];
  if (program_->device) // what the buffers hold is device addresses
    return info.root == buffer ? program_->device->hostConstants[buffer] : std::span<const std::byte>();
  bool released = program_->plan->buffers[buffer]->kind == plan::BufferKind::Prepared && !program_->prepared[buffer];
  if (info.place != Place::Constant || info.root != buffer || released)
    return {};
  return {info.constant, static_cast<size_t>(info.constantBytes)};
}

bool Executable::readsConstant(int buffer) const {
  if (program_->constantsRead.empty() || program_->constantsRead[buffer])
    return true;
  // What was packed of a part of it could not be told from the whole.
  const BufferInfo &info = program_->buffers[buffer];
  for (const auto &entry : program_->packing->entries()) {
    const auto *source = static_cast<const std::byte *>(entry.source);
    if (source > info.constant && source < info.constant + info.constantBytes)
      return true;
  }
  return false;
}
GraphcKernelFn Executable::kernel(int index) const { return program_->options.kernels[index]; }

std::vector<PackedWeight> Executable::packedWeights() const {
  // Constants are told apart by their address; of those that share one the first will do.
  std::map<const std::byte *, int> bufferAt;
  for (int i = static_cast<int>(program_->buffers.size()); i-- > 0;) {
    const BufferInfo &info = program_->buffers[i];
    if (info.place == Place::Constant && info.root == i && info.constant)
      bufferAt[info.constant] = i;
  }
  std::vector<PackedWeight> weights;
  for (const auto &entry : program_->packing->entries()) {
    const auto *source = static_cast<const std::byte *>(entry.source);
    auto next = bufferAt.upper_bound(source);
    if (next == bufferAt.begin())
      continue;
    auto [start, buffer] = *std::prev(next);
    if (source != start && source - start >= program_->buffers[buffer].constantBytes)
      continue;
    weights.push_back({buffer, source - start, entry.format, {static_cast<const std::byte *>(entry.packed.data), static_cast<size_t>(entry.packed.bytes)}});
  }
  return weights;
}

} // namespace graphc
