#include "passes/kernels/AttentionKernel.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

bool graphc::isOneKernelAttention(Operation *op) {
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention)
    return false;
  auto query = cast<RankedTensorType>(attention.getQuery().getType());
  for (Value operand : {attention.getQuery(), attention.getKey(), attention.getValue()})
    if (Type element = cast<RankedTensorType>(operand.getType()).getElementType(); !element.isF32() && !element.isF16() && !element.isBF16())
      return false;
  auto dims = dimsOf(query);
  auto fits = [](AffineExpr size) {
    auto known = constantSize(size);
    return known && *known >= 4 && *known <= 128;
  };
  // One query gains nothing: its scores are one row.
  return dims.size() >= 2 && fits(dims.back()) && fits(dimsOf(attention.getValue().getType()).back()) && !isSize(dims[dims.size() - 2], 1);
}

void graphc::buildAttention(KernelBuilder &b, AttentionOp op, Value result) {
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue(), mask = op.getMask();
  auto keys = dimsOf(key.getType());
  AffineExpr depth = keys.back(), count = keys[keys.size() - 2];
  Type f32 = Float32Type::get(b.context());
  Expr zero = b.constant(0, f32), one = b.constant(1, f32), lowest = b.constant(-INFINITY, f32);
  b.parallel(dimsOf(op.getType()), [&](ArrayRef<AffineExpr> index) {
    // An element of an operand whose last two indices are given and whose batch is the result's.
    auto element = [&](Value operand, AffineExpr row, AffineExpr column) {
      SmallVector<AffineExpr> at(index);
      at[at.size() - 2] = row;
      at[at.size() - 1] = column;
      return b.load(operand, broadcastIndex(at, operand.getType()), std::nullopt);
    };
    AffineExpr row = index[index.size() - 2], column = index.back();
    auto parts = b.reduce(
        {count}, {lowest, zero, zero},
        [&](ArrayRef<AffineExpr> j) {
          Expr score = b.reduce(
              {depth}, {zero}, [&](ArrayRef<AffineExpr> k) { return SmallVector<Expr>{element(query, row, k[0]) * element(key, j[0], k[0])}; },
              [&](ArrayRef<Expr> l, ArrayRef<Expr> r) { return SmallVector<Expr>{l[0] + r[0]}; })[0];
          score = score * b.constant(op.getScale().convertToDouble(), f32);
          if (mask) {
            Expr given = element(mask, row, j[0]);
            score = given.type.isInteger(1) ? select(given, score, lowest) : score + given.castTo(f32);
          }
          return SmallVector<Expr>{score, one, element(value, j[0], column)};
        },
        [&](ArrayRef<Expr> l, ArrayRef<Expr> r) {
          Expr largest = max(l[0], r[0]);
          Expr base = select(largest == lowest, zero, largest); // nothing seen yet that counts
          Expr left = exp(l[0] - base), right = exp(r[0] - base);
          return SmallVector<Expr>{largest, l[1] * left + r[1] * right, l[2] * left + r[2] * right};
        });
    Expr mean = parts[2] / parts[1];
    if (op.getNanToZero())
      mean = select(isNaN(mean), zero, mean);
    b.storeTo(mean.castTo(cast<RankedTensorType>(op.getType()).getElementType()), result, index, std::nullopt);
  });
}
