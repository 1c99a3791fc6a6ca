// NVRTC, opened at run time: CUDA C++ to PTX for tests and benchmarks of the simulated device.
#pragma once

#include <dlfcn.h>
#include <cstdlib>
#include <string>
#include <vector>

namespace graphc::cudasim {

class Nvrtc {
public:
  /// Looks for the library at GRAPHC_NVRTC_PATH (set by CMake), then by name.
  Nvrtc() {
    for (const char *name : {
#ifdef GRAPHC_NVRTC_PATH
             GRAPHC_NVRTC_PATH,
#endif
             "libnvrtc.so.13", "libnvrtc.so"})
      if ((handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        break;
  }
  bool available() const { return handle != nullptr; }

  /// PTX for `arch` ("compute_80"); empty on failure, with the compiler's log in `log`.
  std::string compile(const std::string &source, const std::string &arch, std::string &log,
                      std::vector<std::string> extra = {}) {
    using Program = void *;
    auto create = get<int (*)(Program *, const char *, const char *, int, const char *const *, const char *const *)>("nvrtcCreateProgram");
    auto run = get<int (*)(Program, int, const char *const *)>("nvrtcCompileProgram");
    auto logSize = get<int (*)(Program, size_t *)>("nvrtcGetProgramLogSize");
    auto getLog = get<int (*)(Program, char *)>("nvrtcGetProgramLog");
    auto ptxSize = get<int (*)(Program, size_t *)>("nvrtcGetPTXSize");
    auto getPtx = get<int (*)(Program, char *)>("nvrtcGetPTX");
    auto destroy = get<int (*)(Program *)>("nvrtcDestroyProgram");
    Program program = nullptr;
    if (create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr)) {
      log = "nvrtcCreateProgram failed";
      return {};
    }
    std::vector<std::string> options{"--gpu-architecture=" + arch, "--std=c++17"};
#ifdef GRAPHC_CUDA_INCLUDE
    options.push_back("-I" GRAPHC_CUDA_INCLUDE);
    options.push_back("-I" GRAPHC_CUDA_INCLUDE "/cccl");
#endif
    options.insert(options.end(), extra.begin(), extra.end());
    std::vector<const char *> pointers;
    for (const std::string &option : options)
      pointers.push_back(option.c_str());
    int failed = run(program, int(pointers.size()), pointers.data());
    size_t size = 0;
    logSize(program, &size);
    log.resize(size);
    if (size)
      getLog(program, log.data());
    std::string ptx;
    if (!failed) {
      ptxSize(program, &size);
      ptx.resize(size);
      getPtx(program, ptx.data());
      while (!ptx.empty() && ptx.back() == 0)
        ptx.pop_back();
    }
    destroy(&program);
    return ptx;
  }

private:
  void *handle = nullptr;
  template <class F>
  F get(const char *name) { return reinterpret_cast<F>(dlsym(handle, name)); }
};

} // namespace graphc::cudasim
