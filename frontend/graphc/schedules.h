// How rates change over time. A schedule is a function of (the group's first rate, the number of steps so far); step() counts
// one further and writes the rates of all groups. Make it before the first step of the optimizer.
#pragma once

#include "frontend/graphc/optim.h"

#include <limits>

namespace graphc::optim {

class Schedule {
public:
  virtual ~Schedule() = default;
  Schedule(const Schedule &) = delete;
  Schedule &operator=(const Schedule &) = delete;
  void step() { moveTo(step_ + 1); }
  /// As if step() had been called this often.
  void moveTo(int64_t step);
  int64_t steps() const { return step_; }
  double rate(size_t group = 0) const { return optimizer_->learningRate(group); }

  SavedState saveState() const;
  void loadState(const SavedState &state) { prepareLoad(state)(); }
  std::function<void()> prepareLoad(const SavedState &state);
  virtual std::string name() const = 0;

  /// The rate after `step` steps of a group that began with `first`.
  virtual double rateAt(double first, int64_t step) const = 0;

protected:
  explicit Schedule(Optimizer &optimizer);
  /// Writes what rateAt() gives, and momenta where the schedule moves them.
  virtual void write();
  Optimizer *optimizer_;
  std::vector<double> first_;
  int64_t step_ = 0;
};

/// × factor every `every` steps.
struct StepDecayOptions {
  int64_t every = 1;
  double factor = .1;
};
class StepDecay : public Schedule {
public:
  StepDecay(Optimizer &optimizer, const StepDecayOptions &options);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "StepDecay"; }

private:
  StepDecayOptions options_;
};
/// × factor at each of these steps.
struct MultiStepOptions {
  std::vector<int64_t> milestones;
  double factor = .1;
};
class MultiStep : public Schedule {
public:
  MultiStep(Optimizer &optimizer, const MultiStepOptions &options);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "MultiStep"; }

private:
  MultiStepOptions options_;
};
/// × factor every step.
class Exponential : public Schedule {
public:
  Exponential(Optimizer &optimizer, double factor);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "Exponential"; }

private:
  double factor_;
};
/// From start × rate to end × rate in a straight line, then stays: a warm-up as it stands.
struct LinearOptions {
  double start = 1. / 3, end = 1;
  int64_t steps = 5;
};
class Linear : public Schedule {
public:
  Linear(Optimizer &optimizer, const LinearOptions &options);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "Linear"; }

private:
  LinearOptions options_;
};
/// factor × rate for some steps, then the rate itself.
struct ConstantOptions {
  double factor = 1. / 3;
  int64_t steps = 5;
};
class Constant : public Schedule {
public:
  Constant(Optimizer &optimizer, const ConstantOptions &options);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "Constant"; }

private:
  ConstantOptions options_;
};
/// rate × (1 - step / steps)^power, then zero.
struct PolynomialOptions {
  int64_t steps = 5;
  double power = 1;
};
class Polynomial : public Schedule {
public:
  Polynomial(Optimizer &optimizer, const PolynomialOptions &options);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "Polynomial"; }

private:
  PolynomialOptions options_;
};
/// Half a cosine from the rate down to `lowest` in `steps`, and up again, after a linear warm-up from zero.
struct CosineOptions {
  int64_t steps = 1;
  double lowest = 0;
  int64_t warmup = 0;
  bool restarts = false; // jump back to the rate instead of climbing …
  int64_t growth = 1;    // … each round this many times as long
};
class CosineAnnealing : public Schedule {
public:
  CosineAnnealing(Optimizer &optimizer, const CosineOptions &options);
  double rateAt(double first, int64_t step) const override;
  std::string name() const override { return "CosineAnnealing"; }

private:
  CosineOptions options_;
};
/// From highest / divide up to highest and far down to highest / divide / finalDivide; momentum (or beta1) moves the other way.
struct OneCycleOptions {
  double highest = .1;
  int64_t steps = 1;
  double up = .3; // part of the steps that climbs
  double divide = 25, finalDivide = 1e4;
  bool cosine = true, cycleMomentum = true;
  double lowMomentum = .85, highMomentum = .95;
};
class OneCycle : public Schedule {
public:
  OneCycle(Optimizer &optimizer, const OneCycleOptions &options);
  double rateAt(double first, int64_t step) const override;
  double momentumAt(int64_t step) const;
  std::string name() const override { return "OneCycle"; }

protected:
  void write() override;

private:
  double between(double low, double high, double last, int64_t step) const;
  OneCycleOptions options_;
};
/// The rate times what a function of the step gives.
class Lambda : public Schedule {
public:
  Lambda(Optimizer &optimizer, std::function<double(int64_t step)> factor);
  double rateAt(double first, int64_t step) const override { return first * factor_(step); }
  std::string name() const override { return "Lambda"; }

private:
  std::function<double(int64_t)> factor_;
};

/// Multiplies the rate when a number has not improved for a while. It is stepped with that number, after each evaluation.
struct PlateauOptions {
  double factor = .1;
  int64_t patience = 10, cooldown = 0;
  double threshold = 1e-4; // relative
  bool higherIsBetter = false;
  double lowest = 0;
};
class ReduceOnPlateau {
public:
  ReduceOnPlateau(Optimizer &optimizer, const PlateauOptions &options = {});
  void step(double metric);
  SavedState saveState() const;
  void loadState(const SavedState &state) { prepareLoad(state)(); }
  std::function<void()> prepareLoad(const SavedState &state);

private:
  Optimizer *optimizer_;
  PlateauOptions options_;
  double best_;
  int64_t bad_ = 0, cooling_ = 0;
};

} // namespace graphc::optim
