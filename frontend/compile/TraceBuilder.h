// A traced program as one module: `main` with every op program written into it, sizes in place of its symbols.
#pragma once
#include "frontend/compile/TraceGraph.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphc {

/// Null after an error was reported to the context.
mlir::OwningOpRef<mlir::ModuleOp> buildTrace(mlir::MLIRContext &context, const TraceGraph &graph);

} // namespace graphc
