// Recognises attention in a kernel: a reduction over keys whose state is a largest score, a sum of weights and a weighted sum of
// values, each relative to the largest score seen (passes/kernels/AttentionKernel writes it so).
#pragma once
#include "ir/kernel/Kernel.h"

namespace graphc::codegen::cuda {

struct Attention {
  kernel::ReduceOp keys;   // over keys
  kernel::ReduceOp scores; // inside, over the depth of a query and a key
  mlir::Value query, key;  // the factors of a score
  mlir::Value score;       // scaled and masked
  mlir::Value value;       // one element
  int64_t depth = 0, columns = 0; // elements of a query, of a value
};

/// Nothing when the kernel is anything else. The last outer dim runs along a value's elements, the one before along queries.
std::optional<Attention> matchAttention(kernel::ParallelOp op);

/// How a block of 128 threads works: eight threads share a few queries and meet in shuffles.
struct AttentionShape {
  static constexpr int64_t threads = 128, members = 8, keys = 32;
  int64_t queries;           // of a block
  int64_t depth, columns;    // of the tiles in shared memory: whole packs, whole members
  explicit AttentionShape(const Attention &match)
      : queries(match.depth > 64 || match.columns > 64 ? 32 : 64), depth((match.depth + 3) / 4 * 4), columns((match.columns + 31) / 32 * 32) {}
  int64_t threadQueries() const { return queries / (threads / members); }
  int64_t threadColumns() const { return columns / members; }
};

} // namespace graphc::codegen::cuda
