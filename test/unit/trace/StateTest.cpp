// What compiled programs do to tensors that others see: updates in place, views, gradients, random numbers; and that errors do nothing.
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

/// `fn` on copies of the same tensors, eagerly and compiled twice; results and what it did to its arguments agree.
void sameOnViews(const std::function<Tensor(Tensor, Tensor)> &fn, std::vector<int64_t> sizes, std::vector<int64_t> other) {
  manualSeed(11);
  Tensor x = randn(sizes), y = randn(other);
  Tensor a = x.clone(), b = y.clone(), c = x.clone(), d = y.clone();
  auto fast = compile(fn);
  for (int k = 0; k < 2; ++k) {
    Tensor expected = fn(a, b), got = fast(c, d);
    EXPECT_TRUE(allclose(expected, got, 1e-5, 1e-6));
    EXPECT_TRUE(allclose(a, c, 1e-5, 1e-6));
    EXPECT_TRUE(allclose(b, d, 1e-5, 1e-6));
  }
  EXPECT_EQ(fast.report().programs, 1);
}

TEST(CompileState, ViewsWrittenInPlace) {
  // Rows, columns, steps, transposed, diagonal, windows that overlap when read.
  sameOnViews([](Tensor x, Tensor y) { x.narrow(0, 1, 2).add_(y); return x.sum({1}); }, {4, 6}, {2, 6});
  sameOnViews([](Tensor x, Tensor y) { x.narrow(1, 2, 3).copy_(y); return x * 2; }, {4, 6}, {4, 3});
  sameOnViews([](Tensor x, Tensor y) { x.slice(1, 1, 6, 2).mul_(y); return x.t() + 1; }, {4, 6}, {4, 3});
  sameOnViews([](Tensor x, Tensor y) { x.transpose(0, 1).add_(y); return x.flatten(); }, {4, 6}, {6, 4});
  sameOnViews([](Tensor x, Tensor y) { x.diagonal().fill_(2); y.narrow(0, 0, 1).zero_(); return x + y; }, {4, 4}, {4, 4});
  sameOnViews([](Tensor x, Tensor y) { return x.unfold(0, 3, 2) * y; }, {9}, {4, 3});
  sameOnViews([](Tensor x, Tensor y) { return x.expand({3, 4, 5}).transpose(0, 2) + y; }, {4, 5}, {5, 4, 3});
  sameOnViews(
      [](Tensor x, Tensor y) {
        Tensor row = x[1], block = x.narrow(0, 0, 2);
        row.add_(1);       // seen through the block
        block.mul_(y);     // seen through the row
        return row + block.select(0, 1);
      },
      {3, 4}, {2, 4});
  sameOnViews([](Tensor x, Tensor y) { x.indexPut_({Slice(), 1}, y); return x.index({Slice(1), Slice(0, 2)}); }, {4, 3}, {4});
  sameOnViews([](Tensor x, Tensor y) { Tensor z = x.clone(); z.narrow(1, 0, 2).sub_(y); return z; }, {4, 6}, {4, 2});
}

TEST(CompileState, GradientsThroughViewsAndInPlaceOps) {
  manualSeed(5);
  Tensor w = randn({6, 4});
  auto fn = [](const Tensor &leaf, const Tensor &x) {
    Tensor part = leaf.narrow(0, 1, 3).t(), y = x.clone();
    y.narrow(1, 0, 2).mul_(leaf.select(1, 0).narrow(0, 0, 2));
    Tensor loss = (matmul(y, part) * 3).square().sum() + leaf.diagonal().sum() + leaf.expand({2, 6, 4}).mean();
    return grad({loss}, {leaf})[0];
  };
  Tensor x = randn({5, 4});
  Tensor leaf = w.clone().requiresGrad_();
  auto fast = compile([&](const Tensor &at) { return fn(leaf, at); });
  EXPECT_TRUE(allclose(fast(x), fn(leaf, x), 1e-5, 1e-6));
}

TEST(CompileState, AliasesSeeUpdatesAndVersionsRise) {
  manualSeed(6);
  auto net = nn::make<Mlp>();
  optim::SGD opt(net->parameters(), {.lr = .1});
  Tensor weight = net->first->weight, alias = weight.detach(), before = weight.detach().clone();
  void *memory = alias.dataPtr();
  auto step = compile(
      [&](const Tensor &x) {
        net(x).square().mean().backward();
        opt.step();
        opt.zeroGrad();
      },
      {.state = {net, opt}});
  uint32_t version = weight.version();
  step(randn({4, 12}));
  EXPECT_FALSE(allclose(alias, before));
  EXPECT_TRUE(equal(alias, weight.detach()));
  EXPECT_EQ(weight.detach().dataPtr(), memory) << "in place";
  EXPECT_GT(weight.version(), version);
  EXPECT_FALSE(weight.grad().defined());
}

TEST(CompileState, GradientsAccumulateOverCalls) {
  manualSeed(6);
  auto net = nn::make<Mlp>();
  auto lossOf = [&](const Tensor &x) { return net(x).square().mean(); };
  auto step = compile([&](const Tensor &x) { lossOf(x).backward(); }, {.state = {net}});
  std::vector<Tensor> batches = {randn({4, 12}), randn({4, 12}), randn({4, 12})};
  for (const Tensor &x : batches)
    lossOf(x).backward();
  std::vector<Tensor> expected;
  for (const Tensor &parameter : net->parameters())
    expected.push_back(parameter.grad().clone());
  net->zeroGrad();
  for (const Tensor &x : batches)
    step(x);
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_TRUE(allclose(net->parameters()[k].grad(), expected[k], 1e-5, 1e-6));
}

TEST(CompileState, RandomNumbersAreThoseOfEagerCode) {
  auto fn = [](const Tensor &x) { return dropout(x, .5, true) + rand({3, 5}) + randn({3, 5}); };
  auto fast = compile(fn);
  Tensor x = ones({3, 5});
  manualSeed(8);
  Tensor a = fn(x), b = fn(x);
  uint64_t offset = generator().offset();
  manualSeed(8);
  EXPECT_TRUE(equal(fast(x), a));
  EXPECT_TRUE(equal(fast(x), b));
  EXPECT_EQ(generator().offset(), offset);
}

TEST(CompileState, ElementsOfTracedTensorsAreErrorsThatNameTheRemedy) {
  Tensor x = ones({3});
  x.setName("x");
  auto item = compile([](const Tensor &t) { return t * t.sum().item<double>(); });
  EXPECT_THAT(messageOf([&] { item(x); }), HasSubstr("item: the elements of f32[] are not known while the program is compiled; return the tensor "
                                                       "and read it outside, choose by it with cond() or where(), repeat with whileLoop()"));
  auto span = compile([](const Tensor &t) { return t * t.span<float>()[0]; });
  EXPECT_THAT(messageOf([&] { span(x); }), HasSubstr("span: the elements of f32[3] are not known"));
  auto print = compile([](const Tensor &t) { return toString(t).empty() ? t : t + 1; });
  EXPECT_THAT(messageOf([&] { print(x); }), HasSubstr("are not known while the program is compiled"));
  auto nested = compile([&](const Tensor &t) { return item(t); });
  EXPECT_THAT(messageOf([&] { nested(x); }), HasSubstr("a compiled function was called while another one is traced"));
  Tensor kept;
  auto leak = compile([&](const Tensor &t) { kept = t + 1; return t; });
  leak(x);
  EXPECT_THAT(messageOf([&] { kept + 1; }), HasSubstr("was made while a program was compiled and holds no elements"));
}

TEST(CompileState, ATraceThatFailsChangesNothing) {
  manualSeed(6);
  auto net = nn::make<Cnn>();
  optim::Adam opt(net->parameters(), {.lr = .1});
  auto step = compile(
      [&](const Tensor &x) {
        Tensor loss = net(x).square().mean();
        loss.backward();
        opt.step();
        generator();
        return loss.item<double>();
      },
      {.state = {net, opt}});
  std::vector<Tensor> before;
  for (const auto &[name, tensor] : net->stateDict())
    before.push_back(tensor.clone());
  std::vector<uint32_t> versions;
  for (const Tensor &parameter : net->parameters())
    versions.push_back(parameter.version());
  uint64_t offset = generator().offset();
  Tensor x = ones({4, 1, 8, 8});
  EXPECT_NE(messageOf([&] { step(x); }), "no error");
  size_t k = 0;
  for (const auto &[name, tensor] : net->stateDict())
    EXPECT_TRUE(equal(tensor, before[k++])) << name;
  for (k = 0; k < versions.size(); ++k) {
    EXPECT_EQ(net->parameters()[k].version(), versions[k]);
    EXPECT_FALSE(net->parameters()[k].grad().defined());
  }
  EXPECT_EQ(generator().offset(), offset);
  EXPECT_EQ(opt.saveState().integer("group0.0.step", "test"), 0);
}

TEST(CompileState, ARunThatFailsChangesNothing) {
  manualSeed(6);
  auto net = nn::make<Gpt>(.1);
  optim::Adam opt(net->parameters(), {.lr = .1});
  auto step = compile(
      [&](const Tensor &ids, const Tensor &labels) {
        Tensor loss = crossEntropy(net(ids).flatten(0, 1), labels.flatten());
        loss.backward();
        opt.step();
        opt.zeroGrad();
        return loss.detach();
      },
      {.state = {net, opt}});
  Tensor good = randint(0, 11, {2, 6}), bad = full({2, 6}, 12);
  step(good, good);
  std::vector<Tensor> before;
  for (const auto &[name, tensor] : net->stateDict())
    before.push_back(tensor.clone());
  uint64_t offset = generator().offset();
  EXPECT_THAT(messageOf([&] { step(bad, good); }), HasSubstr("index 12 is out of range [0, 10]"));
  EXPECT_THAT(messageOf([&] { step(good, bad); }), HasSubstr("12 is out of range [0, 10]"));
  size_t k = 0;
  for (const auto &[name, tensor] : net->stateDict())
    EXPECT_TRUE(equal(tensor, before[k++])) << name;
  EXPECT_EQ(generator().offset(), offset);
  EXPECT_EQ(opt.saveState().integer("group0.0.step", "test"), 1);
  step(good, good);
}

TEST(CompileState, ALoadedCheckpointIsWhatTheNextCallStartsFrom) {
  manualSeed(6);
  auto net = nn::make<Mlp>();
  optim::Adam opt(net->parameters(), {.lr = .1});
  auto step = compile(
      [&](const Tensor &x) {
        Tensor loss = net(x).square().mean();
        loss.backward();
        opt.step();
        opt.zeroGrad();
        return loss.detach();
      },
      {.state = {net, opt}});
  Tensor x = ones({4, 12});
  step(x);
  nn::NamedTensorList weights;
  for (const auto &[name, tensor] : net->stateDict())
    weights.emplace_back(name, tensor.clone());
  SavedState state = opt.saveState();
  for (auto &[name, tensor] : state.tensors)
    tensor = tensor.clone();
  std::vector<double> first, second;
  for (int k = 0; k < 3; ++k)
    first.push_back(step(x).item<double>());
  net->loadStateDict(weights);
  opt.loadState(state);
  for (int k = 0; k < 3; ++k)
    second.push_back(step(x).item<double>());
  EXPECT_EQ(first, second);
}

} // namespace
