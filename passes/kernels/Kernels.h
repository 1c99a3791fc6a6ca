#pragma once
#include "ir/graph/Graph.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-kernels`: each graph.group becomes a kernel.func and a plan.dispatch, or a library call, routine, view or copy.
std::unique_ptr<mlir::Pass> createKernelsPass();

/// `graphc-join-kernels`: dispatches that do the same to the elements of their own buffers, for no one in the function, become one.
std::unique_ptr<mlir::Pass> createJoinKernelsPass();

} // namespace graphc
