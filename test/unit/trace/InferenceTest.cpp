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

} // namespace
