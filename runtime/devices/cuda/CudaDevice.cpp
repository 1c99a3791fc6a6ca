#include "runtime/devices/cuda/CudaDevice.h"

#include "runtime/devices/cuda/CopyKernels.h"
#include "runtime/devices/cuda/CudaContext.h"

#include <bit>
#include <deque>

namespace graphc::cuda {

CudaContext::~CudaContext() {
  if (handle)
    (void)driver->primaryCtxRelease.raw(device);
}

namespace {

/// Device memory for the caching allocator.
class DeviceSource : public MemorySource {
public:
  explicit DeviceSource(std::shared_ptr<const CudaContext> context) : context_(std::move(context)) {}

  Result<uint64_t> reserve(int64_t bytes) override {
    GRAPHC_WITH_CONTEXT(*context_);
    CUdeviceptr address = 0;
    GRAPHC_RETURN_IF_ERROR(context_->driver->memAlloc(&address, static_cast<size_t>(bytes)));
    return static_cast<uint64_t>(address);
  }
  void release(uint64_t address, int64_t) override {
    Current current(*context_);
    (void)context_->driver->memFree.raw(address); // waits for the device
  }
  Result<Event> record(Stream stream) override {
    GRAPHC_WITH_CONTEXT(*context_);
    CUevent event = nullptr;
    GRAPHC_RETURN_IF_ERROR(context_->driver->eventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (Status status = context_->driver->eventRecord(event, reinterpret_cast<CUstream>(stream)); !status.ok()) {
      (void)context_->driver->eventDestroy.raw(event);
      return status;
    }
    return reinterpret_cast<Event>(event);
  }
  Result<bool> done(Event event) override {
    GRAPHC_WITH_CONTEXT(*context_);
    CUresult code = context_->driver->eventQuery.raw(reinterpret_cast<CUevent>(event));
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY)
      return error(Code::DeviceUnavailable, "cuEventQuery failed: ", context_->driver->meaning(code));
    return code == CUDA_SUCCESS;
  }
  Status synchronize(Event event) override {
    GRAPHC_WITH_CONTEXT(*context_);
    return context_->driver->eventSynchronize(reinterpret_cast<CUevent>(event));
  }
  void destroy(Event event) override {
    Current current(*context_);
    (void)context_->driver->eventDestroy.raw(reinterpret_cast<CUevent>(event));
  }
  Info info() override {
    Current current(*context_);
    size_t freeBytes = 0, totalBytes = 0;
    if (context_->driver->memGetInfo.raw(&freeBytes, &totalBytes) != CUDA_SUCCESS)
      return {};
    return {static_cast<int64_t>(freeBytes), static_cast<int64_t>(totalBytes)};
  }
  void handedOut(uint64_t address, int64_t bytes, const std::string &label, Stream stream) override {
    if (context_->annotate)
      context_->annotate(reinterpret_cast<void *>(stream), address, static_cast<uint64_t>(bytes), label.c_str());
  }
  void takenBack(uint64_t address, int64_t bytes, Stream stream) override {
    if (context_->unannotate)
      context_->unannotate(reinterpret_cast<void *>(stream), address, static_cast<uint64_t>(bytes));
  }

protected:
  std::shared_ptr<const CudaContext> context_;
};

/// Page-locked host memory for the pinned pool.
class HostSource final : public DeviceSource {
public:
  using DeviceSource::DeviceSource;
  Result<uint64_t> reserve(int64_t bytes) override {
    GRAPHC_WITH_CONTEXT(*context_);
    void *address = nullptr;
    GRAPHC_RETURN_IF_ERROR(context_->driver->memHostAlloc(&address, static_cast<size_t>(bytes), CU_MEMHOSTALLOC_PORTABLE));
    return reinterpret_cast<uint64_t>(address);
  }
  void release(uint64_t address, int64_t) override {
    Current current(*context_);
    (void)context_->driver->memFreeHost.raw(reinterpret_cast<void *>(address));
  }
  void handedOut(uint64_t, int64_t, const std::string &, Stream) override {}
  void takenBack(uint64_t, int64_t, Stream) override {}
};

class CudaDevice final : public ComputeDevice, public std::enable_shared_from_this<CudaDevice> {
public:
  CudaDevice(const DeviceId &id, std::shared_ptr<CudaContext> context, CachingAllocatorOptions memoryOptions)
      : id_(id), context_(std::move(context)), deviceSource_(context_), hostSource_(context_),
        memory_(deviceSource_, std::move(memoryOptions)), pinned_(hostSource_) {}
  ~CudaDevice() override {
    checks_.clear();
    defaultQueue_.reset(); // waits for its work
  }

  Status start() {
    GRAPHC_WITH_CONTEXT(*context_);
    const Driver &driver = *context_->driver;
    char name[256] = "";
    GRAPHC_RETURN_IF_ERROR(driver.deviceGetName(name, sizeof name, context_->device));
    properties_.name = name;
    properties_.architecture = text("sm_", context_->capability);
    properties_.simulated = context_->simulated;
    size_t bytes = 0;
    GRAPHC_RETURN_IF_ERROR(driver.deviceTotalMem(&bytes, context_->device));
    properties_.memoryBytes = static_cast<int64_t>(bytes);
    GRAPHC_RETURN_IF_ERROR(driver.deviceGetAttribute(&properties_.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, context_->device));

    plan::CudaModuleT module;
    module.name = "copies";
    auto image = std::make_unique<plan::CudaImageT>();
    std::string ptx = copyKernelsPtx();
    image->arch = "compute_80";
    image->bytes.assign(ptx.c_str(), ptx.c_str() + ptx.size() + 1);
    module.images.push_back(std::move(image));
    GRAPHC_ASSIGN_OR_RETURN(copies_.module, loadCudaModule(context_, module));
    for (int i = 0; i < 4; ++i) {
      GRAPHC_ASSIGN_OR_RETURN(copies_.copy[i], copies_.module->kernel(text("graphc_copy_", 1 << i), kCopyThreads, 0));
      GRAPHC_ASSIGN_OR_RETURN(copies_.fill[i], copies_.module->kernel(text("graphc_fill_", 1 << i), kCopyThreads, 0));
    }
    GRAPHC_ASSIGN_OR_RETURN(defaultQueue_, newQueue());
    return {};
  }

  const DeviceId &id() const override { return id_; }
  const DeviceProperties &properties() const override { return properties_; }
  CachingAllocator &memory() override { return memory_; }
  PinnedPool &pinned() override { return pinned_; }
  Queue &defaultQueue() override { return *defaultQueue_; }

  Result<std::unique_ptr<Queue>> newQueue() override {
    GRAPHC_WITH_CONTEXT(*context_);
    CUstream stream = nullptr;
    GRAPHC_RETURN_IF_ERROR(context_->driver->streamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return std::unique_ptr<Queue>(
        std::make_unique<CudaQueue>(weak_from_this(), context_, stream, copies_, properties_.multiprocessors));
  }
  Result<std::unique_ptr<Event>> newEvent(bool timing) override {
    GRAPHC_WITH_CONTEXT(*context_);
    CUevent event = nullptr;
    GRAPHC_RETURN_IF_ERROR(context_->driver->eventCreate(&event, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING));
    return std::unique_ptr<Event>(std::make_unique<CudaEvent>(context_, event));
  }
  Result<std::shared_ptr<const DeviceModule>> loadModule(const plan::CudaModuleT &module) override {
    return loadCudaModule(context_, module);
  }

  bool canAccess(const ComputeDevice &other) const override {
    Current current(*context_);
    int can = 0;
    return context_->driver->deviceCanAccessPeer.raw(&can, context_->device, contextOf(other).device) == CUDA_SUCCESS && can;
  }

  void addCheck(std::unique_ptr<Event> event, Check check) override {
    std::lock_guard lock(checksMutex_);
    checks_.push_back({std::move(event), std::move(check)});
    // Programs that never synchronise would pile them up: what has passed and is fine can go.
    if (checks_.size() > 256)
      dropPassedChecks();
  }

  Status synchronize() override {
    GRAPHC_WITH_CONTEXT(*context_);
    Status status = context_->driver->ctxSynchronize();
    std::deque<PendingCheck> checks;
    Status first;
    {
      std::lock_guard lock(checksMutex_);
      checks.swap(checks_);
      std::swap(first, failed_);
    }
    if (!status.ok())
      return error(status.code(), id_.str(), ": ", status.message(), "; the device cannot be used any more in this process");
    for (PendingCheck &pending : checks)
      if (Status found = pending.check(); first.ok() && !found.ok())
        first = found;
    return first;
  }

  const CudaContext &context() const { return *context_; }

private:
  struct PendingCheck {
    std::unique_ptr<Event> event;
    Check check;
  };

  void dropPassedChecks() {
    while (!checks_.empty()) {
      auto passed = checks_.front().event->passed();
      if (!passed.ok() || !*passed)
        return;
      if (Status status = checks_.front().check(); failed_.ok() && !status.ok())
        failed_ = status;
      checks_.pop_front();
    }
  }

  DeviceId id_;
  DeviceProperties properties_;
  std::shared_ptr<CudaContext> context_;
  DeviceSource deviceSource_;
  HostSource hostSource_;
  CachingAllocator memory_;
  PinnedPool pinned_;
  CopyFunctions copies_;
  std::unique_ptr<Queue> defaultQueue_;
  std::mutex checksMutex_;
  std::deque<PendingCheck> checks_;
  Status failed_; // of a dropped check
};

} // namespace

const CudaContext &contextOf(const ComputeDevice &device) { return static_cast<const CudaDevice &>(device).context(); }

Result<std::shared_ptr<ComputeDevice>> openCudaDevice(const DeviceId &id, const CudaOptions &options) {
  GRAPHC_ASSIGN_OR_RETURN(std::shared_ptr<const Driver> driver, Driver::open(options.library, options.simulator));
  bool simulated = driver->find("graphcCudasimConfigure") != nullptr;
  if (id.index >= driver->deviceCount())
    return error(Code::DeviceUnavailable, "device '", id.str(), "' does not exist: the driver has ", driver->deviceCount(),
                 driver->deviceCount() == 1 ? " device" : " devices",
                 simulated ? "; GRAPHC_CUDASIM=devices=N in the environment asks the simulator for more" : "");
  auto context = std::make_shared<CudaContext>(driver, 0, id.str());
  GRAPHC_RETURN_IF_ERROR(driver->deviceGet(&context->device, id.index));
  context->simulated = simulated;
  if (simulated) {
    auto find = [&](auto &function, const char *name) { function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(driver->find(name)); };
    find(context->annotate, "graphcCudasimAnnotateIn");
    find(context->unannotate, "graphcCudasimUnannotateIn");
  }
  int major = 0, minor = 0;
  GRAPHC_RETURN_IF_ERROR(driver->deviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, context->device));
  GRAPHC_RETURN_IF_ERROR(driver->deviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, context->device));
  context->capability = major * 10 + minor;
  if (context->capability < 80)
    return error(Code::DeviceUnavailable, "device '", id.str(), "' has compute capability ", major, ".", minor, "; graphc needs 8.0 or newer");
  GRAPHC_RETURN_IF_ERROR(driver->primaryCtxRetain(&context->handle, context->device));
  CachingAllocatorOptions memory = options.memory;
  memory.deviceName = id.str();
  auto device = std::make_shared<CudaDevice>(id, context, memory);
  GRAPHC_RETURN_IF_ERROR(device->start());
  return std::shared_ptr<ComputeDevice>(std::move(device));
}

} // namespace graphc::cuda
