// What every call of this API throws: a stable code and a sentence.
#pragma once

#include "runtime/base/TensorCodes.h"

#include <stdexcept>
#include <string>

namespace graphc {

/// What went wrong, with a stable code ("GC2004") that never changes its meaning.
class Error : public std::runtime_error {
public:
  explicit Error(const Status &status) : std::runtime_error(status.str()), code_(status.code()), message_(status.message()) {}
  Code code() const { return code_; }
  /// The sentence without the code.
  const std::string &message() const { return message_; }

private:
  Code code_;
  std::string message_;
};

} // namespace graphc
