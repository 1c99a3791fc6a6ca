#pragma once
#include "ir/graph/Graph.h"
#include "mlir/Pass/Pass.h"
#include <functional>

namespace graphc {

/// Whether the target runs this composite as one piece.
using KeepsWhole = std::function<bool(graph::Composite)>;

/// `graphc-decompose`: replaces every composite that the target does not keep whole by its formula.
std::unique_ptr<mlir::Pass> createDecomposePass(KeepsWhole keepsWhole = nullptr);

} // namespace graphc
