// A chain of transposes, slices, broadcasts and reshapes seen as one strided view of a tensor: what a library can read
// without a copy.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc {

struct StridedView {
  mlir::Value base;                             // dense row-major
  llvm::SmallVector<mlir::AffineExpr> dims;     // of the view
  llvm::SmallVector<mlir::AffineExpr> strides;  // in elements, one per dim; 0 repeats
  mlir::AffineExpr offset;                      // in elements
  bool isDense() const;
};

/// Row-major strides of these sizes.
llvm::SmallVector<mlir::AffineExpr> denseStrides(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *ctx);

/// The view that `value` is, looking through ops for which `lookThrough` holds as far as a strided view can express them.
StridedView stridedViewOf(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> lookThrough);

/// The same memory as `value` from some element on, in order: `offset` elements into `base`. nullopt when `op` is not such a
/// view (a reshape always is; a slice of the outermost dim that is larger than 1 is).
std::optional<mlir::AffineExpr> contiguousOffset(mlir::Operation *op);

} // namespace graphc
