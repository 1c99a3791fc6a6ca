// graphc-fuse. Before: a flat list of ops. After: every op but literals and weights is in exactly one graph.group, which runs
// as one kernel, library call, routine or view. Here and not later, because what fuses depends on what ops mean.
//
//     %1 = graph.conv …                 %3 = graph.group "library" { %1 = conv; %2 = add; %3 = relu; yield %3 }
//     %2 = graph.add %1, %bias    =>
//     %3 = graph.relu %2
//
// Rules, in order:
//   1. Cheap ops that move data (transpose, broadcast, slice, literals, iota, casts) are cloned into each consumer.
//   2. A library contraction takes its chain of single-use consumers that the library can run as post-ops; an attention kept
//      whole takes the views in front of it and the transpose behind it.
//   3. From the last op backwards, an op joins the group of its consumers when reading it there costs no repeated work. A
//      reduction whose result is broadcast back over the dims it reduced makes a row group (softmax, norms): its
//      members see either whole rows or one value a row.
//      A pooling whose windows do not overlap reads every element once, so a generated convolution may join it.
//   4. An op with consumers in several groups joins one of them as a further output when its shape is that group's.
//   5. Reductions to the same shape that read the same values are one kernel that reads them once: the gradients of a scale and
//      its bias, the maxima of windows and their places. So are elementwise kernels that are all who read a value: an activation
//      and its derivative, of which both are kept then, and not the value.
// Bodies of if, while and scan are blocks of their own: their ops join each other only. An op with bodies stays as it is.
// Ops that depend on weights alone never join others: they run once, in @prepare. The one exception is marked by `select`: a
// transpose that only undoes a packing is read inside the kernel that uses the weight.
#include "ir/graph/Control.h"
#include "ir/graph/Pooling.h"
#include "passes/fuse/DirectConv.h"
#include "passes/fuse/Epilogue.h"
#include "passes/fuse/Fuse.h"
#include "passes/fuse/Groups.h"
#include "passes/fuse/StridedView.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

namespace {

constexpr int kMaxGroupOps = 96;
constexpr int kMaxGroupInputs = 24;
/// Work of one element of a group, in multiply-adds: about as many vector operations are emitted, once for full vectors and perhaps
/// once for the last one. It bounds what a kernel costs to compile.
constexpr int kMaxGroupWork = 800;
/// Work that may be repeated instead of storing its result, in multiply-adds.
constexpr int kRepeatableCost = 4;

bool isLibrary(Operation *op) {
  auto by = op->getAttrOfType<StringAttr>("by");
  return by && by.getValue() == "library";
}

/// Ops that only rename elements: free inside any loop that reads them.
bool isCheapMove(Operation *op) { return isa<TransposeOp, BroadcastOp, SliceOp, IotaOp, SizeOp>(op); }

/// A product of so few terms and results that several of them are one kernel: the gates of a small recurrent cell.
bool isTinyProduct(Operation *op) {
  constexpr int64_t kMaxDepth = 32, kMaxResults = 1024;
  auto matmul = dyn_cast<MatmulOp>(op);
  auto depth = matmul ? constantSize(matmul.depth()) : std::nullopt;
  auto results = matmul ? constantSize(product(dimsOf(op->getResult(0).getType()), op->getContext())) : std::nullopt;
  return depth && results && *depth <= kMaxDepth && *results <= kMaxResults;
}

/// A convolution in the form that `select` gives to those a generated kernel runs.
bool isDirectConv(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  return conv && conv.getWeight().getDefiningOp() && conv.getWeight().getDefiningOp()->hasAttr(kUnpackAttr);
}

SmallVector<AffineExpr> resultDims(Operation *op) { return dimsOf(op->getResult(0).getType()); }

int costOf(Operation *op) {
  if (auto elementwise = dyn_cast<Elementwise>(op))
    return elementwise.scalarCost();
  return isa<ResizeOp>(op) ? 20 : isa<ConcatOp, GatherOp, GatherElementsOp, GatherNDOp>(op) ? 6 : 1;
}

/// A pooling with windows side by side and wholly inside its operand: each element is read once, or not at all.
bool poolsOnce(Operation *op) {
  auto once = [](auto pool) {
    auto from = dimsOf(pool.getX().getType()), to = dimsOf(pool.getType());
    unsigned first = pool.getChannelsLast() ? 1 : 2;
    for (unsigned s = 0; s < pool.getWindow().size(); ++s) {
      int64_t window = pool.getWindow()[s], stride = pool.getStrides()[s];
      auto size = constantSize(from[first + s]), results = constantSize(to[first + s]);
      if (pool.getDilations()[s] != 1 || stride < window || pool.getPadsLow()[s] || !size || !results || (*results - 1) * stride + window > *size)
        return false;
    }
    return true;
  };
  return TypeSwitch<Operation *, bool>(op).Case<MaxPoolOp, MaxPoolIndexOp, AvgPoolOp, LpPoolOp>(once).Default(false);
}

/// Whether `op` reads elements of its operands several times: windows and products.
bool rereads(Operation *op) {
  auto element = dyn_cast<ElementOp>(op);
  return element && !poolsOnce(op) && ((element.reduces() && !isa<graph::ReduceOp, ArgReduceOp>(op)) || isa<ResizeOp>(op));
}

class Fusion {
public:
  Fusion(Block &block, bool unfused) : block(block), groups(block), unfused(unfused) {}

  void run() {
    if (!unfused) {
      findTurnedResults();
      cloneCheapOps();
    }
    findConstants();
    startGroups();
    if (!unfused) {
      joinSiblings(/*windowsOnly=*/true); // before what computes their operand chooses between them
      for (Operation *op : llvm::reverse(program))
        joinConsumers(op);
      joinSiblings(/*windowsOnly=*/false);
    }
    emit();
  }

private:
  //===-- rule 1 ------------------------------------------------------------------------------------------------===//
  /// Each loop-like consumer gets its own copy of a cheap op; a chain is copied from the consumer upwards.
  void cloneCheapOps() {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops)) {
      bool splat = isa<ConstantOp>(op) && cast<ConstantOp>(op).getValue().isSplat();
      if ((!isCheapMove(op) && !splat && !isa<CastOp>(op)) || turned.contains(op))
        continue;
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : op->getResult(0).getUses())
        if (isa<ElementOp>(use.getOwner()) && (splat || use.getOwner()->getBlock() == &block)) // a body would repeat it
          uses.push_back(&use);
      if (op->getResult(0).hasOneUse())
        continue;
      // A cast of something computed repeats its memory traffic, not its work: only with few readers.
      if (isa<CastOp>(op) && uses.size() > 2)
        continue;
      for (OpOperand *use : uses) {
        OpBuilder b(use->getOwner());
        use->set(b.clone(*op)->getResult(0));
      }
      if (op->use_empty())
        op->erase();
    }
  }

  /// Transposes of what the library computes, with or without post-ops: they need no copy, however many read them. Rows of the
  /// result stay contiguous.
  void findTurnedResults() {
    for (auto transpose : block.getOps<TransposeOp>()) {
      if (transpose.getPerm().back() + 1 != (int64_t)transpose.getPerm().size())
        continue;
      Operation *def = transpose.getX().getDefiningOp();
      while (def && isa<Elementwise>(def) && def->hasOneUse() && def->getNumOperands() > 0)
        def = def->getOperand(0).getDefiningOp();
      if (isa_and_nonnull<MatmulOp>(def) && isLibrary(def) && def->hasOneUse())
        turned.insert(transpose);
    }
  }

  //===-- groups of one ------------------------------------------------------------------------------------------===//
  /// Symbolic sizes among the attributes (of size, of slice's starts) are known only per run.
  static bool readsSizes(Operation &op) {
    return llvm::any_of(op.getAttrDictionary(), [](NamedAttribute named) {
      auto sizes = dyn_cast<DimsAttr>(named.getValue());
      return sizes && !llvm::all_of(sizes.getDims(), [](AffineExpr d) { return constantSize(d).has_value(); });
    });
  }

  void findConstants() {
    for (Operation &op : block) {
      if (op.getNumResults() == 0)
        continue;
      bool isConstant = isSource(&op);
      if (!isConstant && !isControl(&op) && !op.hasAttr(kUnpackAttr) && !readsSizes(op) && llvm::all_of(op.getResultTypes(), [](Type t) { return cast<RankedTensorType>(t).hasStaticShape(); }))
        isConstant = llvm::all_of(op.getOperands(), [&](Value v) {
          Operation *def = v.getDefiningOp();
          return def && (constants.contains(def) || (def->getBlock() != &block && (isSource(def) || def->hasAttr("prepare"))));
        });
      if (isConstant)
        constants.insert(&op);
    }
  }

  void startGroups() {
    for (Operation &op : block)
      if (!isSource(&op) && op.getNumResults() > 0 && !op.hasTrait<OpTrait::IsTerminator>())
        program.push_back(&op);
    // A library group may take copies of views in front of it and erase the originals: no iteration over `program` meanwhile.
    SmallVector<Operation *> contractions;
    llvm::copy_if(program, std::back_inserter(contractions), isLibrary);
    for (Operation *op : contractions)
      startLibraryGroup(op);
    SmallVector<Operation *> composites;
    llvm::copy_if(program, std::back_inserter(composites), [](Operation *op) { return isa<Composite>(op) && !isLibrary(op); });
    for (Operation *op : composites)
      startCompositeGroup(op);
    for (Operation *op : program) {
      if (groups.has(op))
        continue;
      startGroup(op, isControl(op)                                ? GroupKind::Control
                     : isa<RoutineOp>(op)                         ? GroupKind::Routine
                     : isa<ReshapeOp>(op) || contiguousOffset(op) ? GroupKind::View
                     : isa<ConcatOp>(op)                          ? GroupKind::Concat
                                                                  : GroupKind::Loop);
    }
  }

  /// A group of `op` alone.
  int startGroup(Operation *op, GroupKind kind) {
    Group group;
    group.kind = kind;
    group.constant = constants.contains(op);
    group.shape = resultDims(op);
    int id = groups.add(std::move(group));
    groups.move(op, id);
    return id;
  }

  //===-- rule 2 ------------------------------------------------------------------------------------------------===//
  void startLibraryGroup(Operation *contraction) {
    int id = startGroup(contraction, GroupKind::Library);
    if (unfused || isa<ConvWeightGradOp>(contraction)) // it sums in chunks: what follows must wait for their sum
      return;
    if (auto attention = dyn_cast<AttentionOp>(contraction)) {
      for (unsigned i : {0u, 1u, 2u})
        takeOperandView(contraction, i, id, /*adjacentColumns=*/true);
      takeResultTranspose(attention, id);
      return;
    }
    if (isa<MatmulOp>(contraction))
      for (unsigned i : {0u, 1u})
        takeOperandView(contraction, i, id, /*adjacentColumns=*/false);

    unsigned channel = channelDim(contraction);
    Value result = contraction->getResult(0);
    constexpr unsigned kMaxPostOps = 5;
    for (unsigned n = 0; n < kMaxPostOps && result.hasOneUse(); ++n) {
      Operation *user = *result.getUsers().begin();
      std::string why;
      if (!isa<Elementwise>(user) || groups.has(user))
        break;
      auto post = postOpOf(user, result, channel, why);
      if (post && groups.wouldCycle(user, id)) {
        post.reset();
        why = "its other operand needs the result";
      }
      if (!post) {
        missed(user, "Epilogue", why);
        break;
      }
      groups.move(user, id);
      result = user->getResult(0);
    }
    if (isa<MatmulOp>(contraction) && result.hasOneUse())
      if (Operation *user = *result.getUsers().begin(); turned.contains(user) && !groups.has(user) && !groups.wouldCycle(user, id))
        groups.move(user, id);
  }
  static unsigned channelDim(Operation *op) {
    unsigned rank = resultDims(op).size();
    bool last = isa<MatmulOp>(op) || op->hasAttr("channels_last");
    return last ? rank - 1 : 1;
  }

  /// A composite that the target keeps whole is a kernel of its own; what only renames elements of its operands is read there.
  void startCompositeGroup(Operation *op) {
    int id = startGroup(op, GroupKind::Routine);
    for (unsigned i = 0; i < op->getNumOperands() && !unfused; ++i) {
      SmallVector<Operation *> chain;
      for (Operation *def = op->getOperand(i).getDefiningOp();
           def && (isa<TransposeOp, BroadcastOp, SliceOp>(def) || (isa<ReshapeOp>(def) && splitsOnly(def))) && !groups.has(def) &&
           constants.contains(def) == constants.contains(op);
           def = def->getOperand(0).getDefiningOp())
        chain.push_back(def);
      while (!chain.empty() && isa<ReshapeOp>(chain.back())) // that alone is a view
        chain.pop_back();
      copyChain(op, i, chain, id);
    }
  }

  /// Others may read the ops between `chain`'s end and an operand: group `id` gets copies of its own.
  void copyChain(Operation *op, unsigned operand, ArrayRef<Operation *> chain, int id) {
    if (chain.empty())
      return;
    OpBuilder b(op);
    Value value = chain.back()->getOperand(0);
    for (Operation *view : llvm::reverse(chain)) {
      Operation *copy = b.clone(*view);
      copy->setOperand(0, value);
      value = copy->getResult(0);
      groups.move(copy, id);
    }
    op->setOperand(operand, value);
    for (Operation *view : chain)
      if (view->use_empty()) {
        llvm::erase(program, view);
        constants.erase(view);
        view->erase();
      }
  }

  /// A chain of views in front of a product's operand that the library can read by strides joins its group.
  void takeOperandView(Operation *op, unsigned operand, int id, bool adjacentColumns) {
    SmallVector<Operation *> chain;
    auto lookThrough = [&](Operation *view) { return !constants.contains(view) || constants.contains(op); };
    for (Operation *def = op->getOperand(operand).getDefiningOp();
         def && isa<TransposeOp, SliceOp, BroadcastOp, ReshapeOp>(def) && lookThrough(def) && !groups.has(def);
         def = def->getOperand(0).getDefiningOp())
      chain.push_back(def);
    // The longest prefix that is still one strided view with unit stride in rows or columns.
    while (!chain.empty()) {
      StridedView view = stridedViewOf(op->getOperand(operand), [&](Operation *v) { return llvm::is_contained(chain, v); });
      unsigned rank = view.dims.size();
      auto unit = [&](unsigned d) { return isSize(view.strides[d], 1) || isSize(view.dims[d], 1); };
      auto positive = [&](unsigned d) {
        auto s = constantSize(view.strides[d]);
        return isSize(view.dims[d], 1) || !s || *s > 0;
      };
      bool reachesEnd = view.base == chain.back()->getOperand(0);
      // One row whose elements lie apart is no column to the library: it would take its slowest way.
      bool column = unit(rank - 2) && !adjacentColumns && !isSize(view.dims[rank - 2], 1);
      if (reachesEnd && (unit(rank - 1) || column) && positive(rank - 1) && positive(rank - 2))
        break;
      chain.pop_back();
    }
    copyChain(op, operand, chain, id);
  }

  /// Heads are put side by side behind most attentions: it writes its rows where they belong.
  void takeResultTranspose(AttentionOp attention, int id) {
    if (!attention->hasOneUse())
      return;
    auto transpose = dyn_cast<TransposeOp>(*attention->getUsers().begin());
    if (transpose && !groups.has(transpose) && transpose.getPerm().back() == int64_t(transpose.getPerm().size()) - 1)
      groups.move(transpose, id);
  }

  //===-- rules 3 and 4 -----------------------------------------------------------------------------------------===//
  void joinConsumers(Operation *op) {
    if (op->getNumResults() != 1 || !isa<ElementOp>(op) || op->use_empty() || op->getBlock() != &block)
      return;
    Group &own = groups.of(op);
    if (own.kind == GroupKind::Library || own.kind == GroupKind::Routine || own.ops.size() != 1)
      return;
    SmallVector<int> consumers;
    bool returned = false;
    for (Operation *user : op->getUsers()) {
      int id = groups.idOf(user);
      if (id < 0)
        returned = true;
      else if (!llvm::is_contained(consumers, id))
        consumers.push_back(id);
    }
    // The consumer that comes first in the program keeps the value in registers; the others read it from memory.
    llvm::sort(consumers, [&](int a, int b) { return firstUse(op, a) < firstUse(op, b); });
    bool single = consumers.size() == 1 && !returned;
    for (int id : consumers) {
      std::string why;
      if (canJoin(op, id, single, why)) {
        commit(op, id);
        return;
      }
      missed(op, "NotFused", why);
    }
  }
  unsigned firstUse(Operation *op, int group) {
    unsigned first = ~0u;
    for (auto [i, user] : llvm::enumerate(groups[group].ops))
      if (llvm::is_contained(op->getUsers(), user))
        first = std::min(first, positionOf(user));
    return first;
  }
  unsigned positionOf(Operation *op) {
    if (positions.empty())
      for (auto [i, o] : llvm::enumerate(block))
        positions[&o] = i;
    return positions.lookup(op);
  }

  /// Whether a row-shaped op (size 1 where the group is reduced) hangs on a reduction over exactly `axes` of `shape`.
  static bool hangsOnReduction(Operation *op, ArrayRef<int64_t> axes, ArrayRef<AffineExpr> shape, int depth = 0) {
    if (depth > 8)
      return false;
    if (auto reduce = dyn_cast<graph::ReduceOp>(op))
      return reduce.getKeep() && reduce.getAxes() == axes && dimsOf(reduce.getX().getType()) == llvm::to_vector(shape);
    if (!isa<Elementwise>(op))
      return false;
    return llvm::any_of(op->getOperands(), [&](Value v) {
      return v.getDefiningOp() && dimsOf(v.getType()) == resultDims(op) &&
             hangsOnReduction(v.getDefiningOp(), axes, shape, depth + 1);
    });
  }

  bool isRowShaped(ArrayRef<AffineExpr> dims, const Group &group) {
    if (group.reduced.empty() || dims.size() != group.shape.size())
      return false;
    for (unsigned d = 0; d < dims.size(); ++d)
      if (llvm::is_contained(group.reduced, (int64_t)d) ? !isSize(dims[d], 1) : dims[d] != group.shape[d])
        return false;
    return true;
  }

  bool canJoin(Operation *op, int id, bool single, std::string &why) {
    Group &group = groups[id];
    pendingReduced.reset();
    if (group.kind != GroupKind::Loop)
      return why = "its consumer is a " + groupKindName(group.kind).str(), false;
    if (constants.contains(op) != group.constant)
      return why = "one depends on weights alone and runs once", false;
    if (group.ops.size() >= kMaxGroupOps)
      return why = "the kernel is at its limit of ops", false;
    int work = costOf(op);
    for (Operation *member : group.ops)
      work += costOf(member);
    if (work > kMaxGroupWork)
      return why = "the kernel is at its limit of work", false;
    if (inputsWith(op, group) > kMaxGroupInputs)
      return why = "the kernel is at its limit of inputs", false;
    auto dims = resultDims(op);
    bool full = dims == group.shape, row = isRowShaped(dims, group);
    bool reduces = cast<ElementOp>(op).reduces();
    bool concat = isa<ConcatOp>(op);
    if (isa<Contraction>(op) && llvm::any_of(group.ops, [&](Operation *other) { return isa<Contraction>(other) && !(isTinyProduct(op) && isTinyProduct(other)); }))
      return why = "a kernel computes one product", false;
    if (concat && (op->getNumOperands() > 4 || !single))
      return why = "a wide concatenation is copied part by part", false;
    if (isa<ReshapeOp>(op) && !op->hasAttr(kReadThroughAttr) && !(single && splitsOnly(op) && worthReading(op)))
      return why = "a reshape is free as a view", false;
    if (contiguousOffset(op) && !single)
      return why = "a contiguous slice is free as a view", false;
    if (op->hasAttr(kStoredAttr))
      return why = "a generated convolution reads it padded", false;

    if (!op->hasAttr(kReadThroughAttr) && llvm::any_of(op->getUsers(), [](Operation *user) { return user->hasAttr(kReadThroughAttr); }))
      return why = "a convolution reads it several times, through a shuffle", false;

    // How consumers inside the group read it.
    bool repeated = false;
    llvm::DenseMap<Operation *, int> reread;
    for (Operation *user : op->getUsers()) {
      if (groups.idOf(user) != id)
        continue;
      if (isDirectConv(user) && isa<Elementwise>(op))
        return why = "a generated convolution would compute it for every product", false;
      if ((rereads(user) || user->hasAttr(kStoredAttr)) && followsDirectConv(op))
        return why = "the generated convolution before it takes it", false;
      if (workReread(user, id, reread) + costOf(op) > kRepeatableCost)
        return why = "a consumer behind it reads each element several times", false;
      if (rereads(user) && (reduces || isa<GatherOp, GatherNDOp, GatherElementsOp, ConcatOp>(op)))
        return why = "its consumer reads each element several times", false;
      if (!isa<Elementwise>(user) && !cast<ElementOp>(user).movesData() && !cast<ElementOp>(user).reduces() &&
          costOf(op) > kRepeatableCost)
        return why = "its consumer reads elements repeatedly", false;
      auto userDims = resultDims(user);
      if (isa<Elementwise, BroadcastOp>(user) && dims != userDims) {
        repeated = true;
        // Broadcast back over reduced dims? Then this makes, or belongs to, a row group.
        if (userDims == group.shape && group.reduced.empty() && !pendingReduced) {
          SmallVector<int64_t> axes;
          if (dims.size() == userDims.size())
            for (unsigned d = 0; d < dims.size(); ++d)
              if (dims[d] != userDims[d])
                axes.push_back(d);
          if (!axes.empty() && rowGroupAllowed(group, axes) && hangsOnReduction(op, axes, group.shape) && !oneLongRow(group, axes)) {
            pendingReduced = axes;
            row = true;
          }
        }
      }
      if (isa<GatherOp, GatherElementsOp, GatherNDOp>(user) && user->getOperand(0) == op->getResult(0))
        repeated = true;
    }
    if (reduces) {
      if (rereads(op) && !single)
        return why = "a window or product with several consumers is stored", false;
      bool inRow = row && isa<graph::ReduceOp>(op) && cast<graph::ReduceOp>(op).getKeep() &&
                   sameAxes(cast<graph::ReduceOp>(op).getAxes(), pendingReduced ? *pendingReduced : group.reduced) &&
                   dimsOf(op->getOperand(0).getType()) == group.shape && allElementwise(op, id, pendingReduced.has_value());
      bool inlined = full && group.reduced.empty() && !pendingReduced && !repeated && allElementwise(op, id);
      if (!inRow && !inlined && !(single && joinsPool(op, group)))
        return why = "its result would be reduced again for every element that reads it", false;
    } else if (repeated && !row && costOf(op) > kRepeatableCost) {
      return why = "its result is repeated over a larger shape", false;
    }
    // In a row group, what is read at other indices than the row's own must not depend on the row's reductions; only members
    // of full or row shape do, and they are read elementwise.
    if (!single) {
      if (!(full || row))
        return why = "it is needed elsewhere and has another shape than the kernel", false;
      if (!allElementwise(op, id) && !row)
        return why = "it is needed elsewhere and not read in place here", false;
      if (isCheapMove(op) || concat || isa<ReshapeOp>(op))
        return why = "it is needed elsewhere as memory", false;
    }
    if (groups.wouldCycle(op, id))
      return why = "another kernel lies between them", false;
    return true;
  }

  /// Work on the way from `op`, a member, to members that read elements several times; so far that is not the case: minus infinity.
  int workReread(Operation *op, int id, llvm::DenseMap<Operation *, int> &known) {
    constexpr int kNever = -1000000;
    if (rereads(op))
      return 0;
    if (auto it = known.find(op); it != known.end())
      return it->second;
    int most = kNever;
    for (Operation *user : op->getUsers())
      if (groups.idOf(user) == id)
        most = std::max(most, workReread(user, id, known));
    return known[op] = most == kNever ? kNever : most + costOf(op);
  }

  /// An op that works on each element of a generated convolution's result: its bias, its activation.
  static bool followsDirectConv(Operation *op) {
    for (; isa<Elementwise>(op) && op->hasOneUse() && op->getNumOperands() > 0; op = op->getOperand(0).getDefiningOp()) {
      Operation *def = op->getOperand(0).getDefiningOp();
      if (!def)
        return false;
      if (isDirectConv(def))
        return def->hasOneUse() && resultDims(def) == resultDims(op);
    }
    return false;
  }

  /// A generated convolution, its bias and activation, and the pooling of what comes out: one sum for each element that the pooling
  /// reads.
  static bool joinsPool(Operation *op, const Group &group) {
    Operation *pool = nullptr;
    MaxPoolIndexOp places; // found together with the maxima
    for (Operation *member : group.ops)
      if (auto element = dyn_cast<ElementOp>(member); element && element.reduces()) {
        if (auto index = dyn_cast<MaxPoolIndexOp>(member); index && !places) {
          places = index;
          continue;
        }
        if (pool || !poolsOnce(member))
          return false;
        pool = member;
      }
    if (!pool || !isa<Contraction>(op) || dimsOf(pool->getOperand(0).getType()) != resultDims(op))
      return false;
    if (places && !(isa<MaxPoolOp>(pool) && numbersMaximaOf(places, cast<MaxPoolOp>(pool))))
      return false;
    // From the convolution to the pooling by ops that keep the place of an element.
    Operation *at = op;
    while (!llvm::is_contained(at->getUsers(), pool)) {
      if (!at->hasOneUse())
        return false;
      at = *at->getUsers().begin();
      if (!isa<Elementwise>(at) || resultDims(at) != resultDims(op))
        return false;
    }
    return llvm::all_of(at->getUsers(), [&](Operation *user) { return user == pool || user == places; });
  }

  /// A row group keeps its rows in cache; every member that is already there must be full or not depend on rows.
  bool rowGroupAllowed(const Group &group, ArrayRef<int64_t> axes) {
    for (Operation *op : group.ops)
      if (cast<ElementOp>(op).reduces())
        return false;
    // Outputs must have the full shape.
    for (Operation *op : group.ops)
      if (!isa<Elementwise, BroadcastOp>(op) && resultDims(op) == group.shape)
        return false;
    return true;
  }
  /// Rows are shared out among threads: a kernel of one long row would run on one.
  static bool oneLongRow(const Group &group, ArrayRef<int64_t> axes) {
    constexpr int64_t kLongRow = 1 << 14;
    int64_t elements = 1;
    for (auto [d, dim] : llvm::enumerate(group.shape)) {
      if (!isSize(dim, 1) && !llvm::is_contained(axes, (int64_t)d))
        return false;
      elements *= constantSize(dim).value_or(kLongRow);
    }
    return elements >= kLongRow;
  }
  bool allElementwise(Operation *op, int id, bool becomesRow = false) {
    for (Operation *user : op->getUsers())
      if (groups.idOf(user) == id && !isa<Elementwise>(user) &&
          !isa<BroadcastOp>(user) && !(isa<graph::ReduceOp>(user) && (becomesRow || !groups[id].reduced.empty())))
        return false;
    return true;
  }
  static bool sameAxes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) { return a == b; }

  /// A reshape that only splits dims or adds ones stays affine when its consumer's index goes through it.
  static bool splitsOnly(Operation *op) {
    auto from = dimsOf(op->getOperand(0).getType()), to = resultDims(op);
    unsigned j = 0;
    auto *ctx = op->getContext();
    for (AffineExpr d : from) {
      if (isSize(d, 1))
        continue;
      AffineExpr p = constantDim(1, ctx);
      while (j < to.size() && p != d)
        p = simplify(p * to[j++]);
      if (p != d)
        return false;
    }
    return true;
  }
  /// Looking through a reshape pays when there is something to compute or move before it.
  bool worthReading(Operation *op) {
    Operation *def = op->getOperand(0).getDefiningOp();
    return def && groups.has(def) && groups.of(def).kind == GroupKind::Loop && def->hasOneUse() && !constants.contains(def);
  }

  unsigned inputsWith(Operation *extra, Group &group) {
    llvm::DenseSet<Value> inputs;
    auto count = [&](Operation *op) {
      for (Value v : op->getOperands()) {
        Operation *def = v.getDefiningOp();
        if (def && (def == extra || llvm::is_contained(group.ops, def)))
          continue;
        inputs.insert(v);
      }
    };
    for (Operation *op : group.ops)
      count(op);
    count(extra);
    return inputs.size();
  }

  void commit(Operation *op, int id) {
    Group &group = groups[id];
    if (pendingReduced)
      group.reduced = *pendingReduced;
    groups.move(op, id);
  }

  //===-- rule 5 ------------------------------------------------------------------------------------------------===//
  /// Values for whose sake a kernel may become one with another that reads them too.
  SmallVector<Value> sharedValues(const Group &group) {
    if (llvm::all_of(group.ops, [](Operation *op) { return isa<Elementwise>(op); }))
      return valuesReadHereLast(group);
    return reducedValues(group);
  }

  /// Computed values of the full shape that an elementwise kernel reads, where two kernels in all read them.
  SmallVector<Value> valuesReadHereLast(const Group &group) {
    SmallVector<Value> values;
    for (Operation *op : group.ops)
      for (Value v : op->getOperands()) {
        llvm::SmallDenseSet<int> readers;
        for (Operation *user : v.getUsers())
          readers.insert(groups.idOf(user));
        if (v.getDefiningOp() && !isSource(v.getDefiningOp()) && dimsOf(v.getType()) == group.shape && readers.size() == 2 && !readers.contains(-1) &&
            groups.idOf(v.getDefiningOp()) != groups.idOf(op))
          values.push_back(v);
      }
    return values;
  }

  /// What the reductions of a kernel read in full: values from elsewhere of the shape that is reduced. Nothing where members
  /// reduce different shapes.
  SmallVector<Value> reducedValues(const Group &group) {
    SmallVector<Value> values;
    SmallVector<AffineExpr> wide;
    for (Operation *op : group.ops) {
      auto element = dyn_cast<ElementOp>(op);
      if (!element || !element.reduces() || isa<Contraction>(op))
        continue;
      auto dims = dimsOf(op->getOperand(0).getType());
      if (!wide.empty() && wide != dims)
        return {};
      wide = dims;
    }
    if (wide.empty())
      return {};
    for (Operation *op : group.ops)
      for (Value v : op->getOperands())
        if (dimsOf(v.getType()) == wide && !(v.getDefiningOp() && llvm::is_contained(group.ops, v.getDefiningOp())))
          values.push_back(v);
    return values;
  }

  void joinSiblings(bool windowsOnly) {
    // By what they read, so that not every pair is looked at.
    llvm::MapVector<Value, SmallVector<int>> readers;
    for (size_t id = 0; id < groups.size(); ++id)
      if (groups[id].kind == GroupKind::Loop && !groups[id].dead && !(windowsOnly && !isa<MaxPoolOp, MaxPoolIndexOp>(groups[id].ops.front())))
        for (Value v : sharedValues(groups[id]))
          if (auto &ids = readers[v]; ids.empty() || ids.back() != (int)id)
            ids.push_back(id);
    for (auto &[value, ids] : readers)
      for (size_t i = 0; i < ids.size(); ++i)
        for (size_t j = i + 1; j < ids.size(); ++j)
          if (areSiblings(ids[i], ids[j]))
            for (Operation *op : SmallVector<Operation *>(groups[ids[j]].ops))
              groups.move(op, ids[i]);
  }

  bool areSiblings(int a, int b) {
    Group &left = groups[a], &right = groups[b];
    if (left.dead || right.dead || left.shape != right.shape || left.constant != right.constant || !left.reduced.empty() || !right.reduced.empty())
      return false;
    int work = 0;
    llvm::DenseSet<Value> inputs;
    for (const Group *group : {&left, &right})
      for (Operation *op : group->ops) {
        work += costOf(op);
        inputs.insert(op->getOperands().begin(), op->getOperands().end());
      }
    return left.ops.size() + right.ops.size() <= kMaxGroupOps && work <= kMaxGroupWork && inputs.size() <= kMaxGroupInputs && !groups.dependsOn(a, b) &&
           !groups.dependsOn(b, a);
  }

  //===-- the result --------------------------------------------------------------------------------------------===//
  void emit() {
    Operation *terminator = block.getTerminator();
    // Group ids fixed before ops move: program order inside a group is restored by position.
    llvm::DenseMap<Operation *, unsigned> place;
    for (auto [i, op] : llvm::enumerate(block))
      place[&op] = i;
    for (int id : groups.order()) {
      Group &group = groups[id];
      if (group.kind == GroupKind::Control) {
        group.ops[0]->moveBefore(terminator);
        continue;
      }
      llvm::sort(group.ops, [&](Operation *a, Operation *b) { return place.lookup(a) < place.lookup(b); });
      SmallVector<Value> outputs;
      SmallVector<Location> locations;
      llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
      for (Operation *op : group.ops) {
        locations.push_back(op->getLoc());
        for (Value result : op->getResults())
          if (op->getNumResults() > 1 ||
              llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(enclosing(user)); }))
            outputs.push_back(result);
      }
      OpBuilder b(terminator);
      SmallVector<Type> types(ValueRange(outputs).getTypes());
      // The location of what the group ends in names it; the others are listed by the kernel.
      auto op = GroupOp::create(b, group.ops.back()->getLoc(), types, b.getStringAttr(groupKindName(group.kind)));
      if (!group.reduced.empty())
        op->setAttr("rows", b.getDenseI64ArrayAttr(group.reduced));
      if (group.constant)
        op->setAttr("prepare", b.getUnitAttr());
      Block *body = b.createBlock(&op.getBody());
      for (Operation *member : group.ops)
        member->moveBefore(body, body->end());
      for (auto [value, result] : llvm::zip(outputs, op.getResults()))
        value.replaceUsesWithIf(result, [&](OpOperand &use) { return use.getOwner()->getBlock() != body; });
      b.setInsertionPointToEnd(body);
      YieldOp::create(b, op.getLoc(), outputs);
    }
  }
  Operation *enclosing(Operation *user) {
    while (user->getBlock() != &block && !groups.has(user))
      user = user->getParentOp();
    return user;
  }

  void missed(Operation *op, StringRef name, StringRef why) {
    remark::missed(op->getLoc(), remark::RemarkOpts::name(name).category("fuse"))
        << remark::reason("{0}: {1}", op->getName().stripDialect(), why);
  }

  Block &block;
  Groups groups;
  bool unfused;
  SmallVector<Operation *> program;
  llvm::DenseSet<Operation *> constants, turned;
  llvm::DenseMap<Operation *, unsigned> positions;
  std::optional<SmallVector<int64_t>> pendingReduced;
};

struct Fuse : PassWrapper<Fuse, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fuse)
  explicit Fuse(bool unfused) : unfused(unfused) {}
  StringRef getArgument() const final { return "graphc-fuse"; }
  StringRef getDescription() const final { return "group ops into kernels, library calls, routines and views"; }
  void runOnOperation() final {
    if (!getOperation().isExternal())
      fuse(getOperation().getBody().front());
  }
  /// A block before the bodies in it: what they read of it is decided first.
  void fuse(Block &block) {
    Fusion(block, unfused).run();
    for (Operation &op : block)
      if (isControl(&op))
        for (Region &region : op.getRegions())
          fuse(region.front());
  }
  bool unfused;
};
} // namespace

std::unique_ptr<Pass> graphc::createFusePass(bool unfused) { return std::make_unique<Fuse>(unfused); }
