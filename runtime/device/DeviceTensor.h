// A dense tensor in a device's memory, shared by whoever holds it.
#pragma once

#include "runtime/base/HostTensor.h"
#include "runtime/device/ComputeDevice.h"

namespace graphc {

struct DeviceTensor {
  DType dtype = DType::F32;
  Shape shape;
  std::shared_ptr<DeviceMemory> memory; // null: not defined
  int64_t offsetBytes = 0;
  /// Passed when the contents are there; null: they are, for work in the memory's own queue.
  std::shared_ptr<Event> ready;

  bool defined() const { return memory != nullptr; }
  DeviceAddress address() const { return memory->address() + static_cast<uint64_t>(offsetBytes); }
  int64_t sizeBytes() const { return shape.elements() * static_cast<int64_t>(sizeOf(dtype)); }

  static Result<DeviceTensor> allocate(std::shared_ptr<ComputeDevice> device, DType dtype, Shape shape, const Queue &queue,
                                       std::string label = {});
  /// Copies of host tensors on the device. With the source in page-locked memory of the device's pool the copy overlaps the
  /// host, which must leave the source alone until then.
  static Result<DeviceTensor> fromHost(std::shared_ptr<ComputeDevice> device, const HostTensor &source, Queue &queue);
  /// Waits for the contents. Reports what went wrong on the device before, too.
  Result<HostTensor> toHost() const;
  /// On another device of the same kind.
  Result<DeviceTensor> to(std::shared_ptr<ComputeDevice> target, Queue &queue) const;
};

/// Makes `queue` see the contents of `tensor`, and the tensor's memory outlive the queue's use of it.
Status useIn(Queue &queue, const DeviceTensor &tensor);

} // namespace graphc
