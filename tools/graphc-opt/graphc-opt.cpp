// graphc-opt: reads MLIR, runs the passes named on the command line, prints the result.
// Every dialect and every pass of ours is in the two lists below.
#include "ir/kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<graphc::kernel::KernelDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();

  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();

  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "graphc optimizer driver\n", registry));
}
