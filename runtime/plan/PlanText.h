// The plan as text a person reads: `graphc inspect` and the readable copy inside a .gcx.
#pragma once

#include "runtime/plan/Plan.h"

#include <functional>

namespace graphc::plan {

struct PlanTextOptions {
  /// What to append to a command's line (the library's implementation name, a time …); may be empty.
  std::function<std::string(bool prepare, int command)> note;
  bool locations = true;
};

std::string planText(const PlanT &plan, const PlanTextOptions &options = {});

} // namespace graphc::plan
