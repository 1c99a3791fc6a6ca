// Element types and index arithmetic for routines.
#pragma once

#include "runtime/base/Float16.h"
#include "runtime/base/Shape.h"
#include "runtime/devices/cpu/Routine.h"

#include <cmath>
#include <type_traits>

namespace graphc::cpu::routines {

template <typename T>
inline constexpr bool isFloatElement = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

template <typename T>
bool isNan(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(value);
  else if constexpr (isFloatElement<T>)
    return std::isnan(static_cast<float>(value));
  else
    return false;
}

/// Something that can be compared: 16-bit floats widen, the rest is itself.
template <typename T>
auto comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return static_cast<float>(value);
  else
    return value;
}

/// Calls `body` with a null pointer of the C++ type of `dtype`.
template <typename Body>
void withElements(DType dtype, Body &&body) {
  switch (dtype) {
  case DType::F64:
    return body(static_cast<double *>(nullptr));
  case DType::F32:
    return body(static_cast<float *>(nullptr));
  case DType::F16:
    return body(static_cast<Half *>(nullptr));
  case DType::BF16:
    return body(static_cast<BFloat *>(nullptr));
  case DType::I64:
    return body(static_cast<int64_t *>(nullptr));
  case DType::I32:
    return body(static_cast<int32_t *>(nullptr));
  case DType::I16:
    return body(static_cast<int16_t *>(nullptr));
  case DType::I8:
    return body(static_cast<int8_t *>(nullptr));
  case DType::U64:
    return body(static_cast<uint64_t *>(nullptr));
  case DType::U32:
    return body(static_cast<uint32_t *>(nullptr));
  case DType::U16:
    return body(static_cast<uint16_t *>(nullptr));
  case DType::U8:
  case DType::Bool:
    return body(static_cast<uint8_t *>(nullptr));
  }
}

/// Offset in elements of row-major element `index` of the tensor.
inline int64_t elementOffset(const RoutineTensor &tensor, int64_t index) {
  int64_t offset = 0;
  for (int d = tensor.rank(); d-- > 0;) {
    offset += index % tensor.dims[d] * tensor.strides[d];
    index /= tensor.dims[d];
  }
  return offset;
}

/// Offset of the first element of line `line` along `axis`, lines counted row-major over the other dimensions.
inline int64_t lineStart(const RoutineTensor &tensor, int axis, int64_t line) {
  int64_t offset = 0;
  for (int d = tensor.rank(); d-- > 0;) {
    if (d == axis)
      continue;
    offset += line % tensor.dims[d] * tensor.strides[d];
    line /= tensor.dims[d];
  }
  return offset;
}

} // namespace graphc::cpu::routines
