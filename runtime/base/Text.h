// Building messages: text("input ", 3, " is missing"). libstdc++ 12 has no <format>.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace graphc {

template <typename... Parts>
std::string text(Parts &&...parts) {
  std::ostringstream stream;
  (stream << ... << std::forward<Parts>(parts));
  return stream.str();
}

/// "a, b, c"
template <typename Range>
std::string joined(const Range &range, const char *separator = ", ") {
  std::ostringstream stream;
  bool first = true;
  for (const auto &item : range) {
    if (!first)
      stream << separator;
    stream << item;
    first = false;
  }
  return stream.str();
}

} // namespace graphc
