// The plan phase's module as the runtime's plan.
#pragma once
#include "codegen/cuda/CompileModules.h"
#include "ir/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/Plan.h"

namespace graphc {

/// `module` holds func @main of plan commands with places, and the scheduled kernels. Weight files are listed by the names the
/// module uses. `device`, when kernels run on one, gives their code and launches; its images move into the plan. Errors are
/// diagnostics.
mlir::FailureOr<std::unique_ptr<plan::PlanT>> writePlan(mlir::ModuleOp module, codegen::cuda::DeviceCode *device = nullptr);

} // namespace graphc
