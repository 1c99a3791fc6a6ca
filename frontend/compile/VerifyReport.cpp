// What can be asked of a verification's report without the compiler.
#include "frontend/compile/Verify.h"

#include <algorithm>

namespace graphc {

bool VerifyReport::matches() const {
  return std::all_of(findings.begin(), findings.end(), [](const VerifyFinding &finding) { return finding.kind == VerifyFinding::NotChecked; });
}

} // namespace graphc
