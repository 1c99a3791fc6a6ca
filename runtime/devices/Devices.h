// The list of devices: every kind this build knows, opened by name.
#pragma once

#include "runtime/device/ComputeDevice.h"

#include <memory>
#include <string>

namespace graphc {

struct DeviceOptions {
  CachingAllocatorOptions memory;
  /// The CUDA driver; empty: libcuda.so.1.
  std::string cudaLibrary;
  /// The simulated device's library; empty: libgraphc_cudasim.so beside this program or library (or in ../lib), else
  /// wherever the loader finds it.
  std::string simulatorLibrary;
  /// Options of the simulator (cudasim.h); empty: those of its environment variable.
  std::string simulator;
};

/// A device with its own memory and queues, or why there is none and what to do. Never another device than the one asked
/// for. The processor is no `ComputeDevice`.
Result<std::shared_ptr<ComputeDevice>> openDevice(const DeviceId &id, const DeviceOptions &options = {});

/// Where the simulator's library would be opened from.
std::string simulatorLibrary(const DeviceOptions &options = {});

} // namespace graphc
