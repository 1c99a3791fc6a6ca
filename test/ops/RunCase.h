// One case of a value test on one device.
#pragma once

#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <vector>

namespace graphc::test {

/// Where value tests run unless a device is named; by name only: "cpu:LEVEL" (levels.test), and "sim" (sim.test), where NVRTC takes its time. A device that cannot do a case is named in the case, with the reason.
std::vector<std::string> caseDevices();

/// Runs @main of the module text.
Result<std::vector<HostTensor>> runCase(const std::string &device, const std::string &module, std::span<const HostTensor> inputs);

/// On a device ("cpu", "sim") through the whole compiler and runtime, or below the processor's own level ("cpu:v3").
Result<std::vector<HostTensor>> runCompiled(const std::string &device, const std::string &module, std::span<const HostTensor> inputs);

} // namespace graphc::test
