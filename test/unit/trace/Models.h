// Models and a training loop that run eagerly or compiled, from the same seed.
#pragma once

#include "frontend/graphc/compile.h"
#include "frontend/graphc/graphc.h"

#include <gtest/gtest.h>

#include <cmath>

namespace graphc {

struct Mlp : nn::Module {
  nn::Linear first = add("first", nn::Linear(12, 16)), second = add("second", nn::Linear(16, 5));
  Tensor forward(const Tensor &x) { return second(relu(first(x))); }
};

struct Cnn : nn::Module {
  nn::Conv2d conv1 = add("conv1", nn::Conv2d({.in = 1, .out = 4, .kernel = 3, .padding = 1}));
  nn::BatchNorm2d norm = add("norm", nn::BatchNorm2d(4));
  nn::Conv2d conv2 = add("conv2", nn::Conv2d({.in = 4, .out = 8, .kernel = 3, .padding = 1}));
  nn::Linear hidden = add("hidden", nn::Linear(32, 16)), classes = add("classes", nn::Linear(16, 5));
  nn::Dropout drop = add("drop", nn::Dropout(.5));
  Tensor forward(const Tensor &images) {
    Tensor x = maxPool2d(relu(norm(conv1(images))), 2);
    x = maxPool2d(relu(conv2(x)), 2);
    return classes(drop(relu(hidden(x.flatten(1)))));
  }
};

/// A small GPT whose head is its embedding.
struct Gpt : nn::Module {
  nn::Embedding token = add("token", nn::Embedding(11, 16)), place = add("place", nn::Embedding(6, 16));
  nn::TransformerEncoder blocks;
  explicit Gpt(double dropout)
      : blocks(add("blocks", nn::TransformerEncoder({.embedding = 16, .heads = 2, .feedforward = 32, .dropout = dropout, .gelu = true, .batchFirst = true,
                                                     .normFirst = true}, 2, true))) {}
  Tensor forward(const Tensor &ids) {
    Tensor x = token(ids) + place(arange(Scalar(ids.size(1))));
    return linear(blocks(x, nn::AttentionCall{.causal = true}), token->weight);
  }
};

struct Training {
  std::vector<double> losses;
  std::vector<Tensor> parameters, buffers;
  CompileReport report;
  std::string ir;
};

/// Trains `net` for some steps; `inputs` draws one batch.
template <typename Net, typename Opt, typename Inputs>
Training train(bool compiled, Net net, Opt &opt, int steps, Inputs &&inputs) {
  Training run;
  auto step = [&](const Tensor &x, const Tensor &y) {
    Tensor scores = net(x);
    Tensor loss = scores.dim() == 3 ? crossEntropy(scores.flatten(0, 1), y.flatten()) : crossEntropy(scores, y);
    loss.backward();
    optim::clipGradNorm(net->parameters(), 1.0);
    opt.step();
    opt.zeroGrad();
    return loss.detach();
  };
  auto fast = compile(step, {.state = {net, opt}});
  for (int k = 0; k < steps; ++k) {
    auto [x, y] = inputs();
    run.losses.push_back((compiled ? fast(x, y) : step(x, y)).template item<double>());
  }
  run.parameters = net->parameters();
  run.buffers = net->buffers();
  run.report = fast.report();
  run.ir = fast.ir();
  return run;
}

inline void expectSameRun(const Training &eager, const Training &compiled, double tolerance) {
  ASSERT_EQ(eager.losses.size(), compiled.losses.size());
  EXPECT_NEAR(eager.losses[0], compiled.losses[0], 1e-6 * std::abs(eager.losses[0]));
  for (size_t k = 0; k < eager.losses.size(); ++k)
    EXPECT_NEAR(eager.losses[k], compiled.losses[k], tolerance * std::abs(eager.losses[k])) << "step " << k;
  for (size_t k = 0; k < eager.buffers.size(); ++k)
    EXPECT_TRUE(allclose(eager.buffers[k], compiled.buffers[k], 1e-3, 1e-4)) << "buffer " << k;
  EXPECT_EQ(compiled.report.programs, 1);
}

} // namespace graphc
