// Which way to be wrong is switched on: the environment variable GRAPHC_MUTANT names it.
#pragma once

#include <cstdlib>
#include <string_view>

namespace graphc {

inline bool mutant(std::string_view name) {
  static const char *active = std::getenv("GRAPHC_MUTANT");
  return active && name == active;
}

} // namespace graphc
