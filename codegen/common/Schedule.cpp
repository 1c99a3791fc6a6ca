// Before: a kernel as the fusion pass wrote it, dims in the order of its output. After: invariant work is out of inner
// loops, adjacent dims that every access walks as one are one, lanes are marked, `schedule` says how tails run. Decided
// here and not in the emitters, so that a dump shows it and a tuner can change it.
//
// Lanes go where memory is contiguous: along an outer dim with everything below it in vectors (elementwise kernels,
// reductions over leading dims, pooling), or along the last dim of each inner pass (softmax over rows).
#include "codegen/common/Schedule.h"

#include "codegen/common/Access.h"
#include "codegen/common/Contract.h"

#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;

//===----------------------------------------------------------------------===//
// Invariant work
//===----------------------------------------------------------------------===//

static bool alwaysRuns(kernel::LoopOp loop) {
  for (unsigned d = 0; d < loop.getIvs().size(); ++d)
    if (auto size = constantOf(sizeOf(loop, d)); !size || *size <= 0)
      return false;
  return true;
}

/// Moves what does not depend on a pass in front of it. Loads move only out of passes that run at least once.
static void hoistInvariants(kernel::FuncOp kernel) {
  auto stored = storedBuffers(kernel);
  SmallVector<kernel::LoopOp> loops;
  kernel.walk<WalkOrder::PostOrder>([&](kernel::LoopOp loop) {
    if (!isa<kernel::ParallelOp>(loop.getOperation()))
      loops.push_back(loop);
  });
  for (kernel::LoopOp loop : loops) {
    bool runs = alwaysRuns(loop);
    for (Operation &op : llvm::make_early_inc_range(loop.getLoopBody()->without_terminator())) {
      if (op.getNumRegions())
        continue;
      bool inside = llvm::any_of(op.getOperands(), [&](Value v) { return loop->isProperAncestor(v.getParentBlock()->getParentOp()) ||
                                                                         v.getParentBlock() == loop.getLoopBody(); });
      auto load = dyn_cast<kernel::LoadOp>(op);
      bool movable = load ? runs && !stored.contains(load.getBuffer()) : isMemoryEffectFree(&op);
      if (!inside && movable)
        op.moveBefore(loop);
    }
  }
}

//===----------------------------------------------------------------------===//
// Collapsing
//===----------------------------------------------------------------------===//

static SmallVector<kernel::AccessOp> accessesOf(kernel::LoopOp loop) {
  SmallVector<kernel::AccessOp> accesses;
  loop->walk([&](kernel::AccessOp access) { accesses.push_back(access); });
  return accesses;
}

/// Dims `d` and `d + 1` of `loop` walk every buffer as one dim would.
static bool collapses(kernel::LoopOp loop, unsigned d) {
  auto inner = sizeOf(loop, d + 1);
  if (!inner || !sizeOf(loop, d))
    return false;
  Value a = loop.getIvs()[d], b = loop.getIvs()[d + 1];
  for (Value iv : {a, b})
    for (OpOperand &use : iv.getUses())
      if (!isa<kernel::LoadOp, kernel::StoreOp>(use.getOwner()))
        return false;
  for (kernel::AccessOp access : accessesOf(loop)) {
    bool uses = llvm::is_contained(access.getIndexOperands(), a) || llvm::is_contained(access.getIndexOperands(), b);
    if (!uses)
      continue;
    if (auto load = dyn_cast<kernel::LoadOp>(access.getOperation()); load && load.getFill())
      return false;
    LinearAccess linear = linearise(access);
    auto outerStep = linear.coefficient(a), innerStep = linear.coefficient(b);
    if (!outerStep || !innerStep || !provedEqual(*outerStep, *innerStep * *inner))
      return false;
  }
  return true;
}

/// `index` of a loop op's size map, with dim `d` dropped or replaced.
static void setSizes(kernel::LoopOp loop, ArrayRef<AffineExpr> sizes) {
  AffineMap map = loop.getSizeMap();
  loop.setSizeMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(), sizes, loop.getContext()),
                  SmallVector<Value>(loop.getSizeMapOperands()));
}

/// One dim for `d` and `d + 1`: indices get 0 for the first and the joint variable for the second.
static void collapse(kernel::LoopOp loop, unsigned d) {
  Value outer = loop.getIvs()[d];
  for (kernel::AccessOp access : accessesOf(loop)) {
    AffineMap map = access.getIndexMap();
    SmallVector<Value> operands(access.getIndexOperands());
    for (unsigned i = 0; i < operands.size();) {
      if (operands[i] != outer) {
        ++i;
        continue;
      }
      AffineExpr zero = getAffineConstantExpr(0, loop.getContext());
      SmallVector<AffineExpr> dims, symbols;
      for (unsigned k = 0, at = 0; k < map.getNumDims(); ++k)
        dims.push_back(k == i ? zero : getAffineDimExpr(at++, loop.getContext()));
      for (unsigned k = 0, at = 0; k < map.getNumSymbols(); ++k)
        symbols.push_back(k + map.getNumDims() == i ? zero : getAffineSymbolExpr(at++, loop.getContext()));
      bool isDim = i < map.getNumDims();
      map = map.replaceDimsAndSymbols(dims, symbols, map.getNumDims() - isDim, map.getNumSymbols() - !isDim);
      operands.erase(operands.begin() + i);
    }
    access.setIndex(map, operands);
  }
  SmallVector<AffineExpr> sizes(loop.getSizeMap().getResults());
  AffineMap map = loop.getSizeMap();
  // Products of sizes need their operands as symbols.
  if (map.getNumDims()) {
    SmallVector<AffineExpr> symbols, shifted;
    for (unsigned i = 0; i < map.getNumDims(); ++i)
      symbols.push_back(getAffineSymbolExpr(i, loop.getContext()));
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      shifted.push_back(getAffineSymbolExpr(map.getNumDims() + i, loop.getContext()));
    map = map.replaceDimsAndSymbols(symbols, shifted, 0, map.getNumInputs());
    loop.setSizeMap(map, SmallVector<Value>(loop.getSizeMapOperands()));
    sizes.assign(map.getResults().begin(), map.getResults().end());
  }
  sizes[d] = simplifyAffineExpr(sizes[d] * sizes[d + 1], 0, map.getNumSymbols());
  sizes.erase(sizes.begin() + d + 1);
  setSizes(loop, sizes);
  outer.dropAllUses();
  loop.getLoopBody()->eraseArgument(d);
}

/// Dims of size 1 vanish; neighbours that collapse do.
static void collapseDims(kernel::LoopOp loop) {
  for (unsigned d = 0; d < loop.getSizeMap().getNumResults();) {
    if (constantOf(sizeOf(loop, d)) == 1) {
      OpBuilder b(loop->getParentOfType<kernel::FuncOp>().getBody());
      Value iv = loop.getIvs()[d];
      if (!iv.use_empty())
        iv.replaceAllUsesWith(arith::ConstantIndexOp::create(b, loop.getLoc(), 0));
      SmallVector<AffineExpr> sizes(loop.getSizeMap().getResults());
      sizes.erase(sizes.begin() + d);
      setSizes(loop, sizes);
      loop.getLoopBody()->eraseArgument(d);
    } else {
      ++d;
    }
  }
  for (int d = static_cast<int>(loop.getSizeMap().getNumResults()) - 2; d >= 0; --d)
    if (collapses(loop, d))
      collapse(loop, d);
}

void codegen::moveDimLast(kernel::LoopOp loop, unsigned from) {
  unsigned rank = loop.getSizeMap().getNumResults();
  if (from + 1 == rank)
    return;
  SmallVector<AffineExpr> sizes(loop.getSizeMap().getResults());
  AffineExpr moved = sizes[from];
  sizes.erase(sizes.begin() + from);
  sizes.push_back(moved);
  setSizes(loop, sizes);
  Block *body = loop.getLoopBody();
  Value old = body->getArgument(from);
  Value fresh = body->insertArgument(rank, old.getType(), old.getLoc());
  old.replaceAllUsesWith(fresh);
  body->eraseArgument(from);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Ops one vector step emits: bounds the size of the code.
static int64_t emittedOps(kernel::LoopOp loop) {
  int64_t count = 0;
  loop->walk([&](Operation *op) { count += !isa<kernel::YieldOp, arith::ConstantOp>(op) && op != loop.getOperation(); });
  return count;
}

int64_t codegen::expandedOps(kernel::LoopOp loop) {
  int64_t count = emittedOps(loop);
  loop->walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) && !isa<math::FmaOp, math::AbsFOp, math::SqrtOp, math::FloorOp, math::CeilOp>(op))
      count += 25;
  });
  return count;
}

namespace {

/// Elements of the widest type the ops compute in, per vector.
int64_t naturalLanes(Operation *root, const ScheduleTarget &target) {
  unsigned floats = 0, integers = 0;
  root->walk([&](Operation *op) {
    for (Value value : op->getResults()) {
      Type type = value.getType();
      if (isa<FloatType>(type))
        floats = std::max(floats, type.getIntOrFloatBitWidth());
      else if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() > 1)
        integers = std::max(integers, integer.getWidth());
    }
  });
  // 64-bit integers beside narrower data are indices: two registers each rather than half the lanes.
  unsigned bits = floats ? floats : integers ? integers : 8;
  return target.vectorBytes * 8 / std::max(bits, 8u);
}

/// What a lane dim is worth: how the accesses under it lie in memory, weighted by how often they run.
struct LanePlan {
  double score = 0;
  // Loops that get lanes along one of their dims, and which.
  SmallVector<std::pair<kernel::LoopOp, unsigned>> lanes;
};

class LanePlanner {
public:
  explicit LanePlanner(const ScheduleTarget &target) : target_(target) {}

  LanePlan plan(kernel::LoopOp loop, double weight = 1.0) {
    LanePlan best = planInner(loop, weight);
    if (isa<kernel::ScanOp>(loop.getOperation()))
      return best;
    for (int d = static_cast<int>(loop.getIvs().size()) - 1; d >= 0; --d) {
      double score = scoreAlong(loop, d, weight);
      // A tie goes to the outer loop for whole vectors of work, unless lanes inside were as good.
      if (score > best.score) {
        best.score = score;
        best.lanes = {{loop, static_cast<unsigned>(d)}};
      }
    }
    return best;
  }

private:
  static constexpr double contiguous = 4, uniform = 3, near = 1.2, scattered = 0.6, deeper = 8;

  LanePlan planInner(kernel::LoopOp loop, double weight) {
    LanePlan sum;
    for (Operation &op : *loop.getLoopBody())
      if (auto inner = dyn_cast<kernel::LoopOp>(op)) {
        LanePlan plan = this->plan(inner, weight * deeper);
        sum.score += plan.score;
        sum.lanes.append(plan.lanes);
      }
    return sum;
  }

  /// Share of the lanes that full vectors keep busy.
  double efficiency(kernel::LoopOp loop, unsigned dim) {
    auto size = constantOf(sizeOf(loop, dim));
    if (!size)
      return 1.0;
    if (*size < 4)
      return 0.0;
    int64_t lanes = std::min<int64_t>(naturalLanes(loop, target_), llvm::PowerOf2Ceil(*size));
    return static_cast<double>(*size) / static_cast<double>(llvm::alignTo(*size, lanes));
  }

  double scoreAlong(kernel::LoopOp loop, unsigned dim, double weight) {
    Value iv = loop.getIvs()[dim];
    double busy = efficiency(loop, dim);
    if (busy == 0.0)
      return 0.0;
    double score = 0;
    bool legal = true;
    loop->walk([&](Operation *op) {
      if (auto inner = dyn_cast<kernel::LoopOp>(op); inner && inner != loop) {
        // The trip count must be one for all lanes.
        for (unsigned d = 0; d < inner.getIvs().size(); ++d)
          legal &= sizeOf(inner, d).has_value();
        return;
      }
      auto access = dyn_cast<kernel::AccessOp>(op);
      if (!access)
        return;
      double times = weight;
      for (Operation *parent = op->getParentOp(); parent != loop.getOperation(); parent = parent->getParentOp())
        if (isa<kernel::LoopOp>(parent))
          times *= deeper;
      LinearAccess linear = linearise(access);
      bool computed = false;
      for (Value value : linear.space.values)
        computed |= !isInductionVariable(value);
      auto step = linear.coefficient(iv);
      auto distance = constantOf(step);
      bool store = isa<kernel::StoreOp>(op);
      if (store) {
        auto storeOp = cast<kernel::StoreOp>(op);
        // Lanes must not meet in one element, and ordered or atomic stores may.
        if (storeOp.getMode() == kernel::StoreMode::atomic || distance == 0)
          legal = false;
        if (storeOp.getMode() == kernel::StoreMode::ordered && (computed || !step))
          legal = false;
        if (storeOp.getKind() && (computed || !step))
          legal = false;
      }
      double each = scattered;
      if (!computed && distance == 1)
        each = contiguous;
      else if (!computed && distance == 0)
        each = uniform;
      else if (computed && distance == 0)
        each = uniform; // the index may be the same for all lanes
      else if (!computed && distance && *distance >= -1 && *distance <= 4)
        each = near;
      score += times * each * (store ? 2.0 : 1.0);
    });
    return legal ? score * busy : 0.0;
  }

  static bool isInductionVariable(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return false;
    auto loop = dyn_cast<kernel::LoopOp>(argument.getOwner()->getParentOp());
    return loop && argument.getOwner() == loop.getLoopBody() && argument.getArgNumber() < loop.getIvs().size();
  }

  const ScheduleTarget &target_;
};

bool callsLibrary(kernel::LoopOp loop) {
  bool calls = false;
  loop->walk([&](Operation *op) {
    calls |= isa<math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp, math::AtanOp, math::Atan2Op, math::AtanhOp, math::CbrtOp,
                 math::CoshOp, math::ErfcOp, math::SinhOp, math::TanOp, math::PowFOp, arith::RemFOp>(op);
    calls |= isa<math::MathDialect>(op->getDialect()) && op->getNumResults() && op->getResult(0).getType().isF64();
  });
  return calls;
}

/// Lanes for one pass: a vector, times the unroll that pays.
int64_t chooseLanes(kernel::LoopOp loop, unsigned dim, const ScheduleTarget &target) {
  int64_t natural = naturalLanes(loop, target);
  auto size = constantOf(sizeOf(loop, dim));
  int64_t ops = expandedOps(loop);
  bool reducesBelow = false, reduces = isa<kernel::ReduceOp>(loop.getOperation());
  loop->walk([&](kernel::ReduceOp inner) { reducesBelow |= inner.getOperation() != loop.getOperation(); });
  int64_t unroll = 1;
  if (callsLibrary(loop))
    unroll = 1;
  else if (reduces)
    unroll = ops <= 12 ? 4 : ops <= 40 ? 2 : 1; // independent accumulators hide the latency of the combiner
  else if (reducesBelow)
    unroll = ops <= 16 ? 8 : ops <= 24 ? 4 : ops <= 48 ? 2 : 1; // rows stream through wide accumulators
  else
    unroll = ops <= 24 ? 2 : 1;
  int64_t lanes = natural * unroll;
  // Accumulators stay in registers: at most eight at once.
  int64_t carried = 0;
  loop->walk([&](kernel::ReduceOp inner) {
    int64_t bits = 0;
    for (Type type : inner.getResultTypes())
      bits += std::max(8u, type.getIntOrFloatBitWidth());
    carried = std::max(carried, bits);
  });
  while (lanes > natural && lanes * carried > 8 * target.vectorBytes * 8)
    lanes /= 2;
  // Short dims: at least two full steps, else the widest vector that is mostly busy.
  if (size)
    while (lanes > natural && *size < (reducesBelow ? lanes : 2 * lanes))
      lanes /= 2;
  if (size)
    while (lanes > 2 && lanes / 2 >= *size)
      lanes /= 2;
  return lanes;
}

/// Small elements that a masked tail would have to touch one by one.
bool hasSmallElements(kernel::FuncOp kernel) {
  return llvm::any_of(kernel.getBuffers(), [](Value buffer) {
    return cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() < 32;
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// Transposing
//===----------------------------------------------------------------------===//

/// A body without inner passes whose loads and stores are contiguous along two different outer dims: tiles turned in
/// registers. Returns the dim the loads run along.
static std::optional<unsigned> transposedDim(kernel::ParallelOp op, unsigned storeDim) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  std::optional<unsigned> found;
  for (Operation &inner : *loop.getLoopBody()) {
    // Tiles load a block ahead of the body: an index computed in the body is not there yet.
    if (inner.getNumRegions() || llvm::any_of(inner.getResultTypes(), [](Type type) { return type.isIndex(); }))
      return std::nullopt;
    auto load = dyn_cast<kernel::LoadOp>(inner);
    if (!load)
      continue;
    LinearAccess linear = linearise(cast<kernel::AccessOp>(inner));
    auto along = constantOf(linear.coefficient(loop.getIvs()[storeDim]));
    if (along == 0 || along == 1)
      continue;
    if (load.getFill() || load.getType().isInteger(1))
      return std::nullopt;
    std::optional<unsigned> mine;
    for (unsigned d = 0; d < loop.getIvs().size(); ++d)
      if (d != storeDim && constantOf(linear.coefficient(loop.getIvs()[d])) == 1)
        mine = d;
    if (!mine || (found && *found != *mine))
      return std::nullopt;
    found = mine;
  }
  return found;
}

static constexpr int64_t transposeTile = 32;

/// Puts the loads' dim before the stores' dim and marks the strategy, where tiles pay.
bool codegen::scheduleTranspose(kernel::FuncOp kernel, const ScheduleTarget &target) {
  kernel::ParallelOp op = kernel.getParallel();
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size();
  if (rank < 2)
    return false;
  SmallVector<kernel::StoreOp> stores(op.getOps<kernel::StoreOp>());
  if (stores.size() != 1 || stores[0].getMode() != kernel::StoreMode::unique || stores[0].getCondition())
    return false;
  LinearAccess store = linearise(cast<kernel::AccessOp>(stores[0].getOperation()));
  std::optional<unsigned> storeDim;
  for (unsigned d = 0; d < rank; ++d)
    if (constantOf(store.coefficient(loop.getIvs()[d])) == 1)
      storeDim = d;
  if (!storeDim)
    return false;
  auto loadDim = transposedDim(op, *storeDim);
  if (!loadDim || expandedOps(loop) > 16)
    return false;
  for (unsigned d : {*storeDim, *loadDim}) {
    auto size = constantOf(sizeOf(loop, d));
    if (size && *size < 16)
      return false;
  }
  // Bodies that use the induction variables as values are left to plain lanes.
  for (Value iv : loop.getIvs())
    for (OpOperand &use : iv.getUses())
      if (!isa<kernel::LoadOp, kernel::StoreOp>(use.getOwner()))
        return false;
  moveDimLast(loop, *loadDim);
  moveDimLast(loop, *loadDim < *storeDim ? *storeDim - 1 : *storeDim);
  loop.setLaneCount(std::min<int64_t>(16, naturalLanes(loop, target)));
  kernel.setScheduleAttr(kernel::ScheduleAttr::get(kernel.getContext(), kernel::Strategy::transpose, kernel::Tail::masked, transposeTile, 0,
                                                   /*nontemporal=*/false, /*group=*/0, /*block=*/{}));
  return true;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void codegen::tidyLoops(kernel::FuncOp kernel) {
  hoistInvariants(kernel);
  SmallVector<kernel::LoopOp> loops;
  kernel.walk([&](kernel::LoopOp loop) { loops.push_back(loop); });
  for (kernel::LoopOp loop : loops) {
    loop.setLaneCount(0);
    collapseDims(loop);
  }
  hoistInvariants(kernel);
}

void codegen::scheduleKernel(kernel::FuncOp kernel, const ScheduleTarget &target) {
  prepareContraction(kernel.getParallel());
  tidyLoops(kernel);
  if (scheduleTranspose(kernel, target))
    return;
  if (scheduleContraction(kernel, target.vectorBytes, target.vectorBytes > 32 ? 32 : 16))
    return;

  auto parallel = cast<kernel::LoopOp>(kernel.getParallel().getOperation());
  LanePlan plan = LanePlanner(target).plan(parallel);
  auto strategy = kernel::Strategy::loop;
  for (auto [loop, dim] : plan.lanes) {
    int64_t lanes = chooseLanes(loop, dim, target);
    if (lanes < 2)
      continue;
    moveDimLast(loop, dim);
    loop.setLaneCount(lanes);
    if (loop == parallel && llvm::any_of(*loop.getLoopBody(), [](Operation &op) { return isa<kernel::LoopOp>(op); }))
      strategy = kernel::Strategy::columns;
  }
  auto tail = hasSmallElements(kernel) && !target.masksSmallElements ? kernel::Tail::scalar : kernel::Tail::masked;
  kernel.setScheduleAttr(kernel::ScheduleAttr::get(kernel.getContext(), strategy, tail, 0, 0, /*nontemporal=*/false, /*group=*/0, /*block=*/{}));
}

int64_t codegen::rangeGrain(kernel::FuncOp kernel) {
  auto strategy = kernel.getScheduleOrDefault().getStrategy();
  if (strategy == kernel::Strategy::transpose || strategy == kernel::Strategy::contract)
    return 1; // a unit is a tile
  auto parallel = cast<kernel::LoopOp>(kernel.getParallel().getOperation());
  return std::max<int64_t>(1, parallel.getLaneCount());
}

int64_t codegen::pointsPerUnit(kernel::FuncOp kernel) {
  auto schedule = kernel.getScheduleOrDefault();
  if (schedule.getStrategy() == kernel::Strategy::transpose)
    return schedule.getTile() * schedule.getTile();
  if (schedule.getStrategy() != kernel::Strategy::contract)
    return 1;
  auto parallel = cast<kernel::LoopOp>(kernel.getParallel().getOperation());
  return schedule.getTile() * constantOf(sizeOf(parallel, parallel.getIvs().size() - 1)).value_or(1);
}
