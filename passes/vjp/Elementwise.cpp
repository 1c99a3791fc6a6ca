// Elementwise ops carry their derivative in ir/graph/Elementwise.td; this is the one that does not fit a line.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

Gradients CastOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  if (!isa<FloatType>(elementOf(getX())) || !isa<FloatType>(elementOf(getResult())))
    return llvm::SmallVector<Value>(1);
  return firstOf(*this, TensorExpr(b, getLoc(), grads[0]).castTo(elementOf(getX())));
}

} // namespace graphc::graph
