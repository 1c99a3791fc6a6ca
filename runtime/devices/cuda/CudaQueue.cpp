// Queues are non-blocking streams: nothing is ordered that no event orders.
#include "runtime/devices/cuda/CopyKernels.h"
#include "runtime/devices/cuda/CudaContext.h"

#include <bit>

namespace graphc::cuda {

// ---- events ------------------------------------------------------------------------------------------------------

CudaEvent::~CudaEvent() {
  Current current(*context_);
  (void)context_->driver->eventDestroy.raw(handle_);
}

Result<bool> CudaEvent::passed() const {
  GRAPHC_WITH_CONTEXT(*context_);
  CUresult code = context_->driver->eventQuery.raw(handle_);
  if (code == CUDA_ERROR_NOT_READY)
    return false;
  if (code != CUDA_SUCCESS)
    return error(Code::DeviceUnavailable, "cuEventQuery failed: ", context_->driver->meaning(code));
  return true;
}

Status CudaEvent::wait() const {
  GRAPHC_WITH_CONTEXT(*context_);
  return context_->driver->eventSynchronize(handle_);
}

Result<double> CudaEvent::millisecondsSince(const Event &earlier) const {
  GRAPHC_WITH_CONTEXT(*context_);
  float ms = 0;
  GRAPHC_RETURN_IF_ERROR(context_->driver->eventElapsedTime(&ms, static_cast<const CudaEvent &>(earlier).handle_, handle_));
  return static_cast<double>(ms);
}

// ---- queues ------------------------------------------------------------------------------------------------------

CudaQueue::CudaQueue(std::weak_ptr<ComputeDevice> device, std::shared_ptr<const CudaContext> context, CUstream stream,
                     const CopyFunctions &copies, int multiprocessors)
    : device_(std::move(device)), context_(std::move(context)), stream_(stream), copies_(copies), multiprocessors_(multiprocessors) {}

CudaQueue::~CudaQueue() {
  Current current(*context_);
  (void)context_->driver->streamSynchronize.raw(stream_);
  // Its cached memory may serve the default queue from now on; the device itself is gone when that queue goes.
  if (auto device = device_.lock())
    device->memory().streamEnds(stream(), device->defaultQueue().stream());
  (void)context_->driver->streamDestroy.raw(stream_);
}

ComputeDevice &CudaQueue::device() const {
  auto device = device_.lock();
  assert(device && "a queue is used after its device");
  return *device;
}

Result<DriverWork> CudaQueue::lower(const LaunchWork &work) const {
  if (work.blocks < 1 || work.blocks > 0x7fffffff)
    return error(Code::PlanInvalid, "a launch of ", work.blocks, " blocks is outside 1..2147483647");
  DriverWork result;
  result.function = static_cast<const CudaKernel *>(work.kernel)->function;
  result.blocks = static_cast<unsigned>(work.blocks);
  result.threads = static_cast<unsigned>(work.threads);
  result.dynamicShared = static_cast<unsigned>(work.dynamicShared);
  result.arguments = const_cast<void **>(work.arguments);
  return result;
}

static DriverWork copyLaunch(const PlainCopy &plain, const std::unique_ptr<DeviceKernel> (&kernels)[4], int multiprocessors,
                             CopyParameters &parameters, void *&argument) {
  DriverWork result;
  parameters = plain.parameters;
  argument = &parameters;
  result.function = static_cast<const CudaKernel *>(kernels[std::countr_zero(static_cast<unsigned>(plain.elementBytes))].get())->function;
  int64_t blocks = (parameters.elements + kCopyThreads - 1) / kCopyThreads;
  result.blocks = static_cast<unsigned>(std::min<int64_t>(blocks, int64_t(multiprocessors) * 16));
  result.threads = kCopyThreads;
  result.arguments = &argument;
  return result;
}

DriverWork CudaQueue::lower(const CopyWork &work, CopyParameters &parameters, void *&argument) const {
  PlainCopy plain = plainCopy(work);
  if (!plain.dense)
    return copyLaunch(plain, copies_.copy, multiprocessors_, parameters, argument);
  DriverWork result;
  result.kind = DriverWork::Kind::Memcpy;
  result.dst = work.dst;
  result.src = work.src;
  result.bytes = static_cast<uint64_t>(plain.parameters.elements) * static_cast<uint64_t>(work.elementBytes);
  return result;
}

DriverWork CudaQueue::lower(const FillWork &work, CopyParameters &parameters, void *&argument) const {
  PlainCopy plain = plainFill(work);
  bool halves = work.elementBytes == 8 && static_cast<uint32_t>(work.bits) == static_cast<uint32_t>(work.bits >> 32);
  if (!plain.dense || (work.elementBytes == 8 && !halves))
    return copyLaunch(plain, copies_.fill, multiprocessors_, parameters, argument);
  DriverWork result;
  result.kind = DriverWork::Kind::Memset;
  result.dst = work.dst;
  result.elementBytes = halves ? 4 : static_cast<unsigned>(work.elementBytes);
  result.bytes = static_cast<uint64_t>(plain.parameters.elements) * (halves ? 2 : 1);
  result.value = static_cast<unsigned>(work.bits);
  if (result.elementBytes < 4)
    result.value &= (1u << (8 * result.elementBytes)) - 1;
  return result;
}

Status CudaQueue::submit(const DriverWork &work) {
  const Driver &driver = *context_->driver;
  switch (work.kind) {
  case DriverWork::Kind::Kernel:
    return driver.launchKernel(work.function, work.blocks, 1, 1, work.threads, 1, 1, work.dynamicShared, stream_, work.arguments, nullptr);
  case DriverWork::Kind::Memcpy:
    return driver.memcpyDtoDAsync(work.dst, work.src, work.bytes, stream_);
  case DriverWork::Kind::Memset:
    if (work.elementBytes == 1)
      return driver.memsetD8Async(work.dst, static_cast<unsigned char>(work.value), work.bytes, stream_);
    if (work.elementBytes == 2)
      return driver.memsetD16Async(work.dst, static_cast<unsigned short>(work.value), work.bytes, stream_);
    return driver.memsetD32Async(work.dst, work.value, work.bytes, stream_);
  }
  return {};
}

Status CudaQueue::launch(const LaunchWork &work) {
  GRAPHC_WITH_CONTEXT(*context_);
  GRAPHC_ASSIGN_OR_RETURN(DriverWork lowered, lower(work));
  return submit(lowered);
}

Status CudaQueue::copy(const CopyWork &work) {
  GRAPHC_WITH_CONTEXT(*context_);
  CopyParameters parameters;
  void *argument = nullptr;
  return submit(lower(work, parameters, argument));
}

Status CudaQueue::fill(const FillWork &work) {
  GRAPHC_WITH_CONTEXT(*context_);
  CopyParameters parameters;
  void *argument = nullptr;
  return submit(lower(work, parameters, argument));
}

Status CudaQueue::copyIn(DeviceAddress dst, const void *src, int64_t bytes) {
  GRAPHC_WITH_CONTEXT(*context_);
  return context_->driver->memcpyHtoDAsync(dst, src, static_cast<size_t>(bytes), stream_);
}

Status CudaQueue::copyOut(void *dst, DeviceAddress src, int64_t bytes) {
  GRAPHC_WITH_CONTEXT(*context_);
  return context_->driver->memcpyDtoHAsync(dst, src, static_cast<size_t>(bytes), stream_);
}

Status CudaQueue::copyFrom(const ComputeDevice &other, DeviceAddress dst, DeviceAddress src, int64_t bytes) {
  GRAPHC_WITH_CONTEXT(*context_);
  return context_->driver->memcpyPeerAsync(dst, context_->handle, src, contextOf(other).handle, static_cast<size_t>(bytes), stream_);
}

Status CudaQueue::record(Event &event) {
  GRAPHC_WITH_CONTEXT(*context_);
  return context_->driver->eventRecord(static_cast<CudaEvent &>(event).handle(), stream_);
}

Status CudaQueue::wait(const Event &event) {
  GRAPHC_WITH_CONTEXT(*context_);
  return context_->driver->streamWaitEvent(stream_, static_cast<const CudaEvent &>(event).handle(), 0);
}

Result<bool> CudaQueue::idle() {
  GRAPHC_WITH_CONTEXT(*context_);
  CUresult code = context_->driver->streamQuery.raw(stream_);
  if (code == CUDA_ERROR_NOT_READY)
    return false;
  if (code != CUDA_SUCCESS)
    return error(Code::DeviceUnavailable, "cuStreamQuery failed: ", context_->driver->meaning(code));
  return true;
}

Status CudaQueue::synchronize() {
  GRAPHC_WITH_CONTEXT(*context_);
  Status status = context_->driver->streamSynchronize(stream_);
  if (!status.ok())
    return error(status.code(), context_->deviceName, ": ", status.message(), "; the device cannot be used any more in this process");
  return {};
}

} // namespace graphc::cuda
