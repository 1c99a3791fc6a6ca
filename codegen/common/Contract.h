// Sums of products: which kernels are, and how a register tile covers them.
//
//     parallel (…, %t, %l) {                         tile points of t (times the window), lanes along l:
//       [ reduce %p window  combine max { ]           each weight vector is loaded once per tile and met by
//         reduce %k sum { load a · load b }           one value of a per point; the accumulators stay in registers
//         epilogue (bias, activation)
//       [ } ]
//       store
//     }
#pragma once
#include "codegen/common/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace graphc::codegen {

struct Contraction {
  kernel::ReduceOp window;  // a pooling whose windows do not overlap, around the sum; may be null
  kernel::ReduceOp sum;
  mlir::arith::MulFOp product; // what is summed
  int64_t windowPoints = 1; // points of `window`
};

/// The product whose sum `reduce` is, when it is the sum of a float product that nothing else reads; null otherwise.
mlir::arith::MulFOp summedProduct(kernel::ReduceOp reduce);

/// The kernel as one contraction in f32: loads without guards, constant sizes of the sum and the window, plain stores.
std::optional<Contraction> contractionOf(kernel::ParallelOp parallel);

/// Brings the dims of the sum into memory order, so that neighbours can be joined; splits an outer dim that counts groups of
/// channels into groups and channels. To be called before dims are collapsed.
void prepareContraction(kernel::ParallelOp parallel);

/// Dims moved into (outer…, tiled, lanes), lanes set, the strategy marked. False when there is no reuse to win.
bool scheduleContraction(kernel::FuncOp kernel, int64_t vectorBytes, int64_t vectorRegisters);

} // namespace graphc::codegen
