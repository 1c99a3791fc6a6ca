// cond, whileLoop and scan: values, gradients and misuse.
#include "frontend/graphc/control.h"
#include "test/unit/eager/Expect.h"

using namespace graphc;
using namespace graphc::test;

TEST(Control, condTakesOneBranch) {
  Tensor x = tensor({1.f, -2.f}, {.requiresGrad = true});
  int ran = 0;
  auto f = [&](const Tensor &c) {
    return cond(c, [&] { ran += 1; return x * 3; }, [&] { ran += 10; return x * x; });
  };
  Tensor y = f(x.sum() > 0);
  EXPECT_EQ(ran, 10);
  y.sum().backward();
  expectValues(x.grad(), {2}, {2., -4.});
  f(x.sum() < 0);
  EXPECT_EQ(ran, 11);
}

TEST(Control, whileLoopRunsUntilTheConditionFails) {
  Tensor x = tensor({1.f, 2.f}, {.requiresGrad = true});
  auto small = [](const std::vector<Tensor> &s) { return s[0].sum() < 20; };
  auto twice = [](const std::vector<Tensor> &s) { return std::vector<Tensor>{s[0] * 2, s[1] + 1}; };
  auto last = whileLoop(small, twice, {x, zeros({}, {.dtype = DType::I64})});
  expectValues(last[0], {2}, {8., 16.});
  EXPECT_EQ(last[1].item<int64_t>(), 3);
  last[0].sum().backward();
  expectValues(x.grad(), {2}, {8., 8.});
  EXPECT_EQ(whileLoop(small, twice, {x, zeros({}, {.dtype = DType::I64})}, {.maxTrips = 2})[1].item<int64_t>(), 2);
}

TEST(Control, scanCarriesAndStacks) {
  Tensor xs = tensor({1.f, 2.f, 3.f}, {.requiresGrad = true});
  auto sums = [](const std::vector<Tensor> &s, const std::vector<Tensor> &x) {
    Tensor next = s[0] + x[0];
    return ScanStep{{next}, {next * next}};
  };
  ScanStep r = scan(sums, {zeros({})}, {xs});
  EXPECT_EQ(r.state[0].item<float>(), 6.f);
  expectValues(r.slices[0], {3}, {1., 9., 36.});
  r.slices[0].sum().backward();
  expectValues(xs.grad(), {3}, {20., 18., 12.});
  ScanStep back = scan(sums, {zeros({})}, {xs}, {.reverse = true});
  expectValues(back.slices[0], {3}, {36., 25., 9.});
  EXPECT_TRUE(scan(sums, {zeros({})}, {zeros({0})}).slices.empty());
}

TEST(Control, misuse) {
  Tensor x = zeros({2});
  EXPECT_EQ(messageOf([&] { cond(x, [&] { return x; }, [&] { return x; }); }, Code::TypeMismatch), "cond: the condition must be one bool, got f32[2]");
  EXPECT_EQ(messageOf([&] { whileLoop([&](auto &) { return x.sum() < 1; }, [&](auto &) { return std::vector<Tensor>{zeros({3})}; }, {x}); }, Code::ShapeMismatch),
            "whileLoop: state 0 is f32[2] before an iteration and f32[3] after it");
  auto body = [](const std::vector<Tensor> &s, const std::vector<Tensor> &) { return ScanStep{s, {}}; };
  EXPECT_EQ(messageOf([&] { scan(body, {x}, {}); }, codes::InvalidArgument), "scan: needs a tensor to scan; its length says how often the body runs");
  EXPECT_EQ(messageOf([&] { scan(body, {x}, {x, zeros({3})}); }, Code::ShapeMismatch), "scan: f32[2] and f32[3] have different sizes in dim 0");
}
