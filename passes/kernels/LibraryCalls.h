#pragma once
#include "ir/graph/Graph.h"
#include "ir/plan/Plan.h"

namespace graphc {

/// The library call of a group that `fuse` built around a contraction.
mlir::FailureOr<plan::LibraryOp> buildLibraryCall(graph::GroupOp group, mlir::OpBuilder &b);

} // namespace graphc
