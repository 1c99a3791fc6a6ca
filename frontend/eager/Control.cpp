// Branches and loops, run at once.
#include "frontend/graphc/control.h"

#include "frontend/eager/State.h"
#include "frontend/graphc/ops.h"

#include <algorithm>

namespace graphc {

using namespace eager;

namespace {

bool isTrue(const char *op, const Tensor &condition) {
  if (condition.dtype() != DType::Bool || condition.numel() != 1)
    failWith(Code::TypeMismatch, op, ": the condition must be one bool, got ", nameOf(condition));
  return condition.item<bool>();
}

/// What a body gives must look like what it took.
void checkState(const char *op, const std::vector<Tensor> &before, const std::vector<Tensor> &after) {
  if (before.size() != after.size())
    failWith(codes::InvalidArgument, op, ": the body takes ", before.size(), " tensors and gives ", after.size());
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i].dtype() != after[i].dtype() || !std::ranges::equal(before[i].sizes(), after[i].sizes()))
      failWith(Code::ShapeMismatch, op, ": state ", i, " is ", nameOf(before[i]), " before an iteration and ", nameOf(after[i]), " after it");
}

} // namespace

std::vector<Tensor> cond(const Tensor &condition, const std::function<std::vector<Tensor>()> &then,
                         const std::function<std::vector<Tensor>()> &otherwise) {
  return isTrue("cond", condition) ? then() : otherwise();
}
Tensor cond(const Tensor &condition, const std::function<Tensor()> &then, const std::function<Tensor()> &otherwise) {
  return isTrue("cond", condition) ? then() : otherwise();
}

std::vector<Tensor> whileLoop(const std::function<Tensor(const std::vector<Tensor> &)> &condition,
                              const std::function<std::vector<Tensor>(const std::vector<Tensor> &)> &body, std::vector<Tensor> state,
                              const WhileOptions &options) {
  for (int64_t trip = 0; (options.maxTrips < 0 || trip < options.maxTrips) && isTrue("whileLoop", condition(state)); ++trip) {
    std::vector<Tensor> next = body(state);
    checkState("whileLoop", state, next);
    state = std::move(next);
  }
  return state;
}

ScanStep scan(const std::function<ScanStep(const std::vector<Tensor> &, const std::vector<Tensor> &)> &body, std::vector<Tensor> state,
              const std::vector<Tensor> &scanned, const ScanOptions &options) {
  if (scanned.empty())
    failWith(codes::InvalidArgument, "scan: needs a tensor to scan; its length says how often the body runs");
  int64_t trips = scanned[0].size(options.dim);
  for (const Tensor &x : scanned)
    if (x.size(options.dim) != trips)
      failWith(Code::ShapeMismatch, "scan: ", nameOf(scanned[0]), " and ", nameOf(x), " have different sizes in dim ", options.dim);
  std::vector<std::vector<Tensor>> stacks;
  for (int64_t trip = 0; trip < trips; ++trip) {
    int64_t at = options.reverse ? trips - 1 - trip : trip;
    std::vector<Tensor> slices;
    for (const Tensor &x : scanned)
      slices.push_back(x.select(options.dim, at));
    ScanStep step = body(state, slices);
    checkState("scan", state, step.state);
    state = std::move(step.state);
    stacks.resize(std::max(stacks.size(), step.slices.size()));
    for (size_t i = 0; i < stacks.size(); ++i) {
      if (i >= step.slices.size() || static_cast<int64_t>(stacks[i].size()) != trip)
        failWith(codes::InvalidArgument, "scan: the body gives ", step.slices.size(), " slices to stack in iteration ", trip, ", and another number before");
      stacks[i].push_back(step.slices[i]);
    }
  }
  ScanStep result{std::move(state), {}};
  for (std::vector<Tensor> &parts : stacks) {
    if (options.reverse)
      std::reverse(parts.begin(), parts.end());
    result.slices.push_back(stack(parts, options.dim));
  }
  return result;
}

} // namespace graphc
