// Which device: "cpu", "cuda:1", "sim:0". `sim` is the simulated CUDA device.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace graphc {

struct DeviceId {
  enum class Kind : uint8_t { Cpu, Cuda, Sim };
  Kind kind = Kind::Cpu;
  int index = 0;

  /// Of `cpu`, `sim[:N]`, `cuda[:N]`; anything else is an error that lists these.
  static Result<DeviceId> parse(std::string_view text);
  std::string str() const;
  bool isCpu() const { return kind == Kind::Cpu; }
  bool operator==(const DeviceId &) const = default;
};

} // namespace graphc
