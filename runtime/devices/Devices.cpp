#include "runtime/devices/Devices.h"

#ifdef GRAPHC_HAVE_CUDA
#include "runtime/devices/cuda/CudaDevice.h"
#endif

#include <dlfcn.h>
#include <filesystem>

namespace graphc {

namespace fs = std::filesystem;

std::string simulatorLibrary(const DeviceOptions &options) {
  constexpr const char *kName = "libgraphc_cudasim.so";
  if (!options.simulatorLibrary.empty())
    return options.simulatorLibrary;
  std::error_code ignored;
  std::vector<fs::path> folders;
  Dl_info here;
  if (dladdr(reinterpret_cast<void *>(&simulatorLibrary), &here) && here.dli_fname)
    folders.push_back(fs::absolute(here.dli_fname, ignored).parent_path());
  folders.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path());
  for (const fs::path &folder : folders)
    for (const fs::path &candidate : {folder / kName, folder / ".." / "lib" / kName})
      if (fs::exists(candidate, ignored))
        return candidate.lexically_normal().string();
  return kName;
}

Result<std::shared_ptr<ComputeDevice>> openDevice(const DeviceId &id, const DeviceOptions &options) {
  if (id.isCpu())
    return error(Code::InvalidOption, "the processor has no queues and memory of its own to open");
#ifdef GRAPHC_HAVE_CUDA
  // Every failure says which device was asked for.
  auto named = [&id](Result<std::shared_ptr<ComputeDevice>> device, const char *remedy) -> Result<std::shared_ptr<ComputeDevice>> {
    if (device.ok() || device.status().message().starts_with("device '"))
      return device;
    return error(device.status().code(), "device '", id.str(), "': ", device.status().message(),
                 device.status().code() == Code::DeviceUnavailable ? remedy : "");
  };
  cuda::CudaOptions cudaOptions;
  cudaOptions.memory = options.memory;
  if (id.kind == DeviceId::Kind::Sim) {
    cudaOptions.library = simulatorLibrary(options);
    cudaOptions.simulator = options.simulator;
    return named(cuda::openCudaDevice(id, cudaOptions), "");
  }
  if (!options.cudaLibrary.empty())
    cudaOptions.library = options.cudaLibrary;
  return named(cuda::openCudaDevice(id, cudaOptions),
               "; a CUDA device needs an NVIDIA GPU and its driver (libcuda.so.1); `graphc doctor` says what is here");
#else
  return error(Code::DeviceUnavailable, "device '", id.str(), "' is not in this build, which was made without the CUDA Toolkit's cuda.h; use cpu");
#endif
}

} // namespace graphc
