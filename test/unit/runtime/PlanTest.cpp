#include "PlanBuilder.h"

#include "runtime/plan/Exprs.h"
#include "runtime/plan/PlanCheck.h"
#include "runtime/plan/PlanText.h"

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

/// out = (x + w) of n rows.
void smallPlan(PlanBuilder &b) {
  int n = b.symbol("n", 0, 0, 1, 64);
  int ne = b.symbolExpr(n), four = b.constant(4);
  int x = b.input("x", DType::F32, {ne, four}), out = b.output("y", DType::F32, {ne, four});
  int w = b.weight<float>("w", {4}, {1, 2, 3, 4});
  b.dispatch("add", b.kernel("k_add", addKernel), {x, w}, out, ne);
}

/// The plan as one for a CUDA device would be.
void asCuda(gp::PlanT &plan) {
  plan.target = gp::Target::Cuda;
  auto module = std::make_unique<gp::CudaModuleT>();
  module->name = "kernels";
  auto image = std::make_unique<gp::CudaImageT>();
  image->arch = "compute_80";
  image->bytes = {'.', 0};
  module->images.push_back(std::move(image));
  plan.modules.push_back(std::move(module));
  for (auto &kernel : plan.kernels) {
    kernel->module_index = 0;
    kernel->threads = 256;
    kernel->items_per_block = 1024;
  }
}

TEST(PlanBytes, ACudaPlanSurvivesAndPrintsItsLaunches) {
  PlanBuilder b;
  smallPlan(b);
  asCuda(*b.plan);
  b.plan->main[0]->stream = 1;
  ASSERT_OK(gp::checkPlan(*b.plan));
  auto back = gp::fromBytes(gp::toBytes(*b.plan));
  ASSERT_TRUE(back.ok()) << back.status().str();
  std::string text = gp::planText(**back);
  EXPECT_THAT(text, HasSubstr(" for cuda\n"));
  EXPECT_THAT(text, HasSubstr("module kernels: PTX compute_80 2 bytes\n"));
  EXPECT_THAT(text, HasSubstr("range n by 1024 on 256 threads stream 1"));
}

TEST(Exprs, DivisionRoundsLikeMathematics) {
  using gp::ExprOp;
  EXPECT_EQ(gp::applyExpr(ExprOp::FloorDiv, -7, 2), -4);
  EXPECT_EQ(gp::applyExpr(ExprOp::FloorDiv, 7, -2), -4);
  EXPECT_EQ(gp::applyExpr(ExprOp::CeilDiv, 7, 2), 4);
  EXPECT_EQ(gp::applyExpr(ExprOp::CeilDiv, -7, 2), -3);
  EXPECT_EQ(gp::applyExpr(ExprOp::CeilDiv, 6, 2), 3);
  EXPECT_EQ(gp::applyExpr(ExprOp::Mod, -7, 3), 2);
  EXPECT_EQ(gp::applyExpr(ExprOp::Mod, 7, -3), -2);
  EXPECT_EQ(gp::applyExpr(ExprOp::FloorDiv, 5, 0), 0);
  EXPECT_EQ(gp::applyExpr(ExprOp::Mod, INT64_MIN, -1), 0);
  EXPECT_FALSE(gp::applyExpr(ExprOp::FloorDiv, INT64_MIN, -1));
  EXPECT_FALSE(gp::applyExpr(ExprOp::Mul, INT64_MAX, 2));
  EXPECT_EQ(gp::applyExpr(ExprOp::Eq, 3, 3), 1);
  EXPECT_EQ(gp::applyExpr(ExprOp::Lt, 3, 3), 0);
}

TEST(Exprs, PrintWithNamesAndFewParentheses) {
  PlanBuilder b;
  int n = b.symbolExpr(b.symbol("n", -1, -1));
  int twice = b.expr(gp::ExprOp::Mul, b.constant(2), n);
  int odd = b.expr(gp::ExprOp::Add, twice, b.constant(1));
  int product = b.expr(gp::ExprOp::Mul, odd, n);
  EXPECT_EQ(gp::exprText(*b.plan, odd), "2*n + 1");
  EXPECT_EQ(gp::exprText(*b.plan, product), "(2*n + 1)*n");
  EXPECT_EQ(gp::exprText(*b.plan, b.expr(gp::ExprOp::Sub, n, odd)), "n - (2*n + 1)");
  EXPECT_EQ(gp::exprText(*b.plan, b.expr(gp::ExprOp::CeilDiv, n, twice)), "ceildiv(n, 2*n)");
}

TEST(PlanBytes, SamePlanSameBytesAndBack) {
  PlanBuilder b;
  smallPlan(b);
  auto bytes = gp::toBytes(*b.plan);
  auto back = gp::fromBytes(bytes);
  ASSERT_TRUE(back.ok()) << back.status().str();
  EXPECT_EQ(gp::toBytes(**back), bytes);
}

TEST(PlanBytes, DamageIsAnErrorNeverACrash) {
  PlanBuilder b;
  smallPlan(b);
  auto bytes = gp::toBytes(*b.plan);
  for (size_t length = 0; length < bytes.size(); length += 7) {
    std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + length);
    auto result = gp::fromBytes(cut);
    if (result.ok())
      (void)gp::checkPlan(**result);
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    auto flipped = bytes;
    flipped[at] ^= 0x41;
    auto result = gp::fromBytes(flipped);
    if (result.ok() && gp::checkPlan(**result).ok())
      (void)gp::planText(**result);
  }
  EXPECT_THAT(gp::fromBytes(std::vector<uint8_t>(20)).status().message(), HasSubstr("GCPL"));
}

TEST(PlanBytes, OtherVersionsAreRefusedByName) {
  PlanBuilder b;
  smallPlan(b);
  b.plan->version = 7;
  auto result = gp::fromBytes(gp::toBytes(*b.plan));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::ArtifactVersion);
  EXPECT_THAT(result.status().message(), HasSubstr("version 7"));
}

TEST(PlanText, ReadsLikeAProgram) {
  PlanBuilder b;
  smallPlan(b);
  std::string text = gp::planText(*b.plan);
  EXPECT_THAT(text, HasSubstr("symbol n in [1, 64] = dim 0 of input 0"));
  EXPECT_THAT(text, HasSubstr("%0'x' : f32[n, 4] Input 0"));
  EXPECT_THAT(text, HasSubstr("0 'add' dispatch @k_add(%0'x', %2'w', %1'y') range n"));
}

struct Broken {
  const char *name;
  void (*breakIt)(gp::PlanT &);
  const char *message;
};

class PlanCheckTest : public testing::TestWithParam<Broken> {};

TEST_P(PlanCheckTest, SaysWhatIsWrong) {
  PlanBuilder b;
  smallPlan(b);
  ASSERT_OK(gp::checkPlan(*b.plan));
  GetParam().breakIt(*b.plan);
  Status status = gp::checkPlan(*b.plan);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::PlanInvalid);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanCheckTest,
    testing::Values(
        Broken{"expr", [](gp::PlanT &p) { p.exprs.push_back(gp::Expr(gp::ExprOp::Add, 99, 0, 0)); }, "must come before it"},
        Broken{"symbol", [](gp::PlanT &p) { p.exprs.push_back(gp::Expr(gp::ExprOp::Symbol, 3, 0, 0)); }, "names symbol 3 of 1"},
        Broken{"dim", [](gp::PlanT &p) { p.buffers[0]->dims[0] = 77; }, "'x' has a dimension"},
        Broken{"kernel", [](gp::PlanT &p) { p.main[0]->action.AsDispatch()->kernel = 5; }, "calls kernel 5 of 1"},
        Broken{"buffer", [](gp::PlanT &p) { p.main[0]->action.AsDispatch()->buffers[0] = -3; }, "buffer index is out of range"},
        Broken{"write", [](gp::PlanT &p) { p.main[0]->writes[0] = 2; }, "writes 'w', which is constant"},
        Broken{"writeInput", [](gp::PlanT &p) { p.main[0]->writes[0] = 0; }, "writes 'x', which is an input"},
        Broken{"weight", [](gp::PlanT &p) { p.buffers[2]->weight->inline_bytes.resize(8); }, "needs more than its 8 bytes"},
        Broken{"file", [](gp::PlanT &p) { p.buffers[2]->weight->file = 2; }, "lies in file 2 of 0"},
        Broken{"range", [](gp::PlanT &p) { p.symbols[0]->lo = 100; }, "empty range [100, 64]"},
        Broken{"cycle", [](gp::PlanT &p) { p.buffers[2]->kind = gp::BufferKind::Alias; p.buffers[2]->alias_of = 2; }, "alias of itself"},
        Broken{"param", [](gp::PlanT &p) { p.inputs[0]->buffer = 1; }, "not declared as this input"},
        Broken{"module", [](gp::PlanT &p) { p.target = gp::Target::Cuda; }, "kernel 'k_add' lies in module -1 of 0"},
        Broken{"code", [](gp::PlanT &p) { asCuda(p); p.modules[0]->images[0]->bytes.back() = 'x'; }, "PTX for compute_80 does not end with a zero byte"},
        Broken{"launch", [](gp::PlanT &p) { asCuda(p); p.kernels[0]->threads = 2000; }, "cannot be launched with 2000 threads"},
        Broken{"stream", [](gp::PlanT &p) { p.main[0]->stream = 256; }, "stream 256 is outside 0..255"},
        Broken{"routine", [](gp::PlanT &p) { gp::RoutineT r; r.name = "topk"; r.num_inputs = 3; p.main[0]->action.Set(std::move(r)); }, "routine 'topk' has arguments that are not valid"},
        Broken{"action", [](gp::PlanT &p) { p.main[0]->action.Reset(); }, "has no action"}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
