#pragma once
#include "ir/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-place-buffers`: where each result of a plan command lives.
std::unique_ptr<mlir::Pass> createPlaceBuffersPass();

/// `graphc-probe-groups`: every group result becomes a result of the function, for `graphc verify`.
std::unique_ptr<mlir::Pass> createProbeGroupsPass();

/// The value whose memory `v` shares: through views and in-place results.
mlir::Value memoryRoot(mlir::Value v);

} // namespace graphc
