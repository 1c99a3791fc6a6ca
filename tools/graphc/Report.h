// How the tool speaks of failure: `graphc: error GC####: …` as the first line on stderr, and an exit code.
#pragma once

#include "runtime/base/Status.h"
#include "tools/graphc/Verb.h"

#include <string_view>

namespace graphc::tool {

/// Who can fix it: the thousands of the code say so, with a few exceptions listed here.
ExitCode exitCodeOf(Code code);

/// Prints the error and returns its exit code.
int report(const Status &status);

/// The tool's own code for "everything ran, but the numbers differ".
inline constexpr std::string_view kMismatchCode = "GC5001";
int reportMismatch(std::string_view message);

} // namespace graphc::tool
