#pragma once
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-layout`: convolution networks in channels-last order, with as few transposes as possible.
std::unique_ptr<mlir::Pass> createLayoutPass();

/// `graphc-sink-shuffles`: channel shuffles go behind depthwise convolutions, whose weights are shuffled instead.
std::unique_ptr<mlir::Pass> createSinkShufflesPass();

void registerLayoutPasses();

} // namespace graphc
