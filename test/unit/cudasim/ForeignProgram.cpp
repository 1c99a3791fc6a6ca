// A program that knows nothing of the simulator: opens libcuda.so.1 and asks it for functions the modern way. Its
// options come through GRAPHC_CUDASIM. Prints what it found; with "race" it forgets to wait for its other stream.
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

static const char *const ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry set(.param .u64 p0, .param .u32 p1)
{
  .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

#define CHECK(call)                                                                                                  \
  if (CUresult status = (call)) {                                                                                    \
    std::printf("%s: %d\n", #call, int(status));                                                                     \
    return 1;                                                                                                        \
  }

int main(int argc, char **argv) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  auto getProcAddress = reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(library, "cuGetProcAddress_v2"));
#define LOAD(name)                                                                                                   \
  decltype(&name) p_##name = nullptr;                                                                                \
  CUdriverProcAddressQueryResult status_##name;                                                                      \
  CHECK(getProcAddress(#name, reinterpret_cast<void **>(&p_##name), 12000, 0, &status_##name))
  LOAD(cuInit)
  LOAD(cuDeviceGetName)
  LOAD(cuDeviceGetCount)
  LOAD(cuDevicePrimaryCtxRetain)
  LOAD(cuCtxSetCurrent)
  LOAD(cuModuleLoadData)
  LOAD(cuModuleGetFunction)
  LOAD(cuLaunchKernel)
  LOAD(cuMemAlloc)
  LOAD(cuMemcpyDtoH)
  LOAD(cuStreamCreate)
  LOAD(cuCtxSynchronize)
  CHECK(p_cuInit(0))
  int count = 0;
  CHECK(p_cuDeviceGetCount(&count))
  char name[100];
  CHECK(p_cuDeviceGetName(name, sizeof name, 0))
  std::printf("%d x %s\n", count, name);
  CUcontext context;
  CHECK(p_cuDevicePrimaryCtxRetain(&context, 0))
  CHECK(p_cuCtxSetCurrent(context))
  CUmodule module;
  CHECK(p_cuModuleLoadData(&module, ptx))
  CUfunction function;
  CHECK(p_cuModuleGetFunction(&function, module, "set"))
  CUdeviceptr data;
  CHECK(p_cuMemAlloc(&data, 128))
  CUstream a, b;
  CHECK(p_cuStreamCreate(&a, CU_STREAM_NON_BLOCKING))
  CHECK(p_cuStreamCreate(&b, CU_STREAM_NON_BLOCKING))
  unsigned value = 42;
  void *params[] = {&data, &value};
  CHECK(p_cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, a, params, nullptr))
  if (argc > 1 && !std::strcmp(argv[1], "race"))
    CHECK(p_cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, b, params, nullptr))
  CHECK(p_cuCtxSynchronize())
  unsigned result[32];
  CHECK(p_cuMemcpyDtoH(result, data, sizeof result))
  std::printf("%u %u\n", result[0], result[31]);
  return 0;
}
