// graphc-cudasim as its users run it: exit codes, findings with source lines, results in .npy files.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

struct Outcome {
  int exitCode;
  std::string output;
  bool says(const std::string &text) const { return output.find(text) != std::string::npos; }
};

class Tool : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("graphc-cudasim-" + std::to_string(getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  static Outcome run(const std::string &arguments) {
    Outcome outcome{-1, ""};
    FILE *pipe = popen((GRAPHC_CUDASIM_TOOL " " + arguments + " 2>&1").c_str(), "r");
    std::array<char, 512> buffer;
    while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
      outcome.output.append(buffer.data(), count);
    outcome.exitCode = WEXITSTATUS(pclose(pipe));
    return outcome;
  }
  /// The floats of an .npy file, by hand: the reader under test is the tool's own.
  std::vector<float> floats(const std::string &name) {
    std::ifstream file(folder / name, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_GT(bytes.size(), 10u);
    size_t start = 10 + (uint8_t(bytes[8]) | uint8_t(bytes[9]) << 8);
    EXPECT_NE(bytes.find("'<f4'"), std::string::npos);
    std::vector<float> values((bytes.size() - start) / 4);
    std::memcpy(values.data(), bytes.data() + start, values.size() * 4);
    return values;
  }
  std::filesystem::path folder;
};

const char *const source = R"(extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
extern "C" __global__ void off_by_one(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    y[i] = 1;
}
extern "C" __global__ void neighbours(int *out) {
  __shared__ int row[64];
  row[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = row[63 - threadIdx.x];
}
template <typename T> __global__ void scale(T *x, T a) { x[threadIdx.x] *= a; }
)";

#define SKIP_WITHOUT_NVRTC(outcome)                                                                                  \
  if (outcome.exitCode == 3 && outcome.says("NVRTC was not found"))                                                  \
  GTEST_SKIP() << "NVRTC is not installed"

const char *const doublePtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p0, .param .u32 p1)
{
  .reg .pred %p; .reg .b32 %r<3>; .reg .f32 %f<2>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p, %r2, %r1;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  add.f32 %f1, %f1, %f1;
  st.global.f32 [%rd3], %f1;
done:
  ret;
}
)";

TEST_F(Tool, RunsPtxAndSavesTheResult) {
  std::string ptx = write("twice.ptx", doublePtx);
  Outcome outcome = run("run " + ptx + " --kernel twice --grid 1 --block 32 --arg 4x8xf32=iota --arg i32:32 --save 0=" +
                        (folder / "out.npy").string() + " --print 0");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(outcome.says("clean")) << outcome.output;
  EXPECT_TRUE(outcome.says("warp instructions")) << outcome.output;
  EXPECT_TRUE(outcome.says("argument 0 (4x8xf32=iota): 0 2 4 6")) << outcome.output;
  std::vector<float> values = floats("out.npy");
  ASSERT_EQ(values.size(), 32u);
  EXPECT_EQ(values[31], 62);
  // The saved file is input for the next run; the only kernel need not be named.
  outcome = run("run " + ptx + " --block 32 --arg @" + (folder / "out.npy").string() + " --arg i32:32 --save 0=" +
                (folder / "again.npy").string());
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_EQ(floats("again.npy")[31], 124);
}

TEST_F(Tool, FindingsExitFiveAndNameTheLine) {
  std::string ptx = write("twice.ptx", doublePtx);
  Outcome outcome = run("run " + ptx + " --kernel twice --block 32 --arg 31xf32=zero --arg i32:32");
  EXPECT_EQ(outcome.exitCode, 5) << outcome.output;
  EXPECT_TRUE(outcome.says("out-of-bounds")) << outcome.output;
  EXPECT_TRUE(outcome.says("ld.global.f32")) << outcome.output;
  EXPECT_TRUE(outcome.says("thread (31,0,0)")) << outcome.output;
  EXPECT_FALSE(outcome.says("clean")) << outcome.output;
}

TEST_F(Tool, TheStackHasAnOption) {
  std::string ptx = write("stack.ptx", R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry stack(.param .u64 bytes) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [bytes];
  alloca.u64 %rd2, %rd1;
  st.local.u64 [%rd2], %rd1;
  ret;
}
)");
  Outcome outcome = run("run " + ptx + " --arg i64:4000");
  EXPECT_EQ(outcome.exitCode, 5) << outcome.output;
  EXPECT_TRUE(outcome.says("stack overflow")) << outcome.output;
  EXPECT_EQ(run("run " + ptx + " --arg i64:4000 --stack 8KiB").exitCode, 0);
}

TEST_F(Tool, CommandLineErrorsExitTwo) {
  std::string ptx = write("twice.ptx", doublePtx);
  for (const auto &[arguments, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "verb"},
           {"fly " + ptx, "'fly' is no verb"},
           {"run", "no file"},
           {"run " + ptx + " --grid", "needs a value"},
           {"run " + ptx + " --grid 1,2,3,4", "X[,Y,Z]"},
           {"run " + ptx + " --colour red", "no option"},
           {"run " + ptx + " --arg f99:1", "expected"},
           {"run " + ptx + " --arg i32:five", "not a number"},
           {"run " + ptx + " --arg 3xf32=full", "contents"},
           {"run " + ptx + " --arg 3xf32=zero --save 1=x.npy", "is no buffer"},
           {"run " + ptx + " --arg 3xf32=zero", "takes 2 arguments, 1 were given"},
           {"run " + ptx + " --arg 3xf32=zero --arg i64:3", "has 8 bytes, the kernel's parameter 4"},
           {"run " + ptx + " --check everything", "check takes"},
           {"run " + ptx + " --gpu voodoo", "gpu takes"}}) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exitCode, 2) << arguments << "\n" << outcome.output;
    EXPECT_TRUE(outcome.says(says)) << arguments << "\n" << outcome.output;
  }
}

TEST_F(Tool, BadInputExitsOne) {
  EXPECT_EQ(run("run no-such-file.ptx --arg i32:1").exitCode, 1);
  std::string broken = write("broken.ptx", ".version 8.0\n.target sm_80\n.visible .entry k() { frobnicate.u32 %r1; }\n");
  Outcome outcome = run("run " + broken + " --kernel k");
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_TRUE(outcome.says("line")) << outcome.output;
  std::string ptx = write("twice.ptx", doublePtx);
  outcome = run("run " + ptx + " --kernel thrice");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_TRUE(outcome.says("there is no kernel 'thrice'")) << outcome.output;
  EXPECT_EQ(run("run " + ptx + " --block 2000 --arg null --arg i32:0").exitCode, 1);
}

TEST_F(Tool, MissingLibrariesExitThree) {
  std::string ptx = write("twice.ptx", doublePtx), cu = write("a.cu", source);
  EXPECT_EQ(run("run " + ptx + " --simulator no-such-library.so").exitCode, 3);
  EXPECT_EQ(run("run " + cu + " --kernel saxpy --nvrtc no-such-library.so").exitCode, 3);
}

TEST_F(Tool, HelpIsAManual) {
  Outcome outcome = run("--help");
  EXPECT_EQ(outcome.exitCode, 0);
  for (const char *word : {"--kernel", "--arg", "--check", "--save", "exit status", "example"})
    EXPECT_TRUE(outcome.says(word)) << word;
}

TEST_F(Tool, CompilesCudaAndShowsSourceLines) {
  std::string cu = write("kernels.cu", source);
  Outcome outcome = run("run " + cu +
                        " --kernel saxpy --grid 4 --block 256 --arg 1000xf32=iota --arg 1000xf32=iota --arg f32:2 "
                        "--arg i32:1000 --save 1=" +
                        (folder / "y.npy").string());
  SKIP_WITHOUT_NVRTC(outcome);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_EQ(floats("y.npy")[999], 2997);
  outcome = run("run " + cu + " --kernel off_by_one --grid 4 --block 256 --arg 1000xf32=zero --arg i32:1000");
  EXPECT_EQ(outcome.exitCode, 5) << outcome.output;
  EXPECT_TRUE(outcome.says("kernels.cu:9 |     y[i] = 1;")) << outcome.output;
  outcome = run("run " + cu + " --kernel 'scale<double>' --block 8 --arg 8xf64=iota --arg f64:0.5 --print 0");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(outcome.says("0 0.5 1 1.5 2")) << outcome.output;
  std::string wrong = write("wrong.cu", "extern \"C\" __global__ void k() { nonsense; }\n");
  outcome = run("run " + wrong + " --kernel k");
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_TRUE(outcome.says("nonsense")) << outcome.output;
  outcome = run("ptx " + cu);
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_TRUE(outcome.says(".entry saxpy")) << outcome.output;
}

TEST_F(Tool, RaceCheckFindsAMissingBarrier) {
  std::string cu = write("kernels.cu", source);
  std::string command = "run " + cu + " --kernel neighbours --block 64 --arg 64xi32=zero";
  Outcome outcome = run(command);
  SKIP_WITHOUT_NVRTC(outcome);
  EXPECT_EQ(outcome.exitCode, 0) << "races are an option: " << outcome.output;
  outcome = run(command + " --check races");
  EXPECT_EQ(outcome.exitCode, 5) << outcome.output;
  EXPECT_TRUE(outcome.says("race")) << outcome.output;
  outcome = run("run " + cu + " --kernel 'scale<float>' --block 8 --arg 8xf32=uninit --arg f32:2 --print 0 "
                              "--check uninitialised");
  EXPECT_EQ(outcome.exitCode, 5) << outcome.output;
}

} // namespace
