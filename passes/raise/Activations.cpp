// gelu, silu and sigmoid. Exporters multiply the factors of a gelu in any order, so it is matched as a product: half, x,
// and a gate 1 + erf(x / √2) or 1 + tanh(√(2/π) (x + 0.044715 x³)).
#include "passes/raise/Match.h"
#include "passes/raise/Raise.h"

using namespace mlir;
using namespace graphc::graph;
using namespace graphc::raise;

namespace graphc {
namespace {

constexpr double kRootOfHalf = 0.7071067811865476, kRootOf2OverPi = 0.7978845608028654, kCubic = 0.044715;

/// u = x / √2: x.
Value erfArgument(Value u) {
  for (Value x : productNodes(u))
    if (auto product = productOver(u, {x}); product && product->is(kRootOfHalf, {1}))
      return x;
  return nullptr;
}

/// u = √(2/π) (x + 0.044715 x³), or √(2/π) x (1 + 0.044715 x²): x.
Value tanhArgument(Value u) {
  for (Value sum : productNodes(u)) {
    auto add = sum.getDefiningOp<AddOp>();
    if (!add)
      continue;
    for (auto [x, cube] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
      auto outer = productOver(u, {sum});
      auto inner = productOver(cube, {x});
      if (outer && outer->is(kRootOf2OverPi, {1}) && inner && inner->is(kCubic, {3}))
        return x;
    }
    auto plusOne = plusConstant(sum);
    if (!plusOne || plusOne->second != 1)
      continue;
    for (Value x : productNodes(plusOne->first)) {
      auto outer = productOver(u, {x, sum});
      auto inner = productOver(plusOne->first, {x});
      if (outer && outer->is(kRootOf2OverPi, {1, 1}) && inner && inner->is(kCubic, {2}))
        return x;
    }
  }
  return nullptr;
}

struct RaiseGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (Value gate : productNodes(op.getResult())) {
      auto plusOne = plusConstant(gate);
      if (!plusOne || plusOne->second != 1)
        continue;
      Value x;
      auto tanh = plusOne->first.getDefiningOp<TanhOp>();
      if (tanh)
        x = tanhArgument(tanh.getX());
      else if (auto erf = plusOne->first.getDefiningOp<ErfOp>())
        x = erfArgument(erf.getX());
      if (!x || x.getType() != op.getType())
        continue;
      auto product = productOver(op.getResult(), {x, gate});
      if (!product || !product->is(0.5, {1, 1}))
        continue;
      rewriter.replaceOpWithNewOp<GeluOp>(op, x, /*tanh=*/static_cast<bool>(tanh));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not 0.5 · x · (1 + erf(x/√2)), nor its approximation by tanh");
  }
};

/// 1 / (1 + exp(-x)): x.
Value logisticArgument(Value denominator) {
  auto plusOne = plusConstant(denominator);
  auto e = plusOne && plusOne->second == 1 ? plusOne->first.getDefiningOp<ExpOp>() : ExpOp();
  if (!e)
    return nullptr;
  for (Value x : productNodes(e.getX()))
    if (auto product = productOver(e.getX(), {x}); product && product->coefficient == -1 && product->powers[0] == 1)
      return x;
  return nullptr;
}

template <typename Root>
struct RaiseSigmoid : OpRewritePattern<Root> {
  using OpRewritePattern<Root>::OpRewritePattern;
  LogicalResult matchAndRewrite(Root op, PatternRewriter &rewriter) const override {
    Value denominator = op->getOperands().back();
    if (op->getNumOperands() == 2 && !isUniform(op->getOperand(0), 1))
      return rewriter.notifyMatchFailure(op, "the dividend is not 1");
    Value x = logisticArgument(denominator);
    if (!x || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "the divisor is not 1 + exp(-x)");
    rewriter.replaceOpWithNewOp<SigmoidOp>(op, x);
    return success();
  }
};

struct RaiseSilu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [x, gate] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (auto sigmoid = gate.getDefiningOp<SigmoidOp>(); sigmoid && sigmoid.getX() == x) {
        rewriter.replaceOpWithNewOp<SiluOp>(op, x);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "not x · sigmoid(x)");
  }
};

} // namespace

void populateActivationRaising(RewritePatternSet &patterns) {
  patterns.add<RaiseGelu, RaiseSilu, RaiseSigmoid<DivOp>, RaiseSigmoid<ReciprocalOp>>(patterns.getContext());
}

} // namespace graphc
