// Gradients of pools: a window's gradient goes back over the window. Averaging and spreading are each other's transposes, and so
// are choosing a maximum and putting it back.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

Gradients AvgPoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  return llvm::SmallVector<Value>{AvgUnpoolOp::create(b, getLoc(), getX().getType(), grads[0], getWindow(), getStrides(),
                                                      getDilations(), getPadsLow(), getPadsHigh(), getChannelsLast(),
                                                      getCountPad(), getSum())};
}
Gradients AvgUnpoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  return llvm::SmallVector<Value>{AvgPoolOp::create(b, getLoc(), getX().getType(), grads[0], getWindow(), getStrides(),
                                                    getDilations(), getPadsLow(), getPadsHigh(), getChannelsLast(),
                                                    getCountPad(), getSum())};
}

// The first of equals gets it all.
Gradients MaxPoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  Value chosen = MaxPoolIndexOp::create(b, getLoc(), withElementType(getType(), b.getI64Type()), getX(), getWindow(), getStrides(),
                                        getDilations(), getPadsLow(), getPadsHigh(), getChannelsLast());
  return llvm::SmallVector<Value>{MaxUnpoolOp::create(b, getLoc(), getX().getType(), grads[0], chosen, getWindow(), getStrides(),
                                                      getDilations(), getPadsLow(), getPadsHigh(), getChannelsLast())};
}
// Reads where the windows wrote. Indices count in [N, C, ...] order.
Gradients MaxUnpoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  if (getChannelsLast()) {
    llvm::SmallVector<int64_t> perm = {0, g.rank() - 1};
    for (int64_t d = 1; d < g.rank() - 1; ++d)
      perm.push_back(d);
    g = g.transposed(perm);
  }
  TensorExpr flat = g.reshapedTo({product(g.dims(), getContext())});
  TensorExpr none = indices < 0;
  TensorExpr read = g.with(GatherOp::create(b, getLoc(), flat.get(), none.select(0, indices).get(), 0));
  return firstOf(*this, none.select(0, read));
}

// r = (sum |x|^p)^(1/p): dx = sign(x) |x|^(p-1) r^(1-p), where a window of zeros gives nothing.
Gradients LpPoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr given(b, getLoc(), getX()), x = given.computed();
  TensorExpr r = x.with(getResult()).computed(), g = x.with(grads[0]).computed();
  double p = getP();
  TensorExpr zero = r == 0;
  TensorExpr share = zero.select(0, pow(zero.select(1, r), 1 - p) * g);
  TensorExpr back = x.with(AvgUnpoolOp::create(b, getLoc(), x.type(), share.get(), getWindow(), getStrides(), getDilations(),
                                               getPadsLow(), getPadsHigh(), getChannelsLast(), /*count_pad=*/false, /*sum=*/true));
  TensorExpr gradient = p == 1 ? sign(x) * back : p == 2 ? back * x : times({sign(x), pow(abs(x), p - 1), back});
  return firstOf(*this, gradient.castTo(given.elementType()));
}

} // namespace graphc::graph
