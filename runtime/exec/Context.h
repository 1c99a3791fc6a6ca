// Everything one call in flight changes: symbol values, addresses, the arena, scratch, error cells. Private to
// runtime/exec.
#pragma once

#include "runtime/exec/Program.h"

namespace graphc {

class DeviceRun;

class Context {
public:
  /// `list` is program.main, or program.prepare while loading.
  Context(const Program &program, const StepList &list);
  ~Context();

  Status run(std::span<const HostTensor> inputs, std::span<HostTensor> outputs, const RunOptions &options);
  Status run(std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs, const RunOptions &options);
  /// Resolves everything for these very buffers, once; runBound() then only walks. Not for sizes that the data decide.
  Status bind(std::span<const HostTensor> inputs, std::span<HostTensor> outputs);
  Status runBound(const RunOptions &options);
  /// Sizes and offsets for these shapes, without allocating anything.
  Result<MemoryUse> predict(std::span<const Shape> shapes);
  const MemoryUse &measured() const { return measured_; }
  /// What the library chose for library call `library` of the list.
  std::string implementation(int library) const;
  bool librarySlow(int library) const { return libraries_[library].kernel && libraries_[library].kernel->slow(); }
  /// Whether library call `library` reads its constant operand where the plan put it.
  bool libraryReads(int library, int operand) const {
    return !libraries_[library].kernel || libraries_[library].kernel->readsConstant(operand);
  }

private:
  friend class DeviceRun; // walks the steps on a device, with the sizes and addresses found here

  // ---- sizes (Resolve.cpp) ----
  Status prepareShapes(std::span<const HostTensor> inputs);
  Status checkInputs(std::span<const HostTensor> inputs);
  bool sameShapes(std::span<const HostTensor> inputs) const;
  using ShapeOf = std::function<const std::vector<int64_t> &(int input)>;
  Status bindSymbols(size_t count, const ShapeOf &shapeOf);
  Status evaluate(std::span<const int> order);
  Status evaluateLate();
  Status planMemory();
  Status resolveShape();
  Status reserveMemory();

  // ---- addresses ----
  Status bindParameters(std::span<const HostTensor> inputs, std::span<HostTensor> outputs);
  Status placeOutput(int output, std::span<HostTensor> outputs);
  Status outputMismatch(int output, const Shape &expected, DType dtype, const Shape &shape) const;
  Status allocateHeap(int heap);
  Result<void *> addressOf(int buffer);
  Result<int64_t> bytesOf(int buffer) const;
  Status resolveAddresses();
  Status resolveSteps(const std::vector<Step> &steps);
  enum class Slots { All, Fixed, Moving }; // whether a loop's counter moves them
  Status resolveStep(const Step &step, Slots which = Slots::All);
  Status resolveStepSizes(const Step &step);
  Status resolveAllSizes(const std::vector<Step> &steps);
  Status specialise();
  Status countTo(int symbol, int64_t trip);
  Status symbolBound(int symbol, int64_t value, const Step &step);
  Status checkOperand(const Step &step, const OperandInfo &operand);
  int64_t valueOf(int expr, int64_t fallback) const { return expr < 0 ? fallback : values_[expr]; }

  // ---- walking (Run.cpp) ----
  Status resolveFor(std::span<const HostTensor> inputs);
  Status walkAll(const RunOptions &options);
  Status walk(const std::vector<Step> &steps, const RunOptions &options);
  Status placeLate(const Step &step);
  Status assumeBounds(const Step &step);
  Status execute(const Step &step, const RunOptions &options);
  Status runKernel(const Step &step);
  Status runLibrary(const Step &step);
  Status runRoutine(const Step &step);
  static constexpr size_t kMaxRoutineOperands = 32;
  Status callRoutine(const Step &step, const std::function<Result<void *>(size_t operand)> &startOf);
  /// A copy's or fill's sizes, strides (in elements) and addresses.
  struct StridedWork {
    int64_t dims[16], dstStrides[16], srcStrides[16];
    size_t rank = 0;
    int64_t elements = 1;
    int elementBytes = 1;
    std::byte *dst = nullptr;
    const std::byte *src = nullptr;
    /// Sizes of 1 go, and neighbours that step through memory as one become one: the outermost is then worth sharing out.
    void mergeDims();
    std::span<const int64_t> dimsSpan() const { return {dims, rank}; }
    std::span<const int64_t> dstSpan() const { return {dstStrides, rank}; }
    std::span<const int64_t> srcSpan() const { return {srcStrides, rank}; }
  };
  static constexpr int64_t kLargeCopyBytes = 64 * 1024; // from here on copies are shared out
  Status copyGeometry(const Step &step, StridedWork &work);
  Status fillGeometry(const Step &step, StridedWork &work);
  Status runCopy(const Step &step);
  Status runFill(const Step &step);
  Status runCheck(const Step &step);
  Status runBind(const Step &step);
  Status runLoop(const Step &step, const RunOptions &options);
  Status kernelError(const Step &step, const GraphcErrorCell &cell) const;
  std::string where(const Step &step) const;

  struct Resolved {
    int64_t range = 0;
    int chunks = 1;
  };
  struct LibraryState {
    std::vector<int64_t> geometry;
    std::shared_ptr<const cpu::LibraryKernel> kernel;
    std::unique_ptr<cpu::BoundLibrary> bound;
  };
  struct alignas(64) Worker {
    GraphcErrorCell cell{};
    GraphcKernelContext kernelContext{};
  };

  const Program &program_;
  const StepList &list_;

  bool resolved_ = false;           // sizes below belong to shapes_
  int repeats_ = 0;                 // calls with these shapes so far
  std::vector<int64_t> shapes_;     // sizes of all inputs of the last call, one after the other
  std::vector<int64_t> symbols_;
  std::vector<bool> symbolKnown_;
  std::vector<int64_t> values_;     // of every expression
  std::vector<int64_t> bounds_;     // of every expression, late symbols at their largest

  ArenaPlanner::Workspace workspace_;
  std::vector<int64_t> groupBytes_, groupOffsets_;
  int64_t arenaBytes_ = 0, scratchBytes_ = 0; // needed; scratch per worker
  AlignedBytes memory_;                       // arena, then scratch of every worker
  std::byte *arena_ = nullptr;                // its start, on whatever device
  int64_t memoryBytes_ = 0;
  std::byte *scratch_ = nullptr;
  AlignedBytes lateScratch_; // when a size known during the call needs more scratch
  int64_t lateScratchBytes_ = 0;
  std::vector<AlignedBytes> heap_;
  std::vector<std::byte *> heapStart_;
  std::vector<int64_t> heapBytes_;

  std::vector<std::byte *> inputs_, outputs_; // addresses of the parameters
  std::vector<int64_t> outputBytes_;
  std::vector<bool> outputPlaced_;
  std::span<HostTensor> outputTensors_;
  bool addressesValid_ = false;
  bool bound_ = false;              // addresses belong to the buffers given to bind()
  std::vector<void *> addresses_;   // by slot
  std::vector<int64_t> scalars_;
  std::vector<Resolved> steps_;     // by step id
  std::vector<LibraryState> libraries_;
  std::vector<Worker> workers_;
  std::vector<std::byte> routineScratch_;
  std::vector<AlignedBytes> staging_; // routine results that become outputs once their size is decided
  std::vector<int64_t> stagingBytes_;
  std::vector<int64_t> sizes_;      // operand sizes and strides of the routine or copy at work

  bool ownsPool_ = false;
  bool flushDenormals_ = false;
  bool shareable_ = false; // some step is worth sharing out
  bool exactLibraries_ = false;
  MemoryUse measured_;
  std::unique_ptr<DeviceRun> device_; // null: the processor
};

/// What a kernel reports of an index, on every device in the same words.
Status indexOutOfRange(const std::string &place, const GraphcErrorCell &cell);
/// Element `element` of an array of integers or bools.
int64_t readInteger(const void *data, DType dtype, int64_t element);
/// The op and source location of check `site` of a dispatch.
std::string placeOfSite(const plan::DispatchT &dispatch, int site, const std::string &otherwise);

} // namespace graphc
