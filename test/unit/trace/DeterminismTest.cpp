// The same losses to the last bit: from run to run, and on one thread and several.
#include "test/unit/trace/Models.h"

using namespace graphc;

namespace {

/// Large enough that products, convolutions, sums and updates are shared out.
struct Images : nn::Module {
  nn::Conv2d a = add("a", nn::Conv2d({.in = 3, .out = 16, .kernel = 3, .padding = 1})), b = add("b", nn::Conv2d({.in = 16, .out = 32, .kernel = 3, .padding = 1}));
  nn::Linear c = add("c", nn::Linear(32 * 7 * 7, 300)), d = add("d", nn::Linear(300, 10));
  nn::LayerNorm norm = add("norm", nn::LayerNorm(Extents{300}));
  nn::Dropout drop = add("drop", nn::Dropout(.5));
  Tensor forward(const Tensor &images) {
    Tensor x = maxPool2d(relu(a(images)), 2);
    x = maxPool2d(relu(b(x)), 2);
    return d(drop(norm(gelu(c(x.flatten(1))))));
  }
};

std::vector<float> lossesOf(int threads, bool compiled) {
  ThreadContext::current().threads = threads;
  manualSeed(11);
  auto net = nn::make<Images>();
  optim::AdamW opt(net->parameters(), {.lr = 1e-3});
  auto step = [&](Tensor x, Tensor y) {
    Tensor loss = crossEntropy(net(x), y);
    opt.zeroGrad();
    loss.backward();
    optim::clipGradNorm(net->parameters(), 1);
    opt.step();
    return loss.detach();
  };
  auto fast = compile(step, {.state = {net, opt}});
  std::vector<float> losses;
  for (int i = 0; i < 6; ++i) {
    Tensor x = randn({48, 3, 28, 28}), y = randint(0, 10, {48});
    losses.push_back((compiled ? fast(x, y) : step(x, y)).item<float>());
  }
  ThreadContext::current().threads = 0;
  return losses;
}

TEST(Determinism, CompiledStepsHaveTheSameBitsOnAnyNumberOfThreads) {
  auto once = lossesOf(0, true);
  EXPECT_EQ(once, lossesOf(0, true));
  EXPECT_EQ(once, lossesOf(1, true));
  for (float loss : once)
    EXPECT_TRUE(std::isfinite(loss));
}

TEST(Determinism, EagerStepsHaveTheSameBitsOnAnyNumberOfThreads) { EXPECT_EQ(lossesOf(0, false), lossesOf(1, false)); }

} // namespace
