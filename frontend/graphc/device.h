// Where a tensor lives.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace graphc {

enum class DeviceKind : uint8_t { Cpu, Cuda, Sim };

/// "cpu", "cuda:1", "sim:0". A wrong string is an error that lists the valid ones; "mps" says that it is not available.
class Device {
public:
  constexpr Device() = default;
  constexpr Device(DeviceKind kind, int index = 0) : kind_(kind), index_(index) {}
  Device(std::string_view text);
  Device(const char *text) : Device(std::string_view(text)) {}
  Device(const std::string &text) : Device(std::string_view(text)) {}

  /// The fastest device that this process can use.
  static Device best();
  static constexpr Device cpu() { return {}; }

  constexpr DeviceKind kind() const { return kind_; }
  constexpr int index() const { return index_; }
  constexpr bool isCpu() const { return kind_ == DeviceKind::Cpu; }
  constexpr bool isCuda() const { return kind_ == DeviceKind::Cuda; }
  std::string str() const;
  constexpr bool operator==(const Device &) const = default;

private:
  DeviceKind kind_ = DeviceKind::Cpu;
  int index_ = 0;
};

inline std::ostream &operator<<(std::ostream &stream, const Device &device) { return stream << device.str(); }

/// Waits until everything given to the device is done. The CPU runs at once, so there it returns at once.
void synchronize(Device device = Device::cpu());

} // namespace graphc
