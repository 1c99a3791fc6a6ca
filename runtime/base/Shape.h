// Concrete sizes of a tensor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace graphc {

class Shape {
public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t &operator[](int axis) { return dims_[axis]; }
  const std::vector<int64_t> &dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  bool operator==(const Shape &) const = default;

  /// Product of the sizes; nothing when a size is negative or the product overflows.
  std::optional<int64_t> checkedElements() const;
  /// Product of the sizes, which must be valid.
  int64_t elements() const;
  /// Row-major strides in elements.
  std::vector<int64_t> denseStrides() const;
  /// "[1, 3, 224, 224]"
  std::string str() const;

private:
  std::vector<int64_t> dims_;
};

inline std::ostream &operator<<(std::ostream &stream, const Shape &shape) { return stream << shape.str(); }

} // namespace graphc
