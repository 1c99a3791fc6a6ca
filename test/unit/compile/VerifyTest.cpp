#include "frontend/compile/Verify.h"
#include "frontend/tensor/ReadFile.h"

#include <gmock/gmock.h>

#include <filesystem>

using namespace graphc;
using testing::HasSubstr;

namespace {

constexpr const char *kModel = R"(
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}) -> (tensor<4x8xf32> {graph.name = "y"}) {
  %0 = graph.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("/net/exp")
  %1 = graph.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("/net/tanh")
  %2 = graph.add %1, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("/net/add")
  return %2 : tensor<4x8xf32>
}
)";

class Verify : public testing::Test {
protected:
  void SetUp() override {
    path = (std::filesystem::path(testing::TempDir()) / "verify.mlir").string();
    ASSERT_TRUE(writeFileAtomically(path, kModel).ok());
    std::vector<float> values(32);
    for (int i = 0; i < 32; ++i)
      values[i] = 0.1f * static_cast<float>(i - 16);
    inputs.push_back(HostTensor::of<float>({4, 8}, std::span<const float>(values)));
    options.compile.threads = 1;
  }

  /// Plants a bug: compiled pieces that hold the op `culprit` and, when asked for, are fused, answer wrongly.
  void plant(std::string culprit, bool onlyWhenFused) {
    options.runPiece = [=](const std::string &piece, const CompileOptions &compile, std::span<const HostTensor> operands) -> Result<std::vector<HostTensor>> {
      CompileResult compiled = compileFile(piece, compile);
      GRAPHC_RETURN_IF_ERROR(compiled.status);
      std::vector<HostTensor> outputs(compiled.model.executable->signature().outputs.size());
      GRAPHC_RETURN_IF_ERROR(compiled.model.executable->run(operands, outputs));
      auto text = readFile(piece);
      if (text->find(culprit) != std::string::npos && (compile.fuse || !onlyWhenFused))
        outputs[0].data<float>()[5] += 0.5f;
      return outputs;
    };
  }

  std::vector<VerifyFinding> findings() {
    auto report = verifyFile(path, std::move(options), inputs);
    EXPECT_TRUE(report.ok()) << report.status().str();
    EXPECT_GE(report->phases, 3);
    EXPECT_GE(report->groups, 1);
    EXPECT_EQ(report->matches(), report->findings.empty());
    return report->findings;
  }

  std::string path;
  std::vector<HostTensor> inputs;
  VerifyOptions options;
};

TEST_F(Verify, ARightModelHasNoFindings) { EXPECT_TRUE(findings().empty()); }

TEST_F(Verify, TheOpThatDivergesIsNamed) {
  plant("graph.tanh", false);
  auto found = findings();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, VerifyFinding::Group);
  EXPECT_THAT(found[0].name, HasSubstr("tanh '/net/tanh'"));
  EXPECT_THAT(found[0].message, HasSubstr("element [0, 5]"));
  EXPECT_EQ(found[1].kind, VerifyFinding::Op);
  EXPECT_EQ(found[1].name, "tanh '/net/tanh'");
  EXPECT_THAT(found[1].message, HasSubstr("is the first op that diverges"));
}

TEST_F(Verify, FusionIsBlamedWhenEachOpAloneIsRight) {
  plant("graph.tanh", true);
  auto found = findings();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].kind, VerifyFinding::Op);
  EXPECT_THAT(found[1].message, HasSubstr("each op alone is right: fusing them is wrong"));
}

TEST_F(Verify, APieceThatDoesNotCompileIsNotCounted) {
  options.runPiece = [](const std::string &, const CompileOptions &, std::span<const HostTensor>) -> Result<std::vector<HostTensor>> {
    return error(Code::UnsupportedOp, "planted");
  };
  auto report = verifyFile(path, std::move(options), inputs);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->matches());
  EXPECT_EQ(report->groups, 0);
  ASSERT_FALSE(report->findings.empty());
  EXPECT_EQ(report->findings[0].kind, VerifyFinding::NotChecked);
}

} // namespace
