#include "codegen/cuda/Contraction.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

SmallVector<Operation *> cuda::sliceOf(kernel::ParallelOp op, Value value) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Operation *def = pending.pop_back_val().getDefiningOp();
    if (!def || !op->isProperAncestor(def) || !seen.insert(def).second)
      continue;
    pending.append(def->operand_begin(), def->operand_end());
  }
  SmallVector<Operation *> ordered;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (seen.contains(inner))
      ordered.push_back(inner);
  });
  return ordered;
}

/// Which of the outer domain's ivs `value` depends on.
static llvm::SmallBitVector usedDims(kernel::ParallelOp op, Value value) {
  auto ivs = cast<kernel::LoopOp>(op.getOperation()).getIvs();
  llvm::SmallBitVector used(ivs.size());
  auto look = [&](Value v) {
    for (auto [d, iv] : llvm::enumerate(ivs))
      if (v == iv)
        used.set(d);
  };
  look(value);
  for (Operation *inner : sliceOf(op, value))
    for (Value operand : inner->getOperands())
      look(operand);
  return used;
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return false;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return number.getValue().isZero();
  auto integer = dyn_cast<IntegerAttr>(constant.getValue());
  return integer && integer.getValue().isZero();
}

std::optional<Contraction> cuda::matchContraction(kernel::ParallelOp op) {
  Contraction match;
  for (Operation &inner : op.getBody().front()) {
    if (!isa<kernel::LoopOp>(inner))
      continue;
    auto reduce = dyn_cast<kernel::ReduceOp>(inner);
    if (!reduce || match.reduce)
      return std::nullopt;
    match.reduce = reduce;
  }
  kernel::ReduceOp reduce = match.reduce;
  if (!reduce || reduce->getNumResults() != 1 || !isZero(reduce.getInits()[0]))
    return std::nullopt;
  // acc + x
  Block *combiner = reduce.getCombinerBlock();
  Operation *join = reduce.getCombinerYield().getValues()[0].getDefiningOp();
  if (!join || !isa<arith::AddFOp, arith::AddIOp>(join) || join->getBlock() != combiner || !llvm::hasNItems(combiner->begin(), combiner->end(), 2) ||
      join->getOperand(0) == join->getOperand(1) || !isa<BlockArgument>(join->getOperand(0)) || !isa<BlockArgument>(join->getOperand(1)))
    return std::nullopt;
  Operation *product = reduce.getBodyYield().getValues()[0].getDefiningOp();
  if (!product || !isa<arith::MulFOp, arith::MulIOp>(product) || product->getParentOp() != reduce)
    return std::nullopt;
  bool nested = false, stores = false;
  reduce.getBody().walk([&](Operation *inner) {
    nested |= isa<kernel::LoopOp>(inner);
    stores |= isa<kernel::StoreOp>(inner);
  });
  if (nested || stores)
    return std::nullopt;
  match.row = product->getOperand(0);
  match.column = product->getOperand(1);
  auto row = usedDims(op, match.row), column = usedDims(op, match.column);
  for (unsigned d = 0; d < row.size(); ++d) {
    if (row[d] == column[d])
      match.batchDims.push_back(d);
    else
      (row[d] ? match.rowDims : match.columnDims).push_back(d);
  }
  // A factor that is the same everywhere (weights of one value) leaves dims that nothing depends on: they are its own.
  if (match.rowDims.empty() != match.columnDims.empty()) {
    auto &own = match.rowDims.empty() ? match.rowDims : match.columnDims;
    llvm::erase_if(match.batchDims, [&](unsigned d) {
      if (!row[d] && !column[d])
        own.push_back(d);
      return !row[d] && !column[d];
    });
  }
  if (match.rowDims.empty() || match.columnDims.empty())
    return std::nullopt;
  // Columns are what stores run along: the last dim belongs to them.
  if (match.rowDims.back() > match.columnDims.back()) {
    std::swap(match.row, match.column);
    std::swap(match.rowDims, match.columnDims);
  }
  return match;
}
