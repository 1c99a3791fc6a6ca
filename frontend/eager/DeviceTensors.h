// Tensors in the memory of a CUDA device, real or simulated: everything they do is queued in the device's default queue, so what was
// called first is done first. The host waits where elements come back to it (`item`, `cpu`, printing) and in synchronize(); bad
// indices of earlier ops are reported there.
#pragma once

#include "frontend/eager/Dispatch.h"

namespace graphc::eager {

inline bool isOnHost(const TensorImpl &tensor) { return tensor.storage->device.kind == static_cast<uint8_t>(DeviceKind::Cpu); }
inline detail::DeviceId deviceIdOf(Device device) { return {static_cast<uint8_t>(device.kind()), static_cast<int16_t>(device.index())}; }

/// Throws, with the reason and what to do, when there is no such device.
void openOrFail(const char *what, Device device);
/// Its allocator; an error in the name of `what` when it cannot be opened. Not the CPU.
CachingAllocator &deviceMemory(const char *what, Device device);

bool isDeviceThere(Device device);
/// Waits, and reports what went wrong meanwhile.
void synchronizeDevice(Device device);

/// Undefined contents; null when there is no memory.
TensorRef newTensorOn(const detail::DeviceId &device, DType dtype, std::span<const int64_t> sizes);
/// The elements, densely, on that device.
TensorRef transfer(const TensorImpl &tensor, const detail::DeviceId &device);
/// From any device to any; same dtype, and sizes unless both are dense. They do not overlap, or are the same elements.
void copyBetween(const TensorImpl &from, const TensorImpl &to);
/// Every element of a tensor on a device becomes the low bytes of `bits`.
void fillOnDevice(const TensorImpl &to, uint64_t bits);

/// As runFunction, whose operands are on `device` but for numbers of rank 0.
void runOnDevice(Function &function, const detail::DeviceId &device, std::span<Operand> operands, std::span<const int64_t> symbols,
                 std::span<TensorRef> results, std::span<TensorImpl *const> into);

} // namespace graphc::eager
