#include "codegen/cuda/Attention.h"

#include "codegen/common/Access.h"
#include "codegen/cuda/Contraction.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

static bool isFloat(Value value, double number) {
  FloatAttr attr;
  return matchPattern(value, m_Constant(&attr)) && attr.getValueAsDouble() == number;
}

/// The combiner of parts (largest, sum, weighted sum): both sides relative to the larger of their largest scores.
static bool joinsOnlineSoftmax(kernel::ReduceOp op) {
  Block *block = op.getCombinerBlock();
  if (block->getNumArguments() != 6)
    return false;
  auto argument = [&](unsigned i) { return block->getArgument(i); };
  ValueRange results = op.getCombinerYield().getValues();
  auto largest = results[0].getDefiningOp<arith::MaximumFOp>();
  if (!largest || largest.getLhs() != argument(0) || largest.getRhs() != argument(3))
    return false;
  // a · exp(largest of its side - base)
  auto isScaled = [&](Value value, unsigned part, unsigned side) {
    auto product = value.getDefiningOp<arith::MulFOp>();
    auto weight = product && product.getLhs() == argument(part) ? product.getRhs().getDefiningOp<math::ExpOp>() : math::ExpOp();
    auto distance = weight ? weight.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
    if (!distance || distance.getLhs() != argument(side))
      return false;
    auto base = distance.getRhs().getDefiningOp<arith::SelectOp>();
    return base && base.getFalseValue() == largest.getResult() && isFloat(base.getTrueValue(), 0);
  };
  for (unsigned i : {1u, 2u}) {
    auto sum = results[i].getDefiningOp<arith::AddFOp>();
    if (!sum || !isScaled(sum.getLhs(), i, 0) || !isScaled(sum.getRhs(), 3 + i, 3))
      return false;
  }
  return true;
}

static bool uses(kernel::ParallelOp op, Value value, Value iv) {
  auto slice = sliceOf(op, value);
  return value == iv || llvm::any_of(slice, [&](Operation *inner) { return llvm::is_contained(inner->getOperands(), iv); });
}

std::optional<Attention> cuda::matchAttention(kernel::ParallelOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  Attention match;
  for (Operation &inner : op.getBody().front()) {
    if (!isa<kernel::LoopOp>(inner))
      continue;
    auto reduce = dyn_cast<kernel::ReduceOp>(inner);
    if (!reduce || match.keys)
      return std::nullopt;
    match.keys = reduce;
  }
  kernel::ReduceOp keys = match.keys;
  if (!keys || keys->getNumResults() != 3 || loop.getIvs().size() < 2 || !llvm::all_of(keys->getResultTypes(), [](Type t) { return t.isF32(); }) ||
      !joinsOnlineSoftmax(keys) || !isFloat(keys.getInits()[0], -INFINITY) || !isFloat(keys.getInits()[1], 0) || !isFloat(keys.getInits()[2], 0))
    return std::nullopt;
  bool stores = false;
  keys.getBody().walk([&](Operation *inner) {
    stores |= isa<kernel::StoreOp>(inner);
    if (isa<kernel::LoopOp>(inner)) {
      stores |= static_cast<bool>(match.scores) || !isa<kernel::ReduceOp>(inner);
      match.scores = dyn_cast<kernel::ReduceOp>(inner);
    }
  });
  kernel::ReduceOp scores = match.scores;
  auto outerKeys = cast<kernel::LoopOp>(keys.getOperation());
  if (stores || !scores || scores->getNumResults() != 1 || outerKeys.getIvs().size() != 1)
    return std::nullopt;
  auto inner = cast<kernel::LoopOp>(scores.getOperation());
  auto product = scores.getBodyYield().getValues()[0].getDefiningOp<arith::MulFOp>();
  Operation *join = scores.getCombinerYield().getValues()[0].getDefiningOp();
  if (!product || !isa_and_nonnull<arith::AddFOp>(join) || inner.getIvs().size() != 1 || !isFloat(scores.getInits()[0], 0))
    return std::nullopt;
  unsigned rank = loop.getIvs().size();
  Value queryIv = loop.getIvs()[rank - 2], columnIv = loop.getIvs()[rank - 1], keyIv = outerKeys.getIvs()[0];
  match.query = product.getLhs();
  match.key = product.getRhs();
  if (uses(op, match.query, keyIv))
    std::swap(match.query, match.key);
  ValueRange yields = keys.getBodyYield().getValues();
  match.score = yields[0];
  match.value = yields[2];
  auto depth = constantOf(sizeOf(inner, 0)), columns = constantOf(sizeOf(loop, rank - 1));
  if (!isFloat(yields[1], 1) || uses(op, match.query, keyIv) || uses(op, match.key, queryIv) || uses(op, match.score, columnIv) ||
      uses(op, match.value, queryIv) || !uses(op, match.value, columnIv) || !depth || !columns || *depth > 128 || *columns > 128)
    return std::nullopt;
  match.depth = *depth;
  match.columns = *columns;
  return match;
}
