// Clipping and averages.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "frontend/graphc/optim.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <cmath>

namespace graphc::optim {

namespace {
std::vector<Tensor> gradientsOf(const std::vector<Tensor> &parameters) {
  std::vector<Tensor> grads;
  for (const Tensor &parameter : parameters)
    if (Tensor grad = parameter.grad(); grad.defined())
      grads.push_back(grad.detach()); // the same memory, whatever history create_graph gave it
  return grads;
}
} // namespace

Tensor clipGradNorm(const std::vector<Tensor> &parameters, double maxNorm, const ClipOptions &options) {
  if (!(maxNorm >= 0) || !(options.normType > 0))
    raise(Code::InvalidOption, "clipGradNorm: maxNorm ", maxNorm, " must be at least 0 and normType ", options.normType, " above 0");
  NoGrad guard;
  std::vector<Tensor> grads = gradientsOf(parameters), norms;
  if (grads.empty())
    return zeros({});
  for (const Tensor &grad : grads)
    norms.push_back(std::isinf(options.normType) ? amax(abs(grad)) : norm(grad, options.normType));
  Tensor all = stack(norms);
  Tensor total = std::isinf(options.normType) ? amax(all) : norm(all, options.normType);
  if (options.errorIfNonfinite && !isfinite(total).item<bool>())
    raise(Code::CheckFailed, "clipGradNorm: the norm of the gradients is ", total.item<double>(), "; a gradient holds an infinity or a NaN");
  Tensor factor = minimum(rdiv(add(total, Scalar(1e-6)), Scalar(maxNorm)), Scalar(1.0));
  for (Tensor &grad : grads)
    grad.mul_(factor);
  return total;
}

void clipGradValue(const std::vector<Tensor> &parameters, double limit) {
  if (!(limit >= 0))
    raise(Code::InvalidOption, "clipGradValue: the limit is ", limit, ", it must be at least 0");
  NoGrad guard;
  for (Tensor &grad : gradientsOf(parameters))
    grad.clamp_(Scalar(-limit), Scalar(limit));
}

Ema::Ema(std::vector<Tensor> parameters, double decay) : parameters_(std::move(parameters)), decay_(decay) {
  if (!(decay >= 0 && decay <= 1))
    raise(Code::InvalidOption, "Ema: decay is ", decay, ", it must be in 0…1");
  NoGrad guard;
  for (const Tensor &parameter : parameters_)
    averages_.push_back(parameter.detach().clone());
}

void Ema::update() {
  NoGrad guard;
  for (size_t k = 0; k < parameters_.size(); ++k)
    averages_[k].lerp_(parameters_[k].detach(), Scalar(1 - decay_));
}

void Ema::swap() {
  NoGrad guard;
  for (size_t k = 0; k < parameters_.size(); ++k) {
    Tensor held = parameters_[k].detach().clone();
    parameters_[k].copy_(averages_[k]);
    averages_[k].copy_(held);
  }
}

void Ema::copyTo(const std::vector<Tensor> &parameters) const {
  if (parameters.size() != averages_.size())
    raise(Code::ShapeMismatch, "Ema: ", averages_.size(), " averages for ", parameters.size(), " parameters");
  NoGrad guard;
  for (size_t k = 0; k < parameters.size(); ++k)
    Tensor(parameters[k]).copy_(averages_[k]);
}

SavedState Ema::saveState() const {
  SavedState state;
  state.set("decay", decay_);
  state.set("averages", static_cast<int64_t>(averages_.size()));
  for (size_t k = 0; k < averages_.size(); ++k)
    state.tensors.emplace_back(std::to_string(k), averages_[k]);
  return state;
}

std::function<void()> Ema::prepareLoad(const SavedState &state) {
  if (int64_t count = state.integer("averages", "Ema"); count != static_cast<int64_t>(averages_.size()))
    raise(Code::WeightFile, "Ema: the state is of another model: it has ", count, " averages, here are ", averages_.size());
  double decay = state.number("decay", "Ema");
  std::vector<Tensor> loaded;
  for (size_t k = 0; k < averages_.size(); ++k) {
    Tensor tensor = state.tensor(std::to_string(k));
    if (!tensor.defined() || !std::ranges::equal(tensor.sizes(), averages_[k].sizes()) || tensor.dtype() != averages_[k].dtype())
      raise(Code::WeightFile, "Ema: the state is of another model: average ", k, " is ", tensor.defined() ? tensor.describe() : "missing", ", here it is ",
            averages_[k].describe());
    loaded.push_back(tensor);
  }
  return [this, decay, loaded = std::move(loaded)] {
    NoGrad guard;
    decay_ = decay;
    for (size_t k = 0; k < loaded.size(); ++k)
      averages_[k].copy_(loaded[k]);
  };
}

} // namespace graphc::optim
