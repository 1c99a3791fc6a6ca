// Are two tensors equal within a tolerance, and which element differs most?
#pragma once

#include "runtime/base/HostTensor.h"

#include <optional>
#include <string>

namespace graphc {

/// |got − want| ≤ atol + rtol·|want| + scaled·max|want|. NaN equals NaN, an infinity equals itself.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
  double scaled = 0;

  /// The rule of single-op tests.
  static Tolerance node() { return {}; }
  /// The rule of whole networks.
  static Tolerance network() { return {1e-3, 0, 1e-5}; }
  /// Whole networks in bf16: 8 bits of precision, rounded once per op; tens of roundings in a row add up to a few hundredths
  /// of the largest value.
  static Tolerance bf16() { return {2e-2, 0, 3e-2}; }
  static Tolerance exact() { return {0, 0, 0}; }
};

struct Comparison {
  bool matches = false;
  int64_t differing = 0;                    // elements outside the tolerance
  std::optional<int64_t> worst;             // flat index of the element that differs most, relative to what is allowed
  long double difference = 0, allowed = 0;  // at that element
  /// "matches (largest difference …)", or what is wrong: dtype, shape, or the worst element.
  std::string message;
};

Comparison compareTensors(const HostTensor &got, const HostTensor &want, Tolerance tolerance);

} // namespace graphc
