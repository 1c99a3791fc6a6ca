#include "frontend/compile/OpCompiler.h"
#include "codegen/cpu/CpuCodegen.h"
#include "frontend/compile/CudaKernels.h"
#include "frontend/compile/Identity.h"
#include "frontend/compile/OpBuilding.h"
#include "frontend/compile/Phases.h"
#include "frontend/compile/PlanWriter.h"
#include "frontend/compile/TraceBuilder.h"
#include "ir/kernel/Kernel.h"
#include "ir/plan/Plan.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/vjp/Vjp.h"
#include "runtime/base/TensorCodes.h"

#include <mutex>

using namespace mlir;
using namespace graphc;

namespace {

graphc::DType dtypeOfType(Type type) {
  if (type.isF64())
    return graphc::DType::F64;
  if (type.isF32())
    return graphc::DType::F32;
  if (type.isF16())
    return graphc::DType::F16;
  if (type.isBF16())
    return graphc::DType::BF16;
  bool uns = type.isUnsignedInteger();
  switch (cast<IntegerType>(type).getWidth()) {
  case 64:
    return uns ? graphc::DType::U64 : graphc::DType::I64;
  case 32:
    return uns ? graphc::DType::U32 : graphc::DType::I32;
  case 16:
    return uns ? graphc::DType::U16 : graphc::DType::I16;
  case 8:
    return uns ? graphc::DType::U8 : graphc::DType::I8;
  default:
    return graphc::DType::Bool;
  }
}

OpValueType valueType(Type type) {
  OpValueType result;
  result.dtype = dtypeOfType(cast<RankedTensorType>(type).getElementType());
  for (AffineExpr dim : graph::dimsOf(type))
    result.dims.push_back(graph::toString(dim));
  return result;
}

/// The sizes that values have together.
SmallVector<AffineExpr> broadcastDims(ArrayRef<Type> types) {
  SmallVector<AffineExpr> together;
  for (Type type : types) {
    auto dims = graph::dimsOf(type);
    if (dims.size() > together.size())
      together.insert(together.begin(), dims.size() - together.size(), graph::constantDim(1, type.getContext()));
    for (auto [at, dim] : llvm::zip(llvm::reverse(together), llvm::reverse(dims)))
      if (!graph::isSize(dim, 1))
        at = dim;
  }
  return together;
}

/// One past the largest symbol s<i> that types and attributes mention.
int symbolsIn(ModuleOp module) {
  auto *dialect = module.getContext()->getOrLoadDialect<graph::GraphDialect>();
  int count = 0;
  auto see = [&](AffineExpr dim) {
    dim.walk([&](AffineExpr e) {
      auto symbol = dyn_cast<AffineSymbolExpr>(e);
      int number = 0;
      if (symbol && !StringRef(dialect->symbolName(symbol.getPosition())).drop_front().getAsInteger(10, number))
        count = std::max(count, number + 1);
    });
  };
  auto seeType = [&](Type type) {
    if (isa<RankedTensorType>(type))
      llvm::for_each(graph::dimsOf(type), see);
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), seeType);
    for (NamedAttribute attr : op->getAttrs())
      if (auto dims = dyn_cast<graph::DimsAttr>(attr.getValue()))
        llvm::for_each(dims.getDims(), see);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), seeType);
  });
  return count;
}

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  return text;
}

func::FuncOp mainOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("main"); }

} // namespace

struct OpCompiler::State {
  OpCompilerOptions options;
  std::optional<MLIRContext> mlir;
  std::shared_ptr<codegen::cpu::JitKernels> jit;
  PhaseContext phase;
  std::mutex mutex;
  std::string problems; // of the call at work
  std::optional<ScopedDiagnosticHandler> handler;

  Status start() {
    problems.clear();
    if (mlir)
      return {};
    auto target = codegen::cpu::CpuTarget::parse(options.cpuLevel);
    if (!target)
      return error(Code::InvalidOption, "cpu level \"", options.cpuLevel, "\" is not one of v3, v4, v4-bf16, v4-amx, host");
    phase.target = *target;
    phase.info = target->info();
    DialectRegistry registry;
    registry.insert<func::FuncDialect, graph::GraphDialect, kernel::KernelDialect, plan::PlanDialect>();
    codegen::cpu::registerCpuCodegenDialects(registry);
    mlir.emplace(registry, MLIRContext::Threading::DISABLED);
    mlir->loadAllAvailableDialects();
    handler.emplace(&*mlir, [this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        problems += (problems.empty() ? "" : "\n  ") + diagnostic.str();
      return success();
    });
    return {};
  }

  Status failure(Code code, const std::string &otherwise) { return error(code, problems.empty() ? otherwise : problems); }

  Result<OwningOpRef<ModuleOp>> parse(const OpProgram &program) {
    auto module = parseSourceString<ModuleOp>(program.text, ParserConfig(&*mlir));
    if (!module)
      return failure(Code::Internal, "an op program does not parse");
    return module;
  }

  OpProgram programOf(ModuleOp module) {
    OpProgram program;
    program.text = printed(module);
    func::FuncOp func = mainOf(module);
    for (Type type : func.getArgumentTypes())
      program.arguments.push_back(valueType(type));
    for (Type type : func.getResultTypes())
      program.results.push_back(valueType(type));
    program.symbols = symbolsIn(module);
    return program;
  }

  Result<OpProgram> build(const OpGraph &graph) {
    OpBuilder b(&*mlir);
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
    SmallVector<Type> arguments;
    for (const OpValueType &argument : graph.arguments) {
      GRAPHC_ASSIGN_OR_RETURN(RankedTensorType type, parseValueType(argument, &*mlir));
      arguments.push_back(type);
    }
    b.setInsertionPointToEnd(module->getBody());
    auto func = func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(arguments, {}));
    b.setInsertionPointToStart(func.addEntryBlock());
    SmallVector<Value> values(func.getArguments());
    for (const OpNode &node : graph.nodes) {
      SmallVector<Value> operands;
      for (int operand : node.operands)
        operands.push_back(values[operand]);
      auto built = buildOp(b, node, operands, NameLoc::get(b.getStringAttr(node.op)));
      if (built.status().code() == codes::InvalidArgument && !problems.empty())
        return error(codes::InvalidArgument, built.status().message(), ": ", problems);
      if (!built.ok())
        return failure(built.status().code(), built.status().message());
      Operation *op = *built;
      if (graph.elementwise && op->getNumOperands() && !isa<graph::Elementwise, graph::CastOp>(op))
        return error(codes::InvalidArgument, "it is defined as elementwise, but its formula uses \"", node.op, "\", which is not; leave .elementwise out");
      values.append(op->result_begin(), op->result_end());
    }
    SmallVector<Value> results;
    for (int result : graph.results)
      results.push_back(values[result]);
    func::ReturnOp::create(b, b.getUnknownLoc(), results);
    func.setFunctionType(b.getFunctionType(arguments, TypeRange(ValueRange(results))));
    if (graph.elementwise) {
      SmallVector<AffineExpr> together = broadcastDims(arguments);
      for (Type type : func.getResultTypes())
        if (ArrayRef<AffineExpr>(graph::dimsOf(type)) != ArrayRef<AffineExpr>(together))
          return error(Code::ShapeMismatch, "it is defined as elementwise, but its formula does not give the sizes that all operands have together");
    }
    return programOf(*module);
  }

  Result<OpGradient> gradient(const OpProgram &program, const std::vector<bool> &needs, const std::vector<bool> &given) {
    GRAPHC_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module, parse(program));
    func::FuncOp func = mainOf(*module);
    Block &block = func.getBody().front();
    Operation *terminator = block.getTerminator();
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    OpGradient gradient;
    for (unsigned i = 0; i < block.getNumArguments(); ++i)
      gradient.inputs.push_back({GradientInput::Argument, static_cast<int>(i)});
    SmallVector<Value> arguments(block.getArguments()), returned(terminator->getOperands()), wanted, saved;
    for (auto [i, value] : llvm::enumerate(returned)) {
      saved.push_back(block.addArgument(value.getType(), value.getLoc()));
      gradient.inputs.push_back({GradientInput::Result, static_cast<int>(i)});
    }
    SmallVector<Seed> seeds;
    for (auto [i, value] : llvm::enumerate(returned))
      if (given[i]) {
        seeds.push_back({value, block.addArgument(value.getType(), value.getLoc())});
        gradient.inputs.push_back({GradientInput::ResultGradient, static_cast<int>(i)});
      }
    for (auto [argument, needed] : llvm::zip(arguments, needs))
      if (needed)
        wanted.push_back(argument);
    OpBuilder b(terminator);
    auto found = buildGradients(b, ops, seeds, wanted);
    if (mlir::failed(found))
      return failure(Code::UnsupportedOp, "an op has no gradient");
    // The results are known by then: who reads one gets what was saved.
    terminator->setOperands({});
    for (auto [value, argument] : llvm::zip(returned, saved))
      if (!isa<BlockArgument>(value))
        value.replaceAllUsesWith(argument);
    SmallVector<Value> results;
    size_t next = 0;
    gradient.gradients.assign(arguments.size(), OpGradient::kNone);
    SmallVector<std::pair<size_t, Value>> handedThrough;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!needs[i])
        continue;
      Value value = (*found)[next++];
      if (!value)
        continue;
      if (isa<BlockArgument>(value)) {
        handedThrough.push_back({i, value});
        continue;
      }
      auto known = llvm::find(results, value);
      gradient.gradients[i] = static_cast<int>(known - results.begin());
      if (known == results.end())
        results.push_back(value);
    }
    terminator->setOperands(results);
    eraseUnusedOps(block);
    for (auto [argument, value] : handedThrough)
      gradient.gradients[argument] = OpGradient::passes(static_cast<int>(cast<BlockArgument>(value).getArgNumber()));
    for (unsigned i = block.getNumArguments(); i-- > 0;) {
      BlockArgument argument = block.getArgument(i);
      bool passes = llvm::any_of(handedThrough, [&](auto &entry) { return entry.second == argument; });
      if (!argument.use_empty() || passes)
        continue;
      block.eraseArgument(i);
      gradient.inputs.erase(gradient.inputs.begin() + i);
      for (int &from : gradient.gradients)
        if (from <= -2 && -2 - from > static_cast<int>(i))
          ++from;
    }
    func.setFunctionType(b.getFunctionType(block.getArgumentTypes(), TypeRange(ValueRange(results))));
    // What the formulas repeat is computed once, and numbers are folded.
    PassManager pm(&*mlir);
    pm.addPass(createCSEPass());
    if (mlir::failed(pm.run(*module)))
      return failure(Code::Internal, "a gradient cannot be simplified");
    gradient.program = programOf(*module);
    gradient.program.symbols = std::max(gradient.program.symbols, program.symbols);
    return gradient;
  }

  Result<OpProgram> write(const TraceGraph &graph) {
    OwningOpRef<ModuleOp> module = buildTrace(*mlir, graph);
    if (!module)
      return failure(Code::Internal, "a traced program cannot be written");
    OpProgram program = programOf(*module);
    program.symbols = 0; // its sizes come from its arguments
    return program;
  }

  Result<CompiledOp> compile(const OpProgram &program, int threads, const std::vector<std::string> &architectures) {
    GRAPHC_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module, parse(program));
    PhaseContext phase = this->phase;
    if (!architectures.empty()) {
      phase.cuda = true;
      phase.info = cudaTargetInfo();
    }
    func::FuncOp func = mainOf(*module);
    int symbols = program.symbols;
    OpBuilder b(&*mlir);
    if (symbols) {
      SmallVector<AffineExpr> dims = {graph::constantDim(0, &*mlir)};
      for (int s = 0; s < symbols; ++s)
        dims.push_back(graph::symbolDim("s" + std::to_string(s), &*mlir));
      func.getBody().front().insertArgument(0u, graph::tensorType(dims, b.getI1Type()), b.getUnknownLoc());
    }
    func.setFunctionType(b.getFunctionType(func.getBody().front().getArgumentTypes(), func.getResultTypes()));
    for (const Phase &row : phases()) {
      if (row.name == "import")
        continue;
      PassManager pm(&*mlir);
      pm.enableVerifier(false);
      row.build(pm, phase);
      if (mlir::failed(pm.run(*module)) || mlir::failed(row.contract(*module)))
        return failure(Code::CompileFailed, "phase " + row.name.str() + " failed for an op");
    }
    if (phase.cuda) {
      GRAPHC_ASSIGN_OR_RETURN(codegen::cuda::DeviceCode code, compileCudaKernels(*module, {.architectures = architectures}));
      auto plan = writePlan(*module, &code);
      if (mlir::failed(plan))
        return failure(Code::Internal, "the plan of an op cannot be written");
      return CompiledOp{plan::toBytes(**plan), {}};
    }
    mlir->enableMultithreading(threads > 1);
    auto kernels = codegen::cpu::compileKernels(*module, phase.target, {.threads = static_cast<unsigned>(threads)});
    mlir->disableMultithreading();
    if (mlir::failed(kernels))
      return failure(Code::CompileFailed, "code generation failed for an op");
    auto plan = writePlan(*module);
    if (mlir::failed(plan))
      return failure(Code::Internal, "the plan of an op cannot be written");
    CompiledOp op;
    op.plan = plan::toBytes(**plan);
    for (auto &kernel : *kernels)
      op.kernels.emplace_back(std::move(kernel.name), std::move(kernel.object));
    return op;
  }

  Result<GraphcKernelFn> link(const std::string &name, const std::string &object) {
    if (!jit) {
      auto session = codegen::cpu::JitKernels::create();
      if (!session)
        return error(Code::Internal, "the JIT cannot start: ", llvm::toString(session.takeError()));
      jit = std::move(*session);
    }
    auto function = jit->add(name, object);
    if (!function)
      return error(Code::Internal, "kernel ", name, " does not link: ", llvm::toString(function.takeError()));
    return *function;
  }
};

OpCompiler::OpCompiler(OpCompilerOptions options) : state_(std::make_unique<State>()) { state_->options = std::move(options); }
OpCompiler::~OpCompiler() = default;

Result<OpProgram> OpCompiler::build(const OpGraph &graph) {
  std::lock_guard lock(state_->mutex);
  GRAPHC_RETURN_IF_ERROR(state_->start());
  return state_->build(graph);
}

Result<OpGradient> OpCompiler::gradient(const OpProgram &program, const std::vector<bool> &needs, const std::vector<bool> &given) {
  std::lock_guard lock(state_->mutex);
  GRAPHC_RETURN_IF_ERROR(state_->start());
  return state_->gradient(program, needs, given);
}

Result<OpProgram> OpCompiler::write(const TraceGraph &graph) {
  std::lock_guard lock(state_->mutex);
  GRAPHC_RETURN_IF_ERROR(state_->start());
  return state_->write(graph);
}

Result<CompiledOp> OpCompiler::compile(const OpProgram &program, int threads, const std::vector<std::string> &architectures) {
  std::lock_guard lock(state_->mutex);
  GRAPHC_RETURN_IF_ERROR(state_->start());
  return state_->compile(program, threads, architectures);
}

Result<GraphcKernelFn> OpCompiler::link(const std::string &name, const std::string &object) {
  std::lock_guard lock(state_->mutex);
  return state_->link(name, object);
}

Result<std::string> OpCompiler::identity() const {
  auto target = codegen::cpu::CpuTarget::parse(state_->options.cpuLevel);
  if (!target)
    return error(Code::InvalidOption, "cpu level \"", state_->options.cpuLevel, "\" is not one of v3, v4, v4-bf16, v4-amx, host");
  return elfIdentity(fileOfCode(reinterpret_cast<const void *>(&graphc::phases))) + " " + target->name().str();
}
