// What a Tensor handle points to: a view of a storage, and room for its place in an autograd graph.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Ref.h"
#include "runtime/base/TensorCodes.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace graphc {
struct AutogradMeta; // runtime/autograd
namespace detail {

/// Dims are kept inline, so that making a view allocates once.
inline constexpr int kMaxRank = 12;

struct DeviceId {
  uint8_t kind = 0; // graphc::DeviceKind
  int16_t index = 0;
  bool operator==(const DeviceId &) const = default;
};

/// Bytes shared by all views of them. The version counts in-place changes and belongs here, so that views and detached tensors
/// share it.
struct StorageImpl : RefCounted {
  std::byte *data = nullptr;
  int64_t bytes = 0;
  std::atomic<uint32_t> version{0};
  DeviceId device;
  bool inference = false;         // made in inference mode: no versions are counted
  int64_t blockBytes = 0;         // of the allocator's block that begins with this object; 0: borrowed memory
  std::function<void()> *onFree = nullptr; // of borrowed memory
  /// Of another device than the CPU: what holds the memory. `data` is then an address there and must not be followed here.
  std::shared_ptr<void> deviceMemory;
};
inline void retain(StorageImpl *storage) { addReference(*storage); }
void destroy(StorageImpl *storage);
inline void release(StorageImpl *storage) {
  if (dropReference(*storage))
    destroy(storage);
}
using StorageRef = Ref<StorageImpl>;
/// Null when there is no memory.
StorageRef newStorage(int64_t bytes);
StorageRef borrowStorage(void *data, int64_t bytes, std::function<void()> onFree);
StorageRef deviceStorage(DeviceId device, uint64_t address, int64_t bytes, std::shared_ptr<void> memory);

struct TensorImpl : RefCounted {
  StorageRef storage;
  int64_t offset = 0; // elements
  int64_t elements = 0;
  DType dtype = DType::F32;
  int8_t rank = 0;
  bool dense = true; // row-major without gaps
  bool requiresGrad = false; // a leaf that does, or made by ops from one that does
  AutogradMeta *autograd = nullptr;
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];

  std::byte *data() const { return storage->data + offset * static_cast<int64_t>(sizeOf(dtype)); }
  std::span<const int64_t> sizeSpan() const { return {sizes, static_cast<size_t>(rank)}; }
  std::span<const int64_t> strideSpan() const { return {strides, static_cast<size_t>(rank)}; }
  int64_t denseBytes() const { return elements * static_cast<int64_t>(sizeOf(dtype)); }
};
inline void retain(TensorImpl *tensor) { addReference(*tensor); }
void destroy(TensorImpl *tensor);
inline void release(TensorImpl *tensor) {
  if (dropReference(*tensor))
    destroy(tensor);
}
using TensorRef = Ref<TensorImpl>;

/// A dense tensor on the CPU with undefined contents; null when there is no memory.
TensorRef newTensor(DType dtype, std::span<const int64_t> sizes);
/// A view of `storage`. Rank at most kMaxRank.
TensorRef newView(StorageRef storage, DType dtype, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);
/// Whether sizes and strides are row-major without gaps (dims of size 1 have any stride).
bool isDense(std::span<const int64_t> sizes, std::span<const int64_t> strides);
void denseStrides(std::span<const int64_t> sizes, int64_t *strides);
/// "f32[2, 3]"
std::string describe(const TensorImpl &tensor);
/// Copies a view's elements to dense memory.
void copyDense(const TensorImpl &from, void *to);
/// Strided to strided, same sizes and dtype.
void copyElements(const TensorImpl &from, const TensorImpl &to);

} // namespace detail
} // namespace graphc
