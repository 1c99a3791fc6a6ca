// What every call of this API throws: a stable code and a sentence.
#pragma once

#include "frontend/graphc/call_site.h"
#include "runtime/base/TensorCodes.h"

#include <stdexcept>
#include <string>

namespace graphc {

/// What went wrong, with a stable code ("GC2004") that never changes its meaning. what() is "GC2004: sentence", and where the
/// user's call is known "GC2004: sentence (train.cpp:31)".
class Error : public std::runtime_error {
public:
  explicit Error(const Status &status, std::source_location where = CallSite::current())
      : std::runtime_error(where.line() ? text(status.str(), " (", where.file_name(), ":", where.line(), ")") : status.str()), code_(status.code()),
        message_(status.message()), where_(where) {}
  Code code() const { return code_; }
  /// The sentence without code and place.
  const std::string &message() const { return message_; }
  /// The call of the user's program that failed; line 0 when that is not known.
  std::source_location where() const { return where_; }

private:
  Code code_;
  std::string message_;
  std::source_location where_;
};

} // namespace graphc
