// A number as an argument of an op: it keeps whether it was a bool, an integer or a float, because type promotion asks.
#pragma once

#include <concepts>
#include <cstdint>

namespace graphc {

class Scalar {
public:
  enum class Kind : uint8_t { Bool, Int, Float };

  template <typename T>
    requires(std::integral<T> || std::floating_point<T>)
  constexpr Scalar(T value)
      : kind_(std::same_as<T, bool> ? Kind::Bool : std::integral<T> ? Kind::Int : Kind::Float),
        int_(static_cast<int64_t>(value)), float_(static_cast<double>(value)) {}

  constexpr Kind kind() const { return kind_; }
  constexpr bool isFloat() const { return kind_ == Kind::Float; }
  constexpr double toDouble() const { return float_; }
  constexpr int64_t toInt() const { return int_; }

private:
  Kind kind_;
  int64_t int_;
  double float_;
};

} // namespace graphc
