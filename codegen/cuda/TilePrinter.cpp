// Sums of products in tiles of shared memory.
//
// A block computes a tile of the result. Step by step along the depth it brings a slice of both factors into shared memory,
// each element computed once from whatever the kernel says it is (a padded image, a cast, a gathered row), and each thread
// multiplies its rows with its columns in registers. What follows the sum runs on those registers.
//
// What costs a GPU most after the products is finding out what to bring, so little of that is left inside the loop: each thread
// brings the same few lines in every step and takes their indices apart once, in front; outer dims of the depth are loops of
// their own where the last one fills whole steps; neighbours come in one access where they lie side by side; and lines
// behind the last one are read as the last one, since nobody stores what becomes of them.
#include "codegen/cuda/KernelPrinter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

namespace {
/// Names of #kernel.schedule's `block`.
struct TileShape {
  int64_t columnDims, rowDims, rows, columns, depth, threadRows, threadColumns;
  explicit TileShape(ArrayRef<int64_t> b)
      : columnDims(b[0]), rowDims(b[1]), rows(b[2]), columns(b[3]), depth(b[4]), threadRows(b[5]), threadColumns(b[6]) {}
  int64_t threads() const { return rows / threadRows * (columns / threadColumns); }
};

std::string text(int64_t number) { return std::to_string(number); }

/// `size` is a number that `by` divides.
bool divides(int64_t by, StringRef size) {
  int64_t number;
  return !size.rtrim('l').getAsInteger(10, number) && number % by == 0;
}

int64_t bytesOf(Type element) { return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8); }

/// Elements of shared memory that one access reads.
int64_t sharedLanes(Type element, int64_t count) { return std::min(count, std::max<int64_t>(1, 16 / bytesOf(element))); }

/// The load's elements along `iv` are packs, and whether it reads or fills does not depend on the place in a pack.
bool isGuardedPack(kernel::LoadOp load, Value iv, int64_t lanes) {
  auto access = cast<kernel::AccessOp>(load.getOperation());
  LinearAccess linear = linearise(access);
  if (load.getFill())
    for (auto [index, size] : llvm::zip(linear.indices, linear.dims)) {
      int at = linear.space.find(iv);
      if (at < 0 || !index.isFunctionOfDim(at))
        continue;
      // Only as the iv itself over a dim of its own size.
      auto argument = cast<BlockArgument>(iv);
      auto trip = sizeOf(cast<kernel::LoopOp>(argument.getOwner()->getParentOp()), argument.getArgNumber());
      if (!isa<AffineDimExpr>(index) || !trip || !provedEqual(*trip, size))
        return false;
    }
  return isPack(access, iv, lanes, /*guarded=*/true);
}
} // namespace

/// How the threads of a block share out the elements of one factor.
struct KernelPrinter::Bringing {
  std::string line;             // "row" or "column"
  unsigned first = 0, count = 0; // its dims of the outer domain
  int64_t extent = 0;           // lines of a tile
  bool alongDepth = true;       // lanes are neighbours along the depth, else neighbouring lines
  int64_t lanes = 1;
  // A thread's lines are `lineStride` apart, and so on.
  int64_t linePieces = 1, lineStride = 1, depthPieces = 1, depthStride = 1;
  bool fewLines = false, fewDepths = false; // some threads have nothing to do
  SmallVector<std::pair<Value, std::string>> indices; // outer ivs, taken apart in front
  SmallVector<kernel::LoadOp> packs;
};

KernelPrinter::Bringing KernelPrinter::planBringing(kernel::ParallelOp op, const Contraction &match, bool rows) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  kernel::ReduceOp reduce = match.reduce;
  auto sum = cast<kernel::LoopOp>(reduce.getOperation());
  Value value = rows ? match.row : match.column;
  unsigned rank = loop.getIvs().size();
  Bringing plan;
  plan.line = rows ? "row" : "column";
  plan.count = rows ? shape.rowDims : shape.columnDims;
  plan.first = rank - shape.columnDims - (rows ? shape.rowDims : 0);
  plan.extent = rows ? shape.rows : shape.columns;
  Value lineIv = loop.getIvs()[plan.first + plan.count - 1], depthIv = sum.getIvs().back();

  // Neighbouring threads read neighbouring elements: along the depth, or along the lines.
  SmallVector<kernel::LoadOp> loads;
  for (Operation *inner : sliceOf(op, value))
    if (auto load = dyn_cast<kernel::LoadOp>(inner))
      loads.push_back(load);
  if (!loads.empty()) {
    LinearAccess access = linearise(cast<kernel::AccessOp>(loads[0].getOperation()));
    plan.alongDepth = constantOf(access.coefficient(lineIv)) != 1 || constantOf(access.coefficient(depthIv)) == 1;
  }
  Value along = plan.alongDepth ? depthIv : lineIv;
  std::string size = plan.alongDepth ? sizeText(sum, sum.getIvs().size() - 1) : sizeText(loop, plan.first + plan.count - 1);
  int64_t widest = bytesOf(match.reduce->getResult(0).getType());
  for (kernel::LoadOp load : loads)
    widest = std::max(widest, bytesOf(load.getType()));
  for (int64_t lanes : {4, 2}) {
    if (lanes * widest > 16)
      continue;
    plan.packs.clear();
    for (kernel::LoadOp load : loads)
      if (load->getParentOp() == reduce.getOperation() && isGuardedPack(load, along, lanes))
        plan.packs.push_back(load);
    if (!plan.packs.empty() && divides(lanes, size)) {
      plan.lanes = lanes;
      break;
    }
  }
  if (plan.lanes == 1)
    plan.packs.clear();

  int64_t threads = shape.threads();
  if (plan.alongDepth) {
    plan.lineStride = threads / (shape.depth / plan.lanes);
    plan.linePieces = llvm::divideCeil(plan.extent, plan.lineStride);
    plan.fewLines = plan.lineStride * plan.linePieces > plan.extent;
  } else {
    int64_t across = plan.extent / plan.lanes;
    plan.linePieces = std::max<int64_t>(1, across / threads);
    plan.lineStride = threads * plan.lanes;
    plan.depthStride = std::max<int64_t>(1, threads / across);
    plan.depthPieces = llvm::divideCeil(shape.depth, plan.depthStride);
    plan.fewDepths = plan.depthStride * plan.depthPieces > shape.depth;
  }
  return plan;
}

/// In front of the loop: which lines this thread brings, and their indices.
void KernelPrinter::printLines(kernel::ParallelOp op, Bringing &plan) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  std::string own = plan.line + "_own", depth = plan.line + "_depth", pieces = text(plan.linePieces), lanes = text(plan.lanes);
  std::string times = plan.lanes > 1 ? " * " + lanes : "";
  if (plan.alongDepth) {
    std::string across = text(shape.depth / plan.lanes);
    line("const int " + depth + " = threadIdx.x % " + across + times + ", " + own + " = threadIdx.x / " + across + ";");
  } else {
    std::string across = text(std::min(plan.extent / plan.lanes, shape.threads()));
    line("const int " + depth + " = threadIdx.x / " + across + ", " + own + " = threadIdx.x % " + across + times + ";");
  }
  SmallVector<std::string> arrays;
  for (unsigned d = plan.first; d < plan.first + plan.count; ++d) {
    arrays.push_back(fresh(plan.count == 1 ? plan.line + "_at" : plan.line + "_i" + text(d)));
    line(index_ + " " + arrays.back() + "[" + pieces + "];");
  }
  line("#pragma unroll");
  open("for (int piece = 0; piece < " + pieces + "; ++piece)");
  std::string at = "first_" + plan.line + " + " + own + (plan.linePieces > 1 ? " + piece * " + text(plan.lineStride) : "");
  std::string last = plan.line + "_count - " + (plan.alongDepth ? "1" : lanes);
  if (divides(plan.extent, countText(loop, plan.first, plan.count)) && !plan.fewLines)
    line("const " + index_ + " " + plan.line + " = " + at + ";");
  else
    line("const " + index_ + " " + plan.line + " = min(" + index_ + "(" + at + "), " + index_ + "(" + last + "));");
  auto saved = names_;
  decode(loop, plan.first, plan.count, plan.line);
  for (unsigned i = 0; i < plan.count; ++i) {
    Value iv = loop.getIvs()[plan.first + i];
    line(arrays[i] + "[piece] = " + raw(iv) + ";");
    plan.indices.push_back({iv, arrays[i] + "[piece]"});
  }
  close();
  names_ = saved;
}

/// Inside the loop: the factor's elements of one step.
void KernelPrinter::printBringing(kernel::ParallelOp op, const Contraction &match, const Bringing &plan, bool wholeSteps) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  kernel::ReduceOp reduce = match.reduce;
  auto sum = cast<kernel::LoopOp>(reduce.getOperation());
  Value value = plan.line == "row" ? match.row : match.column;
  std::string tile = plan.line + "_tile", own = plan.line + "_own", lanes = text(plan.lanes);
  std::string type = this->type(reduce->getResult(0).getType());
  auto saved = names_;
  line("#pragma unroll");
  open("for (int piece = 0; piece < " + text(plan.linePieces) + "; ++piece)");
  std::string atLine = own + (plan.linePieces > 1 ? " + piece * " + text(plan.lineStride) : ""), atDepth = plan.line + "_depth";
  if (plan.fewLines)
    line("if (" + atLine + " >= " + text(plan.extent) + ") break;");
  if (plan.depthPieces > 1) {
    line("#pragma unroll");
    open("for (int layer = 0; layer < " + text(plan.depthPieces) + "; ++layer)");
    atDepth += " + layer * " + text(plan.depthStride);
  }
  if (plan.fewDepths)
    line("if (" + atDepth + " >= " + text(shape.depth) + ") break;");
  for (auto &[iv, name] : plan.indices)
    set(iv, {name});
  line("const " + index_ + " depth = first_depth + " + atDepth + ";");
  std::string result = plan.lanes > 1 ? "Pack<" + type + ", " + lanes + "> factor" : type + " factor";
  std::string count = wholeSteps ? sizeText(sum, sum.getIvs().size() - 1) : "depth_count";
  bool guarded = !divides(shape.depth, count);
  line(result + (guarded ? " = {};" : ";"));
  if (guarded)
    open("if (depth < " + count + ")");
  Value depthIv = sum.getIvs().back();
  if (wholeSteps)
    set(depthIv, {"depth"});
  else
    decode(sum, 0, sum.getIvs().size(), "depth");
  auto savedPacks = packs_;
  for (kernel::LoadOp load : plan.packs) {
    LinearAccess access = linearise(cast<kernel::AccessOp>(load.getOperation()));
    std::string buffer = names_[load.getBuffer()].text, name = fresh(buffer + "_pack");
    std::string loaded = "load_pack<" + lanes + ">(" + buffer + " + " + offset(access) + ", " + alignedName_ + ")";
    std::string inside = load.getFill() ? inBounds(access) : "";
    if (inside.empty()) {
      line("const auto " + name + " = " + loaded + ";");
    } else {
      for (Operation *inner : sliceOf(op, load.getFill()))
        printOp(inner);
      line("auto " + name + " = same_pack<" + lanes + ">(" + raw(load.getFill()) + ");");
      line("if (" + inside + ") " + name + " = " + loaded + ";");
    }
    packs_[load] = name + ".at[lane]";
  }
  if (plan.lanes > 1) {
    line("#pragma unroll");
    open("for (int lane = 0; lane < " + lanes + "; ++lane)");
    Value along = plan.alongDepth ? depthIv : plan.indices.back().first;
    set(along, {raw(along) + " + lane", false});
  }
  for (Operation *inner : sliceOf(op, value))
    if (!isa<kernel::LoopOp>(inner))
      printOp(inner);
  line(std::string(plan.lanes > 1 ? "factor.at[lane]" : "factor") + " = " + raw(value) + ";");
  if (plan.lanes > 1)
    close();
  packs_ = savedPacks;
  if (guarded)
    close();
  if (plan.lanes == 1)
    line(tile + "[" + atDepth + "][" + atLine + "] = factor;");
  else if (!plan.alongDepth)
    line("store_pack(&" + tile + "[" + atDepth + "][" + atLine + "], factor);");
  else {
    line("#pragma unroll");
    line("for (int lane = 0; lane < " + lanes + "; ++lane) " + tile + "[" + atDepth + " + lane][" + atLine + "] = factor.at[lane];");
  }
  if (plan.depthPieces > 1)
    close();
  close();
  names_ = saved;
}

/// One step: every row of the thread times every column of it.
void KernelPrinter::printProducts(Type element) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  std::string type = this->type(element);
  int64_t a = sharedLanes(element, shape.threadRows), b = sharedLanes(element, shape.threadColumns);
  auto bring = [&](const char *name, const char *tile, const char *first, int64_t extent, int64_t count, int64_t lanes) {
    int64_t packs = count / lanes, apart = extent / packs;
    line("Pack<" + type + ", " + text(lanes) + "> " + name + "[" + text(packs) + "];");
    line("#pragma unroll");
    line("for (int i = 0; i < " + text(packs) + "; ++i) " + name + "[i] = load_pack<" + text(lanes) + ">(&" + tile + "[step][" + first +
         (packs > 1 ? " + i * " + text(apart) : "") + "]);");
  };
  auto at = [&](const char *name, const char *i, int64_t lanes) {
    return std::string(name) + "[" + i + " / " + text(lanes) + "].at[" + i + " % " + text(lanes) + "]";
  };
  line("#pragma unroll 8"); // all of them: 3 % fewer instructions, half as much again for the compiler
  open("for (int step = 0; step < " + text(shape.depth) + "; ++step)");
  bring("a", "row_tile", "thread_row", shape.rows, shape.threadRows, a);
  bring("b", "column_tile", "thread_column", shape.columns, shape.threadColumns, b);
  line("#pragma unroll");
  line("for (int i = 0; i < " + text(shape.threadRows) + "; ++i)");
  line("#pragma unroll");
  line("  for (int j = 0; j < " + text(shape.threadColumns) + "; ++j)");
  std::string factors = at("a", "i", a) + ", " + at("b", "j", b);
  std::string next = element.isF32()   ? "fmaf(" + factors + ", total[i][j])"
                     : element.isF64() ? "fma(" + factors + ", total[i][j])"
                                       : "wrapping_add(total[i][j], wrapping_mul(" + factors + "))";
  line("    total[i][j] = " + next + ";");
  close();
}

/// What follows the sum, on the thread's own results: neighbouring columns go out in one access where they lie side by side.
void KernelPrinter::printAfterSum(kernel::ParallelOp op, const Contraction &match) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size(), firstColumnDim = rank - shape.columnDims, firstRowDim = firstColumnDim - shape.rowDims;
  Type element = match.reduce->getResult(0).getType();
  int64_t rowLanes = sharedLanes(element, shape.threadRows), columnLanes = sharedLanes(element, shape.threadColumns);
  llvm::DenseSet<Operation *> needed;
  for (auto store : op.getOps<kernel::StoreOp>()) {
    needed.insert(store);
    for (Value operand : store->getOperands())
      for (Operation *inner : sliceOf(op, operand))
        needed.insert(inner);
  }
  // Packs of columns.
  Value columnIv = loop.getIvs().back();
  int64_t lanes = divides(columnLanes, sizeText(loop, rank - 1)) ? columnLanes : 1;
  SmallVector<kernel::LoadOp> loads;
  SmallVector<kernel::StoreOp> stores;
  for (Operation &inner : op.getBody().front()) {
    auto access = dyn_cast<kernel::AccessOp>(inner);
    if (!access || lanes == 1 || !needed.contains(&inner) || !isPack(access, columnIv, lanes) ||
        lanes * bytesOf(cast<MemRefType>(access.getAccessBuffer().getType()).getElementType()) > 16)
      continue;
    if (auto load = dyn_cast<kernel::LoadOp>(inner))
      loads.push_back(load);
    else
      stores.push_back(cast<kernel::StoreOp>(inner));
  }
  if (stores.empty()) {
    lanes = 1;
    loads.clear();
  }
  auto place = [&](const char *i, int64_t extent, int64_t count, int64_t packed) {
    std::string within = packed > 1 ? std::string(i) + " % " + text(packed) : "";
    std::string pack = count > packed ? std::string(i) + " / " + text(packed) + " * " + text(extent / (count / packed)) : "";
    return (pack.empty() ? "" : " + " + pack) + (within.empty() ? "" : " + " + within);
  };
  line("#pragma unroll");
  open("for (int i = 0; i < " + text(shape.threadRows) + "; ++i)");
  line("const " + index_ + " row = first_row + thread_row" + place("i", shape.rows, shape.threadRows, rowLanes) + ";");
  if (!divides(shape.rows, countText(loop, firstRowDim, shape.rowDims)))
    line("if (row >= row_count) continue;");
  decode(loop, firstRowDim, shape.rowDims, "row");
  line("#pragma unroll");
  open("for (int j = 0; j < " + text(shape.threadColumns) + "; j += " + text(lanes) + ")");
  line("const " + index_ + " column = first_column + thread_column" + place("j", shape.columns, shape.threadColumns, columnLanes) + ";");
  if (!divides(shape.columns, countText(loop, firstColumnDim, shape.columnDims)))
    line("if (column >= column_count) continue;");
  decode(loop, firstColumnDim, shape.columnDims, "column");
  auto address = [&](kernel::AccessOp access) { return names_[access.getAccessBuffer()].text + " + " + offset(linearise(access)); };
  for (kernel::LoadOp load : loads) {
    std::string name = fresh(names_[load.getBuffer()].text + "_pack");
    line("const auto " + name + " = load_pack<" + text(lanes) + ">(" + address(cast<kernel::AccessOp>(load.getOperation())) + ", " + alignedName_ + ");");
    packs_[load] = name + ".at[lane]";
  }
  std::vector<std::string> behind;
  for (kernel::StoreOp store : stores) {
    std::string name = fresh(names_[store.getBuffer()].text + "_pack");
    line("Pack<" + type(store.getValue().getType()) + ", " + text(lanes) + "> " + name + ";");
    packs_[store] = name + ".at[lane]";
    behind.push_back("store_pack(" + address(cast<kernel::AccessOp>(store.getOperation())) + ", " + name + ", " + alignedName_ + ");");
  }
  if (lanes > 1) {
    line("#pragma unroll");
    open("for (int lane = 0; lane < " + text(lanes) + "; ++lane)");
    set(columnIv, {raw(columnIv) + " + lane", false});
  }
  set(match.reduce->getResult(0), {lanes > 1 ? "total[i][j + lane]" : "total[i][j]"});
  for (Operation &inner : op.getBody().front())
    if (needed.contains(&inner) && !isa<kernel::LoopOp>(inner))
      printOp(&inner);
  if (lanes > 1)
    close();
  for (const std::string &store : behind)
    line(store);
  close();
  close();
}

void KernelPrinter::printTiles(kernel::ParallelOp op) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  auto match = matchContraction(op);
  assert(match && "the schedule tiles sums of products only");
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  auto sum = cast<kernel::LoopOp>(match->reduce.getOperation());
  unsigned rank = loop.getIvs().size(), firstColumnDim = rank - shape.columnDims, firstRowDim = firstColumnDim - shape.rowDims;
  unsigned depthDims = sum.getIvs().size();
  launch_.threads = shape.threads();
  launch_.itemsPerBlock = 1;
  Type element = match->reduce->getResult(0).getType();
  std::string type = this->type(element);

  line("// " + text(shape.rows) + " x " + text(shape.columns) + " results a block, " + text(shape.threadRows) + " x " +
       text(shape.threadColumns) + " a thread; the depth in steps of " + text(shape.depth));
  line("const " + index_ + " row_count = " + countText(loop, firstRowDim, shape.rowDims) + ", column_count = " +
       countText(loop, firstColumnDim, shape.columnDims) + ";");
  line("const " + index_ + " tiles_across = (column_count + " + text(shape.columns - 1) + ") / " + text(shape.columns) +
       ", tiles_down = (row_count + " + text(shape.rows - 1) + ") / " + text(shape.rows) + ";");
  line("const " + index_ + " tile = blockIdx.x;");
  line("const " + index_ + " first_column = tile % tiles_across * " + text(shape.columns) + ";");
  line("const " + index_ + " first_row = tile / tiles_across % tiles_down * " + text(shape.rows) + ";");
  if (firstRowDim) {
    line("const " + index_ + " product = tile / (tiles_across * tiles_down);");
    decode(loop, 0, firstRowDim, "product");
  }
  int64_t across = shape.columns / shape.threadColumns;
  line("const int thread_row = threadIdx.x / " + text(across) + " * " + text(sharedLanes(element, shape.threadRows)) +
       ", thread_column = threadIdx.x % " + text(across) + " * " + text(sharedLanes(element, shape.threadColumns)) + ";");
  int64_t padding = std::max<int64_t>(1, 16 / bytesOf(element));
  line("__shared__ alignas(16) " + type + " row_tile[" + text(shape.depth) + "][" + text(shape.rows + padding) + "];");
  line("__shared__ alignas(16) " + type + " column_tile[" + text(shape.depth) + "][" + text(shape.columns + padding) + "];");
  line(type + " total[" + text(shape.threadRows) + "][" + text(shape.threadColumns) + "] = {};");

  Bringing rows = planBringing(op, *match, /*rows=*/true), columns = planBringing(op, *match, /*rows=*/false);
  // One answer for all buffers: they come from one allocator, and views that start anywhere are rare.
  std::string aligned;
  for (Value buffer : kernel_.getBuffers()) {
    Type held = cast<MemRefType>(buffer.getType()).getElementType();
    aligned += (aligned.empty() ? "" : " && ") + std::string("is_aligned<") + text(std::min<int64_t>(16, 4 * bytesOf(held))) + ">(" + names_[buffer].text + ")";
  }
  alignedName_ = "aligned";
  line("const bool aligned = " + aligned + ";");
  printLines(op, rows);
  printLines(op, columns);
  // Whole steps along the last dim of the depth, or steps through all of it as one.
  bool wholeSteps = depthDims == 1 || divides(shape.depth, sizeText(sum, depthDims - 1));
  std::string end = sizeText(sum, depthDims - 1);
  if (wholeSteps)
    for (unsigned d = 0; d + 1 < depthDims; ++d) {
      std::string name = fresh("k");
      nonNegative_.insert(sum.getIvs()[d]);
      open("for (" + index_ + " " + name + " = 0; " + name + " < " + sizeText(sum, d) + "; ++" + name + ")");
      set(sum.getIvs()[d], {name});
    }
  else
    line("const " + index_ + " depth_count = " + countText(sum, 0, depthDims) + ";");
  nonNegative_.insert(sum.getIvs().back());
  open("for (" + index_ + " first_depth = 0; first_depth < " + (wholeSteps ? end : "depth_count") + "; first_depth += " + text(shape.depth) + ")");
  printBringing(op, *match, rows, wholeSteps);
  printBringing(op, *match, columns, wholeSteps);
  line("__syncthreads();");
  printProducts(element);
  line("__syncthreads();");
  close();
  for (unsigned d = 0; wholeSteps && d + 1 < depthDims; ++d)
    close();
  printAfterSum(op, *match);
}
