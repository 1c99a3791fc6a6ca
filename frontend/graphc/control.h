// Branches and loops that the elements of tensors decide.
//
// Outside a trace they are what C++ would do: one branch runs, the loop runs as often as its condition says, and gradients follow
// what ran.
//
// In a compiled program (compile.h) a condition that the program computes chooses between values: both branches run, and a loop runs
// `maxTrips` times, where iterations after its end change nothing. What the chosen branch changes in place stays changed; it may not call
// backward() or step an optimizer. Bodies of loops must not change other tensors.
// A scan is written out.
#pragma once

#include "frontend/graphc/tensor.h"

#include <functional>
#include <vector>

namespace graphc {

/// What `then` gives when `condition`, one bool, is true, else what `otherwise` gives.
/// Error: the condition is no bool or has several elements.
std::vector<Tensor> cond(const Tensor &condition, const std::function<std::vector<Tensor>()> &then,
                         const std::function<std::vector<Tensor>()> &otherwise);
Tensor cond(const Tensor &condition, const std::function<Tensor()> &then, const std::function<Tensor()> &otherwise);

struct WhileOptions {
  int64_t maxTrips = -1; // the loop ends after so many iterations, whatever the condition says; -1: it does not (not in compiled programs)
};
/// state = body(state) while condition(state), one bool, is true; gives the last state.
/// Errors: those of `cond`; a body that gives another number of tensors, other dtypes or sizes than it took.
std::vector<Tensor> whileLoop(const std::function<Tensor(const std::vector<Tensor> &state)> &condition,
                              const std::function<std::vector<Tensor>(const std::vector<Tensor> &state)> &body, std::vector<Tensor> state,
                              const WhileOptions &options = {});

struct ScanStep {
  std::vector<Tensor> state;  // as many, of the same dtypes and sizes, as the body took
  std::vector<Tensor> slices; // of what is stacked
};
struct ScanOptions {
  int64_t dim = 0;      // of the scanned tensors, along which they are cut; what is stacked has it in the same place
  bool reverse = false; // the last slice goes first; stacks keep the order of the slices
};
/// body(state, slices) for each slice of `scanned` along one dim, which all of them have in the same size. Gives the last state and
/// the stacked slices (none when there was no iteration).
/// Errors: nothing to scan; scanned tensors of different lengths; a state that changes its sizes or dtype.
ScanStep scan(const std::function<ScanStep(const std::vector<Tensor> &state, const std::vector<Tensor> &slices)> &body, std::vector<Tensor> state,
              const std::vector<Tensor> &scanned, const ScanOptions &options = {});

} // namespace graphc
