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

TEST(OpSeed, givesWhatWasWrittenAndNothingElse) {
  std::string path = testing::TempDir() + "/ops.seed";
  eager::OpSeedWriter writer("build 7 v3");
  for (int k = 0; k < 50; ++k)
    writer.add("code", "key " + std::to_string(k), std::string(static_cast<size_t>(k * 13), static_cast<char>('a' + k % 26)));
  ASSERT_TRUE(writer.write(path).ok());
  EXPECT_FALSE(eager::OpSeed::open(path, "build 8 v3"));
  EXPECT_FALSE(eager::OpSeed::open(path + ".nowhere", "build 7 v3"));
  auto seed = eager::OpSeed::open(path, "build 7 v3");
  ASSERT_TRUE(seed);
  for (int k = 0; k < 50; ++k)
    EXPECT_EQ(seed->find("code", "key " + std::to_string(k)), std::string(static_cast<size_t>(k * 13), static_cast<char>('a' + k % 26)));
  EXPECT_FALSE(seed->find("code", "key 50"));
  EXPECT_FALSE(seed->find("op", "key 3"));
  // A changed byte of an entry is found out, a cut file is read as far as it goes or not at all.
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  auto foundIn = [&](const std::string &content) {
    std::ofstream(path, std::ios::binary) << content;
    int found = 0;
    if (auto damaged = eager::OpSeed::open(path, "build 7 v3"))
      for (int k = 0; k < 50; ++k)
        found += damaged->find("code", "key " + std::to_string(k)).has_value();
    return found;
  };
  EXPECT_EQ(foundIn(bytes), 50);
  std::string changed = bytes;
  changed[bytes.size() - 5] ^= 1;
  EXPECT_EQ(foundIn(changed), 49);
  for (size_t cut = 0; cut < bytes.size(); cut += 101)
    EXPECT_LT(foundIn(bytes.substr(0, cut)), 50);
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
