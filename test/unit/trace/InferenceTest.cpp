// compile(module): the same numbers as eagerly, one program for each kind of argument.
#include "frontend/graphc/compile.h"
#include "frontend/graphc/graphc.h"

#include <gtest/gtest.h>

using namespace graphc;

namespace {

struct Mlp : nn::Module {
  nn::Linear first = add("first", nn::Linear(12, 16)), second = add("second", nn::Linear(16, 5));
  Tensor forward(const Tensor &x) { return second(relu(first(x))); }
};

TEST(CompileInference, AModuleGivesTheSameNumbers) {
  manualSeed(1);
  auto net = nn::make<Mlp>();
  NoGrad guard;
  auto fast = compile(net);
  for (int64_t rows : {8, 8, 3}) {
    Tensor x = randn({rows, 12});
    EXPECT_TRUE(allclose(fast(x), net(x), 1e-6, 1e-6));
  }
  EXPECT_EQ(fast.report().programs, 2);
  EXPECT_EQ(fast.report().calls, 3);
}

/// What the data decides: a branch, and how often a loop runs.
struct Deciding : nn::Module {
  nn::Linear layer = add("layer", nn::Linear(4, 4));
  Tensor forward(const Tensor &x) {
    Tensor y = cond(x.sum() > 0, [&] { return layer(x); }, [&] { return x * 2; });
    auto doubled = [](const std::vector<Tensor> &s) { return std::vector<Tensor>{s[0] * 2, s[1] + 1}; };
    auto last = whileLoop([](const std::vector<Tensor> &s) { return s[0].abs().sum() < 50; }, doubled, {y, zeros({})}, {.maxTrips = 12});
    auto sums = scan([](const std::vector<Tensor> &s, const std::vector<Tensor> &row) { return ScanStep{{s[0] + row[0]}, {s[0] * row[0]}}; }, {zeros({4})}, {y});
    return last[0] + last[1] + sums.state[0] + sums.slices[0];
  }
};

TEST(CompileInference, BranchesAndLoopsThatTheDataDecides) {
  manualSeed(1);
  auto net = nn::make<Deciding>();
  NoGrad guard;
  auto fast = compile(net);
  for (double scale : {1.0, -1.0, 20.0, -0.01}) {
    Tensor x = rand({3, 4}) * scale;
    EXPECT_TRUE(allclose(fast(x), net(x), 1e-5, 1e-5)) << scale;
  }
  EXPECT_EQ(fast.report().programs, 1);
}

} // namespace
