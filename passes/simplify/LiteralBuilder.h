// Evaluates the element formula of an op on literal operands: what the folder of small constants runs.
#pragma once
#include "ir/graph/Graph.h"
#include <deque>

namespace graphc::graph {

/// One scalar: a float in `real` (rounded to its type), an integer or bool in `integer` (wrapped to its width).
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

class LiteralBuilder : public ElementBuilder {
public:
  /// The value of result element `index` of `op`; nullopt when the op needs more than literals (sizes known at run time,
  /// an index out of range) or more than `maxLoads` reads, counted over all elements.
  LiteralBuilder(mlir::MLIRContext *ctx, int64_t maxLoads) : ctx(ctx), loadsLeft(maxLoads) {}
  void setOperand(mlir::Value operand, mlir::DenseElementsAttr value);
  std::optional<Scalar> element(ElementOp op, llvm::ArrayRef<int64_t> index, mlir::Type elementType);

  mlir::MLIRContext *context() override { return ctx; }
  Expr constant(double value, mlir::Type type) override;
  Expr constantInt(int64_t value, mlir::Type type) override;
  Expr unary(ScalarKind kind, Expr a) override;
  Expr binary(ScalarKind kind, Expr a, Expr b) override;
  Expr select(Expr condition, Expr a, Expr b) override;
  Expr cast(Expr a, mlir::Type type) override;
  Expr indexValue(mlir::AffineExpr index) override;
  mlir::AffineExpr computedIndex(Expr value, mlir::AffineExpr limit) override;
  Expr load(mlir::Value operand, llvm::ArrayRef<mlir::AffineExpr> index, std::optional<Expr> fill) override;
  llvm::SmallVector<Expr>
  reduce(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<Expr> init,
         llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<mlir::AffineExpr>)> body,
         llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<Expr>, llvm::ArrayRef<Expr>)> combine) override;

private:
  struct Literal {
    llvm::SmallVector<int64_t> shape;
    std::vector<Scalar> values; // one when all are equal
    mlir::Type type;
  };
  Expr make(Scalar value, mlir::Type type);
  Expr real(double value, mlir::Type type);
  Expr integer(int64_t value, mlir::Type type);
  Scalar valueOf(Expr e) const { return *static_cast<Scalar *>(e.handle); }
  std::optional<int64_t> number(mlir::AffineExpr index);

  mlir::MLIRContext *ctx;
  int64_t loadsLeft;
  bool failed = false;
  std::deque<Scalar> scalars;
  llvm::DenseMap<mlir::Value, Literal> operands;
};

/// The element as an attribute of the literal's element type.
mlir::Attribute toAttribute(Scalar value, mlir::Type elementType);

} // namespace graphc::graph
