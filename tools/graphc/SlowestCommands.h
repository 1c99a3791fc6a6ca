// Which commands of a model cost most: the same call over and over, each command timed, the fastest of its times counted.
#pragma once

#include "tools/graphc/Model.h"

#include <span>
#include <string>
#include <vector>

namespace graphc::tool {

struct CommandCost {
  std::string name; // "Conv_3: matmul brg:avx2", "relu_7: kernel main_3_relu"
  double us = 0;
  double share = 0; // of all commands' time
};

/// All commands of the plan, the dearest first.
Result<std::vector<CommandCost>> costOfCommands(Model &model, std::span<const HostTensor> inputs, double seconds);

} // namespace graphc::tool
