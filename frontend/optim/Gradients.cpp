// Clipping and averages.
#include "frontend/eager/Batch.h"
#include "frontend/eager/Tracing.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "frontend/graphc/optim.h"
#include "frontend/tensor/Raise.h"
#include "runtime/tensor/TensorImpl.h"

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

namespace {

using Value = eager::GraphBuilder::Value;

/// Rows of this many elements are summed on their own, then the rows: an order that sizes alone decide.
constexpr int64_t kRow = 4096;

/// |x|^p, or |x| where p is infinite: what is summed or, there, compared.
Value term(eager::GraphBuilder &g, Value x, double p, DType dtype) {
  if (p == 2)
    return g.mul(x, x);
  auto size = g.op("abs", {x});
  return p == 1 || std::isinf(p) ? size : g.op("pow", {size, g.constant(p, dtype)});
}

/// One number for each row of each gradient, by one launch.
Tensor rowTerms(const std::vector<Tensor> &grads, double p) {
  DType stored = grads[0].dtype(), dtype = stored == DType::F64 ? DType::F64 : DType::F32;
  auto function = eager::functionOf(text("clipGradNorm rows ", p, " ", stored), {{stored, {"s0", "s1"}}}, [&](eager::GraphBuilder &g) {
    auto x = dtype == stored ? g.input(0) : g.castInput(0, dtype);
    g.result(g.op("reduce", {term(g, x, p, dtype)}, text("kind = \"", std::isinf(p) ? "max" : "sum", "\", axes = array<i64: 1>")));
  });
  int64_t rows = 0;
  for (const Tensor &grad : grads)
    rows += (grad.numel() + kRow - 1) / kRow;
  Tensor terms = empty({rows}, {.dtype = dtype});
  auto *result = static_cast<std::byte *>(terms.dataPtr());
  std::vector<eager::Run> runs;
  for (const Tensor &grad : grads) {
    auto *data = static_cast<std::byte *>(grad.dataPtr());
    int64_t whole = grad.numel() / kRow, rest = grad.numel() % kRow;
    if (whole)
      runs.push_back({{whole, kRow}, {data}, {result}});
    result += whole * terms.itemSize();
    if (rest)
      runs.push_back({{1, rest}, {data + whole * kRow * grad.itemSize()}, {result}});
    result += (rest ? 1 : 0) * terms.itemSize();
  }
  eager::runTogether(*function, runs);
  return terms;
}

using Formula = std::function<Value(eager::GraphBuilder &, Value, Value, Value)>;

/// Whether one launch may serve all; a program that is traced takes them one by one and fuses them itself.
bool allDense(const std::vector<Tensor> &tensors) {
  return !eager::recorder() && std::ranges::all_of(tensors, [&](const Tensor &each) { return each.device().isCpu() && each.isContiguous() && each.dtype() == tensors[0].dtype(); });
}

/// x = formula(x, a, b) for every x in place, by one launch; a and b are one tensor for all or one of x's sizes for each.
void changeTogether(const std::string &name, const std::vector<Tensor> &tensors, const std::vector<Tensor> &a, const std::vector<Tensor> &b,
                    const Formula &formula) {
  DType stored = tensors[0].dtype(), dtype = stored == DType::F64 ? DType::F64 : DType::F32;
  auto typeOf = [&](const std::vector<Tensor> &list) { return OpValueType{list[0].dtype(), list.size() == 1 && list[0].dim() == 0 ? std::vector<std::string>{} : std::vector<std::string>{"s0"}}; };
  std::vector<OpValueType> arguments = {{stored, {"s0"}}, typeOf(a), typeOf(b)};
  auto function = eager::functionOf(text(name, " ", stored), arguments, [&](eager::GraphBuilder &g) {
    auto wide = [&](int i) { return g.dtype(i) == dtype ? g.input(i) : g.castInput(i, dtype); };
    Value y = formula(g, wide(0), wide(1), wide(2));
    g.result(dtype == stored ? y : g.cast(y, stored, g.dims(0)));
  });
  std::vector<eager::Run> runs;
  for (size_t k = 0; k < tensors.size(); ++k)
    runs.push_back({{tensors[k].numel()}, {tensors[k].dataPtr(), a[k % a.size()].dataPtr(), b[k % b.size()].dataPtr()}, {tensors[k].dataPtr()}});
  eager::runTogether(*function, runs);
  for (const Tensor &each : tensors)
    each.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
}

Tensor numberFor(const std::vector<Tensor> &tensors, double value) {
  return scalarTensor(value, {.dtype = tensors[0].dtype() == DType::F64 ? DType::F64 : DType::F32});
}

} // namespace

Tensor clipGradNorm(const std::vector<Tensor> &parameters, double maxNorm, const ClipOptions &options) {
  double p = options.normType;
  if (!(maxNorm >= 0) || !(p > 0))
    raise(Code::InvalidOption, "clipGradNorm: maxNorm ", maxNorm, " must be at least 0 and normType ", p, " above 0");
  NoGrad guard;
  std::vector<Tensor> grads = gradientsOf(parameters);
  std::erase_if(grads, [](const Tensor &grad) { return grad.numel() == 0; });
  if (grads.empty())
    return zeros({});
  bool together = allDense(grads);
  Tensor total;
  if (together) {
    Tensor terms = rowTerms(grads, p);
    total = std::isinf(p) ? amax(terms) : p == 2 ? sqrt(sum(terms)) : pow(sum(terms), Scalar(1 / p));
  } else {
    std::vector<Tensor> norms;
    for (const Tensor &grad : grads)
      norms.push_back(std::isinf(p) ? amax(abs(grad)) : norm(grad, p));
    total = std::isinf(p) ? amax(stack(norms)) : norm(stack(norms), p);
  }
  if (options.errorIfNonfinite && !isfinite(total).item<bool>())
    raise(Code::CheckFailed, "clipGradNorm: the norm of the gradients is ", total.item<double>(), "; a gradient holds an infinity or a NaN");
  Tensor factor = minimum(rdiv(add(total, Scalar(1e-6)), Scalar(maxNorm)), Scalar(1.0));
  if (together)
    changeTogether("clipGradNorm scale", grads, {factor}, {factor}, [](eager::GraphBuilder &g, Value x, Value by, Value) { return g.mul(x, by); });
  else
    for (Tensor &grad : grads)
      grad.mul_(factor);
  return total;
}

void clipGradValue(const std::vector<Tensor> &parameters, double limit) {
  if (!(limit >= 0))
    raise(Code::InvalidOption, "clipGradValue: the limit is ", limit, ", it must be at least 0");
  NoGrad guard;
  std::vector<Tensor> grads = gradientsOf(parameters);
  if (grads.empty())
    return;
  if (allDense(grads))
    return changeTogether("clipGradValue", grads, {numberFor(grads, -limit)}, {numberFor(grads, limit)},
                          [](eager::GraphBuilder &g, Value x, Value low, Value high) { return g.op("min", {g.op("max", {x, low}), high}); });
  for (Tensor &grad : grads)
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
  if (!parameters_.empty() && allDense(parameters_) && allDense(averages_))
    return changeTogether("Ema", averages_, parameters_, {numberFor(averages_, 1 - decay_)},
                          [](eager::GraphBuilder &g, Value x, Value y, Value weight) { return g.add(x, g.mul(weight, g.sub(y, x))); });
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
