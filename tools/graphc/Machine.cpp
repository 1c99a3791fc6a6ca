#include "tools/graphc/Machine.h"

#include "runtime/base/Text.h"
#include "runtime/devices/cuda/Nvrtc.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <sys/sysinfo.h>

namespace graphc::tool {
namespace {

/// Opens the first of `names` that exists and keeps it open only while `use` looks at it.
template <typename Use>
void withLibrary(LibraryInfo &info, std::initializer_list<const char *> names, Use use) {
  for (const char *name : names) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
      if (info.reason.empty())
        info.reason = text(name, " was not found");
      continue;
    }
    info.file = name;
    info.reason.clear();
    use(library);
    dlclose(library);
    return;
  }
}

template <typename Function>
Function *symbol(void *library, const char *name) {
  return reinterpret_cast<Function *>(dlsym(library, name));
}

std::string dotted(int major, int minor, int patch = -1) { return patch < 0 ? text(major, ".", minor) : text(major, ".", minor, ".", patch); }

} // namespace

CpuInfo queryCpu() {
  CpuInfo info;
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(cpuinfo, line);) {
    size_t colon = line.find(": ");
    if (colon == std::string::npos)
      continue;
    if (info.name.empty() && line.starts_with("model name"))
      info.name = line.substr(colon + 2);
    if (flags.empty() && line.starts_with("flags"))
      flags = line.substr(colon + 1) + " ";
  }
  auto has = [&](const char *flag) { return flags.find(text(" ", flag, " ")) != std::string::npos; };
  for (const char *flag : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"})
    if (has(flag))
      info.features.push_back(flag);
  bool v3 = has("avx2") && has("fma") && has("f16c") && has("bmi2");
  bool v4 = v3 && has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq") && has("avx512cd");
  bool bf16 = v4 && has("avx512_bf16") && has("avx512_vnni");
  bool amx = bf16 && has("amx_bf16") && has("amx_tile");
  info.level = amx ? "v4-amx" : bf16 ? "v4-bf16" : v4 ? "v4" : v3 ? "v3" : "";
  cpu_set_t set;
  CPU_ZERO(&set);
  info.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0)
    info.memoryBytes = static_cast<int64_t>(memory.totalram) * memory.mem_unit;
  return info;
}

std::vector<std::string> toolkitFolders() {
  std::vector<std::string> folders;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(name); folder && *folder)
      folders.push_back(folder);
  return folders;
}

std::vector<std::string> sitePackagesFolders() {
  namespace fs = std::filesystem;
  std::vector<fs::path> roots;
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char *folder = std::getenv(name); folder && *folder)
      roots.push_back(fs::path(folder) / "lib");
  if (const char *home = std::getenv("HOME"); home && *home)
    roots.push_back(fs::path(home) / ".local" / "lib");
  roots.push_back("/usr/local/lib");
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const fs::path &root : roots)
    for (const auto &entry : fs::directory_iterator(root, ignored))
      if (entry.path().filename().string().starts_with("python3"))
        for (const char *packages : {"site-packages", "dist-packages"})
          if (fs::is_directory(entry.path() / packages, ignored))
            folders.push_back((entry.path() / packages).string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

CudaDriver queryCudaDriver() {
  CudaDriver driver;
  driver.library.name = "CUDA driver";
  driver.library.remedy = "install the NVIDIA driver of this machine's GPU";
  withLibrary(driver.library, {"libcuda.so.1"}, [&](void *library) {
    auto *init = symbol<int(unsigned)>(library, "cuInit");
    auto *version = symbol<int(int *)>(library, "cuDriverGetVersion");
    auto *count = symbol<int(int *)>(library, "cuDeviceGetCount");
    if (!init || !version || !count) {
      driver.library.reason = "libcuda.so.1 lacks the functions of a CUDA driver";
      return;
    }
    int number = 0;
    if (version(&number) == 0)
      driver.library.version = dotted(number / 1000, number % 1000 / 10);
    if (int status = init(0); status != 0)
      driver.library.reason = status == 100 ? std::string("the driver reports no GPU") : text("cuInit failed with error ", status);
    else if (int status = count(&driver.devices); status != 0)
      driver.library.reason = text("cuDeviceGetCount failed with error ", status);
    else if (driver.devices == 0)
      driver.library.reason = "the driver reports no GPU";
  });
  return driver;
}

std::vector<LibraryInfo> queryCudaLibraries() {
  std::vector<LibraryInfo> libraries;
  LibraryInfo nvrtc{"NVRTC", {}, {}, {}, cuda::Nvrtc::remedy()};
  auto opened = cuda::Nvrtc::open(cuda::Nvrtc::candidates(toolkitFolders(), sitePackagesFolders()));
  if (opened.ok()) {
    nvrtc.file = (*opened)->library();
    nvrtc.version = (*opened)->versionText();
    if ((*opened)->includeFolder().empty())
      nvrtc.reason = text(nvrtc.file, " has no headers beside it (cuda_fp16.h)");
  } else {
    nvrtc.reason = "no version from 12 to 13 was found in the loader's path, a CUDA Toolkit or Python's site-packages";
  }
  libraries.push_back(std::move(nvrtc));
  LibraryInfo cublas{"cuBLASLt", {}, {}, {}, "install the CUDA Toolkit's cuBLAS package (libcublas)"};
  withLibrary(cublas, {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, [&](void *library) {
    if (auto *version = symbol<size_t()>(library, "cublasLtGetVersion")) {
      int number = static_cast<int>(version());
      cublas.version = dotted(number / 10000, number / 100 % 100, number % 100);
    }
  });
  libraries.push_back(std::move(cublas));
  LibraryInfo cudnn{"cuDNN", {}, {}, {}, "install cuDNN 9 (cudnn9)"};
  withLibrary(cudnn, {"libcudnn.so.9", "libcudnn.so"}, [&](void *library) {
    if (auto *version = symbol<size_t()>(library, "cudnnGetVersion")) {
      int number = static_cast<int>(version());
      cudnn.version = dotted(number / 10000, number / 100 % 100, number % 100);
    }
  });
  libraries.push_back(std::move(cudnn));
  LibraryInfo nccl{"NCCL", {}, {}, {}, "install NCCL 2 (libnccl2)"};
  withLibrary(nccl, {"libnccl.so.2", "libnccl.so"}, [&](void *library) {
    int number = 0;
    if (auto *version = symbol<int(int *)>(library, "ncclGetVersion"); version && version(&number) == 0)
      nccl.version = dotted(number / 10000, number / 100 % 100, number % 100);
  });
  libraries.push_back(std::move(nccl));
  return libraries;
}

std::string cacheFolder() {
  if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return text(base, "/graphc");
  if (const char *home = std::getenv("HOME"); home && *home)
    return text(home, "/.cache/graphc");
  return "";
}

} // namespace graphc::tool
