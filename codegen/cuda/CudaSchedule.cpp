// Before: a kernel as the fusion pass wrote it. After: `#kernel.schedule` says who computes what. In order of preference:
//   tiles      a sum of products large enough to share loads (matrix products, convolutions), and attention
//   transpose  loads and stores contiguous along different dims
//   rows       passes along contiguous memory: a warp or a block a point
//   columns    long passes across contiguous points: threads of a block stack up along the pass
//   loop       everything else, one thread a point; neighbouring points in packs of 16 bytes
// Sizes of groups depend on shapes alone, never on the device: so do the trees of reductions.
#include "codegen/common/Access.h"
#include "codegen/common/Schedule.h"
#include "codegen/cuda/Attention.h"
#include "codegen/cuda/Contraction.h"
#include "codegen/cuda/CudaCodegen.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

namespace {

void setSchedule(kernel::FuncOp kernel, kernel::Strategy strategy, int64_t threads, int64_t group = 0, ArrayRef<int64_t> block = {}) {
  MLIRContext *context = kernel.getContext();
  kernel.setScheduleAttr(kernel::ScheduleAttr::get(context, strategy, kernel::Tail::masked, 0, threads, false, group,
                                                   block.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(context, block)));
}

/// Product of dims [first, first + count); nothing when a size is not known.
std::optional<int64_t> countOf(kernel::LoopOp loop, unsigned first, unsigned count) {
  int64_t product = 1;
  for (unsigned d = first; d < first + count; ++d) {
    auto size = constantOf(sizeOf(loop, d));
    if (!size)
      return std::nullopt;
    product *= *size;
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Puts dim `best` last among a reduction's dims when a factor is contiguous along it.
void orderDepth(const Contraction &match, kernel::ParallelOp op) {
  kernel::ReduceOp reduce = match.reduce;
  auto loop = cast<kernel::LoopOp>(reduce.getOperation());
  for (Value value : {match.row, match.column})
    for (Operation *inner : sliceOf(op, value)) {
      auto access = dyn_cast<kernel::AccessOp>(inner);
      if (!access)
        continue;
      LinearAccess linear = linearise(access);
      for (unsigned d = 0; d < loop.getIvs().size(); ++d)
        if (constantOf(linear.coefficient(loop.getIvs()[d])) == 1)
          return moveDimLast(loop, d);
    }
}

bool scheduleAttention(kernel::FuncOp kernel) {
  auto match = matchAttention(kernel.getParallel());
  if (!match)
    return false;
  AttentionShape shape(*match);
  setSchedule(kernel, kernel::Strategy::tiles, AttentionShape::threads, 0,
              {1, 1, shape.queries, shape.columns, AttentionShape::keys, shape.threadQueries(), shape.threadColumns()});
  return true;
}

bool scheduleTiles(kernel::FuncOp kernel) {
  kernel::ParallelOp op = kernel.getParallel();
  auto match = matchContraction(op);
  if (!match)
    return false;
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  auto total = [&](ArrayRef<unsigned> dims) -> std::optional<int64_t> {
    int64_t product = 1;
    for (unsigned d : dims) {
      auto size = countOf(loop, d, 1);
      if (!size)
        return std::nullopt;
      product *= *size;
    }
    return product;
  };
  auto rows = total(match->rowDims), columns = total(match->columnDims);
  // A few rows or columns share too little: a vector times a matrix is a reduction.
  if ((rows && *rows < 4) || (columns && *columns < 4))
    return false;
  unsigned bits = match->reduce->getResult(0).getType().getIntOrFloatBitWidth();
  if (bits < 32)
    return false;
  // Order: products, rows, columns. Each list keeps its order.
  unsigned rank = loop.getIvs().size();
  SmallVector<unsigned> order;
  for (auto list : {&match->batchDims, &match->rowDims, &match->columnDims})
    llvm::append_range(order, *list);
  SmallVector<unsigned> now(rank);
  std::iota(now.begin(), now.end(), 0);
  for (unsigned target : order) {
    unsigned at = llvm::find(now, target) - now.begin();
    moveDimLast(loop, at);
    now.erase(now.begin() + at);
    now.push_back(target);
  }
  orderDepth(*match, op);
  // Sizes of a tile: as large as the result fills well. 8 x 8 results a thread: four accesses of 16 bytes to shared memory feed
  // 64 products.
  bool wide = bits > 32;
  auto pick = [&](std::optional<int64_t> size, int64_t most) {
    int64_t tile = most;
    while (size && tile > 16 && *size <= tile / 2)
      tile /= 2;
    return tile;
  };
  int64_t most = wide ? 64 : 128;
  int64_t tileRows = pick(rows, most), tileColumns = pick(columns, most);
  // Enough blocks to fill a device come before large tiles.
  auto products = total(match->batchDims);
  if (rows && columns && products)
    while (tileRows * tileColumns > 64 * 64 &&
           *products * llvm::divideCeil(*rows, tileRows) * llvm::divideCeil(*columns, tileColumns) < 128)
      (tileRows >= tileColumns ? tileRows : tileColumns) /= 2;
  auto share = [](int64_t tile) { return tile >= 64 ? 8 : tile >= 32 ? 4 : 2; };
  int64_t threadRows = share(tileRows), threadColumns = share(tileColumns);
  if (wide)
    threadRows = std::min<int64_t>(threadRows, 4);
  int64_t depth = tileRows * tileColumns >= 128 * 128 ? 8 : 16;
  int64_t threads = tileRows / threadRows * (tileColumns / threadColumns);
  setSchedule(kernel, kernel::Strategy::tiles, threads, 0,
              {static_cast<int64_t>(match->columnDims.size()), static_cast<int64_t>(match->rowDims.size()), tileRows, tileColumns, depth,
               threadRows, threadColumns});
  return true;
}

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

struct Contiguity {
  unsigned inner = 0, outer = 0; // accesses of passes contiguous along the pass, along the outer domain
};

/// Elements of one step: 16 bytes of the widest element that any pass accesses along its last dim, the same for all passes.
void chooseRowLanes(ArrayRef<kernel::LoopOp> passes) {
  int64_t widest = 0;
  bool plain = true;
  for (kernel::LoopOp pass : passes) {
    Value iv = pass.getIvs().back();
    for (Operation &inner : *pass.getLoopBody()) {
      plain &= !isa<kernel::LoopOp>(inner);
      auto access = dyn_cast<kernel::AccessOp>(inner);
      if (!access || constantOf(linearise(access).coefficient(iv)) != 1)
        continue;
      Type element = cast<MemRefType>(access.getAccessBuffer().getType()).getElementType();
      widest = std::max<int64_t>(widest, std::max(8u, element.getIntOrFloatBitWidth()));
    }
  }
  if (!plain || !widest)
    return;
  int64_t lanes = std::min<int64_t>(128 / widest, 8);
  for (kernel::LoopOp pass : passes) {
    auto size = constantOf(sizeOf(pass, pass.getIvs().size() - 1));
    while (lanes > 1 && (!size || *size % lanes))
      lanes /= 2;
  }
  for (kernel::LoopOp pass : passes)
    if (lanes > 1)
      pass.setLaneCount(lanes);
}

bool scheduleGroups(kernel::FuncOp kernel) {
  kernel::ParallelOp op = kernel.getParallel();
  auto outer = cast<kernel::LoopOp>(op.getOperation());
  SmallVector<kernel::LoopOp> passes;
  for (Operation &inner : op.getBody().front()) {
    if (isa<kernel::ScanOp>(inner))
      return false;
    if (auto pass = dyn_cast<kernel::LoopOp>(inner))
      passes.push_back(pass);
    else if (auto store = dyn_cast<kernel::StoreOp>(inner); store && store.getMode() == kernel::StoreMode::ordered)
      return false;
  }
  if (passes.empty())
    return false;
  Contiguity found;
  std::optional<int64_t> longest = 0;
  for (kernel::LoopOp pass : passes) {
    if (pass.getIvs().empty())
      return false;
    auto trips = countOf(pass, 0, pass.getIvs().size());
    longest = trips && longest ? std::optional(std::max(*longest, *trips)) : std::nullopt;
    pass->walk([&](kernel::AccessOp access) {
      LinearAccess linear = linearise(access);
      if (constantOf(linear.coefficient(pass.getIvs().back())) == 1)
        ++found.inner;
      if (!outer.getIvs().empty() && constantOf(linear.coefficient(outer.getIvs().back())) == 1)
        ++found.outer;
    });
  }
  auto points = countOf(outer, 0, outer.getIvs().size());
  bool reduces = llvm::any_of(passes, [](kernel::LoopOp pass) { return isa<kernel::ReduceOp>(pass.getOperation()); });
  if (found.inner >= found.outer || (points && *points < 32)) {
    if (longest && *longest < 4)
      return false;
    // Up to 32 elements a member, so that a row can stay in registers; a block of one row from a warp's reach on.
    int64_t group = !longest            ? 32
                    : *longest >= 8192  ? 512
                    : *longest >= 2048 || (points && *points < 64 && *longest >= 256)
                        ? 256
                        : std::min<int64_t>(32, llvm::PowerOf2Ceil(*longest));
    setSchedule(kernel, kernel::Strategy::rows, std::max<int64_t>(group, 256), group);
    chooseRowLanes(passes);
    return true;
  }
  // Few points and long passes: threads stack up along the pass.
  if (reduces && (!longest || *longest >= 64) && (!points || *points < 65536)) {
    setSchedule(kernel, kernel::Strategy::columns, 256, 8);
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// One thread a point
//===----------------------------------------------------------------------===//

/// Points of one thread: 16 bytes of the widest element that is accessed along the last dim.
int64_t chooseLanes(kernel::FuncOp kernel) {
  kernel::ParallelOp op = kernel.getParallel();
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size();
  if (!rank)
    return 1;
  Value iv = loop.getIvs()[rank - 1];
  int64_t widest = 0, work = 0;
  bool plain = true;
  for (Operation &inner : op.getBody().front()) {
    ++work;
    plain &= inner.getNumRegions() == 0;
    if (auto store = dyn_cast<kernel::StoreOp>(inner))
      plain &= store.getMode() == kernel::StoreMode::unique && !store.getKind();
    auto access = dyn_cast<kernel::AccessOp>(inner);
    if (!access || constantOf(linearise(access).coefficient(iv)) != 1)
      continue;
    Type element = cast<MemRefType>(access.getAccessBuffer().getType()).getElementType();
    widest = std::max<int64_t>(widest, std::max(8u, element.getIntOrFloatBitWidth()));
  }
  if (!plain || !widest || work > 200)
    return 1;
  int64_t lanes = std::min<int64_t>(128 / widest, 8);
  auto size = constantOf(sizeOf(loop, rank - 1));
  if (rank > 1)
    while (lanes > 1 && (!size || *size % lanes))
      lanes /= 2;
  return lanes;
}
} // namespace

void cuda::scheduleKernel(kernel::FuncOp kernel) {
  approximateSoftmax(kernel);
  tidyLoops(kernel);
  if (scheduleAttention(kernel) || scheduleTiles(kernel))
    return;
  auto loop = cast<kernel::LoopOp>(kernel.getParallel().getOperation());
  if (codegen::scheduleTranspose(kernel, ScheduleTarget())) {
    loop.setLaneCount(0);
    return;
  }
  if (scheduleGroups(kernel))
    return;
  setSchedule(kernel, kernel::Strategy::loop, 256);
  if (int64_t lanes = chooseLanes(kernel); lanes > 1)
    loop.setLaneCount(lanes);
}
