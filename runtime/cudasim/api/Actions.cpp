#include "runtime/cudasim/api/Actions.h"

#include <chrono>
#include <cstring>

namespace graphc::cudasim {

namespace {

std::string hex(uint64_t address) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%llx", (unsigned long long)address);
  return buffer;
}

CUresult codeOf(LaunchStatus status) {
  switch (status) {
  case LaunchStatus::Ok:
    return CUDA_SUCCESS;
  case LaunchStatus::Asserted:
    return CUDA_ERROR_ASSERT;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

/// Live device memory must still be there when the work runs: a pool may have taken it back in another stream.
bool stillLive(Operation &operation, uint64_t base, uint64_t bytes, const std::string &what) {
  Driver &driver = Driver::get();
  for (auto &device : driver.devices)
    if (auto allocation = device->memory->find(base))
      if (allocation->contains(base, bytes))
        return true;
  driver.fail(operation.context, "use-after-free",
              operation.info->text() + "\n    called from " + operation.info->site.text() + "\n  " + what + " " +
                  std::to_string(bytes) + " bytes at " + hex(base) + ", " + driver.describeAddress(base) +
                  ", which was freed before this ran\n");
  return false;
}

} // namespace

// ---------------------------------------------------------------------------------------------------- kernels

std::string KernelAction::describe() const {
  auto dims = [](const Dim3 &d) {
    std::string text = std::to_string(d.x);
    if (d.y != 1 || d.z != 1)
      text += "x" + std::to_string(d.y) + (d.z != 1 ? "x" + std::to_string(d.z) : "");
    return text;
  };
  return "kernel " + kernelName + "<<<" + dims(grid) + ", " + dims(block) +
         (sharedBytes ? ", " + std::to_string(sharedBytes) : "") + ">>>";
}

CUresult makeKernelAction(CUfunction handle, Dim3 grid, Dim3 block, uint32_t sharedBytes, void **kernelParams,
                          void **extra, bool cooperative, Context *context, std::shared_ptr<KernelAction> &result) {
  Driver &driver = Driver::get();
  Function *function = driver.functions.find(handle);
  if (!function) {
    // A CUkernel may be passed where a CUfunction is expected.
    Kernel *kernel = driver.kernels.find(handle);
    if (!kernel)
      return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult failure = functionOf(*kernel, context, function))
      return failure;
  }
  if (function->module->context != context)
    return CUDA_ERROR_INVALID_CONTEXT;
  const FunctionInfo &info = function->info();
  const DeviceModel &model = context->device->model;
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
    return CUDA_ERROR_INVALID_VALUE;
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return CUDA_ERROR_INVALID_VALUE;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > model.maxThreadsPerBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (block.count() > info.maxThreadsPerBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (info.requiredBlock.x &&
      (block.x != info.requiredBlock.x || block.y != info.requiredBlock.y || block.z != info.requiredBlock.z))
    return CUDA_ERROR_INVALID_VALUE;
  if (sharedBytes > function->maxDynamicShared ||
      uint64_t(sharedBytes) + info.staticSharedBytes > model.sharedPerBlockOptin)
    return CUDA_ERROR_INVALID_VALUE;
  if (!info.refused.empty()) {
    driver.note("unsupported-function", "kernel " + info.name + " cannot run on the simulated device: " + info.refused);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  uint32_t resident = residentBlocks(info, model, uint32_t(block.count()), sharedBytes);
  if (!resident)
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (cooperative && grid.count() > uint64_t(resident) * model.multiprocessors)
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;

  auto action = std::make_shared<KernelAction>();
  action->function = function;
  action->kernelName = info.name;
  action->grid = grid;
  action->block = block;
  action->sharedBytes = sharedBytes;
  action->cooperative = cooperative;
  action->stackBytes = uint32_t(context->limit(CU_LIMIT_STACK_SIZE));
  action->params.resize(info.paramBytes);
  if (kernelParams && extra)
    return CUDA_ERROR_INVALID_VALUE;
  if (extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    for (void **item = extra; *item != CU_LAUNCH_PARAM_END; item += 2) {
      if (*item == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = item[1];
      else if (*item == CU_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<size_t *>(item[1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (size < info.paramBytes || (info.paramBytes && !buffer))
      return CUDA_ERROR_INVALID_VALUE;
    if (info.paramBytes)
      std::memcpy(action->params.data(), buffer, info.paramBytes);
  } else if (!info.params.empty()) {
    if (!kernelParams)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < info.params.size(); ++i) {
      if (!kernelParams[i])
        return CUDA_ERROR_INVALID_VALUE;
      std::memcpy(action->params.data() + info.params[i].offset, kernelParams[i], info.params[i].size);
    }
  }
  result = std::move(action);
  return CUDA_SUCCESS;
}

void KernelAction::run(Operation &operation) {
  Driver &driver = Driver::get();
  const Options &options = driver.options;
  if (!driver.functions.find(function)) {
    driver.fail(operation.context, "unloaded-module",
                operation.info->text() + " ran after its module had been unloaded\n    called from " +
                    operation.info->site.text() + "\n");
    return;
  }
  Device &device = *operation.context->device;
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.cluster = cluster;
  config.dynamicSharedBytes = sharedBytes;
  config.cooperative = cooperative;
  config.stackBytes = stackBytes;
  config.params = params;
  config.seed = options.seed;
  config.hostThreads = options.hostThreads;
  config.checks = options.checks;
  config.trackAccesses = options.streams;
  config.collectCounters = options.counters;
  config.stepBudget = options.stepBudget;
  config.keepGoing = !options.failOnFinding;
  config.printfSink = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  if (!driver.hostWatch.empty())
    driver.hostWatch.compareAll();
  LaunchResult result = launch(*function->module->module, function->index, *device.memory, device.model, config);
  if (!driver.hostWatch.empty())
    driver.hostWatch.refreshSnapshots();
  operation.modelSeconds =
      options.counters ? estimateMicroseconds(result.counters, device.model, config) * 1e-6 : result.seconds;
  if (options.counters)
    driver.log.addLaunch(kernelName, config, result, device.model);

  bool any = false;
  for (const Finding &finding : result.findings) {
    std::string text = finding.message + (finding.message.ends_with('\n') ? "" : "\n") + "  launched as " +
                       operation.info->text() + "\n    from " + operation.info->site.text() + "\n";
    if (finding.isError) {
      driver.fail(operation.context, findingName(finding.kind), text, codeOf(result.status));
      any = true;
    } else {
      driver.log.add(findingName(finding.kind), text, false, true);
    }
  }
  if (result.status != LaunchStatus::Ok && !any)
    driver.fail(operation.context, statusName(result.status),
                operation.info->text() + ": " + result.error + "\n    called from " + operation.info->site.text() + "\n",
                codeOf(result.status));
  driver.touch(operation, AccessKind::Read, result.reads);
  driver.touch(operation, AccessKind::Atomic, result.atomics);
  driver.touch(operation, AccessKind::Write, result.writes);
}

// ---------------------------------------------------------------------------------------------------- copies

std::string CopyAction::describe() const { return name + " of " + std::to_string(bytes()) + " bytes"; }

void CopyAction::stage() {
  staged = std::make_shared<std::vector<std::byte>>(bytes());
  std::byte *out = staged->data();
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y, out += width)
      if (width)
        std::memcpy(out, reinterpret_cast<const void *>(source.base + z * source.slice + y * source.pitch), width);
}

void CopyAction::queued(Operation &operation) {
  Driver &driver = Driver::get();
  if (!bytes() || !driver.options.hostWatch)
    return;
  // Pitched host rows have gaps the program may touch: only copies without gaps are watched.
  auto dense = [&](const Side &side) {
    return (height == 1 || side.pitch == width) && (depth == 1 || side.slice == width * height);
  };
  if (source.pinned && !staged && dense(source))
    driver.hostWatch.arm(operation.moment, operation.clock, operation.info, source.base, source.base + bytes(), true);
  if (destination.pinned && dense(destination))
    driver.hostWatch.arm(operation.moment, operation.clock, operation.info, destination.base, destination.base + bytes(), false);
}

bool CopyAction::usable(Operation &operation, const Side &side, const char *role) const {
  return !side.device || stillLive(operation, side.base, side.extent(width, height, depth), role);
}

void CopyAction::run(Operation &operation) {
  if (!bytes())
    return;
  Driver &driver = Driver::get();
  if (!usable(operation, source, "reads") || !usable(operation, destination, "writes"))
    return;
  auto spaceOf = [&](uint64_t address) -> MemorySpace * {
    MemoryRecord *record = driver.findMemory(address);
    return record && record->onDevice() ? record->device->memory.get() : nullptr;
  };
  MemorySpace *from = source.device ? spaceOf(source.base) : nullptr;
  MemorySpace *to = destination.device ? spaceOf(destination.base) : nullptr;
  const std::byte *packed = staged ? staged->data() : nullptr;
  HostWatch &watch = driver.hostWatch;
  bool watching = !watch.empty();
  for (const Side *side : {&source, &destination})
    if (watching && side->pinned)
      watch.open(side->base, side->base + side->extent(width, height, depth));
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y) {
      uint64_t in = source.base + z * source.slice + y * source.pitch;
      uint64_t out = destination.base + z * destination.slice + y * destination.pitch;
      if (!packed && (source.device || source.pinned))
        driver.touch(operation, AccessKind::Read, in, in + width);
      if (destination.device || destination.pinned)
        driver.touch(operation, AccessKind::Write, out, out + width);
      if (from && !to && from->tracksDefined())
        if (auto undefined = from->firstUndefined(in, width)) {
          driver.fail(operation.context, "uninitialised",
                      operation.info->text() + " copies memory to the host that nobody wrote\n    called from " +
                          operation.info->site.text() + "\n  the first such byte is at " + hex(*undefined) + ", " +
                          driver.describeAddress(*undefined) + "\n");
        }
      std::memmove(reinterpret_cast<void *>(out), packed ? packed : reinterpret_cast<const void *>(in), width);
      if (packed)
        packed += width;
      if (to && to->tracksDefined())
        to->copyDefined(out, in, width, from);
      if (destination.pinned)
        watch.deviceWrote(out, out + width);
    }
  for (const Side *side : {&source, &destination})
    if (watching && side->pinned)
      watch.close(side->base, side->base + side->extent(width, height, depth));
  double rate = source.device && destination.device ? operation.context->device->model.dramBytesPerSecond / 2 : 25e9;
  operation.modelSeconds = 5e-6 + double(bytes()) / rate;
}

// ---------------------------------------------------------------------------------------------------- fills

std::string FillAction::describe() const {
  return name + " of " + std::to_string(width * height * elementBytes) + " bytes";
}

void FillAction::queued(Operation &operation) {
  Driver &driver = Driver::get();
  MemoryRecord *record = driver.findMemory(base);
  uint64_t row = width * elementBytes;
  if (record && !record->onDevice() && driver.options.hostWatch && (height == 1 || pitch == row))
    driver.hostWatch.arm(operation.moment, operation.clock, operation.info, base, base + row * height, false);
}

void FillAction::run(Operation &operation) {
  uint64_t row = width * elementBytes;
  if (!row || !height)
    return;
  Driver &driver = Driver::get();
  MemoryRecord *record = driver.findMemory(base);
  bool onDevice = !record || record->onDevice();
  uint64_t end = base + (height - 1) * pitch + row;
  if (onDevice && !stillLive(operation, base, end - base, "writes"))
    return;
  if (!onDevice)
    driver.hostWatch.open(base, end);
  for (uint64_t y = 0; y < height; ++y) {
    uint64_t at = base + y * pitch;
    driver.touch(operation, AccessKind::Write, at, at + row);
    auto *bytes = reinterpret_cast<std::byte *>(at);
    if (elementBytes == 1)
      std::memset(bytes, int(value), row);
    else
      for (uint64_t i = 0; i < width; ++i)
        std::memcpy(bytes + i * elementBytes, &value, elementBytes);
    if (onDevice && record && record->device->memory->tracksDefined())
      record->device->memory->markDefined(at, row);
    if (!onDevice)
      driver.hostWatch.deviceWrote(at, at + row);
  }
  if (!onDevice)
    driver.hostWatch.close(base, end);
  operation.modelSeconds = 3e-6 + double(row * height) / operation.context->device->model.dramBytesPerSecond;
}

// ---------------------------------------------------------------------------------------------------- the rest

void HostAction::run(Operation &operation) {
  if (callback)
    callback(stream, operation.context->failure, data);
  else
    function(data);
}

std::string PoolAction::describe() const {
  return std::string(release ? "cuMemFreeAsync" : "cuMemAllocAsync") + " of " + std::to_string(size) + " bytes at " +
         hex(base);
}

void PoolAction::run(Operation &operation) {
  Driver &driver = Driver::get();
  auto it = driver.memory.find(base);
  if (it == driver.memory.end())
    return;
  driver.touch(operation, AccessKind::Write, base, base + size);
  if (!release || keep)
    return;
  // The record and its history stay (as freed memory's): work in other streams that races with the release must still
  // meet this write. Only the bytes go.
  MemoryRecord &record = it->second;
  record.device->memory->free(base);
  if (record.pool)
    record.pool->used -= std::min(record.pool->used, record.size);
  driver.memory.erase(it);
  driver.forgotten.push_back({operation.moment, base, base + size});
}

std::string ValueAction::describe() const {
  return std::string(wait ? "cuStreamWaitValue" : "cuStreamWriteValue") + (wide ? "64" : "32") + " at " + hex(address);
}

bool ValueAction::ready(const Operation &operation) const {
  if (!wait || operation.context->failure) // what would write the value may have been skipped
    return true;
  if (wide) {
    auto now = int64_t(__atomic_load_n(reinterpret_cast<uint64_t *>(address), __ATOMIC_ACQUIRE));
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return now - int64_t(value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == int64_t(value);
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & int64_t(value)) != 0;
    default:
      return ~(now | int64_t(value)) != 0;
    }
  }
  auto now = int32_t(__atomic_load_n(reinterpret_cast<uint32_t *>(address), __ATOMIC_ACQUIRE));
  switch (flags & 3) {
  case CU_STREAM_WAIT_VALUE_GEQ:
    return int32_t(uint32_t(now) - uint32_t(value)) >= 0;
  case CU_STREAM_WAIT_VALUE_EQ:
    return uint32_t(now) == uint32_t(value);
  case CU_STREAM_WAIT_VALUE_AND:
    return (uint32_t(now) & uint32_t(value)) != 0;
  default:
    return ~(uint32_t(now) | uint32_t(value)) != 0;
  }
}

void ValueAction::run(Operation &operation) {
  Driver &driver = Driver::get();
  uint64_t bytes = wide ? 8 : 4;
  // Both are strong accesses: they synchronise rather than race with each other.
  driver.touch(operation, AccessKind::Atomic, address, address + bytes);
  if (wait) {
    auto it = driver.valueWrites.find(address);
    if (it != driver.valueWrites.end())
      operation.clock.join(it->second);
    return;
  }
  if (wide)
    __atomic_store_n(reinterpret_cast<uint64_t *>(address), value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<uint32_t *>(address), uint32_t(value), __ATOMIC_RELEASE);
  driver.valueWrites[address].join(operation.clock);
  MemoryRecord *record = driver.findMemory(address);
  if (record && record->onDevice() && record->device->memory->tracksDefined())
    record->device->memory->markDefined(address, bytes);
  else if (record && !record->onDevice())
    driver.hostWatch.deviceWrote(address, address + bytes);
}

} // namespace graphc::cudasim
