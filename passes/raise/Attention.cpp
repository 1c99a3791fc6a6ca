// softmax(q kᵀ · scale + mask) v. PyTorch's exporter multiplies q and kᵀ by √scale each, flattens the batch around the
// transposition of k, and replaces NaN probabilities (rows in which everything is masked) by 0; networks of shifted windows add a
// second mask around a reshape. All of it is understood.
// Intermediate values that somebody else reads keep the program as it is.
#include "passes/raise/Match.h"
#include "passes/raise/Raise.h"

using namespace mlir;
using namespace graphc::graph;
using namespace graphc::raise;

namespace graphc {
namespace {

int64_t rankOf(Value v) { return cast<RankedTensorType>(v.getType()).getRank(); }

/// `v` with its last two dims swapped; combined with a transposition that made it.
Value withLastTwoSwapped(Value v, PatternRewriter &rewriter) {
  Location loc = v.getLoc();
  // A reshape that touches the batch dims only, around a transposition, is put outside.
  if (auto reshape = v.getDefiningOp<ReshapeOp>())
    if (auto inner = reshape.getX().getDefiningOp<TransposeOp>()) {
      auto outer = dimsOf(reshape.getType()), sizes = dimsOf(inner.getType());
      if (outer.size() >= 2 && sizes.size() >= 2 && llvm::ArrayRef(outer).take_back(2) == llvm::ArrayRef(sizes).take_back(2)) {
        std::swap(outer[outer.size() - 1], outer[outer.size() - 2]);
        Value swapped = withLastTwoSwapped(inner, rewriter);
        return ReshapeOp::create(rewriter, loc, withDims(reshape.getType(), outer), swapped);
      }
    }
  llvm::SmallVector<int64_t> perm;
  Value from = v;
  if (auto transpose = v.getDefiningOp<TransposeOp>()) {
    perm.assign(transpose.getPerm().begin(), transpose.getPerm().end());
    from = transpose.getX();
  } else {
    for (int64_t i = 0; i < rankOf(v); ++i)
      perm.push_back(i);
  }
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return llvm::is_sorted(perm) ? from : TransposeOp::create(rewriter, loc, from, perm).getResult();
}

struct Scores {
  MatmulOp matmul;
  Value mask; // added, or a condition to keep
  Value windowMask; // added too, perhaps with a batch of 1 in front
  double scale = 1;
};

/// matmul · scale, with every value on the way read only here.
std::optional<Scores> scaledMatmul(Value v, Value mask) {
  Scores scores;
  scores.mask = mask;
  Value inner = withoutScale(v, scores.scale);
  scores.matmul = inner.getDefiningOp<MatmulOp>();
  if (!scores.matmul || scores.matmul.getTransposeLhs())
    return std::nullopt;
  for (Value w = v; w != inner; w = w.getDefiningOp()->getOperand(uniformValue(w.getDefiningOp()->getOperand(0)) ? 1 : 0))
    if (!w.hasOneUse())
      return std::nullopt;
  return inner.hasOneUse() ? std::optional(scores) : std::nullopt;
}

std::optional<Scores> maskedMatmul(Value v) {
  if (auto scores = scaledMatmul(v, nullptr))
    return scores;
  std::optional<Scores> found;
  if (!v.hasOneUse())
    return found;
  inEitherOrder<AddOp>(v, [&](Value product, Value mask) {
    if (product.getType() == v.getType())
      found = scaledMatmul(product, mask);
    return found.has_value();
  });
  if (auto select = v.getDefiningOp<SelectOp>(); select && isUniform(select.getRhs(), -INFINITY) && select.getLhs().getType() == v.getType())
    found = scaledMatmul(select.getLhs(), select.getCondition());
  return found;
}

/// With a second mask: reshape(reshape(masked product, [1, …]) + windowMask).
std::optional<Scores> scoresOf(Value v) {
  if (auto scores = maskedMatmul(v))
    return scores;
  std::optional<Scores> found;
  auto merge = v.getDefiningOp<ReshapeOp>();
  if (!merge || !v.hasOneUse() || !merge.getX().hasOneUse())
    return found;
  auto dims = dimsOf(v.getType());
  inEitherOrder<AddOp>(merge.getX(), [&](Value windows, Value mask) {
    auto split = windows.getDefiningOp<ReshapeOp>();
    auto sizes = dimsOf(windows.getType());
    bool batchOfOne = split && split.getX().getType() == v.getType() && sizes.size() == dims.size() + 1 && isSize(sizes[0], 1) &&
                      llvm::ArrayRef(sizes).drop_front() == llvm::ArrayRef(dims);
    if (!batchOfOne || !windows.hasOneUse() || merge.getX().getType() != windows.getType() || rankOf(mask) < rankOf(windows) - 1)
      return false;
    found = maskedMatmul(split.getX());
    if (found && found->mask && cast<RankedTensorType>(found->mask.getType()).getElementType().isInteger(1))
      found.reset(); // a condition is not added to
    if (found)
      found->windowMask = mask;
    return found.has_value();
  });
  return found;
}

struct RaiseAttention : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    if (op.getTransposeLhs() || op.getTransposeRhs())
      return rewriter.notifyMatchFailure(op, "an operand is transposed");
    // Probabilities, perhaps with NaN replaced by 0.
    Value probabilities = op.getLhs();
    auto guard = probabilities.getDefiningOp<SelectOp>();
    IsNaNOp isNaN = guard ? guard.getCondition().getDefiningOp<IsNaNOp>() : IsNaNOp();
    bool guarded = isNaN && isNaN.getX() == guard.getRhs() && isUniform(guard.getLhs(), 0) && guard->hasOneUse() &&
                   isNaN->hasOneUse();
    if (guarded)
      probabilities = guard.getRhs();
    auto softmax = probabilities.getDefiningOp<SoftmaxOp>();
    if (!softmax || int64_t(softmax.getAxis()) != rankOf(softmax) - 1)
      return rewriter.notifyMatchFailure(op, "the left operand is not a softmax along its last dim");
    if (llvm::range_size(softmax->getUses()) != (guarded ? 2 : 1))
      return rewriter.notifyMatchFailure(op, "the probabilities are read elsewhere");
    auto scores = scoresOf(softmax.getX());
    if (!scores)
      return rewriter.notifyMatchFailure(op, "the softmax is not of a scaled (and masked) matrix product that is read only there");

    double scale = scores->scale;
    Value query = withoutScale(scores->matmul.getLhs(), scale), value = op.getRhs();
    Value keys = withoutScale(scores->matmul.getRhs(), scale);
    auto batchOf = [](Value v) {
      auto dims = dimsOf(v.getType());
      dims.resize(dims.size() - 2);
      return dims;
    };
    if (batchOf(query) != batchOf(keys) || batchOf(query) != batchOf(value))
      return rewriter.notifyMatchFailure(op, "batch dims of query, key and value differ");
    // The window mask's batch of 1 is dropped below.
    for (Value mask : {scores->mask, scores->windowMask}) {
      if (!mask)
        continue;
      auto dims = dimsOf(mask.getType());
      llvm::ArrayRef<AffineExpr> sizes = dims;
      if (mask == scores->windowMask && int64_t(sizes.size()) > rankOf(softmax))
        sizes = isSize(sizes[0], 1) ? sizes.drop_front() : sizes;
      auto joined = broadcastDims(dimsOf(softmax.getType()), sizes);
      if (!joined || *joined != dimsOf(softmax.getType()))
        return rewriter.notifyMatchFailure(op, "the mask does not broadcast to the scores");
    }
    if (Value window = scores->windowMask; window && rankOf(window) > rankOf(softmax)) {
      auto dims = dimsOf(window.getType());
      scores->windowMask = ReshapeOp::create(rewriter, window.getLoc(), withDims(window.getType(), llvm::ArrayRef(dims).drop_front()), window);
    }
    if (scores->mask && scores->windowMask)
      scores->mask = AddOp::create(rewriter, op.getLoc(), scores->mask, scores->windowMask);
    else if (scores->windowMask)
      scores->mask = scores->windowMask;
    Value key = scores->matmul.getTransposeRhs() ? keys : withLastTwoSwapped(keys, rewriter);
    rewriter.replaceOpWithNewOp<AttentionOp>(op, query, key, value, scores->mask, llvm::APFloat(scale), guarded);
    return success();
  }
};

} // namespace

void populateAttentionRaising(RewritePatternSet &patterns) { patterns.add<RaiseAttention>(patterns.getContext()); }

} // namespace graphc
