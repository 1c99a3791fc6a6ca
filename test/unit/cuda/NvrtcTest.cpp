#include "runtime/devices/cuda/Nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace graphc;
using testing::HasSubstr;

namespace {

class NvrtcLibrary : public testing::Test {
protected:
  void SetUp() override {
    auto opened = cuda::Nvrtc::open(cuda::Nvrtc::candidates({}));
    if (!opened.ok())
      GTEST_SKIP() << opened.status().message();
    nvrtc = *opened;
  }
  std::shared_ptr<const cuda::Nvrtc> nvrtc;
};

TEST_F(NvrtcLibrary, CompilesToPtxAndCubin) {
  std::vector<std::string> options = {"--gpu-architecture=sm_80", "--fmad=false"};
  auto code = nvrtc->compile("extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }", "twice.cu", options);
  ASSERT_TRUE(code.ok()) << code.status().str();
  EXPECT_THAT(code->ptx, HasSubstr(".visible .entry twice("));
  EXPECT_GT(code->cubin.size(), 500u);
  options[0] = "--gpu-architecture=compute_80";
  code = nvrtc->compile("extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }", "twice.cu", options);
  ASSERT_TRUE(code.ok()) << code.status().str();
  EXPECT_TRUE(code->cubin.empty()) << "virtual architectures have no machine code";
}

TEST_F(NvrtcLibrary, ErrorsCarryTheLog) {
  auto code = nvrtc->compile("extern \"C\" __global__ void k(float *x) { x[0] = undeclared; }", "wrong.cu",
                             std::vector<std::string>{"--gpu-architecture=compute_80"});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), Code::CompileFailed);
  EXPECT_THAT(code.status().message(), HasSubstr("wrong.cu: nvrtcCompileProgram failed: NVRTC_ERROR_COMPILATION (6)"));
  EXPECT_THAT(code.status().message(), HasSubstr("identifier \"undeclared\" is undefined"));
}

TEST_F(NvrtcLibrary, KnowsItsVersionAndArchitectures) {
  EXPECT_GE(nvrtc->major(), cuda::Nvrtc::kMinimumMajor);
  EXPECT_THAT(nvrtc->architectures(), testing::Contains(80));
}

TEST(Nvrtc, WhereThereIsNoneTheRemedyIsNamed) {
  auto opened = cuda::Nvrtc::open(std::vector<std::string>{"libnvrtc-none.so", "libm.so.6"});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::DeviceUnavailable);
  EXPECT_THAT(opened.status().message(), HasSubstr("libnvrtc-none.so"));
  EXPECT_THAT(opened.status().message(), HasSubstr("libm.so.6 lacks nvrtcVersion"));
  EXPECT_THAT(opened.status().message(), HasSubstr("nvidia-cuda-nvrtc"));
}

} // namespace
