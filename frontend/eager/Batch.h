// Many runs of one function as one start of the threads: what optimizers and clipping do to every tensor of a list.
#pragma once

#include "frontend/eager/Dispatch.h"

namespace graphc::eager {

/// The function known by `key`, over arguments whose sizes are numbers and the symbols s0, s1, …; built when nobody asked before.
std::shared_ptr<Function> functionOf(const std::string &key, const std::vector<OpValueType> &arguments,
                                     const std::function<void(GraphBuilder &)> &build);

/// Dense memory of the program's sizes under these symbols. A result may be the memory of an input where every element is read
/// before it is written.
struct Run {
  std::vector<int64_t> symbols;
  std::vector<void *> inputs, results;
};
/// One launch when the function is one kernel, which elementwise formulas and reductions of rows are; else run by run.
void runTogether(Function &function, std::span<const Run> runs);

} // namespace graphc::eager
