#pragma once
#include "ir/graph/Graph.h"
#include "ir/plan/Plan.h"

namespace graphc {

/// On a library call, a `plan.strided`: how its result lies in memory, where it is transposed. Dims in the product's own order.
inline constexpr llvm::StringLiteral kResultViewAttr = "plan.result_view";

/// The library call of a group that `fuse` built around a contraction.
mlir::FailureOr<plan::LibraryOp> buildLibraryCall(graph::GroupOp group, mlir::OpBuilder &b);

} // namespace graphc
