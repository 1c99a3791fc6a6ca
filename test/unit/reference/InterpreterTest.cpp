// The reference interpreter as verify and the tests use it: binding of sizes, looking inside, rerunning a group, errors
// that name the op. What each op means is tested in test/ops.
#include "codegen/reference/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>

using namespace mlir;
using namespace graphc;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() { context.loadDialect<graph::GraphDialect, func::FuncDialect>(); }

  func::FuncOp parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return *module->getOps<func::FuncOp>().begin();
  }
  reference::Interpreter interpreter() {
    return reference::Interpreter(*module, [](graph::WeightOp) -> Result<HostTensor> {
      return HostTensor::of<float>({2}, {10, 20});
    });
  }
  static std::vector<HostTensor> inputs(HostTensor a) {
    std::vector<HostTensor> list;
    list.push_back(std::move(a));
    return list;
  }
  static std::vector<HostTensor> inputs(HostTensor a, HostTensor b) {
    std::vector<HostTensor> list = inputs(std::move(a));
    list.push_back(std::move(b));
    return list;
  }
  static HostTensor ramp(Shape shape) {
    HostTensor tensor = *HostTensor::allocate(DType::F32, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.data<float>()[i] = float(i % 13) - 5.5f;
    return tensor;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
};

constexpr const char *kSymbolic = R"(
  func.func @main(%x: tensor<?x?xf32, #graph.dims<[n, 2*n + 1]>> {graph.name = "x"}) -> tensor<2xi64> {
    %s = graph.size <[n, 2*n + 1]> : tensor<2xi64>
    return %s : tensor<2xi64>
  })";

TEST_F(InterpreterTest, BindsSymbolsFromInputs) {
  auto main = parse(kSymbolic);
  auto outputs = interpreter().run(main, inputs(ramp({3, 7})));
  ASSERT_TRUE(outputs.ok()) << outputs.status().str();
  EXPECT_THAT((*outputs)[0].values<int64_t>(), ElementsAre(3, 7));
}

TEST_F(InterpreterTest, RefusesSizesThatContradict) {
  auto main = parse(kSymbolic);
  auto outputs = interpreter().run(main, inputs(ramp({3, 8})));
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::InputShape);
  EXPECT_THAT(outputs.status().message(), HasSubstr("input 'x'"));
}

TEST_F(InterpreterTest, RefusesAnotherDtype) {
  auto main = parse(kSymbolic);
  auto outputs = interpreter().run(main, inputs(HostTensor::of<int32_t>({1, 3}, {1, 2, 3})));
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::InputDType);
}

TEST_F(InterpreterTest, ChecksAssumedEqualities) {
  auto main = parse(R"(
    func.func @main(%x: tensor<?x?xf32, #graph.dims<[n, m]>>) -> tensor<?x?xf32, #graph.dims<[n, m]>> {
      graph.assume_equal <[n, m]> "the image must be square"
      return %x : tensor<?x?xf32, #graph.dims<[n, m]>>
    })");
  EXPECT_TRUE(interpreter().run(main, inputs(ramp({3, 3}))).ok());
  auto outputs = interpreter().run(main, inputs(ramp({3, 4})));
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.status().message(), HasSubstr("the image must be square: 3 and 4"));
}

TEST_F(InterpreterTest, ReportsIndicesOutOfRangeByOpName) {
  auto main = parse(R"(
    func.func @main(%x: tensor<2xf32>, %i: tensor<1xi64>) -> tensor<1xf32> {
      %y = graph.gather %x, %i : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32> loc("/embed/Gather")
      return %y : tensor<1xf32>
    })");
  auto outputs = interpreter().run(main, inputs(ramp({2}), HostTensor::of<int64_t>({1}, {5})));
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::IndexOutOfRange);
  EXPECT_THAT(outputs.status().message(), HasSubstr("/embed/Gather: index 5 is out of range for size 2"));
}

constexpr const char *kGroup = R"(
  graph.weight @w : tensor<2xf32> "model.onnx" at 0 bytes 8
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %w = graph.get_weight @w : tensor<2xf32>
    %g = graph.group "loop" {
      %a = graph.add %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %b = graph.mul %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      graph.yield %b : tensor<2xf32>
    } : tensor<2xf32>
    %y = graph.neg %g : (tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  })";

TEST_F(InterpreterTest, KeepsValuesAndObservesEveryOp) {
  auto main = parse(kGroup);
  auto reference = interpreter();
  reference.keepValues(true);
  std::vector<std::string> seen;
  auto outputs = reference.run(main, inputs(HostTensor::of<float>({2}, {1, 2})), [&](Operation *op) {
    seen.push_back(op->getName().getStringRef().str());
    return Status();
  });
  ASSERT_TRUE(outputs.ok()) << outputs.status().str();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(-121, -484));
  EXPECT_THAT(seen, ElementsAre("graph.get_weight", "graph.group", "graph.neg"));
  auto group = *main.getOps<graph::GroupOp>().begin();
  EXPECT_THAT(reference.value(group.getResult(0))->values<float>(), ElementsAre(121, 484));
  // Values inside the group can be looked at too: which op of a group diverges first?
  auto add = *group.getBody().getOps<graph::AddOp>().begin();
  EXPECT_THAT(reference.value(add.getResult())->values<float>(), ElementsAre(11, 22));
}

TEST_F(InterpreterTest, DropsValuesAfterTheirLastUse) {
  auto main = parse(kGroup);
  auto reference = interpreter();
  ASSERT_TRUE(reference.run(main, inputs(HostTensor::of<float>({2}, {1, 2}))).ok());
  EXPECT_FALSE(reference.hasValue((*main.getOps<graph::GroupOp>().begin()).getResult(0)));
}

TEST_F(InterpreterTest, RerunsAGroupOnGivenOperands) {
  auto main = parse(kGroup);
  auto reference = interpreter();
  ASSERT_TRUE(reference.begin(main, inputs(HostTensor::of<float>({2}, {0, 0}))).ok());
  auto weight = *main.getOps<graph::GetWeightOp>().begin();
  ASSERT_TRUE(reference.setValue(weight.getResult(), HostTensor::of<float>({2}, {3, 4})).ok());
  auto group = *main.getOps<graph::GroupOp>().begin();
  ASSERT_TRUE(reference.execute(group).ok());
  EXPECT_THAT(reference.value(group.getResult(0))->values<float>(), ElementsAre(9, 16));
}

TEST_F(InterpreterTest, LeavesNothingOfACompositesFormulaBehind) {
  auto main = parse(R"(
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %y = graph.softmax %x {axis = 1 : i64} : (tensor<1x2xf32>) -> tensor<1x2xf32>
      return %y : tensor<1x2xf32>
    })");
  ASSERT_TRUE(interpreter().run(main, inputs(ramp({1, 2}))).ok());
  EXPECT_TRUE(main.getArgument(0).hasOneUse());
}

// The loops of Contractions.cpp against the formulas they stand for.
class Contractions : public InterpreterTest, public testing::WithParamInterface<const char *> {};

TEST_P(Contractions, AgreeWithTheirFormula) {
  auto main = parse(GetParam());
  auto operand = [&](unsigned i) { return ramp(Shape(cast<RankedTensorType>(main.getArgument(i).getType()).getShape().vec())); };
  auto loops = interpreter().run(main, inputs(operand(0), operand(1)));
  auto formula = interpreter();
  formula.formulasOnly(true);
  auto sums = formula.run(main, inputs(operand(0), operand(1)));
  ASSERT_TRUE(loops.ok() && sums.ok());
  ASSERT_EQ((*loops)[0].shape(), (*sums)[0].shape());
  // Sums of small multiples of 1/4 are exact in any order.
  EXPECT_THAT((*loops)[0].values<float>(), testing::ElementsAreArray((*sums)[0].values<float>()));
}

INSTANTIATE_TEST_SUITE_P(
    All, Contractions,
    testing::Values(
        R"(func.func @main(%x: tensor<3x1x5x7xf32>, %y: tensor<2x7x11xf32>) -> tensor<3x2x5x11xf32> {
          %r = graph.matmul %x, %y : (tensor<3x1x5x7xf32>, tensor<2x7x11xf32>) -> tensor<3x2x5x11xf32>
          return %r : tensor<3x2x5x11xf32> })",
        R"(func.func @main(%x: tensor<7x5xf32>, %y: tensor<9x7xf32>) -> tensor<5x9xf32> {
          %r = graph.matmul %x, %y {transpose_lhs, transpose_rhs} : (tensor<7x5xf32>, tensor<9x7xf32>) -> tensor<5x9xf32>
          return %r : tensor<5x9xf32> })",
        R"(func.func @main(%x: tensor<2x4x6x5xf32>, %w: tensor<6x2x3x2xf32>) -> tensor<2x6x3x6xf32> {
          %r = graph.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, 1>,
            pads_high = array<i64: 0, 2>, groups = 2 : i64} : (tensor<2x4x6x5xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x3x6xf32>
          return %r : tensor<2x6x3x6xf32> })",
        R"(func.func @main(%x: tensor<1x5x6x3xf32>, %w: tensor<3x1x3x3xf32>) -> tensor<1x5x6x3xf32> {
          %r = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
            pads_high = array<i64: 1, 1>, groups = 3 : i64, channels_last} : (tensor<1x5x6x3xf32>, tensor<3x1x3x3xf32>) -> tensor<1x5x6x3xf32>
          return %r : tensor<1x5x6x3xf32> })",
        R"(func.func @main(%x: tensor<2x3x9xf32>, %w: tensor<4x3x4xf32>) -> tensor<2x4x3xf32> {
          %r = graph.conv %x, %w {strides = array<i64: 3>, dilations = array<i64: 1>, pads_low = array<i64: 1>,
            pads_high = array<i64: 0>} : (tensor<2x3x9xf32>, tensor<4x3x4xf32>) -> tensor<2x4x3xf32>
          return %r : tensor<2x4x3xf32> })"));

} // namespace
