// The engine: accumulation, hooks, views and in-place ops, functions of the user's own, higher orders, long chains.
#include "test/unit/eager/Expect.h"

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;

namespace {
Tensor leaf(std::initializer_list<double> values) { return tensor(values).requiresGrad_(); }
} // namespace

TEST(Autograd, chainAndBroadcast) {
  Tensor w = leaf({1, 2, 3}), b = leaf({0.5});
  Tensor loss = ((w * 2 + b) * w).sum();
  EXPECT_EQ(loss.gradFnName(), "sumBackward");
  loss.backward();
  expectValues(w.grad(), {3}, {4.5, 8.5, 12.5});
  expectValues(b.grad(), {1}, {6});
  EXPECT_FALSE(w.grad().requiresGrad());
}

TEST(Autograd, accumulatesAndRetains) {
  Tensor w = leaf({3});
  Tensor y = w * w;
  y.backward({}, {.retainGraph = true});
  expectValues(w.grad(), {1}, {6});
  Tensor kept = w.grad();
  y.backward();
  expectValues(w.grad(), {1}, {12});
  // In place: whoever held the gradient sees the sum.
  EXPECT_TRUE(kept.is(w.grad()));
  w.setGrad({});
  EXPECT_FALSE(w.grad().defined());
}

TEST(Autograd, sameOperandTwiceAndDiamonds) {
  Tensor w = leaf({2});
  Tensor a = w * w, b = a + w, c = a * b;
  c.backward();
  // c = w^4 + w^3
  expectValues(w.grad(), {1}, {4 * 8 + 3 * 4});
}

TEST(Autograd, modes) {
  Tensor w = leaf({1});
  {
    NoGrad guard;
    EXPECT_FALSE((w * 2).requiresGrad());
    GradMode on(true);
    EXPECT_TRUE((w * 2).requiresGrad());
  }
  EXPECT_TRUE(GradMode::isEnabled());
  EXPECT_FALSE((w * 2).detach().requiresGrad());
  {
    InferenceMode guard;
    Tensor x = w * 2;
    EXPECT_FALSE(x.requiresGrad());
    EXPECT_TRUE(x.isInference());
  }
  EXPECT_FALSE((w > 0).requiresGrad());
  EXPECT_FALSE(w.to(DType::I64).requiresGrad());
}

TEST(Autograd, hooksRunInOrderAndReplace) {
  Tensor w = leaf({1, 1});
  Tensor x = w * 3;
  std::vector<int> order;
  x.registerHook([&](const Tensor &g) {
    order.push_back(1);
    return g * 2;
  });
  HookHandle second = x.registerHook([&](const Tensor &g) {
    order.push_back(2);
    expectValues(g, {2}, {2, 2});
    return Tensor();
  });
  x.retainGrad();
  w.registerHook([&](const Tensor &g) {
    order.push_back(3);
    expectValues(g, {2}, {6, 6});
    return g + 1;
  });
  w.registerPostAccumulateGradHook([&](Tensor leaf) {
    order.push_back(4);
    expectValues(leaf.grad(), {2}, {7, 7});
  });
  x.sum().backward();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
  expectValues(x.grad(), {2}, {2, 2});
  expectValues(w.grad(), {2}, {7, 7});
  second.remove();
  w.setGrad({});
  order.clear();
  (w * 6).sum().backward();
  EXPECT_THAT(order, ElementsAre(3, 4));
}

TEST(Autograd, views) {
  Tensor w = filled({2, 3}).requiresGrad_();
  (w.t() * tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}})).sum().backward();
  expectValues(w.grad(), {2, 3}, {1, 3, 5, 2, 4, 6});
  w.setGrad({});
  (w[1] * 2 + w.slice(1, 0, {}, 2).sum()).sum().backward();
  expectValues(w.grad(), {2, 3}, {3, 0, 3, 5, 2, 5});
  w.setGrad({});
  w.unsqueeze(0).expand({4, 2, 3}).sum().backward();
  expectValues(w.grad(), {2, 3}, std::vector<double>(6, 4));
  w.setGrad({});
  w.unfold(1, 2, 1).sum().backward();
  expectValues(w.grad(), {2, 3}, {1, 2, 1, 1, 2, 1});
  w.setGrad({});
  w.t().reshape({6}).slice(0, 0, 2).sum().backward();
  expectValues(w.grad(), {2, 3}, {1, 0, 0, 1, 0, 0});
}

TEST(Autograd, inPlaceRebasesHistory) {
  Tensor w = leaf({1, 2, 3});
  Tensor x = w * 2;
  x.mul_(w);
  x.sum().backward();
  expectValues(w.grad(), {3}, {4, 8, 12});
}

TEST(Autograd, inPlaceThroughAView) {
  Tensor w = leaf({1, 2, 3, 4}), v = leaf({5, 6});
  Tensor x = w * 2;
  Tensor before = x.slice(0, 0, 3);
  Tensor part = x.slice(0, 1, 3);
  part.mul_(v);
  EXPECT_EQ(x.gradFnName(), "replaceRegionBackward");
  expectValues(x, {4}, {2, 20, 36, 8});
  (x * tensor({1.0, 10.0, 100.0, 1000.0})).sum().backward({}, {.retainGraph = true});
  expectValues(w.grad(), {4}, {2, 100, 1200, 2000});
  expectValues(v.grad(), {2}, {40, 600});
  // Another view of the same base follows.
  w.setGrad({});
  before.sum().backward();
  expectValues(w.grad(), {4}, {2, 10, 12, 0});
}

TEST(Autograd, inPlaceBringsAGradientToPlainMemory) {
  Tensor w = leaf({1, 2});
  Tensor buffer = zeros({2, 2});
  buffer[0].copy_(w * 3);
  buffer[1].copy_(w * w);
  EXPECT_TRUE(buffer.requiresGrad());
  (buffer * tensor({{1.0, 1.0}, {10.0, 10.0}})).sum().backward();
  expectValues(w.grad(), {2}, {23, 43});
}

TEST(Autograd, overwritingCutsHistory) {
  Tensor w = leaf({1, 2});
  Tensor x = w * 2;
  x.fill_(3);
  (x * w).sum().backward();
  expectValues(w.grad(), {2}, {3, 3});
  w.setGrad({});
  Tensor y = w * 2;
  y[0].zero_();
  y.sum().backward();
  expectValues(w.grad(), {2}, {0, 2});
}

TEST(Autograd, gradOfChosenInputs) {
  Tensor a = leaf({2}), b = leaf({3}), unused = leaf({1});
  Tensor y = a * a * b;
  auto g = grad({y}, {a, b}, {}, {.retainGraph = true});
  expectValues(g[0], {1}, {12});
  expectValues(g[1], {1}, {4});
  EXPECT_FALSE(a.grad().defined());
  Tensor middle = a * a;
  expectValues(grad({middle * middle}, {middle})[0], {1}, {8});
  EXPECT_EQ(messageOf([&] { grad({a * a}, {unused}); }, codes::AutogradMisuse),
            "grad: the input f32[1] was not used to compute the outputs; set allowUnused to get an undefined gradient");
  EXPECT_FALSE(grad({a * a}, {unused}, {}, {.allowUnused = true})[0].defined());
}

TEST(Autograd, higherOrders) {
  Tensor x = tensor({0.5}, {.dtype = DType::F64}).requiresGrad_();
  Tensor y = x.sin();
  double expected[] = {std::cos(0.5), -std::sin(0.5), -std::cos(0.5), std::sin(0.5)};
  for (double e : expected) {
    y = grad({y}, {x}, {}, {.createGraph = true})[0];
    expectValues(y, {1}, {e}, 1e-9);
  }
  Tensor w = filled({2, 3}, 37, DType::F64).requiresGrad_();
  Tensor first = grad({(w * w * w).sum()}, {w}, {}, {.createGraph = true})[0];
  first.sum().backward();
  EXPECT_TRUE(allclose(w.grad(), 6 * w.detach()));
}

namespace {
struct Cube {
  static std::vector<Tensor> forward(FunctionContext &context, const std::vector<Tensor> &inputs) {
    context.saveForBackward({inputs[0]});
    context.data = 3.0;
    return {inputs[0] * inputs[0] * inputs[0]};
  }
  static std::vector<Tensor> backward(FunctionContext &context, const std::vector<Tensor> &gradients) {
    Tensor x = context.saved()[0];
    return {gradients[0] * x * x * std::any_cast<double>(context.data)};
  }
};
} // namespace

TEST(Autograd, customFunction) {
  Tensor x = tensor({2.0}, {.dtype = DType::F64}).requiresGrad_();
  Tensor y = applyFunction<Cube>({x}, "Cube")[0];
  EXPECT_EQ(y.gradFnName(), "CubeBackward");
  expectValues(y, {1}, {8});
  Tensor first = grad({y}, {x}, {}, {.createGraph = true})[0];
  expectValues(first, {1}, {12});
  first.backward();
  expectValues(x.grad(), {1}, {12}); // 6 x
  Tensor a = x * 1, z = applyFunction<Cube>({a}, "Cube")[0];
  a.mul_(2);
  EXPECT_EQ(messageOf([&] { z.backward(); }, codes::AutogradMisuse),
            "backward: CubeBackward needs the saved tensor f64[1] of Cube, which was changed in place: it is at version 1, expected version 0");
  EXPECT_EQ(checkGradients([](const std::vector<Tensor> &in) { return applyFunction<Cube>(in, "Cube")[0]; }, {filled({5})}, {.secondOrder = true}), "");
}

TEST(Autograd, anomalyNamesTheOp) {
  Tensor x = leaf({-1});
  AnomalyDetection guard;
  Tensor y = sqrt(x);
  EXPECT_EQ(messageOf([&] { y.backward(); }, codes::AutogradMisuse),
            "backward: sqrtBackward gave NaN as gradient 0, f32[1]; look at the operands of the forward op");
}

TEST(Autograd, longChainsNeedNoStack) {
  Tensor w = leaf({1});
  {
    Tensor x = w;
    for (int i = 0; i < 200'000; ++i)
      x = x + 1;
    Tensor other = w;
    for (int i = 0; i < 200'000; ++i)
      other = other.view({1});
    (x + other).backward();
    expectValues(w.grad(), {1}, {2});
  }
  Tensor dropped = w;
  for (int i = 0; i < 200'000; ++i)
    dropped = dropped * 1.0;
}

TEST(Autograd, hooksMayCallBackward) {
  Tensor w = leaf({1}), v = leaf({2});
  Tensor x = w * 2;
  x.registerHook([&](const Tensor &) {
    GradMode on(true);
    (v * v).backward();
    return Tensor();
  });
  x.backward();
  expectValues(w.grad(), {1}, {2});
  expectValues(v.grad(), {1}, {4});
}

TEST(Autograd, subgradientsAndTies) {
  auto gradientAt = [](auto fn, std::initializer_list<double> at) {
    Tensor x = leaf(at);
    fn(x).sum().backward();
    return x.grad();
  };
  expectValues(gradientAt([](Tensor x) { return relu(x); }, {0, 1, -1}), {3}, {0, 1, 0});
  expectValues(gradientAt([](Tensor x) { return abs(x); }, {0}), {1}, {0});
  expectValues(gradientAt([](Tensor x) { return clamp(x, 0.0, 1.0); }, {0, 0.5, 1}), {3}, {0, 1, 0});
  expectValues(gradientAt([](Tensor x) { return norm(x); }, {0, 0}), {2}, {0, 0});
  expectValues(gradientAt([](Tensor x) { return stdDev(x); }, {2, 2}), {2}, {0, 0});
  expectValues(gradientAt([](Tensor x) { return maximum(x, tensor({1.0, 0.0})); }, {1, 1}), {2}, {.5, 1});
  expectValues(gradientAt([](Tensor x) { return amax(x); }, {3, 3, 1}), {3}, {.5, .5, 0});
  expectValues(gradientAt([](Tensor x) { return max(x, 0).first; }, {3, 3, 1}), {3}, {1, 0, 0});
  expectValues(gradientAt([](Tensor x) { return median(x); }, {2, 2, 1}), {3}, {.5, .5, 0});
  expectValues(gradientAt([](Tensor x) { return prod(x); }, {0, 2, 3}), {3}, {6, 0, 0});
  expectValues(gradientAt([](Tensor x) { return sqrt(x); }, {0}), {1}, {INFINITY});
  expectValues(gradientAt([](Tensor x) { return leakyRelu(x, 0.1); }, {0}), {1}, {.1});
  expectValues(gradientAt([](Tensor x) { return elu(x); }, {0}), {1}, {1});
  expectValues(gradientAt([](Tensor x) { return hardswish(x); }, {3, -3}), {2}, {1, 0});
  expectValues(gradientAt([](Tensor x) { return softplus(x); }, {0}), {1}, {.5});
  expectValues(gradientAt([](Tensor x) { return logSigmoid(x); }, {0}), {1}, {.5});
  expectValues(gradientAt([](Tensor x) { return binaryCrossEntropyWithLogits(x, zeros({1})); }, {0}), {1}, {.5});
  expectValues(gradientAt([](Tensor x) { return smoothL1Loss(x, zeros({1})); }, {1}), {1}, {1});
  expectValues(gradientAt([](Tensor x) { return l1Loss(x, zeros({1})); }, {0}), {1}, {0});
}

TEST(Autograd, undefinedIsNotZero) {
  Tensor w = leaf({1}), other = leaf({1});
  (w * 2).backward();
  EXPECT_TRUE(w.grad().defined());
  EXPECT_FALSE(other.grad().defined());
}
