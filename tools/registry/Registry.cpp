#include "tools/registry/Registry.h"

#include "codegen/common/Passes.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cuda/Passes.h"
#include "ir/graph/Graph.h"
#include "ir/kernel/Kernel.h"
#include "ir/plan/Plan.h"
#include "passes/autocast/Autocast.h"
#include "passes/control/Control.h"
#include "passes/decompose/Decompose.h"
#include "passes/differentiate/Differentiate.h"
#include "passes/fuse/Fuse.h"
#include "passes/kernels/Kernels.h"
#include "passes/layout/Layout.h"
#include "passes/plan/PlaceBuffers.h"
#include "passes/raise/Raise.h"
#include "passes/simplify/Simplify.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace graphc::tool {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, kernel::KernelDialect, plan::PlanDialect>();
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
}

void registerPasses() {
  codegen::registerGraphcKernelPasses();
  codegen::cpu::registerGraphcCpuPasses();
  codegen::cuda::registerGraphcCudaPasses();
  mlir::registerTransformsPasses(); // canonicalize, cse, inline, symbol-dce, …
  mlir::registerPass([] { return createRaisePass(); });
  mlir::registerPass([] { return createAutocastPass(); });
  mlir::registerPass([] { return createDecomposePass(); });
  registerControlPass();
  registerDifferentiatePass();
  registerSimplifyPasses();
  registerLayoutPasses();
  mlir::registerPass([] { return createSelectPass(); });
  mlir::registerPass([] { return createStageReductionsPass(); });
  mlir::registerPass([] { return createFusePass(); });
  mlir::registerPass([] { return createKernelsPass(); });
  mlir::registerPass([] { return createJoinKernelsPass(); });
  mlir::registerPass([] { return createTiedResultsPass(); });
  mlir::registerPass([] { return createPlaceBuffersPass(); });
  mlir::registerPass([] { return createProbeGroupsPass(); });
}

} // namespace graphc::tool
