// Passes on kernels that every target shares.
#pragma once
#include "ir/kernel/Kernel.h"

#include "mlir/Pass/Pass.h"

namespace graphc::codegen {
#define GEN_PASS_DECL
#include "codegen/common/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "codegen/common/Passes.h.inc"
} // namespace graphc::codegen
