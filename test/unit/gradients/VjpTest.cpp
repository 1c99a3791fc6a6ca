// The gradient of one op as a program of its own: what it reads is what autograd must keep.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/vjp/Vjp.h"

#include <gmock/gmock.h>

using namespace graphc;
using ::testing::ElementsAre;
using ::testing::Pair;
using Input = VjpProgram::Input;

namespace {

class VjpTest : public ::testing::Test {
protected:
  VjpTest() { context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>(); }

  /// The only op of the function that `body` is.
  mlir::Operation *parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return &(*module->getOps<mlir::func::FuncOp>().begin()).getBody().front().front();
  }
  mlir::Operation *unary(const std::string &name, const std::string &type = "tensor<4xf32>") {
    return parse("func.func @f(%x: " + type + ") -> " + type + " {\n %0 = graph." + name + " %x : (" + type + ") -> " + type +
                 "\n return %0 : " + type + "\n}");
  }
  mlir::Operation *binary(const std::string &name) {
    return parse("func.func @f(%x: tensor<3x4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {\n %0 = graph." + name +
                 " %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>\n return %0 : tensor<3x4xf32>\n}");
  }
  static VjpProgram programOf(mlir::Operation *op, llvm::ArrayRef<bool> needs) {
    llvm::SmallVector<bool> all(op->getNumResults(), true);
    auto program = buildVjpProgram(op, all, needs);
    EXPECT_TRUE(mlir::succeeded(program));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(program->module.get())));
    return *std::move(program);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(VjpTest, ExpKeepsItsResultAlone) {
  auto program = programOf(unary("exp"), {true});
  EXPECT_THAT(program.inputs, ElementsAre(Pair(Input::Result, 0u), Pair(Input::Gradient, 0u)));
  EXPECT_THAT(program.operands, ElementsAre(0u));
}

TEST_F(VjpTest, SinKeepsItsOperand) {
  EXPECT_THAT(programOf(unary("sin"), {true}).inputs, ElementsAre(Pair(Input::Operand, 0u), Pair(Input::Gradient, 0u)));
}

TEST_F(VjpTest, AddKeepsNothing) {
  auto program = programOf(binary("add"), {true, true});
  EXPECT_THAT(program.inputs, ElementsAre(Pair(Input::Gradient, 0u)));
  EXPECT_THAT(program.operands, ElementsAre(0u, 1u));
}

TEST_F(VjpTest, MulKeepsOnlyTheOtherOperandOfWhatIsNeeded) {
  EXPECT_THAT(programOf(binary("mul"), {true, false}).inputs, ElementsAre(Pair(Input::Operand, 1u), Pair(Input::Gradient, 0u)));
  EXPECT_THAT(programOf(binary("mul"), {false, true}).inputs, ElementsAre(Pair(Input::Operand, 0u), Pair(Input::Gradient, 0u)));
}

TEST_F(VjpTest, ABroadcastGradientHasTheTypeOfItsOperand) {
  auto program = programOf(binary("mul"), {false, true});
  auto func = *program.module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(func.getResultTypes()[0], mlir::RankedTensorType::get({4}, mlir::Float32Type::get(&context)));
}

TEST_F(VjpTest, OneValueTwiceIsSavedOnceAndBothGradientsComeBack) {
  auto *op = parse("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n %0 = graph.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> "
                   "tensor<4xf32>\n return %0 : tensor<4xf32>\n}");
  auto program = programOf(op, {true, true});
  EXPECT_THAT(program.inputs, ElementsAre(Pair(Input::Operand, 0u), Pair(Input::Gradient, 0u)));
  EXPECT_THAT(program.operands, ElementsAre(0u, 1u));
}

TEST_F(VjpTest, ACompositeWithoutARuleIsDifferentiatedByItsFormula) {
  auto *op = parse("func.func @f(%x: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {\n %0 = graph.lrn %x {size = 3 : i64, alpha = 0.5 : f64, "
                   "beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<2x5x3xf32>) -> tensor<2x5x3xf32>\n return %0 : tensor<2x5x3xf32>\n}");
  EXPECT_THAT(programOf(op, {true}).inputs, ElementsAre(Pair(Input::Operand, 0u), Pair(Input::Gradient, 0u)));
}

TEST_F(VjpTest, DropoutKeepsNoMask) {
  auto *op = parse("func.func @f(%x: tensor<8xf32>, %k: tensor<i64>, %o: tensor<i64>) -> tensor<8xf32> {\n %0 = graph.dropout %x, %k, %o "
                   "{p = 0.5 : f64} : (tensor<8xf32>, tensor<i64>, tensor<i64>) -> tensor<8xf32>\n return %0 : tensor<8xf32>\n}");
  EXPECT_THAT(programOf(op, {true, false, false}).inputs,
              ElementsAre(Pair(Input::Operand, 1u), Pair(Input::Operand, 2u), Pair(Input::Gradient, 0u)));
}

TEST_F(VjpTest, TrainingBatchNormKeepsItsStatistics) {
  auto *op = parse(R"(func.func @f(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %f: tensor<f32>) -> tensor<2x3x4xf32> {
    %0:5 = graph.batch_norm_training %x, %s, %b, %m, %v, %f {epsilon = 1.0e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %0#0 : tensor<2x3x4xf32>
  })");
  auto program = buildVjpProgram(op, {true, false, false, false, false}, {true, true, true, false, false, false});
  ASSERT_TRUE(mlir::succeeded(program));
  EXPECT_THAT(program->inputs, ElementsAre(Pair(Input::Operand, 0u), Pair(Input::Operand, 1u), Pair(Input::Result, 3u),
                                           Pair(Input::Result, 4u), Pair(Input::Gradient, 0u)));
  EXPECT_THAT(program->operands, ElementsAre(0u, 1u, 2u));
}

TEST_F(VjpTest, NothingPassesWhatIsNotDifferentiable) {
  auto program = programOf(unary("stop_gradient"), {true});
  EXPECT_TRUE(program.operands.empty());
  EXPECT_TRUE(program.inputs.empty());
}

TEST_F(VjpTest, GradientsOfHalvesAreComputedInSingle) {
  auto program = programOf(unary("tanh", "tensor<4xf16>"), {true});
  auto func = *program.module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_TRUE(mlir::cast<mlir::RankedTensorType>(func.getResultTypes()[0]).getElementType().isF16());
  func.walk([](graph::MulOp op) { EXPECT_TRUE(op.getType().getElementType().isF32()); });
}

} // namespace
