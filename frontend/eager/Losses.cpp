// Losses. What a composite of the dialect has, with a gradient that is right at the edges, is that composite; the rest are
// formulas of one graph each.
#include "frontend/eager/Range.h"
#include "frontend/eager/State.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <algorithm>

namespace graphc {

using namespace eager;
using Value = GraphBuilder::Value;

namespace {

Tensor reduced(const Tensor &loss, Reduction reduction) {
  return reduction == Reduction::None ? loss : reduction == Reduction::Sum ? loss.sum() : loss.mean();
}

DType lossType(const char *op, const Tensor &input, const Tensor &target) {
  checkDevices(op, {&input, &target});
  DType dtype = resultType(input, target);
  if (!isFloat(dtype))
    failWith(Code::TypeMismatch, op, ": ", nameOf(input), " and ", nameOf(target), " are no floats");
  return dtype;
}
void sameSizes(const char *op, const Tensor &input, const Tensor &target) {
  if (!std::ranges::equal(input.sizes(), target.sizes()))
    failWith(Code::ShapeMismatch, op, ": the input ", nameOf(input), " and the target ", nameOf(target), " have different sizes");
}

/// An elementwise formula of input and target, reduced.
template <typename Formula>
Tensor pairwise(const char *op, const Tensor &input, const Tensor &target, Reduction reduction, double parameter, Formula &&formula) {
  DType dtype = lossType(op, input, target);
  sameSizes(op, input, target);
  Call call(op);
  call.elementwise().attribute(parameter).input(input, dtype).input(target, dtype);
  return reduced(call.run([&](GraphBuilder &g) { g.result(formula(g, g.input(0), g.input(1), dtype)); }), reduction);
}

const char *reductionName(Reduction reduction) {
  return reduction == Reduction::None ? "none" : reduction == Reduction::Sum ? "sum" : "mean";
}

void checkLabels(const char *op, const Tensor &input, const Tensor &target, const Tensor &weight) {
  if (isFloat(target.dtype()) || target.dtype() == DType::Bool)
    failWith(Code::TypeMismatch, op, ": the labels ", nameOf(target), " must be integers, or floats of the sizes of ", nameOf(input));
  bool fits = target.dim() == input.dim() - 1 && target.size(0) == input.size(0);
  for (int64_t d = 1; fits && d < target.dim(); ++d)
    fits = target.size(d) == input.size(d + 1);
  if (!fits)
    failWith(Code::ShapeMismatch, op, ": the labels ", nameOf(target), " do not fit the input ", nameOf(input), "; expected one label for each position, sizes [",
             input.size(0), input.dim() > 2 ? ", …" : "", "]");
  if (weight.defined() && (weight.dim() != 1 || weight.size(0) != input.size(1)))
    failWith(Code::ShapeMismatch, op, ": the weight ", nameOf(weight), " does not have one factor for each of the ", input.size(1), " classes");
}

Tensor labelled(const char *op, const char *graphOp, const Tensor &input, const Tensor &target, const Tensor &weight, Reduction reduction,
                int64_t ignore, double smoothing) {
  checkDevices(op, {&input, &target});
  if (!isFloat(input.dtype()))
    failWith(Code::TypeMismatch, op, ": the input ", nameOf(input), " is no float");
  if (input.dim() == 1 && target.dim() == 0)
    return labelled(op, graphOp, input.unsqueeze(0), target.unsqueeze(0), weight, reduction, ignore, smoothing)
        .reshape({});
  if (input.dim() < 2)
    failWith(Code::ShapeMismatch, op, ": the input ", nameOf(input), " has no classes in dim 1");
  checkLabels(op, input, target, weight);
  Call call(op);
  call.attribute(static_cast<int>(reduction)).attribute(ignore).attribute(smoothing).input(input).input(target, DType::I64);
  if (weight.defined())
    call.input(weight, input.dtype());
  return call.run([&](GraphBuilder &g) {
    std::vector<Value> operands = {g.input(0), g.input(1)};
    if (weight.defined())
      operands.push_back(g.input(2));
    std::string attributes = text("reduction = \"", reductionName(reduction), "\", ignore = ", ignore, " : i64");
    if (std::string_view(graphOp) == "cross_entropy")
      attributes += text(", smoothing = ", number(smoothing), " : f64");
    g.result(g.op(graphOp, operands, attributes));
  });
}

} // namespace

Tensor crossEntropy(const TensorArg &input, const Tensor &target, const Tensor &weight, const CrossEntropyOptions &options) {
  OpScope scope("crossEntropy");
  const char *op = "crossEntropy";
  checkDevices(op, {&input, &target});
  bool probabilities = isFloat(target.dtype()) && std::ranges::equal(input.sizes(), target.sizes());
  if (!probabilities)
    return labelled(op, "cross_entropy", input, target, weight, options.reduction, options.ignoreIndex, options.labelSmoothing);
  int64_t classes = input.dim() > 1 ? 1 : 0;
  double share = options.labelSmoothing;
  Tensor mixed = share > 0 ? target * (1 - share) + share / static_cast<double>(input.size(classes)) : target;
  Tensor terms = logSoftmax(input, classes) * mixed;
  if (weight.defined()) {
    std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
    sizes[static_cast<size_t>(classes)] = weight.numel();
    terms = terms * weight.reshape(sizes);
  }
  if (options.reduction == Reduction::None)
    return -terms.sum({classes});
  Tensor total = -terms.sum();
  return options.reduction == Reduction::Sum ? total : total / static_cast<double>(std::max<int64_t>(1, input.numel() / input.size(classes)));
}
Tensor nllLoss(const TensorArg &input, const Tensor &target, const Tensor &weight, const NllLossOptions &options) {
  OpScope scope("nllLoss");
  return labelled("nllLoss", "nll_loss", input, target, weight, options.reduction, options.ignoreIndex, 0);
}

Tensor mseLoss(const TensorArg &input, const Tensor &target, Reduction reduction) {
  OpScope scope("mseLoss");
  return pairwise("mseLoss", input, target, reduction, 0, [](GraphBuilder &g, Value x, Value t, DType) {
    Value d = g.sub(x, t);
    return g.mul(d, d);
  });
}
Tensor l1Loss(const TensorArg &input, const Tensor &target, Reduction reduction) {
  OpScope scope("l1Loss");
  return pairwise("l1Loss", input, target, reduction, 0, [](GraphBuilder &g, Value x, Value t, DType) { return g.op("abs", {g.sub(x, t)}); });
}
Tensor smoothL1Loss(const TensorArg &input, const Tensor &target, Reduction reduction, double beta) {
  OpScope scope("smoothL1Loss");
  if (beta < 0)
    failWith(codes::InvalidArgument, "smoothL1Loss: beta ", beta, " is negative");
  if (beta == 0)
    return l1Loss(input, target, reduction);
  return pairwise("smoothL1Loss", input, target, reduction, beta, [&](GraphBuilder &g, Value x, Value t, DType dtype) {
    Value d = g.sub(x, t), size = g.op("abs", {d});
    Value near = g.mul(g.mul(d, d), g.constant(0.5 / beta, dtype)), far = g.sub(size, g.constant(0.5 * beta, dtype));
    return g.op("select", {g.op("less", {size, g.constant(beta, dtype)}), near, far});
  });
}
Tensor huberLoss(const TensorArg &input, const Tensor &target, Reduction reduction, double delta) {
  OpScope scope("huberLoss");
  if (delta <= 0)
    failWith(codes::InvalidArgument, "huberLoss: delta ", delta, " is not positive");
  return pairwise("huberLoss", input, target, reduction, delta, [&](GraphBuilder &g, Value x, Value t, DType dtype) {
    Value d = g.sub(x, t), size = g.op("abs", {d});
    Value near = g.mul(g.mul(d, d), g.constant(0.5, dtype)), far = g.mul(g.sub(size, g.constant(0.5 * delta, dtype)), g.constant(delta, dtype));
    return g.op("select", {g.op("less_equal", {size, g.constant(delta, dtype)}), near, far});
  });
}

Tensor binaryCrossEntropy(const TensorArg &input, const Tensor &target, const Tensor &weight, Reduction reduction) {
  OpScope scope("binaryCrossEntropy");
  lossType("binaryCrossEntropy", input, target);
  checkUnit("binaryCrossEntropy", "input", input, "; use binaryCrossEntropyWithLogits() for scores, or apply sigmoid()");
  // Logarithms are held above -100, as PyTorch holds them.
  Tensor loss = pairwise("binaryCrossEntropy", input, target, Reduction::None, 0, [](GraphBuilder &g, Value x, Value t, DType dtype) {
    Value one = g.constant(1, dtype), floor = g.constant(-100, dtype);
    Value logX = g.op("max", {g.op("log", {x}), floor}), logRest = g.op("max", {g.op("log", {g.sub(one, x)}), floor});
    return g.op("neg", {g.add(g.mul(t, logX), g.mul(g.sub(one, t), logRest))});
  });
  return reduced(weight.defined() ? loss * weight : loss, reduction);
}
Tensor binaryCrossEntropyWithLogits(const TensorArg &input, const Tensor &target, const Tensor &weight, const Tensor &posWeight, Reduction reduction) {
  OpScope scope("binaryCrossEntropyWithLogits");
  const char *op = "binaryCrossEntropyWithLogits";
  DType dtype = lossType(op, input, target);
  sameSizes(op, input, target);
  Call call(op);
  call.elementwise().input(input, dtype).input(target, dtype);
  if (posWeight.defined())
    call.input(posWeight, dtype);
  // (1 - t) x + (1 + (w - 1) t) softplus(-x): its derivative at 0 is the sigmoid's.
  Tensor loss = call.run([&](GraphBuilder &g) {
    Value x = g.input(0), t = g.input(1), one = g.constant(1, dtype);
    Value soft = g.op("softplus", {g.op("neg", {x})});
    if (g.inputs() == 3)
      soft = g.mul(g.add(one, g.mul(g.sub(g.input(2), one), t)), soft);
    g.result(g.add(g.mul(g.sub(one, t), x), soft));
  });
  return reduced(weight.defined() ? loss * weight : loss, reduction);
}
Tensor klDiv(const TensorArg &input, const Tensor &target, KlReduction reduction, bool logTarget) {
  OpScope scope("klDiv");
  Tensor loss = pairwise(logTarget ? "klDivLog" : "klDiv", input, target, Reduction::None, 0, [&](GraphBuilder &g, Value x, Value t, DType dtype) {
    if (logTarget)
      return g.mul(g.op("exp", {t}), g.sub(t, x));
    // 0 log 0 counts as 0.
    Value zero = g.constant(0, dtype), none = g.op("less_equal", {t, zero});
    Value inner = g.mul(t, g.sub(g.op("log", {g.op("select", {none, g.constant(1, dtype), t})}), x));
    return g.op("select", {none, g.op("neg", {g.mul(t, x)}), inner});
  });
  switch (reduction) {
  case KlReduction::None: return loss;
  case KlReduction::Sum: return loss.sum();
  case KlReduction::Mean: return loss.mean();
  case KlReduction::BatchMean: return loss.sum() / static_cast<double>(input.dim() ? input.size(0) : 1);
  }
  return loss;
}

} // namespace graphc
