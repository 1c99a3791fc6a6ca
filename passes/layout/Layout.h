#pragma once
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-layout`: convolution networks in channels-last order, with as few transposes as possible.
std::unique_ptr<mlir::Pass> createLayoutPass();

void registerLayoutPasses();

} // namespace graphc
