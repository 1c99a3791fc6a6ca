#pragma once
#include "ir/graph/Graph.h"
#include "mlir/Pass/Pass.h"

namespace graphc {

/// What the target's library contracts.
struct ContractionChoice {
  bool bf16 = false; // the CPU has bf16 products
};

/// `graphc-select`: `by = "library" | "kernel"` on every contraction.
std::unique_ptr<mlir::Pass> createSelectPass(ContractionChoice choice = {});

/// `graphc-fuse`: groups ops into kernels and library calls (graph.group); refusals are remarks.
std::unique_ptr<mlir::Pass> createFusePass(bool unfused = false);

} // namespace graphc
