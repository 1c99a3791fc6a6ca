#pragma once
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-control`: less control flow, and less in it.
std::unique_ptr<mlir::Pass> createControlPass();
void registerControlPass();

} // namespace graphc
