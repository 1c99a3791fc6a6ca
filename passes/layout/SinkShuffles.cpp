// graphc-sink-shuffles. Before: a channel shuffle in front of a depthwise convolution, as grouped networks spell it. After: the
// shuffle behind the convolution and the bias, whose weights are shuffled once instead. Here, because channels are last now and
// the next grouped convolution, a generated kernel, reads shuffled channels in place (fuse).
//
//     %s = shuffle %x                          %y = conv %x, (unshuffle %w)      (the weights' shuffles: prepared)
//     %y = conv %s, %w {groups = C}     →      %z = add %y, (unshuffle %bias)
//     %z = add %y, %bias                       %s = shuffle %z
#include "passes/layout/Layout.h"
#include "passes/simplify/ChannelShuffle.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

namespace {

struct BehindDepthwise : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &rewriter) const override {
    auto weight = dimsOf(op.getWeight().getType());
    if (!op.getChannelsLast() || !isSize(weight[0], op.getGroups()) || !isSize(weight[1], 1) || !dependsOnWeightsOnly(op.getWeight()))
      return rewriter.notifyMatchFailure(op, "is no depthwise convolution of weights with channels last");
    auto shuffle = channelShuffleOf(op.getX());
    if (!shuffle)
      return rewriter.notifyMatchFailure(op, "does not read a channel shuffle");
    // Channel b * outer + a of the result is channel a * inner + b now: the weights take the way back.
    Value moved = shuffleChannels(rewriter, op.getLoc(), op.getWeight(), 0, shuffle->inner, shuffle->outer);
    auto before = cast<ConvOp>(rewriter.clone(*op));
    rewriter.modifyOpInPlace(before, [&] { before->setOperands({shuffle->source, moved}); });
    int64_t last = dimsOf(op.getType()).size() - 1;
    rewriter.replaceOp(op, shuffleChannels(rewriter, op.getLoc(), before.getResult(), last, shuffle->outer, shuffle->inner));
    return success();
  }
};

/// op(shuffle(x), per-channel weights) becomes shuffle(op(x, …)).
struct BehindElementwise : OpInterfaceRewritePattern<Elementwise> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(Elementwise op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    std::optional<ChannelShuffle> shuffle;
    for (Value operand : op->getOperands())
      if (auto found = channelShuffleOf(operand)) {
        if (shuffle)
          return rewriter.notifyMatchFailure(op, "reads two shuffles");
        shuffle = found;
      }
    // Only behind a convolution: what was in front of one goes behind it as a whole.
    auto behind = [](Value v) {
      Operation *def = v.getDefiningOp();
      return def && (isa<ConvOp>(def) || (isa<Elementwise>(def) && def->getNumOperands() > 0 && isa_and_nonnull<ConvOp>(def->getOperand(0).getDefiningOp())));
    };
    if (!shuffle || !behind(shuffle->source) || dimsOf(shuffle->source.getType()) != dimsOf(type))
      return rewriter.notifyMatchFailure(op, "reads no shuffle behind a convolution");
    int64_t last = type.getRank() - 1;
    for (Value operand : op->getOperands())
      if (!channelShuffleOf(operand) && !(dependsOnWeightsOnly(operand) && variesOnlyAlong(operand, last, type.getRank())))
        return rewriter.notifyMatchFailure(op, "has an operand that is no per-channel weight");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto dims = dimsOf(operand.getType());
      if (channelShuffleOf(operand))
        operands.push_back(shuffle->source);
      else if (dims.empty() || isSize(dims.back(), 1))
        operands.push_back(operand);
      else
        operands.push_back(shuffleChannels(rewriter, op.getLoc(), operand, dims.size() - 1, shuffle->inner, shuffle->outer));
    }
    Operation *before = rewriter.clone(*op);
    rewriter.modifyOpInPlace(before, [&] { before->setOperands(operands); });
    rewriter.replaceOp(op, shuffleChannels(rewriter, op.getLoc(), before->getResult(0), last, shuffle->outer, shuffle->inner));
    return success();
  }
};

struct SinkShuffles : PassWrapper<SinkShuffles, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkShuffles)
  StringRef getArgument() const final { return "graphc-sink-shuffles"; }
  StringRef getDescription() const final { return "channel shuffles go behind depthwise convolutions"; }
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<BehindDepthwise, BehindElementwise>(&getContext());
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createSinkShufflesPass() { return std::make_unique<SinkShuffles>(); }
