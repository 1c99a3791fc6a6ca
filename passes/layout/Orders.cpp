// The rule of each op: which order of the result follows from which order of its operands. An op without a rule is
// computed in the order the program gives, which is always right.
#include "passes/layout/Orders.h"
#include "passes/simplify/Weights.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace graphc::graph {

Order channelsLast(int64_t rank) {
  Order order = {0, rank - 1};
  for (int64_t i = 1; i + 1 < rank; ++i)
    order.push_back(i);
  return order;
}

Order inverse(ArrayRef<int64_t> order) {
  Order result(order.size());
  for (auto [i, o] : llvm::enumerate(order))
    result[o] = i;
  return result;
}

SmallVector<AffineExpr> reordered(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> order) {
  SmallVector<AffineExpr> result(dims.size());
  for (auto [i, o] : llvm::enumerate(order))
    result[o] = dims[i];
  return result;
}

bool movesOnesOnly(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> order) {
  int64_t previous = -1;
  for (auto [i, o] : llvm::enumerate(order)) {
    if (isSize(dims[i], 1))
      continue;
    if (o < previous)
      return false;
    previous = o;
  }
  return true;
}

namespace {

using OrderOf = function_ref<Order(Value)>;
using Rule = std::optional<OrderRule>;

int64_t rankOf(Value v) { return cast<RankedTensorType>(v.getType()).getRank(); }

/// Operand 0 and the result in the same order, other operands as given.
Rule sameOrder(Operation *op, Order order) {
  if (order.empty())
    return std::nullopt;
  OrderRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.operands[0] = order;
  rule.result = order;
  return rule;
}

template <typename Op>
Rule windowRule(Op op) {
  if (op.getChannelsLast())
    return std::nullopt;
  return sameOrder(op, channelsLast(rankOf(op.getX())));
}

/// Both operands channels last; the result too, or as given (the weight of a convolution).
template <typename Op>
Rule bothOperandsRule(Op op, bool resultToo) {
  Rule rule = windowRule(op);
  if (!rule)
    return rule;
  rule->operands[1] = rule->operands[0];
  if (!resultToo)
    rule->result.clear();
  return rule;
}

/// Pools see spatial dims in any sequence, as long as the channels stay second or become last.
template <typename Op>
Rule poolRule(Op op, OrderOf orderOf) {
  Order order = orderOf(op.getX());
  bool fits = !order.empty() && order[0] == 0 && (order[1] == 1 || order[1] == (int64_t)order.size() - 1);
  return fits && !op.getChannelsLast() ? sameOrder(op, order) : windowRule(op);
}

Rule resizeRule(ResizeOp op, OrderOf orderOf) {
  Order order = orderOf(op.getX());
  int64_t rank = rankOf(op.getX());
  if (order.empty() && rank >= 3 && op.getScales()[0] == 1 && op.getScales()[1] == 1)
    order = channelsLast(rank);
  return sameOrder(op, order);
}

Rule elementwiseRule(Operation *op, OrderOf orderOf) {
  int64_t rank = rankOf(op->getResult(0));
  Order order;
  for (Value v : op->getOperands())
    if (order.empty() && rankOf(v) == rank)
      order = orderOf(v);
  if (order.empty())
    return std::nullopt;
  OrderRule rule;
  rule.broadcasts = true;
  rule.operands.assign(op->getNumOperands(), order);
  rule.result = order;
  return rule;
}

Rule broadcastRule(BroadcastOp op, OrderOf orderOf) {
  if (rankOf(op.getX()) != rankOf(op.getResult()))
    return std::nullopt;
  return sameOrder(op, orderOf(op.getX()));
}

Rule concatRule(ConcatOp op, OrderOf orderOf) {
  Order order;
  for (Value v : op.getInputs())
    if (order.empty())
      order = orderOf(v);
  if (order.empty())
    return std::nullopt;
  OrderRule rule;
  rule.operands.assign(op->getNumOperands(), order);
  rule.result = order;
  return rule;
}

/// Without the reduced dims, the others keep their relative order.
Rule reductionRule(Operation *op, ArrayRef<int64_t> axes, bool keep, OrderOf orderOf) {
  Order order = orderOf(op->getOperand(0));
  if (order.empty())
    return std::nullopt;
  OrderRule rule;
  rule.operands = {order};
  if (keep) {
    rule.result = order;
    return rule;
  }
  SmallVector<int64_t> kept;
  for (auto [i, o] : llvm::enumerate(order))
    if (!llvm::is_contained(axes, (int64_t)i))
      kept.push_back(o);
  for (int64_t o : kept)
    rule.result.push_back(llvm::count_if(kept, [&](int64_t other) { return other < o; }));
  if (llvm::is_sorted(rule.result))
    rule.result.clear();
  return rule;
}

Rule gatherRule(GatherOp op, OrderOf orderOf) {
  // Indices of rank 1 replace one dim by one dim.
  return rankOf(op.getIndices()) == 1 ? sameOrder(op, orderOf(op.getX())) : std::nullopt;
}

Rule batchNormRule(BatchNormOp op, OrderOf orderOf) {
  Order order = orderOf(op.getX());
  bool fits = !order.empty() && !op.getChannelsLast() && order[1] == rankOf(op.getX()) - 1;
  return fits ? sameOrder(op, order) : std::nullopt;
}

Rule transposeRule(TransposeOp op, OrderOf orderOf) {
  Order order = orderOf(op.getX()), perm(op.getPerm());
  auto dims = dimsOf(op.getX().getType());
  OrderRule rule;
  if (order.empty()) {
    // From [N, spatial..., C] to [N, C, spatial...]: the result in the other order is the operand itself.
    if (dims.size() < 3 || perm != channelsLast(dims.size()))
      return std::nullopt;
    rule.operands = {Order()};
    rule.result = perm;
    rule.cancels = true;
    return rule;
  }
  Order combined;
  for (int64_t p : perm)
    combined.push_back(order[p]);
  if (movesOnesOnly(dimsOf(op.getType()), combined)) {
    rule.operands = {order};
    rule.cancels = true;
  } else {
    rule.operands = {Order()};
    rule.result = order;
    rule.takesAnyOrder = true;
  }
  return rule;
}

//===-- reshape ------------------------------------------------------------------------------------------------------===//

/// Dims of the operand and of the result that hold the same elements; sizes of 1 belong to no block.
struct Block {
  SmallVector<unsigned> from, to;
};

std::optional<SmallVector<Block>> matchBlocks(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  // Sizes are compared by number, with a large prime for each symbol; equality is then proved on the expressions.
  auto number = [](AffineExpr e) {
    auto v = evaluate(e, [](unsigned symbol) -> std::optional<int64_t> { return 1009 + 2 * (int64_t)symbol; });
    return v ? *v : -1;
  };
  SmallVector<unsigned> a, b;
  for (unsigned i = 0; i < from.size(); ++i)
    if (!isSize(from[i], 1))
      a.push_back(i);
  for (unsigned j = 0; j < to.size(); ++j)
    if (!isSize(to[j], 1))
      b.push_back(j);
  SmallVector<Block> blocks;
  unsigned i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Block block;
    AffineExpr p = from[a[i]], q = to[b[j]];
    block.from.push_back(a[i++]);
    block.to.push_back(b[j++]);
    while (p != q) {
      int64_t x = number(p), y = number(q);
      if (x < 0 || y < 0 || x == y)
        return std::nullopt;
      if (x < y ? i == a.size() : j == b.size())
        return std::nullopt;
      if (x < y) {
        p = simplify(p * from[a[i]]);
        block.from.push_back(a[i++]);
      } else {
        q = simplify(q * to[b[j]]);
        block.to.push_back(b[j++]);
      }
    }
    blocks.push_back(block);
  }
  if (i != a.size() || j != b.size())
    return std::nullopt;
  return blocks;
}

/// Flattening before a matrix product with a weight: [n, C, H, W] -> [n, K] with every use a matmul's left operand.
bool flattensForMatmuls(ReshapeOp op, ArrayRef<int64_t> order) {
  auto from = dimsOf(op.getX().getType()), to = dimsOf(op.getType());
  if (to.size() < 2 || op->use_empty())
    return false;
  unsigned kept = 0;
  while (kept < order.size() && order[kept] == (int64_t)kept)
    ++kept;
  auto *ctx = op.getContext();
  if (product(ArrayRef(from).drop_front(kept), ctx) != to.back() || !constantSize(to.back()))
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto matmul = dyn_cast<MatmulOp>(use.getOwner());
    return matmul && use.getOperandNumber() == 0 && !matmul.getTransposeLhs() && matmul.getRhs() != op.getResult() &&
           rankOf(matmul.getRhs()) == 2 && dependsOnWeightsOnly(matmul.getRhs());
  });
}

Rule reshapeRule(ReshapeOp op, OrderOf orderOf) {
  Order order = orderOf(op.getX());
  if (order.empty())
    return std::nullopt;
  OrderRule rule;
  rule.operands = {order};
  auto from = dimsOf(op.getX().getType()), to = dimsOf(op.getType());
  if (movesOnesOnly(from, order))
    return rule; // the elements lie in the same sequence either way
  auto blocks = matchBlocks(from, to);
  // A block stays one when its dims are neighbours in the same sequence in the other order, sizes of 1 aside.
  bool together = blocks.has_value();
  SmallVector<int64_t> positions;
  for (unsigned i = 0; i < from.size(); ++i)
    if (!isSize(from[i], 1))
      positions.push_back(order[i]);
  llvm::sort(positions);
  auto placeOf = [&](unsigned dim) { return llvm::find(positions, order[dim]) - positions.begin(); };
  for (const Block &block : together ? *blocks : SmallVector<Block>())
    for (unsigned k = 1; k < block.from.size(); ++k)
      together &= placeOf(block.from[k]) == placeOf(block.from[k - 1]) + 1;
  if (!together) {
    if (!flattensForMatmuls(op, order))
      return std::nullopt;
    rule.permutesWeightRows = true;
    return rule;
  }
  llvm::sort(*blocks, [&](const Block &a, const Block &b) { return placeOf(a.from[0]) < placeOf(b.from[0]); });
  SmallVector<unsigned> sequence; // result dims other than 1, in the other order
  for (const Block &block : *blocks)
    sequence.append(block.to.begin(), block.to.end());
  if (llvm::is_sorted(sequence))
    return rule;
  // Sizes of 1 go where channels-last puts them, if that fits, else they keep their place.
  int64_t rank = to.size();
  Order usual = rank >= 3 ? channelsLast(rank) : Order();
  bool fits = rank >= 3 && llvm::is_sorted(sequence, [&](unsigned a, unsigned b) { return usual[a] < usual[b]; });
  if (fits) {
    rule.result = usual;
    return rule;
  }
  rule.result.resize(rank);
  unsigned next = 0;
  for (int64_t place = 0; place < rank; ++place)
    rule.result[isSize(to[place], 1) ? place : sequence[next++]] = place;
  return rule;
}

template <typename Op>
Rule axisRule(Op op, OrderOf orderOf) {
  return sameOrder(op, orderOf(op.getX()));
}

} // namespace

std::optional<OrderRule> orderRule(Operation *op, OrderOf orderOf) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || dependsOnWeightsOnly(op->getResult(0)))
    return std::nullopt;
  if (isa<Elementwise>(op))
    return elementwiseRule(op, orderOf);
  return TypeSwitch<Operation *, Rule>(op)
      .Case<ConvOp, ConvTransposeOp, MaxPoolIndexOp, AvgUnpoolOp>([](auto window) { return windowRule(window); })
      .Case<MaxUnpoolOp>([](auto unpool) { return bothOperandsRule(unpool, /*resultToo=*/true); })
      .Case<ConvWeightGradOp>([](auto gradient) { return bothOperandsRule(gradient, /*resultToo=*/false); })
      .Case<MaxPoolOp, AvgPoolOp, LpPoolOp>([&](auto pool) { return poolRule(pool, orderOf); })
      .Case<ResizeOp>([&](auto resize) { return resizeRule(resize, orderOf); })
      .Case<ConcatOp>([&](auto concat) { return concatRule(concat, orderOf); })
      .Case<BroadcastOp>([&](auto broadcast) { return broadcastRule(broadcast, orderOf); })
      .Case<PadOp, SliceOp, SoftmaxOp, LogSoftmaxOp>([&](auto any) { return axisRule(any, orderOf); })
      .Case<GatherOp>([&](auto gather) { return gatherRule(gather, orderOf); })
      .Case<BatchNormOp>([&](auto norm) { return batchNormRule(norm, orderOf); })
      .Case<ReduceOp>([&](auto reduce) { return reductionRule(reduce, reduce.getAxes(), reduce.getKeep(), orderOf); })
      .Case<ArgReduceOp>([&](auto reduce) {
        return reductionRule(reduce, {(int64_t)reduce.getAxis()}, reduce.getKeep(), orderOf);
      })
      .Case<TransposeOp>([&](auto transpose) { return transposeRule(transpose, orderOf); })
      .Case<ReshapeOp>([&](auto reshape) { return reshapeRule(reshape, orderOf); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace graphc::graph
