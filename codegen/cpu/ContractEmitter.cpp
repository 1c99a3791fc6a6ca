// The contracting strategy: a unit of the outer range is a tile of points of the second last dim with all lanes of the last. Each
// point (and each position of a pooling window around the sum) has an accumulator of `lanes` elements in registers; one
// step of the sum loads what the lanes differ in once per tile, and the rest once per point, and adds the products by
// fused multiply-adds. What follows the sum runs on each accumulator before it is stored.
#include "codegen/common/Contract.h"
#include "codegen/cpu/VectorEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cpu;

namespace {
/// A point of the tile: its distance from the tile's first along the tiled dim, and its place in the window.
struct Point {
  int64_t tiled = 0;
  SmallVector<int64_t> window;
};

SmallVector<Point> pointsOf(int64_t tile, kernel::ReduceOp window) {
  SmallVector<Point> points;
  SmallVector<int64_t> sizes;
  if (window) {
    auto loop = cast<kernel::LoopOp>(window.getOperation());
    for (unsigned d = 0; d < loop.getIvs().size(); ++d)
      sizes.push_back(*constantOf(sizeOf(loop, d)));
  }
  int64_t positions = 1;
  for (int64_t size : sizes)
    positions *= size;
  for (int64_t t = 0; t < tile; ++t)
    for (int64_t flat = 0; flat < positions; ++flat) {
      Point point{t, SmallVector<int64_t>(sizes.size())};
      int64_t rest = flat;
      for (unsigned d = sizes.size(); d-- > 0; rest /= sizes[d])
        point.window[d] = rest % sizes[d];
      points.push_back(point);
    }
  return points;
}
} // namespace

/// One step of the sum for all points: `sums` plus their products.
VectorEmitter::Values VectorEmitter::emitProducts(const ContractTile &tile, ValueRange sums) {
  Contraction &c = *tile.contraction;
  auto points = pointsOf(tile.points, c.window);
  SmallVector<Value> windowIvs;
  if (c.window)
    windowIvs.append(cast<kernel::LoopOp>(c.window.getOperation()).getIvs().begin(), cast<kernel::LoopOp>(c.window.getOperation()).getIvs().end());
  auto goTo = [&](const Point &point) {
    values_[tile.tiledIv] = point.tiled ? binary<arith::AddIOp>(tile.first, i64(point.tiled)) : tile.first;
    for (auto [iv, at] : llvm::zip_equal(windowIvs, point.window))
      values_[iv] = i64(at);
  };

  // What does not differ between points is emitted for the first of them.
  llvm::DenseSet<Value> differs = {tile.tiledIv};
  differs.insert(windowIvs.begin(), windowIvs.end());
  llvm::DenseMap<Value, Values> perPoint;
  auto &body = c.sum.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (&op == c.product.getOperation())
      continue;
    bool each = llvm::any_of(op.getOperands(), [&](Value v) { return differs.contains(v); });
    std::optional<Value> base; // address at the first point
    for (unsigned p = 0; p < (each ? points.size() : 1); ++p) {
      for (Value operand : op.getOperands())
        if (auto it = perPoint.find(operand); it != perPoint.end())
          values_[operand] = it->second[p];
      auto load = dyn_cast<kernel::LoadOp>(op);
      if (!load) {
        goTo(points[p]);
        emitOp(&op);
      } else {
        LinearAccess access = linearise(cast<kernel::AccessOp>(&op));
        if (!base) {
          goTo(points[0]);
          base = address(load.getBuffer(), load.getType(), evaluateIn(access.space, access.offset, /*laneZero=*/true));
        }
        int64_t distance = points[p].tiled * *constantOf(access.coefficient(tile.tiledIv));
        for (auto [iv, at] : llvm::zip_equal(windowIvs, points[p].window))
          distance += at * *constantOf(access.coefficient(iv));
        values_[load.getResult()] = loadNear(*base, load.getType(), distance, constantOf(access.coefficient(lanes_.iv)) == 1);
      }
      for (Value result : op.getResults())
        if (each)
          perPoint[result].push_back(values_.lookup(result));
    }
    if (each)
      differs.insert(op.result_begin(), op.result_end());
  }
  auto factor = [&](Value value, unsigned p) {
    auto it = perPoint.find(value);
    return vectorOf(it == perPoint.end() ? valueOf(value) : it->second[p], lanes_.count);
  };
  Values next;
  for (unsigned p = 0; p < points.size(); ++p)
    next.push_back(math::FmaOp::create(b_, loc_, factor(c.product.getLhs(), p), factor(c.product.getRhs(), p), sums[p]));
  return next;
}

/// The element `distance` behind an address, or as many as there are lanes.
Value VectorEmitter::loadNear(Value base, Type element, int64_t distance, bool contiguous) {
  Type storage = storageType(element);
  Value at = distance ? Value(LLVM::GEPOp::create(b_, loc_, base.getType(), storage, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(distance)})) : base;
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  if (!contiguous)
    return fromMemory(LLVM::LoadOp::create(b_, loc_, storage, at, bytes), element);
  auto type = VectorType::get({lanes_.count}, storage);
  if (!lanes_.mask)
    return fromMemory(LLVM::LoadOp::create(b_, loc_, type, at, bytes), element);
  Value zero = constant(cast<TypedAttr>(DenseElementsAttr::get(type, b_.getZeroAttr(storage))));
  return fromMemory(LLVM::MaskedLoadOp::create(b_, loc_, type, at, lanes_.mask, zero, b_.getI32IntegerAttr(bytes), UnitAttr()), element);
}

/// All of a tile for the lanes that are set.
void VectorEmitter::emitContractTile(kernel::ParallelOp op, const ContractTile &tile) {
  Contraction &c = *tile.contraction;
  auto sumLoop = cast<kernel::LoopOp>(c.sum.getOperation());
  auto points = pointsOf(tile.points, c.window);
  Values sums(points.size(), vectorOf(valueOf(c.sum.getInits()[0]), lanes_.count));
  sums = emitNest(sumLoop, sumLoop.getIvs().size(), sums, [&](ValueRange carried) { return emitProducts(tile, carried); });

  // What surrounds a loop in its block; what stands before the sum does not feed it (contractionOf).
  auto around = [](Block &block, Operation *loop) {
    SmallVector<Operation *> before, after;
    for (Operation &op : block.without_terminator())
      if (&op != loop)
        (op.isBeforeInBlock(loop) ? before : after).push_back(&op);
    return std::make_pair(before, after);
  };
  auto [before, after] = around(op.getBody().front(), c.window ? c.window.getOperation() : c.sum.getOperation());
  for (int64_t t = 0; t < tile.points; ++t) {
    values_[tile.tiledIv] = t ? binary<arith::AddIOp>(tile.first, i64(t)) : tile.first;
    emitOps(before);
    if (!c.window) {
      values_[c.sum.getResult(0)] = sums[t];
      emitOps(after);
      continue;
    }
    auto windowLoop = cast<kernel::LoopOp>(c.window.getOperation());
    auto [first, then] = around(c.window.getBody().front(), c.sum.getOperation());
    Values joined;
    for (int64_t w = 0; w < c.windowPoints; ++w) {
      const Point &point = points[t * c.windowPoints + w];
      for (auto [iv, at] : llvm::zip_equal(windowLoop.getIvs(), point.window))
        values_[iv] = i64(at);
      emitOps(first);
      values_[c.sum.getResult(0)] = sums[t * c.windowPoints + w];
      emitOps(then);
      Values values;
      for (Value value : c.window.getBodyYield().getValues())
        values.push_back(vectorOf(valueOf(value), lanes_.count));
      joined = w ? emitCombine(c.window, joined, values) : values;
    }
    for (auto [result, value] : llvm::zip_equal(c.window.getResults(), joined))
      values_[result] = value;
    emitOps(after);
  }
}

void VectorEmitter::emitContracted(kernel::ParallelOp op) {
  auto contraction = contractionOf(op);
  assert(contraction && "the schedule says contract of a kernel that is no contraction");
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  int64_t tile = kernel_.getScheduleOrDefault().getTile(), lanes = loop.getLaneCount();
  unsigned rank = loop.getIvs().size();
  Value tiledIv = loop.getIvs()[rank - 2], laneIv = loop.getIvs()[rank - 1];
  int64_t channels = *constantOf(sizeOf(loop, rank - 1));
  auto pointCount = constantOf(sizeOf(loop, rank - 2));
  Value size = sizeValue(loop, rank - 2);
  Value tiles = binary<arith::MaxSIOp>(binary<arith::DivUIOp>(binary<arith::AddIOp>(size, i64(tile - 1)), i64(tile)), i64(1));

  markVarying(loop, laneIv);
  auto allLanes = [&](Value first, int64_t points) {
    ContractTile block{&*contraction, tiledIv, first, points};
    int64_t whole = channels - channels % lanes;
    if (whole)
      emitFor(i64(0), i64(whole), lanes, {}, [&](Value base, ValueRange) {
        lanes_ = {lanes, laneIv, base, Value()};
        emitContractTile(op, block);
        lanes_ = {};
        return Values();
      });
    if (channels == whole)
      return;
    SmallVector<bool> active(lanes);
    for (int64_t i = 0; i < lanes; ++i)
      active[i] = whole + i < channels;
    Value mask = constant(cast<TypedAttr>(Attribute(DenseElementsAttr::get(VectorType::get({lanes}, b_.getI1Type()), active))));
    lanes_ = {lanes, laneIv, i64(whole), mask};
    emitContractTile(op, block);
    lanes_ = {};
  };

  emitFor(begin_, end_, 1, {}, [&](Value unit, ValueRange) {
    Value first = binary<arith::MulIOp>(binary<arith::RemUIOp>(unit, tiles), i64(tile));
    Value rest = binary<arith::DivUIOp>(unit, tiles);
    for (int d = static_cast<int>(rank) - 3; d >= 0; --d) {
      Value extent = binary<arith::MaxSIOp>(sizeValue(loop, d), i64(1));
      values_[loop.getIvs()[d]] = d ? binary<arith::RemUIOp>(rest, extent) : rest;
      rest = binary<arith::DivUIOp>(rest, extent);
    }
    if (pointCount && *pointCount % tile == 0) {
      allLanes(first, tile);
      return Values();
    }
    Value end = binary<arith::AddIOp>(first, i64(tile));
    auto whole = scf::IfOp::create(b_, loc_, compare(arith::CmpIPredicate::sle, end, size), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(whole.thenBlock()->getTerminator());
    allLanes(first, tile);
    b_.setInsertionPoint(whole.elseBlock()->getTerminator());
    if (pointCount)
      allLanes(first, *pointCount % tile);
    else
      emitFor(first, size, 1, {}, [&](Value one, ValueRange) {
        allLanes(one, 1);
        return Values();
      });
    return Values();
  });
}
