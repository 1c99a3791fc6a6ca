// From Status and Result, which the runtime returns, to graphc::Error, which the public API throws.
#pragma once

#include "frontend/graphc/error.h"

#include <utility>

namespace graphc {

template <typename... Parts>
[[noreturn]] void raise(Code code, Parts &&...parts) {
  throw Error(error(code, std::forward<Parts>(parts)...));
}

inline void orRaise(const Status &status) {
  if (!status.ok())
    throw Error(status);
}

template <typename T>
T orRaise(Result<T> result) {
  if (!result.ok())
    throw Error(result.status());
  return *std::move(result);
}

} // namespace graphc
