// A group of threads a point: a row, or a column read row by row. Each member takes every size-th pack of a pass, and reductions join
// the members' values in a tree that depends on the group's size alone. What several passes over a short row read or compute stays
// in registers: a softmax then reads and writes its row once.
#include "codegen/cuda/KernelPrinter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

bool cuda::isPack(kernel::AccessOp op, Value iv, int64_t lanes, bool guarded) {
  if (auto load = dyn_cast<kernel::LoadOp>(op.getOperation()); load && load.getFill() && !guarded)
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
  std::string aligned;
  llvm::SetVector<Value> packed;
  for (auto pass : op.getOps<kernel::LoopOp>())
    if (int64_t lanes = pass.getLaneCount(); lanes > 1)
      pass->walk([&](kernel::AccessOp access) {
        if (access->getParentOp() != pass.getOperation() || !isPack(access, pass.getIvs().back(), lanes) || !packed.insert(access.getAccessBuffer()))
          return;
        Type element = cast<MemRefType>(access.getAccessBuffer().getType()).getElementType();
        aligned += (aligned.empty() ? "" : " && ") + std::string("is_aligned<") +
                   std::to_string(lanes * std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8)) + ">(" +
                   names_[access.getAccessBuffer()].text + ")";
      });
  if (!aligned.empty())
    line("const bool aligned = " + aligned + ";");
  planRegisters(op);
  auto meet = [&] {
    line(group_.strided || group_.size > 32 ? "__syncthreads();" : "__syncwarp(" + std::string(group_.across == 1 ? "" : "members") + ");");
  };
  // A result may lie where an operand with the same map lay. What one member stores must then wait until all have read it:
  // every member reads what the point has once, and passes that share out their elements differently read each other's.
  bool storedBefore = false, allRead = false;
  SmallVector<kernel::LoopOp> readers;
  auto sharedAlike = [](kernel::LoopOp a, kernel::LoopOp b) {
    if (a.getLaneCount() != b.getLaneCount() || a.getIvs().size() != b.getIvs().size())
      return false;
    for (unsigned d = 0; d < a.getIvs().size(); ++d)
      if (sizeOf(a, d) != sizeOf(b, d))
        return false;
    return true;
  };
  for (Operation &inner : op.getBody().front().without_terminator()) {
    // A later pass may read what another member stored.
    bool reads = false, writes = false;
    inner.walk([&](Operation *access) {
      if (auto load = dyn_cast<kernel::LoadOp>(access))
        reads |= stored_.contains(load.getBuffer()) && !keptIndex_.contains(access);
      writes |= isa<kernel::StoreOp>(access) && !keptIndex_.contains(access);
    });
    auto pass = dyn_cast<kernel::LoopOp>(inner);
    bool overwrites = writes && (pass ? llvm::any_of(readers, [&](kernel::LoopOp reader) { return !sharedAlike(pass, reader); }) : allRead);
    if ((storedBefore && reads) || overwrites)
      meet();
    storedBefore |= writes;
    if (pass && pass.getOperation()->walk([](kernel::LoadOp) { return WalkResult::interrupt(); }).wasInterrupted())
      readers.push_back(pass);
    allRead |= isa<kernel::LoadOp>(inner);
    printOp(&inner);
  }
}

/// How one pass runs through its elements.
struct Share {
  int64_t lanes = 1;                // neighbouring elements at a time
  std::optional<int64_t> steps;     // of a member, when few and known: unrolled
  bool whole = false;               // every member has an element in every step
};

static Share shareOf(kernel::LoopOp pass, int64_t members) {
  Share share;
  share.lanes = std::max<int64_t>(1, pass.getLaneCount());
  int64_t count = 1;
  for (unsigned d = 0; d < pass.getIvs().size(); ++d) {
    auto size = constantOf(sizeOf(pass, d));
    if (!size)
      return share;
    count *= *size;
  }
  int64_t each = members * share.lanes, steps = llvm::divideCeil(count, each);
  // Large blocks have fewer registers a thread.
  if (steps * share.lanes > (members > 256 ? 16 : 32))
    return share;
  share.steps = steps;
  share.whole = count % each == 0;
  return share;
}

/// Finds what may stay in registers: every access of a buffer is at the same place of the row, in passes over one domain.
void KernelPrinter::planRegisters(kernel::ParallelOp op) {
  if (group_.strided)
    return;
  SmallVector<kernel::LoopOp> passes(op.getOps<kernel::LoopOp>());
  if (passes.size() < 2)
    return;
  auto outer = cast<kernel::LoopOp>(op.getOperation());
  Share common = shareOf(passes[0], group_.size);
  for (kernel::LoopOp pass : passes) {
    if (!shareOf(pass, group_.size).steps || pass.getLaneCount() != passes[0].getLaneCount() || pass.getIvs().size() != passes[0].getIvs().size())
      return;
    for (unsigned d = 0; d < pass.getIvs().size(); ++d)
      if (constantOf(sizeOf(pass, d)) != constantOf(sizeOf(passes[0], d)))
        return;
  }
  // Where in the row an access is, in words that all passes share; null when it is elsewhere too.
  auto placeOf = [&](kernel::AccessOp access, kernel::LoopOp pass) -> AffineExpr {
    if (access->getParentOp() != pass.getOperation())
      return {};
    if (auto load = dyn_cast<kernel::LoadOp>(access.getOperation()); load && load.getFill())
      return {};
    if (auto store = dyn_cast<kernel::StoreOp>(access.getOperation());
        store && (store.getCondition() || store.getKind() || store.getMode() != kernel::StoreMode::unique))
      return {};
    if (common.lanes > 1 && !isPack(access, pass.getIvs().back(), common.lanes))
      return {};
    LinearAccess linear = linearise(access);
    SmallVector<AffineExpr> names;
    unsigned rank = outer.getIvs().size();
    for (Value value : linear.space.values) {
      auto outerAt = llvm::find(outer.getIvs(), value), innerAt = llvm::find(pass.getIvs(), value);
      if (outerAt != outer.getIvs().end())
        names.push_back(getAffineDimExpr(outerAt - outer.getIvs().begin(), op.getContext()));
      else if (innerAt != pass.getIvs().end())
        names.push_back(getAffineDimExpr(rank + (innerAt - pass.getIvs().begin()), op.getContext()));
      else
        return {};
    }
    // Every element of the pass has a place of its own.
    for (Value iv : pass.getIvs())
      if (constantOf(linear.coefficient(iv)) == 0)
        return {};
    return linear.offset.replaceDims(names);
  };
  for (Value buffer : kernel_.getBuffers()) {
    SmallVector<Operation *> accesses;
    AffineExpr place;
    bool fits = true;
    unsigned stores = 0, loads = 0;
    kernel_.walk([&](kernel::AccessOp access) {
      if (access.getAccessBuffer() != buffer)
        return;
      auto pass = dyn_cast<kernel::LoopOp>(access->getParentOp());
      AffineExpr mine = pass && pass != outer ? placeOf(access, pass) : AffineExpr();
      fits &= mine && (!place || mine == place);
      place = mine;
      accesses.push_back(access);
      ++(isa<kernel::StoreOp>(access.getOperation()) ? stores : loads);
    });
    if (!fits || accesses.size() < 2 || loads == 0)
      continue;
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    std::string name = fresh(names_[buffer].text + "_kept");
    line("Pack<" + type(element) + ", " + std::to_string(common.lanes) + "> " + name + "[" + std::to_string(*common.steps) + "];");
    for (Operation *access : accesses)
      keptIndex_[access] = kept_.size();
    kept_.push_back({name, false, stores});
  }
}

/// Prints the member's way through a pass. `eachElement` prints the body and what follows it, once per element.
void KernelPrinter::printShare(kernel::LoopOp pass, const Lines &eachElement) {
  unsigned rank = pass.getIvs().size();
  Share share = shareOf(pass, group_.size);
  std::string lanes = std::to_string(share.lanes), size = std::to_string(group_.size * share.lanes);
  std::string name = fresh("element"), count = countText(pass, 0, rank), first = share.lanes == 1 ? "member" : "member * " + lanes;
  if (share.steps) {
    line("#pragma unroll");
    open("for (int step = 0; step < " + std::to_string(*share.steps) + "; ++step)");
    line("const " + index_ + " " + name + " = " + first + " + step * " + size + ";");
    std::string guard = group_.strided ? "live" : "";
    if (isa<kernel::ReduceOp>(pass.getOperation()))
      guard = ""; // harmless without
    if (!share.whole)
      guard += (guard.empty() ? "" : " && ") + name + " < " + count;
    if (!guard.empty())
      line("if (!(" + guard + ")) break;");
  } else {
    std::string live = group_.strided && !isa<kernel::ReduceOp>(pass.getOperation()) ? "live && " : "";
    open("for (" + index_ + " " + name + " = " + first + "; " + live + name + " < " + count + "; " + name + " += " + size + ")");
  }
  decode(pass, 0, rank, name);

  // Packs come in before the elements and go out behind them.
  std::vector<std::string> behind;
  std::string slot = share.lanes > 1 ? "].at[lane]" : "].at[0]";
  for (Operation &inner : *pass.getLoopBody()) {
    auto access = dyn_cast<kernel::AccessOp>(inner);
    if (!access)
      continue;
    auto load = dyn_cast<kernel::LoadOp>(inner);
    Type element = cast<MemRefType>(access.getAccessBuffer().getType()).getElementType();
    std::string buffer = names_[access.getAccessBuffer()].text;
    auto address = [&] { return buffer + " + " + offset(linearise(access)); };
    auto loaded = [&] { return "load_pack<" + lanes + ">(" + address() + (share.lanes > 1 ? ", aligned)" : ")"); };
    auto stored = [&](const std::string &from) {
      behind.push_back((share.lanes > 1 ? "store_pack(" + address() + ", " + from + ", aligned);" : "store_pack(" + address() + ", " + from + ");"));
    };
    if (auto at = keptIndex_.find(&inner); at != keptIndex_.end()) {
      Kept &kept = kept_[at->second];
      packs_[&inner] = kept.name + "[step" + slot;
      if (load) {
        if (!std::exchange(kept.filled, true))
          line(kept.name + "[step] = " + loaded() + ";");
      } else {
        kept.filled = true;
        if (--kept.passesLeft == 0) // what a later pass overwrites never leaves the registers
          stored(kept.name + "[step]");
      }
      continue;
    }
    if (share.lanes == 1 || !isPack(access, pass.getIvs().back(), share.lanes))
      continue;
    std::string local = fresh(buffer + "_pack");
    if (load) {
      line("const auto " + local + " = " + loaded() + ";");
    } else {
      line("Pack<" + type(element) + ", " + lanes + "> " + local + ";");
      stored(local);
    }
    packs_[&inner] = local + ".at[lane]";
  }
  Group outer = std::exchange(group_, Group{});
  Value iv = pass.getIvs().back();
  if (share.lanes > 1) {
    Text base = names_[iv];
    line("#pragma unroll");
    open("for (int lane = 0; lane < " + lanes + "; ++lane)");
    set(iv, {base.text + " + lane", false});
    eachElement();
    close();
    set(iv, base);
  } else {
    eachElement();
  }
  group_ = outer;
  for (const std::string &text : behind)
    line(text);
  close();
}

void KernelPrinter::groupMap(kernel::MapOp op) {
  printShare(cast<kernel::LoopOp>(op.getOperation()), [&] { printOps(op.getBody().front()); });
}

void KernelPrinter::groupReduce(kernel::ReduceOp op) {
  auto state = declareState(op);
  printShare(cast<kernel::LoopOp>(op.getOperation()), [&] {
    printOps(op.getBody().front());
    std::vector<std::string> values;
    for (Value value : op.getBodyYield().getValues())
      values.push_back(use(value));
    combineInto(op, state, values);
  });
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
