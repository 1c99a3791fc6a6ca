// Recognises a sum of products in a kernel, whatever it came from: matrix products, convolutions, their transposes.
#pragma once
#include "ir/kernel/Kernel.h"

namespace graphc::codegen::cuda {

/// acc = acc + row(i, k) * column(j, k): one top-level reduction of a kernel whose two factors use different outer dims.
struct Contraction {
  kernel::ReduceOp reduce;
  mlir::Value row, column; // the factors
  // Outer dims, each in one of the lists: of both factors (or neither), of `row` alone, of `column` alone. A factor of one value
  // has the dims that nothing depends on.
  mlir::SmallVector<unsigned> batchDims, rowDims, columnDims;
};

/// Nothing when the kernel is no such sum.
std::optional<Contraction> matchContraction(kernel::ParallelOp op);

/// Ops inside the outer domain that `value` needs, in order.
mlir::SmallVector<mlir::Operation *> sliceOf(kernel::ParallelOp op, mlir::Value value);

} // namespace graphc::codegen::cuda
