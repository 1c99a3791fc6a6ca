// Runs a recorded formula over every element of the result.
#pragma once
#include "codegen/reference/Formula.h"

namespace graphc::reference {

/// Fills `result`, whose shape is that of the formula's outermost loop. Fails when a computed index was out of range;
/// `what` names the op in the message.
Status evaluate(const Formula &formula, WideTensor &result, const std::string &what);

} // namespace graphc::reference
