// Passes of the CUDA target.
#pragma once
#include "ir/kernel/Kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace graphc::codegen::cuda {
#define GEN_PASS_DECL
#include "codegen/cuda/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "codegen/cuda/Passes.h.inc"
} // namespace graphc::codegen::cuda
