// Passes of the CPU target, for graphc-opt.
#pragma once
#include "mlir/Pass/Pass.h"

namespace graphc::codegen::cpu {
#define GEN_PASS_DECL
#include "codegen/cpu/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "codegen/cpu/Passes.h.inc"
} // namespace graphc::codegen::cpu
