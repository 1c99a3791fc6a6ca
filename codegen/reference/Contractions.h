// Matrix products and convolutions in plain loops: the same sums as their element formulas say, two orders of magnitude
// faster than running the formula, so that whole networks can be verified.
#pragma once
#include "codegen/reference/WideTensor.h"
#include "ir/graph/Graph.h"

namespace graphc::reference {

void runMatmul(graph::MatmulOp op, const WideTensor &lhs, const WideTensor &rhs, WideTensor &result);
void runConv(graph::ConvOp op, const WideTensor &x, const WideTensor &weight, WideTensor &result);

} // namespace graphc::reference
