#include "PlanBuilder.h"

#include <fstream>
#include <thread>

#include <filesystem>

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// y = ((x + w) * 3 + x) * 2 on [8], through temporaries.
void chain(PlanBuilder &b) {
  int eight = b.constant(8), three = b.constant(3), two = b.constant(2);
  int x = b.input("x", DType::F32, {eight}), y = b.output("y", DType::F32, {eight});
  int w = b.weight<float>("w", {8}, {1, 1, 1, 1, 2, 2, 2, 2});
  int add = b.kernel("add", addKernel), scale = b.kernel("scale", scaleKernel);
  int a = b.temp(DType::F32, {eight}, "a"), c = b.temp(DType::F32, {eight}, "c"), d = b.temp(DType::F32, {eight}, "d");
  b.dispatch("a", add, {x, w}, a, eight);
  b.dispatch("c", scale, {a}, c, eight, {three});
  b.dispatch("d", add, {c, x}, d, eight);
  b.dispatch("y", scale, {d}, y, eight, {two});
}

std::vector<float> chainResult(const std::vector<float> &x) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back(((x[i] + (i < 4 ? 1 : 2)) * 3 + x[i]) * 2);
  return y;
}

TEST(Executable, RunsAChainThroughAReusedArena) {
  PlanBuilder b;
  chain(b);
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  HostTensor input = HostTensor::of<float>({8}, std::span<const float>(x));
  std::vector<HostTensor> outputs(1);
  ASSERT_OK((*executable)->run({&input, 1}, outputs));
  EXPECT_THAT(outputs[0].values<float>(), testing::ElementsAreArray(chainResult(x)));
  EXPECT_EQ((*executable)->signature().inputs[0].str(), "f32[8]");
}

TEST(Executable, PredictedMemoryIsWhatIsTaken) {
  PlanBuilder b;
  chain(b);
  auto executable = b.load();
  ASSERT_TRUE(executable.ok());
  Shape shape{8};
  auto predicted = (*executable)->predict({&shape, 1});
  ASSERT_TRUE(predicted.ok()) << predicted.status().str();
  EXPECT_EQ(predicted->arena, 2 * 64); // three temporaries, two alive at once
  EXPECT_EQ(predicted->outputs, 32);
  auto context = (*executable)->newContext();
  ASSERT_TRUE(context.ok());
  HostTensor input = *HostTensor::allocate(DType::F32, {8});
  std::vector<HostTensor> outputs(1);
  ASSERT_OK((*executable)->run(**context, {&input, 1}, outputs));
  MemoryUse measured = Executable::measured(**context);
  EXPECT_EQ(measured.callTotal(), predicted->callTotal());
  EXPECT_EQ((*executable)->statistics().contextBytes, measured.arena + measured.scratch);
}

TEST(Executable, BoundOutputsAreWrittenInPlace) {
  PlanBuilder b;
  chain(b);
  auto executable = b.load();
  ASSERT_TRUE(executable.ok());
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  HostTensor input = HostTensor::borrow(DType::F32, {8}, x.data());
  HostTensor output = HostTensor::borrow(DType::F32, {8}, y.data());
  for (int round = 0; round < 3; ++round) {
    x[0] = static_cast<float>(round);
    ASSERT_OK((*executable)->run({&input, 1}, {&output, 1}));
    EXPECT_EQ(y, chainResult(x));
  }
  // Other addresses the next time.
  std::vector<float> x2(8, 5), y2(8);
  HostTensor input2 = HostTensor::borrow(DType::F32, {8}, x2.data()), output2 = HostTensor::borrow(DType::F32, {8}, y2.data());
  ASSERT_OK((*executable)->run({&input2, 1}, {&output2, 1}));
  EXPECT_EQ(y2, chainResult(x2));
}

TEST(Executable, WrongCallsAreExplained) {
  PlanBuilder b;
  chain(b);
  auto executable = *b.load();
  std::vector<HostTensor> outputs(1);
  auto fails = [&](std::vector<HostTensor> inputs, Code code, const char *message) {
    Status status = executable->run(inputs, outputs);
    EXPECT_EQ(status.code(), code) << status.str();
    EXPECT_THAT(status.message(), HasSubstr(message));
  };
  fails({}, Code::InputCount, "takes 1 inputs ('x' f32[8]), but 0 were given");
  auto one = [](HostTensor tensor) {
    std::vector<HostTensor> inputs;
    inputs.push_back(std::move(tensor));
    return inputs;
  };
  fails(one(*HostTensor::allocate(DType::F64, {8})), Code::InputDType, "input 'x': expected f32[8], got f64[8]");
  fails(one(*HostTensor::allocate(DType::F32, {8, 1})), Code::InputRank, "expected f32[8], got f32[8, 1]");
  fails(one(*HostTensor::allocate(DType::F32, {9})), Code::InputShape, "expected f32[8], got f32[9]");
  fails(one(HostTensor()), Code::MissingInput, "input 'x' has no data");
  outputs[0] = *HostTensor::allocate(DType::F32, {7});
  fails(one(*HostTensor::allocate(DType::F32, {8})), Code::OutputBinding, "output 'y': expected f32[8]");
  EXPECT_EQ(executable->inputIndex("z").status().message(), "there is no input 'z'; the model has 'x'");
  EXPECT_EQ(*executable->outputIndex("y"), 0);
}

TEST(Executable, MissingKernelsAreNamed) {
  PlanBuilder b;
  chain(b);
  b.options.kernels[1] = nullptr;
  auto executable = b.load();
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.status().message(), "kernel 'scale' has no function");
}

TEST(Executable, IndexErrorsNameTheOpAndTheValue) {
  PlanBuilder b;
  int four = b.constant(4), three = b.constant(3);
  int data = b.input("data", DType::F32, {four}), index = b.input("index", DType::I64, {three});
  int out = b.output("y", DType::F32, {three});
  auto &command = b.dispatch("fused", b.kernel("gather", gatherKernel), {data, index}, out, three, {four});
  auto site = std::make_unique<gp::SiteT>();
  site->name = "/embed/Gather";
  site->location = "model.onnx:/embed/Gather";
  command.action.AsDispatch()->sites.push_back(std::move(site));
  auto executable = *b.load();
  std::vector<HostTensor> inputs, outputs(1);
  inputs.push_back(HostTensor::of<float>({4}, {10, 11, 12, 13}));
  inputs.push_back(HostTensor::of<int64_t>({3}, {0, 4, 2}));
  Status status = executable->run(inputs, outputs);
  EXPECT_EQ(status.code(), Code::IndexOutOfRange);
  EXPECT_EQ(status.message(), "'/embed/Gather' (model.onnx:/embed/Gather): index 4 is out of range [0, 3]");
  // The error does not stick to the context.
  inputs[1] = HostTensor::of<int64_t>({3}, {3, 0, 2});
  ASSERT_OK(executable->run(inputs, outputs));
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(13, 10, 12));
}

TEST(Executable, WeightsComeFromMappedFilesAtAnyOffset) {
  std::string folder = testing::TempDir() + "graphc-weights";
  std::filesystem::create_directories(folder);
  std::vector<float> values = {1, 2, 3, 4};
  {
    std::ofstream file(folder + "/w.bin", std::ios::binary);
    file.write("abc", 3); // misaligned on purpose
    file.write(reinterpret_cast<const char *>(values.data()), 16);
  }
  PlanBuilder b;
  int four = b.constant(4);
  int x = b.input("x", DType::F32, {four}), y = b.output("y", DType::F32, {four});
  int w = b.buffer(gp::BufferKind::Weight, DType::F32, {four}, "w");
  auto data = std::make_unique<gp::WeightDataT>();
  data->file = 0;
  data->offset = 3;
  data->bytes = 16;
  b.plan->buffers[w]->weight = std::move(data);
  auto file = std::make_unique<gp::WeightFileT>();
  file->path = "w.bin";
  file->bytes = 19;
  b.plan->files.push_back(std::move(file));
  b.dispatch("add", b.kernel("add", addKernel), {x, w}, y, four);
  b.options.weightFolder = folder;
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  HostTensor input = HostTensor::of<float>({4}, {10, 10, 10, 10});
  std::vector<HostTensor> outputs(1);
  ASSERT_OK((*executable)->run({&input, 1}, outputs));
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(11, 12, 13, 14));

  b.options.checkWeightHashes = true;
  b.plan->buffers[w]->weight->hash = 12345;
  EXPECT_THAT(b.load().status().message(), HasSubstr("checksum mismatch"));
  std::filesystem::resize_file(folder + "/w.bin", 10);
  Status truncated = b.load().status();
  EXPECT_EQ(truncated.code(), Code::WeightFile);
  EXPECT_THAT(truncated.message(), HasSubstr("has 10 bytes"));
  b.options.weightFolder = "/nowhere";
  EXPECT_THAT(b.load().status().message(), HasSubstr("'/nowhere/w.bin' cannot be opened"));
}

TEST(Executable, PrepareRunsOnceAtLoad) {
  static int calls = 0;
  calls = 0;
  PlanBuilder b;
  int four = b.constant(4), three = b.constant(3);
  int x = b.input("x", DType::F32, {four}), y = b.output("y", DType::F32, {four});
  int w = b.weight<float>("w", {4}, {1, 2, 3, 4});
  int folded = b.buffer(gp::BufferKind::Prepared, DType::F32, {four}, "folded");
  int tmp = b.temp(DType::F32, {four}, "prepareTemp");
  b.plan->buffers[tmp]->in_prepare = true;
  int counted = b.kernel("counted", [](void *const *buffers, const int64_t *scalars, GraphcKernelContext *context, int64_t begin, int64_t end) {
    ++calls;
    scaleKernel(buffers, scalars, context, begin, end);
  });
  for (auto [from, to] : {std::pair(w, tmp), std::pair(tmp, folded)}) {
    gp::DispatchT dispatch;
    dispatch.kernel = counted;
    dispatch.buffers = {from, to};
    dispatch.scalars = {three};
    dispatch.range = four;
    b.add(b.plan->prepare, "fold", std::move(dispatch), {from}, {to});
  }
  b.dispatch("add", b.kernel("add", addKernel), {x, folded}, y, four);
  auto executable = *b.load();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(executable->statistics().preparedBytes, 16);
  HostTensor input = HostTensor::of<float>({4}, {0, 0, 0, 1});
  for (int i = 0; i < 2; ++i) {
    std::vector<HostTensor> outputs(1);
    ASSERT_OK(executable->run({&input, 1}, outputs));
    EXPECT_THAT(outputs[0].values<float>(), ElementsAre(9, 18, 27, 37));
  }
  EXPECT_EQ(calls, 2);
}

TEST(Executable, CopiesFillsAndViews) {
  // y [2, 6] = concat(x^T as [2, 3], fill 7) by strided copies into views of y.
  PlanBuilder b;
  int two = b.constant(2), three = b.constant(3), six = b.constant(6), one = b.constant(1);
  int x = b.input("x", DType::F32, {three, two}), y = b.output("y", DType::F32, {two, six});
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(x, {two, three}, {one, two});
  copy.dst = PlanBuilder::operand(y, {two, three}, {six, one});
  b.add("transpose", std::move(copy), {x}, {y});
  gp::FillT fill;
  fill.dst = PlanBuilder::operand(y, {two, three}, {six, one}, three);
  fill.bits = std::bit_cast<uint32_t>(7.0f);
  b.add("fill", std::move(fill), {}, {y});
  auto executable = *b.load();
  HostTensor input = HostTensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  std::vector<HostTensor> outputs(1);
  ASSERT_OK(executable->run({&input, 1}, outputs));
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(1, 3, 5, 7, 7, 7, 2, 4, 6, 7, 7, 7));
}

TEST(Executable, LargeCopiesAreSharedOutWhateverTheBatch) {
  struct CountingPool final : ThreadPool {
    int runs = 0, chunks = 0;
    int concurrency() const override { return 2; }
    bool tryEnter() override { return true; }
    void leave() override {}
    void run(int count, Work work, void *argument) override {
      ++runs;
      chunks += count;
      for (int chunk = 0; chunk < count; ++chunk)
        work(argument, chunk, chunk % 2);
    }
  };
  // A piece of a concatenation along channels: rows of 32 among rows of 48, one image.
  PlanBuilder b;
  int one = b.constant(1), height = b.constant(33), width = b.constant(20), in = b.constant(32), out = b.constant(48), at = b.constant(16);
  int image = b.constant(33 * 20 * 48), row = b.constant(20 * 48);
  int x = b.input("x", DType::F32, {one, height, width, in}), y = b.output("y", DType::F32, {one, height, width, out});
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(x);
  copy.dst = PlanBuilder::operand(y, {one, height, width, in}, {image, row, out, one}, at);
  b.add("concat", std::move(copy), {x}, {y});
  auto pool = std::make_shared<CountingPool>();
  b.options.pool = pool;
  auto executable = *b.load();
  std::vector<float> values(33 * 20 * 32);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i + 1);
  HostTensor input = HostTensor::of<float>({1, 33, 20, 32}, std::span<const float>(values));
  std::vector<HostTensor> outputs(1);
  outputs[0] = *HostTensor::allocate(DType::F32, {1, 33, 20, 48});
  std::memset(outputs[0].raw(), 0, outputs[0].sizeBytes());
  ASSERT_OK(executable->run({&input, 1}, outputs));
  EXPECT_EQ(pool->runs, 1);
  EXPECT_EQ(pool->chunks, 2);
  auto got = outputs[0].values<float>();
  for (int64_t i = 0; i < 33 * 20; ++i)
    for (int64_t c = 0; c < 48; ++c)
      ASSERT_EQ(got[i * 48 + c], c < 16 ? 0.0f : values[i * 32 + c - 16]) << i << " " << c;
}

TEST(Executable, OperandsOutsideTheirBufferAreRefusedAtLoad) {
  PlanBuilder b;
  int four = b.constant(4), three = b.constant(3);
  int x = b.input("x", DType::F32, {four}), y = b.output("y", DType::F32, {four});
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(x, {four}, {three});
  copy.dst = PlanBuilder::operand(y);
  b.add("copy", std::move(copy), {x}, {y});
  Status status = b.load().status();
  EXPECT_EQ(status.code(), Code::PlanInvalid);
  EXPECT_THAT(status.message(), HasSubstr("touches elements 0..9 of 'x', which has 4"));
}

TEST(Executable, TemporariesOutsideTheWrittenArenaAreRefused) {
  PlanBuilder b;
  chain(b);
  b.plan->arena_bytes = 64;
  for (auto &buffer : b.plan->buffers)
    if (buffer->kind == gp::BufferKind::Temp)
      buffer->arena_offset = 48;
  EXPECT_THAT(b.load().status().message(), HasSubstr("lies at 48 + 32 bytes, outside the arena of 64"));
}

TEST(Executable, CancelledCallsStop) {
  PlanBuilder b;
  chain(b);
  auto executable = *b.load();
  std::atomic<bool> cancelled{true};
  RunOptions options;
  options.cancelled = &cancelled;
  HostTensor input = *HostTensor::allocate(DType::F32, {8});
  std::vector<HostTensor> outputs(1);
  Status status = executable->run({&input, 1}, outputs, options);
  EXPECT_EQ(status.code(), Code::Cancelled);
  EXPECT_THAT(status.message(), HasSubstr("before 'a'"));
}

TEST(Executable, ProfilesEveryCommand) {
  struct Sink : ProfileSink {
    std::vector<std::string> names;
    void command(int index, const gp::CommandT &command, int64_t start, int64_t end, int) override {
      EXPECT_LE(start, end);
      EXPECT_EQ(index, static_cast<int>(names.size()));
      names.push_back(command.name);
    }
  } sink;
  PlanBuilder b;
  chain(b);
  auto executable = *b.load();
  RunOptions options;
  options.profile = &sink;
  HostTensor input = *HostTensor::allocate(DType::F32, {8});
  std::vector<HostTensor> outputs(1);
  ASSERT_OK(executable->run({&input, 1}, outputs, options));
  EXPECT_THAT(sink.names, ElementsAre("a", "c", "d", "y"));
}

TEST(Executable, FlushesDenormalsOnlyWhenAsked) {
  PlanBuilder b;
  int one = b.constant(1), half = b.constant(1);
  int x = b.input("x", DType::F32, {one}), y = b.output("y", DType::F32, {one});
  b.dispatch("scale", b.kernel("scale", scaleKernel), {x}, y, one, {half});
  auto executable = *b.load();
  HostTensor input = HostTensor::of<float>({1}, {1e-40f});
  std::vector<HostTensor> outputs(1);
  ASSERT_OK(executable->run({&input, 1}, outputs));
  EXPECT_EQ(outputs[0].values<float>()[0], 1e-40f);
  RunOptions options;
  options.flushDenormals = true;
  ASSERT_OK(executable->run({&input, 1}, outputs, options));
  EXPECT_EQ(outputs[0].values<float>()[0], 0.0f);
  volatile float tiny = 1e-40f;
  EXPECT_GT(tiny * 1.0f, 0.0f) << "the caller's mode must be restored";
}

TEST(Executable, EightThreadsShareOneExecutable) {
  PlanBuilder b;
  int size = b.constant(20000), three = b.constant(3);
  int x = b.input("x", DType::F32, {size}), y = b.output("y", DType::F32, {size});
  int t = b.temp(DType::F32, {size}, "t");
  int add = b.kernel("add", addKernel), scale = b.kernel("scale", scaleKernel);
  b.dispatch("t", scale, {x}, t, size, {three}, 2);
  b.dispatch("y", add, {t, x}, y, size, {}, 2);
  b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = 2});
  auto executable = *b.load();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      HostTensor input = *HostTensor::allocate(DType::F32, {20000});
      std::vector<HostTensor> outputs(1);
      for (int round = 0; round < 50; ++round) {
        std::fill_n(input.data<float>(), 20000, static_cast<float>(thread * 100 + round));
        if (!executable->run({&input, 1}, outputs).ok())
          ++wrong;
        for (float value : outputs[0].values<float>())
          wrong += value != 4.0f * static_cast<float>(thread * 100 + round);
      }
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_LE(executable->statistics().contexts, 9);
}

} // namespace
