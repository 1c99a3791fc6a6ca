// The channel shuffle of grouped convolution networks: [..., A * B] seen as [..., A, B], the two swapped, and flattened again.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc::graph {

struct ChannelShuffle {
  mlir::Value source;
  int64_t outer = 0, inner = 0; // of the source's channels
  mlir::Operation *ops[3] = {}; // reshape, transpose, reshape
};

/// The shuffle of the last dim that ends in `value` and has no other reader on the way; nothing when there is none.
std::optional<ChannelShuffle> channelShuffleOf(mlir::Value value);

/// A shuffle of the last dim, or of dim `axis`: element a * inner + b moves to b * outer + a.
mlir::Value shuffleChannels(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t axis, int64_t outer, int64_t inner);

} // namespace graphc::graph
