#include "ir/graph/Graph.h"

using namespace mlir;

namespace graphc::graph {

Expr Expr::like(double value) const { return builder->constant(value, type); }
Expr Expr::boolean(bool value) const {
  return builder->constantInt(value, IntegerType::get(type.getContext(), 1));
}
Expr Expr::castTo(Type to) const { return to == type ? *this : builder->cast(*this, to); }

Type computeType(Type elementType) {
  if (elementType.isF16() || elementType.isBF16())
    return Float32Type::get(elementType.getContext());
  return elementType;
}

Expr sigmoid(Expr a) {
  Expr one = a.like(1), e = exp(-abs(a));
  Expr positive = one / (one + e);
  return select(a < a.like(0), e / (one + e), positive);
}

SmallVector<AffineExpr> broadcastIndex(ArrayRef<AffineExpr> index, Type operandType) {
  auto dims = dimsOf(operandType);
  SmallVector<AffineExpr> result;
  unsigned shift = index.size() - dims.size();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    AffineExpr e = index[shift + i];
    result.push_back(isSize(dim, 1) ? getAffineConstantExpr(0, e.getContext()) : e);
  }
  return result;
}

Expr elementwiseElement(ElementBuilder &builder, Elementwise op, ArrayRef<AffineExpr> index) {
  SmallVector<Expr> args;
  for (Value operand : op->getOperands())
    args.push_back(builder.load(operand, broadcastIndex(index, operand.getType())));
  return op.scalar(args);
}

Expr CastOp::scalar(ArrayRef<Expr> args) {
  Type to = getResult().getType().getElementType();
  // A cast to f16 or bf16 rounds even when the computation goes on in f32.
  return args[0].builder->cast(args[0], to).castTo(computeType(to));
}
Expr CastOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  return elementwiseElement(b, *this, index);
}

} // namespace graphc::graph
