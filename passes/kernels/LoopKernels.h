#pragma once
#include "ir/graph/Graph.h"
#include "ir/kernel/Kernel.h"
#include "ir/plan/Plan.h"

namespace graphc {

/// Builds the kernel of a loop group at the end of `module` and its dispatch at the builder's insertion point.
plan::DispatchOp buildLoopKernel(graph::GroupOp group, mlir::ModuleOp module, llvm::StringRef name, mlir::OpBuilder &b);

/// For each buffer after the first `numInputs`, the input whose memory it may take, or -1: every access of both is at the same
/// element of the same point. `preferred` has one input for each of them, or -1.
llvm::SmallVector<int64_t> inplacePairs(kernel::FuncOp func, unsigned numInputs, llvm::ArrayRef<int64_t> preferred);

} // namespace graphc
