#include "codegen/cpu/KernelObject.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

using namespace mlir;
using namespace graphc::codegen::cpu;

LogicalResult graphc::codegen::cpu::lowerToLLVMDialect(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> graphc::codegen::cpu::createTargetMachine(const CpuTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return llvm::createStringError("this build of LLVM has no x86-64 back end: " + error);
  llvm::TargetOptions options;
  // Contraction was decided in the kernel: nothing is fused or reordered here.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(triple, target.llvmCpu(), target.llvmFeatures(), options,
                                                                              llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                              llvm::CodeGenOptLevel::Default));
}

/// What earns its time on code that is written by vectors already (codegen/cpu/README.md has the measurement).
static llvm::Error optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::FunctionPassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(
          passes, "simplifycfg,early-cse,instcombine<no-verify-fixpoint;max-iterations=1>,loop-mssa(licm),early-cse"))
    return error;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
  return llvm::Error::success();
}

static bool emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type, std::string &out) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
    return false;
  passes.run(module);
  out.assign(bytes.data(), bytes.size());
  return true;
}

FailureOr<CompiledKernel> graphc::codegen::cpu::compileFunction(ModuleOp module, StringRef name, const CpuTarget &target,
                                                                llvm::TargetMachine &machine, bool keepText) {
  if (failed(lowerToLLVMDialect(module)))
    return module.emitError("kernel '") << name << "' could not be lowered to LLVM";
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, name);
  if (!llvmModule)
    return module.emitError("kernel '") << name << "' could not be translated to LLVM IR";
  llvmModule->setDataLayout(machine.createDataLayout());
  llvmModule->setTargetTriple(machine.getTargetTriple());
  for (llvm::Function &function : *llvmModule) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.llvmCpu());
    if (!target.llvmFeatures().empty())
      function.addFnAttr("target-features", target.llvmFeatures());
    if (target.vectorBytes() == 64) {
      // The generic tuning of x86-64-v4 prefers 256 bits.
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    }
    if (function.hasInternalLinkage())
      function.addFnAttr(llvm::Attribute::Cold);
  }
  CompiledKernel kernel;
  kernel.name = name.str();
  if (llvm::Error error = optimise(*llvmModule, machine))
    return module.emitError("LLVM pipeline: ") << llvm::toString(std::move(error));
  if (keepText) {
    llvm::raw_string_ostream stream(kernel.llvmIr);
    llvmModule->print(stream, nullptr);
    // Code generation changes the module: the text comes from a copy.
    auto copy = llvm::CloneModule(*llvmModule);
    emit(*copy, machine, llvm::CodeGenFileType::AssemblyFile, kernel.assembly);
  }
  if (!emit(*llvmModule, machine, llvm::CodeGenFileType::ObjectFile, kernel.object))
    return module.emitError("LLVM cannot write objects for this target");
  return kernel;
}
