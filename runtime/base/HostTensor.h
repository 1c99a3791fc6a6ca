// A dense tensor in host memory, either owning its bytes or borrowing them from the caller.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <memory>
#include <span>

namespace graphc {

/// Alignment of everything the runtime allocates: one cache line, one zmm register.
inline constexpr size_t kAlignment = 64;

/// 64-byte aligned memory; never null, even for zero bytes. The block's size is a multiple of 64.
struct AlignedDelete {
  void operator()(void *pointer) const noexcept;
};
using AlignedBytes = std::unique_ptr<std::byte, AlignedDelete>;
/// Null when the system has no memory.
AlignedBytes allocateAligned(size_t bytes);

class HostTensor {
public:
  HostTensor() = default;
  HostTensor(HostTensor &&) = default;
  HostTensor &operator=(HostTensor &&) = default;

  /// Uninitialised memory of its own.
  static Result<HostTensor> allocate(DType dtype, Shape shape);
  /// The caller keeps `data` alive and gives as many bytes as dtype and shape need.
  static HostTensor borrow(DType dtype, Shape shape, void *data);
  static HostTensor borrow(DType dtype, Shape shape, const void *data);
  /// A copy of `values`; their number must fit the shape.
  template <typename T>
  static HostTensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static HostTensor of(Shape shape, std::span<const T> values) {
    assert(shape.elements() == static_cast<int64_t>(values.size()) && "values must fill the shape exactly");
    auto tensor = allocate(dtypeOf<T>(), std::move(shape));
    assert(tensor.ok() && "out of memory");
    std::copy(values.begin(), values.end(), tensor->template data<T>());
    return *std::move(tensor);
  }
  /// A copy that owns its bytes.
  Result<HostTensor> clone() const;

  DType dtype() const { return dtype_; }
  const Shape &shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t sizeBytes() const { return static_cast<size_t>(elements_) * sizeOf(dtype_); }
  bool ownsData() const { return owned_ != nullptr; }
  bool defined() const { return data_ != nullptr; }

  void *raw() { return data_; }
  const void *raw() const { return data_; }
  template <typename T>
  T *data() {
    assert(sizeof(T) == sizeOf(dtype_) && "the element type does not have the tensor's element size");
    return static_cast<T *>(data_);
  }
  template <typename T>
  const T *data() const {
    return const_cast<HostTensor *>(this)->data<T>();
  }
  template <typename T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<size_t>(elements_)};
  }

private:
  HostTensor(DType dtype, Shape shape, void *data, AlignedBytes owned)
      : dtype_(dtype), shape_(std::move(shape)), elements_(shape_.elements()), data_(data),
        owned_(std::move(owned)) {}

  DType dtype_ = DType::F32;
  Shape shape_;
  int64_t elements_ = 0;
  void *data_ = nullptr;
  AlignedBytes owned_;
};

} // namespace graphc
