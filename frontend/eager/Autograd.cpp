// Gradient modes, backward(), hooks, functions of the user's own.
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "runtime/autograd/Engine.h"

#include <algorithm>
#include <cmath>

namespace graphc {

using namespace eager;

//===-- modes -----------------------------------------------------------------------------------------------------===//
NoGrad::NoGrad() : before_(std::exchange(ThreadContext::current().gradEnabled, false)) {}
NoGrad::~NoGrad() { ThreadContext::current().gradEnabled = before_; }
GradMode::GradMode(bool enabled) : before_(std::exchange(ThreadContext::current().gradEnabled, enabled)) {}
GradMode::~GradMode() { ThreadContext::current().gradEnabled = before_; }
bool GradMode::isEnabled() { return ThreadContext::current().gradEnabled; }
InferenceMode::InferenceMode(bool enabled)
    : grad_(std::exchange(ThreadContext::current().gradEnabled, !enabled && ThreadContext::current().gradEnabled)),
      inference_(std::exchange(ThreadContext::current().inferenceMode, enabled)) {}
InferenceMode::~InferenceMode() {
  ThreadContext::current().gradEnabled = grad_;
  ThreadContext::current().inferenceMode = inference_;
}
bool InferenceMode::isEnabled() { return ThreadContext::current().inferenceMode; }
AnomalyDetection::AnomalyDetection(bool enabled) : before_(std::exchange(ThreadContext::current().anomalyDetection, enabled)) {}
AnomalyDetection::~AnomalyDetection() { ThreadContext::current().anomalyDetection = before_; }

namespace {

class EagerGradientOps final : public GradientOps {
public:
  TensorRef add(const TensorRef &a, const TensorRef &b) override { return ref(graphc::add(wrap(a), wrap(b))); }
  void addInto(const TensorRef &a, const TensorRef &b) override {
    NoGrad guard;
    Tensor sum = wrap(a);
    if (!std::ranges::equal(a->sizeSpan(), b->sizeSpan()))
      failWith(Code::ShapeMismatch, "backward: gradients of sizes [", joined(a->sizeSpan()), "] and [", joined(b->sizeSpan()), "] meet");
    sum.add_(wrap(b));
  }
  TensorRef clone(const TensorRef &a) override { return ref(wrap(a).clone()); }
  TensorRef detach(const TensorRef &a) override { return ref(wrap(a).detach()); }
  bool hasNan(const TensorRef &a) override {
    NoGrad guard;
    return isnan(wrap(a)).any().item<bool>();
  }
  bool setGradMode(bool enabled) override { return std::exchange(ThreadContext::current().gradEnabled, enabled); }
};

std::vector<Tensor> walkBack(const char *what, const std::vector<Tensor> &outputs, const std::vector<Tensor> &gradients, bool keepGraph,
                             bool createGraph, std::span<const Edge> wanted) {
  if (!gradients.empty() && gradients.size() != outputs.size())
    failWith(codes::InvalidArgument, what, ": ", outputs.size(), " outputs and ", gradients.size(), " gradients");
  std::vector<Edge> roots;
  EngineCall call;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &output = outputs[i];
    if (!output.defined() || !requiresGradNow(*output.impl()))
      failWith(codes::AutogradMisuse, what, ": ", output.defined() ? nameOf(output) : "an undefined tensor",
               " does not require grad and no op that does made it; set requiresGrad on what it was computed from");
    Tensor gradient = gradients.empty() ? Tensor() : gradients[i];
    if (!gradient.defined()) {
      if (output.numel() != 1)
        failWith(codes::AutogradMisuse, what, ": ", nameOf(output), " has ", output.numel(),
                 " elements; only a tensor of one element needs no gradient given, else pass one or take a sum()");
      NoGrad guard;
      gradient = onesLike(output);
    } else if (!std::ranges::equal(gradient.sizes(), output.sizes()) || gradient.dtype() != output.dtype()) {
      failWith(Code::ShapeMismatch, what, ": the gradient ", nameOf(gradient), " does not have the sizes and dtype of ", nameOf(output));
    }
    roots.push_back(gradientEdge(*output.impl()));
    call.gradients.push_back(ref(gradient));
  }
  call.roots = roots;
  call.keepGraph = keepGraph;
  call.createGraph = createGraph;
  call.anomaly = ThreadContext::current().anomalyDetection;
  call.wanted = wanted;
  EagerGradientOps ops;
  std::vector<Tensor> results;
  try {
    for (TensorRef &result : runBackward(std::move(call), ops))
      results.push_back(result ? wrap(std::move(result)) : Tensor());
  } catch (const AutogradFailure &failure) {
    fail(failure.status);
  }
  return results;
}

} // namespace

void backward(const std::vector<Tensor> &outputs, const std::vector<Tensor> &gradients, BackwardFlags flags) {
  walkBack("backward", outputs, gradients, flags.retainGraph || flags.createGraph, flags.createGraph, {});
}

std::vector<Tensor> grad(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs, const std::vector<Tensor> &gradOutputs,
                         const GradOptions &options) {
  if (inputs.empty())
    failWith(codes::InvalidArgument, "grad: no inputs are given");
  std::vector<Edge> wanted;
  for (const Tensor &input : inputs) {
    if (!input.defined() || !requiresGradNow(*input.impl()))
      failWith(codes::AutogradMisuse, "grad: the input ", input.defined() ? nameOf(input) : "(undefined)", " does not require grad");
    wanted.push_back(gradientEdge(*input.impl()));
  }
  // The same input twice shares one place.
  std::vector<Edge> distinct;
  std::vector<size_t> place;
  for (const Edge &edge : wanted) {
    auto same = std::find_if(distinct.begin(), distinct.end(), [&](const Edge &e) { return e.node == edge.node && e.input == edge.input; });
    place.push_back(static_cast<size_t>(same - distinct.begin()));
    if (same == distinct.end())
      distinct.push_back(edge);
  }
  auto found = walkBack("grad", outputs, gradOutputs, options.retainGraph.value_or(options.createGraph), options.createGraph, distinct);
  std::vector<Tensor> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    results.push_back(found[place[i]]);
    if (!results.back().defined() && !options.allowUnused)
      failWith(codes::AutogradMisuse, "grad: the input ", nameOf(inputs[i]), " was not used to compute the outputs; set allowUnused to get an undefined gradient");
  }
  return results;
}

//===-- tensors ---------------------------------------------------------------------------------------------------===//
static TensorImpl &need(const Tensor &tensor, const char *what) {
  if (!tensor.defined())
    failWith(codes::InvalidArgument, what, ": an undefined tensor was used; give it a value first");
  return *tensor.impl();
}

bool Tensor::requiresGrad() const { return requiresGradNow(need(*this, "requiresGrad")); }
Tensor &Tensor::requiresGrad_(bool value) {
  OpScope scope("requiresGrad_");
  TensorImpl &x = need(*this, "requiresGrad_");
  if (value && !isFloat(x.dtype))
    failWith(codes::AutogradMisuse, "requiresGrad_: ", nameOf(x), " is no float; only floats have gradients");
  if (value && x.storage->inference)
    failWith(codes::AutogradMisuse, "requiresGrad_: ", nameOf(x), " was made in inference mode; clone() it outside first");
  if (!value && !isLeaf())
    failWith(codes::AutogradMisuse, "requiresGrad_: ", nameOf(x), " is no leaf; detach() gives one that needs no gradient");
  x.requiresGrad = value;
  return *this;
}
bool Tensor::isLeaf() const {
  TensorImpl &x = need(*this, "isLeaf");
  return !requiresGradNow(x) || !x.autograd || !x.autograd->gradFn;
}
Tensor Tensor::grad() const {
  TensorImpl &x = need(*this, "grad");
  return x.autograd && x.autograd->grad ? wrap(x.autograd->grad) : Tensor();
}
void Tensor::setGrad(const Tensor &grad) {
  TensorImpl &x = need(*this, "setGrad");
  if (grad.defined() && (!std::ranges::equal(grad.sizes(), x.sizeSpan()) || grad.dtype() != x.dtype))
    failWith(Code::ShapeMismatch, "setGrad: the gradient ", nameOf(grad), " does not have the sizes and dtype of ", nameOf(x));
  if (Recorder *tracing = recorder())
    tracing->gradientChanges(x);
  autogradMeta(x).grad = grad.defined() ? ref(grad) : TensorRef();
}
void Tensor::backward(const Tensor &gradient, BackwardFlags flags) const {
  graphc::backward({*this}, gradient.defined() ? std::vector<Tensor>{gradient} : std::vector<Tensor>{}, flags);
}
void Tensor::backward(BackwardFlags flags) const { backward(Tensor(), flags); }
void Tensor::backward() const { backward(Tensor(), {}); }
Tensor &Tensor::retainGrad() {
  OpScope scope("retainGrad");
  TensorImpl &x = need(*this, "retainGrad");
  if (!requiresGradNow(x))
    failWith(codes::AutogradMisuse, "retainGrad: ", nameOf(x), " does not require grad");
  AutogradMeta &meta = autogradMeta(x);
  if (!meta.gradFn)
    return *this;
  meta.retainsGrad = true;
  meta.gradFn->hooksOf(meta.outputNumber).retains = &x;
  return *this;
}
bool Tensor::retainsGrad() const { return need(*this, "retainsGrad").autograd && impl_->autograd->retainsGrad; }

HookHandle Tensor::registerHook(std::function<Tensor(const Tensor &)> hook) {
  TensorImpl &x = need(*this, "registerHook");
  if (!requiresGradNow(x))
    failWith(codes::AutogradMisuse, "registerHook: ", nameOf(x), " does not require grad");
  AutogradMeta &meta = autogradMeta(x);
  GradHook wrapped = [hook = std::move(hook)](const TensorRef &grad) {
    Tensor result = hook(wrap(grad));
    return result.defined() ? ref(result) : TensorRef();
  };
  if (!meta.gradFn) {
    uint64_t id = meta.hooks.add(std::move(wrapped));
    return HookHandle([self = *this, id] { autogradMeta(*self.impl()).hooks.remove(id); });
  }
  NodeRef node = meta.gradFn;
  int output = meta.outputNumber;
  uint64_t id = node->hooksOf(output).hooks.add(std::move(wrapped));
  return HookHandle([node, output, id] { node->hooksOf(output).hooks.remove(id); });
}
HookHandle Tensor::registerPostAccumulateGradHook(std::function<void(Tensor)> hook) {
  TensorImpl &x = need(*this, "registerPostAccumulateGradHook");
  if (!requiresGradNow(x) || !isLeaf())
    failWith(codes::AutogradMisuse, "registerPostAccumulateGradHook: ", nameOf(x), " is no leaf that requires grad");
  AutogradMeta &meta = autogradMeta(x);
  uint64_t id = meta.nextPostHook++;
  meta.postAccumulateHooks.emplace_back(id, [hook = std::move(hook)](const TensorRef &leaf) { hook(wrap(leaf)); });
  return HookHandle([self = *this, id] {
    std::erase_if(autogradMeta(*self.impl()).postAccumulateHooks, [&](const auto &entry) { return entry.first == id; });
  });
}
std::shared_ptr<Node> Tensor::gradFn() const {
  TensorImpl &x = need(*this, "gradFn");
  requiresGradNow(x);
  if (!x.autograd || !x.autograd->gradFn)
    return nullptr;
  NodeRef node = x.autograd->gradFn;
  return {node.leave(), [](Node *n) { release(n); }};
}
std::string Tensor::gradFnName() const {
  auto node = gradFn();
  return node ? node->name() : "";
}
bool Tensor::isInference() const { return need(*this, "isInference").storage->inference; }
void Tensor::setName(std::string name) { autogradMeta(need(*this, "setName")).name = std::move(name); }
std::string Tensor::name() const { return need(*this, "name").autograd ? impl_->autograd->name : ""; }

//===-- functions of the user's own -------------------------------------------------------------------------------===//
struct FunctionContext::Access {
  static std::vector<Tensor> takeSaved(FunctionContext &context) { return std::move(context.toSave_); }
  static std::vector<Tensor> &nonDifferentiable(FunctionContext &context) { return context.nonDifferentiable_; }
  static void setNeeds(FunctionContext &context, std::vector<bool> needs) { context.needs_ = std::move(needs); }
  static void setUnpack(FunctionContext &context, std::function<std::vector<Tensor>()> unpack) { context.unpack_ = std::move(unpack); }
};

std::vector<Tensor> FunctionContext::saved() const { return unpack_ ? unpack_() : toSave_; }

namespace {

class UserNode final : public Node {
public:
  UserNode(std::string name, int results, ForwardFn backward) : Node(results), name_(std::move(name)), backward_(std::move(backward)) {}
  std::string name() const override { return name_ + "Backward"; }

  struct Kept {
    TensorRef tensor;
    uint32_t version;
    int result; // which result it is, or -1
  };
  FunctionContext context;
  std::vector<Kept> kept;
  std::vector<std::vector<int64_t>> resultSizes;
  std::vector<DType> resultTypes;
  std::vector<Device> resultDevices;
  std::vector<std::vector<int64_t>> inputSizes; // of inputs that need a gradient

  void releaseSaved() override {
    kept.clear();
    released_ = true;
  }

  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &) override {
    if (released_)
      throw AutogradFailure{error(codes::AutogradMisuse, "backward: ", name(), " has run before and its saved tensors are freed; pass retainGraph = true to "
                                  "the first backward() to go through this graph a second time")};
    std::vector<Tensor> gradients;
    for (size_t r = 0; r < in.size(); ++r)
      gradients.push_back(in[r] ? wrap(in[r]) : zeros(resultSizes[r], {.dtype = resultTypes[r], .device = resultDevices[r]}));
    FunctionContext::Access::setUnpack(context, [this] { return unpack(); });
    std::vector<Tensor> results = backward_(context, gradients);
    if (results.size() != edges.size())
      throw AutogradFailure{error(codes::AutogradMisuse, name(), " gave ", results.size(), " gradients for ", edges.size(), " inputs")};
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined() || !edges[i].node)
        continue;
      if (!std::ranges::equal(results[i].sizes(), inputSizes[i]))
        throw AutogradFailure{error(codes::AutogradMisuse, name(), " gave a gradient of sizes [", joined(results[i].sizes()), "] for input ", i,
                                    " of sizes [", joined(inputSizes[i]), "]")};
      out[i] = ref(results[i]);
    }
  }

private:
  std::vector<Tensor> unpack() {
    std::vector<Tensor> tensors;
    for (const Kept &k : kept) {
      uint32_t version = k.tensor->storage->version.load();
      if (version != k.version)
        throw AutogradFailure{error(codes::AutogradMisuse, "backward: ", name(), " needs the saved tensor ", nameOf(*k.tensor), " of ", name_,
                                    ", which was changed in place: it is at version ", version, ", expected version ", k.version)};
      if (k.result < 0) {
        tensors.push_back(wrap(k.tensor));
        continue;
      }
      Tensor result = wrap(k.tensor).detach();
      if (GradMode::isEnabled()) {
        result.impl()->requiresGrad = true;
        AutogradMeta &meta = autogradMeta(*result.impl());
        meta.gradFn = NodeRef(this);
        meta.outputNumber = k.result;
      }
      tensors.push_back(result);
    }
    return tensors;
  }
  std::string name_;
  ForwardFn backward_;
  bool released_ = false;
};

} // namespace

std::vector<Tensor> applyFunction(const std::string &name, const std::vector<Tensor> &inputs, ForwardFn forward, ForwardFn backward) {
  OpScope scope("applyFunction");
  bool record = false;
  std::vector<bool> needs;
  for (const Tensor &input : inputs) {
    needs.push_back(GradMode::isEnabled() && input.defined() && input.requiresGrad());
    record |= needs.back();
  }
  FunctionContext context;
  FunctionContext::Access::setNeeds(context, needs);
  std::vector<Tensor> results;
  {
    NoGrad guard;
    results = forward(context, inputs);
  }
  if (!record)
    return results;
  for (Tensor &result : results)
    for (const Tensor &input : inputs)
      if (result.is(input))
        result = result.detach(); // an input handed through is a result of its own
  auto *user = new UserNode(name, static_cast<int>(results.size()), std::move(backward));
  NodeRef node = NodeRef::adopt(user);
  for (size_t i = 0; i < inputs.size(); ++i) {
    node->edges.push_back(needs[i] ? gradientEdge(*inputs[i].impl()) : Edge());
    user->inputSizes.emplace_back(inputs[i].defined() ? std::vector<int64_t>(inputs[i].sizes().begin(), inputs[i].sizes().end())
                                                      : std::vector<int64_t>());
  }
  node->sequence = nextSequence();
  for (const Tensor &tensor : FunctionContext::Access::takeSaved(context)) {
    int result = -1;
    for (size_t r = 0; r < results.size(); ++r)
      if (results[r].is(tensor))
        result = static_cast<int>(r);
    TensorRef kept = result >= 0 ? ref(tensor.detach()) : ref(tensor);
    user->kept.push_back({kept, tensor.version(), result});
  }
  auto plain = FunctionContext::Access::nonDifferentiable(context);
  for (size_t r = 0; r < results.size(); ++r) {
    user->resultSizes.emplace_back(results[r].sizes().begin(), results[r].sizes().end());
    user->resultTypes.push_back(results[r].dtype());
    user->resultDevices.push_back(results[r].device());
    bool skip = !isFloat(results[r].dtype()) || std::any_of(plain.begin(), plain.end(), [&](const Tensor &t) { return t.is(results[r]); });
    if (skip)
      continue;
    results[r].impl()->requiresGrad = true;
    AutogradMeta &meta = autogradMeta(*results[r].impl());
    meta.gradFn = node;
    meta.outputNumber = static_cast<int>(r);
  }
  user->context = std::move(context);
  return results;
}

//===-- checking --------------------------------------------------------------------------------------------------===//
namespace {

/// Fixed, different weights, so that errors do not cancel.
Tensor weightsLike(const Tensor &t) {
  std::vector<double> values(static_cast<size_t>(t.numel()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<double>((i * 37 + 17) % 97) - 48) / 64;
  return fromVector(values, t.sizes(), {.device = t.device()});
}

std::string checkOnce(const std::function<Tensor(const std::vector<Tensor> &)> &fn, const std::vector<Tensor> &inputs,
                      const GradCheckOptions &options, const char *order) {
  std::vector<Tensor> leaves;
  for (const Tensor &input : inputs)
    leaves.push_back(isFloat(input.dtype()) ? input.detach().to(DType::F64).clone().requiresGrad_() : input.detach());
  Tensor out = fn(leaves);
  Tensor weights = weightsLike(out);
  std::vector<Tensor> wanted;
  for (const Tensor &leaf : leaves)
    if (leaf.requiresGrad())
      wanted.push_back(leaf);
  auto gradients = grad({out}, wanted, {weights}, {.allowUnused = true});
  NoGrad guard;
  auto value = [&] { return (fn(leaves).detach() * weights).sum().item<double>(); };
  for (size_t i = 0; i < wanted.size(); ++i) {
    double *x = static_cast<double *>(wanted[i].dataPtr());
    std::vector<double> analytic = gradients[i].defined() ? gradients[i].toVector<double>() : std::vector<double>(static_cast<size_t>(wanted[i].numel()));
    for (size_t k = 0; k < analytic.size(); ++k) {
      double at = x[k];
      x[k] = at + options.epsilon;
      double up = value();
      x[k] = at - options.epsilon;
      double down = value();
      x[k] = at;
      double numeric = (up - down) / (2 * options.epsilon);
      double tolerance = options.absoluteTolerance + options.relativeTolerance * std::max(std::abs(numeric), std::abs(analytic[k]));
      if (!(std::abs(numeric - analytic[k]) <= tolerance))
        return text(order, "input ", i, ", element ", k, ": analytic ", analytic[k], ", numeric ", numeric);
    }
  }
  return "";
}

} // namespace

std::string checkGradients(const std::function<Tensor(const std::vector<Tensor> &)> &fn, const std::vector<Tensor> &inputs,
                           const GradCheckOptions &options) {
  std::string first = checkOnce(fn, inputs, options, "");
  if (!first.empty() || !options.secondOrder)
    return first;
  auto derivative = [&](const std::vector<Tensor> &at) {
    GradMode on(true);
    std::vector<Tensor> wanted, used = at;
    for (Tensor &t : used) {
      if (!isFloat(t.dtype()))
        continue;
      if (!t.requiresGrad())
        t = t.detach().requiresGrad_();
      wanted.push_back(t);
    }
    Tensor out = fn(used);
    auto gradients = grad({out}, wanted, {weightsLike(out)}, {.createGraph = true, .allowUnused = true});
    Tensor sum;
    for (Tensor &g : gradients) {
      if (!g.defined())
        continue;
      Tensor part = (g * weightsLike(g)).sum();
      sum = sum.defined() ? sum + part : part;
    }
    return sum.defined() && sum.requiresGrad() ? sum : (at[0] * 0).sum();
  };
  return checkOnce(derivative, inputs, options, "second order: ");
}

} // namespace graphc
