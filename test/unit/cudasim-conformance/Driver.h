// The CUDA driver as the conformance suite sees it: only cuda.h functions, looked up in a library opened by name.
//
// GRAPHC_CONFORMANCE_DRIVER names another library to test: "libcuda.so.1" on a machine with a GPU runs the very same
// cases against the hardware.
#pragma once

#include "tools/bench/cudasim/Nvrtc.h"

#include <gtest/gtest.h>

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace graphc::cudasim::conformance {

class Driver {
public:
  static Driver &get() {
    static Driver driver;
    return driver;
  }
  std::string problem; ///< why nothing can run; empty when all is well
  int capability = 0;

  decltype(&cuMemAlloc_v2) memAlloc;
  decltype(&cuMemFree_v2) memFree;
  decltype(&cuMemcpyHtoD_v2) toDevice;
  decltype(&cuMemcpyDtoH_v2) toHost;
  decltype(&cuModuleLoadData) moduleLoad;
  decltype(&cuModuleUnload) moduleUnload;
  decltype(&cuModuleGetFunction) getFunction;
  decltype(&cuModuleGetGlobal_v2) getGlobal;
  decltype(&cuFuncSetAttribute) setAttribute;
  decltype(&cuLaunchKernel) launchKernel;
  decltype(&cuLaunchCooperativeKernel) launchCooperative;
  decltype(&cuCtxSynchronize) synchronize;
  decltype(&cuCtxSetLimit) setLimit;

private:
  Driver() {
    const char *name = std::getenv("GRAPHC_CONFORMANCE_DRIVER");
    if (!name)
      name = GRAPHC_CUDASIM_LIBRARY;
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      problem = std::string("cannot open ") + name + ": " + dlerror();
      return;
    }
    // The newest device the suite compiles for; a real driver has no such function and keeps its own device.
    if (auto configure = reinterpret_cast<int (*)(const char *)>(dlsym(handle, "graphcCudasimConfigure")))
      configure("cc=10.0,report=none");
    auto find = [&](auto &into, const char *symbol) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(dlsym(handle, symbol));
      if (!into && problem.empty())
        problem = std::string(name) + " has no " + symbol;
    };
    decltype(&cuInit) init;
    decltype(&cuDeviceGet) deviceGet;
    decltype(&cuDeviceGetAttribute) attribute;
    decltype(&cuDevicePrimaryCtxRetain) retain;
    decltype(&cuCtxSetCurrent) setCurrent;
    find(init, "cuInit");
    find(deviceGet, "cuDeviceGet");
    find(attribute, "cuDeviceGetAttribute");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(setCurrent, "cuCtxSetCurrent");
    find(memAlloc, "cuMemAlloc_v2");
    find(memFree, "cuMemFree_v2");
    find(toDevice, "cuMemcpyHtoD_v2");
    find(toHost, "cuMemcpyDtoH_v2");
    find(moduleLoad, "cuModuleLoadData");
    find(moduleUnload, "cuModuleUnload");
    find(getFunction, "cuModuleGetFunction");
    find(getGlobal, "cuModuleGetGlobal_v2");
    find(setAttribute, "cuFuncSetAttribute");
    find(launchKernel, "cuLaunchKernel");
    find(launchCooperative, "cuLaunchCooperativeKernel");
    find(synchronize, "cuCtxSynchronize");
    find(setLimit, "cuCtxSetLimit");
    if (!problem.empty())
      return;
    CUdevice device;
    CUcontext context;
    int major = 0, minor = 0;
    if (init(0) || deviceGet(&device, 0) || attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ||
        attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) || retain(&context, device) ||
        setCurrent(context)) {
      problem = std::string(name) + ": no device";
      return;
    }
    capability = major * 10 + minor;
  }
};

/// Device memory of `count` values.
template <class T>
class Buffer {
public:
  explicit Buffer(size_t count, T fill = T()) : Buffer(std::vector<T>(count, fill)) {}
  explicit Buffer(const std::vector<T> &values) : count(values.size()) {
    EXPECT_EQ(Driver::get().memAlloc(&address, std::max<size_t>(count * sizeof(T), 1)), CUDA_SUCCESS);
    if (count)
      EXPECT_EQ(Driver::get().toDevice(address, values.data(), count * sizeof(T)), CUDA_SUCCESS);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { Driver::get().memFree(address); }
  std::vector<T> read() const {
    std::vector<T> values(count);
    EXPECT_EQ(Driver::get().toHost(values.data(), address, count * sizeof(T)), CUDA_SUCCESS);
    return values;
  }
  CUdeviceptr address = 0;
  size_t count;
};

inline Nvrtc &nvrtc() {
  static Nvrtc instance;
  return instance;
}

/// A program compiled for one architecture and loaded; compiled once per source and architecture.
class Program {
public:
  static Program &get(const std::string &source, const std::string &arch, std::vector<std::string> options = {}) {
    static std::map<std::string, std::unique_ptr<Program>> cache;
    std::string key = arch + "\n";
    for (const std::string &option : options)
      key += option + "\n";
    auto &slot = cache[key + source];
    if (!slot)
      slot.reset(new Program(source, arch, options));
    return *slot;
  }
  CUfunction function(const char *name) {
    CUfunction found = nullptr;
    if (module)
      EXPECT_EQ(Driver::get().getFunction(&found, module, name), CUDA_SUCCESS) << name;
    return found;
  }
  CUmodule module = nullptr;
  std::string log, ptx;

private:
  Program(const std::string &source, const std::string &arch, const std::vector<std::string> &options) {
    ptx = nvrtc().compile(source, arch, log, options);
    if (ptx.empty())
      ADD_FAILURE() << "does not compile for " << arch << ":\n" << log;
    else
      EXPECT_EQ(Driver::get().moduleLoad(&module, ptx.c_str()), CUDA_SUCCESS) << arch;
  }
};

struct Shape {
  unsigned x = 1, y = 1, z = 1;
};

template <class T>
void *pointerTo(T &value) { return &value; }
template <class T>
void *pointerTo(Buffer<T> &buffer) { return &buffer.address; }

/// Launches and waits; the result of the synchronisation.
template <class... Args>
CUresult run(CUfunction function, Shape grid, Shape block, unsigned shared, Args &&...args) {
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  void *pointers[] = {pointerTo(args)..., nullptr};
  CUresult result = Driver::get().launchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, nullptr,
                                               pointers, nullptr);
  return result ? result : Driver::get().synchronize();
}

/// Architectures to compile for: both PTX dialects, limited to what the device runs.
inline std::vector<std::string> architectures() {
  std::vector<std::string> result;
  for (int capability : {80, 90, 100})
    if (capability <= Driver::get().capability)
      result.push_back("compute_" + std::to_string(capability));
  return result;
}

/// Runs each test once per architecture; skips by name when no driver or no NVRTC is there.
class Conformance : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!Driver::get().problem.empty())
      GTEST_SKIP() << Driver::get().problem;
    if (!nvrtc().available())
      GTEST_SKIP() << "libnvrtc was not found";
  }
  std::string arch() const { return GetParam(); }
};

} // namespace graphc::cudasim::conformance
