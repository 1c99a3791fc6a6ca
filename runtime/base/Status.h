// Errors of the runtime: a stable code, a sentence, and nothing else. The public C++ API turns them into
// `graphc::Error`; tools print `graphc: error GC####: sentence`.
#pragma once

#include "runtime/base/Text.h"

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace graphc {

/// Stable numbers: append, never renumber. The thousands say who can fix it.
enum class Code : uint16_t {
  Ok = 0,

  // 1xxx: the model or program handed to the compiler.
  ModelUnreadable = 1001,
  ModelMalformed = 1002,
  UnsupportedOp = 1003,
  TypeMismatch = 1004,
  ShapeMismatch = 1005,
  MissingInitializer = 1006,
  InvalidOption = 1007,
  CompileFailed = 1008,

  // 2xxx: a call of a loaded model.
  InputCount = 2001,
  InputDType = 2002,
  InputRank = 2003,
  InputShape = 2004,
  SymbolRange = 2005,
  SymbolConflict = 2006,
  OutputBinding = 2007,
  UnknownName = 2008,
  CheckFailed = 2009,
  IndexOutOfRange = 2010,
  Cancelled = 2011,
  RoutineFailed = 2012,
  MissingInput = 2013,

  // 3xxx: an artifact, a plan or a weight file.
  ArtifactUnreadable = 3001,
  ArtifactTruncated = 3002,
  ArtifactCorrupt = 3003,
  ArtifactVersion = 3004,
  ArtifactTarget = 3005,
  PlanInvalid = 3006,
  WeightFile = 3007,
  KernelMissing = 3008,

  // 4xxx: the device or the environment.
  OutOfMemory = 4001,
  LibraryFailed = 4002,
  UnsupportedByLibrary = 4003,
  DeviceUnavailable = 4004,
  FileSystem = 4005,
  CacheUnusable = 4006,

  // 9xxx: our fault.
  Internal = 9001,
};

/// "GC2004"
std::string codeName(Code code);

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {
    assert(code != Code::Ok && "an error needs a code other than Ok");
  }

  bool ok() const { return code_ == Code::Ok; }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }
  /// "GC2004: input 'x': …"
  std::string str() const;

private:
  Code code_ = Code::Ok;
  std::string message_;
};

template <typename... Parts>
Status error(Code code, Parts &&...parts) {
  return Status(code, text(std::forward<Parts>(parts)...));
}

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {
    assert(!status_.ok() && "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return status_; }

  T &operator*() & { return checked(); }
  T &&operator*() && { return std::move(checked()); }
  const T &operator*() const & { return const_cast<Result *>(this)->checked(); }
  T *operator->() { return &checked(); }
  const T *operator->() const { return &const_cast<Result *>(this)->checked(); }

private:
  T &checked() {
    assert(value_ && "the value of a failed Result was read; test ok() first");
    return *value_;
  }

  std::optional<T> value_;
  Status status_;
};

} // namespace graphc

#define GRAPHC_CONCAT_(a, b) a##b
#define GRAPHC_CONCAT(a, b) GRAPHC_CONCAT_(a, b)

/// Leaves the function when `expr` (a Status) is an error.
#define GRAPHC_RETURN_IF_ERROR(expr)                                                                             \
  do {                                                                                                           \
    if (::graphc::Status status_ = (expr); !status_.ok())                                                        \
      return status_;                                                                                            \
  } while (false)

/// GRAPHC_ASSIGN_OR_RETURN(auto plan, loadPlan(path));
#define GRAPHC_ASSIGN_OR_RETURN(lhs, expr)                                                                       \
  auto GRAPHC_CONCAT(result_, __LINE__) = (expr);                                                                \
  if (!GRAPHC_CONCAT(result_, __LINE__).ok())                                                                    \
    return GRAPHC_CONCAT(result_, __LINE__).status();                                                            \
  lhs = *std::move(GRAPHC_CONCAT(result_, __LINE__))
