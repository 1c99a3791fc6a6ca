// graphc-stage-reductions. Before: a reduction of much to little (a bias's gradient, a loss, a norm of all gradients) is one op. A
// kernel shares out the elements of its result, so one thread would read everything, or each its columns of every row. After: it
// is two, of blocks of rows first and of their results then. Here, because `fuse` may still join what is reduced to the first.
//
//     %b = reduce "sum" %g axes [0, 1, 2]     →     %p = reduce "sum" %g axes [1, 2]      [256, 28, 28, 32] to [256, 32]
//                                                   %b = reduce "sum" %p axes [0]         [256, 32] to [32]
//
// Where only one axis is reduced, it is cut into blocks of equal length. How, sizes alone decide: never the number of threads, so
// that sums have the same bits on every machine.
#include "passes/fuse/Fuse.h"

#include "ir/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

namespace {

constexpr int64_t kLeastElements = 1 << 17; // fewer are read sooner than shared out
constexpr int64_t kMostResults = 1 << 12;   // more are shared out well enough themselves
constexpr int64_t kMostBlocks = 1 << 10, kGoodBlocks = 32;
constexpr int64_t kLeastRows = 16; // of a block, so that what the first stage writes is little beside what it reads

/// The first axis as blocks of a number of its elements; 0 when it has no good divisor.
int64_t blocksOf(int64_t size) {
  for (int64_t blocks = kGoodBlocks; blocks > 1; --blocks)
    if (size % blocks == 0 && size / blocks >= kLeastRows)
      return blocks;
  return 0;
}

struct StageReductions : PassWrapper<StageReductions, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageReductions)
  StringRef getArgument() const final { return "graphc-stage-reductions"; }
  StringRef getDescription() const final { return "reduce much to little in two stages"; }

  void runOnOperation() final {
    SmallVector<graph::ReduceOp> reductions;
    getOperation().walk([&](graph::ReduceOp op) { reductions.push_back(op); });
    for (graph::ReduceOp op : reductions)
      stage(op);
  }

private:
  void stage(graph::ReduceOp op) {
    auto type = cast<RankedTensorType>(op.getX().getType());
    ArrayRef<int64_t> axes = op.getAxes();
    auto *ctx = op.getContext();
    // Narrow floats are summed up in f32: a result in between would be rounded.
    bool exact = !isa<FloatType>(type.getElementType()) || type.getElementTypeBitWidth() >= 32;
    if (!exact || axes.empty() || axes.front() != 0)
      return;
    auto dims = dimsOf(type);
    auto results = constantSize(product(dimsOf(op.getType()), ctx));
    if (!results || *results > kMostResults)
      return;
    int64_t known = 1, behindFirst = 1; // elements, and those reduced for one index of the first axis, as far as known
    for (auto [d, dim] : llvm::enumerate(dims)) {
      int64_t size = constantSize(dim).value_or(1);
      known *= size;
      if (d > 0 && llvm::is_contained(axes, (int64_t)d))
        behindFirst *= size;
    }
    auto first = constantSize(dims[0]);
    if (first && known < kLeastElements)
      return;
    OpBuilder b(op);
    auto reduce = [&](Value x, ArrayRef<int64_t> over, bool keep) -> Value {
      return graph::ReduceOp::create(b, op.getLoc(), x, op.getKind(), over, keep);
    };
    if (axes.size() > 1 && behindFirst >= kLeastRows && first.value_or(1) <= kMostBlocks && first != 1) {
      Value parts = reduce(op.getX(), axes.drop_front(), op.getKeep());
      op.replaceAllUsesWith(reduce(parts, {0}, op.getKeep()));
      op.erase();
      return;
    }
    int64_t blocks = first ? blocksOf(*first) : 0;
    if (!blocks)
      return;
    SmallVector<AffineExpr> cut = dims;
    cut[0] = constantDim(blocks, ctx);
    cut.insert(cut.begin() + 1, constantDim(*first / blocks, ctx));
    Value rows = ReshapeOp::create(b, op.getLoc(), withDims(type, cut), op.getX());
    SmallVector<int64_t> inner = {1};
    for (int64_t axis : axes.drop_front())
      inner.push_back(axis + 1);
    // [blocks, (1,) kept…]: the place of the rows goes, the others stay as the op keeps them.
    Value parts = reduce(rows, inner, op.getKeep());
    if (op.getKeep()) {
      auto flat = dimsOf(parts.getType());
      flat.erase(flat.begin() + 1);
      parts = ReshapeOp::create(b, op.getLoc(), withDims(cast<RankedTensorType>(parts.getType()), flat), parts);
    }
    op.replaceAllUsesWith(reduce(parts, {0}, op.getKeep()));
    op.erase();
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createStageReductionsPass() { return std::make_unique<StageReductions>(); }
