// A tensor as text that TensorSpec reads back, as long as nothing was left out.
#pragma once

#include "runtime/base/HostTensor.h"

#include <cstdint>
#include <string>

namespace graphc {

/// "2x2xf32=[[1 2][3 4]]"; more than `limit` elements print the first ones and "…".
std::string tensorText(const HostTensor &tensor, int64_t limit = 64);
/// The shortest digits that read back as the same element.
std::string elementText(const HostTensor &tensor, int64_t index);

} // namespace graphc
