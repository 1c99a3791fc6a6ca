// Gathers and scatters whose indices are constants in arithmetic sequence: slices and concats, which cost a view or one
// copy. Exporters write rolled windows, splits and cache updates this way.
//
//     gather(x, [2, 3, 4]) → slice(x, 2..5)
//     scatter_nd(x, [[2], [3]], u) → concat(slice(x, 0..2), u, slice(x, 4..))
#include "passes/simplify/Patterns.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

/// values[i] = first + i * step
struct Sequence {
  int64_t first, step;
};

std::optional<Sequence> sequenceOf(ArrayRef<int64_t> values) {
  if (values.empty())
    return std::nullopt;
  Sequence s{values[0], values.size() > 1 ? values[1] - values[0] : 1};
  if (s.step == 0)
    return std::nullopt;
  for (auto [i, v] : llvm::enumerate(values))
    if (v != s.first + (int64_t)i * s.step)
      return std::nullopt;
  return s;
}

struct GatherSequence : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    auto indices = integersOf(op.getIndices());
    if (!indices)
      return rewriter.notifyMatchFailure(op, "indices are no constants");
    auto dims = dimsOf(op.getX().getType());
    int64_t axis = op.getAxis();
    auto size = constantSize(dims[axis]);
    // Without a known size, only the first and the last element are known to exist.
    AffineExpr start;
    std::optional<Sequence> sequence;
    if (size) {
      for (int64_t &i : *indices) {
        i += i < 0 ? *size : 0;
        if (i < 0 || i >= *size)
          return rewriter.notifyMatchFailure(op, "an index is out of range: left to be reported at run time");
      }
      sequence = sequenceOf(*indices);
      if (sequence)
        start = constantDim(sequence->first, op.getContext());
    } else if (indices->size() == 1 && (indices->front() == 0 || indices->front() == -1)) {
      sequence = Sequence{0, 1};
      start = indices->front() == 0 ? constantDim(0, op.getContext()) : simplify(dims[axis] - 1);
    }
    if (!sequence)
      return rewriter.notifyMatchFailure(op, "indices are in no arithmetic sequence");
    SmallVector<AffineExpr> starts(dims.size(), constantDim(0, op.getContext())), sizes = dims;
    SmallVector<int64_t> steps(dims.size(), 1);
    starts[axis] = start;
    steps[axis] = sequence->step;
    sizes[axis] = constantDim(indices->size(), op.getContext());
    Value slice = SliceOp::create(rewriter, op.getLoc(), withDims(op.getX().getType(), sizes), op.getX(),
                                  DimsAttr::get(op.getContext(), starts), steps);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), slice);
    return success();
  }
};

/// A box of indices: [first, first + size) in each indexed dim.
struct Box {
  SmallVector<int64_t> first, size;
};

/// Rows of indices that enumerate a box, the last dim fastest.
std::optional<Box> boxOf(ArrayRef<int64_t> rows, int64_t depth) {
  int64_t count = rows.size() / depth;
  if (count == 0)
    return std::nullopt;
  Box box;
  int64_t total = 1;
  for (int64_t d = 0; d < depth; ++d) {
    int64_t lowest = rows[d], highest = rows[(count - 1) * depth + d];
    if (highest < lowest)
      return std::nullopt;
    box.first.push_back(lowest);
    box.size.push_back(highest - lowest + 1);
    total *= box.size.back();
  }
  if (total != count)
    return std::nullopt;
  SmallVector<int64_t> expected = box.first;
  for (int64_t row = 0; row < count; ++row) {
    if (ArrayRef(rows).slice(row * depth, depth) != ArrayRef(expected))
      return std::nullopt;
    for (int64_t d = depth - 1; d >= 0 && ++expected[d] == box.first[d] + box.size[d]; --d)
      expected[d] = box.first[d];
  }
  return box;
}

struct ScatterBox : OpRewritePattern<ScatterNDOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterNDOp op, PatternRewriter &rewriter) const override {
    auto indices = integersOf(op.getIndices());
    if (!indices || op.getReduction() != "none")
      return rewriter.notifyMatchFailure(op, "indices are no constants, or updates accumulate");
    auto dims = dimsOf(op.getX().getType());
    auto depth = constantSize(dimsOf(op.getIndices().getType()).back());
    if (!depth || *depth < 1)
      return rewriter.notifyMatchFailure(op, "indices are empty");
    for (auto [i, index] : llvm::enumerate(*indices)) {
      auto size = constantSize(dims[i % *depth]);
      if (!size)
        return rewriter.notifyMatchFailure(op, "an indexed dim has no known size");
      index += index < 0 ? *size : 0;
      if (index < 0 || index >= *size)
        return rewriter.notifyMatchFailure(op, "an index is out of range: left to be reported at run time");
    }
    auto box = boxOf(*indices, *depth);
    if (!box)
      return rewriter.notifyMatchFailure(op, "indices enumerate no box");
    SmallVector<AffineExpr> sizes = dims;
    for (int64_t d = 0; d < *depth; ++d)
      sizes[d] = constantDim(box->size[d], op.getContext());
    Value updates = ReshapeOp::create(rewriter, op.getLoc(), withDims(op.getType(), sizes), op.getUpdates());
    // From the innermost indexed dim outwards: put what surrounds the box back around it.
    for (int64_t d = *depth - 1; d >= 0; --d)
      updates = surrounded(rewriter, op, updates, *box, d);
    if (updates.getType() != op.getType())
      updates = ReshapeOp::create(rewriter, op.getLoc(), op.getType(), updates);
    rewriter.replaceOp(op, updates);
    return success();
  }

  /// `inner` covers the box in dims up to `d` and everything after; the result covers all of dim `d`.
  static Value surrounded(PatternRewriter &rewriter, ScatterNDOp op, Value inner, const Box &box, unsigned d) {
    auto dims = dimsOf(op.getX().getType());
    int64_t size = *constantSize(dims[d]), first = box.first[d], end = first + box.size[d];
    SmallVector<Value> parts;
    auto addPart = [&](int64_t from, int64_t to) {
      if (from == to)
        return;
      auto *ctx = op.getContext();
      SmallVector<AffineExpr> starts(dims.size(), constantDim(0, ctx)), sizes = dims;
      for (unsigned k = 0; k < d; ++k) {
        starts[k] = constantDim(box.first[k], ctx);
        sizes[k] = constantDim(box.size[k], ctx);
      }
      starts[d] = constantDim(from, ctx);
      sizes[d] = constantDim(to - from, ctx);
      parts.push_back(SliceOp::create(rewriter, op.getLoc(), withDims(op.getType(), sizes), op.getX(),
                                      DimsAttr::get(ctx, starts), SmallVector<int64_t>(dims.size(), 1)));
    };
    addPart(0, first);
    parts.push_back(inner);
    addPart(end, size);
    return parts.size() == 1 ? inner : Value(ConcatOp::create(rewriter, op.getLoc(), parts, (int64_t)d));
  }
};

} // namespace

void populateIndexingPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherSequence, ScatterBox>(patterns.getContext());
}

} // namespace graphc
