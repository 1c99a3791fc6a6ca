#include "frontend/tensor/PrintTensor.h"
#include "tools/graphc/Tensors.h"

#include <gtest/gtest.h>

using namespace graphc;
using namespace graphc::tool;

namespace {

Port port(std::string name, std::vector<std::optional<int64_t>> dims, std::vector<std::string> names = {}) {
  if (names.empty())
    for (auto dim : dims)
      names.push_back(std::to_string(dim.value_or(0)));
  return {std::move(name), DType::F32, std::move(dims), std::move(names)};
}

const std::vector<Port> kTwo = {port("x", {2}), port("y", {1, std::nullopt}, {"1", "n"})};

std::string messageOf(InputOptions options) {
  auto inputs = options.resolve(kTwo);
  return inputs.ok() ? "" : inputs.status().message();
}

TEST(Tensors, NamedInputsGoToTheirPortsAndTheRestInOrder) {
  InputOptions options;
  options.inputs = {"y=1x1xf32=3", "2xf32=[1 2]"};
  auto inputs = options.resolve(kTwo);
  ASSERT_TRUE(inputs.ok()) << inputs.status().str();
  EXPECT_EQ(tensorText((*inputs)[0]), "2xf32=[1 2]");
  EXPECT_EQ(tensorText((*inputs)[1]), "1x1xf32=[[3]]");
}

TEST(Tensors, RandomFillsWhatIsMissing) {
  InputOptions options;
  options.inputs = {"x=2xf32=[1 2]"};
  options.random = "5";
  auto inputs = options.resolve(kTwo);
  ASSERT_TRUE(inputs.ok()) << inputs.status().str();
  EXPECT_EQ((*inputs)[1].shape(), (Shape{1, 1})) << "a symbolic size is taken as 1";
}

TEST(Tensors, EveryMistakeSaysWhatWouldHaveWorked) {
  EXPECT_EQ(messageOf({.inputs = {"x=2xf32=1"}}), "input 'y' (1xnxf32) was not given; use --input y=SPEC, --test-data DIR or --random");
  EXPECT_EQ(messageOf({.inputs = {"z=2xf32=1"}}), "the model has no input 'z'; its inputs are 'x' (2xf32), 'y' (1xnxf32)");
  EXPECT_EQ(messageOf({.inputs = {"x=2xf32=1", "x=2xf32=1"}}), "input 'x' was given twice");
  EXPECT_EQ(messageOf({.inputs = {"2xf32=1", "1x1xf32=1", "f32=1"}}), "3 inputs were given, the model has 2: 'x' (2xf32), 'y' (1xnxf32)");
  EXPECT_EQ(messageOf({.random = "seven"}), "--random=seven: the seed must be a whole number");
  EXPECT_EQ(messageOf({.testData = "nonexistent"}), "--test-data 'nonexistent' is not a folder");
}

TEST(Tensors, ToleranceRules) {
  ExpectedOptions options;
  EXPECT_EQ(options.tolerance()->rtol, 1e-3);
  EXPECT_EQ(options.tolerance()->atol, 1e-7);
  options.tol = "network";
  EXPECT_EQ(options.tolerance()->scaled, 1e-5);
  options.rtol = 0.5;
  EXPECT_EQ(options.tolerance()->rtol, 0.5);
  options.tol = "loose";
  EXPECT_EQ(options.tolerance().status().message(), "--tol loose is unknown; valid are node, network, bf16 and exact");
  EXPECT_FALSE((ExpectedOptions{.atol = -1.0}).tolerance().ok());
}

} // namespace
