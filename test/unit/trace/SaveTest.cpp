// Compiled functions as artifacts that the runtime alone runs; and branches in compiled functions.
#include "frontend/graphc/control.h"
#include "frontend/graphc/runtime.h"
#include "runtime/artifact/Artifact.h"
#include "test/unit/trace/Models.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <unistd.h>

using namespace graphc;
using testing::HasSubstr;

namespace {

std::string temporary(const char *name) {
  return (std::filesystem::temp_directory_path() / ("graphc-trace-" + std::to_string(getpid()) + "-" + name)).string();
}

HostTensor hostOf(const Tensor &tensor) {
  return HostTensor::borrow(tensor.dtype(), Shape(std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())), tensor.detach().dataPtr());
}

TEST(CompileSave, AModelIsAnArtifactWithItsWeights) {
  manualSeed(1);
  auto net = nn::make<Cnn>();
  net->eval();
  NoGrad guard;
  auto fast = compile(net, {.dims = {Dim("n", 1, 64)}});
  Tensor x = randn({4, 1, 8, 8}), expected = fast(x).clone();
  std::string path = temporary("model.gcx");
  fast.save(path);
  for (Tensor &parameter : net->parameters())
    parameter.zero_(); // the artifact has its own
  auto loaded = loadArtifact(path, {});
  std::filesystem::remove(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().str();
  ASSERT_EQ((*loaded)->signature().inputs.size(), 1u);
  EXPECT_EQ((*loaded)->signature().inputs[0].str(), "f32[n, 1, 8, 8]");
  std::vector<HostTensor> inputs, outputs(1);
  inputs.push_back(hostOf(x));
  Status status = (*loaded)->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.str();
  for (int64_t i = 0; i < expected.numel(); ++i)
    EXPECT_NEAR(outputs[0].data<float>()[i], expected.span<float>()[static_cast<size_t>(i)], 1e-5);
}

TEST(CompileSave, AStepIsAnArtifactThatUpdatesWhatItIsGiven) {
  manualSeed(1);
  auto net = nn::make<Mlp>();
  optim::SGD opt(net->parameters(), {.lr = .1, .momentum = .9});
  auto step = compile(
      [&](const Tensor &x, const Tensor &y) {
        Tensor loss = crossEntropy(net(x), y);
        loss.backward();
        opt.step();
        opt.zeroGrad();
        return loss.detach();
      },
      {.state = {net, opt}});
  Tensor x = randn({8, 12}), y = randint(0, 5, {8});
  step(x, y);
  std::string path = temporary("step.gcx");
  step.save(path);
  auto loaded = loadArtifact(path, {});
  std::filesystem::remove(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().str();
  // Copies of the state, updated by the runtime while the program updates its own.
  std::map<std::string, Tensor> state = {{"argument0", x}, {"argument1", y}};
  for (const auto &[name, tensor] : net->stateDict())
    state[name] = tensor.clone();
  SavedState saved = opt.saveState();
  std::vector<std::string> names;
  for (const auto &[name, parameter] : net->namedParameters())
    names.push_back(name);
  for (size_t k = 0; k < names.size(); ++k)
    state[names[k] + ".momentum_buffer"] = saved.tensor(text("group0.", k, ".momentum_buffer")).clone();
  float numbers[] = {-.1f, 0, .9f, 1, .9f};
  for (int k = 0; k < 5; ++k)
    state[text("number0.", k)] = scalarTensor(numbers[k]);
  for (int round = 0; round < 3; ++round) {
    std::vector<HostTensor> inputs, outputs((*loaded)->signature().outputs.size());
    for (const TensorInfo &input : (*loaded)->signature().inputs) {
      ASSERT_TRUE(state.contains(input.name)) << input.name;
      inputs.push_back(hostOf(state[input.name]));
    }
    for (size_t k = 0; k < outputs.size(); ++k)
      if (const std::string &name = (*loaded)->signature().outputs[k].name; name.starts_with("new "))
        outputs[k] = hostOf(state[name.substr(4)]);
    Status status = (*loaded)->run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.str();
    EXPECT_NEAR(outputs[0].data<float>()[0], step(x, y).item<float>(), 1e-6);
  }
  for (const auto &[name, tensor] : net->stateDict())
    EXPECT_TRUE(allclose(tensor, state[name], 1e-6, 1e-6)) << name;
}

TEST(CompileBranch, TheChosenBranchAndWhatItChangesStay) {
  Tensor count = zeros({2});
  auto fn = [&](const Tensor &x) {
    Tensor y = x.clone();
    Tensor picked = cond(
        gt(x.sum(), 0), [&] { count[0].add_(1); y.mul_(2); return x * 3; }, [&] { count[1].add_(1); return x - 1; });
    return picked + y;
  };
  auto fast = compile(fn);
  std::vector<Tensor> inputs = {ones({3}), -ones({3}), full({3}, 2.f)};
  std::vector<Tensor> expected, got;
  for (const Tensor &x : inputs)
    expected.push_back(fn(x));
  Tensor counted = count.clone();
  count.zero_();
  for (const Tensor &x : inputs)
    got.push_back(fast(x));
  for (size_t k = 0; k < inputs.size(); ++k)
    EXPECT_TRUE(allclose(got[k], expected[k])) << k;
  EXPECT_TRUE(allclose(count, counted));
  EXPECT_EQ(fast.report().programs, 1);
}

TEST(CompileBranch, GradientsFollowTheChosenBranch) {
  Tensor w = ones({3}).requiresGrad_();
  auto fn = [&](const Tensor &x) {
    Tensor y = cond(lt(x.sum(), 0), [&] { return w * x; }, [&] { return w * w * x; });
    return grad({y.sum()}, {w})[0];
  };
  auto fast = compile(fn);
  for (double v : {1., -1.})
    EXPECT_TRUE(allclose(fast(full({3}, v)), fn(full({3}, v)))) << v;
}

TEST(CompileBranch, WhatCannotBeCompiledSaysWhatToDo) {
  auto loops = compile([](const Tensor &x) {
    return whileLoop([](const std::vector<Tensor> &s) { return lt(s[0].sum(), 10); }, [](const std::vector<Tensor> &s) { return std::vector<Tensor>{s[0] * 2}; }, {x})[0];
  });
  try {
    loops(ones({2}));
    FAIL();
  } catch (const Error &problem) {
    EXPECT_THAT(problem.message(), HasSubstr("whileLoop: in a compiled program the condition is not known; give maxTrips, the most iterations there may be"));
  }
}

} // namespace
