// graphc-control. Before: if, while and scan as programs and gradient rules wrote them. After:
//   - an if whose condition is a literal is the body it takes
//   - a scan of few iterations is written out, when that stays small: slices become views, stacks concatenations
//   - what does not change in a loop is computed once, in front of it
//   - a small product in a loop of which only parts are read (the gates of a cell) is one product for each part, which `fuse` joins
//     with what reads it
//   - results that nobody reads are not computed
// Before `simplify` folds what becomes visible, and before `fuse`, which does not look across bodies.
//
//     %r = graph.scan <[1]> carry(%h) over(%xs) {            %x = graph.reshape %xs
//     ^bb0(%c, %x):                                    →     %r = graph.add %h, %x
//       %n = graph.add %c, %x
//       graph.yield %n
//     }
#include "passes/control/Control.h"
#include "ir/graph/Control.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

constexpr int64_t kMaxTrips = 16;
/// Ops of a scan that is written out.
constexpr int64_t kMaxOps = 160;
/// A product that is split: terms of a result, columns.
constexpr int64_t kMaxSplitDepth = 32, kMaxSplitColumns = 128;

int64_t opsIn(Region &region) {
  int64_t count = 0;
  region.walk([&](Operation *) { ++count; });
  return count;
}

/// The ops of `body` in front of `at`, for these arguments; what they yield.
SmallVector<Value> inlineBody(OpBuilder &b, Block &body, ValueRange arguments) {
  IRMapping map;
  map.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    b.clone(op, map);
  return llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) { return map.lookupOrDefault(v); });
}

struct ControlPass : PassWrapper<ControlPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ControlPass)
  StringRef getArgument() const final { return "graphc-control"; }
  StringRef getDescription() const final { return "decide branches, write out short scans, hoist what loops repeat"; }

  void runOnOperation() final {
    // Inner ops first: what is written out inside counts for what is around it. An op that is replaced is never visited again.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isControl(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (op->use_empty()) {
        op->erase();
        continue;
      }
      if (auto branch = dyn_cast<IfOp>(op); branch && decide(branch))
        continue;
      if (!isa<WhileOp, ScanOp>(op))
        continue;
      hoist(op);
      auto scan = dyn_cast<ScanOp>(op);
      if (scan && writeOut(scan = dropUnread(scan)))
        continue;
      for (auto product : llvm::make_early_inc_range((scan ? scan.getBody() : op->getRegion(0)).front().getOps<MatmulOp>()))
        splitProduct(product);
    }
  }

  static bool decide(IfOp op) {
    auto literal = op.getCondition().getDefiningOp<ConstantOp>();
    auto elements = literal ? dyn_cast<DenseElementsAttr>(literal.getValue()) : DenseElementsAttr();
    if (!elements)
      return false;
    OpBuilder b(op);
    Region &taken = elements.getSplatValue<bool>() ? op.getThenBody() : op.getElseBody();
    op->replaceAllUsesWith(inlineBody(b, taken.front(), {}));
    op->erase();
    return true;
  }

  /// Ops of the body whose operands all come from outside. Not those with bodies, which may take long and never run.
  static void hoist(Operation *loop) {
    Region &body = loop->getRegion(0);
    for (Operation &op : llvm::make_early_inc_range(body.front().without_terminator())) {
      if (op.getNumRegions() || !isPure(&op))
        continue;
      if (llvm::all_of(op.getOperands(), [&](Value v) { return v.getParentRegion() != &body; }))
        op.moveBefore(loop);
    }
  }

  /// A scan without the stacks that nobody reads.
  static ScanOp dropUnread(ScanOp op) {
    SmallVector<unsigned> read;
    SmallVector<Type> slices;
    unsigned carried = op.getNumCarried();
    Operation *yield = op.getBody().front().getTerminator();
    for (auto [i, stacked] : llvm::enumerate(op.getStacked()))
      if (!stacked.use_empty()) {
        read.push_back(i);
        slices.push_back(yield->getOperand(carried + i).getType());
      }
    if (read.size() == op.getStacked().size())
      return op;
    OpBuilder b(op);
    auto fresh = ScanOp::create(b, op.getLoc(), op.getCount(), op.getInits(), op.getScanned(), slices, op.getReverse());
    fresh->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    SmallVector<Value> yielded(yield->getOperands().take_front(carried));
    for (unsigned i : read)
      yielded.push_back(yield->getOperand(carried + i));
    yield->setOperands(yielded);
    fresh.getBody().takeBody(op.getBody());
    for (unsigned i = 0; i < carried; ++i)
      op.getResult(i).replaceAllUsesWith(fresh.getResult(i));
    for (auto [n, i] : llvm::enumerate(read))
      op.getResult(carried + i).replaceAllUsesWith(fresh.getResult(carried + n));
    op->erase();
    return fresh;
  }

  /// A product whose every reader takes a part of its columns: one product with those columns for each.
  static void splitProduct(MatmulOp op) {
    auto dims = dimsOf(op.getType());
    auto depth = constantSize(op.depth()), columns = constantSize(dims.back());
    unsigned last = dims.size() - 1;
    if (!depth || !columns || *depth > kMaxSplitDepth || *columns > kMaxSplitColumns || op.getTransposeRhs() ||
        op.getRhs().getParentRegion() == op->getParentRegion() || dimsOf(op.getRhs().getType()).size() != 2)
      return;
    for (Operation *user : op->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      auto kept = slice ? dimsOf(slice.getType()) : dims;
      if (!slice || slice->getBlock() != op->getBlock() || !constantSize(slice.getStarts().getDims()[last]) || slice.getSteps()[last] != 1 || kept.back() == dims.back() ||
          ArrayRef(kept).drop_back() != ArrayRef(dims).drop_back())
        return;
    }
    auto *ctx = op.getContext();
    SmallVector<Operation *> users(op->getUsers());
    llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *user : users) {
      auto slice = cast<SliceOp>(user);
      OpBuilder outside(op->getParentOp()), b(slice);
      SmallVector<AffineExpr> starts{constantDim(0, ctx), slice.getStarts().getDims()[last]};
      SmallVector<AffineExpr> part{dimsOf(op.getRhs().getType())[0], dimsOf(slice.getType()).back()};
      Value weights = SliceOp::create(outside, op.getLoc(), withDims(op.getRhs().getType(), part), op.getRhs(), DimsAttr::get(ctx, starts),
                                      b.getDenseI64ArrayAttr({1, 1}));
      auto product = cast<MatmulOp>(b.clone(*op));
      product.getRhsMutable().assign(weights);
      product.getResult().setType(cast<RankedTensorType>(slice.getType()));
      slice.getResult().replaceAllUsesWith(product.getResult());
      slice.erase();
    }
    op.erase();
  }

  static bool writeOut(ScanOp op) {
    auto trips = constantSize(op.getCount());
    if (!trips || *trips < 1 || *trips > kMaxTrips || *trips * opsIn(op.getBody()) > kMaxOps)
      return false;
    OpBuilder b(op);
    Location loc = op.getLoc();
    SmallVector<Value> carried(op.getInits());
    std::vector<SmallVector<Value>> slices(op.getStacked().size(), SmallVector<Value>(*trips));
    for (int64_t trip = 0; trip < *trips; ++trip) {
      int64_t at = op.getReverse() ? *trips - 1 - trip : trip;
      SmallVector<Value> arguments = carried;
      for (Value scanned : op.getScanned())
        arguments.push_back(sliceAt(b, loc, scanned, at));
      auto yielded = inlineBody(b, op.getBody().front(), arguments);
      carried.assign(yielded.begin(), yielded.begin() + carried.size());
      for (auto [i, slice] : llvm::enumerate(ArrayRef(yielded).drop_front(carried.size()))) {
        auto dims = dimsOf(slice.getType());
        dims.insert(dims.begin(), constantDim(1, b.getContext()));
        slices[i][at] = ReshapeOp::create(b, loc, withDims(slice.getType(), dims), slice);
      }
    }
    for (auto [result, value] : llvm::zip_equal(op.getFinals(), carried))
      result.replaceAllUsesWith(value);
    for (auto [stacked, parts] : llvm::zip_equal(op.getStacked(), slices))
      stacked.replaceAllUsesWith(parts.size() == 1 ? parts[0] : ConcatOp::create(b, loc, parts, 0).getResult());
    op->erase();
    return true;
  }

  static Value sliceAt(OpBuilder &b, Location loc, Value stack, int64_t at) {
    auto dims = dimsOf(stack.getType());
    auto *ctx = b.getContext();
    Value row = stack;
    if (!isSize(dims[0], 1)) {
      SmallVector<AffineExpr> starts(dims.size(), constantDim(0, ctx));
      starts[0] = constantDim(at, ctx);
      dims[0] = constantDim(1, ctx);
      row = SliceOp::create(b, loc, withDims(stack.getType(), dims), stack, DimsAttr::get(ctx, starts),
                            b.getDenseI64ArrayAttr(SmallVector<int64_t>(dims.size(), 1)));
    }
    return ReshapeOp::create(b, loc, sliceType(stack.getType()), row);
  }
};
} // namespace

std::unique_ptr<Pass> createControlPass() { return std::make_unique<ControlPass>(); }
void registerControlPass() { registerPass(createControlPass); }

} // namespace graphc
