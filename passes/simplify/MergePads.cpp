// Before: a constant pad op in front of a convolution or pool. After: the window op's own pads, so nothing is copied.
// A convolution and an lp_pool see zeros outside, an avg_pool that counts its padding too, a max_pool sees -inf.
//
//     %p = graph.pad %x low [0, 0, 1, 1]
//     %y = graph.conv %p, %w {pads_low = [0, 0], …}      →      %y = graph.conv %x, %w {pads_low = [1, 1], …}
#include "passes/simplify/Simplify.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

/// Spatial padding of a pad op in front of a window op.
struct SpatialPads {
  SmallVector<int64_t> low, high;
};

FailureOr<SpatialPads> spatialPads(PadOp pad, bool channelsLast) {
  auto from = dimsOf(pad.getX().getType()), to = dimsOf(pad.getType());
  int64_t rank = from.size(), channel = channelsLast ? rank - 1 : 1;
  SpatialPads pads;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t low = pad.getLow()[i];
    auto high = constantSize(simplify(to[i] - from[i] - low));
    if (!high || low < 0 || *high < 0)
      return failure();
    if (i == 0 || i == channel) {
      if (low != 0 || *high != 0)
        return failure();
      continue;
    }
    pads.low.push_back(low);
    pads.high.push_back(*high);
  }
  return pads;
}

/// What a window op reads outside its operand.
template <typename Op>
double outsideValue(Op) {
  return std::is_same_v<Op, MaxPoolOp> ? -INFINITY : 0.0;
}

template <typename Op>
struct MergePad : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto pad = op.getX().template getDefiningOp<PadOp>();
    if (!pad)
      return rewriter.notifyMatchFailure(op, "operand is not a pad");
    if (pad.getMode() != "constant" || pad.getValue().convertToDouble() != outsideValue(op))
      return rewriter.notifyMatchFailure(op, "pads with something else than the op reads outside its operand");
    auto pads = spatialPads(pad, op.getChannelsLast());
    if (failed(pads)) {
      remark::missed(op.getLoc(), remark::RemarkOpts::name("MergePads").category("simplify"))
          << remark::reason("the pad before {0} crops, pads batch or channels, or has a size known at run time only",
                            op->getName().getStringRef());
      return rewriter.notifyMatchFailure(op, "pad is not purely spatial and constant");
    }
    if constexpr (std::is_same_v<Op, AvgPoolOp>) {
      auto isZero = [](int64_t p) { return p == 0; };
      bool ownPads = !llvm::all_of(op.getPadsLow(), isZero) || !llvm::all_of(op.getPadsHigh(), isZero);
      if (ownPads && !op.getCountPad())
        return rewriter.notifyMatchFailure(op, "averages over the pad op's zeros but not over its own");
    }
    SmallVector<int64_t> low(op.getPadsLow()), high(op.getPadsHigh());
    for (unsigned i = 0; i < low.size(); ++i) {
      low[i] += pads->low[i];
      high[i] += pads->high[i];
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getXMutable().assign(pad.getX());
      op.setPadsLow(low);
      op.setPadsHigh(high);
      if constexpr (std::is_same_v<Op, AvgPoolOp>)
        op.setCountPad(true);
    });
    return success();
  }
};

} // namespace

void populateMergePadsPatterns(RewritePatternSet &patterns) {
  patterns.add<MergePad<ConvOp>, MergePad<MaxPoolOp>, MergePad<AvgPoolOp>, MergePad<LpPoolOp>>(patterns.getContext());
}

} // namespace graphc
