#include "runtime/base/HostTensor.h"

#include <cstdlib>
#include <cstring>

namespace graphc {

void AlignedDelete::operator()(void *pointer) const noexcept { std::free(pointer); }

AlignedBytes allocateAligned(size_t bytes) {
  if (bytes > SIZE_MAX - kAlignment)
    return nullptr;
  size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return AlignedBytes(static_cast<std::byte *>(std::aligned_alloc(kAlignment, rounded ? rounded : kAlignment)));
}

Result<HostTensor> HostTensor::allocate(DType dtype, Shape shape) {
  auto elements = shape.checkedElements();
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(sizeOf(dtype)), &bytes))
    return error(Code::OutOfMemory, "a tensor of shape ", shape, " ", dtype,
                 " cannot be allocated: its size is negative or exceeds 2^63 bytes");
  AlignedBytes memory = allocateAligned(static_cast<size_t>(bytes));
  if (!memory)
    return error(Code::OutOfMemory, "a tensor of shape ", shape, " ", dtype, " needs ", bytes,
                 " bytes, which the system does not have");
  void *data = memory.get();
  return HostTensor(dtype, std::move(shape), data, std::move(memory));
}

HostTensor HostTensor::borrow(DType dtype, Shape shape, void *data) {
  return HostTensor(dtype, std::move(shape), data, nullptr);
}

HostTensor HostTensor::borrow(DType dtype, Shape shape, const void *data) {
  return HostTensor(dtype, std::move(shape), const_cast<void *>(data), nullptr);
}

Result<HostTensor> HostTensor::clone() const {
  GRAPHC_ASSIGN_OR_RETURN(HostTensor copy, allocate(dtype_, shape_));
  if (sizeBytes())
    std::memcpy(copy.raw(), raw(), sizeBytes());
  return copy;
}

} // namespace graphc
