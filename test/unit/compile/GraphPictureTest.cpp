#include "frontend/compile/GraphPicture.h"

#include <gmock/gmock.h>

#include <filesystem>

using namespace graphc;
using testing::HasSubstr;
using testing::Not;

namespace {

TEST(GraphPicture, OpsEdgesAndGroups) {
  auto dot = graphDot(R"(
    func.func @main(%x: tensor<2x3xf32> {graph.name = "image \"1\""}) -> tensor<2x3xf32> {
      %0 = graph.group "loop" {
        %1 = graph.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
        %2 = graph.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
        graph.yield %2 : tensor<2x3xf32>
      } : tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    })",
                      "net");
  ASSERT_TRUE(dot.ok()) << dot.status().str();
  EXPECT_THAT(*dot, HasSubstr("label=\"image \\\"1\\\"\\n2x3xf32\""));
  EXPECT_THAT(*dot, HasSubstr("label=\"add\\n2x3xf32\""));
  EXPECT_THAT(*dot, HasSubstr("cluster_g"));
  EXPECT_THAT(*dot, HasSubstr("n0 -> n1 "));
  EXPECT_THAT(*dot, HasSubstr("n2 -> n3 ")) << "the group's result leaves from its last member";
  EXPECT_THAT(*dot, Not(HasSubstr("yield")));
}

TEST(GraphPicture, SymbolicSizesArePrinted) {
  auto dot = graphDot("func.func @main(%x: tensor<?xf32, #graph.dims<[n]>>) -> tensor<?xf32, #graph.dims<[n]>> { return %x : tensor<?xf32, #graph.dims<[n]>> }", "t");
  ASSERT_TRUE(dot.ok()) << dot.status().str();
  EXPECT_THAT(*dot, HasSubstr("nxf32"));
}

TEST(GraphPicture, FaultsAreNamed) {
  EXPECT_THAT(graphDot("func.func @main(", "t").status().message(), HasSubstr("the phase cannot be drawn"));
  EXPECT_EQ(writeGraphPicture("", "t", "x.png").message(), "--graph x.png: the name must end in .svg, .html or .dot");
}

TEST(GraphPicture, SvgAndPage) {
  std::string module = "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }";
  for (const char *name : {"p.svg", "p.html", "it's.svg"}) {
    std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
    Status status = writeGraphPicture(module, "t", path);
    ASSERT_TRUE(status.ok()) << status.str();
    EXPECT_GT(std::filesystem::file_size(path), 300u);
  }
}

} // namespace
