#include "test/ops/RunCase.h"

#include "codegen/reference/Interpreter.h"
#include "passes/differentiate/Differentiate.h"
#include "tools/registry/Registry.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace graphc::test {
namespace {

Result<std::vector<HostTensor>> runReference(const std::string &text, std::span<const HostTensor> inputs) {
  mlir::DialectRegistry registry;
  tool::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream(diagnostics) << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return error(Code::ModelMalformed, diagnostics);
  // The one pass whose result is more than another spelling: the gradients that a case asks for.
  mlir::PassManager passes(&context);
  passes.addPass(createDifferentiatePass());
  if (failed(passes.run(*module)))
    return error(Code::ModelMalformed, diagnostics);
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return error(Code::ModelMalformed, "the case has no @main");
  reference::Interpreter interpreter(*module, [](graph::WeightOp) -> Result<HostTensor> { return error(Code::WeightFile, "value tests have no weights"); });
  return interpreter.run(main, inputs);
}

} // namespace

std::vector<std::string> caseDevices() { return {"reference", "cpu"}; }

Result<std::vector<HostTensor>> runCase(const std::string &device, const std::string &module, std::span<const HostTensor> inputs) {
  if (device == "reference")
    return runReference(module, inputs);
  if (device == "cpu" || device == "sim" || device.starts_with("cpu:"))
    return runCompiled(device, module, inputs);
  return error(Code::DeviceUnavailable, "device '", device, "' is unknown; value tests run on ", joined(caseDevices()));
}

} // namespace graphc::test
