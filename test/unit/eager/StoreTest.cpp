// Compiled ops on disk: a new process runs them without the compiler; damaged entries are compiled again.
#include "frontend/eager/State.h"
#include "runtime/artifact/ObjectCode.h"
#include "test/unit/eager/Expect.h"

#include <filesystem>
#include <fstream>

using namespace graphc;
using namespace graphc::test;
namespace fs = std::filesystem;

namespace {

class OpStoreTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/op-store";
    fs::remove_all(folder);
    setOpCacheFolder(folder);
    restart();
  }
  void TearDown() override {
    setOpCacheFolder("");
    fs::remove_all(folder);
  }
  void restart() {
    eager::Services::get().forget();
    context.resetOpStatistics();
  }
  /// A forward and a backward with kernels, a library call and a routine.
  std::vector<double> work() {
    Tensor w = filled({4, 3}).requiresGrad_(), x = filled({2, 3}, 41);
    Tensor y = linear(x, w).tanh();
    (y * y.cumsum(1)).sum().backward();
    return w.grad().toVector<double>();
  }
  ThreadContext context;
  ThreadContext::Use use{context};
  std::string folder;
};

TEST_F(OpStoreTest, aSecondProcessCompilesNothing) {
  std::vector<double> first = work();
  EXPECT_GT(context.opStatistics().compiled, 4);
  EXPECT_EQ(context.opStatistics().fromDisk, 0);
  restart();
  EXPECT_EQ(work(), first);
  EXPECT_EQ(context.opStatistics().compiled, 0);
  EXPECT_GT(context.opStatistics().fromDisk, 4);
}

TEST_F(OpStoreTest, damageIsFoundAndRepaired) {
  std::vector<double> first = work();
  for (const auto &entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() < 100)
      continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file.put('\x5a');
  }
  restart();
  EXPECT_EQ(work(), first);
  EXPECT_GT(context.opStatistics().compiled, 4);
}

TEST(ObjectCode, damagedObjectsAreErrors) {
  OpCompiler compiler;
  OpGraph graph;
  graph.arguments = {{DType::F32, {"s0"}}};
  graph.nodes = {{"exp", "", {0}, {}}};
  graph.results = {1};
  auto program = compiler.build(graph);
  ASSERT_TRUE(program.ok());
  auto op = compiler.compile(*program);
  ASSERT_TRUE(op.ok());
  ASSERT_EQ(op->kernels.size(), 1u);
  std::string object = op->kernels[0].second;
  auto bytes = [](const std::string &s) { return std::as_bytes(std::span(s.data(), s.size())); };
  auto whole = ObjectCode::load(bytes(object));
  ASSERT_TRUE(whole.ok()) << whole.status().str();
  EXPECT_NE((*whole)->symbol(op->kernels[0].first), nullptr);
  EXPECT_EQ((*whole)->symbol("nothing"), nullptr);
  // Whatever is wrong, loading says so or succeeds; it never crashes.
  for (size_t cut = 0; cut < object.size(); cut += 97)
    (void)ObjectCode::load(bytes(object.substr(0, cut)));
  for (size_t at = 0; at < object.size(); at += 13) {
    std::string changed = object;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    (void)ObjectCode::load(bytes(changed));
  }
  EXPECT_FALSE(ObjectCode::load(bytes(object.substr(0, 200))).ok());
  EXPECT_FALSE(ObjectCode::load(bytes("no object")).ok());
}

} // namespace
