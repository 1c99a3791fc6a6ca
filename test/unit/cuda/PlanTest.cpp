// Plans on a device: every command, several queues, error cells, device tensors, recordings. Kernels are CUDA C++ in the
// form that plans expect (runtime/plan/Plan.fbs), compiled here.
#include "SimDevice.h"
#include "runtime/artifact/Artifact.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <numeric>
#include <set>
#include <thread>

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

const char *const kSource = R"(
typedef long long i64;
struct Cell { int flag, site; i64 value, lower, upper; };
#define EACH for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < range; i += (i64)gridDim.x * blockDim.x)
extern "C" __global__ void add(const float *a, const float *b, float *out, i64 range, Cell *) { EACH out[i] = a[i] + b[i]; }
extern "C" __global__ void scale(const float *a, float *out, i64 factor, i64 range, Cell *) { EACH out[i] = a[i] * (float)factor; }
extern "C" __global__ void gather(const float *data, const i64 *index, float *out, i64 size, i64 range, Cell *cell) {
  EACH {
    i64 at = index[i];
    if (at < 0 || at >= size) {
      if (atomicCAS(&cell->flag, 0, 1) == 0) {
        cell->site = 0; cell->value = at; cell->lower = 0; cell->upper = size - 1;
      }
      at = 0;
    }
    out[i] = data[at];
  }
}
extern "C" __global__ void reversed(const float *a, float *out, i64 range, float *workspace, Cell *) {
  for (i64 i = threadIdx.x; i < range; i += blockDim.x) workspace[i] = a[i];
  __syncthreads();
  for (i64 i = threadIdx.x; i < range; i += blockDim.x) out[i] = workspace[range - 1 - i];
}
extern "C" __global__ void countdown(i64 *counter, bool *more, i64 range, Cell *) {
  if (blockIdx.x == 0 && threadIdx.x == 0) { *counter -= 1; *more = *counter > 0; }
}
extern "C" __global__ void past_the_end(float *out, i64 range, Cell *) { if (threadIdx.x == 0 && blockIdx.x == 0) out[range] = 1; }
)";

class Plans : public SimDevice {
protected:
  void SetUp() override {
    std::string reason;
    if (!nvrtc(reason))
      GTEST_SKIP() << reason;
    begin();
  }

  /// A plan whose kernels lie in kSource.
  struct Builder : PlanBuilder {
    explicit Builder(std::shared_ptr<ComputeDevice> device) {
      plan->target = gp::Target::Cuda;
      plan->modules.push_back(std::make_unique<gp::CudaModuleT>(moduleOf(kSource)));
      options.device = std::move(device);
    }
    int entry(const std::string &symbol, int scratchExpr = -1, int maxBlocks = 0) {
      auto kernel = std::make_unique<gp::KernelT>();
      kernel->symbol = symbol;
      kernel->module_index = 0;
      kernel->threads = 64;
      kernel->items_per_block = scratchExpr >= 0 ? 1 << 30 : 64;
      kernel->scratch = scratchExpr;
      kernel->max_blocks = maxBlocks;
      plan->kernels.push_back(std::move(kernel));
      return static_cast<int>(plan->kernels.size()) - 1;
    }
  };

  static HostTensor floats(std::vector<int64_t> dims, float first, float step = 1) {
    auto tensor = *HostTensor::allocate(DType::F32, Shape(std::move(dims)));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.data<float>()[i] = first + step * static_cast<float>(i);
    return tensor;
  }
  template <typename T = float>
  static std::vector<T> valuesOf(const HostTensor &tensor) {
    auto values = tensor.values<T>();
    return {values.begin(), values.end()};
  }
};

TEST_F(Plans, WeightsGoUpOnceAndHostTensorsWork) {
  Builder b(device);
  auto dims = b.constants({100});
  int x = b.input("x", DType::F32, dims), y = b.output("y", DType::F32, dims);
  int w = b.weight<float>("w", {100}, std::vector<float>(100, 0.5f));
  int range = b.constant(100);
  int t = b.temp(DType::F32, dims);
  b.dispatch("add", b.entry("add"), {x, w}, t, range);
  b.dispatch("scale", b.entry("scale"), {t}, y, range, {b.constant(3)});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  EXPECT_EQ((*executable)->device(), device);
  for (int round = 0; round < 3; ++round) {
    HostTensor input = floats({100}, static_cast<float>(round));
    std::vector<HostTensor> outputs(1);
    ASSERT_OK((*executable)->run({&input, 1}, outputs));
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(outputs[0].data<float>()[i], (static_cast<float>(round + i) + 0.5f) * 3);
    // Bound outputs are written in place.
    float *address = outputs[0].data<float>();
    HostTensor next = floats({100}, 50);
    ASSERT_OK((*executable)->run({&next, 1}, outputs));
    EXPECT_EQ(outputs[0].data<float>(), address);
    EXPECT_EQ(address[0], 151.5f);
  }
  EXPECT_EQ(reports(), "");
}

TEST_F(Plans, PlansAndDevicesMustFit) {
  Builder b(device);
  auto dims = b.constants({4});
  int x = b.input("x", DType::F32, dims), y = b.output("y", DType::F32, dims);
  b.dispatch("scale", b.entry("scale"), {x}, y, b.constant(4), {b.constant(3)});
  b.options.device = nullptr;
  auto executable = b.load();
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.status().code(), Code::ArtifactTarget);
  EXPECT_THAT(executable.status().message(), HasSubstr("was compiled for a CUDA device (cuda or sim), and was loaded for the processor"));
  PlanBuilder cpu;
  int cx = cpu.input("x", DType::F32, cpu.constants({4})), cy = cpu.output("y", DType::F32, cpu.constants({4}));
  cpu.dispatch("scale", cpu.kernel("scale", scaleKernel), {cx}, cy, cpu.constant(4), {cpu.constant(3)});
  cpu.options.device = device;
  executable = cpu.load();
  ASSERT_FALSE(executable.ok());
  EXPECT_THAT(executable.status().message(), HasSubstr("was compiled for the processor, not for sim:0"));
}

TEST_F(Plans, SizesOfTheCallsChoose) {
  Builder b(device);
  int n = b.symbol("n", 0, 0, 0, 1000), ne = b.symbolExpr(n);
  int x = b.input("x", DType::F32, {ne}), y = b.output("y", DType::F32, {ne});
  int bytes = b.expr(gp::ExprOp::Mul, ne, b.constant(4));
  int t = b.temp(DType::F32, {ne});
  b.dispatch("scale", b.entry("scale", -1, 2), {x}, t, ne, {ne}); // at most two blocks: strides over the range
  b.dispatch("reversed", b.entry("reversed", bytes), {t}, y, ne);
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int64_t size : {5, 1000, 0, 1, 999, 5}) {
    HostTensor input = floats({size}, 1);
    std::vector<HostTensor> outputs(1);
    ASSERT_OK((*executable)->run({&input, 1}, outputs));
    ASSERT_EQ(outputs[0].shape(), Shape({size}));
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(outputs[0].data<float>()[i], static_cast<float>((size - i) * size));
  }
  HostTensor tooLong = floats({1001}, 1);
  std::vector<HostTensor> outputs(1);
  Status status = (*executable)->run({&tooLong, 1}, outputs);
  EXPECT_EQ(status.code(), Code::SymbolRange);
  EXPECT_EQ(reports(), "");
}

// ---- bad indices -------------------------------------------------------------------------------------------------

TEST_F(Plans, BadIndicesAreReportedInTheWordsOfTheProcessor) {
  auto build = [&](PlanBuilder &b, int kernel) {
    auto five = b.constants({5});
    int index = b.input("index", DType::I64, five), y = b.output("y", DType::F32, five);
    int w = b.weight<float>("table", {3}, {10, 20, 30});
    gp::CommandT &command = b.dispatch("lookup", kernel, {w, index}, y, b.constant(5), {b.constant(3)});
    auto site = std::make_unique<gp::SiteT>();
    site->name = "embedding.3";
    site->location = "model.py:17";
    command.action.AsDispatch()->sites.push_back(std::move(site));
  };
  Builder b(device);
  build(b, b.entry("gather"));
  PlanBuilder reference;
  build(reference, reference.kernel("gather", gatherKernel));
  auto executable = b.load(), expected = reference.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  ASSERT_TRUE(expected.ok()) << expected.status().str();
  HostTensor bad = HostTensor::of<int64_t>({5}, {0, 1, 7, 2, 0}), good = HostTensor::of<int64_t>({5}, {0, 1, 2, 2, 0});
  std::vector<HostTensor> outputs(1);
  Status onProcessor = (*expected)->run({&bad, 1}, outputs);
  outputs.clear();
  outputs.resize(1);
  Status onDevice = (*executable)->run({&bad, 1}, outputs);
  ASSERT_FALSE(onDevice.ok());
  EXPECT_EQ(onDevice.str(), onProcessor.str());
  EXPECT_EQ(onDevice.message(), "'embedding.3' (model.py:17): index 7 is out of range [0, 2]");
  EXPECT_FALSE(outputs[0].defined());
  ASSERT_OK((*executable)->run({&good, 1}, outputs)); // the device goes on
  EXPECT_EQ(valuesOf(outputs[0]), (std::vector<float>{10, 20, 30, 30, 10}));

  // In the background: the next synchronize says it, once.
  DeviceTensor input = upload<int64_t>({5}, {0, 1, -1, 2, 0});
  std::vector<DeviceTensor> results(1);
  ASSERT_OK((*executable)->run({&input, 1}, results));
  Status status = device->synchronize();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "'embedding.3' (model.py:17): index -1 is out of range [0, 2]");
  ASSERT_OK(device->synchronize());
  DeviceTensor fine = upload<int64_t>({5}, {2, 1, 0, 2, 0});
  results[0] = {};
  ASSERT_OK((*executable)->run({&fine, 1}, results));
  EXPECT_EQ(download<float>(results[0]), (std::vector<float>{30, 20, 10, 30, 10}));
  EXPECT_EQ(reports(), "");
}

// ---- copies, fills, control flow ---------------------------------------------------------------------------------

TEST_F(Plans, CopiesFillsAndChecks) {
  Builder b(device);
  auto dims = b.constants({2, 3}), flipped = b.constants({3, 2});
  int x = b.input("x", DType::F32, dims), y = b.output("y", DType::F32, flipped), z = b.output("z", DType::I64, b.constants({4}));
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(x, flipped, b.constants({1, 3}));
  copy.dst = PlanBuilder::operand(y);
  b.add("transpose", std::move(copy), {x}, {y});
  gp::FillT fill;
  fill.dst = PlanBuilder::operand(z);
  fill.bits = static_cast<uint64_t>(-3);
  b.add("fill", std::move(fill), {}, {z});
  gp::FillT part;
  part.dst = PlanBuilder::operand(z, b.constants({2}), b.constants({2}), b.constant(1));
  part.bits = 9;
  b.add("every second", std::move(part), {}, {z});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  HostTensor input = floats({2, 3}, 0);
  std::vector<HostTensor> outputs(2);
  ASSERT_OK((*executable)->run({&input, 1}, outputs));
  EXPECT_EQ(valuesOf(outputs[0]), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(valuesOf<int64_t>(outputs[1]), (std::vector<int64_t>{-3, 9, -3, 9}));
  EXPECT_EQ(reports(), "");

  Builder failing(device);
  int n = failing.symbol("n", 0, 0), ne = failing.symbolExpr(n);
  int in = failing.input("x", DType::F32, {ne}), out = failing.output("y", DType::F32, {ne});
  gp::CheckT check;
  check.relation = gp::Relation::Le;
  check.a = ne;
  check.b = failing.constant(3);
  check.message = "too long";
  failing.add("limit", std::move(check), {}, {});
  failing.dispatch("scale", failing.entry("scale"), {in}, out, ne, {failing.constant(2)});
  executable = failing.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  HostTensor four = floats({4}, 0), three = floats({3}, 1);
  outputs = std::vector<HostTensor>(1);
  Status status = (*executable)->run({&four, 1}, outputs);
  EXPECT_EQ(status.code(), Code::CheckFailed);
  EXPECT_THAT(status.message(), HasSubstr("'limit' (test.cpp:limit): too long (n = 4, 3 = 3)"));
  ASSERT_OK((*executable)->run({&three, 1}, outputs));
  EXPECT_EQ(valuesOf(outputs[0]), (std::vector<float>{2, 4, 6}));
}

TEST_F(Plans, ValuesOfTheDeviceDecideSizes) {
  Builder b(device);
  int symbol = b.symbol("m", -1, -1, 0, 1000), m = b.symbolExpr(symbol);
  b.plan->symbols[symbol]->bound = b.constant(8);
  int x = b.input("x", DType::F32, b.constants({8})), count = b.input("count", DType::I64, b.constants({2}));
  int y = b.output("y", DType::F32, {m}), t = b.temp(DType::F32, {m});
  gp::BindT bind;
  bind.symbol = symbol;
  bind.buffer = count;
  bind.element = b.constant(1);
  b.add("read", std::move(bind), {count}, {});
  b.dispatch("scale", b.entry("scale"), {x}, t, m, {m});
  b.dispatch("again", b.entry("scale"), {t}, y, m, {b.constant(2)});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int64_t size : {3, 8, 0, 1}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(floats({8}, 1));
    inputs.push_back(HostTensor::of<int64_t>({2}, {-5, size}));
    std::vector<HostTensor> outputs(1);
    ASSERT_OK((*executable)->run(inputs, outputs));
    ASSERT_EQ(outputs[0].shape(), Shape({size}));
    for (int64_t i = 0; i < size; ++i)
      EXPECT_EQ(outputs[0].data<float>()[i], static_cast<float>((i + 1) * size * 2));
  }
  std::vector<HostTensor> inputs;
  inputs.push_back(floats({8}, 1));
  inputs.push_back(HostTensor::of<int64_t>({2}, {0, 9}));
  std::vector<HostTensor> outputs(1);
  Status status = (*executable)->run(inputs, outputs);
  EXPECT_THAT(status.message(), HasSubstr("the size 'm' came out as 9, outside [0, 8]"));
  EXPECT_EQ(reports(), "");
}

TEST_F(Plans, BranchesAndLoops) {
  Builder b(device);
  auto four = b.constants({4});
  int x = b.input("x", DType::F32, four), flag = b.input("flag", DType::Bool, {}), start = b.input("start", DType::I64, {});
  int y = b.output("y", DType::F32, four);
  int counter = b.temp(DType::I64, {}), more = b.temp(DType::Bool, {});
  int range = b.constant(4), one = b.constant(1);
  int add = b.entry("add"), scale = b.entry("scale"), countdown = b.entry("countdown");
  auto copy = [&](PlanBuilder::Commands &list, int from, int to) {
    gp::CopyT action;
    action.src = PlanBuilder::operand(from);
    action.dst = PlanBuilder::operand(to);
    b.add(list, "copy", std::move(action), {from}, {to});
  };
  auto dispatch = [&](PlanBuilder::Commands &list, const std::string &name, int kernel, std::vector<int> buffers, std::vector<int> writes,
                      int rangeExpr, std::vector<int> scalars = {}) {
    gp::DispatchT action;
    action.kernel = kernel;
    action.buffers = buffers;
    action.range = rangeExpr;
    action.scalars = std::move(scalars);
    b.add(list, name, std::move(action), buffers, std::move(writes));
  };
  gp::IfT branch;
  branch.condition = flag;
  dispatch(branch.then_commands, "then", scale, {x, y}, {y}, range, {b.constant(10)});
  copy(branch.else_commands, x, y);
  b.add("branch", std::move(branch), {flag, x}, {y});
  copy(b.plan->main, start, counter);
  gp::FillT truth;
  truth.dst = PlanBuilder::operand(more);
  truth.bits = 1;
  b.add("truth", std::move(truth), {}, {more});
  gp::LoopT loop;
  loop.condition = more;
  loop.trip_count = b.constant(6);
  dispatch(loop.body, "double", add, {y, y, y}, {y}, range);
  dispatch(loop.body, "countdown", countdown, {counter, more}, {counter, more}, one);
  b.add("loop", std::move(loop), {counter, more, y}, {counter, more, y});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (bool taken : {true, false})
    for (int64_t rounds : {1, 3, 100}) {
      std::vector<HostTensor> inputs;
      inputs.push_back(floats({4}, 1));
      inputs.push_back(HostTensor::of<bool>(Shape(std::vector<int64_t>{}), {taken}));
      inputs.push_back(HostTensor::of<int64_t>(Shape(std::vector<int64_t>{}), {rounds}));
      std::vector<HostTensor> outputs(1);
      ASSERT_OK((*executable)->run(inputs, outputs));
      float factor = static_cast<float>((taken ? 10 : 1) << std::min<int64_t>(rounds, 6));
      for (int i = 0; i < 4; ++i)
        ASSERT_EQ(outputs[0].data<float>()[i], static_cast<float>(i + 1) * factor) << taken << " " << rounds;
    }
  EXPECT_EQ(reports(), "");
}

// ---- several queues ----------------------------------------------------------------------------------------------

/// Four independent chains that join: a tree of adds over scaled copies of x. Temporaries are reused on the way.
void forkAndJoin(auto &b, int64_t size, int scale, int add) {
  auto dims = b.constants({size});
  int range = b.constant(size);
  int x = b.input("x", DType::F32, dims), y = b.output("y", DType::F32, dims);
  std::vector<int> ends;
  for (int chain = 0; chain < 4; ++chain) {
    int at = x;
    for (int link = 0; link < 3; ++link) {
      int next = b.temp(DType::F32, dims);
      b.dispatch("chain " + std::to_string(chain) + "." + std::to_string(link), scale, {at}, next, range, {b.constant(chain + 1)});
      at = next;
    }
    ends.push_back(at);
  }
  int left = b.temp(DType::F32, dims), right = b.temp(DType::F32, dims);
  b.dispatch("left", add, {ends[0], ends[1]}, left, range);
  b.dispatch("right", add, {ends[2], ends[3]}, right, range);
  b.dispatch("join", add, {left, right}, y, range);
}
constexpr float kForkAndJoin = 1 + 8 + 27 + 64;

class Queues : public Plans, public testing::WithParamInterface<std::tuple<const char *, int>> {
protected:
  void SetUp() override {
    std::string reason;
    if (!nvrtc(reason))
      GTEST_SKIP() << reason;
    begin(std::string("schedule=") + std::get<0>(GetParam()) + ",seed=" + std::to_string(std::get<1>(GetParam())));
  }
};
INSTANTIATE_TEST_SUITE_P(Schedules, Queues,
                         testing::Combine(testing::Values("lazy", "random", "adversarial"), testing::Values(1, 2, 3)),
                         [](const auto &info) { return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param)); });

TEST_P(Queues, IndependentChainsRunSideBySide) {
  Builder b(device);
  forkAndJoin(b, 300, b.entry("scale"), b.entry("add"));
  int waits = 0;
  b.options.keepWait = [&](int number) {
    waits = std::max(waits, number + 1);
    return true;
  };
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int round = 0; round < 2; ++round) {
    HostTensor input = floats({300}, 1);
    std::vector<HostTensor> outputs(1);
    ASSERT_OK((*executable)->run({&input, 1}, outputs));
    for (int i = 0; i < 300; ++i)
      ASSERT_EQ(outputs[0].data<float>()[i], static_cast<float>(i + 1) * kForkAndJoin);
  }
  // Three further queues start behind the uploads; "left" waits for one chain, "right" for one, "join" for one, the call's
  // end for it; reused memory costs little more.
  EXPECT_GE(waits, 6);
  EXPECT_LE(waits, 9);
  EXPECT_EQ(reports(), "");
}

TEST_P(Queues, EveryWaitIsNeeded) {
  int waits = 1;
  for (int omitted = 0; omitted < waits; ++omitted) {
    begin(std::string("schedule=") + std::get<0>(GetParam()) + ",seed=" + std::to_string(std::get<1>(GetParam())));
    Builder b(device);
    forkAndJoin(b, 300, b.entry("scale"), b.entry("add"));
    b.options.keepWait = [&](int number) {
      waits = std::max(waits, number + 1);
      return number != omitted;
    };
    auto executable = b.load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    HostTensor input = floats({300}, 1);
    std::vector<HostTensor> outputs(1);
    Status status = (*executable)->run({&input, 1}, outputs);
    // Some waits only protect the next call's use of the same memory.
    if (status.ok())
      status = (*executable)->run({&input, 1}, outputs);
    EXPECT_FALSE(status.ok()) << "wait " << omitted << " of " << waits << " can be left out";
    EXPECT_NE(reports(), "") << omitted;
  }
}

TEST_P(Queues, CallsOfSeveralThreadsDoNotMeet) {
  Builder b(device);
  forkAndJoin(b, 64, b.entry("scale"), b.entry("add"));
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 4; ++round) {
        HostTensor input = floats({64}, static_cast<float>(t * 100 + round));
        std::vector<HostTensor> outputs(1);
        if (!(*executable)->run({&input, 1}, outputs).ok() ||
            outputs[0].data<float>()[5] != static_cast<float>(t * 100 + round + 5) * kForkAndJoin)
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(reports(), "");
}

TEST_P(Queues, DeviceTensorsPassFromModelToModel) {
  Builder b(device);
  forkAndJoin(b, 64, b.entry("scale"), b.entry("add"));
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto queue = *device->newQueue();
  DeviceTensor x = upload<float>({64}, std::vector<float>(64, 1));
  // Each call in another queue, results dropped while the next call still needs them.
  for (int round = 0; round < 3; ++round) {
    std::vector<DeviceTensor> results(1);
    RunOptions options;
    options.queue = round % 2 ? nullptr : queue.get();
    ASSERT_OK((*executable)->run({&x, 1}, results, options));
    EXPECT_NE(results[0].address(), x.address()) << "outputs are new memory";
    x = std::move(results[0]);
  }
  EXPECT_EQ(download<float>(x), std::vector<float>(64, kForkAndJoin * kForkAndJoin * kForkAndJoin));
  EXPECT_EQ(reports(), "");
}

TEST_F(Plans, TensorsOfOtherDevicesAreRefused) {
  begin("devices=2");
  auto second = open(1);
  Builder b(device);
  auto dims = b.constants({4});
  int x = b.input("x", DType::F32, dims), y = b.output("y", DType::F32, dims);
  b.dispatch("scale", b.entry("scale"), {x}, y, b.constant(4), {b.constant(3)});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  DeviceTensor input = *DeviceTensor::fromHost(second, floats({4}, 1), second->defaultQueue());
  std::vector<DeviceTensor> results(1);
  Status status = (*executable)->run({&input, 1}, results);
  EXPECT_THAT(status.message(), HasSubstr("expected all tensors to be on the same device, got sim:1 (input 'x') and sim:0 (weights of 'test')"));
  DeviceTensor moved = *input.to(device, device->defaultQueue());
  ASSERT_OK((*executable)->run({&moved, 1}, results));
  EXPECT_EQ(download<float>(results[0]), (std::vector<float>{3, 6, 9, 12}));
}

TEST_F(Plans, OutOfMemoryLeavesTheNextSmallerCallWorking) {
  begin("memory=64MiB");
  Builder b(device);
  int n = b.symbol("n", 0, 0), ne = b.symbolExpr(n);
  int x = b.input("x", DType::F32, {ne}), y = b.output("y", DType::F32, {ne}), t = b.temp(DType::F32, {ne});
  b.dispatch("scale", b.entry("scale"), {x}, t, ne, {b.constant(2)});
  b.dispatch("scale", b.entry("scale"), {t}, y, ne, {b.constant(2)});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  std::vector<HostTensor> outputs(1);
  HostTensor big = floats({6 << 20}, 1), small = floats({1000}, 1);
  Status status = (*executable)->run({&big, 1}, outputs);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::OutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("sim:0 is out of memory: asked for 24.00 MiB for"));
  EXPECT_THAT(status.message(), HasSubstr("'x' 24.00 MiB"));
  ASSERT_OK((*executable)->run({&small, 1}, outputs));
  EXPECT_EQ(outputs[0].data<float>()[2], 12);
  *executable = nullptr;
  ASSERT_OK(device->memory().emptyCache());
  EXPECT_EQ(device->memory().statistics().allocatedBytes.all.current, 0) << "nothing leaks";
  EXPECT_EQ(reports(), "");
}

TEST_F(Plans, ProfilesMeasureOnTheDevice) {
  Builder b(device);
  forkAndJoin(b, 64, b.entry("scale"), b.entry("add"));
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  struct Sink : ProfileSink {
    std::vector<std::string> names;
    void command(int, const plan::CommandT &command, int64_t startNs, int64_t endNs, int) override {
      names.push_back(command.name);
      EXPECT_GE(endNs, startNs);
    }
  } sink;
  RunOptions options;
  options.profile = &sink;
  HostTensor input = floats({64}, 1);
  std::vector<HostTensor> outputs(1);
  ASSERT_OK((*executable)->run({&input, 1}, outputs, options));
  EXPECT_EQ(sink.names.size(), 15u);
  EXPECT_EQ(sink.names.back(), "join");
}

TEST_F(Plans, ArtifactsForADeviceAreWrittenWithoutOne) {
  Builder b(device);
  auto dims = b.constants({100});
  int x = b.input("x", DType::F32, dims), y = b.output("y", DType::F32, dims);
  // A weight in a file, and a constant that `prepare` makes of it.
  std::vector<float> values(200);
  std::iota(values.begin(), values.end(), 0.0f);
  int w = b.buffer(gp::BufferKind::Weight, DType::F32, dims, "w");
  b.plan->buffers[w]->weight = std::make_unique<gp::WeightDataT>();
  b.plan->buffers[w]->weight->file = 0;
  b.plan->buffers[w]->weight->offset = 400;
  b.plan->buffers[w]->weight->bytes = 400;
  b.plan->files.push_back(std::make_unique<gp::WeightFileT>());
  b.plan->files[0]->path = "model.bin";
  int prepared = b.buffer(gp::BufferKind::Prepared, DType::F32, dims, "prepared");
  gp::DispatchT twice;
  twice.kernel = b.entry("scale");
  twice.buffers = {w, prepared};
  twice.scalars = {b.constant(2)};
  twice.range = b.constant(100);
  b.add(b.plan->prepare, "twice", std::move(twice), {w}, {prepared});
  b.dispatch("add", b.entry("add"), {x, prepared}, y, b.constant(100));
  std::vector<WeightBytes> files(1);
  files[0].bytes = std::as_bytes(std::span(values));
  std::string path = testing::TempDir() + "cuda-plan.gcx";
  device.reset(); // none is needed to write
  ASSERT_OK(writeDeviceArtifact(path, *b.plan, files));

  auto without = loadArtifact(path, {});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.status().code(), Code::ArtifactTarget);
  EXPECT_THAT(without.status().message(), HasSubstr("was compiled for a CUDA device"));
  b.options.device.reset();
  begin();
  ArtifactOptions options;
  options.device = device;
  auto executable = loadArtifact(path, options);
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  HostTensor input = floats({100}, 1);
  std::vector<HostTensor> outputs(1);
  ASSERT_OK((*executable)->run({&input, 1}, outputs));
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(outputs[0].data<float>()[i], static_cast<float>(i + 1 + 2 * (100 + i)));
  EXPECT_EQ(reports(), "");
}

// ---- recordings --------------------------------------------------------------------------------------------------

TEST_P(Queues, ReplaysEqualTheWalkWithMovedInputsAndOutputs) {
  Builder b(device);
  forkAndJoin(b, 64, b.entry("scale"), b.entry("add"));
  b.options.record = RecordPolicy::Always;
  std::vector<std::string> said;
  b.options.log = [&](LogLevel, const std::string &line) { said.push_back(line); };
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto context = *(*executable)->newContext();
  std::vector<DeviceTensor> inputs, outputs(8);
  for (int i = 0; i < 8; ++i)
    inputs.push_back(upload<float>({64}, std::vector<float>(64, static_cast<float>(i + 1))));
  for (size_t i = 0; i < 8; ++i)
    ASSERT_OK((*executable)->run(*context, {&inputs[i], 1}, {&outputs[i], 1}));
  // All are still there: no call wrote into an earlier one's output.
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(download<float>(outputs[i]), std::vector<float>(64, static_cast<float>(i + 1) * kForkAndJoin)) << i;
  // The same with host tensors, whose device copies do not move.
  for (int i = 0; i < 3; ++i) {
    HostTensor input = floats({64}, static_cast<float>(i), 0);
    std::vector<HostTensor> results(1);
    ASSERT_OK((*executable)->run(*context, {&input, 1}, results));
    EXPECT_EQ(valuesOf(results[0]), std::vector<float>(64, static_cast<float>(i) * kForkAndJoin));
  }
  EXPECT_TRUE(said.empty()) << joined(said);
  EXPECT_EQ(reports(), "");
}

TEST_F(Plans, RecordingsOfManyShapesStayBelowTheCap) {
  Builder b(device);
  int n = b.symbol("n", 0, 0, 1, 100000), ne = b.symbolExpr(n);
  int x = b.input("x", DType::F32, {ne}), y = b.output("y", DType::F32, {ne}), t = b.temp(DType::F32, {ne});
  b.dispatch("scale", b.entry("scale"), {x}, t, ne, {b.constant(2)});
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(t);
  copy.dst = PlanBuilder::operand(y);
  b.add("copy", std::move(copy), {t}, {y});
  b.options.record = RecordPolicy::Always;
  b.options.recordedBytesCap = 600 << 10; // two or three of these
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto context = *(*executable)->newContext();
  for (int round = 0; round < 3; ++round)
    for (int64_t size : {10000, 20000, 30000, 40000, 50000})
      for (int call = 0; call < 3; ++call) {
        DeviceTensor input = upload<float>({size}, std::vector<float>(static_cast<size_t>(size), static_cast<float>(call)));
        std::vector<DeviceTensor> results(1);
        ASSERT_OK((*executable)->run(*context, {&input, 1}, results));
        ASSERT_EQ(download<float>(results[0]), std::vector<float>(static_cast<size_t>(size), static_cast<float>(2 * call)));
      }
  EXPECT_LT(device->memory().statistics().privateBytes, 8 << 20);
  EXPECT_EQ(reports(), "");
  context.reset();
  *executable = nullptr;
  EXPECT_EQ(device->memory().statistics().privateBytes, 0) << "the private pool goes with the program";
}

TEST_F(Plans, MeasuredRecordingsDecideForThemselves) {
  Builder b(device);
  forkAndJoin(b, 64, b.entry("scale"), b.entry("add"));
  b.options.record = RecordPolicy::Measured;
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto context = *(*executable)->newContext();
  for (int round = 0; round < 9; ++round) {
    HostTensor input = floats({64}, static_cast<float>(round), 0);
    std::vector<HostTensor> results(1);
    ASSERT_OK((*executable)->run(*context, {&input, 1}, results));
    ASSERT_EQ(valuesOf(results[0]), std::vector<float>(64, static_cast<float>(round) * kForkAndJoin));
  }
  EXPECT_EQ(reports(), "");
}

TEST_F(Plans, WhatCannotBeRecordedSaysWhy) {
  Builder b(device);
  int flag = b.input("flag", DType::Bool, {}), x = b.input("x", DType::F32, b.constants({4})), y = b.output("y", DType::F32, b.constants({4}));
  gp::IfT branch;
  branch.condition = flag;
  for (auto *list : {&branch.then_commands, &branch.else_commands}) {
    gp::CopyT copy;
    copy.src = PlanBuilder::operand(x);
    copy.dst = PlanBuilder::operand(y);
    b.add(*list, "copy", std::move(copy), {x}, {y});
  }
  b.add("branch", std::move(branch), {flag, x}, {y});
  b.options.record = RecordPolicy::Always;
  std::vector<std::string> said;
  b.options.log = [&](LogLevel, const std::string &line) { said.push_back(line); };
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int round = 0; round < 3; ++round) {
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(HostTensor::of<bool>(Shape(std::vector<int64_t>{}), {true}));
    inputs.push_back(floats({4}, 1));
    ASSERT_OK((*executable)->run(inputs, outputs));
  }
  ASSERT_EQ(said.size(), 1u) << "said once";
  EXPECT_THAT(said[0], HasSubstr("reduce-overhead: 'test' is not recorded: command 0 'branch' (test.cpp:branch) branches on a value of the device"));
}

TEST_F(Plans, RecordedCallsReportBadIndicesToo) {
  Builder b(device);
  auto two = b.constants({2});
  int index = b.input("index", DType::I64, two), y = b.output("y", DType::F32, two);
  int w = b.weight<float>("table", {3}, {10, 20, 30});
  gp::CommandT &command = b.dispatch("lookup", b.entry("gather"), {w, index}, y, b.constant(2), {b.constant(3)});
  auto site = std::make_unique<gp::SiteT>();
  site->name = "embedding";
  command.action.AsDispatch()->sites.push_back(std::move(site));
  b.options.record = RecordPolicy::Always;
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int64_t bad : {1, 5, 2, 9, 0}) {
    HostTensor input = HostTensor::of<int64_t>({2}, {0, bad});
    std::vector<HostTensor> outputs(1);
    Status status = (*executable)->run({&input, 1}, outputs);
    if (bad < 3) {
      ASSERT_OK(status);
      EXPECT_EQ(outputs[0].data<float>()[1], static_cast<float>(10 * (bad + 1)));
    } else {
      EXPECT_EQ(status.message(), text("'embedding': index ", bad, " is out of range [0, 2]"));
    }
  }
  EXPECT_EQ(reports(), "");
}

} // namespace
