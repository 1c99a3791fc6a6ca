// The ops whose result order or size depends on data, written the straightforward way and independently of the runtime's
// routines, which are tested against these.
#pragma once
#include "codegen/reference/WideTensor.h"
#include "mlir/IR/Operation.h"

namespace graphc::reference {

/// Runs a RoutineOp. `shapeOf` gives the sizes of a result that are known beforehand (-1 for one that this op decides).
Result<llvm::SmallVector<WideTensor>> runRoutine(mlir::Operation *op, llvm::ArrayRef<WideTensor> operands,
                                                 llvm::function_ref<std::vector<int64_t>(mlir::Value)> shapeOf,
                                                 const std::string &what);

} // namespace graphc::reference
