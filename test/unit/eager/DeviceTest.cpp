// Tensors on a device with its own memory: the simulated CUDA device, skipped by name where there is none.
#include "frontend/graphc/nn.h"
#include "frontend/graphc/optim.h"
#include "test/unit/eager/Expect.h"

using namespace graphc;
using namespace graphc::test;

namespace {

class OnDevice : public testing::Test {
protected:
  void SetUp() override {
    try {
      // The first op also asks for NVRTC.
      (zeros({1}, {.device = sim}) + 1).item<float>();
    } catch (const Error &error) {
      GTEST_SKIP() << error.what();
    }
    manualSeed(1);
  }
  const Device sim = "sim:0";
};

std::vector<float> floats(const Tensor &tensor) { return tensor.toVector<float>(); }

void expectClose(const Tensor &actual, const Tensor &expected, double tolerance) {
  expectValues(actual, std::vector<int64_t>(expected.sizes().begin(), expected.sizes().end()), expected.toVector<double>(), tolerance);
}

} // namespace

TEST_F(OnDevice, elementsGoThereAndBack) {
  Tensor x = fromVector(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}), there = x.to(sim);
  EXPECT_EQ(there.device(), sim);
  EXPECT_EQ(floats(there.cpu()), floats(x));
  EXPECT_EQ(floats(there.t()), (std::vector<float>{1, 4, 2, 5, 3, 6})) << "a view with gaps";
  EXPECT_EQ(floats(x.t().to(sim)), floats(x.t()));
  EXPECT_EQ(there.select(0, 1).select(0, 2).item<float>(), 6);
  EXPECT_TRUE(zeros({0, 3}, {.device = sim}).cpu().sizes().size() == 2);
  EXPECT_NE(toString(there).find("device='sim:0'"), std::string::npos) << toString(there);
}

TEST_F(OnDevice, opsGiveWhatTheCpuGives) {
  Tensor a = randn({5, 7}), b = randn({7, 3}), c = randn({5, 1});
  auto all = [&](Device device) {
    Tensor x = a.to(device), y = b.to(device), z = c.to(device);
    return cat({exp(x * 0.5 + z).reshape({-1}), matmul(x, y).reshape({-1}), softmax(x, 1).reshape({-1}), x.sum(std::vector<int64_t>{0}), (x.t() + z.t()).reshape({-1})}, 0);
  };
  expectClose(all(sim).cpu(), all(Device::cpu()), 1e-5);
}

TEST_F(OnDevice, randomNumbersAreTheSame) {
  manualSeed(7);
  Tensor there = rand({33}, {.device = sim});
  manualSeed(7);
  EXPECT_EQ(floats(there), floats(rand({33})));
  Tensor x = ones({64});
  manualSeed(9);
  std::vector<float> kept = floats(dropout(x.to(sim), 0.5, true));
  manualSeed(9);
  EXPECT_EQ(kept, floats(dropout(x, 0.5, true)));
}

TEST_F(OnDevice, changesInPlace) {
  Tensor x = zeros({3, 4}, {.device = sim});
  x.add_(2).mul_(ones({4}, {.device = sim}) * 3);
  x.select(1, 2).fill_(-1);
  x.select(0, 0).copy_(arange(4.0)); // from the host
  EXPECT_EQ(floats(x), (std::vector<float>{0, 1, 2, 3, 6, 6, -1, 6, 6, 6, -1, 6}));
  EXPECT_EQ(x.version(), 4u);
}

TEST_F(OnDevice, gradientsComeBack) {
  Tensor w = randn({4, 3}, {.requiresGrad = true}), x = randn({5, 4});
  auto loss = [&](Device device) { return tanh(matmul(x.to(device), w.to(device))).square().mean(); };
  loss(Device::cpu()).backward();
  Tensor expected = w.grad().clone();
  w.setGrad({});
  loss(sim).backward();
  EXPECT_TRUE(w.grad().device().isCpu()) << "through to()";
  expectClose(w.grad(), expected, 1e-5);
}

TEST_F(OnDevice, trainsLikeTheCpu) {
  auto train = [&](Device device) {
    manualSeed(3);
    nn::Sequential net(nn::Linear(6, 16), nn::ReLU(), nn::LayerNorm(16), nn::Linear(16, 4));
    net->to(device);
    optim::AdamW opt(net->parameters(), {.lr = 1e-2});
    Tensor x = randn({12, 6}).to(device), y = randint(0, 4, {12}).to(device);
    std::vector<float> losses;
    for (int step = 0; step < 5; ++step) {
      opt.zeroGrad();
      Tensor loss = crossEntropy(net(x), y);
      loss.backward();
      optim::clipGradNorm(net->parameters(), 1.0);
      opt.step();
      losses.push_back(loss.item<float>());
    }
    return fromVector(losses, {5});
  };
  expectClose(train(sim), train(Device::cpu()), 1e-4);
}

TEST_F(OnDevice, memoryIsCounted) {
  memory::emptyCache(sim);
  memory::resetPeak(sim);
  memory::Stats before = memory::stats(sim);
  {
    Tensor x = empty({4'000'000}, {.device = sim}); // large enough for a segment of its own
    memory::Stats during = memory::stats(sim);
    EXPECT_GE(during.allocated, before.allocated + 16'000'000);
    EXPECT_GE(during.peakAllocated, during.allocated);
    EXPECT_GT(during.allocations, before.allocations);
  }
  synchronize(sim);
  memory::Stats after = memory::stats(sim);
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_GE(after.peakAllocated, before.allocated + 16'000'000);
  EXPECT_GE(after.cached, before.cached + 16'000'000) << "kept for the next tensor";
  memory::resetPeak(sim);
  EXPECT_EQ(memory::stats(sim).peakAllocated, after.allocated);
  memory::emptyCache(sim);
  EXPECT_LE(memory::stats(sim).cached, after.cached - 16'000'000);
  EXPECT_THAT(messageOf([] { memory::stats("sim:7"); }, Code::DeviceUnavailable), testing::StartsWith("memory::stats: "));
}

TEST_F(OnDevice, misuse) {
  Tensor there = ones({2}, {.device = sim}), here = ones({2});
  there.setName("there");
  EXPECT_EQ(messageOf([&] { there + here; }, codes::DeviceMismatch),
            "add: expected all tensors to be on the same device, got sim:0 (\"there\" f32[2]) and cpu (f32[2])");
  EXPECT_EQ(messageOf([&] { there.span<float>(); }, codes::TensorAccess), "span: \"there\" f32[2] lives on sim:0; call cpu() first");
  EXPECT_EQ(floats(there + tensor(1.f)), (std::vector<float>{2, 2})) << "a number on the host joins any device";
  EXPECT_THAT(messageOf([&] { ones({2}, {.device = "sim:7"}); }, Code::DeviceUnavailable), testing::HasSubstr("sim:7"));
}

TEST_F(OnDevice, badIndicesAreReportedWhenWaitedFor) {
  Tensor table = randn({4, 3}).to(sim), rows = fromVector(std::vector<int64_t>{1, 9}, {2}).to(sim);
  EXPECT_THAT(messageOf([&] {
                Tensor picked = indexSelect(table, 0, rows);
                synchronize(sim);
              }, Code::IndexOutOfRange),
              testing::HasSubstr("index 9 is out of range"));
  EXPECT_EQ(ones({2}, {.device = sim}).sum().item<float>(), 2) << "and the device goes on";
}
