#pragma once
#include "ir/graph/Graph.h"
#include "ir/target/TargetInfo.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-select`: `by = "library" | "kernel"` on every contraction.
std::unique_ptr<mlir::Pass> createSelectPass(TargetInfo target = {});

/// `graphc-stage-reductions`: reductions of much to little in two stages, of blocks of fixed sizes.
std::unique_ptr<mlir::Pass> createStageReductionsPass();

/// `graphc-fuse`: groups ops into kernels and library calls (graph.group); refusals are remarks.
std::unique_ptr<mlir::Pass> createFusePass(bool unfused = false);

} // namespace graphc
