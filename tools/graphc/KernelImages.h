// Code of a plan's CUDA kernels, for people to read.
#pragma once
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <string>

namespace graphc::tool {

/// PTX of one kernel: its entry in the module's PTX image. An error says which images there are.
Result<std::string> ptxOf(const plan::PlanT &plan, const plan::KernelT &kernel);

/// Machine code of one kernel, by the CUDA Toolkit's nvdisasm on PATH, from the first cubin of its module.
Result<std::string> sassOf(const plan::PlanT &plan, const plan::KernelT &kernel);

} // namespace graphc::tool
