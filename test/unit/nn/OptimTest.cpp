// Optimizers and schedules against values of PyTorch in double, and what those values cannot show.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/nn.h"
#include "frontend/graphc/schedules.h"
#include "test/unit/nn/Fill.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace graphc;
using testing::HasSubstr;

namespace {

struct Mlp {
  std::vector<Tensor> p;
  Tensor x = filled({6, 4}, 71), y = tensor({0, 1, 2, 2, 1, 0});
  Mlp() {
    int64_t a[] = {37, 41, 53, 59};
    std::vector<std::vector<int64_t>> sizes = {{5, 4}, {5}, {3, 5}, {3}};
    for (size_t k = 0; k < 4; ++k)
      p.push_back(filled(sizes[k], a[k]).requiresGrad_());
  }
  Tensor loss() const { return crossEntropy(linear(tanh(linear(x, p[0], p[1])), p[2], p[3]), y); }
};

const nlohmann::json &goldens() {
  static const nlohmann::json all = nlohmann::json::parse(std::ifstream(GRAPHC_GOLDENS "/training.json"));
  return all;
}

void train(const nlohmann::json &golden, const Mlp &model, optim::Optimizer &optimizer, optim::Schedule *schedule = nullptr) {
  for (size_t t = 0; t < 6; ++t) {
    Tensor loss = model.loss();
    EXPECT_NEAR(loss.item<double>(), golden["losses"][t].get<double>(), 1e-12) << "before update " << t;
    EXPECT_NEAR(optimizer.learningRate(0), golden["lr"][t].get<double>(), 1e-15) << "rate of update " << t;
    if (t == 5)
      break;
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    if (schedule)
      schedule->step();
  }
  double sum = 0;
  for (const Tensor &each : model.p)
    sum += graphc::sum(abs(each)).item<double>();
  EXPECT_NEAR(sum, golden["sum_abs_params"].get<double>(), 1e-11);
}

template <typename OptimizerType>
void checkOptimizer(const char *name, typename OptimizerType::Options options) {
  SCOPED_TRACE(name);
  Mlp model;
  OptimizerType optimizer(model.p, options);
  ASSERT_TRUE(goldens()["optimisers"].contains(name));
  train(goldens()["optimisers"][name], model, optimizer);
}

TEST(Optimizers, TrainAsPyTorchDoes) {
  checkOptimizer<optim::SGD>("SGD lr=.1", {.lr = .1});
  checkOptimizer<optim::SGD>("SGD lr=.1 momentum=.9 dampening=.5", {.lr = .1, .momentum = .9, .dampening = .5});
  checkOptimizer<optim::SGD>("SGD lr=.1 momentum=.9 nesterov weight_decay=.1", {.lr = .1, .momentum = .9, .weightDecay = .1, .nesterov = true});
  checkOptimizer<optim::Adam>("Adam lr=.1 eps=.1", {.lr = .1, .epsilon = .1});
  checkOptimizer<optim::Adam>("Adam lr=.1 eps=.1 weight_decay=.1", {.lr = .1, .epsilon = .1, .weightDecay = .1});
  checkOptimizer<optim::Adam>("Adam lr=.1 eps=.1 amsgrad", {.lr = .1, .epsilon = .1, .amsgrad = true});
  checkOptimizer<optim::AdamW>("AdamW lr=.1 eps=.1 weight_decay=.1", {.lr = .1, .epsilon = .1, .weightDecay = .1});
  checkOptimizer<optim::RMSprop>("RMSprop lr=.05 eps=.1", {.lr = .05, .epsilon = .1});
  checkOptimizer<optim::RMSprop>("RMSprop lr=.05 eps=.1 centered momentum=.9 weight_decay=.1",
                                 {.lr = .05, .epsilon = .1, .weightDecay = .1, .momentum = .9, .centered = true});
  checkOptimizer<optim::Adagrad>("Adagrad lr=.1 eps=.1", {.lr = .1, .epsilon = .1});
  EXPECT_EQ(goldens()["optimisers"].size(), 10u);
}

template <typename ScheduleType, typename Options>
void checkSchedule(const char *name, Options options) {
  SCOPED_TRACE(name);
  Mlp model;
  optim::SGD optimizer(model.p, {.lr = .1, .momentum = .9});
  ScheduleType schedule(optimizer, options);
  train(goldens()["schedulers"][name], model, optimizer, &schedule);
}

TEST(Schedules, MoveTheRateAsPyTorchDoes) {
  checkSchedule<optim::StepDecay>("StepLR(2,.5)", optim::StepDecayOptions{.every = 2, .factor = .5});
  checkSchedule<optim::CosineAnnealing>("CosineAnnealingLR(4,.01)", optim::CosineOptions{.steps = 4, .lowest = .01});
  checkSchedule<optim::OneCycle>("OneCycleLR(max .1, 6 steps)", optim::OneCycleOptions{.highest = .1, .steps = 6});
  checkSchedule<optim::Linear>("LinearLR(.1, 4)", optim::LinearOptions{.start = .1, .steps = 4});
  checkSchedule<optim::Exponential>("ExponentialLR(.9)", .9);
  EXPECT_EQ(goldens()["schedulers"].size(), 5u);
}

TEST(Schedules, TheOthersByHand) {
  Tensor p = ones({1}).requiresGrad_();
  auto rates = [&](auto make, int steps) {
    optim::SGD optimizer({p}, {.lr = 1, .momentum = .9});
    auto schedule = make(optimizer);
    std::vector<double> seen;
    for (int k = 0; k < steps; ++k, schedule->step())
      seen.push_back(schedule->rate());
    return seen;
  };
  using testing::DoubleNear;
  using testing::ElementsAre;
  auto near = [](double value) { return DoubleNear(value, 1e-12); };
  EXPECT_THAT(rates([](auto &o) { return std::make_unique<optim::MultiStep>(o, optim::MultiStepOptions{.milestones = {1, 3}, .factor = .5}); }, 5),
              ElementsAre(near(1), near(.5), near(.5), near(.25), near(.25)));
  EXPECT_THAT(rates([](auto &o) { return std::make_unique<optim::Constant>(o, optim::ConstantOptions{.factor = .25, .steps = 2}); }, 4),
              ElementsAre(near(.25), near(.25), near(1), near(1)));
  EXPECT_THAT(rates([](auto &o) { return std::make_unique<optim::Polynomial>(o, optim::PolynomialOptions{.steps = 2, .power = 2}); }, 4),
              ElementsAre(near(1), near(.25), near(0), near(0)));
  EXPECT_THAT(rates([](auto &o) { return std::make_unique<optim::Lambda>(o, [](int64_t step) { return 1. / static_cast<double>(1 + step); }); }, 3),
              ElementsAre(near(1), near(.5), near(1. / 3)));
  EXPECT_THAT(rates([](auto &o) { return std::make_unique<optim::CosineAnnealing>(o, optim::CosineOptions{.steps = 2, .warmup = 1}); }, 5),
              ElementsAre(near(.5), near(1), near(.5), near(0), near(.5)));
  EXPECT_THAT(rates([](auto &o) { return std::make_unique<optim::CosineAnnealing>(o, optim::CosineOptions{.steps = 2, .restarts = true, .growth = 2}); }, 7),
              ElementsAre(near(1), near(.5), near(1), near((1 + std::sqrt(.5)) / 2), near(.5), near((1 - std::sqrt(.5)) / 2), near(1)));
}

TEST(Schedules, OneCycleMovesMomentumOrBeta1AgainstTheRate) {
  Tensor p = ones({1}).requiresGrad_();
  optim::Adam adam({p});
  optim::OneCycle cycle(adam, {.highest = 1, .steps = 11, .up = .5454545454545454});
  EXPECT_NEAR(adam.options().beta1, .95, 1e-12);
  EXPECT_NEAR(adam.options().lr, .04, 1e-12);
  cycle.moveTo(5);
  EXPECT_NEAR(adam.options().beta1, .85, 1e-9);
  EXPECT_NEAR(adam.options().lr, 1, 1e-9);
  cycle.moveTo(10);
  EXPECT_NEAR(adam.options().beta1, .95, 1e-12);
  optim::Adagrad adagrad({p});
  EXPECT_ERROR(optim::OneCycle(adagrad, {}), Code::InvalidOption, "OneCycle: Adagrad has no momentum to move; set cycleMomentum = false");
}

TEST(Schedules, PlateauWaitsForImprovement) {
  Tensor p = ones({1}).requiresGrad_();
  optim::SGD sgd({p}, {.lr = 1});
  optim::ReduceOnPlateau plateau(sgd, {.factor = .5, .patience = 1});
  std::vector<double> rates;
  for (double metric : {3., 2., 2., 2., 2., 2., 1.}) {
    plateau.step(metric);
    rates.push_back(sgd.learningRate(0));
  }
  EXPECT_EQ(rates, (std::vector<double>{1, 1, 1, .5, .5, .25, .25}));
}

TEST(Optimizers, AnUndefinedGradientIsNotAZeroGradient) {
  Tensor without = ones({2}).requiresGrad_(), zero = ones({2}).requiresGrad_();
  zero.setGrad(zeros({2}));
  optim::AdamW adamw({without, zero}, {.lr = .1, .weightDecay = .5});
  adamw.step();
  EXPECT_EQ(without.detach().toVector<float>()[0], 1);
  EXPECT_FLOAT_EQ(zero.detach().toVector<float>()[0], .95f);
}

TEST(Optimizers, StepsInPlaceAndRaisesVersions) {
  Tensor p = ones({3}).requiresGrad_();
  Tensor view = p.detach();
  p.setGrad(ones({3}));
  uint32_t before = p.version();
  optim::SGD sgd({p}, {.lr = .25});
  sgd.step();
  EXPECT_EQ(view.toVector<float>()[0], .75f) << "aliases see the new value";
  EXPECT_GT(p.version(), before);
  EXPECT_TRUE(p.isLeaf());
  EXPECT_TRUE(p.requiresGrad());
}

TEST(Optimizers, RatesNeverRecompile) {
  Tensor a = ones({5, 3}).requiresGrad_(), b = ones({7}).requiresGrad_();
  a.setGrad(ones({5, 3}));
  b.setGrad(ones({7}));
  optim::AdamW adamw({a, b}, {.lr = .1});
  adamw.step();
  ThreadContext &context = ThreadContext::current();
  OpStatistics before = context.opStatistics();
  for (double lr : {.1, .2, .3}) {
    adamw.options().lr = lr;
    adamw.step();
  }
  EXPECT_EQ(context.opStatistics().launches - before.launches, 3);
  EXPECT_EQ(context.opStatistics().compiled, before.compiled);
}

TEST(Optimizers, ParametersThatAreNotDense) {
  Tensor base = ones({2, 3}), p = base.t().requiresGrad_();
  p.setGrad(tensor({{1.0, 2.0}, {1.0, 2.0}, {1.0, 2.0}}));
  optim::SGD sgd({p}, {.lr = .25, .momentum = .5});
  sgd.step();
  EXPECT_EQ(base.toVector<float>(), (std::vector<float>{.75f, .75f, .75f, .5f, .5f, .5f}));
}

TEST(Optimizers, MaximizeGoesUp) {
  for (int kind = 0; kind < 5; ++kind) {
    Tensor p = ones({1}).requiresGrad_();
    p.setGrad(ones({1}));
    std::unique_ptr<optim::Optimizer> o;
    switch (kind) {
    case 0: o = std::make_unique<optim::SGD>(std::vector{p}, optim::SgdOptions{.maximize = true}); break;
    case 1: o = std::make_unique<optim::Adam>(std::vector{p}, optim::AdamOptions{.maximize = true}); break;
    case 2: o = std::make_unique<optim::AdamW>(std::vector{p}, optim::AdamWOptions{.weightDecay = 0, .maximize = true}); break;
    case 3: o = std::make_unique<optim::RMSprop>(std::vector{p}, optim::RmspropOptions{.maximize = true}); break;
    default: o = std::make_unique<optim::Adagrad>(std::vector{p}, optim::AdagradOptions{.maximize = true});
    }
    o->step();
    EXPECT_GT(p.detach().item<float>(), 1) << o->name();
  }
}

TEST(Optimizers, GroupsHaveOptionsOfTheirOwn) {
  Tensor a = ones({1}).requiresGrad_(), b = ones({1}).requiresGrad_();
  optim::SGD sgd(std::vector<optim::SGD::Group>{{{a}, {.lr = .5}}, {{b}, {.lr = .25}}});
  a.setGrad(ones({1}));
  b.setGrad(ones({1}));
  sgd.step();
  EXPECT_EQ(a.detach().item<float>(), .5f);
  EXPECT_EQ(b.detach().item<float>(), .75f);
  sgd.options(1).lr = 0;
  sgd.step();
  EXPECT_EQ(b.detach().item<float>(), .75f);
}

TEST(Optimizers, HalfPrecisionParametersAreComputedInSingle) {
  Tensor p = ones({4}, {.dtype = DType::BF16}).requiresGrad_();
  p.setGrad(full({4}, Scalar(.5), {.dtype = DType::BF16}));
  optim::Adam adam({p}, {.lr = .125});
  adam.step();
  EXPECT_EQ(p.dtype(), DType::BF16);
  EXPECT_EQ(p.detach().to(DType::F32).toVector<float>()[0], .875f);
}

TEST(Optimizers, ClosureAndZeroGrad) {
  Tensor p = ones({2}).requiresGrad_();
  optim::SGD sgd({p}, {.lr = .5});
  NoGrad outside;
  Tensor loss = sgd.step([&] {
    sgd.zeroGrad();
    Tensor value = sum(p * p);
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<float>(), 2);
  EXPECT_EQ(p.detach().toVector<float>()[0], 0);
  sgd.zeroGrad(false);
  ASSERT_TRUE(p.grad().defined());
  EXPECT_EQ(p.grad().toVector<float>()[0], 0);
  sgd.zeroGrad();
  EXPECT_FALSE(p.grad().defined());
}

TEST(Optimizers, WhatCannotBeOptimized) {
  Tensor p = ones({2}).requiresGrad_();
  EXPECT_ERROR(optim::SGD(std::vector<Tensor>{}), Code::InvalidOption, "optimizer: group 0 has no parameters");
  EXPECT_ERROR(optim::SGD({p, p}), Code::InvalidOption, "optimizer: parameter 1 of group 0 was given before");
  EXPECT_ERROR(optim::SGD({p * p}), Code::InvalidOption, HasSubstr("is no leaf"));
  EXPECT_ERROR(optim::SGD({tensor({1, 2})}), Code::TypeMismatch, HasSubstr("only floats can be optimized"));
  EXPECT_ERROR(optim::SGD({p}, {.lr = -1}), Code::InvalidOption, "optimizer: lr is -1, it must be at least 0");
  EXPECT_ERROR(optim::Adam({p}, {.beta1 = 1}), Code::InvalidOption, "optimizer: beta1 is 1, it must be in [0, 1)");
  EXPECT_ERROR(optim::SGD({p}, {.nesterov = true}), Code::InvalidOption, "optimizer: nesterov needs a momentum and no dampening");
}

TEST(Optimizers, StateGoesOnExactly) {
  auto run = [](int before, bool restore) {
    Mlp model;
    auto make = [&] { return std::make_unique<optim::AdamW>(model.p, optim::AdamWOptions{.lr = .05, .amsgrad = true}); };
    auto optimizer = make();
    for (int k = 0; k < 6; ++k) {
      if (k == before && restore) {
        auto fresh = make();
        fresh->options().lr = 1; // overwritten by the state
        fresh->loadState(optimizer->saveState());
        optimizer = std::move(fresh);
      }
      optimizer->zeroGrad();
      model.loss().backward();
      optimizer->step();
    }
    return model.p;
  };
  std::vector<Tensor> whole = run(0, false);
  for (int before : {0, 3}) {
    std::vector<Tensor> resumed = run(before, true);
    for (size_t k = 0; k < whole.size(); ++k)
      EXPECT_TRUE(equal(whole[k].detach(), resumed[k].detach())) << "to the bit";
  }
}

TEST(Optimizers, TheStateOfAnotherIsRefused) {
  Mlp model;
  optim::Adam adam(model.p);
  model.loss().backward();
  adam.step();
  SavedState state = adam.saveState();
  optim::SGD sgd(model.p);
  EXPECT_ERROR(sgd.loadState(state), Code::WeightFile, "SGD: the state is one of Adam");
  optim::Adam fewer({model.p[0], model.p[1]});
  EXPECT_ERROR(fewer.loadState(state), Code::WeightFile, "Adam: the state is of another model: group 0 has 4 parameters in it, 2 here");
  optim::Adam groups(std::vector<optim::Adam::Group>{{{model.p[0]}, {}}, {{model.p[1]}, {}}});
  EXPECT_ERROR(groups.loadState(state), Code::WeightFile, "Adam: the state is of another model: it has 1 groups, this optimizer 2");
  std::vector<Tensor> other = model.p;
  other[1] = ones({7}, {.dtype = DType::F64}).requiresGrad_();
  other[1].setName("fc.bias");
  optim::Adam shaped(other);
  EXPECT_ERROR(shaped.loadState(state), Code::WeightFile,
               "Adam: the state is of another model: parameter 1 of group 0 ('fc.bias') was f64[5], here it is f64[7]");
  state.tensors.erase(state.tensors.begin());
  EXPECT_ERROR(adam.loadState(state), Code::WeightFile, "Adam: the state has no tensor 'group0.0.exp_avg'");
}

/// Kernels started while `run` is at work, once its code is compiled.
template <typename Run>
int64_t launchesOf(Run &&run) {
  run();
  int64_t before = ThreadContext::current().opStatistics().launches;
  run();
  return ThreadContext::current().opStatistics().launches - before;
}

std::vector<Tensor> ofManySizes(std::vector<int64_t> sizes) {
  std::vector<Tensor> list;
  for (int64_t size : sizes) {
    list.push_back(filled({size}, 37, DType::F32).requiresGrad_());
    list.back().setGrad(filled({size}, 41, DType::F32));
  }
  return list;
}

TEST(Launches, AStepIsOneForEachGroup) {
  std::vector<Tensor> p = ofManySizes({1, 7, 300'000, 64, 4096, 1});
  optim::AdamW whole({p[0], p[1], p[2], p[3]});
  EXPECT_EQ(launchesOf([&] { whole.step(); }), 1);
  optim::SGD groups(std::vector<optim::SGD::Group>{{{p[0], p[1]}, {.momentum = .9}}, {{p[2], p[3], p[4], p[5]}, {.lr = .1}}});
  EXPECT_EQ(launchesOf([&] { groups.step(); }), 2);
  optim::RMSprop rms(p, {.centered = true});
  EXPECT_EQ(launchesOf([&] { rms.step(); }), 1);
  optim::Adagrad adagrad(p);
  EXPECT_EQ(launchesOf([&] { adagrad.step(); }), 1);
  EXPECT_EQ(launchesOf([&] { whole.zeroGrad(false); }), 0);
}

TEST(Launches, ClippingAndAveragesDoNotCountTensors) {
  std::vector<Tensor> few = ofManySizes({5, 9000}), many = ofManySizes(std::vector<int64_t>(40, 333));
  EXPECT_EQ(launchesOf([&] { optim::clipGradNorm(few, .1); }), launchesOf([&] { optim::clipGradNorm(many, .1); }));
  EXPECT_LE(launchesOf([&] { optim::clipGradNorm(many, .1); }), 7);
  EXPECT_EQ(launchesOf([&] { optim::clipGradValue(many, .1); }), 1);
  optim::Ema ema(many);
  EXPECT_EQ(launchesOf([&] { ema.update(); }), 1);
}

TEST(Launches, TogetherOrAloneTheValuesAreTheSame) {
  std::vector<int64_t> sizes = {1, 7, 300'000, 64};
  std::vector<Tensor> together = ofManySizes(sizes), alone = ofManySizes(sizes);
  optim::Adam all(together, {.weightDecay = .1});
  std::vector<std::unique_ptr<optim::Adam>> each;
  for (Tensor &p : alone)
    each.push_back(std::make_unique<optim::Adam>(std::vector<Tensor>{p}, optim::AdamOptions{.weightDecay = .1}));
  // A parameter with gaps between its elements takes the way of its own.
  Tensor wide = filled({6, 4}, 37), gaps = wide.slice(1, 0, 2).detach(), dense = gaps.clone();
  gaps.requiresGrad_(), dense.requiresGrad_();
  gaps.setGrad(filled({6, 2}, 29)), dense.setGrad(filled({6, 2}, 29));
  optim::Adam strided({gaps}), packed({dense});
  for (int step = 0; step < 3; ++step) {
    all.step();
    for (auto &one : each)
      one->step();
    strided.step(), packed.step();
  }
  for (size_t k = 0; k < sizes.size(); ++k)
    EXPECT_TRUE(equal(together[k].detach(), alone[k].detach())) << k;
  EXPECT_TRUE(equal(gaps.detach(), dense.detach()));
  EXPECT_TRUE(equal(wide.slice(1, 2), filled({6, 4}, 37).slice(1, 2))) << "what lies between stays";
}

TEST(Launches, ThreadsChangeNothing) {
  auto run = [](int threads) {
    ThreadContext context;
    context.threads = threads;
    ThreadContext::Use use(context);
    std::vector<Tensor> p = ofManySizes({3, 500'000, 70'001});
    Tensor norm = optim::clipGradNorm(p, .5);
    optim::Adam(p).step();
    return std::pair(norm, p);
  };
  auto [norm1, p1] = run(1);
  auto [norm2, p2] = run(0);
  EXPECT_TRUE(equal(norm1, norm2));
  for (size_t k = 0; k < p1.size(); ++k)
    EXPECT_TRUE(equal(p1[k].detach(), p2[k].detach()));
  double square = 0;
  for (Tensor &each : ofManySizes({3, 500'000, 70'001}))
    for (double v : each.grad().toVector<double>())
      square += v * v;
  EXPECT_NEAR(norm1.item<double>(), std::sqrt(square), 1e-4 * std::sqrt(square));
}

TEST(Clipping, ByTheJointNorm) {
  Tensor a = ones({2}).requiresGrad_(), b = ones({1}).requiresGrad_(), c = ones({1}).requiresGrad_();
  a.setGrad(tensor({1.0, 2.0}));
  b.setGrad(tensor({2.0}));
  Tensor norm = optim::clipGradNorm({a, b, c}, 1.5);
  EXPECT_FLOAT_EQ(norm.item<float>(), 3);
  EXPECT_NEAR(a.grad().toVector<float>()[1], 1, 1e-6);
  EXPECT_NEAR(b.grad().toVector<float>()[0], 1, 1e-6);
  EXPECT_FALSE(c.grad().defined());
  Tensor before = a.grad().clone();
  optim::clipGradNorm({a, b}, 100);
  EXPECT_TRUE(equal(a.grad(), before)) << "small gradients stay as they are";
  EXPECT_NEAR(optim::clipGradNorm({a, b}, 100, {.normType = 1}).item<float>(), 2.5, 1e-5);
  EXPECT_NEAR(optim::clipGradNorm({a, b}, .5, {.normType = INFINITY}).item<float>(), 1, 1e-5);
  EXPECT_NEAR(a.grad().toVector<float>()[0], .25, 1e-5);
  b.setGrad(tensor({(double)NAN}));
  EXPECT_ERROR(optim::clipGradNorm({a, b}, 1, {.errorIfNonfinite = true}), Code::CheckFailed, HasSubstr("the norm of the gradients is nan"));
}

TEST(Clipping, ByValue) {
  Tensor a = ones({3}).requiresGrad_();
  a.setGrad(tensor({-3.0, .5, 9.0}));
  optim::clipGradValue({a}, 1);
  EXPECT_EQ(a.grad().toVector<float>(), (std::vector<float>{-1, .5, 1}));
}

TEST(Ema, AveragesSwapsAndRestores) {
  Tensor p = zeros({1}).requiresGrad_();
  optim::Ema ema({p}, .75);
  {
    NoGrad guard;
    p.fill_(Scalar(4));
  }
  ema.update();
  EXPECT_EQ(ema.averages()[0].item<float>(), 1);
  ema.swap();
  EXPECT_EQ(p.detach().item<float>(), 1);
  ema.swap();
  EXPECT_EQ(p.detach().item<float>(), 4);
  optim::Ema other({p}, .5);
  other.loadState(ema.saveState());
  other.update();
  EXPECT_EQ(other.averages()[0].item<float>(), 1.75);
  optim::Ema wrong({ones({2})}, .5);
  EXPECT_ERROR(wrong.loadState(ema.saveState()), Code::WeightFile, "Ema: the state is of another model: average 0 is f32[1], here it is f32[2]");
}

} // namespace
