// graphc-opt: any pass on any phase's .mlir, for tests and for looking.
#include "tools/registry/Registry.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  graphc::tool::registerDialects(registry);
  graphc::tool::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "graphc's optimizer driver\n", registry));
}
