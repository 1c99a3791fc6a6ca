// What types, locations, attributes and device code of a module are in a plan: the parts of PlanWriter that need nothing else.
#pragma once
#include "codegen/cuda/CompileModules.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "runtime/plan/Plan.h"

namespace graphc {

plan::DType planDType(mlir::Type type);
/// The name in a location, or nothing.
std::string nameOf(mlir::Location loc);
/// "FILE:LINE (NAME)"
std::string textOf(mlir::Location loc);
std::optional<plan::PostOpKind> postOpKind(llvm::StringRef kind);
/// Null when routines do not take attributes of this type.
std::unique_ptr<plan::AttributeT> routineAttribute(mlir::NamedAttribute attr);

void addLaunch(plan::KernelT &entry, const codegen::cuda::KernelSource &source, int module);
/// Takes the images over.
void addModules(plan::PlanT &plan, codegen::cuda::DeviceCode &device);

} // namespace graphc
