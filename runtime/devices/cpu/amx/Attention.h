// softmax(q kᵀ · scale + mask) v in bf16 on AMX tiles; scores and the softmax in f32, never leaving the worker's caches.
#pragma once

#include "runtime/base/DType.h"

#include <cstdint>
#include <vector>

namespace graphc::cpu::amx {

/// Strides in elements; those of the batch dimensions come first, 0 where one repeats.
struct AttentionSide {
  std::vector<int64_t> batchStrides;
  int64_t rowStride = 0, columnStride = 1;
};

/// query [batch…, rows, depth], key [batch…, keys, depth], value [batch…, keys, valueDepth], result [batch…, rows, valueDepth], all
/// bf16; mask [batch…, rows, keys], F32 or BF16 (added) or Bool (true keeps). The columns of value and result, and the
/// mask's where it does not repeat, are adjacent.
struct AttentionShape {
  std::vector<int64_t> batch;
  int64_t rows = 0, keys = 0, depth = 0, valueDepth = 0;
  AttentionSide query, key, value, result, mask;
  bool hasMask = false;
  DType maskType = DType::F32;
  float scale = 1;
  bool nanToZero = false; // a row in which nothing is kept gives 0 instead of NaN
};

struct AttentionOperands {
  const void *query = nullptr, *key = nullptr, *value = nullptr, *mask = nullptr;
  void *result = nullptr, *scratch = nullptr;
};

class Attention {
public:
  explicit Attention(AttentionShape shape);
  /// Products of the batch dimensions: what can be shared out.
  int64_t heads() const { return heads_; }
  int64_t scratchBytes() const;
  /// Heads [begin, end).
  void run(const AttentionOperands &operands, int64_t begin, int64_t end) const;

private:
  AttentionShape shape_;
  int64_t heads_ = 1;
};

} // namespace graphc::cpu::amx
