// exp, log, erf, tanh, sin, cos … in f32 as arith and explicit fused multiply-adds, the same on every target.
#pragma once
#include "ir/kernel/Kernel.h"

namespace graphc::codegen {

/// Replaces the math ops of a kernel that have an expansion. Afterwards only ops every target has as instructions
/// (fma, sqrt, abs, rounding, copysign) and the rare ones that are library calls are left. Half types are computed in f32.
void expandMath(kernel::FuncOp kernel);

/// The formula of one op (f32, and constant powers in f64) written before it; null where a target calls its library.
mlir::Value expandMathOp(mlir::OpBuilder &b, mlir::Operation *op);

} // namespace graphc::codegen
