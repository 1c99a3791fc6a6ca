// The vocabulary in which ops say what one element of their result is. Expr is a scalar under construction; the
// ElementBuilder behind it either emits kernel IR or records the formula for the reference interpreter.
#pragma once
#include "ir/graph/Dims.h"
#include "mlir/IR/Value.h"
#include <cmath>
#include <functional>

namespace graphc::graph {

class ElementBuilder;

enum class ScalarKind {
  // unary
  Neg, Abs, Sign, Exp, Expm1, Log, Log1p, Sqrt, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh,
  Erf, Tanh, Ceil, Floor, RoundEven, BitNot, IsNaN,
  // binary; comparisons give bool. Div truncates on integers; Mod follows the divisor's sign, Rem the dividend's.
  // Max and Min propagate NaN.
  Add, Sub, Mul, Div, Pow, Max, Min, Mod, Rem, And, Or, Xor, ShiftLeft, ShiftRight,
  Equal, NotEqual, Less, LessEqual
};

/// What mixed precision makes of an op: AutocastInterface in GraphBase.td.
enum class AutocastClass { Natural, Low, Full };

/// A scalar of computation type: f32 (also for f16 and bf16 tensors), f64, i1, or an integer type with its signedness
/// (`si`-less integers are signed). Indices are i64.
class Expr {
public:
  Expr() = default;
  Expr(ElementBuilder *builder, void *handle, mlir::Type type) : builder(builder), handle(handle), type(type) {}
  ElementBuilder *builder = nullptr;
  void *handle = nullptr; // owned by the builder
  mlir::Type type;

  /// A constant of this expression's type.
  Expr like(double value) const;
  Expr boolean(bool value) const;
  Expr castTo(mlir::Type type) const;
};

/// Receives the formula of one element. Indices are affine expressions over the loop dims the builder has handed out
/// (and computed indices), and over interned size symbols.
class ElementBuilder {
public:
  virtual ~ElementBuilder() = default;
  virtual mlir::MLIRContext *context() = 0;
  virtual Expr constant(double value, mlir::Type type) = 0;
  virtual Expr constantInt(int64_t value, mlir::Type type) = 0;
  virtual Expr unary(ScalarKind kind, Expr a) = 0;
  virtual Expr binary(ScalarKind kind, Expr a, Expr b) = 0;
  virtual Expr select(Expr condition, Expr a, Expr b) = 0;
  /// Conversion of values: float to integer truncates and saturates; to bool is `!= 0`.
  virtual Expr cast(Expr a, mlir::Type type) = 0;
  /// An index as an i64 value.
  virtual Expr indexValue(mlir::AffineExpr index) = 0;
  /// An i64 value as an index usable in `load`. `limit`: the index must be in [0, limit), else it is reported and clamped;
  /// a null limit says that it is known to be in range.
  virtual mlir::AffineExpr computedIndex(Expr value, mlir::AffineExpr limit) = 0;
  /// The element of an operand. With `fill`, an index outside the operand yields fill.
  virtual Expr load(mlir::Value operand, llvm::ArrayRef<mlir::AffineExpr> index, std::optional<Expr> fill = {}) = 0;
  /// Reduction over new dims of these sizes. `init` are the identities of `combine`, which must be associative.
  virtual llvm::SmallVector<Expr>
  reduce(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<Expr> init,
         llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<mlir::AffineExpr> dims)> body,
         llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<Expr> a, llvm::ArrayRef<Expr> b)> combine) = 0;

  mlir::AffineExpr constantIndex(int64_t v) { return mlir::getAffineConstantExpr(v, context()); }
};

/// The type an element is computed in: f32 for f16 and bf16, itself otherwise.
mlir::Type computeType(mlir::Type elementType);

#define GRAPHC_UNARY(name, kind) \
  inline Expr name(Expr a) { return a.builder->unary(ScalarKind::kind, a); }
GRAPHC_UNARY(abs, Abs) GRAPHC_UNARY(sign, Sign) GRAPHC_UNARY(exp, Exp) GRAPHC_UNARY(expm1, Expm1)
GRAPHC_UNARY(log, Log) GRAPHC_UNARY(log1p, Log1p) GRAPHC_UNARY(sqrt, Sqrt) GRAPHC_UNARY(sin, Sin)
GRAPHC_UNARY(cos, Cos) GRAPHC_UNARY(tan, Tan) GRAPHC_UNARY(asin, Asin) GRAPHC_UNARY(acos, Acos)
GRAPHC_UNARY(atan, Atan) GRAPHC_UNARY(sinh, Sinh) GRAPHC_UNARY(cosh, Cosh) GRAPHC_UNARY(asinh, Asinh)
GRAPHC_UNARY(acosh, Acosh) GRAPHC_UNARY(atanh, Atanh) GRAPHC_UNARY(erf, Erf) GRAPHC_UNARY(tanh, Tanh)
GRAPHC_UNARY(ceil, Ceil) GRAPHC_UNARY(floor, Floor) GRAPHC_UNARY(roundEven, RoundEven)
GRAPHC_UNARY(bitNot, BitNot) GRAPHC_UNARY(isNaN, IsNaN) GRAPHC_UNARY(operator-, Neg)
#undef GRAPHC_UNARY
#define GRAPHC_BINARY(name, kind) \
  inline Expr name(Expr a, Expr b) { return a.builder->binary(ScalarKind::kind, a, b); }
GRAPHC_BINARY(operator+, Add) GRAPHC_BINARY(operator-, Sub) GRAPHC_BINARY(operator*, Mul)
GRAPHC_BINARY(operator/, Div) GRAPHC_BINARY(pow, Pow) GRAPHC_BINARY(max, Max) GRAPHC_BINARY(min, Min)
GRAPHC_BINARY(mod, Mod) GRAPHC_BINARY(rem, Rem) GRAPHC_BINARY(operator&&, And) GRAPHC_BINARY(operator||, Or)
GRAPHC_BINARY(bitAnd, And) GRAPHC_BINARY(bitOr, Or) GRAPHC_BINARY(bitXor, Xor)
GRAPHC_BINARY(shiftLeft, ShiftLeft) GRAPHC_BINARY(shiftRight, ShiftRight) GRAPHC_BINARY(operator==, Equal)
GRAPHC_BINARY(operator!=, NotEqual) GRAPHC_BINARY(operator<, Less) GRAPHC_BINARY(operator<=, LessEqual)
#undef GRAPHC_BINARY
inline Expr operator>(Expr a, Expr b) { return b < a; }
inline Expr operator>=(Expr a, Expr b) { return b <= a; }
inline Expr operator!(Expr a) { return a.builder->binary(ScalarKind::Xor, a, a.boolean(true)); }
inline Expr select(Expr c, Expr a, Expr b) { return c.builder->select(c, a, b); }
/// 1 / (1 + e^-|x|) mirrored for negative x: no overflow, exact limits.
Expr sigmoid(Expr a);

/// How operands of an elementwise op see the result's index: dims align at the right, a size of 1 repeats.
llvm::SmallVector<mlir::AffineExpr> broadcastIndex(llvm::ArrayRef<mlir::AffineExpr> index, mlir::Type operandType);

} // namespace graphc::graph
