#pragma once
#include "ir/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-place-buffers`: where each result of a plan command lives.
std::unique_ptr<mlir::Pass> createPlaceBuffersPass();

/// `graphc-tied-results`: what computes a result tied to an argument (`graph.updates` on the result) stands at the end.
std::unique_ptr<mlir::Pass> createTiedResultsPass();
/// On a result of the function: the number of the argument whose new value it is.
inline constexpr llvm::StringLiteral kUpdates = "graph.updates";

/// `graphc-probe-groups`: every group result becomes a result of the function, for `graphc verify`.
std::unique_ptr<mlir::Pass> createProbeGroupsPass();

/// `v` in memory of its own: a command that copies it.
mlir::Value copyOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v);

/// The value whose memory `v` shares: through views and in-place results.
mlir::Value memoryRoot(mlir::Value v);

} // namespace graphc
