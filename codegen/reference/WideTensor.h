// A tensor as the interpreter holds it: every float is a double, every integer and bool an int64_t.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/base/HostTensor.h"
#include <memory>
#include <vector>

namespace graphc::reference {

/// What a scalar is while it is being computed. Integers wrap at their width; u64 is held as its bit pattern.
struct ScalarType {
  enum Class : uint8_t { Float, Integer, Bool } cls = Float;
  uint8_t width = 64;
  bool isUnsigned = false;
  bool operator==(const ScalarType &) const = default;
  bool isFloat() const { return cls == Float; }
  bool isWideUnsigned() const { return isUnsigned && width == 64; }
};
ScalarType scalarTypeOf(mlir::Type elementType);

/// An integer result brought back into its type.
inline int64_t wrap(int64_t value, ScalarType type) {
  if (type.cls == ScalarType::Bool)
    return value & 1;
  if (type.width == 64)
    return value;
  int shift = 64 - type.width;
  uint64_t high = static_cast<uint64_t>(value) << shift;
  return type.isUnsigned ? static_cast<int64_t>(high >> shift) : static_cast<int64_t>(high) >> shift;
}

/// Truncates towards zero and saturates; NaN gives 0.
int64_t saturate(double value, ScalarType type);

DType dtypeOfElement(mlir::Type elementType);

class WideTensor {
public:
  WideTensor() = default;
  /// Uninitialised; 64 bits an element.
  WideTensor(mlir::Type elementType, std::vector<int64_t> shape);

  bool defined() const { return storage != nullptr; }
  mlir::Type elementType() const { return element; }
  ScalarType scalarType() const { return scalarTypeOf(element); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element); }
  const std::vector<int64_t> &shape() const { return sizes; }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t elements() const { return count; }
  std::vector<int64_t> strides() const;

  /// The elements of a float tensor, or of an integer or bool tensor. Storage is shared between reshapes: only the op
  /// that made a tensor writes to it.
  double *floats() const { return static_cast<double *>(checked(true)); }
  int64_t *integers() const { return static_cast<int64_t *>(checked(false)); }

  WideTensor reshaped(std::vector<int64_t> shape) const;
  WideTensor clone() const;
  /// Slice `at` along dim 0, a copy; and the same written.
  WideTensor slice(int64_t at) const;
  void setSlice(int64_t at, const WideTensor &slice);

  static WideTensor from(const HostTensor &tensor, mlir::Type elementType);
  Result<HostTensor> toHost() const;

private:
  void *checked(bool asFloat) const {
    assert(isFloat() == asFloat && "elements were asked for in the wrong class");
    return storage.get();
  }

  mlir::Type element;
  std::vector<int64_t> sizes;
  int64_t count = 0;
  std::shared_ptr<void> storage;
};

} // namespace graphc::reference
