// Walking the steps.
#include "runtime/exec/Context.h"
#include "runtime/exec/DeviceRun.h"

#include "runtime/devices/cpu/StridedCopy.h"
#include "runtime/plan/Exprs.h"
#include "runtime/plan/PlanCheck.h"

#include <chrono>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphc {

using plan::Action;

namespace {

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Denormals read and written as zero while this lives, if asked.
class DenormalMode {
public:
  explicit DenormalMode(bool flush) : flush_(flush) {
#if defined(__x86_64__)
    if (flush_) {
      saved_ = _mm_getcsr();
      _mm_setcsr(saved_ | 0x8040); // FTZ and DAZ
    }
#endif
  }
  ~DenormalMode() {
#if defined(__x86_64__)
    if (flush_)
      _mm_setcsr(saved_);
#endif
  }

private:
  bool flush_;
  unsigned saved_ = 0;
};

class PoolEntry {
public:
  explicit PoolEntry(ThreadPool *pool) : pool_(pool && pool->tryEnter() ? pool : nullptr) {}
  ~PoolEntry() {
    if (pool_)
      pool_->leave();
  }
  bool entered() const { return pool_ != nullptr; }

private:
  ThreadPool *pool_;
};

class ActiveCall {
public:
  explicit ActiveCall(std::atomic<int> *count) : count_(count) {
    if (count_)
      others_ = count_->fetch_add(1, std::memory_order_relaxed);
  }
  ~ActiveCall() {
    if (count_)
      count_->fetch_sub(1, std::memory_order_relaxed);
  }
  int others() const { return others_; }

private:
  std::atomic<int> *count_;
  int others_ = 0;
};

/// Chunk `chunk` of [0, range), cut at multiples of `grain`.
std::pair<int64_t, int64_t> chunkOf(int64_t range, int64_t grain, int chunks, int chunk) {
  int64_t grains = (range + grain - 1) / grain;
  int64_t begin = grains * chunk / chunks * grain, end = grains * (chunk + 1) / chunks * grain;
  return {begin, std::min(end, range)};
}

} // namespace

std::string Context::where(const Step &step) const {
  std::string result = text("'", step.command->name, "'");
  if (!step.command->location.empty())
    result += text(" (", step.command->location, ")");
  return result;
}

std::string Context::implementation(int library) const {
  return libraries_[library].kernel ? libraries_[library].kernel->implementation() : "";
}

/// Everything the shapes decide.
Status Context::prepareShapes(std::span<const HostTensor> inputs) {
  resolved_ = false;
  shapes_.clear();
  for (const HostTensor &input : inputs)
    shapes_.insert(shapes_.end(), input.shape().begin(), input.shape().end());
  GRAPHC_RETURN_IF_ERROR(bindSymbols(inputs.size(), [&](int i) -> const std::vector<int64_t> & { return inputs[i].shape().dims(); }));
  GRAPHC_RETURN_IF_ERROR(resolveShape());
  GRAPHC_RETURN_IF_ERROR(reserveMemory());
  resolved_ = true;
  repeats_ = 0;
  return {};
}

/// The same for a call, unless its shapes are those of the call before.
Status Context::resolveFor(std::span<const HostTensor> inputs) {
  GRAPHC_RETURN_IF_ERROR(checkInputs(inputs));
  bound_ = false;
  if (!resolved_ || !sameShapes(inputs))
    return prepareShapes(inputs);
  if (!program_.isStatic && ++repeats_ == 2 && !list_.libraries.empty())
    return specialise();
  return {};
}

Status Context::walkAll(const RunOptions &options) {
  DenormalMode denormals(options.flushDenormals);
  flushDenormals_ = options.flushDenormals;
  std::optional<cpu::SerialOpenMP> serial;
  if (!list_.libraries.empty() && !program_.options.libraryThreads)
    serial.emplace();
  // With as many calls in flight as there are cores, each is best left on its own.
  ThreadPool *shared = shareable_ || program_.hasLate ? program_.options.pool.get() : nullptr;
  ActiveCall active(shared ? &program_.activeCalls : nullptr);
  PoolEntry pool(shared && active.others() + 1 < shared->concurrency() ? shared : nullptr);
  ownsPool_ = pool.entered();
  return walk(list_.steps, options);
}

Status Context::run(std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs, const RunOptions &options) {
  if (!device_)
    return error(Code::InputDType, "the model '", program_.plan->model, "' was compiled for the processor; its inputs and outputs are host tensors");
  return device_->run(inputs, outputs, options);
}

Status Context::run(std::span<const HostTensor> inputs, std::span<HostTensor> outputs, const RunOptions &options) {
  if (device_) [[unlikely]]
    return device_->run(inputs, outputs, options);
  GRAPHC_RETURN_IF_ERROR(resolveFor(inputs));
  GRAPHC_RETURN_IF_ERROR(bindParameters(inputs, outputs));
  GRAPHC_RETURN_IF_ERROR(walkAll(options));
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (!outputPlaced_[i])
      GRAPHC_RETURN_IF_ERROR(placeOutput(static_cast<int>(i), outputs)); // nothing wrote it: an empty result
  return {};
}

Status Context::bind(std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
  if (device_)
    return error(Code::OutputBinding, "'", program_.plan->model, "' runs on a device, where buffers cannot be bound in this build; call it without binding");
  if (program_.hasLate)
    return error(Code::OutputBinding, "'", program_.plan->model, "' has sizes that only the data decide, so its buffers cannot be bound before a call");
  GRAPHC_RETURN_IF_ERROR(resolveFor(inputs));
  // Bound for good, so worth primitives of its own at once.
  if (!program_.isStatic && !list_.libraries.empty() && repeats_ < 2) {
    repeats_ = 2;
    GRAPHC_RETURN_IF_ERROR(specialise());
  }
  GRAPHC_RETURN_IF_ERROR(bindParameters(inputs, outputs));
  bound_ = true;
  return {};
}

Status Context::runBound(const RunOptions &options) {
  if (!bound_)
    return error(Code::OutputBinding, "the context has no bound buffers: bind them, and again after any other call with this context");
  return walkAll(options);
}

Status Context::walk(const std::vector<Step> &steps, const RunOptions &options) {
  for (const Step &step : steps) {
    if (options.cancelled && options.cancelled->load(std::memory_order_relaxed))
      return error(Code::Cancelled, "the call was cancelled before ", where(step));
    if (step.late) {
      if (step.kind == Action::Routine)
        GRAPHC_RETURN_IF_ERROR(assumeBounds(step));
      for (const OperandInfo &operand : step.operands)
        GRAPHC_RETURN_IF_ERROR(checkOperand(step, operand));
      int64_t scratchBefore = scratchBytes_;
      GRAPHC_RETURN_IF_ERROR(resolveStepSizes(step));
      if (scratchBytes_ > scratchBefore) {
        // The scratch lies behind the arena; a late size that needs more moves to a block of its own.
        int64_t need = scratchBytes_ * program_.concurrency();
        lateScratch_ = allocateAligned(static_cast<size_t>(need));
        if (!lateScratch_)
          return error(Code::OutOfMemory, where(step), ": ", need, " bytes of scratch memory are not available");
        program_.contextAccount.add(need - lateScratchBytes_);
        lateScratchBytes_ = need;
        measured_.late += need;
        for (size_t w = 0; w < workers_.size(); ++w)
          workers_[w].kernelContext = {&workers_[w].cell, lateScratch_.get() + static_cast<int64_t>(w) * scratchBytes_, scratchBytes_};
      }
      GRAPHC_RETURN_IF_ERROR(placeLate(step));
      GRAPHC_RETURN_IF_ERROR(resolveStep(step));
    } else if (step.moving) {
      GRAPHC_RETURN_IF_ERROR(resolveStep(step, Slots::Moving));
    }
    if (!options.profile) {
      GRAPHC_RETURN_IF_ERROR(execute(step, options));
      continue;
    }
    int64_t start = nowNs();
    GRAPHC_RETURN_IF_ERROR(execute(step, options));
    options.profile->command(step.topIndex, *step.command, start, nowNs(), ownsPool_ ? steps_[step.id].chunks : 1);
  }
  return {};
}

/// While a routine runs, the sizes it decides count with their bound.
Status Context::assumeBounds(const Step &step) {
  const plan::RoutineT &routine = *step.command->action.AsRoutine();
  for (int symbol : routine.symbols) {
    const plan::SymbolT &info = *program_.plan->symbols[symbol];
    int64_t bound = info.bound >= 0 ? std::min(info.hi, values_[info.bound]) : info.hi;
    if (bound == INT64_MAX)
      return error(Code::PlanInvalid, where(step), ": the size '", info.name, "' that routine '", routine.name,
                   "' decides has no bound");
    symbols_[symbol] = bound;
  }
  return routine.symbols.empty() ? Status() : evaluateLate();
}

/// Allocates the outputs and heap buffers a step touches whose size has just become known.
Status Context::placeLate(const Step &step) {
  auto place = [&](int buffer) -> Status {
    if (buffer < 0)
      return {};
    const BufferInfo &info = program_.buffers[buffer];
    if (info.place == Place::Output && !outputPlaced_[info.index]) {
      // A routine decides the size of its result: runRoutine places it afterwards.
      if (step.kind == Action::Routine && !step.command->action.AsRoutine()->symbols.empty())
        return {};
      return placeOutput(info.index, outputTensors_);
    }
    if (info.place == Place::Heap)
      return allocateHeap(info.index);
    return {};
  };
  for (int i = 0; i < step.slotCount; ++i)
    GRAPHC_RETURN_IF_ERROR(place(list_.slotBuffers[step.slot + i]));
  for (const OperandInfo &operand : step.operands)
    GRAPHC_RETURN_IF_ERROR(place(operand.buffer));
  return {};
}

Status Context::execute(const Step &step, const RunOptions &options) {
  switch (step.kind) {
  case Action::Dispatch:
    return runKernel(step);
  case Action::Library:
    return runLibrary(step);
  case Action::Routine:
    return runRoutine(step);
  case Action::Copy:
    return runCopy(step);
  case Action::Fill:
    return runFill(step);
  case Action::Check:
    return runCheck(step);
  case Action::Bind:
    return runBind(step);
  case Action::If: {
    auto condition = addressOf(step.command->action.AsIf()->condition);
    if (!condition.ok())
      return condition.status();
    return walk(*static_cast<const uint8_t *>(*condition) ? step.body : step.otherwise, options);
  }
  case Action::Loop:
    return runLoop(step, options);
  case Action::NONE:
    break;
  }
  return error(Code::Internal, where(step), ": a command without an action passed the plan check");
}

namespace {

struct KernelJob {
  GraphcKernelFn kernel;
  void *const *buffers;
  const int64_t *scalars;
  std::byte *workers;
  size_t workerStride;
  int64_t range, grain;
  int chunks;
  bool flushDenormals;
};

} // namespace

Status Context::runKernel(const Step &step) {
  const Resolved &resolved = steps_[step.id];
  void *const *buffers = addresses_.data() + step.slot;
  const int64_t *scalars = scalars_.data() + step.scalar;
  if (resolved.range <= 0)
    return {};
  if (resolved.chunks == 1 || !ownsPool_) {
    step.kernel(buffers, scalars, &workers_[0].kernelContext, 0, resolved.range);
    if (workers_[0].cell.flag) [[unlikely]]
      return kernelError(step, workers_[0].cell);
    return {};
  }
  KernelJob job{step.kernel,     buffers,    scalars,         reinterpret_cast<std::byte *>(&workers_[0].kernelContext),
                sizeof(Worker),  resolved.range, step.grain, resolved.chunks,
                flushDenormals_};
  program_.options.pool->run(
      resolved.chunks,
      [](void *argument, int chunk, int worker) {
        const KernelJob &job = *static_cast<KernelJob *>(argument);
        DenormalMode denormals(job.flushDenormals && worker > 0);
        auto [begin, end] = chunkOf(job.range, job.grain, job.chunks, chunk);
        auto *context = reinterpret_cast<GraphcKernelContext *>(job.workers + worker * job.workerStride);
        if (begin < end)
          job.kernel(job.buffers, job.scalars, context, begin, end);
      },
      &job);
  for (Worker &worker : workers_)
    if (worker.cell.flag) [[unlikely]]
      return kernelError(step, worker.cell);
  return {};
}

Status Context::kernelError(const Step &step, const GraphcErrorCell &cell) const {
  Status status = indexOutOfRange(placeOfSite(*step.command->action.AsDispatch(), cell.site, where(step)), cell);
  for (const Worker &worker : workers_)
    const_cast<Worker &>(worker).cell = {};
  return status;
}

std::string placeOfSite(const plan::DispatchT &dispatch, int site, const std::string &otherwise) {
  if (site < 0 || site >= static_cast<int>(dispatch.sites.size()) || !dispatch.sites[site])
    return otherwise;
  std::string place = text("'", dispatch.sites[site]->name, "'");
  if (!dispatch.sites[site]->location.empty())
    place += text(" (", dispatch.sites[site]->location, ")");
  return place;
}

Status indexOutOfRange(const std::string &place, const GraphcErrorCell &cell) {
  return error(Code::IndexOutOfRange, place, ": index ", cell.value, " is out of range [", cell.lower, ", ", cell.upper, "]");
}

Status Context::runLibrary(const Step &step) {
  LibraryState &state = libraries_[step.library];
  state.bound->setAddresses({addresses_.data() + step.slot, static_cast<size_t>(step.slotCount)});
  int slices = state.kernel->slices();
  if (slices == 1 || !ownsPool_) {
    for (int slice = 0; slice < slices; ++slice)
      GRAPHC_RETURN_IF_ERROR(state.bound->run(slice, workers_[0].kernelContext.scratch));
    return {};
  }
  struct Job {
    cpu::BoundLibrary *library;
    std::vector<Worker> *workers;
    bool flushDenormals;
    std::atomic<int> failed{-1};
  } job{state.bound.get(), &workers_, flushDenormals_};
  program_.options.pool->run(
      slices,
      [](void *argument, int slice, int worker) {
        Job &job = *static_cast<Job *>(argument);
        if (worker > 0)
          cpu::SerialOpenMP::forThisThread();
        DenormalMode denormals(job.flushDenormals && worker > 0);
        if (!job.library->run(slice, (*job.workers)[worker].kernelContext.scratch).ok())
          job.failed.store(slice, std::memory_order_relaxed);
      },
      &job);
  if (int slice = job.failed.load(); slice >= 0)
    return error(Code::LibraryFailed, where(step), ": the library failed on slice ", slice, " of ", slices);
  return {};
}

/// Results whose size the routine decides, and whose memory is the caller's, are written aside first.
Status Context::runRoutine(const Step &step) {
  size_t inputs = static_cast<size_t>(step.command->action.AsRoutine()->num_inputs);
  bool staged = false;
  auto start = [&](size_t i) -> Result<void *> {
    const BufferInfo &info = program_.buffers[step.operands[i].buffer];
    if (info.place != Place::Output || outputPlaced_[info.index])
      return addressOf(step.operands[i].buffer);
    GRAPHC_ASSIGN_OR_RETURN(int64_t bytes, bytesOf(step.operands[i].buffer));
    staged = true;
    staging_.resize(kMaxRoutineOperands);
    stagingBytes_.resize(kMaxRoutineOperands);
    if (bytes > stagingBytes_[i] || !staging_[i]) {
      staging_[i] = allocateAligned(static_cast<size_t>(bytes));
      if (!staging_[i])
        return error(Code::OutOfMemory, bytes, " bytes for the result are not available");
      program_.contextAccount.add(bytes - stagingBytes_[i]);
      stagingBytes_[i] = bytes;
    }
    measured_.late += bytes;
    return static_cast<void *>(staging_[i].get());
  };
  GRAPHC_RETURN_IF_ERROR(callRoutine(step, std::ref(start)));
  for (size_t i = inputs; staged && i < step.operands.size(); ++i) {
    int buffer = step.operands[i].buffer;
    if (buffer < 0 || program_.buffers[buffer].place != Place::Output || outputPlaced_[program_.buffers[buffer].index])
      continue;
    int output = program_.buffers[buffer].index;
    GRAPHC_RETURN_IF_ERROR(placeOutput(output, outputTensors_));
    if (outputBytes_[output])
      std::memcpy(outputs_[output], staging_[i].get(), static_cast<size_t>(outputBytes_[output]));
  }
  return {};
}

/// Calls the routine on operands whose buffers start where `startOf` says, and notes the sizes it decides.
Status Context::callRoutine(const Step &step, const std::function<Result<void *>(size_t)> &startOf) {
  const plan::RoutineT &routine = *step.command->action.AsRoutine();
  // Sizes and strides of all operands, one after the other; reserved once so that spans into it stay valid.
  size_t total = 0;
  for (const OperandInfo &operand : step.operands)
    total += 2 * operand.dims.size();
  sizes_.resize(std::max(sizes_.size(), total + routine.exprs.size() + routine.symbols.size()));
  size_t at = 0;
  if (step.operands.size() > kMaxRoutineOperands || routine.attributes.size() > kMaxRoutineOperands)
    return error(Code::PlanInvalid, where(step), ": a routine has more than ", kMaxRoutineOperands, " operands");
  cpu::RoutineTensor tensors[kMaxRoutineOperands];
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const OperandInfo &operand = step.operands[i];
    if (operand.buffer < 0)
      continue;
    Result<void *> address = startOf(i);
    if (!address.ok())
      return error(address.status().code(), where(step), ": ", address.status().message());
    size_t rank = operand.dims.size();
    int64_t dense = 1;
    for (size_t d = rank; d-- > 0;) {
      sizes_[at + d] = values_[operand.dims[d]];
      sizes_[at + rank + d] = operand.strides.empty() ? dense : values_[operand.strides[d]];
      dense *= sizes_[at + d];
    }
    tensors[i].dtype = program_.buffers[operand.buffer].dtype;
    tensors[i].dims = {&sizes_[at], rank};
    tensors[i].strides = {sizes_.data() + at + rank, rank};
    tensors[i].data = static_cast<std::byte *>(*address) + valueOf(operand.offset, 0) * static_cast<int64_t>(sizeOf(tensors[i].dtype));
    at += 2 * rank;
  }
  cpu::RoutineAttribute attributes[kMaxRoutineOperands];
  for (size_t i = 0; i < routine.attributes.size(); ++i)
    attributes[i] = {routine.attributes[i]->name, routine.attributes[i]->ints, routine.attributes[i]->floats,
                     routine.attributes[i]->strings};
  size_t exprAt = at;
  for (int expr : routine.exprs)
    sizes_[at++] = values_[expr];
  size_t symbolAt = at;

  cpu::RoutineArgs args;
  size_t inputs = static_cast<size_t>(routine.num_inputs);
  args.inputs = {tensors, inputs};
  args.outputs = {tensors + inputs, step.operands.size() - inputs};
  args.attributes = {attributes, routine.attributes.size()};
  args.exprs = {sizes_.data() + exprAt, routine.exprs.size()};
  args.symbols = {sizes_.data() + symbolAt, routine.symbols.size()};
  args.scratch = &routineScratch_;
  if (Status status = step.routine->run(args); !status.ok())
    return error(status.code(), where(step), ": ", status.message());
  for (size_t i = 0; i < routine.symbols.size(); ++i)
    GRAPHC_RETURN_IF_ERROR(symbolBound(routine.symbols[i], sizes_[symbolAt + i], step));
  return {};
}

Status Context::copyGeometry(const Step &step, StridedWork &work) {
  const OperandInfo &src = step.operands[0], &dst = step.operands[1];
  const BufferInfo &srcBuffer = program_.buffers[src.buffer], &dstBuffer = program_.buffers[dst.buffer];
  work.rank = dst.dims.size();
  if (srcBuffer.dtype != dstBuffer.dtype || src.dims.size() != work.rank)
    return error(Code::PlanInvalid, where(step), ": a copy needs equal types and ranks");
  int64_t srcDense = 1;
  for (size_t d = work.rank; d-- > 0;) {
    work.dims[d] = values_[dst.dims[d]];
    if (values_[src.dims[d]] != work.dims[d])
      return error(Code::PlanInvalid, where(step), ": a copy's source has size ", values_[src.dims[d]], " in dimension ", d,
                   ", its destination ", work.dims[d]);
    work.srcStrides[d] = src.strides.empty() ? srcDense : values_[src.strides[d]];
    work.dstStrides[d] = dst.strides.empty() ? work.elements : values_[dst.strides[d]];
    srcDense *= work.dims[d];
    work.elements *= work.dims[d];
  }
  auto from = addressOf(src.buffer), to = addressOf(dst.buffer);
  if (!from.ok())
    return from.status();
  if (!to.ok())
    return to.status();
  work.elementBytes = static_cast<int>(sizeOf(dstBuffer.dtype));
  work.dst = static_cast<std::byte *>(*to) + valueOf(dst.offset, 0) * work.elementBytes;
  work.src = static_cast<const std::byte *>(*from) + valueOf(src.offset, 0) * work.elementBytes;
  return {};
}

void Context::StridedWork::mergeDims() {
  size_t merged = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (dims[d] == 1)
      continue;
    bool joins = merged > 0 && dstStrides[merged - 1] == dstStrides[d] * dims[d] && srcStrides[merged - 1] == srcStrides[d] * dims[d];
    size_t at = joins ? merged - 1 : merged++;
    dims[at] = joins ? dims[at] * dims[d] : dims[d];
    dstStrides[at] = dstStrides[d];
    srcStrides[at] = srcStrides[d];
  }
  rank = merged;
}

Status Context::runCopy(const Step &step) {
  StridedWork work;
  GRAPHC_RETURN_IF_ERROR(copyGeometry(step, work));
  int chunks = program_.concurrency();
  bool large = ownsPool_ && work.elements * work.elementBytes >= kLargeCopyBytes;
  if (large)
    work.mergeDims();
  if (!large || work.rank == 0 || work.dims[0] < chunks) {
    cpu::stridedCopy(work.dst, work.dstSpan(), work.src, work.srcSpan(), work.dimsSpan(), work.elementBytes, 0, work.rank ? work.dims[0] : 1);
    return {};
  }
  struct Job {
    const StridedWork &work;
    int chunks;
  } job{work, chunks};
  program_.options.pool->run(
      job.chunks,
      [](void *argument, int chunk, int) {
        const Job &job = *static_cast<Job *>(argument);
        const StridedWork &work = job.work;
        auto [begin, end] = chunkOf(work.dims[0], 1, job.chunks, chunk);
        cpu::stridedCopy(work.dst, work.dstSpan(), work.src, work.srcSpan(), work.dimsSpan(), work.elementBytes, begin, end);
      },
      &job);
  return {};
}

Status Context::fillGeometry(const Step &step, StridedWork &work) {
  const OperandInfo &dst = step.operands[0];
  work.rank = dst.dims.size();
  for (size_t d = work.rank; d-- > 0;) {
    work.dims[d] = values_[dst.dims[d]];
    work.dstStrides[d] = dst.strides.empty() ? work.elements : values_[dst.strides[d]];
    work.elements *= work.dims[d];
  }
  auto to = addressOf(dst.buffer);
  if (!to.ok())
    return to.status();
  work.elementBytes = static_cast<int>(sizeOf(program_.buffers[dst.buffer].dtype));
  work.dst = static_cast<std::byte *>(*to) + valueOf(dst.offset, 0) * work.elementBytes;
  return {};
}

Status Context::runFill(const Step &step) {
  StridedWork work;
  GRAPHC_RETURN_IF_ERROR(fillGeometry(step, work));
  cpu::stridedFill(work.dst, work.dstSpan(), work.dimsSpan(), work.elementBytes, step.command->action.AsFill()->bits);
  return {};
}

Status Context::runCheck(const Step &step) {
  const plan::CheckT &check = *step.command->action.AsCheck();
  int64_t a = values_[check.a], b = values_[check.b];
  bool holds = false;
  switch (check.relation) {
  case plan::Relation::Eq:
    holds = a == b;
    break;
  case plan::Relation::Ne:
    holds = a != b;
    break;
  case plan::Relation::Lt:
    holds = a < b;
    break;
  case plan::Relation::Le:
    holds = a <= b;
    break;
  case plan::Relation::Gt:
    holds = a > b;
    break;
  case plan::Relation::Ge:
    holds = a >= b;
    break;
  case plan::Relation::EqualOrOne:
    holds = a == b || a == 1 || b == 1;
    break;
  }
  if (holds)
    return {};
  return error(Code::CheckFailed, where(step), ": ", check.message.empty() ? "a check failed" : check.message, " (",
               plan::exprText(*program_.plan, check.a), " = ", a, ", ", plan::exprText(*program_.plan, check.b), " = ", b, ")");
}

int64_t readInteger(const void *data, DType dtype, int64_t element) {
  switch (dtype) {
  case DType::I64:
  case DType::U64:
    return static_cast<const int64_t *>(data)[element];
  case DType::I32:
    return static_cast<const int32_t *>(data)[element];
  case DType::U32:
    return static_cast<const uint32_t *>(data)[element];
  case DType::I16:
    return static_cast<const int16_t *>(data)[element];
  case DType::U16:
    return static_cast<const uint16_t *>(data)[element];
  case DType::I8:
    return static_cast<const int8_t *>(data)[element];
  default:
    return static_cast<const uint8_t *>(data)[element];
  }
}

Status Context::runBind(const Step &step) {
  const plan::BindT &bind = *step.command->action.AsBind();
  if (bind.buffer < 0)
    return symbolBound(bind.symbol, values_[bind.expr], step);
  auto address = addressOf(bind.buffer);
  if (!address.ok())
    return address.status();
  auto bytes = bytesOf(bind.buffer);
  DType dtype = program_.buffers[bind.buffer].dtype;
  int64_t element = valueOf(bind.element, 0), elements = *bytes / static_cast<int64_t>(sizeOf(dtype));
  if (element < 0 || element >= elements)
    return error(Code::IndexOutOfRange, where(step), ": element ", element, " is out of range [0, ", elements - 1, "]");
  return symbolBound(bind.symbol, readInteger(*address, dtype, element), step);
}

Status Context::runLoop(const Step &step, const RunOptions &options) {
  const plan::LoopT &loop = *step.command->action.AsLoop();
  int64_t trips = valueOf(loop.trip_count, -1);
  for (int64_t i = 0; trips < 0 || i < trips; ++i) {
    if (options.cancelled && options.cancelled->load(std::memory_order_relaxed))
      return error(Code::Cancelled, "the call was cancelled in iteration ", i, " of ", where(step));
    if (loop.condition >= 0) {
      auto condition = addressOf(loop.condition);
      if (!condition.ok())
        return condition.status();
      if (!*static_cast<const uint8_t *>(*condition))
        break;
    }
    if (loop.counter >= 0)
      GRAPHC_RETURN_IF_ERROR(program_.counter[loop.counter] ? countTo(loop.counter, i) : symbolBound(loop.counter, i, step));
    GRAPHC_RETURN_IF_ERROR(walk(step.body, options));
  }
  return {};
}

} // namespace graphc
