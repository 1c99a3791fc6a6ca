// The driver API's behaviour one call at a time: results, error codes, what is refused.
#include "SimulatedDriver.h"

#include <fstream>
#include <numeric>
#include <set>
#include <thread>

using namespace graphc::cudasim::test;

namespace {

class DriverApi : public Simulator {};

TEST(DriverApiStart, NothingWorksBeforeInit) {
  symbol<void()>("graphcCudasimReset")();
  int count = 0;
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, CU(cuDeviceGetCount)(&count));
  CUdeviceptr pointer;
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, CU(cuMemAlloc_v2)(&pointer, 16));
  int version = 0;
  EXPECT_CU(CUDA_SUCCESS, CU(cuDriverGetVersion)(&version));
  EXPECT_EQ(version, 13000);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuInit)(1));
}

TEST(DriverApiStart, EveryNameOfTheHeaderIsExported) {
  std::ifstream names(GRAPHC_CUDASIM_NAMES);
  std::string name;
  size_t count = 0;
  while (std::getline(names, name)) {
    EXPECT_NE(dlsym(library(), name.c_str()), nullptr) << name;
    ++count;
  }
  EXPECT_GT(count, 600u);
}

TEST(DriverApiStart, DevicesFollowTheOptions) {
  auto configure = symbol<int(const char *)>("graphcCudasimConfigure");
  symbol<void()>("graphcCudasimReset")();
  EXPECT_EQ(configure("devices=3,cc=9.0,memory=512MiB,report=none"), 0);
  OK(CU(cuInit)(0));
  int count = 0, major = 0;
  OK(CU(cuDeviceGetCount)(&count));
  EXPECT_EQ(count, 3);
  OK(CU(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
  EXPECT_EQ(major, 9);
  size_t bytes = 0;
  OK(CU(cuDeviceTotalMem_v2)(&bytes, 1));
  EXPECT_EQ(bytes, size_t(512) << 20);
  char name[64];
  OK(CU(cuDeviceGetName)(name, sizeof name, 0));
  EXPECT_NE(std::string(name).find("Simulated"), std::string::npos);
  CUdevice device;
  EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, CU(cuDeviceGet)(&device, 3));
  // Too late for what shapes devices; the rest still changes.
  EXPECT_EQ(configure("devices=1"), 2);
  EXPECT_EQ(configure("seed=4"), 0);
  EXPECT_EQ(configure("seed=four"), 1);
  EXPECT_NE(std::string(symbol<const char *()>("graphcCudasimError")()).find("seed takes a number"), std::string::npos);
  EXPECT_EQ(configure("colour=red"), 1);
  symbol<void()>("graphcCudasimReset")();
  EXPECT_EQ(configure("devices=0"), 0);
  EXPECT_CU(CUDA_ERROR_NO_DEVICE, CU(cuInit)(0));
}

TEST_F(DriverApi, ErrorsHaveNamesAndTexts) {
  const char *text = nullptr;
  OK(CU(cuGetErrorName)(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION");
  OK(CU(cuGetErrorString)(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ(text, "invalid argument");
  OK(CU(cuGetErrorString)(CUDA_ERROR_TOO_MANY_PEERS, &text));
  EXPECT_STREQ(text, "too many peers");
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuGetErrorName)(CUresult(12345), &text));
  EXPECT_EQ(text, nullptr);
}

TEST_F(DriverApi, ProcAddressChoosesByVersionAndStreamFlag) {
  auto get = CU(cuGetProcAddress_v2);
  void *pointer = nullptr;
  CUdriverProcAddressQueryResult status;
  OK(get("cuMemAlloc", &pointer, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuMemAlloc_v2"));
  OK(get("cuMemAlloc", &pointer, 2000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuMemAlloc"));
  OK(get("cuStreamGetCaptureInfo", &pointer, 11030, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuStreamGetCaptureInfo_v2"));
  OK(get("cuGraphInstantiate", &pointer, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuGraphInstantiateWithFlags"));
  OK(get("cuLaunchKernel", &pointer, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuLaunchKernel_ptsz"));
  OK(get("cuMemcpyHtoD", &pointer, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuMemcpyHtoD_v2_ptds"));
  OK(get("cuMemAlloc", &pointer, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
  EXPECT_EQ(pointer, dlsym(library(), "cuMemAlloc_v2")) << "no per-thread form: the plain one";
  OK(get("cuGraphAddNode", &pointer, 10000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(pointer, nullptr);
  OK(get("cuNoSuchThing", &pointer, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, get("cuMemAlloc", &pointer, 13010, 0, &status));
}

TEST_F(DriverApi, WhatIsMissingSaysSoAndIsCounted) {
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR description = {};
  EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, CU(cuArrayCreate_v2)(&array, &description));
  EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, CU(cuArrayCreate_v2)(&array, &description));
  const void *table = nullptr;
  CUuuid id = {};
  EXPECT_CU(CUDA_ERROR_NOT_FOUND, CU(cuGetExportTable)(&table, &id));
  const GraphcCudasimCall *calls = nullptr;
  size_t count = symbol<size_t(const GraphcCudasimCall **)>("graphcCudasimUnsupportedCalls")(&calls);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(calls[0].name, "cuArrayCreate_v2");
  EXPECT_EQ(calls[0].count, 2u);
  EXPECT_STREQ(calls[1].name, "cuGetExportTable");
}

TEST_F(DriverApi, ContextStackAndPrimaryCounts) {
  CUcontext second = nullptr, current = nullptr, popped = nullptr;
  OK(CU(cuCtxCreate_v4)(&second, nullptr, 0, 0));
  OK(CU(cuCtxGetCurrent)(&current));
  EXPECT_EQ(current, second);
  OK(CU(cuCtxPopCurrent_v2)(&popped));
  EXPECT_EQ(popped, second);
  OK(CU(cuCtxGetCurrent)(&current));
  EXPECT_EQ(current, context);
  OK(CU(cuCtxPushCurrent_v2)(second));
  OK(CU(cuCtxDestroy_v2)(second));
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxPushCurrent_v2)(second));
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxDestroy_v2)(context)) << "a primary context is released, not destroyed";
  CUcontext again = nullptr;
  OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  EXPECT_EQ(again, context);
  OK(CU(cuDevicePrimaryCtxRelease_v2)(0));
  unsigned flags;
  int active;
  OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 1);
  OK(CU(cuDevicePrimaryCtxRelease_v2)(0));
  OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 0);
  CUdeviceptr pointer;
  EXPECT_CU(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuMemAlloc_v2)(&pointer, 4));
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, CU(cuDevicePrimaryCtxRelease_v2)(0));
}

TEST_F(DriverApi, AContextIsCurrentPerThread) {
  CUcontext seen = context;
  CUresult status = CUDA_SUCCESS;
  std::thread([&] {
    CU(cuCtxGetCurrent)(&seen);
    CUdeviceptr pointer;
    status = CU(cuMemAlloc_v2)(&pointer, 4);
  }).join();
  EXPECT_EQ(seen, nullptr);
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, status);
}

TEST_F(DriverApi, LimitsAndPriorities) {
  size_t value = 0;
  OK(CU(cuCtxGetLimit)(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 1024u);
  auto configure = symbol<int(const char *)>("graphcCudasimConfigure");
  EXPECT_EQ(configure("stack=2KiB"), 0);
  EXPECT_EQ(configure("stack=1MiB"), 1);
  EXPECT_EQ(configure("level=i386"), 1);
  OK(CU(cuCtxGetLimit)(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 2048u);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 1 << 20));
  OK(CU(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 4096));
  OK(CU(cuCtxGetLimit)(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 4096u);
  EXPECT_CU(CUDA_ERROR_UNSUPPORTED_LIMIT, CU(cuCtxSetLimit)(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 3));
  int least = 1, greatest = 1;
  OK(CU(cuCtxGetStreamPriorityRange)(&least, &greatest));
  EXPECT_LT(greatest, least);
  CUstream high;
  OK(CU(cuStreamCreateWithPriority)(&high, CU_STREAM_NON_BLOCKING, -100));
  int priority = 0;
  OK(CU(cuStreamGetPriority)(high, &priority));
  EXPECT_EQ(priority, greatest);
}

// ------------------------------------------------------------------------------------------------ memory

TEST_F(DriverApi, AllocationErrorsAndAccounting) {
  CUdeviceptr pointer = 0, base = 0;
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemAlloc_v2)(&pointer, 0));
  EXPECT_CU(CUDA_ERROR_OUT_OF_MEMORY, CU(cuMemAlloc_v2)(&pointer, size_t(1) << 40));
  size_t before, after, total, size;
  OK(CU(cuMemGetInfo_v2)(&before, &total));
  OK(CU(cuMemAlloc_v2)(&pointer, 1 << 20));
  EXPECT_EQ(pointer % 256, 0u);
  OK(CU(cuMemGetInfo_v2)(&after, &total));
  EXPECT_GE(before - after, size_t(1) << 20);
  OK(CU(cuMemGetAddressRange_v2)(&base, &size, pointer + 100));
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(size, size_t(1) << 20);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemFree_v2)(pointer + 4));
  OK(CU(cuMemFree_v2)(pointer));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemFree_v2)(pointer)) << "freed twice";
  EXPECT_EQ(errors("invalid-free"), 2u);
  OK(CU(cuMemGetInfo_v2)(&after, &total));
  EXPECT_EQ(before, after);
  OK(CU(cuMemFree_v2)(0));
}

TEST_F(DriverApi, PointerAttributes) {
  CUdeviceptr device = alloc(16);
  int *host = pinned(16);
  int type = 0, ordinal = -1;
  OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 4));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(host)));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  OK(CU(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
  EXPECT_EQ(ordinal, 0);
  int local = 0;
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
            CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(&local)));
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  size_t size = 1;
  void *out[] = {&type, &size};
  OK(CU(cuPointerGetAttributes)(2, wanted, out, CUdeviceptr(&local)));
  EXPECT_EQ(type, 0);
  EXPECT_EQ(size, 0u);
  CUdeviceptr mapped = 0;
  OK(CU(cuMemHostGetDevicePointer_v2)(&mapped, host, 0));
  EXPECT_EQ(mapped, CUdeviceptr(host));
}

TEST_F(DriverApi, HostRegistration) {
  std::vector<int> memory(1000);
  OK(CU(cuMemHostRegister_v2)(memory.data(), 4000, 0));
  EXPECT_CU(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CU(cuMemHostRegister_v2)(memory.data() + 10, 40, 0));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemFreeHost)(memory.data()));
  OK(CU(cuMemHostUnregister)(memory.data()));
  EXPECT_CU(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CU(cuMemHostUnregister)(memory.data()));
}

TEST_F(DriverApi, CopiesAndFills) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 7);
  CUdeviceptr a = alloc(1000), b = alloc(1000);
  OK(CU(cuMemcpyHtoD_v2)(a, values.data(), 4000));
  OK(CU(cuMemcpyDtoD_v2)(b, a, 4000));
  EXPECT_EQ(read(b, 1000), values);
  OK(CU(cuMemsetD32_v2)(b + 40, 5, 100));
  OK(CU(cuMemsetD16_v2)(b, 0x0102, 2));
  OK(CU(cuMemsetD8_v2)(b + 4, 0xff, 4));
  std::vector<int> expected = values;
  std::fill(expected.begin() + 10, expected.begin() + 110, 5);
  expected[0] = 0x01020102;
  expected[1] = -1;
  EXPECT_EQ(read(b, 1000), expected);
  OK(CU(cuMemcpy)(a, b, 4000));
  EXPECT_EQ(read(a, 1000), expected);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyHtoD_v2)(a + 4, values.data(), 4000)) << "one int too many";
  EXPECT_EQ(errors("out-of-bounds"), 1u);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyHtoD_v2)(12345, values.data(), 4));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD32_v2)(a + 2, 1, 1)) << "misaligned";
  OK(CU(cuMemcpyDtoH_v2)(values.data(), a, 0));
}

TEST_F(DriverApi, PitchedCopies) {
  // A 3×5-int window moved between two pitches, then back out of a 3-D block.
  std::vector<int> source(8 * 4), result(6 * 3, -1);
  std::iota(source.begin(), source.end(), 0);
  size_t pitch = 0;
  CUdeviceptr device = 0;
  OK(CU(cuMemAllocPitch_v2)(&device, &pitch, 5 * 4, 3, 4));
  EXPECT_EQ(pitch, 512u);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source.data();
  copy.srcPitch = 8 * 4;
  copy.srcXInBytes = 4;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 20;
  copy.Height = 3;
  OK(CU(cuMemcpy2D_v2)(&copy));
  CUDA_MEMCPY3D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = device;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = result.data();
  back.dstPitch = 6 * 4;
  back.WidthInBytes = 20;
  back.Height = 3;
  back.Depth = 1;
  OK(CU(cuMemcpy3D_v2)(&back));
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 6; ++x)
      EXPECT_EQ(result[y * 6 + x], x == 5 ? -1 : (y + 1) * 8 + x + 1);
  copy.srcPitch = 16;
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpy2D_v2)(&copy)) << "rows overlap";
  OK(CU(cuMemsetD2D32_v2)(device, pitch, 9, 5, 3));
  OK(CU(cuMemcpy3D_v2)(&back));
  EXPECT_EQ(result[12], 9);
  EXPECT_EQ(result[17], -1);
}

TEST_F(DriverApi, MemoryPools) {
  CUmemoryPool pool = nullptr;
  OK(CU(cuDeviceGetDefaultMemPool)(&pool, 0));
  CUstream s = stream();
  CUdeviceptr a = 0;
  OK(CU(cuMemAllocAsync)(&a, 4096, s));
  cuuint64_t used = 0;
  OK(CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 4096u);
  OK(launch("fill", s, 1024, a, 1024, 3));
  OK(CU(cuMemFreeAsync)(a, s));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemFreeAsync)(a, s)) << "its release is queued";
  OK(CU(cuStreamSynchronize)(s));
  OK(CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 0u);
  EXPECT_EQ(errors("stream-race"), 0u) << allReports();
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool own = nullptr;
  OK(CU(cuMemPoolCreate)(&own, &properties));
  OK(CU(cuMemAllocFromPoolAsync)(&a, 64, own, s));
  OK(CU(cuMemPoolDestroy)(own));
  OK(CU(cuMemFreeAsync)(a, s));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuMemPoolDestroy)(pool)) << "the default pool stays";
}

TEST_F(DriverApi, LeaksAreReportedWhenTheContextEnds) {
  alloc(100);
  pinned(10);
  OK(CU(cuDevicePrimaryCtxRelease_v2)(0));
  auto all = reports();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, "leak");
  EXPECT_FALSE(all[0].isError);
  EXPECT_NE(all[0].message.find("2 allocations (440 bytes)"), std::string::npos) << all[0].message;
}

TEST_F(DriverApi, PeersNeedPermission) {
  begin("devices=2");
  CUcontext second = nullptr;
  OK(CU(cuDevicePrimaryCtxRetain)(&second, 1));
  CUdeviceptr here = alloc(256), there = 0;
  OK(CU(cuCtxPushCurrent_v2)(second));
  OK(CU(cuMemAlloc_v2)(&there, 1024));
  OK(CU(cuMemsetD32_v2)(there, 11, 256));
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuCtxPopCurrent_v2)(nullptr));
  OK(CU(cuMemcpyPeer)(here, context, there, second, 1024));
  EXPECT_EQ(read(here, 256), std::vector<int>(256, 11));
  int can = 0;
  OK(CU(cuDeviceCanAccessPeer)(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_CU(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CU(cuCtxDisablePeerAccess)(second));
  OK(CU(cuCtxEnablePeerAccess)(second, 0));
  EXPECT_CU(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CU(cuCtxEnablePeerAccess)(second, 0));
  OK(launch("add_one", nullptr, 256, there, 256));
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(read(there, 256), std::vector<int>(256, 12));
  OK(CU(cuCtxDisablePeerAccess)(second));
  OK(launch("add_one", nullptr, 256, there, 256));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
}

// ------------------------------------------------------------------------------------------------ modules, launches

TEST_F(DriverApi, ModulesAndWhatTheyRefuse) {
  CUfunction f;
  EXPECT_CU(CUDA_ERROR_NOT_FOUND, CU(cuModuleGetFunction)(&f, module, "nothing"));
  CUdeviceptr table = 0;
  size_t bytes = 0;
  OK(CU(cuModuleGetGlobal_v2)(&table, &bytes, module, "table"));
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(read(table, 4), std::vector<int>(4, 0));
  OK(launch("add_one", nullptr, 4, table, 4));
  EXPECT_EQ(read(table, 4), std::vector<int>(4, 1));

  CUmodule other = nullptr;
  std::string above = kernelsPtx;
  above.replace(above.find("sm_80"), 5, "sm_90");
  EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, CU(cuModuleLoadData)(&other, above.c_str()));
  char log[200] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  EXPECT_CU(CUDA_ERROR_INVALID_PTX, CU(cuModuleLoadDataEx)(&other, "this is no PTX", 2, options, values));
  EXPECT_NE(std::string(log).find("line 1"), std::string::npos) << log;
  EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, CU(cuModuleLoadData)(&other, "\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0\0"));
  EXPECT_CU(CUDA_ERROR_FILE_NOT_FOUND, CU(cuModuleLoad)(&other, "no-such-file.ptx"));
  f = function("add_one");
  OK(CU(cuModuleUnload)(module));
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, CU(cuModuleGetFunction)(&f, module, "add_one"));
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, CU(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

TEST_F(DriverApi, Libraries) {
  CUlibrary loaded = nullptr;
  OK(CU(cuLibraryLoadData)(&loaded, kernelsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  OK(CU(cuLibraryGetKernel)(&kernel, loaded, "fill"));
  EXPECT_CU(CUDA_ERROR_NOT_FOUND, CU(cuLibraryGetKernel)(&kernel, loaded, "nothing"));
  unsigned count = 0;
  OK(CU(cuLibraryGetKernelCount)(&count, loaded));
  EXPECT_EQ(count, 6u);
  CUdeviceptr data = alloc(64);
  int n = 64, value = 21;
  void *params[] = {&data, &n, &value};
  // A kernel may stand where a function is expected.
  OK(CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
  EXPECT_EQ(read(data, 64), std::vector<int>(64, 21));
  OK(CU(cuLibraryUnload)(loaded));
}

TEST_F(DriverApi, LaunchShapesAndParameters) {
  CUdeviceptr data = alloc(256);
  int n = 256, value = 6;
  void *params[] = {&data, &n, &value};
  auto go = [&](unsigned gx, unsigned bx, unsigned by, unsigned shared) {
    return CU(cuLaunchKernel)(function("fill"), gx, 1, 1, bx, by, 1, shared, nullptr, params, nullptr);
  };
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, go(0, 32, 1, 0));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, go(1, 1025, 1, 0));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, go(1, 64, 32, 0));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, go(1, 32, 1, 49 * 1024)) << "more than 48 KiB needs the attribute";
  OK(CU(cuFuncSetAttribute)(function("fill"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024));
  OK(go(8, 32, 1, 49 * 1024));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
            CU(cuFuncSetAttribute)(function("fill"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 * 1024));
  EXPECT_EQ(read(data, 256), std::vector<int>(256, 6));

  // The packed form.
  struct {
    CUdeviceptr p;
    int n, v;
  } packed{data, 256, 8};
  size_t size = sizeof packed;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  OK(CU(cuLaunchKernel)(function("fill"), 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(read(data, 256), std::vector<int>(256, 8));

  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 256;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  value = 10;
  OK(CU(cuLaunchKernelEx)(&config, function("fill"), params, nullptr));
  EXPECT_EQ(read(data, 256), std::vector<int>(256, 10));

  int blocks = 0, multiprocessors = 0;
  OK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function("fill"), 256, 0));
  OK(CU(cuDeviceGetAttribute)(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  ASSERT_GT(blocks, 0);
  EXPECT_CU(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            CU(cuLaunchCooperativeKernel)(function("fill"), unsigned(blocks * multiprocessors + 1), 1, 1, 256, 1, 1, 0,
                                          nullptr, params));
  OK(CU(cuLaunchCooperativeKernel)(function("fill"), unsigned(blocks * multiprocessors), 1, 1, 256, 1, 1, 0, nullptr,
                                   params));
  int grid = 0, block = 0;
  OK(CU(cuOccupancyMaxPotentialBlockSize)(&grid, &block, function("fill"), nullptr, 0, 0));
  EXPECT_GT(block, 0);
}

TEST_F(DriverApi, AFailedKernelIsStickyUntilItsContextEnds) {
  CUdeviceptr data = alloc(4);
  EXPECT_CU(CUDA_SUCCESS, launch("add_one", nullptr, 1, data, 1));
  OK(launch("trap_now", nullptr, 1));
  OK(launch("add_one", nullptr, 1, data, 1)) << "the next synchronising call tells, no earlier one";
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
  CUdeviceptr other = 0;
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuMemAlloc_v2)(&other, 4));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, launch("add_one", nullptr, 1, data, 1));
  EXPECT_EQ(errors(), 1u) << allReports();
  CUcontext fresh = nullptr;
  OK(CU(cuCtxCreate_v4)(&fresh, nullptr, 0, 0));
  OK(CU(cuMemAlloc_v2)(&other, 4));
  OK(CU(cuMemFree_v2)(other));
  OK(CU(cuCtxDestroy_v2)(fresh));
  OK(CU(cuDevicePrimaryCtxReset_v2)(0));
  OK(CU(cuMemAlloc_v2)(&other, 4)) << "a reset primary context works again";
}

TEST_F(DriverApi, OutOfBoundsIsFoundAndLogOnlyGoesOn) {
  CUdeviceptr data = alloc(64);
  OK(launch("add_one", nullptr, 65, data, 65));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
  ASSERT_GE(errors(), 1u);
  EXPECT_NE(reports()[0].message.find("add_one"), std::string::npos);
  begin("action=log");
  data = alloc(64);
  OK(launch("add_one", nullptr, 65, data, 65));
  OK(CU(cuCtxSynchronize)());
  EXPECT_GE(errors(), 1u);
}

TEST_F(DriverApi, CountersOfEveryLaunch) {
  begin("counters=on");
  CUdeviceptr data = alloc(1024);
  OK(launch("fill", nullptr, 1024, data, 1024, 1));
  OK(launch("add_one", nullptr, 1024, data, 1024));
  OK(CU(cuCtxSynchronize)());
  const GraphcCudasimLaunch *launches = nullptr;
  ASSERT_EQ(symbol<size_t(const GraphcCudasimLaunch **)>("graphcCudasimLaunches")(&launches), 2u);
  EXPECT_STREQ(launches[1].kernel, "add_one");
  EXPECT_EQ(launches[1].grid[0], 4u);
  EXPECT_GT(launches[1].warpInstructions, 0u);
  EXPECT_GT(launches[1].microsecondsH200, 0.0);
}

TEST_F(DriverApi, AnnotationsNeedALiveAllocation) {
  auto annotate = symbol<int(uint64_t, uint64_t, const char *)>("graphcCudasimAnnotate");
  CUdeviceptr arena = alloc(1024);
  EXPECT_EQ(annotate(arena, 400, "first"), 0);
  EXPECT_EQ(annotate(arena + 4000, 400, "past the end"), 1);
  EXPECT_EQ(annotate(99, 4, "nowhere"), 1);
  // The rest of the arena is red zone now.
  OK(launch("add_one", nullptr, 101, arena, 101));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
}

} // namespace
