#include "passes/simplify/ChannelShuffle.h"

using namespace mlir;

namespace graphc::graph {

std::optional<ChannelShuffle> channelShuffleOf(Value value) {
  auto flatten = value.getDefiningOp<ReshapeOp>();
  auto swap = flatten ? flatten.getX().getDefiningOp<TransposeOp>() : TransposeOp();
  auto split = swap ? swap.getX().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!split || !flatten->hasOneUse() || !swap->hasOneUse() || !split->hasOneUse() || split.getX().getType() != flatten.getType())
    return std::nullopt;
  auto dims = dimsOf(split.getX().getType()), parts = dimsOf(split.getType());
  unsigned rank = dims.size();
  if (parts.size() != rank + 1 || rank == 0)
    return std::nullopt;
  for (unsigned d = 0; d + 1 < rank; ++d)
    if (parts[d] != dims[d] || swap.getPerm()[d] != (int64_t)d)
      return std::nullopt;
  auto outer = constantSize(parts[rank - 1]), inner = constantSize(parts[rank]);
  if (!outer || !inner || swap.getPerm()[rank - 1] != (int64_t)rank || swap.getPerm()[rank] != (int64_t)rank - 1)
    return std::nullopt;
  return ChannelShuffle{split.getX(), *outer, *inner, {split, swap, flatten}};
}

Value shuffleChannels(OpBuilder &b, Location loc, Value value, int64_t axis, int64_t outer, int64_t inner) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> parts = dimsOf(type);
  parts[axis] = constantDim(outer, b.getContext());
  parts.insert(parts.begin() + axis + 1, constantDim(inner, b.getContext()));
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < (int64_t)parts.size(); ++d)
    perm.push_back(d);
  std::swap(perm[axis], perm[axis + 1]);
  Value split = ReshapeOp::create(b, loc, withDims(type, parts), value);
  Value swapped = TransposeOp::create(b, loc, split, perm);
  return ReshapeOp::create(b, loc, type, swapped);
}

} // namespace graphc::graph
