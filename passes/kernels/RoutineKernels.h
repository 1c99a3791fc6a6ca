#pragma once
#include "ir/graph/Graph.h"
#include "ir/plan/Plan.h"

namespace graphc {

/// Whether the op has one. What decides the size of its result (nonzero, unique, compress, nms) has none: the host computes it.
bool hasRoutineKernel(mlir::Operation *op);

/// The kernel of an op that other targets leave to a routine of the runtime (top-k, scatter, running sums), and its dispatch. An
/// error at the op where there is none.
mlir::FailureOr<plan::DispatchOp> buildRoutineKernel(graph::GroupOp group, mlir::ModuleOp module, llvm::StringRef name, mlir::OpBuilder &b);

} // namespace graphc
