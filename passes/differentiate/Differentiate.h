#pragma once
#include "mlir/Pass/Pass.h"

namespace graphc {

/// `graphc-differentiate`: a function marked with `graph.gradient_of` also returns gradients; see Differentiate.cpp.
std::unique_ptr<mlir::Pass> createDifferentiatePass();
void registerDifferentiatePass();

/// The markers: on a function, the number of the result to differentiate; on its arguments, that their gradient is wanted.
inline constexpr llvm::StringLiteral kGradientOf = "graph.gradient_of";
inline constexpr llvm::StringLiteral kDifferentiate = "graph.differentiate";

} // namespace graphc
