// What all parts of a CUDA device share: driver, context, simulator hooks. Private to runtime/devices/cuda.
#pragma once

#include "runtime/devices/cuda/CudaDevice.h"
#include "runtime/devices/cuda/Driver.h"

#include <atomic>

namespace graphc::cuda {

/// A device's primary context, retained.
class CudaContext {
public:
  CudaContext(std::shared_ptr<const Driver> driver, CUdevice device, std::string deviceName)
      : driver(std::move(driver)), device(device), deviceName(std::move(deviceName)) {}
  ~CudaContext();

  std::shared_ptr<const Driver> driver;
  CUdevice device;
  std::string deviceName; // "cuda:0", for messages
  CUcontext handle = nullptr;
  int capability = 0; // 90
  bool simulated = false;

  // The simulator's own functions; null on a GPU.
  int (*annotate)(void *stream, uint64_t address, uint64_t bytes, const char *label) = nullptr;
  int (*unannotate)(void *stream, uint64_t address, uint64_t bytes) = nullptr;
};

/// Makes the context current on this thread, and the one before again at the end: host programs have their own.
class Current {
public:
  explicit Current(const CudaContext &context) : driver_(*context.driver) {
    status_ = driver_.ctxGetCurrent(&before_);
    if (status_.ok() && before_ != context.handle) {
      status_ = driver_.ctxSetCurrent(context.handle);
      changed_ = status_.ok();
    }
  }
  ~Current() {
    if (changed_ && before_)
      (void)driver_.ctxSetCurrent.raw(before_);
  }
  Current(const Current &) = delete;
  const Status &status() const { return status_; }

private:
  const Driver &driver_;
  CUcontext before_ = nullptr;
  bool changed_ = false;
  Status status_;
};

#define GRAPHC_WITH_CONTEXT(context)                                                                             \
  ::graphc::cuda::Current current_(context);                                                                     \
  if (!current_.status().ok())                                                                                   \
  return current_.status()

class CudaEvent final : public Event {
public:
  CudaEvent(std::shared_ptr<const CudaContext> context, CUevent handle) : context_(std::move(context)), handle_(handle) {}
  ~CudaEvent() override;
  Result<bool> passed() const override;
  Status wait() const override;
  Result<double> millisecondsSince(const Event &earlier) const override;
  CUevent handle() const { return handle_; }

private:
  std::shared_ptr<const CudaContext> context_;
  CUevent handle_;
};

class CudaKernel final : public DeviceKernel {
public:
  CudaKernel(std::shared_ptr<const CudaContext> context, CUmodule module, CUfunction function)
      : context(std::move(context)), module(module), function(function) {}
  std::shared_ptr<const CudaContext> context;
  CUmodule module;
  CUfunction function;
};

/// Loads the best image for the device.
Result<std::shared_ptr<const DeviceModule>> loadCudaModule(std::shared_ptr<const CudaContext> context, const plan::CudaModuleT &module);

/// The kernels of CopyKernels.h, loaded.
struct CopyFunctions {
  std::shared_ptr<const DeviceModule> module;
  std::unique_ptr<DeviceKernel> copy[4], fill[4]; // of 1, 2, 4, 8 bytes
};

/// One call of the driver: what a verb comes down to, and what a recorded node is set to anew.
struct DriverWork {
  enum class Kind : uint8_t { Kernel, Memcpy, Memset } kind = Kind::Kernel;
  CUfunction function = nullptr;
  unsigned blocks = 1, threads = 1, dynamicShared = 0;
  void **arguments = nullptr;
  CUdeviceptr dst = 0, src = 0;
  uint64_t bytes = 0;    // Memcpy; Memset: elements
  unsigned elementBytes = 1, value = 0;
};

class CudaQueue final : public Queue {
public:
  CudaQueue(std::weak_ptr<ComputeDevice> device, std::shared_ptr<const CudaContext> context, CUstream stream, const CopyFunctions &copies,
            int multiprocessors);
  ~CudaQueue() override;

  ComputeDevice &device() const override;
  MemorySource::Stream stream() const override { return reinterpret_cast<MemorySource::Stream>(stream_); }
  Status launch(const LaunchWork &work) override;
  Status copyIn(DeviceAddress dst, const void *src, int64_t bytes) override;
  Status copyOut(void *dst, DeviceAddress src, int64_t bytes) override;
  Status copy(const CopyWork &work) override;
  Status fill(const FillWork &work) override;
  Status copyFrom(const ComputeDevice &other, DeviceAddress dst, DeviceAddress src, int64_t bytes) override;
  Status record(Event &event) override;
  Status wait(const Event &event) override;
  Result<bool> idle() override;
  Status synchronize() override;
  Status beginRecording() override;
  Result<std::unique_ptr<Recording>> endRecording() override;
  void abandonRecording() override;
  Result<RecordedWork> lastRecorded() override;

  CUstream handle() const { return stream_; }
  const CudaContext &context() const { return *context_; }

  /// What a verb comes down to. `parameters` and `argument` hold what the result points to.
  Result<DriverWork> lower(const LaunchWork &work) const;
  DriverWork lower(const CopyWork &work, struct CopyParameters &parameters, void *&argument) const;
  DriverWork lower(const FillWork &work, struct CopyParameters &parameters, void *&argument) const;
  Status submit(const DriverWork &work);

private:
  std::weak_ptr<ComputeDevice> device_;
  std::shared_ptr<const CudaContext> context_;
  CUstream stream_;
  const CopyFunctions &copies_;
  int multiprocessors_;
};

/// The context behind a device of this folder.
const CudaContext &contextOf(const ComputeDevice &device);

/// From a captured graph.
Result<std::unique_ptr<Recording>> makeRecording(const CudaQueue &queue, std::shared_ptr<const CudaContext> context, CUgraph graph);

} // namespace graphc::cuda
