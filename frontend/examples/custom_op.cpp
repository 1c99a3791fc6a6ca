// An op of one's own: shape rule, formula and gradient, checked, timed against the same thing written with tensors, and trained
// with.
//
//   custom_op
#include "frontend/graphc/graphc.h"

#include <chrono>
#include <iostream>

using namespace graphc;

namespace {

/// y = sin²(a x) / a + x: an activation that lets networks learn what repeats. One kernel, whatever the size.
CustomOp snake() {
  return defineOp({.name = "snake",
                   .operands = 1,
                   .elementwise = true,
                   .shape = [](const OpShapes &operands, const OpNumbers &) { return operands[0]; },
                   .formula =
                       [](const std::vector<OpValue> &x, const OpNumbers &n) {
                         OpValue s = sin(n[0] * x[0]);
                         return x[0] + s * s / n[0];
                       },
                   .gradient =
                       [](const OpGradientValues &v, const OpNumbers &n) {
                         return std::vector{v.gradient * (1.0 + sin(2 * n[0] * v.operands[0]))};
                       }});
}

double milliseconds(const std::function<void()> &run) {
  run();
  auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < 20; ++k)
    run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / 20;
}

} // namespace

int main(int argc, char **) {
  try {
    if (argc > 1) {
      std::cerr << "custom_op: it takes no arguments\n";
      return 2;
    }
    manualSeed(1);
    CustomOp op = snake();

    std::string wrong = checkGradients([&](const std::vector<Tensor> &in) { return op(in, {1.5}); }, {randn({4, 3})}, {.secondOrder = true});
    std::cout << "gradients of first and second order: " << (wrong.empty() ? "right" : wrong) << '\n';

    Tensor x = randn({512, 512});
    auto written = [](const Tensor &t) { return t + square(sin(t * 1.5)) / 1.5; };
    std::cout << "same values as its ops one by one: " << (allclose(op({x}, {1.5}), written(x)) ? "yes" : "no") << '\n';
    double fused = milliseconds([&] { op({x}, {1.5}); }), apart = milliseconds([&] { written(x); });
    std::cout << "one kernel " << (fused < apart ? "is faster" : "is not faster") << " than five\n";

    // A network that continues a wave beyond what it has seen of it.
    nn::Linear first(1, 32), last(32, 1);
    optim::Adam optimizer([&] {
      std::vector<Tensor> parameters = first->parameters();
      for (const Tensor &each : last->parameters())
        parameters.push_back(each);
      return parameters;
    }(), {.lr = 1e-2});
    Tensor at = linspace(-3, 3, 128).unsqueeze(1), wave = sin(at * 3) + at * 0.5;
    double begin = 0, end = 0;
    for (int step = 0; step < 400; ++step) {
      Tensor loss = mseLoss(last(op({first(at)}, {3})), wave);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      (step == 0 ? begin : end) = loss.item<double>();
    }
    std::cout << "loss from " << begin << " to " << end << '\n';
    return wrong.empty() && end < begin / 5 ? 0 : 1;
  } catch (const std::exception &problem) {
    std::cerr << "custom_op: " << problem.what() << '\n';
    return 1;
  }
}
