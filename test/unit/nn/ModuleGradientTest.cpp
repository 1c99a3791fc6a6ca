// Gradients of every module against central differences in double, of first and second order, along fixed directions: by the
// input and by every parameter, in training and evaluation.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/nn.h"
#include "test/unit/nn/Fill.h"

using namespace graphc;

namespace {

struct Case {
  std::string name;
  /// A scalar or tensor of the leaves; the module's parameters are among `leaves` and read where they are.
  std::function<Tensor()> forward;
  std::vector<Tensor> leaves;
  bool secondOrder = true;
};

Tensor leaf(const std::vector<int64_t> &sizes, int64_t a) { return filled(sizes, a).requiresGrad_(); }

/// Numbers of both signs that differ from leaf to leaf.
Tensor directionOf(const Tensor &like, int64_t k) { return filled(sizesOf(like), 31 + 12 * k) + .05; }

Tensor weighted(const Tensor &y) { return (y * directionOf(y, 7)).sum(); }

/// The sum of the gradients' products with the directions, as a tensor that can be differentiated again.
Tensor slope(const Case &c, bool createGraph) {
  auto grads = grad({weighted(c.forward())}, c.leaves, {}, {.createGraph = createGraph, .allowUnused = true});
  Tensor sum;
  for (size_t k = 0; k < grads.size(); ++k)
    if (grads[k].defined()) {
      Tensor part = (grads[k] * directionOf(c.leaves[k], static_cast<int64_t>(k))).sum();
      sum = sum.defined() ? sum + part : part;
    }
  return sum;
}

void expectDirections(const std::string &what, const std::vector<Tensor> &leaves, const std::vector<Tensor> &analytic, const std::function<double()> &value) {
  constexpr double epsilon = 1e-5;
  for (size_t k = 0; k < leaves.size(); ++k) {
    Tensor direction = directionOf(leaves[k], static_cast<int64_t>(k) + 3), data = leaves[k].detach(), before = data.clone();
    data.add_(direction * epsilon);
    double up = value();
    data.copy_(before - direction * epsilon);
    double down = value();
    data.copy_(before);
    double numeric = (up - down) / (2 * epsilon), exact = analytic[k].defined() ? (analytic[k] * direction).sum().item<double>() : 0;
    EXPECT_NEAR(exact, numeric, 2e-6 * (1 + std::abs(numeric))) << what << ", leaf " << k << " " << leaves[k].describe();
  }
}

void check(const Case &c) {
  auto first = grad({weighted(c.forward())}, c.leaves, {}, {.allowUnused = true});
  expectDirections(c.name, c.leaves, first, [&] { return weighted(c.forward()).item<double>(); });
  if (!c.secondOrder)
    return;
  Tensor sum = slope(c, true);
  ASSERT_TRUE(sum.defined()) << c.name;
  std::vector<Tensor> second(c.leaves.size());
  if (sum.requiresGrad())
    second = grad({sum}, c.leaves, {}, {.allowUnused = true});
  expectDirections(c.name + ", second order", c.leaves, second, [&] { return slope(c, false).item<double>(); });
}

class ModuleGradient : public testing::Test {
protected:
  /// A module of one input.
  template <typename Handle>
  void one(const std::string &name, Handle module, const std::vector<int64_t> &sizes, bool secondOrder = true) {
    Tensor x = leaf(sizes, 37);
    std::vector<Tensor> leaves = module->parameters();
    leaves.push_back(x);
    check({name, [=] {
             manualSeed(5); // masks are the same every time
             return module(x);
           }, leaves, secondOrder});
  }
  DefaultDtype dtype{DType::F64};
};

TEST_F(ModuleGradient, linearAndConvolution) {
  manualSeed(1);
  one("Linear", nn::Linear(5, 3), {4, 5});
  one("Linear of rank 3", nn::Linear(5, 3), {2, 3, 5});
  one("Conv1d", nn::Conv1d({.in = 2, .out = 3, .kernel = 3, .stride = 2, .padding = 1}), {2, 2, 7});
  one("Conv2d", nn::Conv2d({.in = 2, .out = 4, .kernel = {3, 2}, .padding = 1, .groups = 2}), {2, 2, 5, 4});
  one("Conv3d", nn::Conv3d({.in = 1, .out = 2, .kernel = 2}), {2, 1, 3, 4, 3});
  one("ConvTranspose1d", nn::ConvTranspose1d({.in = 2, .out = 3, .kernel = 3, .stride = 2}), {2, 2, 4});
  one("ConvTranspose2d", nn::ConvTranspose2d({.in = 2, .out = 2, .kernel = 3, .stride = 2, .padding = 1, .outputPadding = 1}), {1, 2, 3, 4});
  one("ConvTranspose3d", nn::ConvTranspose3d({.in = 1, .out = 2, .kernel = 2}), {1, 1, 2, 3, 2});
}

TEST_F(ModuleGradient, pooling) {
  one("MaxPool1d", nn::MaxPool1d({.kernel = 2}), {2, 3, 8});
  one("MaxPool2d", nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}), {2, 2, 6, 5});
  one("MaxPool3d", nn::MaxPool3d({.kernel = 2}), {1, 2, 4, 4, 4});
  one("AvgPool1d", nn::AvgPool1d({.kernel = 2}), {2, 3, 8});
  one("AvgPool2d", nn::AvgPool2d({.kernel = 3, .stride = 2, .padding = 1, .countIncludePad = false}), {2, 2, 6, 5});
  one("AvgPool3d", nn::AvgPool3d({.kernel = 2}), {1, 2, 4, 4, 4});
  one("AdaptiveAvgPool2d", nn::AdaptiveAvgPool2d(Extents({3, 2})), {2, 2, 7, 5});
}

TEST_F(ModuleGradient, norms) {
  for (bool training : {true, false}) {
    auto mode = [&](auto module) {
      module->train(training);
      NoGrad guard;
      for (Tensor &buffer : module->buffers())
        if (buffer.isFloatingPoint())
          buffer.copy_(filled(sizesOf(buffer), 19) * .3 + 1);
      return module;
    };
    std::string suffix = training ? " training" : " evaluating";
    one("BatchNorm1d" + suffix, mode(nn::BatchNorm1d(3)), {5, 3});
    one("BatchNorm2d" + suffix, mode(nn::BatchNorm2d(3)), {3, 3, 2, 4});
    one("BatchNorm3d" + suffix, mode(nn::BatchNorm3d(2)), {2, 2, 2, 3, 2});
  }
  one("LayerNorm", nn::LayerNorm(5), {3, 5});
  one("RMSNorm", nn::RMSNorm(5), {3, 5});
  one("GroupNorm", nn::GroupNorm(2, 4), {3, 4, 5});
  one("InstanceNorm1d", nn::InstanceNorm1d(2), {2, 2, 6});
  one("InstanceNorm2d", nn::InstanceNorm2d(2), {2, 2, 3, 4});
  one("InstanceNorm3d", nn::InstanceNorm3d(2), {2, 2, 2, 3, 2});
}

TEST_F(ModuleGradient, activations) {
  for (const nn::Activation &each :
       {nn::ReLU(), nn::ReLU6(), nn::LeakyReLU(.1), nn::ELU(1.5), nn::SELU(), nn::CELU(1.5), nn::GELU(), nn::GELU(true), nn::SiLU(), nn::Mish(), nn::Sigmoid(),
        nn::LogSigmoid(), nn::Tanh(), nn::Softplus(2, 1), nn::Softsign(), nn::Softshrink(.3), nn::Hardshrink(.3), nn::Hardtanh(-.4, .3), nn::Hardsigmoid(),
        nn::Hardswish(), nn::Threshold(.1, .2), nn::Tanhshrink(), nn::GLU(), nn::Softmax(1), nn::LogSoftmax(1)})
    one(each->describe(), each, {3, 6});
  one("PReLU", nn::PReLU(3), {2, 3, 4});
  one("Dropout", nn::Dropout(.4), {4, 6});
  one("Flatten", nn::Flatten(), {2, 3, 2});
  one("Identity", nn::Identity(), {2, 3});
  one("Sequential", nn::Sequential(nn::Linear(4, 5), nn::Tanh(), nn::Linear(5, 2)), {3, 4});
}

TEST_F(ModuleGradient, embedding) {
  nn::Embedding table(7, 3, {.paddingIndex = 2});
  Tensor ids = tensor({{1, 5, 1}, {6, 0, 5}});
  check({"Embedding", [=] { return square(table(ids)); }, table->parameters()});
}

TEST_F(ModuleGradient, recurrent) {
  manualSeed(2);
  auto run = [](const std::string &name, auto module, auto output) {
    Tensor x = leaf({3, 2, 4}, 37);
    std::vector<Tensor> leaves = module->parameters();
    leaves.push_back(x);
    check({name, [=] { return output(module(x)); }, leaves});
  };
  auto both = [](const auto &result) { return result.first.sum() + square(result.second).sum(); };
  run("RNN", nn::RNN(4, 3), both);
  run("GRU", nn::GRU({.input = 4, .hidden = 3, .bidirectional = true}), both);
  run("LSTM", nn::LSTM({.input = 4, .hidden = 3, .layers = 2}),
      [](const auto &result) { return square(result.first).sum() + (result.second.first * result.second.second).sum(); });
}

TEST_F(ModuleGradient, attention) {
  manualSeed(3);
  nn::MultiheadAttention attention({.embedding = 4, .heads = 2, .batchFirst = true});
  Tensor q = leaf({2, 3, 4}, 37), k = leaf({2, 5, 4}, 41), v = leaf({2, 5, 4}, 29);
  std::vector<Tensor> leaves = attention->parameters();
  leaves.insert(leaves.end(), {q, k, v});
  check({"MultiheadAttention", [=] { return attention(q, k, v).first; }, leaves});
  check({"MultiheadAttention causal", [=] { return attention(q, q, q, nn::AttentionCall{.causal = true}).first; }, attention->parameters()});
  nn::EncoderLayerOptions options{.embedding = 4, .heads = 2, .feedforward = 6, .dropout = 0, .gelu = true, .batchFirst = true};
  one("TransformerEncoderLayer", nn::TransformerEncoderLayer(options), {2, 3, 4});
  options.normFirst = true;
  one("TransformerEncoder", nn::TransformerEncoder(options, 2, true), {1, 3, 4});
}

TEST_F(ModuleGradient, losses) {
  Tensor scores = leaf({4, 3}, 37), other = filled({4, 3}, 41) * .83 + .017, share = (filled({4, 3}, 53) + .8) * .5, labels = tensor({0, 2, 1, 2});
  auto pair = [&](const std::string &name, auto loss, const Tensor &target) {
    check({name, [=] { return loss(scores, target); }, {scores}});
  };
  pair("CrossEntropyLoss", nn::CrossEntropyLoss({.labelSmoothing = .1}, filled({3}, 11) + 1), labels);
  pair("CrossEntropyLoss of shares", nn::CrossEntropyLoss(), softmax(other, 1));
  pair("NLLLoss", nn::NLLLoss({}, filled({3}, 11) + 1), labels);
  pair("BCEWithLogitsLoss", nn::BCEWithLogitsLoss(Reduction::Mean, filled({3}, 11) + 1), clamp(share, 0., 1.));
  pair("MSELoss", nn::MSELoss(), other);
  pair("L1Loss", nn::L1Loss(Reduction::Sum), other);
  pair("SmoothL1Loss", nn::SmoothL1Loss(Reduction::Mean, .37), other);
  pair("HuberLoss", nn::HuberLoss(Reduction::Mean, .43), other);
  pair("KLDivLoss", nn::KLDivLoss(KlReduction::BatchMean), softmax(other, 1));
  check({"BCELoss", [=] { return nn::BCELoss()(sigmoid(scores), clamp(share, 0., 1.)); }, {scores}});
}

} // namespace
