// "Linear(in=5, out=3)": how modules print themselves.
#pragma once

#include "frontend/graphc/tensor.h"
#include "runtime/base/Text.h"

namespace graphc::nn {

inline std::string spelled(const Extents &extents) {
  return extents.size() == 1 ? text(extents.values()[0]) : text("{", joined(extents.values()), "}");
}
inline const char *spelled(bool value) { return value ? "true" : "false"; }
inline bool is(const Extents &extents, int64_t value) {
  for (int64_t each : extents.values())
    if (each != value)
      return false;
  return true;
}

} // namespace graphc::nn
