// Element types of tensors that cross the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace graphc {

/// Numbers are stored in plans and artifacts: append only.
enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool };

inline constexpr int kNumDTypes = 13;

/// Bytes of one element.
constexpr size_t sizeOf(DType type) {
  constexpr uint8_t sizes[kNumDTypes] = {8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
  return sizes[static_cast<int>(type)];
}

constexpr bool isFloat(DType type) { return type <= DType::BF16; }
constexpr bool isSigned(DType type) { return type <= DType::I8; }
/// Integers, without bool.
constexpr bool isInteger(DType type) { return type >= DType::I64 && type <= DType::U8; }

/// "f32", "bf16", "i64", "u8", "bool"
std::string_view dtypeName(DType type);
std::optional<DType> dtypeFromName(std::string_view name);
inline std::ostream &operator<<(std::ostream &stream, DType type) { return stream << dtypeName(type); }

/// The DType of a C++ element type (`bool` is one byte, 0 or 1).
template <typename T>
constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<double>() { return DType::F64; }
template <> constexpr DType dtypeOf<float>() { return DType::F32; }
template <> constexpr DType dtypeOf<int64_t>() { return DType::I64; }
template <> constexpr DType dtypeOf<int32_t>() { return DType::I32; }
template <> constexpr DType dtypeOf<int16_t>() { return DType::I16; }
template <> constexpr DType dtypeOf<int8_t>() { return DType::I8; }
template <> constexpr DType dtypeOf<uint64_t>() { return DType::U64; }
template <> constexpr DType dtypeOf<uint32_t>() { return DType::U32; }
template <> constexpr DType dtypeOf<uint16_t>() { return DType::U16; }
template <> constexpr DType dtypeOf<uint8_t>() { return DType::U8; }
template <> constexpr DType dtypeOf<bool>() { return DType::Bool; }

} // namespace graphc
