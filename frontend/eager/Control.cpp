// Branches and loops, run at once. While a program is traced, a condition that it computes chooses between values instead: both
// branches, and as many iterations as a loop may have, are part of the program.
#include "frontend/graphc/control.h"

#include "frontend/eager/State.h"
#include "frontend/eager/Tracing.h"
#include "frontend/graphc/ops.h"

#include <algorithm>

namespace graphc {

using namespace eager;

namespace {

void checkCondition(const char *op, const Tensor &condition) {
  if (condition.dtype() != DType::Bool || condition.numel() != 1)
    failWith(Code::TypeMismatch, op, ": the condition must be one bool, got ", nameOf(condition));
}
bool isTrue(const char *op, const Tensor &condition) {
  checkCondition(op, condition);
  return condition.item<bool>();
}
/// Whether the program that is being traced decides the condition.
bool isTraced(const Tensor &condition) {
  Recorder *tracing = recorder();
  return tracing && tracing->isTraced(*condition.impl());
}

std::vector<Tensor> chosen(const Tensor &condition, const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  Tensor one = condition.reshape({});
  std::vector<Tensor> result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(where(one, a[i], b[i]));
  return result;
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
  if (!isTraced(condition))
    return isTrue("cond", condition) ? then() : otherwise();
  checkCondition("cond", condition);
  return recorder()->branch(condition, then, otherwise);
}
Tensor cond(const Tensor &condition, const std::function<Tensor()> &then, const std::function<Tensor()> &otherwise) {
  return cond(condition, [&] { return std::vector<Tensor>{then()}; }, [&] { return std::vector<Tensor>{otherwise()}; })[0];
}

namespace {

/// Every iteration that a loop may have; those after its end change nothing. The first condition is given.
std::vector<Tensor> tracedLoop(const std::function<Tensor(const std::vector<Tensor> &)> &condition,
                               const std::function<std::vector<Tensor>(const std::vector<Tensor> &)> &body, std::vector<Tensor> state, Tensor active,
                               int64_t left) {
  for (; left > 0; --left) {
    std::vector<Tensor> next = body(state);
    checkState("whileLoop", state, next);
    state = chosen(active, next, state);
    if (left > 1) {
      Tensor more = condition(state);
      checkCondition("whileLoop", more);
      active = logicalAnd(active, more.reshape({}));
    }
  }
  return state;
}

} // namespace

std::vector<Tensor> whileLoop(const std::function<Tensor(const std::vector<Tensor> &)> &condition,
                              const std::function<std::vector<Tensor>(const std::vector<Tensor> &)> &body, std::vector<Tensor> state,
                              const WhileOptions &options) {
  for (int64_t trip = 0; options.maxTrips < 0 || trip < options.maxTrips; ++trip) {
    Tensor more = condition(state);
    if (isTraced(more)) {
      checkCondition("whileLoop", more);
      if (options.maxTrips < 0)
        failWith(codes::InvalidArgument, "whileLoop: in a compiled program the condition is not known; give maxTrips, the most iterations there may be");
      return tracedLoop(condition, body, std::move(state), more.reshape({}), options.maxTrips - trip);
    }
    if (!isTrue("whileLoop", more))
      break;
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
