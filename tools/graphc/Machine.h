// What this machine offers: asked by `devices` and `doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace graphc::tool {

struct CpuInfo {
  std::string name;
  int cores = 0; // usable by this process
  std::vector<std::string> features;
  std::string level; // the best of --cpu-level that this machine runs
  int64_t memoryBytes = 0;
};
CpuInfo queryCpu();

/// A shared library that some device needs, looked up by name exactly as the runtime would.
struct LibraryInfo {
  std::string name;    // "NVRTC"
  std::string file;    // "libnvrtc.so.13", empty when none was found
  std::string version; // empty when the library does not tell
  std::string reason;  // why it is not usable
  std::string remedy;  // what to install
};
std::vector<LibraryInfo> queryCudaLibraries();
/// CUDA Toolkits and Python package folders that the environment names, where NVRTC may lie.
std::vector<std::string> toolkitFolders();
std::vector<std::string> sitePackagesFolders();
/// The CUDA driver: number of devices, or why there are none.
struct CudaDriver {
  LibraryInfo library;
  int devices = 0;
};
CudaDriver queryCudaDriver();

/// $XDG_CACHE_HOME/graphc or ~/.cache/graphc.
std::string cacheFolder();

} // namespace graphc::tool
