// A training step in one program: gradients by `graph.gradient_of`, the update tied to its argument by `graph.updates`, bound to
// the argument's own memory.
#include "frontend/compile/Compiler.h"
#include "frontend/tensor/ReadFile.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace graphc;

namespace {

std::shared_ptr<const Executable> compile(const std::string &text, int threads = 1) {
  std::string file = (std::filesystem::temp_directory_path() / ("graphc-training-step-" + std::to_string(getpid()) + ".mlir")).string();
  EXPECT_TRUE(writeFileAtomically(file, text).ok());
  CompileOptions options;
  options.threads = threads;
  CompileResult result = compileFile(file, options);
  std::filesystem::remove(file);
  EXPECT_TRUE(result.status.ok()) << result.status.str() << (result.diagnostics.empty() ? "" : result.diagnostics[0].message);
  return result.model.executable;
}

HostTensor ramp(Shape shape, float scale) {
  HostTensor t = *HostTensor::allocate(DType::F32, shape);
  for (int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[i] = scale * static_cast<float>((i * 37 + 17) % 97 - 48) / 64;
  return t;
}
HostTensor alias(HostTensor &t) { return HostTensor::borrow(t.dtype(), t.shape(), t.raw()); }

// One step of gradient descent with the gradient written out by hand, as a tracer would: w is read by the loss after its new
// value is computed, and updated in place.
const char *kStep = R"(
func.func @main(%w: tensor<8xf32> {graph.name = "w"}, %x: tensor<8xf32> {graph.name = "x"})
    -> (tensor<8xf32> {graph.name = "new", graph.updates = 0 : i64}, tensor<f32> {graph.name = "loss"}) {
  %rate = graph.constant dense<0.125> : tensor<f32>
  %d = graph.sub %w, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s = graph.mul %d, %rate : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %new = graph.sub %w, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sq = graph.mul %d, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e = graph.exp %w : (tensor<8xf32>) -> tensor<8xf32>
  %p = graph.mul %sq, %e : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %loss = graph.reduce "sum" %p axes [0] : (tensor<8xf32>) -> tensor<f32>
  return %new, %loss : tensor<8xf32>, tensor<f32>
})";

TEST(TrainingStep, AnUpdateIsMadeInItsArgumentsMemory) {
  auto step = compile(kStep);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->plan().outputs[0]->updates, 0);
  EXPECT_EQ(step->plan().outputs[1]->updates, -1);
  HostTensor w = ramp(Shape({8}), 1), x = ramp(Shape({8}), -2);
  std::vector<float> expected(w.data<float>(), w.data<float>() + 8);
  for (int round = 0; round < 5; ++round) {
    double loss = 0;
    for (int i = 0; i < 8; ++i) {
      double d = expected[i] - x.data<float>()[i];
      loss += d * d * std::exp(expected[i]);
      expected[i] = expected[i] - (expected[i] - x.data<float>()[i]) * 0.125f;
    }
    std::vector<HostTensor> inputs, outputs(2);
    inputs.push_back(alias(w));
    inputs.push_back(alias(x));
    outputs[0] = alias(w);
    Status status = step->run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.str();
    for (int i = 0; i < 8; ++i)
      EXPECT_FLOAT_EQ(w.data<float>()[i], expected[i]) << "round " << round << ", element " << i;
    EXPECT_NEAR(outputs[1].data<float>()[0], loss, 1e-4 * loss) << "the loss must read the old values";
  }
}

TEST(TrainingStep, TwoArgumentsMayChangePlaces) {
  auto swap = compile(R"(
func.func @main(%a: tensor<4xf32> {graph.name = "a"}, %b: tensor<4xf32> {graph.name = "b"})
    -> (tensor<4xf32> {graph.name = "x", graph.updates = 0 : i64}, tensor<4xf32> {graph.name = "y", graph.updates = 1 : i64}) {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
})");
  ASSERT_TRUE(swap);
  HostTensor a = ramp(Shape({4}), 1), b = ramp(Shape({4}), 3);
  std::vector<float> oldA(a.data<float>(), a.data<float>() + 4), oldB(b.data<float>(), b.data<float>() + 4);
  std::vector<HostTensor> inputs, outputs(2);
  inputs.push_back(alias(a));
  inputs.push_back(alias(b));
  outputs[0] = alias(a);
  outputs[1] = alias(b);
  Status status = swap->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.str();
  EXPECT_EQ(std::vector<float>(a.data<float>(), a.data<float>() + 4), oldB);
  EXPECT_EQ(std::vector<float>(b.data<float>(), b.data<float>() + 4), oldA);
}

// What fails before the update has changed nothing: the lookup comes later in the program, the update is made last.
TEST(TrainingStep, AFailedCallChangesNothing) {
  auto step = compile(R"(
func.func @main(%w: tensor<4xf32> {graph.name = "w"}, %i: tensor<2xi64> {graph.name = "i"})
    -> (tensor<4xf32> {graph.name = "new", graph.updates = 0 : i64}, tensor<2xf32> {graph.name = "picked"}) {
  %new = graph.exp %w : (tensor<4xf32>) -> tensor<4xf32>
  %picked = graph.gather %w, %i : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %new, %picked : tensor<4xf32>, tensor<2xf32>
})");
  ASSERT_TRUE(step);
  HostTensor w = ramp(Shape({4}), 1), bad = HostTensor::of<int64_t>(Shape({2}), {0, 9}), good = HostTensor::of<int64_t>(Shape({2}), {0, 3});
  std::vector<float> before(w.data<float>(), w.data<float>() + 4);
  auto run = [&](HostTensor &indices) {
    std::vector<HostTensor> inputs, outputs(2);
    inputs.push_back(alias(w));
    inputs.push_back(alias(indices));
    outputs[0] = alias(w);
    Status status = step->run(inputs, outputs);
    if (status.ok()) {
      EXPECT_EQ(outputs[1].data<float>()[1], before[3]) << "the lookup reads the old values";
    }
    return status;
  };
  EXPECT_FALSE(run(bad).ok());
  EXPECT_EQ(std::vector<float>(w.data<float>(), w.data<float>() + 4), before);
  EXPECT_TRUE(run(good).ok());
  EXPECT_FLOAT_EQ(w.data<float>()[0], std::exp(before[0]));
}

// Gradients of a small convolution network have the same bits for one and for two threads.
TEST(TrainingStep, GradientsDoNotDependOnTheThreads) {
  const char *network = R"(
func.func @main(%x: tensor<16x3x12x12xf32> {graph.name = "x"}, %w: tensor<16x3x3x3xf32> {graph.name = "w", graph.differentiate},
                %f: tensor<10x576xf32> {graph.name = "f", graph.differentiate}, %l: tensor<16xi64> {graph.name = "l"})
    -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<16x3x12x12xf32>, tensor<16x3x3x3xf32>) -> tensor<16x16x12x12xf32>
  %1 = graph.relu %0 : (tensor<16x16x12x12xf32>) -> tensor<16x16x12x12xf32>
  %2 = graph.max_pool %1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<16x16x12x12xf32>) -> tensor<16x16x6x6xf32>
  %3 = graph.reshape %2 : (tensor<16x16x6x6xf32>) -> tensor<16x576xf32>
  %4 = graph.matmul %3, %f {transpose_rhs} : (tensor<16x576xf32>, tensor<10x576xf32>) -> tensor<16x10xf32>
  %5 = graph.cross_entropy %4, %l : (tensor<16x10xf32>, tensor<16xi64>) -> tensor<f32>
  return %5 : tensor<f32>
})";
  HostTensor x = ramp(Shape({16, 3, 12, 12}), 1), w = ramp(Shape({16, 3, 3, 3}), 0.5f), f = ramp(Shape({10, 576}), 0.1f);
  HostTensor labels = *HostTensor::allocate(DType::I64, Shape({16}));
  for (int64_t i = 0; i < 16; ++i)
    labels.data<int64_t>()[i] = i * 3 % 10;
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2}) {
    auto step = compile(network, threads);
    ASSERT_TRUE(step);
    std::vector<HostTensor> inputs, outputs(3);
    for (HostTensor *t : {&x, &w, &f, &labels})
      inputs.push_back(alias(*t));
    Status status = step->run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.str();
    auto &all = results.emplace_back();
    for (const HostTensor &t : outputs)
      all.insert(all.end(), t.values<float>().begin(), t.values<float>().end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_TRUE(std::isfinite(results[0][0]));
}

} // namespace
