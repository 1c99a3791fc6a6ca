// graphc-reduce: shrinks an .mlir that a test script calls interesting, with our dialects and passes.
#include "tools/registry/Registry.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/LogicalResult.h"

int main(int argc, char **argv) {
  graphc::tool::registerPasses();
  mlir::registerReducerPasses();
  mlir::DialectRegistry registry;
  graphc::tool::registerDialects(registry);
  mlir::MLIRContext context(registry);
  return llvm::failed(mlir::mlirReduceMain(argc, argv, context));
}
