// Matrix products in bf16 with f32 accumulation on AMX tiles, and what follows them element by element.
//
// The right operand is a constant, packed once (Pack.h). A panel of 32 columns is multiplied by all rows before the next, in chunks of
// K that stay in the first-level cache (small weights: a block of rows by all columns); while a block of results is computed, the
// epilogue of the block before runs in between. The order of sums depends on K alone, so results are the same however rows and
// columns are shared out.
#pragma once

#include "runtime/base/DType.h"

#include <cstdint>
#include <vector>

namespace graphc::cpu::amx {

/// Whether this machine has AMX with bf16 and the system grants it. Asks once.
bool available();

enum class StepKind : uint8_t { Relu, Clip, Linear, GeluErf, GeluTanh, Tanh, Logistic, Swish, HardSwish, HardSigmoid, Add, Sub, Mul, Div };

/// One step of the epilogue, on f32.
struct Step {
  StepKind kind = StepKind::Relu;
  float alpha = 0, beta = 0;
  // Add … Div: the other operand, F32 or BF16; a stride of 0 repeats. The column stride is 0 or 1.
  DType type = DType::F32;
  int64_t rowStride = 0, columnStride = 0;
};

/// [m, k] bf16 times [k, n] bf16, plus bias [n], then the steps. Strides are elements.
struct MatMulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t leftRowStride = 0, leftColumnStride = 1;
  DType result = DType::BF16; // or F32
  int64_t resultRowStride = 0;
  bool hasBias = false;
  DType bias = DType::F32; // or BF16
  std::vector<Step> steps;
};

struct MatMulOperands {
  const void *left = nullptr, *right = nullptr, *bias = nullptr;
  void *result = nullptr, *scratch = nullptr;
  const void *const *steps = nullptr; // one address per step, null where it has none
};

class MatMul {
public:
  explicit MatMul(MatMulShape shape);
  /// 64-byte aligned scratch one call needs.
  int64_t scratchBytes() const { return scratchBytes_; }
  void run(const MatMulOperands &operands) const;

private:
  MatMulShape shape_;
  bool copiesLeft_ = false;  // into blocks of [K/32][32 rows][32]
  int64_t rowsAtOnce_ = 0;   // a block, or as many as fit the second-level cache with their partial sums
  int64_t chunk_ = 0;        // steps of depth 32 between two visits of a block
  int64_t blockBuffers_ = 1; // blocks of sums kept
  int64_t scratchBytes_ = 0;
};

} // namespace graphc::cpu::amx
