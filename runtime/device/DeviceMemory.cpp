#include "runtime/device/ComputeDevice.h"

#include <utility>

namespace graphc {

Result<PinnedMemory> PinnedMemory::allocate(std::shared_ptr<ComputeDevice> device, int64_t bytes) {
  PinnedMemory memory;
  GRAPHC_ASSIGN_OR_RETURN(memory.data_, device->pinned().allocate(bytes));
  memory.device_ = std::move(device);
  return memory;
}

PinnedMemory &PinnedMemory::operator=(PinnedMemory &&other) noexcept {
  if (this != &other) {
    reset();
    device_ = std::move(other.device_);
    data_ = std::exchange(other.data_, nullptr);
  }
  return *this;
}

void PinnedMemory::reset() {
  if (data_)
    device_->pinned().free(std::exchange(data_, nullptr));
  device_.reset();
}

void PinnedMemory::usedBy(const Queue &queue) { device_->pinned().recordUse(data_, queue.stream()); }

Result<DeviceMemory> DeviceMemory::allocate(std::shared_ptr<ComputeDevice> device, int64_t bytes, const Queue &queue, std::string label,
                                            CachingAllocator::PoolId pool) {
  DeviceMemory memory;
  memory.stream_ = queue.stream();
  GRAPHC_ASSIGN_OR_RETURN(memory.address_, device->memory().allocate(bytes, memory.stream_, std::move(label), pool));
  memory.bytes_ = bytes;
  memory.device_ = std::move(device);
  return memory;
}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  if (this != &other) {
    reset();
    device_ = std::move(other.device_);
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    stream_ = other.stream_;
  }
  return *this;
}

void DeviceMemory::reset() {
  if (address_)
    device_->memory().free(std::exchange(address_, 0));
  device_.reset();
  bytes_ = 0;
}

void DeviceMemory::usedBy(const Queue &queue) {
  if (queue.stream() != stream_)
    device_->memory().recordUse(address_, queue.stream());
}

} // namespace graphc
