#pragma once
#include "ir/graph/Graph.h"
#include "ir/plan/Plan.h"

namespace graphc {

/// The kernel of an op that other targets leave to a routine of the runtime (top-k, scatter, running sums), and its dispatch. An
/// error at the op where there is none.
mlir::FailureOr<plan::DispatchOp> buildRoutineKernel(graph::GroupOp group, mlir::ModuleOp module, llvm::StringRef name, mlir::OpBuilder &b);

} // namespace graphc
