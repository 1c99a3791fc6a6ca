// Analytic against numeric gradients in double, first and second order, for every differentiable op.
#include "test/unit/eager/Expect.h"

using namespace graphc;
using namespace graphc::test;

namespace {

using Inputs = std::vector<Tensor>;
struct Case {
  const char *name;
  std::function<Tensor(const Inputs &)> fn;
  Inputs inputs;
  bool secondOrder = true;
};

Tensor x23() { return filled({2, 3}, 37, DType::F64); }
Tensor y23() { return filled({2, 3}, 41, DType::F64) + 0.01; }
Tensor positive() { return abs(x23()) + 0.2; }
Tensor inside() { return x23() * 0.6; }

std::vector<Case> cases() {
  using I = const Inputs &;
  auto one = [](auto fn) { return [fn](I in) { return fn(in[0]); }; };
  auto two = [](auto fn) { return [fn](I in) { return fn(in[0], in[1]); }; };
#define UNARY(name, at) {#name, one([](const Tensor &x) { return name(x); }), {at}}
#define BINARY(name, a, b) {#name, two([](const Tensor &x, const Tensor &y) { return name(x, y); }), {a, b}}
  return {
      UNARY(neg, x23()), UNARY(abs, x23()), UNARY(exp, x23()), UNARY(exp2, x23()), UNARY(expm1, x23()), UNARY(log, positive()), UNARY(log2, positive()),
      UNARY(log10, positive()), UNARY(log1p, positive()), UNARY(sqrt, positive()), UNARY(rsqrt, positive()), UNARY(square, x23()),
      UNARY(reciprocal, positive()), UNARY(sin, x23()), UNARY(cos, x23()), UNARY(tan, x23()), UNARY(asin, inside()), UNARY(acos, inside()),
      UNARY(atan, x23()), UNARY(sinh, x23()), UNARY(cosh, x23()), UNARY(tanh, x23()), UNARY(asinh, x23()), UNARY(atanh, inside()), UNARY(erf, x23()),
      UNARY(erfc, x23()), UNARY(relu, x23()), UNARY(selu, x23()), UNARY(silu, x23()), UNARY(mish, x23()), UNARY(sigmoid, x23()), UNARY(logSigmoid, x23()),
      UNARY(softsign, x23()), UNARY(hardswish, x23()), UNARY(hardsigmoid, x23()), UNARY(tanhshrink, x23()), UNARY(relu6, x23()),
      {"acosh", one([](const Tensor &x) { return acosh(x); }), {positive() + 1}},
      {"leakyRelu", one([](const Tensor &x) { return leakyRelu(x, .2); }), {x23()}},
      {"elu", one([](const Tensor &x) { return elu(x, 1.5); }), {x23()}},
      {"celu", one([](const Tensor &x) { return celu(x, 1.5); }), {x23()}},
      {"gelu", one([](const Tensor &x) { return gelu(x); }), {x23()}},
      {"geluTanh", one([](const Tensor &x) { return gelu(x, true); }), {x23()}},
      {"softplus", one([](const Tensor &x) { return softplus(x, 1.5, 20); }), {x23()}},
      {"softshrink", one([](const Tensor &x) { return softshrink(x, .2); }), {x23()}},
      {"clamp", one([](const Tensor &x) { return clamp(x, -.3, .4); }), {x23()}},
      {"glu", one([](const Tensor &x) { return glu(x.t(), -1); }), {x23()}},
      {"prelu", two([](const Tensor &x, const Tensor &w) { return prelu(x, w); }), {x23(), filled({3}, 37, DType::F64)}},
      BINARY(add, x23(), filled({3}, 41, DType::F64)), BINARY(sub, x23(), filled({2, 1}, 41, DType::F64)), BINARY(mul, x23(), y23()),
      BINARY(div, x23(), positive()), BINARY(pow, positive(), y23()), BINARY(maximum, x23(), y23()), BINARY(minimum, x23(), y23()),
      BINARY(atan2, x23(), positive()),
      {"mulBroadcastTransposed", two([](const Tensor &x, const Tensor &y) { return x.t() * y; }), {x23(), filled({2}, 41, DType::F64)}},
      {"where", two([](const Tensor &x, const Tensor &y) { return where(tensor({true, false, true}), x, y); }), {x23(), y23()}},
      {"lerp", two([](const Tensor &x, const Tensor &y) { return lerp(x, y, .3); }), {x23(), y23()}},
      {"addcdiv", [](I in) { return addcdiv(in[0], in[1], in[2], 2); }, {x23(), y23(), positive()}},
      {"sum", one([](const Tensor &x) { return x.sum({1}); }), {x23()}},
      {"sumSquares", one([](const Tensor &x) { return (x * x).sum(); }), {x23()}},
      {"mean", one([](const Tensor &x) { return (x * x).mean({0}, true); }), {x23()}},
      {"prod", one([](const Tensor &x) { return x.prod(1); }), {x23()}},
      {"prodAll", one([](const Tensor &x) { return x.prod(); }), {x23()}},
      {"amax", one([](const Tensor &x) { return x.amax({1}) * x.amax({1}); }), {x23()}},
      {"max", one([](const Tensor &x) { return x.max(1).first; }), {x23()}},
      {"var", one([](const Tensor &x) { return x.var({1}); }), {x23()}},
      {"std", one([](const Tensor &x) { return x.std({1}); }), {x23()}},
      {"norm", one([](const Tensor &x) { return x.norm(2, {1}); }), {x23()}},
      {"norm3", one([](const Tensor &x) { return x.norm(3, {1}); }), {x23()}},
      {"logsumexp", one([](const Tensor &x) { return x.logsumexp({1}); }), {x23()}},
      {"cumsum", one([](const Tensor &x) { return x.cumsum(1); }), {x23()}},
      {"cumprod", one([](const Tensor &x) { return x.cumprod(1); }), {x23()}},
      {"softmax", one([](const Tensor &x) { return x.softmax(1); }), {x23()}},
      {"logSoftmax", one([](const Tensor &x) { return x.logSoftmax(0); }), {x23()}},
      {"median", one([](const Tensor &x) { return median(x); }), {x23()}},
      {"matmul", two([](const Tensor &a, const Tensor &b) { return matmul(a, b); }), {x23(), filled({3, 4}, 41, DType::F64)}},
      {"matmulTransposed", two([](const Tensor &a, const Tensor &b) { return matmul(a.t(), b.t()); }), {x23(), filled({4, 2}, 41, DType::F64)}},
      {"matmulBatch", two([](const Tensor &a, const Tensor &b) { return matmul(a, b); }), {filled({2, 1, 2, 3}, 37, DType::F64), filled({2, 3, 2}, 41, DType::F64)}},
      {"linear", [](I in) { return linear(in[0], in[1], in[2]); }, {filled({2, 2, 3}, 37, DType::F64), filled({4, 3}, 41, DType::F64), filled({4}, 45, DType::F64)}},
      {"einsum", two([](const Tensor &a, const Tensor &b) { return einsum("bij,bkj->bik", {a, b}); }), {filled({2, 2, 3}, 37, DType::F64), filled({2, 4, 3}, 41, DType::F64)}},
      {"conv2d", [](I in) { return conv2d(in[0], in[1], in[2], {.stride = {2, 1}, .padding = {1, 0}}); },
       {filled({2, 2, 5, 4}, 37, DType::F64), filled({3, 2, 3, 2}, 41, DType::F64), filled({3}, 45, DType::F64)}},
      {"conv2dGroups", two([](const Tensor &x, const Tensor &w) { return conv2d(x, w, {}, {.dilation = {1, 2}, .groups = 2}); }),
       {filled({1, 4, 4, 5}, 37, DType::F64), filled({4, 2, 2, 2}, 41, DType::F64)}},
      {"conv1d", two([](const Tensor &x, const Tensor &w) { return conv1d(x, w, {}, {.padding = 1}); }), {filled({2, 2, 5}, 37, DType::F64), filled({3, 2, 3}, 41, DType::F64)}},
      {"convTranspose2d", two([](const Tensor &x, const Tensor &w) { return convTranspose2d(x, w, {}, {.stride = 2, .padding = 1, .outputPadding = 1}); }),
       {filled({1, 2, 3, 2}, 37, DType::F64), filled({2, 3, 3, 3}, 41, DType::F64)}},
      {"maxPool2d", one([](const Tensor &x) { return maxPool2d(x, {3, 2}, {.stride = 2, .padding = 1}); }), {filled({1, 2, 5, 4}, 37, DType::F64)}},
      {"avgPool2d", one([](const Tensor &x) { return avgPool2d(x, 2, {.stride = 1, .padding = 1, .countIncludePad = false}); }), {filled({1, 2, 3, 4}, 37, DType::F64)}},
      {"pad", one([](const Tensor &x) { return pad(x, {1, 0, 2, 1}); }), {x23()}},
      {"padReflect", one([](const Tensor &x) { return pad(x, {2, 1}, PadMode::Reflect); }), {x23()}},
      {"interpolate", one([](const Tensor &x) { return interpolate(x, {4, 5}, InterpolateMode::Bilinear); }), {filled({1, 1, 2, 3}, 37, DType::F64)}},
      {"layerNorm", [](I in) { return layerNorm(in[0], {3}, in[1], in[2]); }, {x23(), filled({3}, 41, DType::F64), filled({3}, 45, DType::F64)}},
      {"rmsNorm", two([](const Tensor &x, const Tensor &w) { return rmsNorm(x, {3}, w, 1e-3); }), {x23(), filled({3}, 41, DType::F64)}},
      {"groupNorm", [](I in) { return groupNorm(in[0], 2, in[1], in[2]); }, {filled({2, 4, 3}, 37, DType::F64), filled({4}, 41, DType::F64), filled({4}, 45, DType::F64)}},
      {"instanceNorm", one([](const Tensor &x) { return instanceNorm(x); }), {filled({2, 2, 4}, 37, DType::F64)}},
      {"batchNormTraining", [](I in) { return batchNorm(in[0], {}, {}, in[1], in[2], true); }, {filled({4, 3}, 37, DType::F64), filled({3}, 41, DType::F64), filled({3}, 45, DType::F64)}},
      {"batchNormEval", [](I in) { return batchNorm(in[0], zeros({3}, {.dtype = DType::F64}), ones({3}, {.dtype = DType::F64}) * 2, in[1], in[2]); },
       {filled({4, 3}, 37, DType::F64), filled({3}, 41, DType::F64), filled({3}, 45, DType::F64)}},
      {"attention", [](I in) { return scaledDotProductAttention(in[0], in[1], in[2], {}, {.causal = true}); },
       {filled({1, 3, 2}, 37, DType::F64), filled({1, 3, 2}, 41, DType::F64), filled({1, 3, 2}, 45, DType::F64)}},
      {"embedding", one([](const Tensor &w) { return embedding(tensor({1, 0, 1}), w); }), {x23()}},
      {"crossEntropy", one([](const Tensor &x) { return crossEntropy(x, tensor({2, 0}), {}, {.labelSmoothing = .1}); }), {x23()}},
      {"crossEntropyProbabilities", two([](const Tensor &x, const Tensor &t) { return crossEntropy(x, t.softmax(1)); }), {x23(), y23()}},
      {"nllLoss", one([](const Tensor &x) { return nllLoss(logSoftmax(x, 1), tensor({2, 0})); }), {x23()}},
      BINARY(mseLoss, x23(), y23()), BINARY(l1Loss, x23(), y23()), BINARY(smoothL1Loss, x23(), y23()), BINARY(huberLoss, x23(), y23()),
      {"bce", two([](const Tensor &x, const Tensor &t) { return binaryCrossEntropy(sigmoid(x), sigmoid(t)); }), {x23(), y23()}},
      {"bceWithLogits", two([](const Tensor &x, const Tensor &t) { return binaryCrossEntropyWithLogits(x, sigmoid(t), {}, tensor({2.0}, {.dtype = DType::F64})); }), {x23(), y23()}},
      {"klDiv", two([](const Tensor &x, const Tensor &t) { return klDiv(x, t.softmax(1)); }), {x23(), y23()}},
      {"cat", two([](const Tensor &a, const Tensor &b) { return cat({a, b * 2}, 1); }), {x23(), y23()}},
      {"stack", two([](const Tensor &a, const Tensor &b) { return stack({a, b}, 1) * stack({b, a}, 1); }), {x23(), y23()}},
      {"gather", one([](const Tensor &x) { return gather(x, 1, tensor({{0, 2}, {1, 1}})); }), {x23()}},
      {"scatterAdd", two([](const Tensor &x, const Tensor &s) { return scatterAdd(x, 1, tensor({{0, 0}, {2, 1}}), s.slice(1, 0, 2)); }), {x23(), y23()}},
      {"scatter", two([](const Tensor &x, const Tensor &s) { return scatter(x, 1, tensor({{0, 1}, {2, 1}}), s.slice(1, 0, 2)); }), {x23(), y23()}},
      {"index", one([](const Tensor &x) { return x.index({tensor({1, 1, 0}), tensor({2, 0, 2})}); }), {x23()}},
      {"sort", one([](const Tensor &x) { return sort(x, 1).first; }), {x23()}},
      {"topk", one([](const Tensor &x) { return topk(x, 2, 1).first; }), {x23()}},
      {"tril", one([](const Tensor &x) { return tril(x); }), {x23()}},
      {"flip", one([](const Tensor &x) { return flip(x, {0, 1}); }), {x23()}},
      {"repeat", one([](const Tensor &x) { return repeat(x, {2, 2}); }), {x23()}},
      {"roll", one([](const Tensor &x) { return roll(x, 2, 1); }), {x23()}},
      {"expandSliceView", one([](const Tensor &x) { return x.unsqueeze(1).expand({2, 4, 3}).slice(1, 0, {}, 2).permute({2, 0, 1}).reshape({3, 4}); }), {x23()}},
      {"inPlaceView", two([](const Tensor &x, const Tensor &y) {
         Tensor z = x * 2;
         z[0].mul_(y[1]);
         return z * z;
       }), {x23(), y23()}},
  };
#undef UNARY
#undef BINARY
}

class GradCheck : public testing::TestWithParam<Case> {};
TEST_P(GradCheck, numericAndAnalyticAgree) {
  const Case &c = GetParam();
  EXPECT_EQ(checkGradients(c.fn, c.inputs, {.epsilon = 1e-6, .relativeTolerance = 2e-5, .absoluteTolerance = 1e-6, .secondOrder = c.secondOrder}), "");
}
INSTANTIATE_TEST_SUITE_P(All, GradCheck, testing::ValuesIn(cases()), [](const auto &info) { return std::string(info.param.name); });

} // namespace
