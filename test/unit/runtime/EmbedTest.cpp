// The public API, through the shared library alone.
#include "frontend/graphc/runtime.h"

#include "TestModel.h"

#include "runtime/artifact/Artifact.h"

#include <dirent.h>
#include <limits>
#include <mutex>
#include <thread>

extern "C" int embed_c(const char *path, const void *bytes, size_t size);

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

class Embed : public testing::Test {
protected:
  void SetUp() override {
    if (!cpu::hostLevel())
      GTEST_SKIP() << "the machine is below CPU level v3";
    path = testing::TempDir() + "graphc-embed.gcx";
    TestModel model;
    auto executable = model.load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    ASSERT_OK(writeArtifact(path, **executable, {{cpu::Level::V3, readFile(TEST_KERNELS)}}, cpu::Level::V3));
  }
  static std::vector<HostTensor> input(int64_t rows) {
    std::vector<HostTensor> inputs;
    inputs.push_back(ones(rows));
    return inputs;
  }
  std::string path;
};

int threadsOfThisProcess() {
  int count = 0;
  DIR *folder = ::opendir("/proc/self/task");
  while (dirent *entry = ::readdir(folder))
    count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count;
}

TEST_F(Embed, DescribesAndRunsAModel) {
  Runtime runtime({.threads = 2});
  Model model = runtime.load(path);
  EXPECT_EQ(model.inputs()[0].text, "f32[n, 32]");
  EXPECT_EQ(model.symbols()[0].hi, 64);
  EXPECT_EQ(model.outputIndex("y"), 0);
  std::vector<HostTensor> outputs;
  model.run(input(3), outputs);
  EXPECT_EQ(outputs[0].shape(), Shape({3, 16}));
  EXPECT_EQ(outputs[0].values<float>()[47], 49.0f);
  Shape shape{3, 32};
  EXPECT_EQ(model.predictBytes({&shape, 1}) % 64, 0);
}

TEST_F(Embed, ErrorsCarryCodeAndText) {
  Runtime runtime({.threads = 1});
  try {
    runtime.load("/nowhere/model.gcx");
    FAIL() << "no exception";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), Code::ArtifactUnreadable);
    EXPECT_THAT(error.what(), HasSubstr("GC3001: '/nowhere/model.gcx' cannot be opened"));
  }
  Model model = runtime.load(path);
  std::vector<HostTensor> outputs;
  EXPECT_THROW(model.run(input(65), outputs), Error);
  EXPECT_THROW(model.inputIndex("z"), Error);
}

TEST_F(Embed, AsyncCallsAndCancellation) {
  Runtime runtime({.threads = 1});
  Model model = runtime.load(path);
  std::vector<std::future<std::vector<HostTensor>>> futures;
  for (int64_t rows = 1; rows <= 20; ++rows)
    futures.push_back(model.runAsync(input(rows)));
  for (int64_t rows = 1; rows <= 20; ++rows)
    EXPECT_EQ(futures[rows - 1].get()[0].shape(), Shape({rows, 16}));
  CancelToken token;
  token.cancel();
  try {
    model.runAsync(input(1), {.cancel = &token}).get();
    FAIL() << "no exception";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), Code::Cancelled);
  }
}

TEST_F(Embed, BoundCallsReadTheirBuffersAnew) {
  Runtime runtime({.threads = 2});
  Model model = runtime.load(path);
  std::vector<float> x(64, 1.0f), y(32);
  std::vector<HostTensor> inputs, outputs;
  inputs.push_back(HostTensor::borrow(DType::F32, {2, 32}, x.data()));
  outputs.push_back(HostTensor::borrow(DType::F32, {2, 16}, y.data()));
  BoundCall call = model.bind(std::move(inputs), std::move(outputs));
  call.run();
  EXPECT_EQ(y[0], 49.0f);
  std::fill(x.begin(), x.end(), 2.0f);
  call.run();
  EXPECT_EQ(y[31], 97.0f);
}

TEST_F(Embed, NeverMoreThreadsThanCallersAndPool) {
  int before = threadsOfThisProcess();
  Runtime runtime({.threads = 2});
  Model model = runtime.load(path);
  std::atomic<int> running{0}, most{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      ++running;
      while (running.load() < 8)
        std::this_thread::yield();
      std::vector<HostTensor> outputs;
      for (int round = 0; round < 50; ++round) {
        model.run(input(1 + round), outputs);
        outputs.clear();
        int now = threadsOfThisProcess(), seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
      }
    });
  for (auto &caller : callers)
    caller.join();
  EXPECT_LE(most.load() - before, 8 + 1);
}

/// A host program's own pool: runs chunks one by one and counts.
class CountingPool final : public ThreadPool {
public:
  int concurrency() const override { return 2; }
  bool tryEnter() override { return !taken.exchange(true); }
  void leave() override { taken = false; }
  void run(int count, Work work, void *argument) override {
    chunks += count;
    for (int chunk = 0; chunk < count; ++chunk)
      work(argument, chunk, chunk % 2);
  }
  std::atomic<bool> taken{false};
  std::atomic<int> chunks{0};
};

TEST_F(Embed, APoolOfTheHostDoesTheWork) {
  // A model whose kernel is worth sharing out.
  PlanBuilder builder;
  builder.plan->producer = "test 1";
  int n = builder.constant(1 << 16);
  int x = builder.input("x", DType::F32, {n}), y = builder.output("y", DType::F32, {n});
  builder.dispatch("double", builder.kernel("add", addKernel), {x, x}, y, n);
  auto executable = builder.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  std::string file = testing::TempDir() + "graphc-pool.gcx";
  ASSERT_OK(writeArtifact(file, **executable, {{cpu::Level::V3, readFile(TEST_KERNELS)}}, cpu::Level::V3));

  auto pool = std::make_shared<CountingPool>();
  Runtime runtime({.pool = pool});
  EXPECT_EQ(runtime.threads(), 2);
  EXPECT_EQ(runtime.pool(), pool);
  int threads = threadsOfThisProcess();
  Model model = runtime.load(file);
  std::vector<HostTensor> inputs, outputs;
  inputs.push_back(*HostTensor::allocate(DType::F32, {1 << 16}));
  std::fill_n(inputs[0].data<float>(), 1 << 16, 2.0f);
  model.run(inputs, outputs);
  EXPECT_EQ(outputs[0].values<float>()[65535], 4.0f);
  EXPECT_GE(pool->chunks.load(), 2);
  EXPECT_FALSE(pool->taken.load());
  EXPECT_EQ(threadsOfThisProcess(), threads) << "no thread of ours";
}

TEST_F(Embed, DenormalsAreFlushedOnlyWhenAsked) {
  PlanBuilder builder;
  int n = builder.constant(4);
  int x = builder.input("x", DType::F32, {n}), y = builder.output("y", DType::F32, {n});
  builder.dispatch("double", builder.kernel("add", addKernel), {x, x}, y, n);
  auto executable = builder.load();
  ASSERT_TRUE(executable.ok());
  Runtime runtime({.threads = 1});
  Model model = runtime.adopt(*executable);
  std::vector<float> tiny(4, std::numeric_limits<float>::denorm_min());
  std::vector<HostTensor> inputs, outputs;
  inputs.push_back(HostTensor::borrow(DType::F32, {4}, tiny.data()));
  model.run(inputs, outputs);
  EXPECT_GT(outputs[0].values<float>()[0], 0.0f);
  model.run(inputs, outputs, {.flushDenormals = true});
  EXPECT_EQ(outputs[0].values<float>()[0], 0.0f);
  model.run(inputs, outputs);
  EXPECT_GT(outputs[0].values<float>()[0], 0.0f) << "the caller's mode comes back";
}

TEST_F(Embed, AffinityThatCannotBeIsALineInTheLog) {
  std::vector<std::string> lines;
  std::mutex mutex;
  RuntimeOptions options;
  options.threads = 2;
  options.affinity = {100000};
  options.log = [&](const std::string &line) {
    std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  Runtime runtime(options);
  std::lock_guard lock(mutex);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("100000"));
}

TEST_F(Embed, TwoArtifactsInOneProcessAndStatistics) {
  std::string other = testing::TempDir() + "graphc-embed2.gcx";
  TestModel source;
  auto executable = source.load();
  ASSERT_TRUE(executable.ok());
  ASSERT_OK(writeArtifact(other, **executable, {{cpu::Level::V3, readFile(TEST_KERNELS2)}}, cpu::Level::V3));
  Runtime runtime({.threads = 2});
  Model one = runtime.load(path), two = runtime.load(other);
  std::vector<HostTensor> outputs;
  one.run(input(1), outputs);
  EXPECT_EQ(outputs[0].values<float>()[0], 49.0f);
  outputs.clear();
  two.run(input(1), outputs);
  EXPECT_EQ(outputs[0].values<float>()[0], 4900.0f);
  EXPECT_EQ(one.statistics().contexts, 1);
  EXPECT_GT(one.statistics().weightBytes, 0);
  EXPECT_EQ(one.statistics().preparedBytes, 0);
}

TEST_F(Embed, TheCInterface) {
  auto bytes = readFile(path);
  EXPECT_EQ(embed_c(path.c_str(), bytes.data(), bytes.size()), 0);
}

} // namespace
