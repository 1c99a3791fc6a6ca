// Two ways through a kernel's passes. One thread a point: passes are plain loops, and neighbouring points of a thread travel in
// packs of 16 bytes. A group of threads a point (a row, or a column read row by row): each member takes every size-th element
// of a pass, and reductions join the members' values in a tree that depends on the group's size alone.
#include "codegen/cuda/KernelPrinter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

//===----------------------------------------------------------------------===//
// Plain loops
//===----------------------------------------------------------------------===//

void KernelPrinter::printNest(kernel::LoopOp op, StringRef, const Lines &body) {
  unsigned rank = op.getIvs().size();
  for (unsigned d = 0; d < rank; ++d) {
    std::string name = fresh("k");
    nonNegative_.insert(op.getIvs()[d]);
    open("for (" + index_ + " " + name + " = 0; " + name + " < " + sizeText(op, d) + "; ++" + name + ")");
    set(op.getIvs()[d], {name});
  }
  body();
  for (unsigned d = 0; d < rank; ++d)
    close();
}

void KernelPrinter::printMap(kernel::MapOp op) {
  printNest(cast<kernel::LoopOp>(op.getOperation()), "1", [&] { printOps(op.getBody().front()); });
}

static StringRef stateName(kernel::ReduceOp op) {
  Operation *join = op.getCombinerYield().getValues()[0].getDefiningOp();
  if (!join || op->getNumResults() != 1)
    return "best";
  return isa<arith::AddFOp, arith::AddIOp>(join)                                  ? "total"
         : isa<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(join)           ? "largest"
         : isa<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(join)           ? "smallest"
                                                                                  : "joined";
}

std::vector<std::string> KernelPrinter::declareState(kernel::ReduceOp op) {
  std::vector<std::string> state;
  for (auto [i, init] : llvm::enumerate(op.getInits())) {
    state.push_back(fresh(i ? "best_at" : stateName(op)));
    line(type(init.getType()) + " " + state.back() + " = " + raw(init) + ";");
  }
  return state;
}

/// state = combine(state, other)
void KernelPrinter::combineInto(kernel::ReduceOp op, ArrayRef<std::string> state, ArrayRef<std::string> other) {
  Block *block = op.getCombinerBlock();
  unsigned count = state.size();
  for (unsigned i = 0; i < count; ++i) {
    set(block->getArgument(i), {state[i]});
    set(block->getArgument(count + i), {other[i]});
  }
  printOps(*block);
  SmallVector<std::string> next;
  for (Value value : op.getCombinerYield().getValues())
    next.push_back(raw(value));
  if (count == 1) {
    line(state[0] + " = " + next[0] + ";");
    return;
  }
  // All before any: they are computed from each other's old values.
  SmallVector<std::string> held;
  for (unsigned i = 0; i < count; ++i) {
    held.push_back(fresh("next"));
    line("const " + type(op.getResult(i).getType()) + " " + held.back() + " = " + next[i] + ";");
  }
  for (unsigned i = 0; i < count; ++i)
    line(state[i] + " = " + held[i] + ";");
}

void KernelPrinter::printReduce(kernel::ReduceOp op) {
  auto state = declareState(op);
  printNest(cast<kernel::LoopOp>(op.getOperation()), "1", [&] {
    printOps(op.getBody().front());
    std::vector<std::string> values;
    for (Value value : op.getBodyYield().getValues())
      values.push_back(use(value));
    combineInto(op, state, values);
  });
  for (auto [result, name] : llvm::zip(op.getResults(), state))
    set(result, {name});
}

void KernelPrinter::printScan(kernel::ScanOp op) {
  std::vector<std::string> state;
  for (auto [carried, init] : llvm::zip(op.getCarried(), op.getInits())) {
    state.push_back(fresh("carried"));
    line(type(init.getType()) + " " + state.back() + " = " + raw(init) + ";");
    set(carried, {state.back()});
  }
  printNest(cast<kernel::LoopOp>(op.getOperation()), "1", [&] {
    printOps(op.getBody().front());
    std::vector<std::string> next;
    for (Value value : op.getBodyYield().getValues()) {
      next.push_back(state.size() == 1 ? raw(value) : fresh("next"));
      if (state.size() > 1)
        line("const " + type(value.getType()) + " " + next.back() + " = " + raw(value) + ";");
    }
    for (auto [name, value] : llvm::zip(state, next))
      if (name != value)
        line(name + " = " + value + ";");
  });
  for (auto [result, name] : llvm::zip(op.getResults(), state))
    set(result, {name});
}

//===----------------------------------------------------------------------===//
// One thread a point
//===----------------------------------------------------------------------===//

void KernelPrinter::printPerThread(kernel::ParallelOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  launch_.threads = kernel_.getScheduleOrDefault().getThreads();
  int64_t lanes = loop.getLaneCount();
  launch_.itemsPerBlock = launch_.threads * std::max<int64_t>(1, lanes);
  std::string block = index_ + "(blockIdx.x)";
  if (lanes > 1)
    return printPack(op, lanes);
  line("const " + index_ + " point = " + block + " * " + std::to_string(launch_.threads) + " + threadIdx.x;");
  line("if (point >= range) return;");
  decode(loop, 0, loop.getIvs().size(), "point");
  printOps(op.getBody().front());
}

/// Whether the elements that `lanes` neighbouring points access are one pack.
static bool isPack(kernel::AccessOp op, Value iv, int64_t lanes) {
  if (auto load = dyn_cast<kernel::LoadOp>(op.getOperation()); load && load.getFill())
    return false;
  if (auto store = dyn_cast<kernel::StoreOp>(op.getOperation()); store && (store.getCondition() || store.getKind()))
    return false;
  LinearAccess access = linearise(op);
  if (constantOf(access.coefficient(iv)) != 1)
    return false;
  // Everything else in the offset is a multiple of the pack.
  AffineExpr rest = access.offset;
  for (auto [d, value] : llvm::enumerate(access.space.values)) {
    auto step = constantOf(access.coefficient(value));
    if (!step || (value != iv && *step % lanes != 0))
      return false;
    if (!isa<BlockArgument>(value))
      return false; // a computed index
    rest = rest.replace(getAffineDimExpr(d, rest.getContext()), getAffineConstantExpr(0, rest.getContext()));
  }
  rest = simplifyAffineExpr(rest, access.space.values.size(), 64);
  auto constant = constantOf(rest);
  return constant && *constant % lanes == 0;
}

void KernelPrinter::printPack(kernel::ParallelOp op, int64_t lanes) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size();
  Value iv = loop.getIvs()[rank - 1];
  std::string count = std::to_string(lanes);
  line("const " + index_ + " first = (" + index_ + "(blockIdx.x) * " + std::to_string(launch_.threads) + " + threadIdx.x) * " + count + ";");
  line("if (first >= range) return;");

  // Which accesses go by packs, and whether all their buffers are aligned to it.
  SmallVector<kernel::LoadOp> loads;
  SmallVector<kernel::StoreOp> stores;
  llvm::SetVector<Value> buffers;
  for (Operation &inner : op.getBody().front()) {
    auto access = dyn_cast<kernel::AccessOp>(inner);
    if (!access || !isPack(access, iv, lanes))
      continue;
    buffers.insert(access.getAccessBuffer());
    if (auto load = dyn_cast<kernel::LoadOp>(inner))
      loads.push_back(load);
    else
      stores.push_back(cast<kernel::StoreOp>(inner));
  }
  std::string aligned;
  for (Value buffer : buffers) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    int64_t bytes = lanes * std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
    aligned += " && is_aligned<" + std::to_string(bytes) + ">(" + names_[buffer].text + ")";
  }
  auto saved = names_;
  // Whole packs.
  open("if (first + " + count + " <= range" + aligned + ")");
  auto decodeAt = [&](StringRef point) { decode(loop, 0, rank, point); };
  decodeAt("first");
  for (kernel::LoadOp load : loads) {
    std::string name = fresh(names_[load.getBuffer()].text + "_pack");
    line("const auto " + name + " = load_pack<" + count + ">(" + names_[load.getBuffer()].text + " + " +
         offset(linearise(cast<kernel::AccessOp>(load.getOperation()))) + ");");
    packs_[load] = name + ".at[lane]";
  }
  llvm::DenseMap<Operation *, std::string> packNames;
  for (kernel::StoreOp store : stores) {
    std::string name = fresh(names_[store.getBuffer()].text + "_pack");
    line("Pack<" + type(store.getValue().getType()) + ", " + count + "> " + name + ";");
    packs_[store] = name + ".at[lane]";
    packNames[store] = name;
  }
  std::string base = raw(iv);
  line("#pragma unroll");
  open("for (int lane = 0; lane < " + count + "; ++lane)");
  set(iv, {base + " + lane", false});
  printOps(op.getBody().front());
  close();
  set(iv, {base});
  for (kernel::StoreOp store : stores)
    line("store_pack(" + names_[store.getBuffer()].text + " + " + offset(linearise(cast<kernel::AccessOp>(store.getOperation()))) + ", " +
         packNames[store] + ");");
  close(" else {");
  ++depth_;
  // The last points, and buffers that start anywhere.
  packs_.clear();
  names_ = saved;
  open("for (" + index_ + " point = first; point < range && point < first + " + count + "; ++point)");
  decodeAt("point");
  printOps(op.getBody().front());
  close();
  close();
}

//===----------------------------------------------------------------------===//
// A group of threads a point
//===----------------------------------------------------------------------===//

void KernelPrinter::printGroup(kernel::ParallelOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  kernel::ScheduleAttr schedule = kernel_.getScheduleOrDefault();
  launch_.threads = schedule.getThreads();
  group_.size = schedule.getGroup();
  group_.strided = schedule.getStrategy() == kernel::Strategy::columns;
  group_.across = launch_.threads / group_.size;
  launch_.itemsPerBlock = group_.across;
  std::string across = std::to_string(group_.across), size = std::to_string(group_.size);
  group_.member = "member";
  if (group_.strided) {
    // All threads stay: they meet at barriers.
    line("const int across = threadIdx.x % " + across + ", member = threadIdx.x / " + across + ";");
    line("const " + index_ + " place = " + index_ + "(blockIdx.x) * " + across + " + across;");
    line("const bool live = place < range;");
    line("const " + index_ + " point = live ? place : " + index_ + "(range) - 1;");
  } else if (group_.across == 1) {
    line("const int member = threadIdx.x;");
    line("const " + index_ + " point = blockIdx.x;");
  } else {
    line("const int member = threadIdx.x % " + size + ";");
    line("const " + index_ + " point = " + index_ + "(blockIdx.x) * " + across + " + threadIdx.x / " + size + ";");
    line("if (point >= range) return;");
    if (group_.size < 32)
      line("const unsigned members = " + std::to_string((1u << group_.size) - 1) + "u << (threadIdx.x % 32 / " + size + " * " + size + ");");
    else
      line("const unsigned members = 0xffffffffu;");
  }
  decode(loop, 0, loop.getIvs().size(), "point");
  bool storedBefore = false;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    // A later pass may read what another member stored.
    bool reads = false, writes = false;
    inner.walk([&](Operation *access) {
      if (auto load = dyn_cast<kernel::LoadOp>(access))
        reads |= stored_.contains(load.getBuffer());
      writes |= isa<kernel::StoreOp>(access);
    });
    if (storedBefore && reads)
      line(group_.strided || group_.size > 32 ? "__syncthreads();" : "__syncwarp(" + std::string(group_.across == 1 ? "" : "members") + ");");
    storedBefore |= writes;
    printOp(&inner);
  }
}

/// The members' share of a pass: every size-th element in row-major order.
void KernelPrinter::groupMap(kernel::MapOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  std::string name = fresh("element");
  unsigned rank = loop.getIvs().size();
  std::string live = group_.strided ? "live && " : "";
  open("for (" + index_ + " " + name + " = member; " + live + name + " < " + countText(loop, 0, rank) + "; " + name + " += " +
       std::to_string(group_.size) + ")");
  decode(loop, 0, rank, name);
  Group outer = std::exchange(group_, Group{});
  printOps(op.getBody().front());
  group_ = outer;
  close();
}

void KernelPrinter::groupReduce(kernel::ReduceOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  auto state = declareState(op);
  std::string name = fresh("element");
  unsigned rank = loop.getIvs().size();
  open("for (" + index_ + " " + name + " = member; " + name + " < " + countText(loop, 0, rank) + "; " + name + " += " +
       std::to_string(group_.size) + ")");
  decode(loop, 0, rank, name);
  Group outer = std::exchange(group_, Group{});
  printOps(op.getBody().front());
  std::vector<std::string> values;
  for (Value value : op.getBodyYield().getValues())
    values.push_back(use(value));
  combineInto(op, state, values);
  group_ = outer;
  close();
  combineAcrossGroup(op, state);
  for (auto [result, held] : llvm::zip(op.getResults(), state))
    set(result, {held});
}

void KernelPrinter::combineAcrossGroup(kernel::ReduceOp op, ArrayRef<std::string> state) {
  auto combine = [&](ArrayRef<std::string> other) { combineInto(op, state, other); };
  if (!group_.strided) {
    int64_t warp = std::min<int64_t>(group_.size, 32);
    open("for (int step = " + std::to_string(warp / 2) + "; step > 0; step /= 2)");
    std::vector<std::string> other;
    for (auto [result, name] : llvm::zip(op.getResults(), state)) {
      other.push_back(fresh("theirs"));
      line("const " + type(result.getType()) + " " + other.back() + " = exchange(" + (group_.across == 1 ? "0xffffffffu" : "members") + ", " +
           name + ", step);");
    }
    combine(other);
    close();
    if (group_.size <= 32)
      return;
  }
  // Through shared memory: one value a warp, or one a thread.
  int64_t parts = group_.strided ? group_.size : group_.size / 32;
  int64_t width = group_.strided ? group_.across : 1;
  std::vector<std::string> arrays;
  for (Value result : op.getResults()) {
    arrays.push_back(fresh("parts"));
    line("__shared__ " + type(result.getType()) + " " + arrays.back() + "[" + std::to_string(parts * width) + "];");
  }
  std::string mine = group_.strided ? "threadIdx.x" : "member / 32";
  std::string lead = group_.strided ? "" : "if (member % 32 == 0) ";
  for (auto [array, name] : llvm::zip(arrays, state))
    line(lead + array + "[" + mine + "] = " + name + ";");
  line("__syncthreads();");
  auto slot = [&](StringRef part) {
    std::vector<std::string> other;
    for (const std::string &array : arrays)
      other.push_back(array + "[" + part.str() + (group_.strided ? " * " + std::to_string(width) + " + across" : "") + "]");
    return other;
  };
  auto first = slot("0");
  for (auto [name, value] : llvm::zip(state, first))
    line(name + " = " + value + ";");
  open("for (int part = 1; part < " + std::to_string(parts) + "; ++part)");
  std::vector<std::string> other;
  for (auto [result, value] : llvm::zip(op.getResults(), slot("part"))) {
    other.push_back(fresh("theirs"));
    line("const " + type(result.getType()) + " " + other.back() + " = " + value + ";");
  }
  combine(other);
  close();
}
