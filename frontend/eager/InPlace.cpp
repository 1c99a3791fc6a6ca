// In-place ops: computed like any other op, then written over the tensor; the storage's version rises, and the history of the
// tensor, or through a view of its base, becomes what was computed.
#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "runtime/autograd/Engine.h"
#include "runtime/devices/cpu/StridedCopy.h"

#include <algorithm>

namespace graphc {
namespace eager {

void fill(const TensorImpl &to, Scalar value) {
  if (Recorder *tracing = recorder())
    return tracing->fill(to, value);
  uint64_t bits = 0;
  writeScalar(value, to.dtype, &bits);
  if (!isOnHost(to))
    return fillOnDevice(to, bits);
  if (to.elements)
    cpu::stridedFill(to.data(), to.strideSpan(), to.sizeSpan(), static_cast<int>(sizeOf(to.dtype)), bits);
}

bool requiresGradNow(TensorImpl &tensor) {
  if (tensor.autograd && tensor.autograd->base && tensor.autograd->baseVersion != tensor.storage->version.load(std::memory_order_relaxed))
    refreshView(tensor);
  return tensor.requiresGrad;
}

/// Sizes, strides and the offset of a view inside its base.
static ViewStep placeInBase(const TensorImpl &view, const TensorImpl &base) {
  return {ViewStep::Strided,
          "asStrided",
          {view.sizes, view.sizes + view.rank},
          {view.strides, view.strides + view.rank},
          {view.offset - base.offset}};
}

namespace {

/// base with one region replaced: the gradient of what was there before is zero, that of the new values lies in the region.
class ReplaceRegionNode final : public Node {
public:
  ReplaceRegionNode(ViewStep place, const TensorImpl &base) : Node(1), place_(std::move(place)), sizes_(base.sizes, base.sizes + base.rank) {}
  std::string name() const override { return "replaceRegionBackward"; }
  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &options) override {
    Tensor gradient = wrap(in[0]).contiguous();
    if (edges[1].node)
      out[1] = ref(viewRecorded(gradient, place_).clone());
    if (!edges[0].node)
      return;
    if (options.createGraph) {
      Tensor outside = ones(sizes_, {.dtype = gradient.dtype(), .device = gradient.device()});
      zeroRegion(outside);
      out[0] = ref(gradient * outside);
      return;
    }
    Tensor rest = gradient.clone();
    zeroRegion(rest);
    out[0] = ref(rest);
  }

private:
  void zeroRegion(Tensor &of) const {
    fill(*viewRaw(of, place_).impl(), 0);
  }
  ViewStep place_;
  std::vector<int64_t> sizes_;
};

void setNode(TensorImpl &tensor, NodeRef node, int output) {
  AutogradMeta &meta = autogradMeta(tensor);
  if (meta.retainsGrad && meta.gradFn)
    meta.gradFn->hooksOf(meta.outputNumber).retains = nullptr;
  meta.gradFn = std::move(node);
  meta.outputNumber = output;
  tensor.requiresGrad = true;
  if (meta.retainsGrad)
    meta.gradFn->hooksOf(output).retains = &tensor;
}

} // namespace

void refreshView(TensorImpl &view) {
  AutogradMeta &meta = *view.autograd;
  meta.baseVersion = view.storage->version.load(std::memory_order_relaxed);
  if (!meta.base->requiresGrad)
    return;
  Tensor base = wrap(meta.base);
  GradMode on(true);
  Tensor again = viewRecorded(base, placeInBase(view, *meta.base));
  setNode(view, again.impl()->autograd->gradFn, 0);
}

void checkInPlace(const Tensor &self, const char *op) {
  if (!self.defined())
    failWith(codes::InvalidArgument, op, ": an undefined tensor was used; give it a value first");
  TensorImpl &x = *self.impl();
  ThreadContext &context = ThreadContext::current();
  if (x.storage->inference && !context.inferenceMode)
    failWith(codes::AutogradMisuse, op, ": ", nameOf(x), " was made in inference mode and cannot be changed outside; clone() it first");
  if (!context.gradEnabled)
    return;
  if (requiresGradNow(x) && (!x.autograd || !x.autograd->gradFn))
    failWith(codes::AutogradMisuse, op, ": ", nameOf(x), " is a leaf that requires grad and cannot be changed in place; do it under NoGrad, or change a clone()");
}

static void checkViewHistory(TensorImpl &x, const char *op) {
  if (!x.autograd || !x.autograd->base)
    return;
  AutogradMeta &meta = *x.autograd;
  if (meta.base->requiresGrad && (!meta.base->autograd || !meta.base->autograd->gradFn))
    failWith(codes::AutogradMisuse, op, ": ", nameOf(x), " is a view of the leaf ", nameOf(*meta.base),
             " that requires grad and cannot be changed in place; do it under NoGrad");
  if (meta.origin == ViewOrigin::NoGrad)
    failWith(codes::AutogradMisuse, op, ": ", nameOf(x), " is a view made under NoGrad and cannot take a gradient in place; make the view again outside");
  if (meta.origin == ViewOrigin::MultiOutput)
    failWith(codes::AutogradMisuse, op, ": ", nameOf(x), " is one of several views made by one op (split, chunk, unbind) and cannot be changed in place; use slice() or select()");
}

void rebaseHistory(Tensor &self, const Tensor &result) {
  TensorImpl &x = *self.impl();
  Edge made = gradientEdge(*result.impl());
  bool isView = x.autograd && x.autograd->base;
  if (!isView && made.node) {
    setNode(x, made.node, made.input);
    return;
  }
  // Values without history cut what was there before off: its gradient is zero.
  TensorRef base = isView ? x.autograd->base : ref(self);
  if (!base->dense)
    failWith(codes::AutogradMisuse, "in-place: ", nameOf(x), " is a view of a tensor that is not dense; clone() that first");
  auto node = NodeRef::adopt(new ReplaceRegionNode(placeInBase(x, *base), *base));
  node->edges.push_back(gradientEdge(*base));
  node->edges.push_back(made);
  node->sequence = nextSequence();
  setNode(*base, node, 0);
  if (isView)
    refreshView(x);
}

namespace {

int category(DType dtype) { return dtype == DType::Bool ? 0 : isFloat(dtype) ? 2 : 1; }

/// Whether an operand only repeats to the sizes of self.
bool fits(const TensorImpl &self, const TensorImpl &other) {
  if (other.rank > self.rank)
    return false;
  for (int d = 0; d < other.rank; ++d)
    if (other.sizes[d] != 1 && other.sizes[d] != self.sizes[self.rank - other.rank + d])
      return false;
  return true;
}

void bump(const Tensor &self) { self.impl()->storage->version.fetch_add(1, std::memory_order_relaxed); }

/// Writes `result` over self.
Tensor &assign(Tensor &self, const char *op, Tensor result) {
  TensorImpl &x = *self.impl();
  if (result.dtype() != x.dtype) {
    if (category(result.dtype()) > category(x.dtype))
      failWith(Code::TypeMismatch, op, ": the result is ", result.dtype(), " and cannot be written back into ", nameOf(x),
               "; in-place ops keep the dtype");
    result = result.to(x.dtype);
  }
  if (!std::ranges::equal(result.sizes(), x.sizeSpan()))
    failWith(Code::ShapeMismatch, op, ": the result has sizes [", joined(result.sizes()), "] and cannot be written into ", nameOf(x));
  if (result.impl()->requiresGrad)
    checkViewHistory(x, op);
  bool follows = result.impl()->requiresGrad || (requiresGradNow(x) && ThreadContext::current().gradEnabled);
  write(*result.impl(), x);
  bump(self);
  if (follows)
    rebaseHistory(self, result);
  return self;
}

bool recording(const TensorImpl &a) { return a.requiresGrad; }

/// op(self, other) straight into self's memory where nothing is recorded and no operand is read after it was overwritten.
template <typename Other>
bool directly(Tensor &self, const char *op, const Other &other, DType dtype) {
  TensorImpl &x = *self.impl();
  if (!x.dense || dtype != x.dtype)
    return false;
  if constexpr (std::derived_from<Other, Tensor>) {
    TensorImpl &y = *other.impl();
    if (!fits(x, y) || (ThreadContext::current().gradEnabled && recording(y)))
      return false;
    if (y.storage == x.storage && !(y.dense && y.offset == x.offset && y.elements == x.elements))
      return false;
  }
  if (ThreadContext::current().gradEnabled && recording(x))
    return false;
  Call call(op);
  call.elementwise().input(self, dtype).input(other, dtype).into(self);
  call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0), g.input(1)})); });
  bump(self);
  return true;
}

/// The value an in-place op starts from. What is recorded may need it after it is overwritten, so it is copied then.
Tensor valueBefore(const Tensor &self, std::initializer_list<const Tensor *> others) {
  bool records = requiresGradNow(*self.impl());
  for (const Tensor *other : others)
    records |= other->defined() && requiresGradNow(*other->impl());
  return records && ThreadContext::current().gradEnabled ? copyNode(self) : self;
}

template <typename Other, typename Op>
Tensor &binary(Tensor &self, const char *method, const char *op, const Other &other, Op &&otherwise, bool floats = false) {
  OpScope scope(method);
  checkInPlace(self, method);
  if constexpr (std::derived_from<Other, Tensor>)
    checkDevices(method, {&self, &other});
  DType dtype = resultType(self, other);
  if (floats && !isFloat(dtype))
    dtype = defaultDtype();
  if (directly(self, op, other, dtype))
    return self;
  if constexpr (std::derived_from<Other, Tensor>)
    return assign(self, method, otherwise(valueBefore(self, {&other})));
  else
    return assign(self, method, otherwise(valueBefore(self, {})));
}
template <typename Op, typename... Others>
Tensor &unary(Tensor &self, const char *method, Op &&op, const Others &...others) {
  OpScope scope(method);
  checkInPlace(self, method);
  return assign(self, method, op(valueBefore(self, {&others...})));
}

} // namespace
} // namespace eager

using namespace eager;

Tensor &Tensor::add_(const TensorArg &other, Scalar alpha) {
  OpScope scope("add_");
  if (!alpha.isFloat() && alpha.toInt() == 1)
    return binary(*this, "add_", "add", other, [&](const Tensor &x) { return graphc::add(x, other); });
  return unary(*this, "add_", [&](const Tensor &x) { return graphc::add(x, other, alpha); }, other);
}
Tensor &Tensor::sub_(const TensorArg &other, Scalar alpha) {
  OpScope scope("sub_");
  if (!alpha.isFloat() && alpha.toInt() == 1)
    return binary(*this, "sub_", "sub", other, [&](const Tensor &x) { return graphc::sub(x, other); });
  return unary(*this, "sub_", [&](const Tensor &x) { return graphc::sub(x, other, alpha); }, other);
}
Tensor &Tensor::mul_(const TensorArg &other) { return binary(*this, "mul_", "mul", other, [&](const Tensor &x) { return graphc::mul(x, other); }); }
Tensor &Tensor::div_(const TensorArg &other) { return binary(*this, "div_", "div", other, [&](const Tensor &x) { return graphc::div(x, other); }, true); }
Tensor &Tensor::add_(Scalar other) { return binary(*this, "add_", "add", other, [&](const Tensor &x) { return graphc::add(x, other); }); }
Tensor &Tensor::sub_(Scalar other) { return binary(*this, "sub_", "sub", other, [&](const Tensor &x) { return graphc::sub(x, other); }); }
Tensor &Tensor::mul_(Scalar other) { return binary(*this, "mul_", "mul", other, [&](const Tensor &x) { return graphc::mul(x, other); }); }
Tensor &Tensor::div_(Scalar other) { return binary(*this, "div_", "div", other, [&](const Tensor &x) { return graphc::div(x, other); }, true); }
Tensor &Tensor::pow_(Scalar exponent) { return unary(*this, "pow_", [&](const Tensor &x) { return graphc::pow(x, exponent); }); }
Tensor &Tensor::neg_() { return unary(*this, "neg_", [&](const Tensor &x) { return graphc::neg(x); }); }
Tensor &Tensor::exp_() { return unary(*this, "exp_", [&](const Tensor &x) { return graphc::exp(x); }); }
Tensor &Tensor::sqrt_() { return unary(*this, "sqrt_", [&](const Tensor &x) { return graphc::sqrt(x); }); }
Tensor &Tensor::relu_() { return unary(*this, "relu_", [&](const Tensor &x) { return graphc::relu(x); }); }
Tensor &Tensor::sigmoid_() { return unary(*this, "sigmoid_", [&](const Tensor &x) { return graphc::sigmoid(x); }); }
Tensor &Tensor::tanh_() { return unary(*this, "tanh_", [&](const Tensor &x) { return graphc::tanh(x); }); }
Tensor &Tensor::clamp_(std::optional<Scalar> low, std::optional<Scalar> high) {
  OpScope scope("clamp_");
  return unary(*this, "clamp_", [&](const Tensor &x) { return graphc::clamp(x, low, high); });
}
Tensor &Tensor::addcmul_(const TensorArg &a, const Tensor &b, Scalar value) {
  OpScope scope("addcmul_");
  return unary(*this, "addcmul_", [&](const Tensor &x) { return graphc::addcmul(x, a, b, value); }, a, b);
}
Tensor &Tensor::addcdiv_(const TensorArg &a, const Tensor &b, Scalar value) {
  OpScope scope("addcdiv_");
  return unary(*this, "addcdiv_", [&](const Tensor &x) { return graphc::addcdiv(x, a, b, value); }, a, b);
}
Tensor &Tensor::lerp_(const TensorArg &end, Scalar weight) {
  OpScope scope("lerp_");
  return unary(*this, "lerp_", [&](const Tensor &x) { return graphc::lerp(x, end, weight); }, end);
}
Tensor &Tensor::maskedFill_(const TensorArg &mask, Scalar value) {
  OpScope scope("maskedFill_");
  return unary(*this, "maskedFill_", [&](const Tensor &x) { return graphc::maskedFill(x, mask, value); });
}
Tensor &Tensor::copy_(const TensorArg &source) {
  OpScope scope("copy_");
  checkInPlace(*this, "copy_");
  if (!fits(*impl_, *source.impl()))
    failWith(Code::ShapeMismatch, "copy_: ", nameOf(source), " does not broadcast to ", nameOf(*impl_));
  Tensor value = source.to(dtype()).to(device());
  if (!std::ranges::equal(value.sizes(), sizes()))
    value = value.expand(sizes());
  // Overlapping memory is read before it is written.
  if (value.sharesStorage(*this))
    value = value.clone();
  return assign(*this, "copy_", value);
}
Tensor &Tensor::fill_(Scalar value) {
  OpScope scope("fill_");
  checkInPlace(*this, "fill_");
  if (requiresGradNow(*impl_) && GradMode::isEnabled())
    return assign(*this, "fill_", fullLike(*this, value));
  fill(*impl_, value);
  bump(*this);
  return *this;
}
Tensor &Tensor::uniform_(double low, double high) {
  OpScope scope("uniform_");
  return unary(*this, "uniform_", [&](const Tensor &) { return rand(sizes(), {.dtype = dtype(), .device = device()}).mul(high - low).add(low); });
}
Tensor &Tensor::normal_(double mean, double std) {
  OpScope scope("normal_");
  return unary(*this, "normal_", [&](const Tensor &) { return randn(sizes(), {.dtype = dtype(), .device = device()}).mul(std).add(mean); });
}
Tensor &Tensor::bernoulli_(double probability) {
  if (!(probability >= 0 && probability <= 1))
    failWith(codes::InvalidArgument, "bernoulli_: the probability ", probability, " is not in [0, 1]");
  OpScope scope("bernoulli_");
  return unary(*this, "bernoulli_", [&](const Tensor &) { return graphc::lt(rand(sizes(), {.device = device()}), probability).to(dtype()); });
}

} // namespace graphc
