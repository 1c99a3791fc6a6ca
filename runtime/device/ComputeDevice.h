// The verbs every device with its own memory has. Plans are walked in terms of these; nothing here knows a make of device.
//
//   auto device = openDevice(DeviceId{…}, {});                       // runtime/devices/Devices.h
//   auto memory = DeviceMemory::allocate(device, bytes, device->defaultQueue(), "weights");
//   queue.copyIn(memory.address(), host, bytes); queue.launch(…);
//   Status status = device->synchronize();                           // waits, and reports what went wrong meanwhile
//
// A *queue* does its work in order and in the background. An *event* marks a place in a queue; another queue, or the host,
// can wait for it. A *recording* is work that was queued once while recording and can be launched again as a whole.
#pragma once

#include "runtime/base/DeviceId.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/memory/PinnedPool.h"
#include "runtime/plan/Plan.h"

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace graphc {

using DeviceAddress = uint64_t;

class ComputeDevice;
class Queue;

struct DeviceProperties {
  std::string name;         // "NVIDIA H200"
  std::string architecture; // "sm_90"
  int64_t memoryBytes = 0;
  int multiprocessors = 0;
  bool simulated = false;
};

class Event {
public:
  virtual ~Event() = default;
  virtual Result<bool> passed() const = 0;
  /// The host waits.
  virtual Status wait() const = 0;
  /// Of two events made with timing, both passed.
  virtual Result<double> millisecondsSince(const Event &earlier) const = 0;
};

/// An entry of a loaded module.
class DeviceKernel {
public:
  virtual ~DeviceKernel() = default;
};

class DeviceModule {
public:
  virtual ~DeviceModule() = default;
  /// The entry `name`, ready for launches with so many threads and bytes of dynamic shared memory.
  virtual Result<std::unique_ptr<DeviceKernel>> kernel(const std::string &name, int threads, int64_t dynamicShared) const = 0;
};

struct LaunchWork {
  const DeviceKernel *kernel = nullptr;
  int64_t blocks = 1;
  int threads = 1;
  int64_t dynamicShared = 0;
  void *const *arguments = nullptr; // addresses of the values, in the kernel's order
};

/// dst = src elementwise. Strides in elements; a source stride of 0 broadcasts. Sizes are positive, at most 16 of them.
struct CopyWork {
  DeviceAddress dst = 0, src = 0;
  int elementBytes = 1;
  std::span<const int64_t> dims, dstStrides, srcStrides;
};

/// Every element of dst becomes the low bytes of `bits`.
struct FillWork {
  DeviceAddress dst = 0;
  int elementBytes = 1;
  std::span<const int64_t> dims, strides;
  uint64_t bits = 0;
};

/// One piece of recorded work.
using RecordedWork = void *;

class Recording {
public:
  virtual ~Recording() = default;
  virtual Status launch(Queue &queue) = 0;
  /// The same work on other addresses, from the next launch on.
  virtual Status update(RecordedWork work, const LaunchWork &launch) = 0;
  virtual Status update(RecordedWork work, const CopyWork &copy) = 0;
  virtual Status update(RecordedWork work, const FillWork &fill) = 0;
  virtual int64_t workCount() const = 0;
};

class Queue {
public:
  virtual ~Queue() = default;
  virtual ComputeDevice &device() const = 0;
  /// What the device's allocator knows this queue by.
  virtual MemorySource::Stream stream() const = 0;

  virtual Status launch(const LaunchWork &work) = 0;
  /// From the host. Page-locked memory of the device's pool must stay as it is until the copy is done; other memory may
  /// change when the call returns.
  virtual Status copyIn(DeviceAddress dst, const void *src, int64_t bytes) = 0;
  /// To the host; done when the queue is (page-locked memory), or when the call returns (other memory).
  virtual Status copyOut(void *dst, DeviceAddress src, int64_t bytes) = 0;
  virtual Status copy(const CopyWork &work) = 0;
  virtual Status fill(const FillWork &work) = 0;
  /// From another device of the same kind.
  virtual Status copyFrom(const ComputeDevice &other, DeviceAddress dst, DeviceAddress src, int64_t bytes) = 0;

  virtual Status record(Event &event) = 0;
  virtual Status wait(const Event &event) = 0;
  virtual Result<bool> idle() = 0;
  /// The host waits for everything queued so far.
  virtual Status synchronize() = 0;

  /// From here to endRecording work is recorded instead of done, in this queue and in those that wait for its events.
  virtual Status beginRecording() = 0;
  virtual Result<std::unique_ptr<Recording>> endRecording() = 0;
  /// Ends a recording that went wrong.
  virtual void abandonRecording() = 0;
  /// What the last verb recorded.
  virtual Result<RecordedWork> lastRecorded() = 0;
};

/// Page-locked host memory, returned to its pool in queue order.
class PinnedMemory {
public:
  PinnedMemory() = default;
  static Result<PinnedMemory> allocate(std::shared_ptr<ComputeDevice> device, int64_t bytes);
  PinnedMemory(PinnedMemory &&other) noexcept { *this = std::move(other); }
  PinnedMemory &operator=(PinnedMemory &&other) noexcept;
  ~PinnedMemory() { reset(); }
  void reset();
  explicit operator bool() const { return data_ != nullptr; }
  void *data() const { return data_; }
  /// `queue` reads or writes it in the background.
  void usedBy(const Queue &queue);

private:
  std::shared_ptr<ComputeDevice> device_;
  void *data_ = nullptr;
};

/// A block of device memory. Freeing it is a matter of order, not of time: work queued before may still use it.
class DeviceMemory {
public:
  DeviceMemory() = default;
  static Result<DeviceMemory> allocate(std::shared_ptr<ComputeDevice> device, int64_t bytes, const Queue &queue, std::string label,
                                       CachingAllocator::PoolId pool = CachingAllocator::kSharedPool);
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory() { reset(); }
  void reset();
  explicit operator bool() const { return address_ != 0; }
  DeviceAddress address() const { return address_; }
  int64_t bytes() const { return bytes_; }
  const std::shared_ptr<ComputeDevice> &device() const { return device_; }
  MemorySource::Stream stream() const { return stream_; }
  /// A queue other than the one it was allocated for works on it.
  void usedBy(const Queue &queue);

private:
  std::shared_ptr<ComputeDevice> device_;
  DeviceAddress address_ = 0;
  int64_t bytes_ = 0;
  MemorySource::Stream stream_ = 0;
};

class ComputeDevice {
public:
  virtual ~ComputeDevice() = default;
  virtual const DeviceId &id() const = 0;
  virtual const DeviceProperties &properties() const = 0;

  virtual CachingAllocator &memory() = 0;
  virtual PinnedPool &pinned() = 0;

  /// The queue work goes to unless another is named. Lives as long as the device.
  virtual Queue &defaultQueue() = 0;
  virtual Result<std::unique_ptr<Queue>> newQueue() = 0;
  virtual Result<std::unique_ptr<Event>> newEvent(bool timing = false) = 0;
  virtual Result<std::shared_ptr<const DeviceModule>> loadModule(const plan::CudaModuleT &module) = 0;

  /// Work on an address of `other` from this device is possible without going through the host.
  virtual bool canAccess(const ComputeDevice &other) const = 0;

  /// Something to look at once `event` has passed: the error cells of a run. Reported by the next synchronize.
  using Check = std::function<Status()>;
  virtual void addCheck(std::unique_ptr<Event> event, Check check) = 0;
  /// Waits for all queues. The first error: of the device itself, else of the checks, in the order of their runs.
  virtual Status synchronize() = 0;
};

} // namespace graphc
