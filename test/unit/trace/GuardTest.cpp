// Which calls a program holds for: sizes that stay open, what makes the next call trace anew, and what is an input.
#include "test/unit/trace/Models.h"

#include <gmock/gmock.h>

using namespace graphc;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string messageOf(const std::function<void()> &fn) {
  try {
    fn();
  } catch (const Error &problem) {
    return problem.message();
  }
  return "no error";
}

TEST(CompileGuards, ADeclaredSizeCompilesOnceTheSmallLastBatchIncluded) {
  manualSeed(1);
  auto net = nn::make<Mlp>();
  NoGrad guard;
  auto fast = compile(net, {.dims = {Dim("n", 0, 512)}});
  for (int64_t rows : {32, 7, 1, 0, 512, 12, 16}) {
    Tensor x = randn({rows, 12});
    Tensor y = fast(x);
    EXPECT_EQ(y.size(0), rows);
    EXPECT_TRUE(allclose(y, net(x), 1e-5, 1e-6)) << rows << " rows";
  }
  EXPECT_EQ(fast.report().programs, 1);
  EXPECT_EQ(messageOf([&] { fast(randn({513, 12})); }),
            "compile: tensor argument 0 has size 513 in axis 0, 'n' is declared to be in [0, 512]");
}

TEST(CompileGuards, AStepHoldsForEveryBatchSize) {
  std::vector<double> losses[2];
  for (bool compiled : {false, true}) {
    manualSeed(2);
    auto net = nn::make<Cnn>();
    // Not Adam: it makes steps of the rounding errors that are the gradient of a bias before a normalization.
    optim::SGD opt(net->parameters(), {.lr = .05});
    auto step = [&](const Tensor &x, const Tensor &y) {
      opt.zeroGrad();
      Tensor loss = crossEntropy(net(x), y) + net(x).mean() / static_cast<double>(x.size(0));
      loss.backward();
      opt.step();
      return loss.detach();
    };
    auto fast = compile(step, {.dims = {Dim("n", 1, 64)}, .state = {net, opt}});
    for (int64_t n : {8, 8, 3, 1, 16, 4, 5}) {
      Tensor x = randn({n, 1, 8, 8}), y = randint(0, 5, {n});
      losses[compiled].push_back((compiled ? fast(x, y) : step(x, y)).item<double>());
    }
    if (compiled) {
      // The first call finds no gradients, later ones those of the call before.
      EXPECT_EQ(fast.report().programs, 2);
      EXPECT_THAT(fast.report().reasons, ElementsAre(HasSubstr("has a .grad, had none")));
    }
  }
  for (size_t k = 0; k < losses[0].size(); ++k)
    EXPECT_NEAR(losses[0][k], losses[1][k], 1e-4 * std::abs(losses[0][k])) << "step " << k;
}

TEST(CompileGuards, ASizeThatChangesIsLeftOpen) {
  auto fast = compile([](const Tensor &x) { return softmax(x, 1) * 2; });
  for (int64_t rows : {4, 5, 6, 7}) {
    Tensor x = randn({rows, 3});
    EXPECT_TRUE(allclose(fast(x), softmax(x, 1) * 2, 1e-6, 1e-6));
  }
  EXPECT_EQ(fast.report().programs, 2);
  EXPECT_THAT(fast.report().reasons, ElementsAre("tensor argument 0 has size 5 in axis 0, had 4"));
}

TEST(CompileGuards, WhatAProgramCannotFollowIsForOneSizeAlone) {
  std::vector<std::string> lines;
  auto fast = compile([](const Tensor &x) { return x * std::sqrt(static_cast<double>(x.size(0))); },
                      {.dims = {Dim("n", 1, 64)}, .log = [&](const std::string &line) { lines.push_back(line); }});
  for (int64_t n : {4, 9})
    EXPECT_TRUE(allclose(fast(ones({n})), full({n}, std::sqrt(static_cast<double>(n))), 1e-6, 0));
  EXPECT_EQ(fast.report().programs, 2);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], HasSubstr("compiled for the values of 'n' at hand alone: op 0, 'constant', has {"));
}

TEST(CompileGuards, FloatsAreInputsAndIntegersAreChecked) {
  auto fast = compile([](const Tensor &x, double factor, int64_t axis) { return (x * factor).sum({axis}); });
  Tensor x = randn({3, 4});
  for (double factor : {.5, 1., -2.25})
    EXPECT_TRUE(allclose(fast(x, factor, 0), (x * factor).sum({0}), 1e-6, 1e-6));
  EXPECT_EQ(fast.report().programs, 1);
  EXPECT_TRUE(allclose(fast(x, 3., 1), (x * 3.).sum({1}), 1e-6, 1e-6));
  EXPECT_THAT(fast.report().reasons, ElementsAre("integer argument 0 is 1, was 0"));
}

TEST(CompileGuards, TrainingAndEvaluationAreTwoPrograms) {
  manualSeed(4);
  auto net = nn::make<Cnn>();
  NoGrad guard;
  auto fast = compile(net);
  Tensor x = randn({4, 1, 8, 8});
  net->eval();
  EXPECT_TRUE(allclose(fast(x), net(x), 1e-5, 1e-6));
  net->train();
  manualSeed(9);
  Tensor a = fast(x);
  net->eval();
  EXPECT_TRUE(allclose(fast(x), net(x), 1e-5, 1e-6)) << "with the running statistics that training has changed";
  EXPECT_EQ(fast.report().programs, 2);
  EXPECT_THAT(fast.report().reasons[0], HasSubstr("trains, evaluated before"));
  EXPECT_EQ(net->norm->numBatchesTracked.item<int64_t>(), 1);
}

TEST(CompileGuards, RatesOfSchedulesNeverRecompile) {
  std::vector<double> last;
  for (bool compiled : {false, true}) {
    manualSeed(7);
    auto net = nn::make<Mlp>();
    optim::AdamW opt(net->parameters(), {.lr = 1e-2});
    optim::CosineAnnealing schedule(opt, {.steps = 10});
    auto step = [&](const Tensor &x, const Tensor &y) {
      Tensor loss = crossEntropy(net(x), y);
      loss.backward();
      opt.step();
      opt.zeroGrad();
      return loss.detach();
    };
    auto fast = compile(step, {.state = {net, opt}});
    double loss = 0;
    for (int k = 0; k < 10; ++k) {
      Tensor x = randn({8, 12}), y = randint(0, 5, {8});
      loss = (compiled ? fast(x, y) : step(x, y)).item<double>();
      schedule.step();
    }
    last.push_back(loss);
    EXPECT_LE(fast.report().programs, 1);
    EXPECT_EQ(opt.saveState().integer("group0.0.step", "test"), 10);
  }
  EXPECT_NEAR(last[0], last[1], 1e-5 * last[0]);
}

TEST(CompileGuards, TheLimitOfProgramsIsAnErrorThatSaysWhy) {
  auto fast = compile([](const Tensor &x, int64_t k) { return x + k; }, {.recompileLimit = 2});
  Tensor x = ones({2});
  fast(x, 1);
  fast(x, 2);
  EXPECT_EQ(messageOf([&] { fast(x, 3); }),
            "compile: the 2 programs that recompileLimit allows do not hold for this call: integer argument 0 is 3, was 2; "
            "declare sizes that change with .dims, or raise .recompileLimit");
}

TEST(CompileGuards, VerifyTraceNamesTheFirstDifference) {
  double captured = 1;
  auto fast = compile([&](const Tensor &x) { return x * (captured += 1); }, {.verifyTrace = true});
  EXPECT_THAT(messageOf([&] { fast(ones({2})); }),
              HasSubstr("the function does something else when it is traced again: op 0, 'constant', has {value = dense<0x40000000>"));
}

struct Pair {
  Tensor sum, difference;
  int64_t rows = 0;
};

TEST(CompileGuards, TuplesVectorsAndAggregatesAreTakenApart) {
  auto fast = compile(
      [](const std::vector<Tensor> &x, std::tuple<Tensor, int> y, const Pair &z) {
        return std::pair{Pair{x[0] + x[1], x[0] - std::get<0>(y), x[0].size(0)}, std::vector<Tensor>{z.sum, z.difference * std::get<1>(y)}};
      },
      {.dims = {Dim("n")}});
  for (int64_t n : {2, 5}) {
    Tensor a = randn({n}), b = randn({n});
    auto [first, second] = fast(std::vector<Tensor>{a, b}, std::tuple{b, 3}, Pair{a, b, 7});
    EXPECT_TRUE(allclose(first.sum, a + b, 1e-6, 1e-6));
    EXPECT_TRUE(allclose(first.difference, a - b, 1e-6, 1e-6));
    EXPECT_EQ(first.rows, n);
    ASSERT_EQ(second.size(), 2u);
    EXPECT_TRUE(allclose(second[1], b * 3, 1e-6, 1e-6));
  }
  EXPECT_EQ(fast.report().programs, 1);
}

} // namespace
