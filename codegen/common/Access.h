// Index arithmetic both targets share: an access as one offset into its dense buffer, and what an induction variable
// contributes to it.
#pragma once
#include "ir/kernel/Kernel.h"

namespace graphc::codegen {

/// Index and size expressions in one space: dims are `values` (induction variables and computed indices), symbols are
/// the scalars of the kernel in order. Index constants are folded in.
struct ValueSpace {
  mlir::SmallVector<mlir::Value> values;

  /// Position of `value` among the dims, or -1.
  int find(mlir::Value value) const;

  /// `map` over `operands`, rewritten into this space.
  mlir::SmallVector<mlir::AffineExpr> rewrite(mlir::AffineMap map, mlir::ValueRange operands);
};

/// One access: element at `offset` of its buffer; `indices` per dim, for guards.
struct LinearAccess {
  ValueSpace space;
  mlir::SmallVector<mlir::AffineExpr> indices;
  mlir::SmallVector<mlir::AffineExpr> dims; // sizes of the buffer
  mlir::AffineExpr offset;

  /// What one step of `value` adds to the offset (an expression of scalars), 0 when it is not involved, nothing when
  /// the offset is not linear in it.
  std::optional<mlir::AffineExpr> coefficient(mlir::Value value) const;
};

LinearAccess linearise(kernel::AccessOp op);

/// What one step of dim `dim` adds to `expr`; see LinearAccess::coefficient.
std::optional<mlir::AffineExpr> coefficientOf(mlir::AffineExpr expr, unsigned dim);

/// Size of dim `dim` of a loop as an expression of the kernel's scalars; nothing when it depends on other values.
std::optional<mlir::AffineExpr> sizeOf(kernel::LoopOp loop, unsigned dim);

std::optional<int64_t> constantOf(mlir::AffineExpr expr);
inline std::optional<int64_t> constantOf(std::optional<mlir::AffineExpr> expr) {
  return expr ? constantOf(*expr) : std::nullopt;
}

/// a == b for all values of the symbols, as far as affine simplification sees.
bool provedEqual(mlir::AffineExpr a, mlir::AffineExpr b);

/// Buffers some op of the kernel stores to.
llvm::SmallDenseSet<mlir::Value> storedBuffers(kernel::FuncOp kernel);

} // namespace graphc::codegen
