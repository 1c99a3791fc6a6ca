#include "runtime/base/DeviceId.h"

#include <charconv>

namespace graphc {

Result<DeviceId> DeviceId::parse(std::string_view text) {
  std::string_view kind = text.substr(0, text.find(':'));
  bool indexed = kind.size() < text.size();
  std::string_view digits = indexed ? text.substr(kind.size() + 1) : std::string_view();
  auto unknown = [&] {
    return error(Code::InvalidOption, "device '", text, "' is unknown; valid are cpu, sim[:N] and cuda[:N]");
  };
  if (kind == "mps")
    return error(Code::DeviceUnavailable, "device 'mps' is not available in this build; use cpu, sim[:N] or cuda[:N]");
  DeviceId id;
  if (kind == "cuda")
    id.kind = Kind::Cuda;
  else if (kind == "sim")
    id.kind = Kind::Sim;
  else if (kind != "cpu" || indexed)
    return unknown();
  if (!indexed)
    return id;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), id.index);
  if (digits.empty() || digits[0] == '-' || problem != std::errc() || end != digits.data() + digits.size())
    return unknown();
  return id;
}

std::string DeviceId::str() const {
  if (isCpu())
    return "cpu";
  return text(kind == Kind::Cuda ? "cuda" : "sim", ":", index);
}

} // namespace graphc
