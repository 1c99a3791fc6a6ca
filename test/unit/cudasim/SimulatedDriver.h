// The simulator as a program sees it: opened by name, called through its exported driver API only.
#pragma once

#include "runtime/cudasim/api/CudaHeader.h"
#include "runtime/cudasim/cudasim.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace graphc::cudasim::test {

inline void *library() {
  static void *handle = [] {
    void *opened = dlopen(GRAPHC_CUDASIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return opened;
  }();
  return handle;
}

template <typename Function>
Function *symbol(const char *name) {
  auto *found = reinterpret_cast<Function *>(dlsym(library(), name));
  if (!found) {
    std::fprintf(stderr, "%s is not exported\n", name);
    std::abort();
  }
  return found;
}

/// CU(cuMemAlloc_v2)(&pointer, 64): the exported function of that ABI name.
#define CU(name) (::graphc::cudasim::test::symbol<std::remove_pointer_t<decltype(&::name)>>(#name))

inline std::string nameOf(CUresult code) {
  const char *text = nullptr;
  return CU(cuGetErrorName)(code, &text) == CUDA_SUCCESS ? text : "code " + std::to_string(int(code));
}

#define EXPECT_CU(expected, call) EXPECT_EQ(::graphc::cudasim::test::nameOf(expected), ::graphc::cudasim::test::nameOf(call))
#define ASSERT_CU(expected, call) ASSERT_EQ(::graphc::cudasim::test::nameOf(expected), ::graphc::cudasim::test::nameOf(call))
#define OK(call) ASSERT_CU(CUDA_SUCCESS, call)

/// Kernels over int arrays: add_one(p, n), fill(p, n, v), scale(p, n, v), copy(d, s, n), count_up(p), trap_now().
inline const char *const kernelsPtx = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .global .align 4 .u32 table[4];

.visible .entry add_one(.param .u64 p0, .param .u32 p1)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.s32 %p, %r2, %r1;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.s32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r5, [%rd3];
  add.s32 %r5, %r5, 1;
  st.global.u32 [%rd3], %r5;
done:
  ret;
}

.visible .entry fill(.param .u64 p0, .param .u32 p1, .param .u32 p2)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  ld.param.u32 %r5, [p2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.s32 %p, %r2, %r1;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.s32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r5;
done:
  ret;
}

.visible .entry scale(.param .u64 p0, .param .u32 p1, .param .u32 p2)
{
  .reg .pred %p; .reg .b32 %r<7>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  ld.param.u32 %r5, [p2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.s32 %p, %r2, %r1;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.s32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  mul.lo.s32 %r6, %r6, %r5;
  st.global.u32 [%rd3], %r6;
done:
  ret;
}

.visible .entry copy(.param .u64 p0, .param .u64 p1, .param .u32 p2)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [p0];
  ld.param.u64 %rd4, [p1];
  ld.param.u32 %r1, [p2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.s32 %p, %r2, %r1;
  @%p bra done;
  mul.wide.s32 %rd2, %r2, 4;
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd4, %rd4;
  add.s64 %rd3, %rd1, %rd2;
  add.s64 %rd5, %rd4, %rd2;
  ld.global.u32 %r5, [%rd5];
  st.global.u32 [%rd3], %r5;
done:
  ret;
}

.visible .entry count_up(.param .u64 p0)
{
  .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p0];
  cvta.to.global.u64 %rd1, %rd1;
  atom.global.add.u32 %r1, [%rd1], 1;
  ret;
}

.visible .entry trap_now()
{
  trap;
  ret;
}
)";

/// Starts the simulator with `options`, one context current and the kernels loaded.
class Simulator : public ::testing::Test {
protected:
  void begin(const std::string &options) {
    symbol<void()>("graphcCudasimReset")();
    ASSERT_EQ(symbol<int(const char *)>("graphcCudasimConfigure")(("report=none,idle=0," + options).c_str()), 0)
        << symbol<const char *()>("graphcCudasimError")();
    OK(CU(cuInit)(0));
    OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    OK(CU(cuCtxSetCurrent)(context));
    OK(CU(cuModuleLoadData)(&module, kernelsPtx));
    functions.clear();
  }
  void SetUp() override { begin(""); }
  void TearDown() override { symbol<void()>("graphcCudasimReset")(); }

  CUfunction function(const char *name) {
    CUfunction &result = functions[name];
    if (!result)
      EXPECT_CU(CUDA_SUCCESS, CU(cuModuleGetFunction)(&result, module, name));
    return result;
  }
  CUdeviceptr alloc(size_t ints) {
    CUdeviceptr result = 0;
    EXPECT_CU(CUDA_SUCCESS, CU(cuMemAlloc_v2)(&result, ints * 4));
    return result;
  }
  int *pinned(size_t ints) {
    void *result = nullptr;
    EXPECT_CU(CUDA_SUCCESS, CU(cuMemHostAlloc)(&result, ints * 4, 0));
    return static_cast<int *>(result);
  }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream result = nullptr;
    EXPECT_CU(CUDA_SUCCESS, CU(cuStreamCreate)(&result, flags));
    return result;
  }
  CUevent event() {
    CUevent result = nullptr;
    EXPECT_CU(CUDA_SUCCESS, CU(cuEventCreate)(&result, 0));
    return result;
  }
  template <typename... Args>
  CUresult launch(const char *name, CUstream stream, int n, Args... args) {
    void *params[] = {const_cast<void *>(static_cast<const void *>(&args))..., nullptr};
    return CU(cuLaunchKernel)(function(name), unsigned(n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, nullptr);
  }
  std::vector<int> read(CUdeviceptr from, size_t ints) {
    std::vector<int> result(ints);
    EXPECT_CU(CUDA_SUCCESS, CU(cuMemcpyDtoH_v2)(result.data(), from, ints * 4));
    return result;
  }

  struct Report {
    std::string kind, message;
    bool isError;
  };
  static std::vector<Report> reports() {
    const GraphcCudasimReport *entries = nullptr;
    size_t count = symbol<size_t(const GraphcCudasimReport **)>("graphcCudasimReports")(&entries);
    std::vector<Report> result;
    for (size_t i = 0; i < count; ++i)
      result.push_back({entries[i].kind, entries[i].message, entries[i].isError != 0});
    return result;
  }
  static size_t errors(const std::string &kind = "") {
    size_t count = 0;
    for (const Report &report : reports())
      count += report.isError && (kind.empty() || report.kind == kind);
    return count;
  }
  static std::string allReports() {
    std::string text;
    for (const Report &report : reports())
      text += report.kind + ": " + report.message + "\n";
    return text;
  }

  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::map<std::string, CUfunction> functions;
};

} // namespace graphc::cudasim::test
