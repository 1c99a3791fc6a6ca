// graphc-join-kernels. Before: the update of each parameter is a dispatch of its own, of a kernel for its sizes. After: one
// dispatch updates them all, by one kernel that runs over the segments one behind the other. Here, because only now is it
// plain that two kernels do the same to each element; and before schedules, because it changes domains.
//
//     %a = plan.dispatch @k1(%p1, %g1)              %a, %b = plan.dispatch @k1(%p1, %g1, %p2, %g2) scalars <[200704, 256]>
//     %b = plan.dispatch @k2(%p2, %g2)       →
//     return %a, %b                                 return %a, %b
//
//     kernel.func @k1(%p: memref<256x784xf32>, …)   kernel.func @k1(%p: memref<?xf32>, …, %n: index) {kernel.segments = 2}
//     kernel.func @k2(%p: memref<256xf32>, …)
//
// Joined are kernels that read and write whole buffers element by element (besides single numbers), and whose results nothing in
// the function reads: what leaves the function may as well be computed at its end.
#include "passes/kernels/Kernels.h"

#include "ir/kernel/Segments.h"
#include "ir/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace graphc;

namespace {

/// Whether a buffer is one number, read by every point.
bool isNumber(MemRefType type) { return type.hasStaticShape() && type.getNumElements() == 1; }

/// Whether an access is at the element that lies in its buffer where the point lies in the domain. Sizes of 1 change nothing.
bool isAtItsPoint(kernel::AccessOp access, MemRefType type, ArrayRef<int64_t> domain, ValueRange ivs) {
  SmallVector<Value> wanted;
  SmallVector<int64_t> sizes;
  for (auto [iv, size] : llvm::zip_equal(ivs, domain))
    if (size != 1) {
      wanted.push_back(iv);
      sizes.push_back(size);
    }
  unsigned at = 0;
  for (auto [size, index] : llvm::zip_equal(type.getShape(), access.getIndexMap().getResults())) {
    if (size == 1)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(index);
    if (at == sizes.size() || size != sizes[at] || !dim || access.getIndexOperands()[dim.getPosition()] != wanted[at])
      return false;
    ++at;
  }
  return at == sizes.size();
}

/// Whether each point of the domain reads and writes one element of each buffer, at its own place, and does nothing else.
bool isFlat(kernel::FuncOp func) {
  kernel::ParallelOp parallel = func.getParallel();
  auto loop = cast<kernel::LoopOp>(parallel.getOperation());
  AffineMap sizes = loop.getSizeMap();
  if (!sizes.isConstant() || sizes.getNumResults() == 0 || func.getNumScalars() || kernel::segmentsOf(func))
    return false;
  SmallVector<int64_t> domain = sizes.getConstantResults();
  for (Operation &op : loop.getLoopBody()->without_terminator()) {
    auto access = dyn_cast<kernel::AccessOp>(op);
    if (!access) {
      if (op.getNumRegions() || !isMemoryEffectFree(&op))
        return false;
      continue;
    }
    auto load = dyn_cast<kernel::LoadOp>(op);
    auto store = dyn_cast<kernel::StoreOp>(op);
    if (!(load && !load.getFill()) && !(store && store.getMode() == kernel::StoreMode::unique && !store.getKind() && !store.getCondition()))
      return false;
    auto type = cast<MemRefType>(access.getAccessBuffer().getType());
    if (load && isNumber(type))
      continue;
    if (!isAtItsPoint(access, type, domain, loop.getIvs()))
      return false;
  }
  return llvm::all_of(loop.getIvs(), [](Value iv) {
    return llvm::all_of(iv.getUsers(), [](Operation *user) { return isa<kernel::AccessOp>(user); });
  });
}

/// A copy of a flat kernel for any number of elements, in one dim, at the end of the module.
kernel::FuncOp flattened(kernel::FuncOp func, ModuleOp module) {
  OpBuilder b(func.getContext());
  b.setInsertionPointToEnd(module.getBody());
  AffineExpr count = b.getAffineSymbolExpr(0);
  SmallVector<Type> types;
  SmallVector<AffineMap> dims;
  for (Value buffer : func.getBuffers()) {
    auto type = cast<MemRefType>(buffer.getType());
    bool number = isNumber(type);
    types.push_back(MemRefType::get(number ? ArrayRef<int64_t>{} : ArrayRef<int64_t>{ShapedType::kDynamic}, type.getElementType()));
    dims.push_back(number ? AffineMap::get(0, 1, {}, b.getContext()) : AffineMap::get(0, 1, count));
  }
  auto flat = kernel::FuncOp::create(b, func.getLoc(), func.getSymName(), types, /*numScalars=*/1, dims);
  if (ArrayAttr sources = func.getSourcesAttr())
    flat.setSourcesAttr(sources);
  IRMapping map;
  for (auto [from, to] : llvm::zip(func.getBuffers(), flat.getBuffers()))
    map.map(from, to);
  b.setInsertionPointToStart(&flat.getBody().front());
  kernel::ParallelOp parallel = func.getParallel();
  for (Operation &op : func.getBody().front().without_terminator())
    if (&op != parallel.getOperation())
      b.clone(op, map);
  Value size = flat.getScalars()[0];
  kernel::ParallelOp::create(b, parallel.getLoc(), AffineMap::get(0, 1, count), ValueRange{size},
                             [&](OpBuilder &inner, Location, ValueRange ivs) {
                               for (Operation &op : cast<kernel::LoopOp>(parallel.getOperation()).getLoopBody()->without_terminator()) {
                                 auto copy = dyn_cast<kernel::AccessOp>(inner.clone(op, map));
                                 if (!copy)
                                   continue;
                                 if (cast<MemRefType>(copy.getAccessBuffer().getType()).getRank() == 0)
                                   copy.setIndex(AffineMap::get(inner.getContext()), {});
                                 else
                                   copy.setIndex(inner.getDimIdentityMap(), ivs);
                               }
                             });
  return flat;
}

/// Equal for kernels that do the same.
std::string meaningOf(kernel::FuncOp func) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel::FuncOp copy = func.clone();
  copy.setSymName("k");
  copy.removeSourcesAttr();
  copy->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
  copy->erase();
  return text;
}

struct JoinKernels : PassWrapper<JoinKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinKernels)
  StringRef getArgument() const final { return "graphc-join-kernels"; }
  StringRef getDescription() const final { return "update all parameters by one dispatch"; }

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : funcs)
      if (!func.isExternal())
        join(func, symbols);
    eraseUnused();
  }

private:
  struct Alike {
    kernel::FuncOp flat;
    SmallVector<plan::DispatchOp> dispatches;
  };

  void join(func::FuncOp func, SymbolTable &symbols) {
    Operation *terminator = func.getBody().front().getTerminator();
    SmallVector<Alike> groups;
    llvm::StringMap<unsigned> byMeaning;
    llvm::DenseMap<Operation *, std::pair<kernel::FuncOp, std::string>> known;
    for (auto dispatch : func.getOps<plan::DispatchOp>()) {
      bool leaves = !dispatch.getPrepare() && !dispatch.getSites() &&
                    llvm::all_of(dispatch->getUsers(), [&](Operation *user) { return user == terminator; });
      auto kernel = symbols.lookup<kernel::FuncOp>(dispatch.getKernel());
      if (!leaves || !kernel || !isFlat(kernel))
        continue;
      auto &[flat, meaning] = known[kernel];
      if (!flat) {
        flat = flattened(kernel, getOperation());
        meaning = meaningOf(flat);
      }
      // Which results may be computed in place is part of what they do.
      std::string key = meaning;
      llvm::raw_string_ostream(key) << dispatch.getInplaceAttr();
      auto [it, isNew] = byMeaning.try_emplace(key, groups.size());
      if (isNew)
        groups.push_back({flat, {}});
      groups[it->second].dispatches.push_back(dispatch);
    }
    llvm::DenseSet<Operation *> kept;
    for (Alike &alike : groups)
      if (alike.dispatches.size() > 1) {
        kept.insert(alike.flat);
        replace(alike, symbols);
      }
    for (auto &[kernel, flat] : known)
      if (!kept.contains(flat.first))
        flat.first.erase();
  }

  /// One dispatch where the last one stands: nothing in between reads their results.
  void replace(Alike &alike, SymbolTable &symbols) {
    plan::DispatchOp last = alike.dispatches.back();
    OpBuilder b(last);
    SmallVector<Value> inputs, old;
    SmallVector<AffineExpr> sizes;
    SmallVector<Type> types;
    SmallVector<int64_t> inplace;
    SmallVector<Location> locations;
    for (plan::DispatchOp dispatch : alike.dispatches) {
      int64_t first = inputs.size();
      if (auto own = dispatch.getInplace())
        for (int64_t operand : *own)
          inplace.push_back(operand < 0 ? operand : first + operand);
      llvm::append_range(inputs, dispatch.getInputs());
      llvm::append_range(old, dispatch.getResults());
      llvm::append_range(types, dispatch.getResultTypes());
      // Its results are what it runs over.
      sizes.push_back(graph::product(graph::dimsOf(dispatch.getResultTypes()[0]), b.getContext()));
      locations.push_back(dispatch.getLoc());
    }
    // Kernels are found by their names, so the joined one takes a new name.
    alike.flat.setSymName(last.getKernel().str() + "_all");
    alike.flat->setAttr(kernel::kSegmentsAttr, b.getI64IntegerAttr(alike.dispatches.size()));
    symbols.insert(alike.flat);
    auto joined = plan::DispatchOp::create(b, last.getLoc(), types, FlatSymbolRefAttr::get(alike.flat.getSymNameAttr()), inputs,
                                           graph::DimsAttr::get(b.getContext(), sizes),
                                           inplace.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(inplace), ArrayAttr(), last.getCostAttr(),
                                           UnitAttr());
    for (auto [from, to] : llvm::zip(old, joined.getResults()))
      from.replaceAllUsesWith(to);
    for (plan::DispatchOp dispatch : alike.dispatches)
      dispatch.erase();
  }

  /// Kernels whose dispatches were all joined.
  void eraseUnused() {
    llvm::DenseSet<StringRef> used;
    getOperation().walk([&](plan::DispatchOp dispatch) { used.insert(dispatch.getKernel()); });
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<kernel::FuncOp>()))
      if (!used.contains(func.getSymName()))
        func.erase();
  }
};
} // namespace

std::unique_ptr<Pass> graphc::createJoinKernelsPass() { return std::make_unique<JoinKernels>(); }
