#include "runtime/tensor/TensorImpl.h"

#include "runtime/autograd/Node.h"
#include "runtime/devices/cpu/StridedCopy.h"
#include "runtime/memory/HostAllocator.h"

#include <cstring>
#include <new>

namespace graphc::detail {

namespace {
// The storage's own fields lie in the first lines of its block, the elements behind them.
constexpr int64_t kHeaderBytes = (sizeof(StorageImpl) + 63) / 64 * 64;
} // namespace

StorageRef newStorage(int64_t bytes) {
  int64_t block = kHeaderBytes + (bytes > 8 ? bytes : 8); // kernels may read 8 bytes of an empty buffer
  void *memory = allocateHost(block);
  if (!memory)
    return nullptr;
  auto *storage = new (memory) StorageImpl;
  storage->data = static_cast<std::byte *>(memory) + kHeaderBytes;
  storage->bytes = bytes;
  storage->blockBytes = block;
  return StorageRef::adopt(storage);
}

StorageRef borrowStorage(void *data, int64_t bytes, std::function<void()> onFree) {
  void *memory = allocateHost(kHeaderBytes);
  if (!memory)
    return nullptr;
  auto *storage = new (memory) StorageImpl;
  storage->data = static_cast<std::byte *>(data);
  storage->bytes = bytes;
  if (onFree)
    storage->onFree = new std::function<void()>(std::move(onFree));
  return StorageRef::adopt(storage);
}

StorageRef deviceStorage(DeviceId device, uint64_t address, int64_t bytes, std::shared_ptr<void> memory) {
  StorageRef storage = borrowStorage(reinterpret_cast<void *>(address), bytes, {});
  if (storage) {
    storage->device = device;
    storage->deviceMemory = std::move(memory);
  }
  return storage;
}

void destroy(StorageImpl *storage) {
  int64_t block = storage->blockBytes ? storage->blockBytes : kHeaderBytes;
  if (storage->onFree) {
    (*storage->onFree)();
    delete storage->onFree;
  }
  storage->~StorageImpl();
  freeHost(storage, block);
}

static TensorImpl *newImpl() {
  void *memory = allocateHost(sizeof(TensorImpl));
  if (!memory)
    throw std::bad_alloc();
  return new (memory) TensorImpl;
}

void destroy(TensorImpl *tensor) {
  if (tensor->autograd)
    destroyAutogradMeta(tensor->autograd);
  tensor->~TensorImpl();
  freeHost(tensor, sizeof(TensorImpl));
}

void denseStrides(std::span<const int64_t> sizes, int64_t *strides) {
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d] > 0 ? sizes[d] : 1;
  }
}

bool isDense(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0)
      return true;
    if (sizes[d] != 1 && strides[d] != expected)
      return false;
    expected *= sizes[d];
  }
  return true;
}

TensorRef newTensor(DType dtype, std::span<const int64_t> sizes) {
  int64_t elements = 1, bytes = 0;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(elements, size, &elements))
      return nullptr;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(sizeOf(dtype)), &bytes))
    return nullptr;
  StorageRef storage = newStorage(bytes);
  if (!storage)
    return nullptr;
  TensorImpl *tensor = newImpl();
  tensor->storage = std::move(storage);
  tensor->elements = elements;
  tensor->dtype = dtype;
  tensor->rank = static_cast<int8_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), tensor->sizes);
  denseStrides(sizes, tensor->strides);
  return TensorRef::adopt(tensor);
}

TensorRef newView(StorageRef storage, DType dtype, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  TensorImpl *tensor = newImpl();
  tensor->storage = std::move(storage);
  tensor->offset = offset;
  tensor->dtype = dtype;
  tensor->rank = static_cast<int8_t>(sizes.size());
  tensor->elements = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    tensor->sizes[d] = sizes[d];
    tensor->strides[d] = strides[d];
    tensor->elements *= sizes[d];
  }
  tensor->dense = isDense(sizes, strides);
  return TensorRef::adopt(tensor);
}

std::string describe(const TensorImpl &tensor) {
  return text(dtypeName(tensor.dtype), "[", joined(tensor.sizeSpan()), "]");
}

void copyElements(const TensorImpl &from, const TensorImpl &to) {
  if (from.elements == 0)
    return;
  int bytes = static_cast<int>(sizeOf(from.dtype));
  if (from.dense && to.dense) {
    std::memmove(to.data(), from.data(), static_cast<size_t>(from.denseBytes()));
    return;
  }
  if (from.rank == 0) {
    std::memcpy(to.data(), from.data(), static_cast<size_t>(bytes));
    return;
  }
  cpu::stridedCopy(to.data(), to.strideSpan(), from.data(), from.strideSpan(), from.sizeSpan(), bytes, 0, from.sizes[0]);
}

void copyDense(const TensorImpl &from, void *to) {
  if (from.dense) {
    std::memcpy(to, from.data(), static_cast<size_t>(from.denseBytes()));
    return;
  }
  if (from.elements == 0)
    return;
  int64_t strides[kMaxRank];
  denseStrides(from.sizeSpan(), strides);
  cpu::stridedCopy(to, {strides, static_cast<size_t>(from.rank)}, from.data(), from.strideSpan(), from.sizeSpan(),
                   static_cast<int>(sizeOf(from.dtype)), 0, from.sizes[0]);
}

} // namespace graphc::detail
