#include "runtime/base/Status.h"

#include <cstdio>

namespace graphc {

std::string codeName(Code code) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "GC%04u", static_cast<unsigned>(code));
  return buffer;
}

std::string Status::str() const { return ok() ? "ok" : codeName(code_) + ": " + message_; }

} // namespace graphc
