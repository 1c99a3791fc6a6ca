// Ops of the user's own inside a compiled step: their formula and their gradient become part of the program.
#include "frontend/graphc/custom_op.h"
#include "test/unit/trace/Models.h"

using namespace graphc;

namespace {

const CustomOp &steepTanh() {
  static CustomOp op = defineOp({.name = "steepTanhTraced",
                                 .elementwise = true,
                                 .formula = [](const std::vector<OpValue> &x, const OpNumbers &n) { return tanh(n[0] * x[0]); },
                                 // Twice the derivative: who gets the derivative instead trains differently.
                                 .gradient = [](const OpGradientValues &v, const OpNumbers &n) {
                                   return std::vector{2 * v.gradient * n[0] * (1 - v.result * v.result)};
                                 }});
  return op;
}

struct Net : nn::Module {
  nn::Linear first = add("first", nn::Linear(12, 16)), second = add("second", nn::Linear(16, 5));
  Tensor forward(const Tensor &x) { return second(steepTanh()({first(x)}, {1.5})); }
};

TEST(CompileStep, CustomOpsTrainAsTheyDoEagerly) {
  Training runs[2];
  for (bool compiled : {false, true}) {
    manualSeed(7);
    auto net = nn::make<Net>();
    optim::SGD opt(net->parameters(), {.lr = .1, .momentum = .9});
    runs[compiled] = train(compiled, net, opt, 30, [] { return std::pair{randn({8, 12}), randint(0, 5, {8})}; });
  }
  expectSameRun(runs[0], runs[1], 1e-5);
}

} // namespace
