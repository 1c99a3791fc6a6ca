// Attention. Scores and probabilities stay in the computation type: rounding them to f16 between the two products is
// what makes spelled-out attention lose accuracy.
#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

// softmax(q kᵀ · scale + mask) v. A boolean mask keeps what is true; a row that keeps nothing gives NaN, or 0 on request.
llvm::SmallVector<Value> AttentionOp::decompose(OpBuilder &b) {
  TensorExpr query(b, getLoc(), getQuery());
  TensorExpr q = query.computed(), k = query.with(getKey()).computed(), v = query.with(getValue()).computed();
  TensorExpr scores = matmul(q, k, /*transposeB=*/true) * getScale().convertToDouble();
  if (Value given = getMask()) {
    TensorExpr mask = query.with(given);
    scores = mask.elementType().isInteger(1) ? select(mask, scores, scores.constant(-INFINITY))
                                             : scores + mask.castTo(scores.elementType());
  }
  TensorExpr probabilities = query.with(SoftmaxOp::create(b, getLoc(), scores.get(), static_cast<uint64_t>(scores.rank() - 1)));
  if (getNanToZero()) {
    TensorExpr masked = isNaN(probabilities);
    probabilities = select(masked, probabilities.constant(0), probabilities);
  }
  return {matmul(probabilities, v).castTo(query.elementType()).get()};
}

} // namespace graphc::graph
