// Every kernel of a module to an object, on several threads.
#include "codegen/common/MathExpansion.h"
#include "codegen/common/Schedule.h"
#include "codegen/cpu/CpuCodegen.h"
#include "codegen/cpu/KernelObject.h"
#include "codegen/cpu/VectorEmitter.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include <atomic>
#include <thread>

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cpu;

void cpu::registerCpuCodegenDialects(DialectRegistry &registry) {
  registry.insert<kernel::KernelDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// The kernel alone in a module of its own, as a function over scf and vector ops.
static OwningOpRef<ModuleOp> isolate(kernel::FuncOp kernel, const CpuTarget &target) {
  OpBuilder builder(kernel.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, kernel.getLoc());
  builder.setInsertionPointToStart(module->getBody());
  auto copy = cast<kernel::FuncOp>(builder.clone(*kernel));
  if (!copy.getScheduleAttr())
    scheduleKernel(copy, {target.vectorBytes(), target.hasMasks()});
  expandMath(copy);
  VectorEmitter(copy, builder).emit();
  copy.erase();
  return module;
}

FailureOr<std::vector<CompiledKernel>> cpu::compileKernels(ModuleOp module, const CpuTarget &target, const CompileOptions &options) {
  DialectRegistry registry;
  registerCpuCodegenDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  module.getContext()->loadAllAvailableDialects();

  std::vector<kernel::FuncOp> kernels;
  module.walk([&](kernel::FuncOp kernel) { kernels.push_back(kernel); });
  std::vector<CompiledKernel> compiled(kernels.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failedAny{false};
  auto work = [&] {
    auto machine = createTargetMachine(target);
    if (!machine) {
      module.emitError() << llvm::toString(machine.takeError());
      failedAny = true;
      return;
    }
    for (size_t i; !failedAny && (i = next++) < kernels.size();) {
      OwningOpRef<ModuleOp> alone = isolate(kernels[i], target);
      auto kernel = compileFunction(*alone, kernels[i].getSymName(), target, **machine, options.keepText);
      if (failed(kernel))
        failedAny = true;
      else
        compiled[i] = std::move(*kernel);
    }
  };
  std::vector<std::thread> helpers;
  // A context without its locks serves one thread only.
  size_t threads = module.getContext()->isMultithreadingEnabled() ? options.threads : 1;
  for (size_t i = 1; i < std::min(threads, kernels.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (failedAny)
    return failure();
  return compiled;
}

void cpu::warmUp(const CpuTarget &target) {
  DialectRegistry registry;
  registerCpuCodegenDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(R"(
    kernel.func @warm(%x: memref<64xf32>, %y: memref<64xf32>) {
      kernel.parallel (%i) to (64) {
        %v = kernel.load %x[%i] : memref<64xf32>
        %e = math.exp %v : f32
        kernel.store %e, %y[%i] : memref<64xf32>
      }
    })", &context);
  assert(module && "the warm-up kernel parses");
  auto kernels = compileKernels(*module, target);
  if (failed(kernels))
    return;
  if (auto jit = JitKernels::create())
    llvm::consumeError((*jit)->add("warm", kernels->front().object).takeError());
  else
    llvm::consumeError(jit.takeError());
}
