// How an operator's import says no. Inside this folder (and nowhere else) that is an exception: forty small functions
// stay readable, and one place (GraphImporter::importNode) turns it into a line of the report.
#pragma once

#include "runtime/base/Status.h"

#include <set>
#include <string>

namespace graphc::onnx_import {

struct Failure {
  Code code;
  std::string message;
  /// Inputs whose values would have helped.
  std::set<std::string> valueInputs;
};

template <typename... Parts>
[[noreturn]] void fail(Code code, Parts &&...parts) {
  throw Failure{code, text(std::forward<Parts>(parts)...), {}};
}
/// The node is valid ONNX that graphc cannot compile; collected by kind into one report.
template <typename... Parts>
[[noreturn]] void unsupported(Parts &&...parts) {
  throw Failure{Code::UnsupportedOp, text(std::forward<Parts>(parts)...), {}};
}

} // namespace graphc::onnx_import
