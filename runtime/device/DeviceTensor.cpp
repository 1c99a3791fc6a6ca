#include "runtime/device/DeviceTensor.h"

namespace graphc {

Result<DeviceTensor> DeviceTensor::allocate(std::shared_ptr<ComputeDevice> device, DType dtype, Shape shape, const Queue &queue,
                                            std::string label) {
  DeviceTensor tensor;
  tensor.dtype = dtype;
  auto elements = shape.checkedElements();
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(graphc::sizeOf(dtype)), &bytes))
    return error(Code::OutOfMemory, "a tensor of shape ", shape, " and type ", dtypeName(dtype), " needs more than 2^63 bytes");
  tensor.shape = std::move(shape);
  GRAPHC_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::allocate(std::move(device), bytes, queue, std::move(label)));
  tensor.memory = std::make_shared<DeviceMemory>(std::move(memory));
  return tensor;
}

Status useIn(Queue &queue, const DeviceTensor &tensor) {
  if (queue.stream() == tensor.memory->stream())
    return {};
  if (tensor.ready)
    GRAPHC_RETURN_IF_ERROR(queue.wait(*tensor.ready));
  tensor.memory->usedBy(queue);
  return {};
}

Result<DeviceTensor> DeviceTensor::fromHost(std::shared_ptr<ComputeDevice> device, const HostTensor &source, Queue &queue) {
  GRAPHC_ASSIGN_OR_RETURN(DeviceTensor tensor, allocate(device, source.dtype(), source.shape(), queue));
  if (source.sizeBytes()) {
    auto bytes = static_cast<int64_t>(source.sizeBytes());
    GRAPHC_RETURN_IF_ERROR(queue.copyIn(tensor.address(), source.raw(), bytes));
    if (device->pinned().contains(source.raw(), bytes))
      device->pinned().recordUse(const_cast<void *>(source.raw()), queue.stream());
  }
  GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<Event> ready, device->newEvent());
  GRAPHC_RETURN_IF_ERROR(queue.record(*ready));
  tensor.ready = std::move(ready);
  return tensor;
}

Result<HostTensor> DeviceTensor::toHost() const {
  GRAPHC_ASSIGN_OR_RETURN(HostTensor host, HostTensor::allocate(dtype, shape));
  const std::shared_ptr<ComputeDevice> &device = memory->device();
  // Errors of the runs that made the contents come first.
  GRAPHC_RETURN_IF_ERROR(device->synchronize());
  Queue &queue = device->defaultQueue();
  if (int64_t bytes = sizeBytes()) {
    GRAPHC_RETURN_IF_ERROR(queue.copyOut(host.raw(), address(), bytes));
    GRAPHC_RETURN_IF_ERROR(queue.synchronize());
  }
  return host;
}

Result<DeviceTensor> DeviceTensor::to(std::shared_ptr<ComputeDevice> target, Queue &queue) const {
  GRAPHC_ASSIGN_OR_RETURN(DeviceTensor copy, allocate(target, dtype, shape, queue));
  // The source's queue does nothing until the copy is done: its memory may be handed on there.
  Queue &home = memory->device()->defaultQueue();
  GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<Event> before, memory->device()->newEvent());
  if (ready)
    GRAPHC_RETURN_IF_ERROR(home.wait(*ready));
  GRAPHC_RETURN_IF_ERROR(home.record(*before));
  GRAPHC_RETURN_IF_ERROR(queue.wait(*before));
  if (int64_t bytes = sizeBytes())
    GRAPHC_RETURN_IF_ERROR(queue.copyFrom(*memory->device(), copy.address(), address(), bytes));
  GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<Event> done, target->newEvent());
  GRAPHC_RETURN_IF_ERROR(queue.record(*done));
  GRAPHC_RETURN_IF_ERROR(home.wait(*done));
  if (memory->stream() != home.stream())
    memory->usedBy(home);
  copy.ready = std::move(done);
  return copy;
}

} // namespace graphc
