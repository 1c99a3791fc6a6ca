// The optimizers, as their papers and PyTorch write them. Rates and corrections are computed in double on the host and enter
// as numbers; `variant` holds the switches that change the formula.
#include "frontend/optim/Optimizer.h"

#include "frontend/tensor/Raise.h"

#include <cmath>

namespace graphc::optim {
namespace {

using Value = UpdateGraph::Value;

/// Every number of an options struct under its name. One list serves saving, loading and checking.
template <typename Fn>
void each(auto &o, Fn fn)
  requires requires { o.dampening; }
{
  fn("lr", o.lr), fn("momentum", o.momentum), fn("dampening", o.dampening), fn("weightDecay", o.weightDecay);
  fn("nesterov", o.nesterov), fn("maximize", o.maximize);
}
template <typename Fn>
void each(auto &o, Fn fn)
  requires requires { o.amsgrad; }
{
  fn("lr", o.lr), fn("beta1", o.beta1), fn("beta2", o.beta2), fn("epsilon", o.epsilon), fn("weightDecay", o.weightDecay);
  fn("amsgrad", o.amsgrad), fn("maximize", o.maximize);
}
template <typename Fn>
void each(auto &o, Fn fn)
  requires requires { o.centered; }
{
  fn("lr", o.lr), fn("alpha", o.alpha), fn("epsilon", o.epsilon), fn("weightDecay", o.weightDecay), fn("momentum", o.momentum);
  fn("centered", o.centered), fn("maximize", o.maximize);
}
template <typename Fn>
void each(auto &o, Fn fn)
  requires requires { o.lrDecay; }
{
  fn("lr", o.lr), fn("lrDecay", o.lrDecay), fn("weightDecay", o.weightDecay), fn("initialAccumulator", o.initialAccumulator), fn("epsilon", o.epsilon);
  fn("maximize", o.maximize);
}

/// Moments and decays of a gradient lie below one.
bool isFraction(std::string_view name) { return name == "beta1" || name == "beta2"; }

} // namespace

template <typename Options>
void OptimizerOf<Options>::check(const Options &options) {
  each(options, [](const char *name, auto value) {
    if constexpr (std::same_as<decltype(value), double>)
      if (!(value >= 0) || std::isinf(value) || (isFraction(name) && value >= 1))
        raise(Code::InvalidOption, "optimizer: ", name, " is ", value, ", it must be ", isFraction(name) ? "in [0, 1)" : "at least 0");
  });
  if constexpr (requires { options.nesterov; })
    if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
      raise(Code::InvalidOption, "optimizer: nesterov needs a momentum and no dampening");
}

template <typename Options>
void OptimizerOf<Options>::saveOptions(size_t group, SavedState &state, const std::string &prefix) const {
  each(options(group), [&](const char *name, auto value) {
    if constexpr (std::same_as<decltype(value), bool>)
      state.set(prefix + name, static_cast<int64_t>(value));
    else
      state.set(prefix + name, value);
  });
}

template <typename Options>
std::function<void()> OptimizerOf<Options>::readOptions(size_t group, const SavedState &state, const std::string &prefix) {
  Options read = options(group);
  each(read, [&]<typename T>(const char *key, T &value) {
    if constexpr (std::same_as<T, bool>)
      value = state.integer(prefix + key, name()) != 0;
    else
      value = state.number(prefix + key, name());
  });
  check(read);
  return [this, group, read] { options(group) = read; };
}

template <typename Options>
std::optional<double> OptimizerOf<Options>::momentum(size_t group) const {
  if constexpr (requires(Options o) { o.beta1; })
    return options(group).beta1;
  else if constexpr (requires(Options o) { o.momentum; })
    return options(group).momentum;
  else
    return std::nullopt;
}
template <typename Options>
void OptimizerOf<Options>::setMomentum(size_t group, double momentum) {
  if constexpr (requires(Options o) { o.beta1; })
    options(group).beta1 = momentum;
  else if constexpr (requires(Options o) { o.momentum; })
    options(group).momentum = momentum;
}

template class OptimizerOf<SgdOptions>;
template class OptimizerOf<AdamOptions>;
template class OptimizerOf<AdamWOptions>;
template class OptimizerOf<RmspropOptions>;
template class OptimizerOf<AdagradOptions>;

// ---- SGD ----

std::vector<std::string> SGD::stateNames(size_t group) const {
  return options(group).momentum != 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{};
}

Optimizer::Update SGD::update(size_t group, int64_t step) const {
  const SgdOptions &o = options(group);
  // The first buffer is the gradient itself, undampened.
  bool first = step == 1;
  double keep = first ? 0 : o.momentum, add = first ? 1 : 1 - o.dampening;
  std::vector<double> numbers = {o.maximize ? o.lr : -o.lr, o.maximize ? -o.weightDecay : o.weightDecay, keep, add, o.momentum};
  int variant = (o.weightDecay != 0) | (o.momentum != 0) << 1 | o.nesterov << 2;
  return Optimizer::Update{"sgd", variant, std::move(numbers), [=](UpdateGraph &u) {
    Value grad = u.gradient;
    if (o.weightDecay != 0)
      grad = u.add(grad, u.mul(u.numbers[1], u.parameter));
    if (o.momentum != 0) {
      Value buffer = u.add(u.mul(u.numbers[2], u.state[0]), u.mul(u.numbers[3], grad));
      u.state[0] = buffer;
      grad = o.nesterov ? u.add(grad, u.mul(u.numbers[4], buffer)) : buffer;
    }
    u.parameter = u.add(u.parameter, u.mul(u.numbers[0], grad));
  }};
}

// ---- Adam, AdamW ----

namespace {

template <typename Options>
std::vector<std::string> adamStates(const Options &options) {
  std::vector<std::string> names = {"exp_avg", "exp_avg_sq"};
  if (options.amsgrad)
    names.push_back("max_exp_avg_sq");
  return names;
}

/// ε is added after the correction, outside the root.
template <typename Options>
auto adam(const char *name, const Options &o, bool decoupled, int64_t count) {
  double step = static_cast<double>(count);
  double rate = o.lr / (1 - std::pow(o.beta1, step)), correction = std::sqrt(1 - std::pow(o.beta2, step));
  double decay = decoupled ? 1 - o.lr * o.weightDecay : o.weightDecay;
  std::vector<double> numbers = {-rate, 1 - o.beta1, o.beta2, 1 - o.beta2, correction, o.epsilon, decay, o.maximize ? -1. : 1.};
  int variant = (o.weightDecay != 0) | o.amsgrad << 1 | o.maximize << 2;
  return Optimizer::Update{name, variant, std::move(numbers), [=](UpdateGraph &u) {
    Value grad = o.maximize ? u.mul(u.numbers[7], u.gradient) : u.gradient, parameter = u.parameter;
    if (o.weightDecay != 0) {
      if (decoupled)
        parameter = u.mul(u.numbers[6], parameter);
      else
        grad = u.add(grad, u.mul(u.numbers[6], parameter));
    }
    Value mean = u.lerp(u.state[0], grad, u.numbers[1]);
    Value square = u.add(u.mul(u.numbers[2], u.state[1]), u.mul(u.numbers[3], u.mul(grad, grad)));
    u.state[0] = mean;
    u.state[1] = square;
    if (o.amsgrad)
      square = u.state[2] = u.max(u.state[2], square);
    Value denominator = u.add(u.div(u.sqrt(square), u.numbers[4]), u.numbers[5]);
    u.parameter = u.add(parameter, u.mul(u.numbers[0], u.div(mean, denominator)));
  }};
}

} // namespace

std::vector<std::string> Adam::stateNames(size_t group) const { return adamStates(options(group)); }
Optimizer::Update Adam::update(size_t group, int64_t step) const { return adam("adam", options(group), false, step); }
std::vector<std::string> AdamW::stateNames(size_t group) const { return adamStates(options(group)); }
Optimizer::Update AdamW::update(size_t group, int64_t step) const { return adam("adamw", options(group), true, step); }

// ---- RMSprop ----

std::vector<std::string> RMSprop::stateNames(size_t group) const {
  std::vector<std::string> names = {"square_avg"};
  if (options(group).momentum != 0)
    names.push_back("momentum_buffer");
  if (options(group).centered)
    names.push_back("grad_avg");
  return names;
}

Optimizer::Update RMSprop::update(size_t group, int64_t step) const {
  const RmspropOptions &o = options(group);
  std::vector<double> numbers = {-o.lr, o.alpha, 1 - o.alpha, o.epsilon, o.weightDecay, o.momentum, o.maximize ? -1. : 1.};
  int variant = (o.weightDecay != 0) | (o.momentum != 0) << 1 | o.centered << 2 | o.maximize << 3;
  return Optimizer::Update{"rmsprop", variant, std::move(numbers), [=](UpdateGraph &u) {
    Value grad = o.maximize ? u.mul(u.numbers[6], u.gradient) : u.gradient;
    if (o.weightDecay != 0)
      grad = u.add(grad, u.mul(u.numbers[4], u.parameter));
    Value square = u.state[0] = u.add(u.mul(u.numbers[1], u.state[0]), u.mul(u.numbers[2], u.mul(grad, grad)));
    if (o.centered) {
      size_t at = o.momentum != 0 ? 2 : 1;
      Value mean = u.state[at] = u.lerp(u.state[at], grad, u.numbers[2]);
      square = u.sub(square, u.mul(mean, mean));
    }
    Value move = u.div(grad, u.add(u.sqrt(square), u.numbers[3]));
    if (o.momentum != 0)
      move = u.state[1] = u.add(u.mul(u.numbers[5], u.state[1]), move);
    u.parameter = u.add(u.parameter, u.mul(u.numbers[0], move));
  }};
}

// ---- Adagrad ----

std::vector<std::string> Adagrad::stateNames(size_t) const { return {"sum"}; }

Optimizer::Update Adagrad::update(size_t group, int64_t step) const {
  const AdagradOptions &o = options(group);
  double rate = o.lr / (1 + static_cast<double>(step - 1) * o.lrDecay);
  std::vector<double> numbers = {-rate, o.epsilon, o.weightDecay, o.maximize ? -1. : 1.};
  int variant = (o.weightDecay != 0) | o.maximize << 1;
  return Optimizer::Update{"adagrad", variant, std::move(numbers), [=](UpdateGraph &u) {
    Value grad = o.maximize ? u.mul(u.numbers[3], u.gradient) : u.gradient;
    if (o.weightDecay != 0)
      grad = u.add(grad, u.mul(u.numbers[2], u.parameter));
    Value sum = u.state[0] = u.add(u.state[0], u.mul(grad, grad));
    u.parameter = u.add(u.parameter, u.mul(u.numbers[0], u.div(grad, u.add(u.sqrt(sum), u.numbers[1]))));
  }};
}

} // namespace graphc::optim
