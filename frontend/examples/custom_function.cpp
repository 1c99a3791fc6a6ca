// A function whose gradient is written by hand: rounding with a straight-through gradient, and training weights of few bits.
//
//   custom_function
#include "frontend/graphc/graphc.h"

#include <iostream>

using namespace graphc;

namespace {

/// Rounds to multiples of a step. The derivative of rounding is zero almost everywhere; backward passes gradients on as if
/// nothing had been rounded, except where values were cut off at the bound.
struct Quantize {
  static constexpr double step = 1.0 / 4, bound = 1;
  static std::vector<Tensor> forward(FunctionContext &context, const std::vector<Tensor> &inputs) {
    context.saveForBackward({inputs[0]});
    return {clamp(round(inputs[0] / step) * step, -bound, bound)};
  }
  static std::vector<Tensor> backward(FunctionContext &context, const std::vector<Tensor> &gradients) {
    Tensor inside = le(abs(context.saved()[0]), bound);
    return {gradients[0] * inside.to(gradients[0].dtype())};
  }
};

} // namespace

int main(int argc, char **) {
  try {
    if (argc > 1) {
      std::cerr << "custom_function: it takes no arguments\n";
      return 2;
    }
    manualSeed(1);
    Tensor x = tensor({-2.0, -.4, .1, .6}, {.requiresGrad = true});
    Tensor y = applyFunction<Quantize>({x}, "Quantize")[0];
    y.sum().backward();
    std::cout << "values " << y.detach() << "\ngradients " << x.grad() << "\nmade by " << y.gradFnName() << '\n';

    // Weights are kept in full and used rounded; a copy with as few bits as possible comes out.
    Tensor inputs = randn({256, 8}), wanted = matmul(inputs, randn({8, 1}) * 0.4);
    Tensor weight = randn({8, 1}).mul(0.1).detach().requiresGrad_();
    optim::SGD optimizer({weight}, {.lr = .05, .momentum = .9});
    double begin = 0, end = 0;
    for (int step = 0; step < 200; ++step) {
      Tensor loss = mseLoss(matmul(inputs, applyFunction<Quantize>({weight})[0]), wanted);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      (step == 0 ? begin : end) = loss.item<double>();
    }
    std::cout << "loss from " << begin << " to " << end << '\n';

    // A tensor that backward needs must not change before it has run.
    Tensor z = weight * 1.0;
    Tensor changed = applyFunction<Quantize>({z}, "Quantize")[0];
    z.add_(1);
    try {
      changed.sum().backward();
      return 1;
    } catch (const Error &error) {
      std::cout << "found out: " << error.message() << '\n';
    }
    return end < begin / 5 ? 0 : 1;
  } catch (const std::exception &problem) {
    std::cerr << "custom_function: " << problem.what() << '\n';
    return 1;
  }
}
