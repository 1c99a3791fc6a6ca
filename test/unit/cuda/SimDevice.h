// The simulated device as graphc sees it, with its reports.
#pragma once

#include "runtime/cudasim/cudasim.h"
#include "runtime/device/DeviceTensor.h"
#include "runtime/devices/cuda/CudaDevice.h"
#include "runtime/devices/cuda/Nvrtc.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphc::test {

template <typename Function>
Function *simulatorFunction(const char *name) {
  static void *library = dlopen(GRAPHC_CUDASIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function *>(library ? dlsym(library, name) : nullptr);
}

/// Null, with the reason, where there is no NVRTC.
inline std::shared_ptr<const cuda::Nvrtc> nvrtc(std::string &reason) {
  auto opened = cuda::Nvrtc::open(cuda::Nvrtc::candidates({}));
  if (!opened.ok()) {
    reason = opened.status().message();
    return nullptr;
  }
  return *opened;
}

/// PTX of CUDA C++, compiled once per source.
inline const std::string &ptxOf(const std::string &source) {
  static std::map<std::string, std::string> compiled;
  std::string &ptx = compiled[source];
  if (ptx.empty()) {
    std::string reason;
    auto compiler = nvrtc(reason);
    std::vector<std::string> options = {"--gpu-architecture=compute_80", "--fmad=false"};
    auto code = compiler->compile(source, "test.cu", options);
    EXPECT_TRUE(code.ok()) << code.status().str();
    if (code.ok())
      ptx = code->ptx;
  }
  return ptx;
}

inline plan::CudaModuleT moduleOf(const std::string &source) {
  plan::CudaModuleT module;
  module.name = "test";
  auto image = std::make_unique<plan::CudaImageT>();
  image->arch = "compute_80";
  const std::string &ptx = ptxOf(source);
  image->bytes.assign(ptx.c_str(), ptx.c_str() + ptx.size() + 1);
  module.images.push_back(std::move(image));
  return module;
}

class SimDevice : public testing::Test {
protected:
  /// (Re)starts the simulator with `options`, every check on, and opens device 0.
  void begin(const std::string &options = {}, CachingAllocatorOptions memory = {}) {
    end();
    cudaOptions.library = GRAPHC_CUDASIM_LIBRARY;
    cudaOptions.simulator = "report=none,idle=0,check=races+uninitialised" + (options.empty() ? "" : "," + options);
    cudaOptions.memory = memory;
    cudaOptions.memory.redZoneBytes = 256;
    device = open(0);
  }
  std::shared_ptr<ComputeDevice> open(int index) {
    auto opened = cuda::openCudaDevice({DeviceId::Kind::Sim, index}, cudaOptions);
    EXPECT_TRUE(opened.ok()) << opened.status().str();
    cudaOptions.simulator.clear(); // further devices: the simulator runs already
    return opened.ok() ? *opened : nullptr;
  }
  void end() {
    device.reset();
    simulatorFunction<void()>("graphcCudasimReset")();
    simulatorFunction<void()>("graphcCudasimClear")();
  }
  void SetUp() override { begin(); }
  void TearDown() override { end(); }

  /// Errors found by the simulator, as text.
  static std::string reports() {
    const GraphcCudasimReport *entries = nullptr;
    size_t count = simulatorFunction<size_t(const GraphcCudasimReport **)>("graphcCudasimReports")(&entries);
    std::string text;
    for (size_t i = 0; i < count; ++i)
      if (entries[i].isError)
        text += std::string(entries[i].kind) + ": " + entries[i].message + "\n";
    return text;
  }

  template <typename T>
  DeviceTensor upload(const std::vector<int64_t> &dims, const std::vector<T> &values) {
    auto tensor = DeviceTensor::fromHost(device, HostTensor::of<T>(Shape(dims), std::span<const T>(values)), device->defaultQueue());
    EXPECT_TRUE(tensor.ok()) << tensor.status().str();
    return tensor.ok() ? *std::move(tensor) : DeviceTensor{};
  }
  template <typename T>
  static std::vector<T> download(const DeviceTensor &tensor) {
    auto host = tensor.toHost();
    EXPECT_TRUE(host.ok()) << host.status().str();
    if (!host.ok())
      return {};
    auto values = host->template values<T>();
    return {values.begin(), values.end()};
  }

  cuda::CudaOptions cudaOptions;
  std::shared_ptr<ComputeDevice> device;
};

#define ASSERT_FINE(expr)                                                                                        \
  do {                                                                                                           \
    const ::graphc::Status fineStatus = (expr);                                                                  \
    ASSERT_TRUE(fineStatus.ok()) << fineStatus.str();                                                            \
  } while (false)

} // namespace graphc::test
