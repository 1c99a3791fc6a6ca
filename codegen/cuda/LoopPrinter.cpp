// One thread a point: passes are plain loops, and neighbouring points of a thread travel in packs of 16 bytes.
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
