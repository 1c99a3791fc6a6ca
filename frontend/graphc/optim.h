// Optimizers, schedules of their rates, clipping, averages of parameters.
//
//   optim::AdamW opt(net->parameters(), {.lr = 3e-4, .weightDecay = .1});
//   optim::CosineAnnealing schedule(opt, {.steps = 1000, .warmup = 50});
//   …
//   loss.backward();
//   optim::clipGradNorm(net->parameters(), 1.0);
//   opt.step();
//   opt.zeroGrad();
//   schedule.step();
//
// A step is one launch of one fused kernel per group and dtype, compiled from the formula; rates are its arguments, never
// constants. Parameters without a gradient are left alone, decay included.
#pragma once

#include "frontend/graphc/state.h"

#include <functional>
#include <memory>
#include <optional>

namespace graphc::optim {

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weightDecay = 0;
  bool nesterov = false, maximize = false;
};
struct AdamOptions {
  double lr = 1e-3, beta1 = .9, beta2 = .999, epsilon = 1e-8;
  double weightDecay = 0; // Adam adds it to the gradient; AdamW shrinks the parameter
  bool amsgrad = false, maximize = false;
};
struct AdamWOptions {
  double lr = 1e-3, beta1 = .9, beta2 = .999, epsilon = 1e-8, weightDecay = 1e-2;
  bool amsgrad = false, maximize = false;
};
struct RmspropOptions {
  double lr = 1e-2, alpha = .99, epsilon = 1e-8, weightDecay = 0, momentum = 0;
  bool centered = false, maximize = false;
};
struct AdagradOptions {
  double lr = 1e-2, lrDecay = 0, weightDecay = 0, initialAccumulator = 0, epsilon = 1e-10;
  bool maximize = false;
};

class Optimizer {
public:
  virtual ~Optimizer();
  Optimizer(const Optimizer &) = delete;
  Optimizer &operator=(const Optimizer &) = delete;

  /// Updates every parameter that has a gradient. What a gradient must be is checked before anything changes.
  void step();
  /// Calls `closure` with gradients enabled, then steps; gives the closure's loss.
  Tensor step(const std::function<Tensor()> &closure);
  /// Makes the state of every parameter that has none yet, as the first step would.
  void makeState();
  /// Takes gradients away, or fills them with zeros.
  void zeroGrad(bool setToNone = true);

  size_t groups() const;
  const std::vector<Tensor> &parameters(size_t group) const;
  std::vector<Tensor> parameters() const;
  /// The rate of a group; schedules write it.
  virtual double learningRate(size_t group) const = 0;
  virtual void setLearningRate(size_t group, double lr) = 0;
  /// Momentum, or Adam's beta1; nothing when the optimizer has neither.
  virtual std::optional<double> momentum(size_t group) const = 0;
  virtual void setMomentum(size_t group, double momentum) = 0;

  virtual std::string name() const = 0;
  SavedState saveState() const;
  /// Refuses the state of another optimizer or model before anything changes.
  void loadState(const SavedState &state) { prepareLoad(state)(); }
  std::function<void()> prepareLoad(const SavedState &state);

  struct Slot; // a parameter and its state
  struct Update; // its way through one step
protected:
  Optimizer();
  void addParameters(std::vector<Tensor> parameters);
  /// The number, or an error when there is no such group.
  size_t checkGroup(size_t group) const;
  /// Names of the tensors a parameter's state consists of, under the group's options.
  virtual std::vector<std::string> stateNames(size_t group) const = 0;
  virtual double initialState(size_t group) const { return 0; }
  /// What a parameter goes through at `step`, counted from 1.
  virtual Update update(size_t group, int64_t step) const = 0;
  virtual void saveOptions(size_t group, SavedState &state, const std::string &prefix) const = 0;
  virtual std::function<void()> readOptions(size_t group, const SavedState &state, const std::string &prefix) = 0;

private:
  void apply(size_t group, Slot &slot);
  void applyTogether(size_t group, const std::vector<Slot *> &slots);
  void makeState(size_t group, Slot &slot);
  struct Groups;
  std::unique_ptr<Groups> groups_;
};

/// The part that depends on the options' type. A group is a list of parameters with options of its own.
template <typename OptionsType>
class OptimizerOf : public Optimizer {
public:
  using Options = OptionsType;
  struct Group {
    std::vector<Tensor> parameters;
    Options options;
  };
  void addGroup(Group group) {
    check(group.options);
    addParameters(std::move(group.parameters));
    options_.push_back(group.options);
  }
  /// What the next step uses; may be changed at any time.
  Options &options(size_t group = 0) { return options_[checkGroup(group)]; }
  const Options &options(size_t group = 0) const { return options_[checkGroup(group)]; }

  double learningRate(size_t group) const override { return options(group).lr; }
  void setLearningRate(size_t group, double lr) override { options(group).lr = lr; }
  std::optional<double> momentum(size_t group) const override;
  void setMomentum(size_t group, double momentum) override;

protected:
  OptimizerOf(std::vector<Tensor> parameters, const Options &options) { addGroup({std::move(parameters), options}); }
  explicit OptimizerOf(std::vector<Group> groups) {
    for (Group &group : groups)
      addGroup(std::move(group));
  }
  static void check(const Options &options);
  void saveOptions(size_t group, SavedState &state, const std::string &prefix) const override;
  std::function<void()> readOptions(size_t group, const SavedState &state, const std::string &prefix) override;

private:
  std::vector<Options> options_;
};

class SGD : public OptimizerOf<SgdOptions> {
public:
  SGD(std::vector<Tensor> parameters, const SgdOptions &options = {}) : OptimizerOf(std::move(parameters), options) {}
  explicit SGD(std::vector<Group> groups) : OptimizerOf(std::move(groups)) {}
  std::string name() const override { return "SGD"; }

private:
  std::vector<std::string> stateNames(size_t group) const override;
  Update update(size_t group, int64_t step) const override;
};
class Adam : public OptimizerOf<AdamOptions> {
public:
  Adam(std::vector<Tensor> parameters, const AdamOptions &options = {}) : OptimizerOf(std::move(parameters), options) {}
  explicit Adam(std::vector<Group> groups) : OptimizerOf(std::move(groups)) {}
  std::string name() const override { return "Adam"; }

private:
  std::vector<std::string> stateNames(size_t group) const override;
  Update update(size_t group, int64_t step) const override;
};
class AdamW : public OptimizerOf<AdamWOptions> {
public:
  AdamW(std::vector<Tensor> parameters, const AdamWOptions &options = {}) : OptimizerOf(std::move(parameters), options) {}
  explicit AdamW(std::vector<Group> groups) : OptimizerOf(std::move(groups)) {}
  std::string name() const override { return "AdamW"; }

private:
  std::vector<std::string> stateNames(size_t group) const override;
  Update update(size_t group, int64_t step) const override;
};
class RMSprop : public OptimizerOf<RmspropOptions> {
public:
  RMSprop(std::vector<Tensor> parameters, const RmspropOptions &options = {}) : OptimizerOf(std::move(parameters), options) {}
  explicit RMSprop(std::vector<Group> groups) : OptimizerOf(std::move(groups)) {}
  std::string name() const override { return "RMSprop"; }

private:
  std::vector<std::string> stateNames(size_t group) const override;
  Update update(size_t group, int64_t step) const override;
};
class Adagrad : public OptimizerOf<AdagradOptions> {
public:
  Adagrad(std::vector<Tensor> parameters, const AdagradOptions &options = {}) : OptimizerOf(std::move(parameters), options) {}
  explicit Adagrad(std::vector<Group> groups) : OptimizerOf(std::move(groups)) {}
  std::string name() const override { return "Adagrad"; }

private:
  std::vector<std::string> stateNames(size_t group) const override;
  double initialState(size_t group) const override { return options(group).initialAccumulator; }
  Update update(size_t group, int64_t step) const override;
};

// ---- gradients ----

struct ClipOptions {
  double normType = 2; // infinity: the largest element
  bool errorIfNonfinite = false;
};
/// Scales the gradients by min(1, maxNorm / (norm + 1e-6)) of their joint norm and gives the norm before, without waiting for
/// the device.
Tensor clipGradNorm(const std::vector<Tensor> &parameters, double maxNorm, const ClipOptions &options = {});
/// Moves every element of the gradients into [-limit, limit].
void clipGradValue(const std::vector<Tensor> &parameters, double limit);

/// Averages of parameters: average = decay × average + (1 - decay) × parameter at every update().
class Ema {
public:
  Ema(std::vector<Tensor> parameters, double decay = .999);
  void update();
  const std::vector<Tensor> &averages() const { return averages_; }
  /// Exchanges parameters and averages: evaluate in between, then swap() again.
  void swap();
  void copyTo(const std::vector<Tensor> &parameters) const;
  SavedState saveState() const;
  void loadState(const SavedState &state) { prepareLoad(state)(); }
  std::function<void()> prepareLoad(const SavedState &state);

private:
  std::vector<Tensor> parameters_, averages_;
  double decay_;
};

} // namespace graphc::optim
