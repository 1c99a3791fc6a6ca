// softmax and log_softmax. The maximum is subtracted first, so nothing overflows; a row of nothing but -inf gives NaN,
// as 0 / 0 should.
#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

static TensorExpr softmax(TensorExpr x, int64_t axis) {
  TensorExpr e = exp(x - max(x, {axis}));
  return e / sum(e, {axis});
}

static TensorExpr logSoftmax(TensorExpr x, int64_t axis) {
  TensorExpr shifted = x - max(x, {axis});
  return shifted - log(sum(exp(shifted), {axis}));
}

llvm::SmallVector<Value> SoftmaxOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  return {softmax(x.computed(), axisOf(getAxis(), x.rank())).castTo(x.elementType()).get()};
}

llvm::SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &b) {
  TensorExpr x(b, getLoc(), getX());
  return {logSoftmax(x.computed(), axisOf(getAxis(), x.rank())).castTo(x.elementType()).get()};
}

} // namespace graphc::graph
