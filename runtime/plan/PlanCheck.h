// Whether a plan makes sense: every index in range, every alias inside its root, nothing constant written. A plan
// that passes cannot make the executor leave its buffers; kernels are trusted to keep to the sizes they are given.
#pragma once

#include "runtime/plan/Plan.h"

#include <functional>

namespace graphc::plan {

Status checkPlan(const PlanT &plan);

/// Calls `visit(command, top-level index)` for every command of a list, bodies included, in order.
void walkCommands(const std::vector<std::unique_ptr<CommandT>> &commands,
                  const std::function<void(const CommandT &, int)> &visit);

/// Every buffer a command touches: its declared reads and writes and the buffers its action names.
std::vector<int> buffersOf(const CommandT &command);
/// The operands of a library call, routine, copy or fill.
std::vector<const OperandT *> operandsOf(const CommandT &command);

/// The buffer whose memory `buffer` lies in.
int rootOf(const PlanT &plan, int buffer);

/// "command 3 'conv1' (model.onnx:/conv1)"
std::string describe(const CommandT &command, int index);

} // namespace graphc::plan
