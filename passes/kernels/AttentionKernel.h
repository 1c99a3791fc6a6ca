// Attention as one kernel: softmax(q kᵀ · scale + mask) v with the scores of a query met one key at a time and never stored.
//
//     %m, %l, %o = kernel.reduce (%j) to (keys) init (-inf, 0, 0) {            largest score, sum of weights, weighted sum
//       %s = kernel.reduce (%k) … { q[i, k] · key[j, k] } … scale, mask
//       kernel.yield %s, 1, value[j, d]
//     } combine (…) { weights relative to the larger of both largest scores }
//     store %o / %l
#pragma once
#include "ir/graph/Graph.h"
#include "passes/kernels/KernelBuilder.h"

namespace graphc {

/// Attention in f32, f16 or bf16 with head sizes from 4 to 128 that are known: what fits the shared memory of a block.
bool isOneKernelAttention(mlir::Operation *op);

void buildAttention(KernelBuilder &b, graph::AttentionOp op, mlir::Value result);

} // namespace graphc
