// Error codes of tensor programs: 5xxx of the list in Status.h. Append, never renumber.
#pragma once

#include "runtime/base/Status.h"

namespace graphc::codes {

inline constexpr Code DeviceMismatch{5001};  // operands on different devices
inline constexpr Code TensorAccess{5002};    // elements asked for that cannot be handed out
inline constexpr Code AutogradMisuse{5003};  // a gradient that does not exist, freed or changed state
inline constexpr Code InvalidArgument{5004}; // an argument outside what the op takes

} // namespace graphc::codes
