// Building ops in another dimension order.
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/layout/Orders.h"

namespace graphc::graph {

/// `value`, given in the program's order, in `order`. With `broadcasts`, its rank may be below the order's, and need not
/// become larger than numpy's rules ask for.
mlir::Value inOrder(mlir::OpBuilder &b, mlir::Value value, llvm::ArrayRef<int64_t> order, bool broadcasts);

/// `value`, stored in `order`, in the program's order.
mlir::Value asGiven(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, llvm::ArrayRef<int64_t> order);

/// The op on operands in the orders of its rule; the result is in the rule's result order.
mlir::Value remap(mlir::OpBuilder &b, mlir::Operation *op, const OrderRule &rule, mlir::ValueRange operands);

} // namespace graphc::graph
