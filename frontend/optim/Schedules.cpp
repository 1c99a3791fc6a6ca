// Schedules in closed form: a rate is a function of the first rate and the step, so a restored schedule is the saved one
// exactly, and nothing is lost to repeated rounding.
#include "frontend/graphc/schedules.h"

#include "frontend/eager/Tracing.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace graphc::optim {
namespace {
void checkSteps(const char *schedule, int64_t steps) {
  if (steps < 1)
    raise(Code::InvalidOption, schedule, ": ", steps, " steps, at least 1 is needed");
}
double halfCosine(double from, double to, double part) { return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2; }
} // namespace

Schedule::Schedule(Optimizer &optimizer) : optimizer_(&optimizer) {
  for (size_t group = 0; group < optimizer.groups(); ++group)
    first_.push_back(optimizer.learningRate(group));
}

void Schedule::moveTo(int64_t step) {
  if (eager::recorder())
    raise(Code::InvalidOption, "schedule: a step inside a compiled function would happen only while it is traced; call schedule.step() after the function");
  step_ = step;
  write();
}
void Schedule::write() {
  for (size_t group = 0; group < first_.size(); ++group)
    optimizer_->setLearningRate(group, rateAt(first_[group], step_));
}

SavedState Schedule::saveState() const {
  SavedState state;
  state.set("schedule", name());
  state.set("step", step_);
  state.set("groups", static_cast<int64_t>(first_.size()));
  for (size_t group = 0; group < first_.size(); ++group)
    state.set("first" + std::to_string(group), first_[group]);
  return state;
}

std::function<void()> Schedule::prepareLoad(const SavedState &state) {
  if (const std::string &kind = state.word("schedule", name()); kind != name())
    raise(Code::WeightFile, name(), ": the state is one of ", kind);
  if (int64_t count = state.integer("groups", name()); count != static_cast<int64_t>(first_.size()))
    raise(Code::WeightFile, name(), ": the state is of another optimizer: it has ", count, " groups, here are ", first_.size());
  int64_t step = state.integer("step", name());
  std::vector<double> first;
  for (size_t group = 0; group < first_.size(); ++group)
    first.push_back(state.number("first" + std::to_string(group), name()));
  return [this, step, first = std::move(first)] {
    first_ = first;
    moveTo(step);
  };
}

StepDecay::StepDecay(Optimizer &optimizer, const StepDecayOptions &options) : Schedule(optimizer), options_(options) {
  checkSteps("StepDecay", options.every);
  write();
}
double StepDecay::rateAt(double first, int64_t step) const { return first * std::pow(options_.factor, static_cast<double>(step / options_.every)); }

MultiStep::MultiStep(Optimizer &optimizer, const MultiStepOptions &options) : Schedule(optimizer), options_(options) { write(); }
double MultiStep::rateAt(double first, int64_t step) const {
  auto passed = std::count_if(options_.milestones.begin(), options_.milestones.end(), [&](int64_t milestone) { return milestone <= step; });
  return first * std::pow(options_.factor, static_cast<double>(passed));
}

Exponential::Exponential(Optimizer &optimizer, double factor) : Schedule(optimizer), factor_(factor) { write(); }
double Exponential::rateAt(double first, int64_t step) const { return first * std::pow(factor_, static_cast<double>(step)); }

Linear::Linear(Optimizer &optimizer, const LinearOptions &options) : Schedule(optimizer), options_(options) {
  checkSteps("Linear", options.steps);
  write();
}
double Linear::rateAt(double first, int64_t step) const {
  double part = static_cast<double>(std::min(step, options_.steps)) / static_cast<double>(options_.steps);
  return first * (options_.start + (options_.end - options_.start) * part);
}

Constant::Constant(Optimizer &optimizer, const ConstantOptions &options) : Schedule(optimizer), options_(options) { write(); }
double Constant::rateAt(double first, int64_t step) const { return step < options_.steps ? first * options_.factor : first; }

Polynomial::Polynomial(Optimizer &optimizer, const PolynomialOptions &options) : Schedule(optimizer), options_(options) {
  checkSteps("Polynomial", options.steps);
  write();
}
double Polynomial::rateAt(double first, int64_t step) const {
  double left = 1 - static_cast<double>(std::min(step, options_.steps)) / static_cast<double>(options_.steps);
  return first * std::pow(left, options_.power);
}

CosineAnnealing::CosineAnnealing(Optimizer &optimizer, const CosineOptions &options) : Schedule(optimizer), options_(options) {
  checkSteps("CosineAnnealing", options.steps);
  checkSteps("CosineAnnealing", options.growth);
  if (options.warmup < 0)
    raise(Code::InvalidOption, "CosineAnnealing: warmup is ", options.warmup, ", at least 0 is needed");
  write();
}
double CosineAnnealing::rateAt(double first, int64_t step) const {
  // The first step of a warm-up moves a little already: a rate of zero would waste it.
  if (step < options_.warmup)
    return first * static_cast<double>(step + 1) / static_cast<double>(options_.warmup + 1);
  step -= options_.warmup;
  int64_t length = options_.steps;
  if (options_.restarts)
    while (step >= length) {
      step -= length;
      length *= options_.growth;
    }
  return halfCosine(first, options_.lowest, static_cast<double>(step) / static_cast<double>(length));
}

OneCycle::OneCycle(Optimizer &optimizer, const OneCycleOptions &options) : Schedule(optimizer), options_(options) {
  checkSteps("OneCycle", options.steps);
  if (!(options.up > 0 && options.up < 1))
    raise(Code::InvalidOption, "OneCycle: up is ", options.up, ", it must be between 0 and 1");
  if (options.cycleMomentum)
    for (size_t group = 0; group < optimizer.groups(); ++group)
      if (!optimizer.momentum(group))
        raise(Code::InvalidOption, "OneCycle: ", optimizer.name(), " has no momentum to move; set cycleMomentum = false");
  write();
}
/// From `low` up to `high` and down to `last`.
double OneCycle::between(double low, double high, double last, int64_t step) const {
  double top = options_.up * static_cast<double>(options_.steps) - 1, end = static_cast<double>(options_.steps) - 1;
  double at = static_cast<double>(std::min(step, options_.steps - 1));
  bool climbing = at <= top;
  double from = climbing ? low : high, to = climbing ? high : last;
  double part = climbing ? (top > 0 ? at / top : 1) : (at - top) / (end - top);
  return options_.cosine ? halfCosine(from, to, part) : from + (to - from) * part;
}
double OneCycle::rateAt(double, int64_t step) const {
  double low = options_.highest / options_.divide;
  return between(low, options_.highest, low / options_.finalDivide, step);
}
double OneCycle::momentumAt(int64_t step) const { return between(options_.highMomentum, options_.lowMomentum, options_.highMomentum, step); }
void OneCycle::write() {
  Schedule::write();
  if (options_.cycleMomentum)
    for (size_t group = 0; group < first_.size(); ++group)
      optimizer_->setMomentum(group, momentumAt(step_));
}

Lambda::Lambda(Optimizer &optimizer, std::function<double(int64_t)> factor) : Schedule(optimizer), factor_(std::move(factor)) { write(); }

ReduceOnPlateau::ReduceOnPlateau(Optimizer &optimizer, const PlateauOptions &options)
    : optimizer_(&optimizer), options_(options),
      best_(options.higherIsBetter ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {
  if (!(options.factor > 0 && options.factor < 1))
    raise(Code::InvalidOption, "ReduceOnPlateau: factor is ", options.factor, ", it must be between 0 and 1");
}
void ReduceOnPlateau::step(double metric) {
  bool better = options_.higherIsBetter ? metric > best_ * (1 + options_.threshold) : metric < best_ * (1 - options_.threshold);
  if (better || std::isinf(best_))
    best_ = metric, bad_ = 0;
  else
    ++bad_;
  if (cooling_ > 0)
    --cooling_, bad_ = 0;
  if (bad_ <= options_.patience)
    return;
  for (size_t group = 0; group < optimizer_->groups(); ++group)
    optimizer_->setLearningRate(group, std::max(options_.lowest, optimizer_->learningRate(group) * options_.factor));
  cooling_ = options_.cooldown;
  bad_ = 0;
}
SavedState ReduceOnPlateau::saveState() const {
  SavedState state;
  state.set("best", best_);
  state.set("bad", bad_);
  state.set("cooling", cooling_);
  return state;
}
std::function<void()> ReduceOnPlateau::prepareLoad(const SavedState &state) {
  double best = state.number("best", "ReduceOnPlateau");
  int64_t bad = state.integer("bad", "ReduceOnPlateau"), cooling = state.integer("cooling", "ReduceOnPlateau");
  return [=, this] { best_ = best, bad_ = bad, cooling_ = cooling; };
}

} // namespace graphc::optim
