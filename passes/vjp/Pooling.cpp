// Gradients of pools: a window's gradient goes back over the window. Averaging and spreading are each other's transposes, and so
// are choosing a maximum and putting it back.
#include "ir/graph/Pooling.h"
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

// The first of equals gets it all. Which it was is a byte a window.
Gradients MaxPoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  int64_t places = 1;
  for (int64_t w : getWindow())
    places *= w;
  Type number = places < 256 ? b.getIntegerType(8, /*isSigned=*/false) : b.getI32Type();
  Value chosen = MaxPoolIndexOp::create(b, getLoc(), withElementType(getType(), number), getX(), getWindow(), getStrides(),
                                        getDilations(), getPadsLow(), getPadsHigh(), getChannelsLast());
  return llvm::SmallVector<Value>{MaxUnpoolOp::create(b, getLoc(), getX().getType(), grads[0], chosen, getWindow(), getStrides(),
                                                      getDilations(), getPadsLow(), getPadsHigh(), getChannelsLast())};
}

/// Numbers of places in windows as indices into the flattened [N, C, spatial...] operand; -1 stays.
static TensorExpr flatIndices(MaxUnpoolOp op, TensorExpr numbers) {
  auto given = dimsOf(op.getIndices().getType()), wide = dimsOf(op.getType());
  unsigned rank = given.size(), channel = op.getChannelsLast() ? rank - 1 : 1, first = op.getChannelsLast() ? 1 : 2;
  Type i64 = numbers.ops().getI64Type();
  auto type = cast<IntegerType>(numbers.elementType());
  double none = type.isUnsigned() && type.getWidth() < 64 ? std::ldexp(1.0, type.getWidth()) - 1 : -1;
  TensorExpr number = numbers.castTo(i64);
  auto along = [&](unsigned d) { return numbers.iota(given, d, i64); };
  auto size = [&](AffineExpr d) {
    if (auto known = constantSize(d))
      return number.constant(static_cast<double>(*known));
    auto one = RankedTensorType::get({1}, i64);
    return number.with(SizeOp::create(number.ops(), number.location(), one, DimsAttr::get(op.getContext(), {d})));
  };
  TensorExpr flat = along(0);
  flat = flat * size(wide[channel]);
  flat = flat + along(channel);
  int64_t below = 1;
  for (int64_t w : op.getWindow())
    below *= w;
  for (unsigned s = 0; s < op.getWindow().size(); ++s) {
    below /= op.getWindow()[s];
    double window = static_cast<double>(op.getWindow()[s]);
    TensorExpr row = number / static_cast<double>(below);
    TensorExpr tap = row - row / window * window;
    TensorExpr start = along(first + s) * static_cast<double>(op.getStrides()[s]) - static_cast<double>(op.getPadsLow()[s]);
    flat = flat * size(wide[first + s]);
    flat = flat + start;
    flat = flat + tap * static_cast<double>(op.getDilations()[s]);
  }
  return (number == none).select(-1, flat);
}

// Reads where the windows wrote. Indices count in [N, C, ...] order.
Gradients MaxUnpoolOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool>) {
  TensorExpr g(b, getLoc(), grads[0]), indices = g.with(getIndices());
  if (numbersInWindow(getIndices()))
    indices = flatIndices(*this, indices);
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
