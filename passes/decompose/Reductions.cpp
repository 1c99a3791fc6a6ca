// Reductions with formulas.
#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

/// A kept reduction in the type of the op's result.
static llvm::SmallVector<Value> as(TensorExpr kept, Value result) {
  return {kept.reshapedTo(dimsOf(result.getType())).castTo(cast<RankedTensorType>(result.getType()).getElementType()).get()};
}

// The maximum is taken off first, unless it is infinite: -inf everywhere gives -inf.
llvm::SmallVector<Value> LogSumExpOp::decompose(OpBuilder &b) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed();
  TensorExpr highest = max(x, getAxes());
  TensorExpr shift = (abs(highest) == INFINITY).select(0, highest);
  return as(log(sum(exp(x - shift), getAxes())) + shift, getResult());
}

llvm::SmallVector<Value> NormOp::decompose(OpBuilder &b) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed();
  double p = getP().convertToDouble();
  if (p == 0)
    return as(sum((x != 0).castTo(x.elementType()), getAxes()), getResult());
  if (p == 2)
    return as(sqrt(sum(square(x), getAxes())), getResult());
  TensorExpr size = abs(x);
  if (p == 1)
    return as(sum(size, getAxes()), getResult());
  if (std::isinf(p))
    return as(p > 0 ? max(size, getAxes()) : -max(-size, getAxes()), getResult());
  return as(pow(sum(pow(size, p), getAxes()), 1 / p), getResult());
}

llvm::SmallVector<Value> StdOp::decompose(OpBuilder &b) {
  TensorExpr x = TensorExpr(b, getLoc(), getX()).computed();
  TensorExpr deviation = x - mean(x, getAxes());
  TensorExpr squares = sum(square(deviation), getAxes());
  return as(sqrt(squares / (x.count(getAxes()) - getCorrection().convertToDouble())), getResult());
}

} // namespace graphc::graph
