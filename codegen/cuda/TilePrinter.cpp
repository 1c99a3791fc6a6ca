// Sums of products in tiles of shared memory, and transposing copies.
//
// A block computes a tile of the result. Step by step along the depth it brings a slice of both factors into shared memory,
// each element computed once from whatever the kernel says it is (a padded image, a cast, a gathered row), and each thread
// multiplies its rows with its columns in registers. What follows the sum runs on those registers.
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
} // namespace

/// Prints what `value` needs, where the ivs it uses have names already.
void KernelPrinter::printSlice(kernel::ParallelOp op, const Contraction &, Value value) {
  for (Operation *inner : sliceOf(op, value))
    if (!isa<kernel::LoopOp>(inner))
      printOp(inner);
}

void KernelPrinter::printOperandTile(kernel::ParallelOp op, const Contraction &match, bool rows) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  kernel::ReduceOp reduce = match.reduce;
  auto sum = cast<kernel::LoopOp>(reduce.getOperation());
  Value value = rows ? match.row : match.column;
  unsigned rank = loop.getIvs().size();
  unsigned count = rows ? shape.rowDims : shape.columnDims, first = rank - shape.columnDims - (rows ? shape.rowDims : 0);
  int64_t extent = rows ? shape.rows : shape.columns;
  std::string line1 = rows ? "row" : "column", tile = rows ? "row_tile" : "column_tile";
  std::string size = rows ? "row_count" : "column_count";

  // Neighbouring threads read neighbouring elements: along the depth, or along the rows.
  bool alongDepth = true;
  for (Operation *inner : sliceOf(op, value))
    if (auto load = dyn_cast<kernel::LoadOp>(inner)) {
      LinearAccess access = linearise(cast<kernel::AccessOp>(inner));
      auto depthStep = constantOf(access.coefficient(sum.getIvs().back()));
      auto lineStep = constantOf(access.coefficient(loop.getIvs()[first + count - 1]));
      if (lineStep == 1 && depthStep != 1)
        alongDepth = false;
      break;
    }
  int64_t threads = shape.threads(), each = llvm::divideCeil(extent * shape.depth, threads);
  auto saved = names_;
  line("#pragma unroll");
  open("for (int piece = 0; piece < " + text(each) + "; ++piece)");
  line("const int slot = threadIdx.x + piece * " + text(threads) + ";");
  if (extent * shape.depth % threads)
    line("if (slot >= " + text(extent * shape.depth) + ") break;");
  int64_t inner = alongDepth ? shape.depth : extent;
  std::string quotient = "slot / " + text(inner), remainder = "slot % " + text(inner);
  line("const int at_depth = " + (alongDepth ? remainder : quotient) + ", at_" + line1 + " = " + (alongDepth ? quotient : remainder) + ";");
  line("const " + index_ + " depth = first_depth + at_depth, " + line1 + " = first_" + line1 + " + at_" + line1 + ";");
  Type type = match.reduce->getResult(0).getType();
  line(this->type(type) + " factor = 0;");
  std::string guard;
  if (!divides(extent, countText(loop, first, count)))
    guard = line1 + " < " + size;
  if (!divides(shape.depth, countText(sum, 0, sum.getIvs().size())))
    guard += (guard.empty() ? "" : " && ") + std::string("depth < depth_count");
  open(guard.empty() ? "" : "if (" + guard + ")");
  decode(loop, first, count, line1);
  decode(sum, 0, sum.getIvs().size(), "depth");
  printSlice(op, match, value);
  line("factor = " + raw(value) + ";");
  close();
  line(tile + "[at_depth][at_" + line1 + "] = factor;");
  close();
  names_ = saved;
}

void KernelPrinter::printTiles(kernel::ParallelOp op) {
  TileShape shape(kernel_.getScheduleOrDefault().getBlock().asArrayRef());
  auto match = matchContraction(op);
  assert(match && "the schedule tiles sums of products only");
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  auto sum = cast<kernel::LoopOp>(match->reduce.getOperation());
  unsigned rank = loop.getIvs().size(), firstColumnDim = rank - shape.columnDims, firstRowDim = firstColumnDim - shape.rowDims;
  launch_.threads = shape.threads();
  launch_.itemsPerBlock = 1;
  Type element = match->reduce->getResult(0).getType();
  std::string type = this->type(element);

  line("// " + text(shape.rows) + " x " + text(shape.columns) + " results a block, " + text(shape.threadRows) + " x " +
       text(shape.threadColumns) + " a thread; the depth in steps of " + text(shape.depth));
  line("const " + index_ + " row_count = " + countText(loop, firstRowDim, shape.rowDims) + ", column_count = " +
       countText(loop, firstColumnDim, shape.columnDims) + ", depth_count = " + countText(sum, 0, sum.getIvs().size()) + ";");
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
  line("const int thread_row = threadIdx.x / " + text(across) + " * " + text(shape.threadRows) + ", thread_column = threadIdx.x % " + text(across) +
       " * " + text(shape.threadColumns) + ";");
  int64_t padding = std::max<int64_t>(1, 16 / std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8));
  line("__shared__ alignas(16) " + type + " row_tile[" + text(shape.depth) + "][" + text(shape.rows + padding) + "];");
  line("__shared__ alignas(16) " + type + " column_tile[" + text(shape.depth) + "][" + text(shape.columns + padding) + "];");
  line(type + " total[" + text(shape.threadRows) + "][" + text(shape.threadColumns) + "] = {};");
  open("for (" + index_ + " first_depth = 0; first_depth < depth_count; first_depth += " + text(shape.depth) + ")");
  printOperandTile(op, *match, /*rows=*/true);
  printOperandTile(op, *match, /*rows=*/false);
  line("__syncthreads();");
  line("#pragma unroll");
  open("for (int step = 0; step < " + text(shape.depth) + "; ++step)");
  line(type + " a[" + text(shape.threadRows) + "], b[" + text(shape.threadColumns) + "];");
  line("#pragma unroll");
  line("for (int i = 0; i < " + text(shape.threadRows) + "; ++i) a[i] = row_tile[step][thread_row + i];");
  line("#pragma unroll");
  line("for (int j = 0; j < " + text(shape.threadColumns) + "; ++j) b[j] = column_tile[step][thread_column + j];");
  line("#pragma unroll");
  line("for (int i = 0; i < " + text(shape.threadRows) + "; ++i)");
  line("#pragma unroll");
  line("  for (int j = 0; j < " + text(shape.threadColumns) + "; ++j)");
  std::string next = element.isF32()   ? "fmaf(a[i], b[j], total[i][j])"
                     : element.isF64() ? "fma(a[i], b[j], total[i][j])"
                                       : "wrapping_add(total[i][j], wrapping_mul(a[i], b[j]))";
  line("    total[i][j] = " + next + ";");
  close();
  line("__syncthreads();");
  close();

  // What follows the sum, on the thread's own results.
  llvm::DenseSet<Operation *> needed;
  for (auto store : op.getOps<kernel::StoreOp>()) {
    needed.insert(store);
    for (Value operand : store->getOperands())
      for (Operation *inner : sliceOf(op, operand))
        needed.insert(inner);
  }
  line("#pragma unroll");
  open("for (int i = 0; i < " + text(shape.threadRows) + "; ++i)");
  line("const " + index_ + " row = first_row + thread_row + i;");
  if (!divides(shape.rows, countText(loop, firstRowDim, shape.rowDims)))
    line("if (row >= row_count) break;");
  decode(loop, firstRowDim, shape.rowDims, "row");
  line("#pragma unroll");
  open("for (int j = 0; j < " + text(shape.threadColumns) + "; ++j)");
  line("const " + index_ + " column = first_column + thread_column + j;");
  if (!divides(shape.columns, countText(loop, firstColumnDim, shape.columnDims)))
    line("if (column >= column_count) break;");
  decode(loop, firstColumnDim, shape.columnDims, "column");
  set(match->reduce->getResult(0), {"total[i][j]"});
  for (Operation &inner : op.getBody().front())
    if (needed.contains(&inner) && !isa<kernel::LoopOp>(inner))
      printOp(&inner);
  close();
  close();
}

//===----------------------------------------------------------------------===//
// Transposing
//===----------------------------------------------------------------------===//

void KernelPrinter::printTransposed(kernel::ParallelOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size();
  Value along = loop.getIvs()[rank - 2], across = loop.getIvs()[rank - 1];
  constexpr int64_t edge = 32;
  assert(kernel_.getScheduleOrDefault().getTile() == edge && "a warp turns a line of the tile");
  launch_.threads = 256;
  launch_.itemsPerBlock = 1;
  line("// loads run along dim " + text(rank - 2) + ", stores along dim " + text(rank - 1) + ": tiles of 32 x 32 turn in shared memory");
  line("const " + index_ + " load_count = " + sizeText(loop, rank - 2) + ", store_count = " + sizeText(loop, rank - 1) + ";");
  line("const " + index_ + " tiles_across = (store_count + 31) / 32, tiles_down = (load_count + 31) / 32;");
  line("const " + index_ + " tile = blockIdx.x;");
  line("const " + index_ + " first_store = tile % tiles_across * 32, first_load = tile / tiles_across % tiles_down * 32;");
  if (rank > 2) {
    line("const " + index_ + " plane = tile / (tiles_across * tiles_down);");
    decode(loop, 0, rank - 2, "plane");
  }
  line("const int lane = threadIdx.x % 32, line = threadIdx.x / 32;");
  nonNegative_.insert(along);
  nonNegative_.insert(across);
  SmallVector<kernel::LoadOp> turned;
  for (auto load : op.getOps<kernel::LoadOp>()) {
    auto step = constantOf(linearise(cast<kernel::AccessOp>(load.getOperation())).coefficient(across));
    if (step == 0 || step == 1)
      continue;
    std::string name = fresh("turned");
    line("__shared__ " + type(load.getType()) + " " + name + "[32][33];");
    packs_[load] = name;
    turned.push_back(load);
  }
  line("#pragma unroll");
  open("for (int step = line; step < 32; step += 8)");
  line("const " + index_ + " load_at = first_load + lane, store_at = first_store + step;");
  set(along, {"load_at"});
  set(across, {"store_at"});
  open("if (load_at < load_count && store_at < store_count)");
  for (kernel::LoadOp load : turned)
    line(packs_[load] + "[step][lane] = " + element(load.getBuffer(), offset(linearise(cast<kernel::AccessOp>(load.getOperation())))) + ";");
  close();
  close();
  line("__syncthreads();");
  line("#pragma unroll");
  open("for (int step = line; step < 32; step += 8)");
  line("const " + index_ + " load_at = first_load + step, store_at = first_store + lane;");
  open("if (load_at < load_count && store_at < store_count)");
  for (kernel::LoadOp load : turned)
    packs_[load] += "[lane][step]";
  printOps(op.getBody().front());
  close();
  close();
}
