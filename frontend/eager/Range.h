// Values that must be probabilities.
#pragma once

#include "frontend/eager/Dispatch.h"

namespace graphc::eager {

/// An error that names the op, what the tensor is to it, and its least and largest element when one is outside [0, 1] or NaN.
void checkUnit(const char *op, const char *what, const Tensor &tensor, const char *advice);

} // namespace graphc::eager
