// What a library contraction can do to its result before storing it (post-ops): the one place that says which ops those are.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc {

/// A post-op as the plan spells it.
struct PostOp {
  llvm::StringRef kind; // relu, clip, gelu_erf, … or binary_add, binary_mul, …
  double alpha = 0, beta = 0;
  mlir::Value operand;  // of binary kinds
};

/// `op` applied to `result` (one of its operands, produced by a contraction and its earlier post-ops) as a post-op; nullopt with
/// the reason in `why` when the library cannot. `channelDim`: the dim of the result along which a vector may broadcast.
std::optional<PostOp> postOpOf(mlir::Operation *op, mlir::Value result, unsigned channelDim, std::string &why);

} // namespace graphc
