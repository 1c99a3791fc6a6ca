// One element of a tensor as a number, whatever its dtype. For files, comparison and printing; kernels never come here.
#pragma once

#include "runtime/base/Float16.h"
#include "runtime/base/HostTensor.h"

#include <cassert>
#include <cstdint>
#include <type_traits>

namespace graphc {

/// Calls `fn(T{})` with the C++ type that stores `dtype`: Half and BFloat for the 16-bit floats.
template <typename Fn>
decltype(auto) withElementType(DType dtype, Fn &&fn) {
  switch (dtype) {
  case DType::F64: return fn(double{});
  case DType::F32: return fn(float{});
  case DType::F16: return fn(Half{});
  case DType::BF16: return fn(BFloat{});
  case DType::I64: return fn(int64_t{});
  case DType::I32: return fn(int32_t{});
  case DType::I16: return fn(int16_t{});
  case DType::I8: return fn(int8_t{});
  case DType::U64: return fn(uint64_t{});
  case DType::U32: return fn(uint32_t{});
  case DType::U16: return fn(uint16_t{});
  case DType::U8: return fn(uint8_t{});
  case DType::Bool: return fn(bool{});
  }
  assert(false && "a dtype outside the enumeration");
  __builtin_unreachable();
}

/// long double holds every value of every dtype exactly on x86: 64 bits of mantissa.
inline long double readElement(const HostTensor &tensor, int64_t index) {
  return withElementType(tensor.dtype(), [&](auto sample) -> long double {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool>)
      return static_cast<const uint8_t *>(tensor.raw())[index] != 0;
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
      return static_cast<float>(static_cast<const T *>(tensor.raw())[index]);
    else
      return static_cast<const T *>(tensor.raw())[index];
  });
}

/// Rounds once, to nearest even; integers must fit (the caller has checked).
inline void writeElement(HostTensor &tensor, int64_t index, long double value) {
  withElementType(tensor.dtype(), [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool>)
      static_cast<uint8_t *>(tensor.raw())[index] = value != 0;
    else if constexpr (std::is_same_v<T, Half>)
      static_cast<T *>(tensor.raw())[index].bits = doubleToHalf(static_cast<double>(value));
    else if constexpr (std::is_same_v<T, BFloat>)
      static_cast<T *>(tensor.raw())[index].bits = doubleToBfloat(static_cast<double>(value));
    else
      static_cast<T *>(tensor.raw())[index] = static_cast<T>(value);
  });
}

} // namespace graphc
