// Before: convolutions and pools over [N, C, spatial...], as programs say it. After: over [N, spatial..., C], marked
// `channels_last`, with explicit transposes where the rest of the program needs the order it gave; weights keep theirs.
// Before `select` and `fuse`, because the order decides which library call and which loops are possible; as one decision
// over the whole function, because pushing transposes one at a time gets stuck where branches meet.
//
//     %c = graph.conv %x, %w              %t = graph.transpose %x perm [0, 2, 3, 1]
//     %r = graph.relu %c             →    %c = graph.conv %t, %w {channels_last}
//     %d = graph.conv %r, %v              %r = graph.relu %c
//                                         %d = graph.conv %r, %v {channels_last}
//                                         %y = graph.transpose %d perm [0, 3, 1, 2]
//
// Each op with a rule (Orders.h) may be computed as given or in its other order. Convolutions must be in the other order;
// every value whose users do not want it as it is produced costs one transpose of its size, or nothing when that moves
// dims of 1 alone. The cheapest choice is a minimum cut. Transposes of the program take part: they cancel for free.
#include "passes/layout/Layout.h"
#include "passes/layout/MinCut.h"
#include "passes/layout/Remap.h"
#include "passes/simplify/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

bool mustBeChannelsLast(Operation *op) { return isa<ConvOp, ConvTransposeOp>(op); }
bool wouldRatherBeChannelsLast(Operation *op) {
  return isa<MaxPoolOp, MaxPoolIndexOp, AvgPoolOp, LpPoolOp, ResizeOp, MaxUnpoolOp, AvgUnpoolOp, ConvWeightGradOp>(op);
}

/// Elements of a tensor, with a guess for each symbol: only ratios matter.
int64_t elementsOf(Value v) {
  int64_t n = 1;
  for (AffineExpr d : dimsOf(v.getType())) {
    auto size = evaluate(d, [](unsigned) -> std::optional<int64_t> { return 16; });
    n *= size && *size > 0 ? std::min<int64_t>(*size, 1 << 20) : 1;
    n = std::min<int64_t>(n, int64_t(1) << 40);
  }
  return n;
}

//===-- deciding -----------------------------------------------------------------------------------------------------===//

/// One block's choice: which ops are computed in the order of their rule.
class OrderChoice {
public:
  explicit OrderChoice(Block &block) {
    for (Operation &op : block)
      if (auto rule = orderRule(&op, [&](Value v) { return orders.lookup(v); }))
        consider(&op, *rule);
    for (Operation &op : block)
      addUses(&op);
    std::vector<bool> labels = cut.solve();
    for (auto &[op, rule] : rules)
      if (labels[nodes.lookup(op)])
        chosen.try_emplace(op, rule);
  }

  const OrderRule *ruleOf(Operation *op) const {
    auto it = chosen.find(op);
    return it == chosen.end() ? nullptr : &it->second;
  }
  bool empty() const { return chosen.empty(); }

private:
  // Costs: in elements, plus what one more kernel costs. Moving ones is free, but not moving them is simpler.
  static constexpr int64_t moveOnes = 1, preferOther = 2, perTranspose = 512;

  static int64_t costOfTranspose(Value v, ArrayRef<int64_t> order, bool broadcasts) {
    auto dims = dimsOf(v.getType());
    dims.insert(dims.begin(), order.size() - dims.size(), constantDim(1, v.getContext()));
    if (movesOnesOnly(dims, order) || dependsOnWeightsOnly(v))
      return moveOnes;
    return perTranspose + elementsOf(v);
  }

  void consider(Operation *op, const OrderRule &rule) {
    unsigned node = cut.addNode();
    nodes[op] = node;
    rules.insert({op, rule});
    Value result = op->getResult(0);
    if (!rule.result.empty())
      orders[result] = rule.result;
    // Between equals, keep what follows a convolution in its order: it then becomes its epilogue.
    int64_t costAsGiven = preferOther;
    if (mustBeChannelsLast(op))
      costAsGiven = MinCut::infinite;
    else if (wouldRatherBeChannelsLast(op))
      costAsGiven = preferOther + elementsOf(op->getOperand(0)) / 4;
    else if (rule.cancels)
      costAsGiven = rule.result.empty() ? MinCut::infinite : costOfTranspose(result, rule.result, false);
    else if (rule.takesAnyOrder)
      costAsGiven = 0;
    cut.costOfZero(node, costAsGiven);
  }

  /// How the uses of a value in its two orders are paid for: once, however many there are.
  struct Conversions {
    std::optional<unsigned> someUseAsGiven, someUseOther;
    bool fixedUseAsGiven = false;
  };

  void addUses(Operation *op) {
    auto rule = rules.find(op);
    if (rule != rules.end() && rule->second.takesAnyOrder)
      return;
    for (OpOperand &use : op->getOpOperands()) {
      Value v = use.get();
      Order wanted = rule == rules.end() ? Order() : rule->second.operands[use.getOperandNumber()];
      if (wanted.empty())
        needsAsGiven(v);
      else
        mayNeedOther(v, wanted, nodes.lookup(op), rule->second.broadcasts);
    }
    // Regions of other ops see values as given.
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          needsAsGiven(v);
      });
  }

  void needsAsGiven(Value v) {
    auto order = orders.find(v);
    if (order == orders.end() || conversions[v].fixedUseAsGiven)
      return;
    conversions[v].fixedUseAsGiven = true;
    cut.costOfOne(nodes.lookup(v.getDefiningOp()), costOfTranspose(v, order->second, false));
  }

  void mayNeedOther(Value v, const Order &wanted, unsigned user, bool broadcasts) {
    Operation *producer = v.getDefiningOp();
    auto order = orders.find(v);
    bool producedInOrder = order != orders.end();
    if (producedInOrder && order->second != wanted) {
      cut.costOfOne(user, costOfTranspose(v, wanted, broadcasts));
      needsAsGiven(v);
      return;
    }
    if (broadcasts && !producedInOrder && llvm::all_of(dimsOf(v.getType()), [](AffineExpr d) { return isSize(d, 1); }))
      return;
    int64_t cost = costOfTranspose(v, wanted, broadcasts);
    Conversions &c = conversions[v];
    // Produced as given, some user wants the other order.
    if (!c.someUseOther) {
      c.someUseOther = cut.addNode();
      if (producedInOrder)
        cut.costOfSplit(*c.someUseOther, nodes.lookup(producer), cost);
      else
        cut.costOfOne(*c.someUseOther, cost);
    }
    cut.costOfSplit(user, *c.someUseOther, MinCut::infinite);
    if (!producedInOrder)
      return;
    // Produced in the other order, some user wants it as given.
    if (!c.someUseAsGiven) {
      c.someUseAsGiven = cut.addNode();
      cut.costOfSplit(nodes.lookup(producer), *c.someUseAsGiven, cost);
    }
    cut.costOfSplit(*c.someUseAsGiven, user, MinCut::infinite);
  }

  MinCut cut;
  llvm::MapVector<Operation *, OrderRule> rules;
  llvm::DenseMap<Operation *, unsigned> nodes;
  llvm::DenseMap<Value, Order> orders;
  llvm::DenseMap<Value, Conversions> conversions;
  llvm::DenseMap<Operation *, OrderRule> chosen;
};

//===-- rewriting ----------------------------------------------------------------------------------------------------===//

class OrderRewriter {
public:
  OrderRewriter(Block &block, const OrderChoice &choice) : choice(choice) {
    for (Operation &op : block)
      if (choice.ruleOf(&op))
        originals.push_back(&op);
  }

  void run() {
    for (Operation *op : originals)
      rewrite(op, *choice.ruleOf(op));
    // Users that were rewritten go first; whoever is left wants the order the program gave.
    for (Operation *op : llvm::reverse(originals)) {
      Value result = op->getResult(0);
      if (!result.use_empty())
        result.replaceAllUsesWith(givenAgain(op));
      op->erase();
    }
  }

private:
  void rewrite(Operation *op, const OrderRule &rule) {
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (auto [v, order] : llvm::zip_equal(op->getOperands(), rule.operands))
      operands.push_back(order.empty() ? v : inOrderOnce(b, v, order, rule.broadcasts));
    if (rule.permutesWeightRows)
      permuteWeightRows(cast<ReshapeOp>(op), rule);
    Value result = rule.permutesWeightRows
                       ? ReshapeOp::create(b, op->getLoc(), op->getResult(0).getType(), operands[0]).getResult()
                       : remap(b, op, rule, operands);
    if (rule.result.empty())
      op->getResult(0).replaceAllUsesWith(result);
    else
      stored[op->getResult(0)] = {result, rule.result};
  }

  Value inOrderOnce(OpBuilder &b, Value v, const Order &order, bool broadcasts) {
    auto it = stored.find(v);
    if (it != stored.end() && it->second.second == order)
      return it->second.first;
    bool shared = (int64_t)order.size() == cast<RankedTensorType>(v.getType()).getRank();
    auto [converted, isNew] = conversions.try_emplace({v, shared ? 0u : order.size()});
    if (isNew || converted->second.second != order) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(v);
      converted->second = {inOrder(b, v, order, broadcasts), order};
    }
    return converted->second.first;
  }

  Value givenAgain(Operation *op) {
    auto [value, order] = stored.lookup(op->getResult(0));
    OpBuilder b(op);
    b.setInsertionPointAfterValue(value);
    Value given = asGiven(b, op->getLoc(), value, order);
    if (given.getDefiningOp<TransposeOp>()) {
      remark::missed(op->getLoc(), remark::RemarkOpts::name("Layout").category("layout"))
          << remark::reason("transposed back: {0} needs the order of the program",
                            (*op->getResult(0).getUsers().begin())->getName().getStringRef());
    }
    return given;
  }

  /// The rows of a weight follow the order of what was flattened in front of it.
  void permuteWeightRows(ReshapeOp flatten, const OrderRule &rule) {
    const Order &order = rule.operands[0];
    auto from = dimsOf(flatten.getX().getType());
    unsigned kept = 0;
    while (order[kept] == (int64_t)kept)
      ++kept;
    for (OpOperand &use : llvm::make_early_inc_range(flatten->getUses())) {
      auto matmul = cast<MatmulOp>(use.getOwner());
      OpBuilder b(matmul);
      Location loc = matmul.getLoc();
      Value weight = matmul.getRhs();
      auto dims = dimsOf(weight.getType());
      bool columns = matmul.getTransposeRhs(); // [N, K] instead of [K, N]
      SmallVector<AffineExpr> split;
      SmallVector<int64_t> perm;
      int64_t first = columns ? 1 : 0;
      if (columns)
        split.push_back(dims[0]), perm.push_back(0);
      split.append(from.begin() + kept, from.end());
      Order stored = inverse(order); // stored dim i is given dim inverse[i]
      for (unsigned i = kept; i < order.size(); ++i)
        perm.push_back(stored[i] - kept + first);
      if (!columns)
        split.push_back(dims[1]), perm.push_back(perm.size());
      Value rows = ReshapeOp::create(b, loc, withDims(weight.getType(), split), weight);
      Value moved = TransposeOp::create(b, loc, rows, perm);
      matmul.getRhsMutable().assign(ReshapeOp::create(b, loc, weight.getType(), moved).getResult());
    }
  }

  const OrderChoice &choice;
  SmallVector<Operation *> originals;
  llvm::DenseMap<Value, std::pair<Value, Order>> stored;
  llvm::DenseMap<std::pair<Value, size_t>, std::pair<Value, Order>> conversions;
};

//===-- the pass -----------------------------------------------------------------------------------------------------===//

class LayoutPass : public PassWrapper<LayoutPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LayoutPass)
  llvm::StringRef getArgument() const override { return "graphc-layout"; }
  llvm::StringRef getDescription() const override {
    return "convolution networks in channels-last order with as few transposes as possible";
  }
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) {
      if (!isa<GroupOp>(block->getParentOp()) && llvm::any_of(*block, [](Operation &op) { return mustBeChannelsLast(&op); }))
        blocks.push_back(block);
    });
    for (Block *block : blocks) {
      OrderChoice choice(*block);
      if (!choice.empty())
        OrderRewriter(*block, choice).run();
    }
    removeLeftovers();
  }

private:
  /// Transposes of transposes, reshapes of reshapes, transposes of ones.
  void removeLeftovers() {
    RewritePatternSet patterns(&getContext());
    TransposeOp::getCanonicalizationPatterns(patterns, &getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createLayoutPass() { return std::make_unique<LayoutPass>(); }
void registerLayoutPasses() {
  registerPass([] { return createLayoutPass(); });
  registerPass([] { return createSinkShufflesPass(); });
}

} // namespace graphc
