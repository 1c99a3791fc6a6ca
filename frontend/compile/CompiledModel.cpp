// What can be asked of a compiled model without the compiler.
#include "frontend/compile/Compiler.h"

namespace graphc {

double CompiledModel::compileMs() const {
  double total = 0;
  for (const PhaseTime &time : times)
    total += time.ms;
  return total;
}

} // namespace graphc
