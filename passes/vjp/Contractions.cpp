// Gradients of products and convolutions. Each is linear in both operands, and its gradients are products and convolutions.
#include "passes/vjp/Rules.h"

using namespace mlir;

namespace graphc::graph {

Gradients MatmulOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  TensorExpr g(b, getLoc(), grads[0]), l = g.with(getLhs()), r = g.with(getRhs());
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  llvm::SmallVector<Value> gradients(2);
  if (needs[0]) {
    TensorExpr gradient = tl ? matmul(r, g, /*transposeB=*/true, /*transposeA=*/tr) : matmul(g, r, /*transposeB=*/!tr);
    gradients[0] = sumTo(gradient, l.type()).get();
  }
  if (needs[1]) {
    // A weight shared by the batch: one product over all rows instead of a sum of products.
    if (r.rank() == 2 && l.rank() > 2 && !tl) {
      auto rows = [&](TensorExpr x) {
        auto dims = x.dims();
        return x.reshapedTo({product(llvm::ArrayRef(dims).drop_back(), getContext()), dims.back()});
      };
      l = rows(l);
      g = rows(g);
    }
    TensorExpr gradient = tr ? matmul(g, l, /*transposeB=*/tl, /*transposeA=*/true) : matmul(l, g, false, /*transposeA=*/!tl);
    gradients[1] = sumTo(gradient, r.type()).get();
  }
  return gradients;
}

/// The padding at the end with which a window that starts at -low covers `in` elements in exactly `out` steps.
template <typename Op>
static llvm::SmallVector<int64_t> padsToFit(Op op, Value wide, Value narrow, Value weight) {
  llvm::SmallVector<int64_t> high = llvm::to_vector(op.getPadsHigh());
  unsigned first = op.getChannelsLast() ? 1 : 2;
  for (unsigned s = 0; s < high.size(); ++s) {
    auto in = constantSize(dimsOf(wide.getType())[first + s]), out = constantSize(dimsOf(narrow.getType())[first + s]);
    auto taps = constantSize(dimsOf(weight.getType())[2 + s]);
    if (in && out && taps)
      high[s] = (*out - 1) * op.getStrides()[s] + (*taps - 1) * op.getDilations()[s] + 1 - *in - op.getPadsLow()[s];
  }
  return high;
}

template <typename Result, typename Op>
static Value convLike(Op op, OpBuilder &b, Type type, Value x, Value w, ArrayRef<int64_t> high) {
  return Result::create(b, op.getLoc(), type, x, w, op.getStrides(), op.getDilations(), op.getPadsLow(), high, op.getGroups(),
                        op.getChannelsLast());
}

Gradients ConvOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  auto high = padsToFit(*this, getX(), grads[0], getWeight());
  llvm::SmallVector<Value> gradients(2);
  if (needs[0])
    gradients[0] = convLike<ConvTransposeOp>(*this, b, getX().getType(), grads[0], getWeight(), high);
  if (needs[1])
    gradients[1] = convLike<ConvWeightGradOp>(*this, b, getWeight().getType(), getX(), grads[0], high);
  return gradients;
}

// Its operand is to its result what a convolution's result is to its operand.
Gradients ConvTransposeOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  auto high = padsToFit(*this, grads[0], getX(), getWeight());
  llvm::SmallVector<Value> gradients(2);
  if (needs[0])
    gradients[0] = convLike<ConvOp>(*this, b, getX().getType(), grads[0], getWeight(), high);
  if (needs[1])
    gradients[1] = convLike<ConvWeightGradOp>(*this, b, getWeight().getType(), grads[0], getX(), high);
  return gradients;
}

Gradients ConvWeightGradOp::buildVjp(OpBuilder &b, ArrayRef<Value> grads, ArrayRef<bool> needs) {
  llvm::SmallVector<Value> gradients(2);
  if (needs[0])
    gradients[0] = convLike<ConvTransposeOp>(*this, b, getX().getType(), getGrad(), grads[0], getPadsHigh());
  if (needs[1])
    gradients[1] = convLike<ConvOp>(*this, b, getGrad().getType(), getX(), grads[0], getPadsHigh());
  return gradients;
}

} // namespace graphc::graph
