// Symbolic sizes: each dim of a tensor is an affine expression over interned symbols.
#pragma once
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include <optional>
#include <string>

namespace graphc::graph {

/// The sizes of a tensor, constants included. A `?` without an encoding is an error of whoever built the type.
llvm::SmallVector<mlir::AffineExpr> dimsOf(mlir::Type tensor);

/// A tensor type of these sizes; carries a dims encoding exactly when one of them is not a constant.
mlir::RankedTensorType tensorType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type elementType);

/// `type` with another element type, or with other sizes.
mlir::RankedTensorType withElementType(mlir::Type tensor, mlir::Type elementType);
mlir::RankedTensorType withDims(mlir::Type tensor, llvm::ArrayRef<mlir::AffineExpr> dims);

mlir::AffineExpr constantDim(int64_t size, mlir::MLIRContext *ctx);
mlir::AffineExpr symbolDim(llvm::StringRef name, mlir::MLIRContext *ctx);
std::optional<int64_t> constantSize(mlir::AffineExpr dim);
inline bool isSize(mlir::AffineExpr dim, int64_t size) { return constantSize(dim) == size; }

/// Simplified; two sizes that are always equal usually become the same expression.
mlir::AffineExpr simplify(mlir::AffineExpr dim);
mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *ctx);

/// "2*n + 1", with the names of the symbols.
std::string toString(mlir::AffineExpr dim);
std::string toString(llvm::ArrayRef<mlir::AffineExpr> dims);

/// The value of a size for given symbol values; nullopt when a symbol is missing.
std::optional<int64_t> evaluate(mlir::AffineExpr dim, llvm::function_ref<std::optional<int64_t>(unsigned symbol)> value);

/// numpy broadcasting. Sizes that cannot be proved equal and are not 1: the left one is taken; the executor checks it
/// (see `unproved`). nullopt when two constants contradict.
std::optional<llvm::SmallVector<mlir::AffineExpr>>
broadcastDims(llvm::ArrayRef<mlir::AffineExpr> a, llvm::ArrayRef<mlir::AffineExpr> b,
              llvm::SmallVectorImpl<std::pair<mlir::AffineExpr, mlir::AffineExpr>> *unproved = nullptr);

/// Same element types and shapes, where `?` agrees with anything.
bool typesAgree(mlir::TypeRange inferred, mlir::TypeRange given);

bool isUnsigned(mlir::Type elementType);

} // namespace graphc::graph
