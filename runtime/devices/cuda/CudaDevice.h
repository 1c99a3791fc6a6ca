// A CUDA GPU, or the simulated one, behind the verbs of runtime/device.
#pragma once

#include "runtime/device/ComputeDevice.h"

#include <memory>
#include <string>

namespace graphc::cuda {

struct CudaOptions {
  std::string library = "libcuda.so.1"; // the driver, by name or path
  /// Options of the simulated device (cudasim.h), applied before it starts; empty: as it is configured. An error with a
  /// driver that is no simulator.
  std::string simulator;
  CachingAllocatorOptions memory;
};

/// Opens device `id.index` of the driver in `options.library`. `id` only names it.
Result<std::shared_ptr<ComputeDevice>> openCudaDevice(const DeviceId &id, const CudaOptions &options);

} // namespace graphc::cuda
