#include "runtime/exec/DeviceRun.h"

#include "runtime/exec/Program.h"
#include "runtime/plan/PlanCheck.h"

#include <algorithm>
#include <cstring>

namespace graphc {

using plan::Action;

namespace {

constexpr int64_t kWorkspaceAlignment = 256;

int64_t alignWorkspace(int64_t bytes) { return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment; }

std::byte *asPointer(DeviceAddress address) { return reinterpret_cast<std::byte *>(address); }
DeviceAddress asAddress(const void *pointer) { return reinterpret_cast<DeviceAddress>(pointer); }

} // namespace

DeviceRun::DeviceRun(Context &context) : context_(context) {
  const plan::PlanT &plan = *context.program_.plan;
  bool isMain = &context.list_ == &context.program_.main;
  inputMemory_.resize(isMain ? plan.inputs.size() : 0);
  outputMemory_.resize(isMain ? plan.outputs.size() : 0);
  noOutputs_.resize(outputMemory_.size());
  heaps_.resize(context.list_.heaps.size());
  sideQueues_.resize(static_cast<size_t>(context.list_.streamCount));
  sideUsed_.resize(sideQueues_.size());
  events_.resize(context.list_.steps.size() + sideQueues_.size());
}

DeviceRun::~DeviceRun() = default;

// ---- memory ------------------------------------------------------------------------------------------------------

Status DeviceRun::reserveMemory() {
  const Program &program = context_.program_;
  if (context_.arenaBytes_ > context_.memoryBytes_ || !arenaMemory_) {
    GRAPHC_ASSIGN_OR_RETURN(DeviceMemory memory,
                            DeviceMemory::allocate(device(), context_.arenaBytes_, *main_, "temporaries of '" + program.plan->model + "'",
                                                   program.device->recordPool));
    arenaMemory_ = std::make_shared<DeviceMemory>(std::move(memory)); // recordings may keep the one before
    program.contextAccount.remove(context_.memoryBytes_);
    program.contextAccount.add(context_.arenaBytes_);
    context_.memoryBytes_ = context_.arenaBytes_;
  }
  context_.arena_ = asPointer(arenaMemory_->address());
  GRAPHC_RETURN_IF_ERROR(reserveWorkspace());
  if (!cells_) {
    auto bytes = static_cast<int64_t>(context_.list_.cells->size() * sizeof(GraphcErrorCell));
    GRAPHC_ASSIGN_OR_RETURN(cells_, DeviceMemory::allocate(device(), bytes, *main_, "error cells"));
  }
  if (context_.list_.streamCount > 1)
    waits_ = planWaits(context_.list_.accesses, context_.list_.streams, [&](int buffer) -> MemoryRange {
      const BufferInfo &info = program.buffers[buffer];
      if (info.place != Place::Arena)
        return {buffer + 1, 0, 1};
      int64_t begin = context_.groupOffsets_[info.index];
      return {0, begin, begin + context_.groupBytes_[info.index]};
    });
  return {};
}

/// One workspace for every queue: kernels of one queue follow each other.
Status DeviceRun::reserveWorkspace() {
  int64_t each = alignWorkspace(context_.scratchBytes_);
  context_.measured_.scratch = each * context_.list_.streamCount;
  if (each <= workspaceBytes_)
    return {};
  // Recordings hold its address.
  shapes_.clear();
  context_.program_.contextAccount.remove(workspaceBytes_ * context_.list_.streamCount);
  workspaceBytes_ = 0;
  GRAPHC_ASSIGN_OR_RETURN(workspace_, DeviceMemory::allocate(device(), each * context_.list_.streamCount, *main_, "workspaces"));
  workspaceBytes_ = each;
  context_.program_.contextAccount.add(each * context_.list_.streamCount);
  return {};
}

Status DeviceRun::allocateHeap(int heap) {
  int buffer = context_.list_.heaps[heap][0];
  GRAPHC_ASSIGN_OR_RETURN(int64_t need, context_.bytesOf(buffer));
  if (need > context_.heapBytes_[heap] || !heaps_[heap]) {
    context_.program_.contextAccount.remove(context_.heapBytes_[heap]);
    context_.heapBytes_[heap] = 0;
    GRAPHC_ASSIGN_OR_RETURN(heaps_[heap], DeviceMemory::allocate(device(), need, *main_, context_.program_.plan->buffers[buffer]->name));
    context_.heapBytes_[heap] = need;
    context_.program_.contextAccount.add(need);
    context_.measured_.late += need;
  }
  context_.heapStart_[heap] = asPointer(heaps_[heap].address());
  return {};
}

Status DeviceRun::placeOutput(int output) {
  const plan::PlanT &plan = *context_.program_.plan;
  int buffer = plan.outputs[output]->buffer;
  const BufferInfo &info = context_.program_.buffers[buffer];
  std::vector<int64_t> dims;
  for (int dim : info.dims)
    dims.push_back(context_.values_[dim]);
  GRAPHC_ASSIGN_OR_RETURN(int64_t bytes, context_.bytesOf(buffer));
  Shape shape(std::move(dims));
  DeviceAddress address = 0;
  if (onDevice_) {
    DeviceTensor &tensor = deviceOutputs_[output];
    if (tensor.defined()) {
      if (tensor.dtype != info.dtype || tensor.shape != shape)
        return context_.outputMismatch(output, shape, tensor.dtype, tensor.shape);
      GRAPHC_RETURN_IF_ERROR(useIn(*main_, tensor));
    } else {
      GRAPHC_ASSIGN_OR_RETURN(tensor, DeviceTensor::allocate(device(), info.dtype, std::move(shape), *main_, plan.outputs[output]->name));
      context_.measured_.outputs += bytes;
    }
    address = tensor.address();
  } else {
    const HostTensor &bound = hostOutputs_[output];
    if (bound.defined() && (bound.dtype() != info.dtype || bound.shape() != shape))
      return context_.outputMismatch(output, shape, bound.dtype(), bound.shape());
    if (outputMemory_[output].bytes() < bytes || !outputMemory_[output]) {
      GRAPHC_ASSIGN_OR_RETURN(outputMemory_[output], DeviceMemory::allocate(device(), bytes, *main_, plan.outputs[output]->name));
    }
    address = outputMemory_[output].address();
    context_.measured_.outputs += bytes;
  }
  context_.outputs_[output] = asPointer(address);
  context_.outputBytes_[output] = bytes;
  context_.outputPlaced_[output] = true;
  return {};
}

// ---- a call ------------------------------------------------------------------------------------------------------

/// The main queue, behind whatever the context did before in another one.
Status DeviceRun::enter(const RunOptions &options) {
  main_ = options.queue ? options.queue : &device()->defaultQueue();
  if (&main_->device() != device().get())
    return error(Code::InvalidOption, "the queue belongs to ", main_->device().id().str(), ", the model is on ", device()->id().str());
  if (!done_) {
    GRAPHC_ASSIGN_OR_RETURN(done_, device()->newEvent());
    GRAPHC_ASSIGN_OR_RETURN(start_, device()->newEvent());
  }
  if (ran_ && main_->stream() != lastStream_) {
    GRAPHC_RETURN_IF_ERROR(main_->wait(*done_));
    for (DeviceMemory *memory : {arenaMemory_.get(), &workspace_, &cells_})
      if (memory && *memory)
        memory->usedBy(*main_);
    for (auto *list : {&heaps_, &inputMemory_, &outputMemory_})
      for (DeviceMemory &memory : *list)
        if (memory)
          memory.usedBy(*main_);
  }
  return {};
}

Status DeviceRun::begin(std::span<const HostTensor> views) {
  GRAPHC_RETURN_IF_ERROR(context_.checkInputs(views));
  if (!context_.resolved_ || !context_.sameShapes(views))
    GRAPHC_RETURN_IF_ERROR(context_.prepareShapes(views));
  return context_.bindParameters(views, noOutputs_);
}

Status DeviceRun::run(std::span<const HostTensor> inputs, std::span<HostTensor> outputs, const RunOptions &options) {
  GRAPHC_RETURN_IF_ERROR(enter(options));
  GRAPHC_RETURN_IF_ERROR(context_.checkInputs(inputs));
  if (outputs.size() != noOutputs_.size())
    return error(Code::OutputBinding, "the model has ", noOutputs_.size(), " outputs, but ", outputs.size(), " were asked for");
  onDevice_ = false;
  hostOutputs_ = outputs;
  std::vector<HostTensor> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto bytes = static_cast<int64_t>(inputs[i].sizeBytes());
    DeviceMemory &memory = inputMemory_[i];
    if (memory.bytes() < bytes || !memory) {
      GRAPHC_ASSIGN_OR_RETURN(memory, DeviceMemory::allocate(device(), bytes, *main_, context_.program_.plan->inputs[i]->name));
    }
    if (bytes)
      GRAPHC_RETURN_IF_ERROR(main_->copyIn(memory.address(), inputs[i].raw(), bytes));
    // The address is the device's: nothing on the host follows it.
    views.push_back(HostTensor::borrow(inputs[i].dtype(), inputs[i].shape(), static_cast<void *>(asPointer(memory.address()))));
  }
  GRAPHC_RETURN_IF_ERROR(begin(views));
  GRAPHC_RETURN_IF_ERROR(work(options));

  GRAPHC_ASSIGN_OR_RETURN(PinnedMemory cells, readCells());
  std::vector<HostTensor> fresh(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) {
      const BufferInfo &info = context_.program_.buffers[context_.program_.plan->outputs[i]->buffer];
      std::vector<int64_t> dims;
      for (int dim : info.dims)
        dims.push_back(context_.values_[dim]);
      GRAPHC_ASSIGN_OR_RETURN(fresh[i], HostTensor::allocate(info.dtype, Shape(std::move(dims))));
    }
    HostTensor &target = outputs[i].defined() ? outputs[i] : fresh[i];
    if (target.sizeBytes())
      GRAPHC_RETURN_IF_ERROR(main_->copyOut(target.raw(), asAddress(context_.outputs_[i]), static_cast<int64_t>(target.sizeBytes())));
  }
  GRAPHC_RETURN_IF_ERROR(main_->synchronize());
  GRAPHC_RETURN_IF_ERROR(checkCells(*context_.list_.cells, static_cast<const GraphcErrorCell *>(cells.data())));
  GRAPHC_RETURN_IF_ERROR(reportTimes(options));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].defined())
      outputs[i] = std::move(fresh[i]);
  return {};
}

Status DeviceRun::run(std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs, const RunOptions &options) {
  GRAPHC_RETURN_IF_ERROR(enter(options));
  const plan::PlanT &plan = *context_.program_.plan;
  if (outputs.size() != noOutputs_.size())
    return error(Code::OutputBinding, "the model has ", noOutputs_.size(), " outputs, but ", outputs.size(), " were asked for");
  std::vector<HostTensor> views;
  auto checkDevice = [&](const DeviceTensor &tensor, const char *what, const std::string &name) -> Status {
    if (tensor.memory->device() == device())
      return {};
    return error(Code::InputDType, "expected all tensors to be on the same device, got ", tensor.memory->device()->id().str(), " (", what,
                 " '", name, "') and ", device()->id().str(), " (weights of '", plan.model, "')");
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    void *address = nullptr;
    if (inputs[i].defined()) {
      if (i < plan.inputs.size())
        GRAPHC_RETURN_IF_ERROR(checkDevice(inputs[i], "input", plan.inputs[i]->name));
      GRAPHC_RETURN_IF_ERROR(useIn(*main_, inputs[i]));
      address = asPointer(inputs[i].address());
    }
    views.push_back(HostTensor::borrow(inputs[i].dtype, inputs[i].shape, address));
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined())
      GRAPHC_RETURN_IF_ERROR(checkDevice(outputs[i], "output", plan.outputs[i]->name));
  onDevice_ = true;
  deviceOutputs_ = outputs;
  GRAPHC_RETURN_IF_ERROR(begin(views));
  GRAPHC_RETURN_IF_ERROR(work(options));

  bool checked = context_.list_.cells->size() > 1;
  std::shared_ptr<PinnedMemory> cells;
  if (checked) {
    GRAPHC_ASSIGN_OR_RETURN(PinnedMemory memory, readCells());
    cells = std::make_shared<PinnedMemory>(std::move(memory));
  }
  GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, device()->newEvent());
  GRAPHC_RETURN_IF_ERROR(main_->record(*event));
  std::shared_ptr<Event> ready = std::move(event);
  for (DeviceTensor &output : outputs)
    output.ready = ready;
  if (checked) {
    GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<Event> behind, device()->newEvent());
    GRAPHC_RETURN_IF_ERROR(main_->record(*behind));
    device()->addCheck(std::move(behind), [cells, places = context_.list_.cells] {
      return checkCells(*places, static_cast<const GraphcErrorCell *>(cells->data()));
    });
  }
  if (options.profile) {
    GRAPHC_RETURN_IF_ERROR(main_->synchronize());
    GRAPHC_RETURN_IF_ERROR(reportTimes(options));
  }
  return {};
}

/// The commands, and the mark that later calls wait for.
Status DeviceRun::work(const RunOptions &options) {
  // A cell is 32 bytes; all of them start empty.
  const int64_t dims[] = {static_cast<int64_t>(context_.list_.cells->size() * sizeof(GraphcErrorCell) / 4)}, strides[] = {1};
  GRAPHC_RETURN_IF_ERROR(main_->fill({cells_.address(), 4, dims, strides, 0}));
  Status status;
  if (context_.program_.options.record != RecordPolicy::Never && &context_.list_ == &context_.program_.main && !options.profile)
    status = workRecorded(options);
  else
    status = walkStreams(*main_, options);
  for (size_t i = 0; i < context_.outputs_.size() && status.ok(); ++i)
    if (!context_.outputPlaced_[i])
      status = placeOutput(static_cast<int>(i)); // nothing wrote it: an empty result
  Status marked = main_->record(*done_);
  lastStream_ = main_->stream();
  ran_ = true;
  return status.ok() ? marked : status;
}

/// Every top-level command in its queue, behind the commands of other queues it needs.
Status DeviceRun::walkStreams(Queue &main, const RunOptions &options) {
  const StepList &list = context_.list_;
  std::fill(sideUsed_.begin(), sideUsed_.end(), false);
  timed_.clear();
  waitCount_ = 0;
  if (list.streamCount > 1)
    GRAPHC_RETURN_IF_ERROR(main.record(*start_));
  auto walkAll = [&]() -> Status {
    for (const Step &step : list.steps) {
      auto index = static_cast<size_t>(step.topIndex);
      int stream = list.streams[index];
      GRAPHC_ASSIGN_OR_RETURN(Queue *queue, queueOf(stream, main));
      if (list.streamCount > 1) {
        if (waits_.afterStart[index])
          GRAPHC_RETURN_IF_ERROR(waitFor(*queue, *start_));
        for (int earlier : waits_.waits[index])
          GRAPHC_RETURN_IF_ERROR(waitFor(*queue, *events_[static_cast<size_t>(earlier)]));
      }
      if (options.profile)
        GRAPHC_RETURN_IF_ERROR(startTimer(step, *queue));
      GRAPHC_RETURN_IF_ERROR(walkStep(step, *queue, stream, options));
      if (options.profile)
        GRAPHC_RETURN_IF_ERROR(queue->record(*timed_.back().end));
      if (list.streamCount > 1 && waits_.recorded[index]) {
        GRAPHC_ASSIGN_OR_RETURN(Event *event, eventOf(index));
        GRAPHC_RETURN_IF_ERROR(queue->record(*event));
      }
    }
    for (int end : waits_.joins)
      GRAPHC_RETURN_IF_ERROR(waitFor(main, *events_[static_cast<size_t>(end)]));
    return {};
  };
  Status status = walkAll();
  if (status.ok())
    return status;
  // What is queued must be over before the context's memory is used again.
  for (size_t stream = 1; stream < sideUsed_.size(); ++stream) {
    if (!sideUsed_[stream])
      continue;
    auto event = eventOf(list.steps.size() + stream);
    if (event.ok() && sideQueues_[stream]->record(**event).ok())
      (void)main.wait(**event);
  }
  return status;
}

Result<Queue *> DeviceRun::queueOf(int stream, Queue &main) {
  if (stream == 0)
    return &main;
  auto index = static_cast<size_t>(stream);
  if (!sideQueues_[index]) {
    GRAPHC_ASSIGN_OR_RETURN(sideQueues_[index], device()->newQueue());
  }
  sideUsed_[index] = true;
  return sideQueues_[index].get();
}

Status DeviceRun::waitFor(Queue &queue, const Event &event) {
  const auto &keep = context_.program_.options.keepWait;
  if (keep && !keep(waitCount_++))
    return {};
  return queue.wait(event);
}

Result<Event *> DeviceRun::eventOf(size_t index) {
  if (!events_[index]) {
    GRAPHC_ASSIGN_OR_RETURN(events_[index], device()->newEvent());
  }
  return events_[index].get();
}

Status DeviceRun::walkSteps(const std::vector<Step> &steps, Queue &queue, int stream, const RunOptions &options) {
  for (const Step &step : steps)
    GRAPHC_RETURN_IF_ERROR(walkStep(step, queue, stream, options));
  return {};
}

Status DeviceRun::walkStep(const Step &step, Queue &queue, int stream, const RunOptions &options) {
  if (options.cancelled && options.cancelled->load(std::memory_order_relaxed))
    return error(Code::Cancelled, "the call was cancelled before ", context_.where(step));
  if (step.late) {
    if (step.kind == Action::Routine)
      GRAPHC_RETURN_IF_ERROR(context_.assumeBounds(step));
    for (const OperandInfo &operand : step.operands)
      GRAPHC_RETURN_IF_ERROR(context_.checkOperand(step, operand));
    GRAPHC_RETURN_IF_ERROR(context_.resolveStepSizes(step));
    GRAPHC_RETURN_IF_ERROR(reserveWorkspace());
    GRAPHC_RETURN_IF_ERROR(context_.placeLate(step));
    GRAPHC_RETURN_IF_ERROR(context_.resolveStep(step));
  } else if (step.moving) {
    GRAPHC_RETURN_IF_ERROR(context_.resolveStep(step, Context::Slots::Moving));
  }
  switch (step.kind) {
  case Action::Dispatch:
    return launch(step, queue, stream);
  case Action::Copy:
    return copy(step, queue);
  case Action::Fill:
    return fill(step, queue);
  case Action::Routine:
    return routineOnHost(step, queue);
  case Action::Check:
    return context_.runCheck(step);
  case Action::Bind:
    return bind(step, queue);
  case Action::If: {
    GRAPHC_ASSIGN_OR_RETURN(int64_t condition, readValue(step.command->action.AsIf()->condition, 0, queue));
    return walkSteps(condition ? step.body : step.otherwise, queue, stream, options);
  }
  case Action::Loop:
    return loop(step, queue, stream, options);
  default:
    return error(Code::Internal, context_.where(step), ": a command that devices do not have passed the plan check");
  }
}

// ---- commands ----------------------------------------------------------------------------------------------------

Status DeviceRun::launch(const Step &step, Queue &queue, int stream, const MovingWork *moved, Recording *recording) {
  const plan::DispatchT &dispatch = *step.command->action.AsDispatch();
  const plan::KernelT &kernel = *context_.program_.plan->kernels[dispatch.kernel];
  int64_t range = context_.steps_[step.id].range;
  if (range <= 0)
    return {};
  DeviceAddress workspace = workspace_.address() + static_cast<DeviceAddress>(workspaceBytes_ * stream);
  DeviceAddress cell = cells_.address() + static_cast<DeviceAddress>(step.cell) * sizeof(GraphcErrorCell);
  arguments_.clear();
  for (int i = 0; i < step.slotCount; ++i)
    arguments_.push_back(&context_.addresses_[step.slot + i]);
  for (int i = 0; i < step.scalarCount; ++i)
    arguments_.push_back(&context_.scalars_[step.scalar + i]);
  arguments_.push_back(&range);
  if (kernel.scratch >= 0)
    arguments_.push_back(&workspace);
  arguments_.push_back(&cell);
  LaunchWork work;
  work.kernel = context_.program_.device->kernels[dispatch.kernel].get();
  work.blocks = (range - 1) / kernel.items_per_block + 1;
  if (kernel.max_blocks)
    work.blocks = std::min<int64_t>(work.blocks, kernel.max_blocks);
  work.threads = kernel.threads;
  work.dynamicShared = kernel.dynamic_shared;
  work.arguments = arguments_.data();
  Status status = recording ? recording->update(moved->work, work) : queue.launch(work);
  if (!status.ok())
    return error(status.code(), context_.where(step), ": ", status.message());
  return recording ? Status() : noteMoving(step, queue, stream);
}

Status DeviceRun::copy(const Step &step, Queue &queue, const MovingWork *moved, Recording *recording) {
  Context::StridedWork geometry;
  GRAPHC_RETURN_IF_ERROR(context_.copyGeometry(step, geometry));
  if (!geometry.elements)
    return {};
  CopyWork work{asAddress(geometry.dst), asAddress(geometry.src), geometry.elementBytes, geometry.dimsSpan(), geometry.dstSpan(), geometry.srcSpan()};
  Status status = recording ? recording->update(moved->work, work) : queue.copy(work);
  if (!status.ok())
    return error(status.code(), context_.where(step), ": ", status.message());
  return recording ? Status() : noteMoving(step, queue, 0);
}

Status DeviceRun::fill(const Step &step, Queue &queue, const MovingWork *moved, Recording *recording) {
  Context::StridedWork geometry;
  GRAPHC_RETURN_IF_ERROR(context_.fillGeometry(step, geometry));
  if (!geometry.elements)
    return {};
  FillWork work{asAddress(geometry.dst), geometry.elementBytes, geometry.dimsSpan(), geometry.dstSpan(), step.command->action.AsFill()->bits};
  Status status = recording ? recording->update(moved->work, work) : queue.fill(work);
  if (!status.ok())
    return error(status.code(), context_.where(step), ": ", status.message());
  return recording ? Status() : noteMoving(step, queue, 0);
}

/// A routine that devices have no kernels for: its operands come to the host, its results go back. The plan says so (routine), and
/// whoever compiled it has said so.
Status DeviceRun::routineOnHost(const Step &step, Queue &queue) {
  size_t inputs = static_cast<size_t>(step.command->action.AsRoutine()->num_inputs);
  std::vector<std::vector<std::byte>> host(step.operands.size());
  for (size_t i = 0; i < step.operands.size(); ++i) {
    int buffer = step.operands[i].buffer;
    if (buffer < 0)
      continue;
    GRAPHC_ASSIGN_OR_RETURN(int64_t bytes, context_.bytesOf(buffer));
    host[i].resize(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (i >= inputs || !bytes)
      continue;
    GRAPHC_ASSIGN_OR_RETURN(void *start, context_.addressOf(buffer));
    GRAPHC_RETURN_IF_ERROR(queue.copyOut(host[i].data(), asAddress(start), bytes));
  }
  GRAPHC_RETURN_IF_ERROR(queue.synchronize());
  auto start = [&](size_t i) -> Result<void *> { return static_cast<void *>(host[i].data()); };
  GRAPHC_RETURN_IF_ERROR(context_.callRoutine(step, std::ref(start)));
  for (size_t i = inputs; i < step.operands.size(); ++i) {
    int buffer = step.operands[i].buffer;
    if (buffer < 0)
      continue;
    const BufferInfo &info = context_.program_.buffers[buffer];
    if (info.place == Place::Output && !context_.outputPlaced_[info.index])
      GRAPHC_RETURN_IF_ERROR(placeOutput(info.index));
    GRAPHC_ASSIGN_OR_RETURN(int64_t bytes, context_.bytesOf(buffer));
    GRAPHC_ASSIGN_OR_RETURN(void *target, context_.addressOf(buffer));
    if (bytes)
      GRAPHC_RETURN_IF_ERROR(queue.copyIn(asAddress(target), host[i].data(), bytes));
  }
  // The copies read `host`.
  return queue.synchronize();
}

Result<int64_t> DeviceRun::readValue(int buffer, int64_t element, Queue &queue) {
  GRAPHC_ASSIGN_OR_RETURN(void *start, context_.addressOf(buffer));
  DType dtype = context_.program_.buffers[buffer].dtype;
  auto bytes = static_cast<int64_t>(sizeOf(dtype));
  if (!readBack_) {
    GRAPHC_ASSIGN_OR_RETURN(readBack_, PinnedMemory::allocate(device(), 8));
  }
  GRAPHC_RETURN_IF_ERROR(queue.copyOut(readBack_.data(), asAddress(start) + static_cast<DeviceAddress>(element * bytes), bytes));
  GRAPHC_RETURN_IF_ERROR(queue.synchronize());
  return readInteger(readBack_.data(), dtype, 0);
}

Status DeviceRun::bind(const Step &step, Queue &queue) {
  const plan::BindT &bind = *step.command->action.AsBind();
  if (bind.buffer < 0)
    return context_.symbolBound(bind.symbol, context_.values_[bind.expr], step);
  GRAPHC_ASSIGN_OR_RETURN(int64_t bytes, context_.bytesOf(bind.buffer));
  int64_t elements = bytes / static_cast<int64_t>(sizeOf(context_.program_.buffers[bind.buffer].dtype));
  int64_t element = context_.valueOf(bind.element, 0);
  if (element < 0 || element >= elements)
    return error(Code::IndexOutOfRange, context_.where(step), ": element ", element, " is out of range [0, ", elements - 1, "]");
  GRAPHC_ASSIGN_OR_RETURN(int64_t value, readValue(bind.buffer, element, queue));
  return context_.symbolBound(bind.symbol, value, step);
}

Status DeviceRun::loop(const Step &step, Queue &queue, int stream, const RunOptions &options) {
  const plan::LoopT &loop = *step.command->action.AsLoop();
  int64_t trips = context_.valueOf(loop.trip_count, -1);
  for (int64_t i = 0; trips < 0 || i < trips; ++i) {
    if (loop.condition >= 0) {
      GRAPHC_ASSIGN_OR_RETURN(int64_t condition, readValue(loop.condition, 0, queue));
      if (!condition)
        break;
    }
    if (loop.counter >= 0)
      GRAPHC_RETURN_IF_ERROR(context_.program_.counter[loop.counter] ? context_.countTo(loop.counter, i) : context_.symbolBound(loop.counter, i, step));
    if (options.cancelled && options.cancelled->load(std::memory_order_relaxed))
      return error(Code::Cancelled, "the call was cancelled in iteration ", i, " of ", context_.where(step));
    GRAPHC_RETURN_IF_ERROR(walkSteps(step.body, queue, stream, options));
  }
  return {};
}

// ---- what is looked at afterwards --------------------------------------------------------------------------------

/// The cells as they are behind this call, in memory of their own.
Result<PinnedMemory> DeviceRun::readCells() {
  auto bytes = static_cast<int64_t>(context_.list_.cells->size() * sizeof(GraphcErrorCell));
  GRAPHC_ASSIGN_OR_RETURN(PinnedMemory cells, PinnedMemory::allocate(device(), bytes));
  GRAPHC_RETURN_IF_ERROR(main_->copyOut(cells.data(), cells_.address(), bytes));
  cells.usedBy(*main_);
  return cells;
}

Status DeviceRun::checkCells(const std::vector<std::vector<std::string>> &places, const GraphcErrorCell *cells) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (!cells[i].flag)
      continue;
    auto site = static_cast<size_t>(cells[i].site);
    bool named = cells[i].site >= 0 && site < places[i].size();
    return indexOutOfRange(named ? places[i][site] : "a kernel", cells[i]);
  }
  return {};
}

Status DeviceRun::startTimer(const Step &step, Queue &queue) {
  Timed &timed = timed_.emplace_back();
  timed.step = &step;
  GRAPHC_ASSIGN_OR_RETURN(timed.begin, device()->newEvent(true));
  GRAPHC_ASSIGN_OR_RETURN(timed.end, device()->newEvent(true));
  return queue.record(*timed.begin);
}

Status DeviceRun::reportTimes(const RunOptions &options) {
  if (!options.profile)
    return {};
  for (Timed &timed : timed_) {
    GRAPHC_ASSIGN_OR_RETURN(double begin, timed.begin->millisecondsSince(*timed_.front().begin));
    GRAPHC_ASSIGN_OR_RETURN(double end, timed.end->millisecondsSince(*timed_.front().begin));
    options.profile->command(timed.step->topIndex, *timed.step->command, static_cast<int64_t>(begin * 1e6), static_cast<int64_t>(end * 1e6), 1);
  }
  timed_.clear();
  return {};
}

} // namespace graphc
