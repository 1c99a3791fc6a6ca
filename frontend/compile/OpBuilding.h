// Ops and types from the texts that programs without MLIR are written in.
#pragma once
#include "frontend/compile/OpCompiler.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphc {

/// "tensor<?x4xf32, #graph.dims<[s0, 4]>>" as a type.
Result<mlir::RankedTensorType> parseValueType(const OpValueType &type, mlir::MLIRContext *context);

/// The op at the builder's place, verified. What MLIR says of a failure goes to the context's diagnostics.
Result<mlir::Operation *> buildOp(mlir::OpBuilder &b, const OpNode &node, mlir::ValueRange operands, mlir::Location loc);

} // namespace graphc
