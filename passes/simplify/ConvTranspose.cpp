// A transposed convolution of stride 1 is a convolution with the filters turned round and their channels exchanged: what
// libraries and kernels have the better code for. So the gradient of a convolution's operand becomes a convolution.
//
//     conv_transpose(x, w) {pads = p}     →     conv(x, reverse(exchange(w))) {pads = dilation · (taps - 1) - p}
#include "passes/simplify/Patterns.h"
#include "ir/graph/TensorExpr.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

/// [I, O / groups, window…] as [O, I / groups, window…], each filter from its end.
TensorExpr turnedFilters(TensorExpr w, int64_t groups) {
  auto dims = w.dims();
  int64_t rank = w.rank();
  auto *ctx = w.ops().getContext();
  SmallVector<AffineExpr> starts(2, constantDim(0, ctx));
  SmallVector<int64_t> steps(2, 1), exchange = {1, 0};
  for (int64_t d = 2; d < rank; ++d) {
    starts.push_back(simplify(dims[d] - 1));
    steps.push_back(-1);
    exchange.push_back(d);
  }
  TensorExpr reversed = w.with(SliceOp::create(w.ops(), w.location(), w.type(), w.get(), DimsAttr::get(ctx, starts), steps));
  if (groups == 1)
    return reversed.transposed(exchange);
  // Channels are exchanged in each group.
  SmallVector<AffineExpr> split = dims, joined = dims;
  split[0] = simplify(dims[0].floorDiv(groups));
  split.insert(split.begin(), constantDim(groups, ctx));
  joined[0] = simplify(dims[1] * groups);
  joined[1] = simplify(dims[0].floorDiv(groups));
  for (int64_t &d : exchange)
    ++d;
  exchange.insert(exchange.begin(), 0);
  return reversed.reshapedTo(split).transposed(exchange).reshapedTo(joined);
}

struct ConvTransposeOfStrideOne : OpRewritePattern<ConvTransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvTransposeOp op, PatternRewriter &rewriter) const override {
    auto from = dimsOf(op.getX().getType()), to = dimsOf(op.getType()), weight = dimsOf(op.getWeight().getType());
    unsigned first = op.getChannelsLast() ? 1 : 2;
    SmallVector<int64_t> low, high;
    for (unsigned s = 0; s + 2 < from.size(); ++s) {
      auto taps = constantSize(weight[2 + s]), grows = constantSize(simplify(to[first + s] - from[first + s]));
      if (op.getStrides()[s] != 1 || !taps || !grows)
        return rewriter.notifyMatchFailure(op, "spreads its operand, or by how much is not known");
      int64_t reach = op.getDilations()[s] * (*taps - 1);
      low.push_back(reach - op.getPadsLow()[s]);
      high.push_back(*grows + reach - low.back());
      if (low.back() < 0 || high.back() < 0)
        return rewriter.notifyMatchFailure(op, "cuts more than a filter reaches");
    }
    TensorExpr filters = turnedFilters(TensorExpr(rewriter, op.getLoc(), op.getWeight()), op.getGroups());
    auto conv = ConvOp::create(rewriter, op.getLoc(), op.getType(), op.getX(), filters.get(), op.getStrides(), op.getDilations(), low, high,
                               op.getGroups(), op.getChannelsLast());
    rewriter.replaceOp(op, conv);
    return success();
  }
};

} // namespace

void populateConvTransposePatterns(RewritePatternSet &patterns) { patterns.add<ConvTransposeOfStrideOne>(patterns.getContext()); }

} // namespace graphc
