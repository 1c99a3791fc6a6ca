// The part of a program that lives on a device: loaded code, uploaded constants, queues and error cells of its commands.
#include "runtime/exec/Context.h"
#include "runtime/exec/DeviceRun.h"
#include "runtime/exec/Program.h"
#include "runtime/plan/PlanCheck.h"

#include <algorithm>
#include <set>

namespace graphc {

using plan::Action;
using plan::BufferKind;

namespace {

constexpr int64_t kConstantAlignment = 256;

int64_t alignUp(int64_t bytes) { return (bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment; }

} // namespace

Program::~Program() {
  // Contexts own device memory and queues: they go before the program's own.
  for (auto &slot : freeContexts)
    delete slot.exchange(nullptr);
  for (Context *context : overflow)
    delete context;
  overflow.clear();
  if (device && device->recordPool != CachingAllocator::kSharedPool)
    options.device->memory().releasePool(device->recordPool);
}

/// The plan's code, loaded; or the reason why plan and device do not go together.
Status Program::buildDevice() {
  if (plan->target == plan::Target::Cpu) {
    if (options.device)
      return error(Code::ArtifactTarget, "the plan of '", plan->model, "' was compiled for the processor, not for ", options.device->id().str());
    return {};
  }
  if (!options.device)
    return error(Code::ArtifactTarget, "the plan of '", plan->model, "' was compiled for a CUDA device (cuda or sim), and was loaded for the processor");
  device = std::make_unique<DeviceProgram>();
  for (const auto &module : plan->modules) {
    GRAPHC_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceModule> loaded, options.device->loadModule(*module));
    device->modules.push_back(std::move(loaded));
  }
  for (const auto &kernel : plan->kernels) {
    GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceKernel> entry,
                            device->modules[kernel->module_index]->kernel(kernel->symbol, kernel->threads, kernel->dynamic_shared));
    device->kernels.push_back(std::move(entry));
  }
  if (options.record != RecordPolicy::Never)
    device->recordPool = options.device->memory().newPool();
  return {};
}

/// Weights go up once, into one block; prepared constants get their place behind them.
Status Program::uploadConstants() {
  device->hostConstants.resize(buffers.size());
  std::vector<int64_t> offsets(buffers.size(), -1);
  int64_t total = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    BufferKind kind = plan->buffers[i]->kind;
    if (kind != BufferKind::Weight && kind != BufferKind::Prepared)
      continue;
    offsets[i] = total;
    total += alignUp(std::max<int64_t>(buffers[i].constantBytes, 1));
    if (kind == BufferKind::Prepared)
      device->preparedBytes += buffers[i].constantBytes;
  }
  Queue &queue = options.device->defaultQueue();
  GRAPHC_ASSIGN_OR_RETURN(device->constants, DeviceMemory::allocate(options.device, total, queue, "weights of '" + plan->model + "'"));
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (offsets[i] < 0)
      continue;
    DeviceAddress address = device->constants.address() + static_cast<DeviceAddress>(offsets[i]);
    if (plan->buffers[i]->kind == BufferKind::Weight) {
      device->hostConstants[i] = {buffers[i].constant, static_cast<size_t>(buffers[i].constantBytes)};
      if (buffers[i].constantBytes)
        GRAPHC_RETURN_IF_ERROR(queue.copyIn(address, buffers[i].constant, buffers[i].constantBytes));
    }
    buffers[i].constant = reinterpret_cast<const std::byte *>(address);
  }
  return queue.synchronize();
}

/// Queues of the top-level commands, and whether the list may be recorded.
void Program::buildDeviceList(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands) {
  std::vector<std::set<int>> reads(commands.size()), writes(commands.size());
  auto changes = [&](int buffer) {
    BufferKind kind = plan->buffers[buffers[buffer].root]->kind;
    return kind == BufferKind::Temp || kind == BufferKind::Output || (kind == BufferKind::Prepared && &list == &prepare);
  };
  plan::walkCommands(commands, [&](const plan::CommandT &command, int index) {
    for (int buffer : command.writes)
      writes[index].insert(buffers[buffer].root);
    for (int buffer : plan::buffersOf(command))
      if (changes(buffer) && !writes[index].contains(buffers[buffer].root))
        reads[index].insert(buffers[buffer].root);
    auto refuse = [&](const char *why) {
      if (list.notRecordable.empty())
        list.notRecordable = text(plan::describe(command, index), " ", why);
    };
    if (const plan::BindT *bind = command.action.AsBind(); bind && bind->buffer >= 0)
      refuse("reads a value on the host");
    if (command.action.AsRoutine())
      refuse("runs on the host");
    if (command.action.AsIf())
      refuse("branches on a value of the device");
    if (const plan::LoopT *loop = command.action.AsLoop(); loop)
      refuse(loop->condition >= 0 ? "loops while a value of the device holds" : "is a loop");
  });
  if (hasLate && list.notRecordable.empty())
    list.notRecordable = "sizes are only known during the call";
  for (size_t i = 0; i < commands.size(); ++i) {
    CommandAccess access;
    access.reads.assign(reads[i].begin(), reads[i].end());
    access.writes.assign(writes[i].begin(), writes[i].end());
    access.stream = commands[i]->stream;
    list.accesses.push_back(std::move(access));
  }
  // Sizes found on the way need memory on the way, which belongs to one queue.
  list.streams = assignStreams(list.accesses, hasLate ? 1 : options.streams);
  list.streamCount = list.streams.empty() ? 1 : *std::max_element(list.streams.begin(), list.streams.end()) + 1;
}

} // namespace graphc
