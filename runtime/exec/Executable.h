// A loaded model: immutable, shared by any number of threads.
//
//   auto executable = Executable::load(std::move(plan), options);
//   std::vector<HostTensor> outputs(1);            // undefined: allocated; defined: written in place
//   Status status = (*executable)->run(inputs, outputs);
//
// A call takes a Context (arena, scratch, error cell) from a free list without a lock, or the caller keeps one.
#pragma once

#include "runtime/base/HostTensor.h"
#include "runtime/base/KernelContext.h"
#include "runtime/device/DeviceTensor.h"
#include "runtime/devices/cpu/ThreadPool.h"
#include "runtime/plan/Plan.h"

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace graphc {

/// Bytes of a weight file and whatever keeps them there.
struct WeightBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// A constant packed earlier, as an artifact stores it.
struct PackedWeight {
  int buffer = -1;    // whose contents
  int64_t offset = 0; // from which byte on: slices of a call pack their own parts
  std::string format;
  std::span<const std::byte> bytes;
};

enum class LogLevel : uint8_t { Remark, Warning };
using LogFn = std::function<void(LogLevel, const std::string &)>;

/// Whether a device's work is recorded once per set of shapes and replayed: `reduce-overhead`.
enum class RecordPolicy : uint8_t {
  Never,
  Measured, // kept where a replay is faster than the walk
  Always    // tests
};

struct LoadOptions {
  /// Of plans for a device: where everything happens. Null for plans of the processor.
  std::shared_ptr<ComputeDevice> device;
  int streams = 4; // most queues one call uses on the device
  RecordPolicy record = RecordPolicy::Never;
  int64_t recordedBytesCap = int64_t(1) << 30; // memory of recordings; the shapes used longest ago go first
  /// Tests: asked for every wait between the queues of a call, counted from 0; false leaves it out.
  std::function<bool(int number)> keepWait;
  /// One function per Plan.kernels entry, in that order; none for a device, whose plan holds the code.
  std::vector<GraphcKernelFn> kernels;
  /// Keeps the kernels' code (JIT session, shared object) and anything else alive as long as the executable.
  std::shared_ptr<const void> keepAlive;
  /// Bytes of Plan.files[i]; when empty the files are mapped from `weightFolder`.
  std::vector<WeightBytes> weightFiles;
  std::string weightFolder;
  bool checkWeightHashes = false;
  /// Keep prepared constants that only fed a packing (writing an artifact needs them).
  bool keepPrepared = false;
  /// Null: every call runs on its caller's thread alone.
  std::shared_ptr<ThreadPool> pool;
  /// Work estimated below this is not shared out; README.md has the measurement.
  double serialCutoffNs = 6000;
  /// Library calls are left whole to the library's own threads instead of being cut into slices for the pool. Slower wherever another
  /// thread wants a core (runtime/devices/cpu/README.md); here so that it can be measured again.
  bool libraryThreads = false;
  std::vector<PackedWeight> packedWeights;
  /// Buffers whose contents are not at hand: calls must do with what is packed of them, or the load fails.
  std::vector<int> absentConstants;
  LogFn log;
};

/// Called for every command of a profiled run; nested commands carry their top-level command's index.
class ProfileSink {
public:
  virtual ~ProfileSink() = default;
  virtual void command(int index, const plan::CommandT &command, int64_t startNs, int64_t endNs, int chunks) = 0;
};

struct RunOptions {
  const std::atomic<bool> *cancelled = nullptr; // looked at between commands
  ProfileSink *profile = nullptr;
  bool flushDenormals = false;
  Queue *queue = nullptr; // of the device; null: its default queue
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::string> dims; // "3", "n", "2*n + 1"
  std::string str() const;       // "f32[n, 3, 224, 224]"
};

struct SymbolInfo {
  std::string name;
  int64_t lo, hi, multiple;
};

struct Signature {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<SymbolInfo> symbols; // those given by input sizes
};

/// Bytes a call needs or took. `outputs` counts only what the runtime allocates itself.
struct MemoryUse {
  int64_t arena = 0, scratch = 0, outputs = 0, late = 0;
  int64_t callTotal() const { return arena + scratch + outputs + late; }
};

struct ExecutableStatistics {
  int64_t weightBytes = 0;    // mapped or inline constants
  int64_t preparedBytes = 0;  // results of `prepare` still held
  int64_t packedBytes = 0;    // constants in the library's layout
  int64_t contexts = 0;
  int64_t contextBytes = 0;       // arenas and scratch of all contexts now
  int64_t contextBytesPeak = 0;
};

class Context;
class Program;

class Executable {
public:
  static Result<std::shared_ptr<const Executable>> load(std::unique_ptr<plan::PlanT> plan, LoadOptions options);
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  const Signature &signature() const;
  const plan::PlanT &plan() const;
  /// Index of an input or output by name.
  Result<int> inputIndex(std::string_view name) const;
  Result<int> outputIndex(std::string_view name) const;

  /// `outputs` has one entry per output; undefined ones are allocated, defined ones must have the right type and shape.
  /// With an input's bytes shared by no other, the call neither locks nor, after the first, allocates.
  Status run(std::span<const HostTensor> inputs, std::span<HostTensor> outputs, const RunOptions &options = {}) const;

  /// The same in a device's memory, in the background: outputs can be used at once by work in any queue (`useIn`), and bad
  /// indices are reported by the device's next synchronize(). Host tensors work on a device too; then the call waits.
  Status run(std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs, const RunOptions &options = {}) const;
  Status run(Context &context, std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs,
             const RunOptions &options = {}) const;
  /// Null: the processor.
  const std::shared_ptr<ComputeDevice> &device() const;

  /// A context of the caller's own, for loops that want the same arena every time. One call at a time each.
  Result<std::shared_ptr<Context>> newContext() const;
  Status run(Context &context, std::span<const HostTensor> inputs, std::span<HostTensor> outputs,
             const RunOptions &options = {}) const;

  /// For many calls over the same buffers (`reduce-overhead`): addresses, sizes and library kernels are resolved once, and each
  /// runBound() walks the plan without looking at anything else. The bytes must stay where they are; defined outputs are bound,
  /// others allocated.
  Status bind(Context &context, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) const;
  Status runBound(Context &context, const RunOptions &options = {}) const;

  /// What a call with these input shapes will need, without running it. Sizes only known during the call count with
  /// their bound.
  Result<MemoryUse> predict(std::span<const Shape> inputShapes) const;
  /// What the context's last call took.
  static MemoryUse measured(const Context &context);

  ExecutableStatistics statistics() const;

  /// What the library chose for a command of `main`, at the sizes of the context's last call (static plans: always
  /// known); empty for commands that are no library call.
  std::string implementation(int command) const;
  /// Bytes of a Weight or Prepared buffer; empty for others, and for those released after packing.
  std::span<const std::byte> constant(int buffer) const;
  /// Whether a call may read the constant where the plan put it, and not only its packed form.
  bool readsConstant(int buffer) const;
  /// Entry of Plan.kernels[index].
  GraphcKernelFn kernel(int index) const;
  /// Everything packed so far, by the buffer it came from.
  std::vector<PackedWeight> packedWeights() const;

private:
  Executable();
  friend class Context;
  std::unique_ptr<Program> program_;
};

} // namespace graphc
