#include "codegen/common/Contract.h"
#include "codegen/common/Schedule.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;

//===----------------------------------------------------------------------===//
// What is a contraction
//===----------------------------------------------------------------------===//

/// The one op with a region among `block`'s, if it is a reduction.
static kernel::ReduceOp onlyReduction(Block &block) {
  kernel::ReduceOp found;
  for (Operation &op : block.without_terminator()) {
    if (!op.getNumRegions())
      continue;
    auto reduce = dyn_cast<kernel::ReduceOp>(op);
    if (!reduce || found)
      return {};
    found = reduce;
  }
  return found;
}

static bool hasRegions(Block &block) {
  return llvm::any_of(block, [](Operation &op) { return op.getNumRegions() != 0; });
}

static std::optional<int64_t> constantPoints(kernel::LoopOp loop) {
  int64_t points = 1;
  for (unsigned d = 0; d < loop.getIvs().size(); ++d) {
    auto size = constantOf(sizeOf(loop, d));
    if (!size || *size <= 0)
      return std::nullopt;
    points *= *size;
  }
  return points;
}

static bool addsItsArguments(kernel::ReduceOp reduce) {
  Block *combiner = reduce.getCombinerBlock();
  auto add = reduce.getCombinerYield().getValues()[0].getDefiningOp<arith::AddFOp>();
  return add && add->getBlock() == combiner && llvm::is_contained(add->getOperands(), Value(combiner->getArgument(0))) &&
         llvm::is_contained(add->getOperands(), Value(combiner->getArgument(1)));
}

arith::MulFOp codegen::summedProduct(kernel::ReduceOp reduce) {
  if (reduce.getNumResults() != 1 || !addsItsArguments(reduce))
    return {};
  auto product = reduce.getBodyYield().getValues()[0].getDefiningOp<arith::MulFOp>();
  return product && product->getBlock() == &reduce.getBody().front() && product->hasOneUse() ? product : arith::MulFOp();
}

std::optional<Contraction> codegen::contractionOf(kernel::ParallelOp parallel) {
  Contraction c;
  auto outer = cast<kernel::LoopOp>(parallel.getOperation());
  c.sum = onlyReduction(*outer.getLoopBody());
  if (c.sum && hasRegions(c.sum.getBody().front())) {
    c.window = c.sum;
    c.sum = onlyReduction(c.window.getBody().front());
    auto points = constantPoints(cast<kernel::LoopOp>(c.window.getOperation()));
    if (!points)
      return std::nullopt;
    c.windowPoints = *points;
  }
  if (!c.sum || hasRegions(c.sum.getBody().front()) || c.sum.getNumResults() != 1 || !c.sum.getResult(0).getType().isF32() ||
      !constantPoints(cast<kernel::LoopOp>(c.sum.getOperation())))
    return std::nullopt;
  c.product = summedProduct(c.sum);
  if (!c.product)
    return std::nullopt;

  // The sum knows nothing but the dims around it.
  llvm::SmallPtrSet<Block *, 2> around = {outer.getLoopBody()};
  if (c.window)
    around.insert(&c.window.getBody().front());
  for (Operation &op : c.sum.getBody().front().without_terminator()) {
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && around.contains(def->getBlock()))
        return std::nullopt;
    if (auto load = dyn_cast<kernel::LoadOp>(op); load && load.getFill())
      return std::nullopt;
    if (isa<kernel::StoreOp, kernel::CheckIndexOp>(op))
      return std::nullopt;
  }
  bool plain = true;
  parallel.walk([&](kernel::StoreOp store) {
    plain &= store->getParentOp() == parallel && store.getMode() == kernel::StoreMode::unique && !store.getKind() && !store.getCondition();
  });
  auto stored = storedBuffers(parallel->getParentOfType<kernel::FuncOp>());
  c.sum.walk([&](kernel::LoadOp load) { plain &= !stored.contains(load.getBuffer()); });
  if (!plain)
    return std::nullopt;
  return c;
}

static SmallVector<kernel::LoadOp> loadsOf(kernel::ReduceOp sum) {
  SmallVector<kernel::LoadOp> loads;
  sum.walk([&](kernel::LoadOp load) { loads.push_back(load); });
  return loads;
}

static std::optional<int64_t> stepAlong(kernel::LoadOp load, Value iv) {
  return constantOf(linearise(cast<kernel::AccessOp>(load.getOperation())).coefficient(iv));
}

//===----------------------------------------------------------------------===//
// Groups of channels
//===----------------------------------------------------------------------===//

namespace {
/// `expr` with `iv` = group * size + member, when iv stands in it linearly or divided by `size`.
struct SplitIv {
  AffineExpr iv, group, member;
  int64_t size;

  AffineExpr operator()(AffineExpr expr) const {
    if (expr == iv)
      return group * size + member;
    auto node = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!node)
      return expr;
    bool divides = constantOf(node.getRHS()) == size;
    if (node.getLHS() == iv && divides && expr.getKind() == AffineExprKind::FloorDiv)
      return group;
    if (node.getLHS() == iv && divides && expr.getKind() == AffineExprKind::Mod)
      return member;
    return getAffineBinaryOpExpr(expr.getKind(), (*this)(node.getLHS()), (*this)(node.getRHS()));
  }
};
} // namespace

/// By what `expr` divides `dim`: nothing to say when it does not occur or only linearly (`found` unchanged); false when it
/// stands in a division in another way, or is divided by different sizes.
static bool findDivisor(AffineExpr expr, AffineExpr dim, int64_t &found, bool divided = false) {
  if (expr == dim)
    return !divided;
  auto node = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!node)
    return true;
  bool divides = expr.getKind() == AffineExprKind::FloorDiv || expr.getKind() == AffineExprKind::Mod || expr.getKind() == AffineExprKind::CeilDiv;
  if (node.getLHS() == dim && divides && expr.getKind() != AffineExprKind::CeilDiv) {
    auto by = constantOf(node.getRHS());
    if (!by || (found && *by != found))
      return false;
    found = *by;
    return true;
  }
  return findDivisor(node.getLHS(), dim, found, divided || divides) && findDivisor(node.getRHS(), dim, found, divided || divides);
}

/// By what the accesses divide `iv`; 0 when by nothing, -1 when it is used in another way.
static int64_t divisorOf(Value iv) {
  int64_t found = 0;
  for (OpOperand &use : iv.getUses()) {
    auto access = dyn_cast<kernel::AccessOp>(use.getOwner());
    if (!access)
      return -1;
    AffineMap map = access.getIndexMap();
    for (auto [i, operand] : llvm::enumerate(access.getIndexOperands())) {
      if (operand != iv)
        continue;
      if (i >= map.getNumDims())
        return -1;
      for (AffineExpr result : map.getResults())
        if (!findDivisor(result, getAffineDimExpr(i, iv.getContext()), found))
          return -1;
    }
  }
  return found;
}

static void splitGroups(kernel::LoopOp loop, unsigned d) {
  Value iv = loop.getIvs()[d];
  int64_t size = divisorOf(iv);
  auto total = constantOf(sizeOf(loop, d));
  if (size <= 1 || !total || *total % size != 0 || *total == size)
    return;
  MLIRContext *context = loop.getContext();
  Block *body = loop.getLoopBody();
  Value member = body->insertArgument(d + 1, iv.getType(), iv.getLoc());
  SmallVector<Operation *> users;
  for (Operation *user : iv.getUsers())
    if (!llvm::is_contained(users, user))
      users.push_back(user);
  for (Operation *user : users) {
    auto access = cast<kernel::AccessOp>(user);
    AffineMap map = access.getIndexMap();
    SmallVector<Value> operands(access.getIndexOperands());
    unsigned at = llvm::find(operands, iv) - operands.begin(), fresh = map.getNumDims();
    // iv's place now means the group; the member is a new dim behind the others.
    SplitIv split{getAffineDimExpr(at, context), getAffineDimExpr(at, context), getAffineDimExpr(fresh, context), size};
    SmallVector<AffineExpr> results;
    for (AffineExpr result : map.getResults())
      results.push_back(simplifyAffineExpr(split(result), fresh + 1, map.getNumSymbols()));
    operands.insert(operands.begin() + fresh, member);
    access.setIndex(AffineMap::get(fresh + 1, map.getNumSymbols(), results, context), operands);
  }
  AffineMap sizes = loop.getSizeMap();
  SmallVector<AffineExpr> exprs(sizes.getResults());
  exprs[d] = getAffineConstantExpr(*total / size, context);
  exprs.insert(exprs.begin() + d + 1, getAffineConstantExpr(size, context));
  loop.setSizeMap(AffineMap::get(sizes.getNumDims(), sizes.getNumSymbols(), exprs, context), SmallVector<Value>(loop.getSizeMapOperands()));
}

void codegen::prepareContraction(kernel::ParallelOp parallel) {
  auto contraction = contractionOf(parallel);
  if (!contraction)
    return;
  auto loop = cast<kernel::LoopOp>(parallel.getOperation());
  for (unsigned d = 0; d < loop.getIvs().size(); ++d)
    splitGroups(loop, d);
  // Memory order: the dim with the longest steps through memory outermost. Where loads disagree, the first decides: weights are
  // packed to follow.
  auto sum = cast<kernel::LoopOp>(contraction->sum.getOperation());
  auto loads = loadsOf(contraction->sum);
  if (loads.empty())
    return;
  // Selection by repeatedly moving the dim with the longest remaining step last gives the order outermost first.
  for (unsigned done = 0, rank = sum.getIvs().size(); done < rank; ++done) {
    unsigned best = 0;
    int64_t longest = -1;
    for (unsigned d = 0; d + done < rank; ++d) {
      int64_t step = 0;
      for (kernel::LoadOp load : loads)
        if (auto s = stepAlong(load, sum.getIvs()[d]); s && step == 0)
          step = std::abs(*s);
      if (step > longest) {
        longest = step;
        best = d;
      }
    }
    moveDimLast(sum, best);
  }
}

//===----------------------------------------------------------------------===//
// The tile
//===----------------------------------------------------------------------===//

/// A dim along which every load of the sum is either contiguous or constant, and at least one is contiguous.
static std::optional<unsigned> laneDim(kernel::LoopOp loop, ArrayRef<kernel::LoadOp> loads, kernel::ParallelOp parallel) {
  std::optional<unsigned> best;
  int bestScore = -1;
  for (unsigned d = 0; d < loop.getIvs().size(); ++d) {
    Value iv = loop.getIvs()[d];
    auto size = constantOf(sizeOf(loop, d));
    if (!size || *size < 4)
      continue;
    bool fits = true;
    int contiguous = 0;
    for (kernel::LoadOp load : loads) {
      auto step = stepAlong(load, iv);
      fits &= step == 0 || step == 1;
      contiguous += step == 1;
    }
    if (!fits || !contiguous)
      continue;
    int score = contiguous;
    for (auto store : parallel.getOps<kernel::StoreOp>())
      score += 4 * (constantOf(linearise(cast<kernel::AccessOp>(store.getOperation())).coefficient(iv)) == 1);
    score += *size >= 8;
    if (score > bestScore) {
      bestScore = score;
      best = d;
    }
  }
  return best;
}

/// A dim along which a load that lanes vary does not move: its vectors are shared by the points of a tile.
static std::optional<unsigned> tileDim(kernel::LoopOp loop, ArrayRef<kernel::LoadOp> loads, unsigned lane, int64_t mostPoints) {
  std::optional<unsigned> best;
  int64_t bestPoints = 1;
  for (unsigned d = 0; d < loop.getIvs().size(); ++d) {
    if (d == lane)
      continue;
    bool fits = true, shared = false;
    for (kernel::LoadOp load : loads) {
      auto step = stepAlong(load, loop.getIvs()[d]);
      fits &= step.has_value();
      shared |= step == 0 && stepAlong(load, loop.getIvs()[lane]) == 1;
    }
    int64_t points = std::min(mostPoints, constantOf(sizeOf(loop, d)).value_or(mostPoints));
    if (fits && shared && points >= bestPoints) {
      bestPoints = points;
      best = d;
    }
  }
  return best;
}

bool codegen::scheduleContraction(kernel::FuncOp kernel, int64_t vectorBytes, int64_t vectorRegisters) {
  kernel::ParallelOp parallel = kernel.getParallel();
  auto contraction = contractionOf(parallel);
  if (!contraction)
    return false;
  auto loop = cast<kernel::LoopOp>(parallel.getOperation());
  auto loads = loadsOf(contraction->sum);
  auto lane = laneDim(loop, loads, parallel);
  if (!lane)
    return false;
  // Addresses inside a tile are constants apart.
  for (kernel::LoadOp load : loads)
    if (contraction->window)
      for (Value iv : cast<kernel::LoopOp>(contraction->window.getOperation()).getIvs())
        if (!stepAlong(load, iv))
          return false;
  // Accumulators, and room for what they are multiplied with.
  int64_t accumulators = vectorRegisters * 3 / 4;
  if (contraction->windowPoints > accumulators)
    return false;
  int64_t natural = vectorBytes / 4, channels = *constantOf(sizeOf(loop, *lane));
  bool broadcasts = llvm::any_of(loads, [&](kernel::LoadOp load) { return stepAlong(load, loop.getIvs()[*lane]) == 0; });
  // Two vectors per point where that wastes no lanes: each broadcast then feeds two multiplications.
  int64_t lanes = natural;
  if (broadcasts && llvm::divideCeil(channels, natural) % 2 == 0 && 2 * contraction->windowPoints <= accumulators)
    lanes = 2 * natural;
  while (lanes > 4 && lanes / 2 >= channels)
    lanes /= 2;
  int64_t vectors = llvm::divideCeil(lanes, natural);
  int64_t mostPoints = std::max<int64_t>(1, accumulators / (vectors * contraction->windowPoints));
  // What follows the sum is emitted for every point: dear epilogues take smaller tiles, so that code stays small.
  constexpr int64_t kMostEpilogueOps = 600;
  int64_t epilogue = expandedOps(loop) - expandedOps(cast<kernel::LoopOp>(contraction->sum.getOperation()));
  mostPoints = std::max<int64_t>(1, std::min(mostPoints, kMostEpilogueOps / std::max<int64_t>(1, epilogue * vectors * contraction->windowPoints)));
  auto tiled = tileDim(loop, loads, *lane, mostPoints);
  if (!tiled)
    return false;
  int64_t tile = mostPoints;
  if (auto size = constantOf(sizeOf(loop, *tiled)))
    tile = llvm::divideCeil(*size, llvm::divideCeil(*size, mostPoints)); // tiles of about equal size
  moveDimLast(loop, *tiled);
  moveDimLast(loop, *tiled < *lane ? *lane - 1 : *lane);
  loop.setLaneCount(lanes);
  kernel.setScheduleAttr(kernel::ScheduleAttr::get(kernel.getContext(), kernel::Strategy::contract, kernel::Tail::masked, tile, 0,
                                                   /*nontemporal=*/false, /*group=*/0, /*block=*/{}));
  return true;
}
