// Functions that look at their sizes and float arguments: right for every value, whichever came first.
#include "test/unit/trace/Models.h"

#include <gmock/gmock.h>

using namespace graphc;
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

/// Calls both with ones of each size and compares.
template <typename Fn>
void expectAsEager(Fn fn, std::initializer_list<int64_t> sizes, std::vector<Dim> dims = {}) {
  auto fast = compile(fn, {.dims = std::move(dims), .recompileLimit = 16});
  for (int64_t n : sizes)
    EXPECT_EQ(fast(ones({n})).template item<double>(), fn(ones({n})).template item<double>()) << n;
}

TEST(CompileOpenValues, BranchesOnASizeHoldForEachSize) {
  auto at1000 = [](Tensor x) { return x.size(0) > 1000 ? x.sum() : -x.sum(); };
  expectAsEager(at1000, {2, 3, 2000, 4, 999, 5000});
  expectAsEager(at1000, {2, 3, 2000, 4, 999, 5000}, {Dim("n", 1, 1 << 20)});
  expectAsEager([](Tensor x) { return x.size(0) % 2 ? x.sum() : -x.sum(); }, {2, 3, 4, 5, 6, 7});
  expectAsEager([](Tensor x) { return x.slice(0, 0, std::min<int64_t>(x.size(0), 100)).sum(); }, {2, 3, 2000, 4, 99, 101});
  expectAsEager([](Tensor x) { return x[x.size(0) > 10 ? 1 : 0] * static_cast<double>(x.size(0)); }, {2000, 3000, 2, 20});
}

TEST(CompileOpenValues, ManySizesAreOneProgram) {
  auto fast = compile([](Tensor x) { return x.sum() / static_cast<double>(x.size(0)); }, {.dims = {Dim("n", 0)}});
  for (int64_t n = 1; n < 1100; n += n < 20 ? 1 : 53)
    EXPECT_EQ(fast(ones({n})).item<double>(), 1) << n;
  EXPECT_EQ(fast.report().programs, 1);
}

TEST(CompileOpenValues, ALoopOverASizeEnds) {
  expectAsEager(
      [](Tensor x) {
        Tensor sum = x[0];
        for (int64_t i = 1; i < x.size(0); ++i)
          sum = sum + x[i];
        return sum;
      },
      {2, 3, 4, 5});
}

TEST(CompileOpenValues, FloatsThatAreEqualAtFirstAreTwo) {
  auto fast = compile([](Tensor x, double a, double b) { return x * a - b; });
  EXPECT_EQ(fast(ones({1}), .5, .5).item<double>(), 0);
  EXPECT_EQ(fast(ones({1}), 2., 3.).item<double>(), -1);
  EXPECT_EQ(fast.report().programs, 1);
}

TEST(CompileOpenValues, BranchesOnAFloatHoldForEachValue) {
  auto fast = compile([](Tensor x, double s) { return s > 0 ? x * 2 : x * 3; });
  for (double s : {1., -1., 2., -2., 0., 3., -3., 4., -5., -6.})
    EXPECT_EQ(fast(ones({1}), s).item<double>(), s > 0 ? 2 : 3) << s;
  EXPECT_LE(fast.report().programs, 4);
  auto along = compile([](Tensor x, double axis) { return x.cumsum(static_cast<int64_t>(axis)); });
  for (double axis : {0., 1., 0.})
    EXPECT_EQ(along(ones({2, 2}), axis)[0][1].item<double>(), axis + 1);
  auto cut = compile([](Tensor x, double n) { return x.slice(0, 0, static_cast<int64_t>(n)); });
  for (int64_t n : {3, 5, 3})
    EXPECT_EQ(cut(ones({10}), static_cast<double>(n)).size(0), n);
}

TEST(CompileOpenValues, NumbersOfTheResultAreTheRealOnes) {
  auto fast = compile([](Tensor x, double p) { return std::tuple(x * p, p * 2); });
  for (double p : {3., 5., 3.}) {
    auto [tensor, number] = fast(ones({1}), p);
    EXPECT_EQ(tensor.item<double>(), p);
    EXPECT_EQ(number, 2 * p);
  }
}

TEST(CompileOpenValues, SharedMemoryThatIsChangedIsAnError) {
  auto fast = compile([](Tensor x, Tensor y) {
    x.add_(1);
    return y * 2;
  });
  Tensor a = ones({4});
  std::string error = "compile: tensor argument 0 and tensor argument 1 share memory, which the compiled function changes; give it a clone() of one of them";
  EXPECT_EQ(messageOf([&] { fast(a, a); }), error);
  EXPECT_EQ(messageOf([&] { fast(a.slice(0, 0, 3), a.slice(0, 1, 4)); }), error);
  EXPECT_EQ(a.sum().item<double>(), 4) << "nothing was changed";
  EXPECT_EQ(fast(a.slice(0, 0, 2), a.slice(0, 2, 4)).sum().item<double>(), 4) << "halves do not overlap";
  EXPECT_EQ(a.sum().item<double>(), 6);
  auto reads = compile([](Tensor x, Tensor y) { return x + y; });
  EXPECT_EQ(reads(a, a).sum().item<double>(), 12);
}

TEST(CompileOpenValues, OneDimIsOneSize) {
  auto fast = compile([](Tensor x, Tensor y) { return x.sum() + y.sum(); }, {.dims = {Dim("n", 1, 100)}});
  EXPECT_EQ(fast(ones({3}), ones({3})).item<double>(), 6);
  try {
    fast(ones({3}), ones({4}));
    FAIL() << "no error";
  } catch (const Error &problem) {
    EXPECT_EQ(problem.code(), Code::SymbolRange);
    EXPECT_EQ(problem.message(), "compile: 'n' is 3 in tensor argument 0 (axis 0) and 4 in tensor argument 1 (axis 0); declare two Dims when these sizes may differ");
  }
}

TEST(CompileOpenValues, ASchedulesStepInsideIsAnError) {
  auto net = nn::make<Mlp>();
  optim::SGD opt(net->parameters(), {.lr = .1});
  optim::CosineAnnealing schedule(opt, {.steps = 10});
  auto fast = compile(
      [&](Tensor x) {
        Tensor loss = net(x).mean();
        loss.backward();
        opt.step();
        schedule.step();
        return loss.detach();
      },
      {.state = {net, opt}});
  EXPECT_THAT(messageOf([&] { fast(ones({2, 12})); }), HasSubstr("call schedule.step() after the function"));
  EXPECT_EQ(opt.learningRate(0), .1);
}

TEST(CompileOpenValues, TheLogSaysThatHistoryIsLost) {
  auto net = nn::make<Mlp>();
  std::vector<std::string> lines;
  auto fast = compile(net, {.log = [&](const std::string &line) { lines.push_back(line); }});
  EXPECT_FALSE(fast(ones({2, 12})).requiresGrad());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("result 0 needs a gradient"));
}

} // namespace
