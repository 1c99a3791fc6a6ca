// cuda-split-reductions. Before: a kernel that reduces a long domain to few results, which a few blocks would do alone. After: two
// kernels and a buffer of partial results between them, so that every multiprocessor has work. The cuts depend on shapes
// alone, and partial results join in their order: the same bits on every device and in every run. After `kernels`, before schedules.
//
//     %y = plan.dispatch @k(%x)      %p = plan.dispatch @k_parts(%x)      // p[c] = reduction of the c-th chunk
//                                →   %y = plan.dispatch @k_join(%x, %p)   // reduction of p, then what followed it
#include "codegen/common/Access.h"
#include "codegen/cuda/Contraction.h"
#include "codegen/cuda/Passes.h"
#include "ir/plan/Plan.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

namespace {

/// Blocks that fill a large device twice.
constexpr int64_t kBlocks = 264;

struct Cut {
  kernel::ReduceOp reduce;
  unsigned dim = 0;     // of the reduction that is cut
  int64_t chunks = 1;
};

std::optional<int64_t> count(kernel::LoopOp loop) {
  int64_t product = 1;
  for (unsigned d = 0; d < loop.getIvs().size(); ++d) {
    auto size = constantOf(sizeOf(loop, d));
    if (!size)
      return std::nullopt;
    product *= *size;
  }
  return product;
}

/// Where and into how many chunks a kernel is cut; nothing when it keeps enough blocks busy, or does more than reduce once.
std::optional<Cut> cutOf(kernel::FuncOp kernel) {
  if (kernel.getNumScalars() || kernel.getScheduleAttr())
    return std::nullopt;
  kernel::ParallelOp op = kernel.getParallel();
  Cut cut;
  for (Operation &inner : op.getBody().front()) {
    if (!isa<kernel::LoopOp>(inner))
      continue;
    auto reduce = dyn_cast<kernel::ReduceOp>(inner);
    if (!reduce || cut.reduce)
      return std::nullopt;
    cut.reduce = reduce;
  }
  if (!cut.reduce)
    return std::nullopt;
  bool plain = true;
  cut.reduce.getBody().walk([&](Operation *inner) { plain &= !isa<kernel::LoopOp, kernel::StoreOp>(inner); });
  auto domain = cast<kernel::LoopOp>(cut.reduce.getOperation());
  auto points = count(cast<kernel::LoopOp>(op.getOperation())), depth = count(domain);
  if (!plain || !points || !depth || *points == 0)
    return std::nullopt;
  // Blocks it would have, and how much a chunk must hold to be worth one.
  int64_t blocks = *points, least = 4096;
  if (auto match = matchContraction(op)) {
    auto extent = [&](ArrayRef<unsigned> dims) {
      int64_t product = 1;
      for (unsigned d : dims)
        product *= *constantOf(sizeOf(cast<kernel::LoopOp>(op.getOperation()), d));
      return product;
    };
    blocks = extent(match->batchDims) * llvm::divideCeil(extent(match->rowDims), 64) * llvm::divideCeil(extent(match->columnDims), 64);
    least = 256;
  }
  int64_t wanted = std::min(kBlocks / std::max<int64_t>(blocks, 1), *depth / least);
  if (wanted < 2)
    return std::nullopt;
  // The dim that gives the most chunks of equal size.
  for (unsigned d = 0; d < domain.getIvs().size(); ++d) {
    int64_t size = *constantOf(sizeOf(domain, d));
    for (int64_t chunks = std::min(wanted, size); chunks > cut.chunks; --chunks)
      if (size % chunks == 0) {
        cut.dim = d;
        cut.chunks = chunks;
      }
  }
  if (cut.chunks < 2)
    return std::nullopt;
  // Its variable must stand in index expressions only.
  for (Operation *user : domain.getIvs()[cut.dim].getUsers())
    if (!isa<kernel::AccessOp, kernel::IndexOp>(user))
      return std::nullopt;
  return cut;
}

/// `value` becomes `chunk * size + value` in every index expression.
void shiftIndices(Value value, Value chunk, int64_t size) {
  SmallVector<Operation *> users(value.getUsers());
  for (Operation *user : users) {
    auto access = dyn_cast<kernel::AccessOp>(user);
    auto index = dyn_cast<kernel::IndexOp>(user);
    AffineMap map = access ? access.getIndexMap() : index.getMap();
    SmallVector<Value> operands = access ? SmallVector<Value>(access.getIndexOperands()) : SmallVector<Value>(index.getIndices());
    if (!llvm::is_contained(operands, value))
      continue; // done by way of another use
    // The chunk is a further dim, between the dims and the symbols.
    unsigned dims = map.getNumDims();
    MLIRContext *context = map.getContext();
    AffineExpr extra = getAffineDimExpr(dims, context);
    SmallVector<AffineExpr> replaceDims, replaceSymbols;
    for (unsigned d = 0; d < dims; ++d)
      replaceDims.push_back(getAffineDimExpr(d, context) + (operands[d] == value ? extra * size : getAffineConstantExpr(0, context)));
    for (unsigned s = 0; s < map.getNumSymbols(); ++s)
      replaceSymbols.push_back(getAffineSymbolExpr(s, context) + (operands[dims + s] == value ? extra * size : getAffineConstantExpr(0, context)));
    map = map.replaceDimsAndSymbols(replaceDims, replaceSymbols, dims + 1, map.getNumSymbols());
    operands.insert(operands.begin() + dims, chunk);
    if (access) {
      access.setIndex(map, operands);
    } else {
      index.setMapAttr(AffineMapAttr::get(map));
      index.getIndicesMutable().assign(operands);
    }
  }
}

class Splitter {
public:
  Splitter(kernel::FuncOp kernel, Cut cut) : kernel(kernel), cut(cut), context(kernel.getContext()) {
    auto outer = cast<kernel::LoopOp>(kernel.getParallel().getOperation());
    shape.push_back(cut.chunks);
    for (unsigned d = 0; d < outer.getIvs().size(); ++d)
      shape.push_back(*constantOf(sizeOf(outer, d)));
    auto stored = storedBuffers(kernel);
    for (Value buffer : kernel.getBuffers())
      if (!stored.contains(buffer))
        ++inputs;
    for (Type type : cut.reduce.getResultTypes())
      partTypes.push_back(MemRefType::get(shape, type));
    parts = build("_parts", /*joins=*/false);
    join = build("_join", /*joins=*/true);
  }

  kernel::FuncOp parts, join;
  SmallVector<int64_t> shape; // of the partial results
  unsigned inputs = 0;

private:
  /// `_parts` has the inputs and the partial results, `_join` the inputs, the partial results and the outputs.
  kernel::FuncOp build(StringRef suffix, bool joins) {
    OpBuilder b(kernel);
    SmallVector<Type> types(kernel.getArgumentTypes().take_front(inputs));
    llvm::append_range(types, partTypes);
    if (joins)
      llvm::append_range(types, kernel.getArgumentTypes().drop_front(inputs));
    auto func = kernel::FuncOp::create(b, kernel.getLoc(), (kernel.getSymName() + suffix).str(), types, 0);
    if (kernel.getSources())
      func.setSourcesAttr(kernel.getSourcesAttr());
    IRMapping mapping;
    for (auto [i, argument] : llvm::enumerate(kernel.getArguments())) {
      if (i < inputs)
        mapping.map(argument, func.getArgument(i));
      else if (joins)
        mapping.map(argument, func.getArgument(i + partTypes.size()));
    }
    Block &body = func.getBody().front();
    b.setInsertionPointToStart(&body);
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (!isa<kernel::ParallelOp>(op))
        b.clone(op, mapping);
    ValueRange partials = ValueRange(func.getArguments()).slice(inputs, partTypes.size());
    joins ? buildJoin(b, mapping, partials) : buildParts(b, mapping, partials);
    return func;
  }

  static AffineMap constants(ArrayRef<int64_t> sizes, MLIRContext *context) {
    SmallVector<AffineExpr> exprs;
    for (int64_t size : sizes)
      exprs.push_back(getAffineConstantExpr(size, context));
    return AffineMap::get(0, 0, exprs, context);
  }

  void buildParts(OpBuilder &b, IRMapping &mapping, ValueRange partials) {
    auto oldOuter = cast<kernel::LoopOp>(kernel.getParallel().getOperation());
    kernel::ParallelOp::create(b, kernel.getLoc(), constants(shape, context), ValueRange(), [&](OpBuilder &nested, Location loc, ValueRange ivs) {
      for (auto [old, fresh] : llvm::zip(oldOuter.getIvs(), ivs.drop_front()))
        mapping.map(old, fresh);
      // What the sum needs, and the sum over one chunk.
      llvm::DenseSet<Operation *> needed;
      for (Value init : cut.reduce.getInits())
        for (Operation *inner : sliceOf(kernel.getParallel(), init))
          needed.insert(inner);
      cut.reduce.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          for (Operation *def : sliceOf(kernel.getParallel(), operand))
            needed.insert(def);
      });
      for (Operation &inner : kernel.getParallel().getBody().front().without_terminator())
        if (needed.contains(&inner) && !isa<kernel::LoopOp>(inner))
          nested.clone(inner, mapping);
      auto reduce = cast<kernel::ReduceOp>(nested.clone(*cut.reduce, mapping));
      auto domain = cast<kernel::LoopOp>(reduce.getOperation());
      SmallVector<int64_t> sizes;
      for (unsigned d = 0; d < domain.getIvs().size(); ++d)
        sizes.push_back(*constantOf(sizeOf(cast<kernel::LoopOp>(cut.reduce.getOperation()), d)));
      sizes[cut.dim] /= cut.chunks;
      domain.setSizeMap(constants(sizes, context), ValueRange());
      shiftIndices(domain.getIvs()[cut.dim], ivs[0], sizes[cut.dim]);
      for (auto [value, buffer] : llvm::zip(reduce.getResults(), partials))
        kernel::StoreOp::create(nested, loc, value, buffer, AffineMap::getMultiDimIdentityMap(ivs.size(), context), ivs);
    });
  }

  void buildJoin(OpBuilder &b, IRMapping &mapping, ValueRange partials) {
    b.clone(*kernel.getParallel(), mapping);
    auto reduce = cast<kernel::ReduceOp>(mapping.lookup(cut.reduce.getResult(0)).getDefiningOp());
    auto outer = cast<kernel::LoopOp>(reduce->getParentOp());
    OpBuilder at(reduce);
    auto joined = kernel::ReduceOp::create(
        at, reduce.getLoc(), constants({cut.chunks}, context), ValueRange(), reduce.getInits(),
        [&](OpBuilder &nested, Location loc, ValueRange chunk) {
          SmallVector<Value> index = {chunk[0]}, values;
          llvm::append_range(index, outer.getIvs());
          for (Value buffer : partials)
            values.push_back(kernel::LoadOp::create(nested, loc, buffer, AffineMap::getMultiDimIdentityMap(index.size(), context), index));
          return values;
        },
        [&](OpBuilder &nested, Location, ValueRange left, ValueRange right) {
          IRMapping arguments;
          Block *combiner = reduce.getCombinerBlock();
          for (auto [i, argument] : llvm::enumerate(combiner->getArguments()))
            arguments.map(argument, i < left.size() ? left[i] : right[i - left.size()]);
          for (Operation &inner : combiner->without_terminator())
            nested.clone(inner, arguments);
          return llvm::map_to_vector(reduce.getCombinerYield().getValues(), [&](Value v) { return arguments.lookupOrDefault(v); });
        });
    reduce->replaceAllUsesWith(joined);
    reduce.erase();
  }

  kernel::FuncOp kernel;
  Cut cut;
  MLIRContext *context;
  SmallVector<Type> partTypes;
};

/// One dispatch becomes two.
void split(plan::DispatchOp op, Splitter &halves) {
  OpBuilder b(op);
  MLIRContext *context = op.getContext();
  SmallVector<Type> partTypes;
  for (Type type : ArrayRef(halves.parts.getArgumentTypes()).drop_front(halves.inputs))
    partTypes.push_back(RankedTensorType::get(halves.shape, cast<MemRefType>(type).getElementType()));
  auto parts = plan::DispatchOp::create(b, op.getLoc(), partTypes, FlatSymbolRefAttr::get(halves.parts.getSymNameAttr()), op.getInputs(),
                                        op.getScalarsAttr(), DenseI64ArrayAttr(), op.getSitesAttr(), op.getCostAttr(), op.getPrepareAttr());
  SmallVector<Value> inputs(op.getInputs());
  llvm::append_range(inputs, parts.getResults());
  auto join = plan::DispatchOp::create(b, op.getLoc(), op.getResultTypes(), FlatSymbolRefAttr::get(context, halves.join.getSymName()), inputs,
                                       op.getScalarsAttr(), op.getInplaceAttr(), op.getSitesAttr(), op.getCostAttr(), op.getPrepareAttr());
  op->replaceAllUsesWith(join);
  op.erase();
}
} // namespace

namespace graphc::codegen::cuda {
#define GEN_PASS_DEF_CUDASPLITREDUCTIONS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct CudaSplitReductions : impl::CudaSplitReductionsBase<CudaSplitReductions> {
  void runOnOperation() override {
    llvm::StringMap<std::unique_ptr<Splitter>> halves;
    SmallVector<kernel::FuncOp> kernels(getOperation().getOps<kernel::FuncOp>());
    for (kernel::FuncOp kernel : kernels)
      if (auto cut = cutOf(kernel))
        halves[kernel.getSymName()] = std::make_unique<Splitter>(kernel, *cut);
    SmallVector<plan::DispatchOp> dispatches;
    getOperation().walk([&](plan::DispatchOp op) { dispatches.push_back(op); });
    for (plan::DispatchOp op : dispatches)
      if (auto it = halves.find(op.getKernel()); it != halves.end())
        split(op, *it->second);
    for (kernel::FuncOp kernel : kernels)
      if (halves.count(kernel.getSymName()))
        kernel.erase();
  }
};
} // namespace
} // namespace graphc::codegen::cuda
