#include "frontend/compile/Compiler.h"
#include "codegen/cpu/CpuCodegen.h"
#include "frontend/compile/CudaKernels.h"
#include "frontend/compile/LinkObjects.h"
#include "frontend/compile/KernelCache.h"
#include "frontend/compile/Phases.h"
#include "frontend/compile/PlanWriter.h"
#include "frontend/onnx/Import.h"
#include "ir/kernel/Kernel.h"
#include "ir/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/devices/cpu/CpuLevel.h"
#include "runtime/devices/Devices.h"
#include "runtime/memory/MappedFile.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace graphc;
namespace fs = std::filesystem;

namespace {

class Stopwatch {
public:
  double ms() {
    auto now = std::chrono::steady_clock::now();
    double elapsed = std::chrono::duration<double, std::milli>(now - start).count();
    start = now;
    return elapsed;
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

std::string locationText(Location loc) {
  std::string text;
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    text = file.getFilename().str() + ":" + std::to_string(file.getLine());
  if (auto named = loc->findInstanceOf<NameLoc>())
    text += (text.empty() ? "" : " ") + ("(" + named.getName().str() + ")");
  return text;
}

/// Passes report decisions here; one line each.
class RemarkCollector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkCollector(std::vector<CompileDiagnostic> &out) : out(out) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    llvm::raw_string_ostream os(text);
    std::string where = locationText(remark.getLocation());
    os << (where.empty() ? "" : where + ": ") << remark.getCombinedCategoryName() << " " << remark.getRemarkName() << ": "
       << remark.getMsg();
    std::lock_guard lock(mutex);
    out.push_back({CompileDiagnostic::Remark, Code::Ok, text});
  }

private:
  std::vector<CompileDiagnostic> &out;
  std::mutex mutex; // passes on kernels run in parallel
};

class Compilation {
public:
  Compilation(const std::string &path, const CompileOptions &options, CompileResult &result)
      : path(path), options(options), result(result) {}

  Status run() {
    threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    // The host is what the system grants, asked before threads start: AMX may be there and refused.
    auto granted = options.cpuLevel == "host" ? cpu::hostLevel() : std::nullopt;
    auto parsed = codegen::cpu::CpuTarget::parse(granted ? std::string(cpu::levelName(*granted)) : options.cpuLevel);
    if (!parsed)
      return error(Code::InvalidOption, "--cpu-level \"", options.cpuLevel,
                   "\" is not one of v3, v4, v4-bf16, v4-amx, host (a host below v3 has no AVX2 and cannot run kernels)");
    context_.target = *parsed;
    GRAPHC_ASSIGN_OR_RETURN(DeviceId device, DeviceId::parse(options.device));
    context_.cuda = !device.isCpu();
    // Before anything is compiled for it.
    device_ = options.openDevice;
    if (context_.cuda && !device_ && !options.planOnly) {
      GRAPHC_ASSIGN_OR_RETURN(device_, openDevice(device));
    }
    GRAPHC_RETURN_IF_ERROR(choosePrecision());
    context_.fuse = options.fuse;
    context_.probeGroups = options.probeGroups;
    result.model.cpuLevel = context_.target.name().str();
    GRAPHC_RETURN_IF_ERROR(checkPhaseName(options.fromPhase, "--from-phase"));
    GRAPHC_RETURN_IF_ERROR(checkPhaseName(options.toPhase, "--to-phase"));

    DialectRegistry registry;
    registry.insert<func::FuncDialect, graph::GraphDialect, kernel::KernelDialect, plan::PlanDialect>();
    codegen::cpu::registerCpuCodegenDialects(registry);
    // Printing between passes needs them one after the other.
    bool parallel = threads > 1 && options.printIrAfter.empty();
    mlirContext.emplace(registry, parallel ? MLIRContext::Threading::ENABLED : MLIRContext::Threading::DISABLED);
    MLIRContext &mlir = *mlirContext;
    mlir.loadAllAvailableDialects();
    ScopedDiagnosticHandler handler(&mlir, [&](mlir::Diagnostic &d) { return collect(d); });
    if (options.remarks) {
      remark::RemarkCategories categories;
      categories.all = ".*";
      if (failed(remark::enableOptimizationRemarks(mlir, std::make_unique<RemarkCollector>(result.model.remarks),
                                                   std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
        return error(Code::Internal, "the remark engine cannot be set up");
    }

    GRAPHC_RETURN_IF_ERROR(readModel(mlir));
    GRAPHC_RETURN_IF_ERROR(runPhases());
    if (!options.toPhase.empty() && options.toPhase != phases().back().name)
      return Status();
    return makeExecutable();
  }

private:
  Status choosePrecision() {
    context_.info = context_.target.info();
    if (context_.cuda) {
      context_.info = cudaTargetInfo();
    }
    for (const std::string &level : context_.cuda ? std::vector<std::string>() : options.objectLevels)
      if (auto other = codegen::cpu::CpuTarget::parse(level)) {
        context_.info.bf16Products &= other->info().bf16Products;
        context_.info.bf16Attention &= other->info().bf16Attention;
        context_.info.exactInt8 &= other->info().exactInt8;
      }
    if (options.amp.empty())
      return Status();
    if (options.amp == "fp16" && !context_.cuda)
      return error(Code::InvalidOption, "--amp fp16 is not for the cpu, which has no fp16 products; use --amp bf16");
    if (options.amp != "bf16" && options.amp != "fp16")
      return error(Code::InvalidOption, "--amp ", options.amp, " is unknown; valid are bf16 and fp16");
    for (auto [index, phase] : llvm::enumerate(phases()))
      if (phase.name == options.fromPhase && index >= phaseIndex("autocast"))
        return error(Code::InvalidOption, "--amp has no use behind --from-phase ", options.fromPhase, ": precision is decided in phase autocast");
    context_.amp = options.amp == "fp16" ? "f16" : options.amp;
    if (!context_.info.bf16Products)
      result.diagnostics.push_back({CompileDiagnostic::Warning, Code::DeviceUnavailable,
                                    text("--amp bf16: level ", options.objectLevels.empty() ? context_.target.name().str() : joined(options.objectLevels, "+"),
                                         " has no bf16 products; they are computed in f32 from bf16 values, which is right but no faster")});
    return Status();
  }
  static size_t phaseIndex(StringRef name) {
    return llvm::find_if(phases(), [&](const Phase &phase) { return phase.name == name; }) - phases().begin();
  }

  //===-- input -------------------------------------------------------------------------------------------------===//
  Status readModel(MLIRContext &mlir) {
    Stopwatch watch;
    std::error_code ec;
    if (!fs::is_regular_file(path, ec))
      return error(Code::ModelUnreadable, "cannot read \"", path, "\": no such file");
    folder = fs::path(path).parent_path();
    if (fs::path(path).extension() == ".mlir") {
      module = parseSourceFile<ModuleOp>(path, ParserConfig(&mlir));
      if (!module)
        return firstError(Code::ModelMalformed, "\"" + path + "\" does not parse");
      if (auto model = (*module)->getAttrOfType<StringAttr>("graph.model"))
        if (fs::path(model.str()).is_absolute())
          folder = fs::path(model.str()).parent_path();
      if (auto side = (*module)->getAttrOfType<StringAttr>("graph.side")) {
        auto file = MappedFile::open((fs::path(path).parent_path() / side.str()).string());
        if (!file.ok())
          return file.status();
        sideBytes.assign((const char *)(*file)->bytes().data(), (*file)->bytes().size());
        result.model.files.push_back({"", (*file)->path()});
      }
    } else {
      ImportOptions import;
      for (const std::string &text : options.shapes) {
        auto shape = parseShapeOption(text);
        if (!shape.ok())
          return shape.status();
        import.shapes.insert(*std::move(shape));
      }
      for (const auto &[name, tensor] : options.constantInputs) {
        auto copy = tensor.clone();
        if (!copy.ok())
          return copy.status();
        import.constantInputs.emplace(name, *std::move(copy));
      }
      ImportResult imported = importOnnx(path, import, mlir, [&](const ImportDiagnostic &d) {
        if (d.code == Code::Ok)
          result.model.remarks.push_back({CompileDiagnostic::Remark, Code::Ok, d.message});
        else
          result.diagnostics.push_back({CompileDiagnostic::Error, d.code, d.message});
      });
      result.valueInputs = imported.valueInputs;
      result.inputNames = imported.inputNames;
      if (!imported.module)
        return firstError(Code::ModelMalformed, "\"" + path + "\" cannot be imported");
      for (const std::string &name : imported.externalFiles)
        result.model.files.push_back({name, (folder / name).string()});
      module = std::move(imported.module);
      sideBytes = std::move(imported.sideBytes);
    }
    result.model.times.push_back({"import", watch.ms()});
    return Status();
  }

  //===-- phases ------------------------------------------------------------------------------------------------===//
  static Status checkPhaseName(const std::string &name, const char *option) {
    if (name.empty())
      return Status();
    std::string known;
    for (const Phase &phase : phases()) {
      if (phase.name == name)
        return Status();
      known += (known.empty() ? "" : ", ") + phase.name.str();
    }
    return error(Code::InvalidOption, option, " \"", name, "\" is not a phase; these are: ", known);
  }

  Status runPhases() {
    bool skip = !options.fromPhase.empty();
    for (auto [number, phase] : llvm::enumerate(phases())) {
      if (skip) {
        // The file is this phase's result.
        skip = phase.name != options.fromPhase;
        continue;
      }
      Stopwatch watch;
      // What a reproducer would hold; a clone costs less than text and is dropped when all goes well.
      OwningOpRef<ModuleOp> before = module->clone();
      PassManager pm(module->getContext());
      if (!options.printIrAfter.empty())
        pm.enableIRPrinting([](Pass *, Operation *) { return false; },
                            [&](Pass *pass, Operation *) { return pass && pass->getArgument() == options.printIrAfter; },
                            /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/false);
      phase.build(pm, context_);
      size_t errorsBefore = result.diagnostics.size();
      if (failed(pm.run(*module)))
        return result.diagnostics.size() > errorsBefore
                   ? firstError(Code::CompileFailed, "phase " + phase.name.str() + " failed")
                   : ourFault(phase, *before, "failed without a reason");
      if (failed(phase.contract(*module)))
        return ourFault(phase, *before, "did not keep its promise");
      result.model.times.push_back({phase.name.str(), watch.ms()});
      if (options.printIrAfter == phase.name) {
        llvm::errs() << "// IR after phase " << phase.name << "\n";
        module->print(llvm::errs());
      }
      if (options.keepPhaseText || !options.dumpPhasesDir.empty())
        GRAPHC_RETURN_IF_ERROR(keepPhase(number, phase));
      if (options.toPhase == phase.name)
        break;
    }
    return Status();
  }

  std::string phaseText() { return textOf(*module); }
  static std::string textOf(ModuleOp op) {
    std::string text;
    llvm::raw_string_ostream os(text);
    op->print(os, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
    return text;
  }

  Status keepPhase(size_t number, const Phase &phase) {
    if (options.keepPhaseText)
      result.model.phases.push_back({phase.name.str(), phaseText()});
    if (options.dumpPhasesDir.empty())
      return Status();
    std::error_code ec;
    fs::create_directories(options.dumpPhasesDir, ec);
    auto *mlir = module->getContext();
    auto previous = (*module)->getAttr("graph.model");
    (*module)->setAttr("graph.model", StringAttr::get(mlir, fs::absolute(modelPath()).string()));
    if (!sideBytes.empty()) {
      (*module)->setAttr("graph.side", StringAttr::get(mlir, "side.bin"));
      GRAPHC_RETURN_IF_ERROR(writeFile(fs::path(options.dumpPhasesDir) / "side.bin", sideBytes));
    }
    std::string file = (number < 10 ? "0" : "") + std::to_string(number) + "-" + phase.name.str() + ".mlir";
    Status status = writeFile(fs::path(options.dumpPhasesDir) / file, phaseText() + "\n");
    if (previous)
      (*module)->setAttr("graph.model", previous);
    (*module)->removeAttr("graph.side");
    return status;
  }
  std::string modelPath() {
    auto model = (*module)->getAttrOfType<StringAttr>("graph.model");
    return model ? model.str() : path;
  }
  static Status writeFile(const fs::path &file, const std::string &bytes) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), bytes.size());
    out.close();
    if (!out)
      return error(Code::FileSystem, "cannot write \"", file.string(), "\"");
    return Status();
  }

  Status ourFault(const Phase &phase, ModuleOp before, const char *what) {
    std::string file = "graphc-reproducer-" + phase.name.str() + ".mlir";
    std::string details;
    for (const CompileDiagnostic &d : result.diagnostics)
      details += "\n  " + d.message;
    size_t index = &phase - phases().data();
    std::string from = index ? phases()[index - 1].name.str() : "";
    Status written = writeFile(file, textOf(before));
    return error(Code::Internal, "phase ", phase.name.str(), " ", what, details,
                 written.ok() ? "\n  reproducer: graphc run " + file + " --from-phase " + from : "");
  }

  //===-- output ------------------------------------------------------------------------------------------------===//
  Status makeExecutable() {
    std::unique_ptr<plan::PlanT> plan;
    LoadOptions load;
    if (context_.cuda)
      GRAPHC_RETURN_IF_ERROR(generateForCuda(plan));
    else
      GRAPHC_RETURN_IF_ERROR(generateForCpu(plan, load));
    GRAPHC_RETURN_IF_ERROR(openWeights(*plan, load.weightFiles));
    if (options.planOnly) {
      result.model.plan = std::move(plan);
      result.model.weights = std::move(load.weightFiles);
      return Status();
    }
    load.device = device_;
    load.record = options.record;
    return loadPlan(std::move(plan), std::move(load));
  }

  /// One line for the user about the compile cache.
  std::function<void(Code, const std::string &)> cacheWarning() {
    return [&](Code code, const std::string &line) { result.diagnostics.push_back({CompileDiagnostic::Warning, code, line}); };
  }

  Status generateForCuda(std::unique_ptr<plan::PlanT> &plan) {
    Stopwatch watch;
    CudaBuild build;
    // PTX of the oldest architecture we write for: the simulated device takes nothing else, newer GPUs translate it.
    build.architectures = options.architectures.empty() ? std::vector<std::string>{"compute_80"} : options.architectures;
    if (options.architectures.empty() && device_ && !device_->properties().simulated)
      build.architectures.insert(build.architectures.begin(), device_->properties().architecture);
    build.nvrtc = options.nvrtc;
    build.threads = threads;
    build.cacheDir = options.cacheDir;
    build.warn = cacheWarning();
    build.resources = options.keepResources ? &result.model.resources : nullptr;
    GRAPHC_ASSIGN_OR_RETURN(codegen::cuda::DeviceCode code, compileCudaKernels(*module, build));
    result.model.times.push_back({"codegen", watch.ms()});
    if (options.keepKernelText)
      for (const codegen::cuda::KernelSource &kernel : code.kernels)
        result.model.kernels.push_back({kernel.name, kernel.text, "", kernel.sourceOps});
    auto written = writePlan(*module, &code);
    if (failed(written))
      return firstError(Code::Internal, "the plan cannot be written");
    plan = std::move(*written);
    return Status();
  }

  Status generateForCpu(std::unique_ptr<plan::PlanT> &plan, LoadOptions &load) {
    Stopwatch watch;
    codegen::cpu::CompileOptions codegenOptions;
    codegenOptions.threads = threads;
    codegenOptions.keepText = options.keepKernelText;
    // Text is not kept in the cache.
    auto kernels = options.cacheDir.empty() || options.keepKernelText
                       ? codegen::cpu::compileKernels(*module, context_.target, codegenOptions)
                       : compileKernelsCached(*module, context_.target, codegenOptions, options.cacheDir, cacheWarning());
    if (failed(kernels))
      return firstError(Code::Internal, "code generation failed");
    result.model.times.push_back({"codegen", watch.ms()});

    auto written = writePlan(*module);
    if (failed(written))
      return firstError(Code::Internal, "the plan cannot be written");
    plan = std::move(*written);
    if (auto missing = context_.target.missingOnHost())
      return error(Code::DeviceUnavailable, "this machine cannot run level ", context_.target.name().str(), ": ", *missing);

    GRAPHC_RETURN_IF_ERROR(linkObjects(*kernels));
    auto jit = codegen::cpu::JitKernels::create();
    if (!jit)
      return error(Code::Internal, "the JIT cannot start: ", llvm::toString(jit.takeError()));
    std::shared_ptr<codegen::cpu::JitKernels> session = std::move(*jit);
    for (auto &kernel : *kernels) {
      auto function = session->add(kernel.name, kernel.object);
      if (!function)
        return error(Code::Internal, "kernel ", kernel.name, " does not link: ", llvm::toString(function.takeError()));
      load.kernels.push_back(*function);
    }
    if (options.keepKernelText)
      for (auto [compiled, entry] : llvm::zip(*kernels, plan->kernels))
        result.model.kernels.push_back({compiled.name, compiled.llvmIr, compiled.assembly, entry->source_ops});
    if (options.keepObjects)
      for (auto &kernel : *kernels)
        result.model.kernelObjects.push_back(std::move(kernel.object));
    load.keepAlive = session;
    // An artifact stores prepared constants; a loaded model needs only what the library made of them.
    load.keepPrepared = !options.objectLevels.empty();
    result.model.times.push_back({"link", watch.ms()});
    return Status();
  }

  /// Maps the files of the plan's weights and notes their sizes.
  Status openWeights(plan::PlanT &plan, std::vector<WeightBytes> &weights) {
    auto side = std::make_shared<std::string>(std::move(sideBytes));
    for (auto &file : plan.files) {
      if (file->path == kSideFile) {
        weights.push_back({std::as_bytes(std::span(side->data(), side->size())), side});
        file->bytes = side->size();
        continue;
      }
      auto mapped = MappedFile::open((folder / file->path).string());
      if (!mapped.ok())
        return mapped.status();
      weights.push_back({(*mapped)->bytes(), *mapped});
      if (llvm::none_of(result.model.files, [&](const ModelFile &known) { return known.name == file->path; }))
        result.model.files.push_back({file->path, (*mapped)->path()});
      file->bytes = (*mapped)->bytes().size();
    }
    return Status();
  }

  Status loadPlan(std::unique_ptr<plan::PlanT> plan, LoadOptions load) {
    Stopwatch watch;
    if (options.pool) {
      load.pool = options.pool;
    } else if (threads > 1) {
      SpinPoolOptions pool;
      pool.threads = threads;
      load.pool = std::make_shared<SpinPool>(pool);
    }
    // The executable outlives this compilation; what it says later goes nowhere.
    auto said = std::make_shared<std::pair<std::mutex, std::vector<CompileDiagnostic>>>();
    load.log = [said](LogLevel level, const std::string &text) {
      std::lock_guard lock(said->first);
      said->second.push_back({level == LogLevel::Warning ? CompileDiagnostic::Warning : CompileDiagnostic::Remark, Code::Ok, text});
    };
    auto executable = Executable::load(std::move(plan), std::move(load));
    {
      std::lock_guard lock(said->first);
      llvm::append_range(result.model.remarks, said->second);
    }
    if (!executable.ok())
      return executable.status();
    result.model.executable = *executable;
    result.model.times.push_back({"load", watch.ms()});
    return Status();
  }

  /// The kernels once more for each level of an artifact; the plan is the same for all.
  Status linkObjects(const std::vector<codegen::cpu::CompiledKernel> &own) {
    for (const std::string &name : options.objectLevels) {
      auto target = codegen::cpu::CpuTarget::parse(name);
      if (!target)
        return error(Code::InvalidOption, "--targets: \"", name, "\" is not one of v3, v4, v4-bf16, v4-amx, host");
      std::vector<std::string> objects;
      auto take = [&](const std::vector<codegen::cpu::CompiledKernel> &kernels) {
        for (const auto &kernel : kernels)
          objects.push_back(kernel.object);
      };
      if (target->level == context_.target.level) {
        take(own);
      } else {
        codegen::cpu::CompileOptions codegenOptions;
        codegenOptions.threads = threads;
        auto kernels = codegen::cpu::compileKernels(*module, *target, codegenOptions);
        if (failed(kernels))
          return firstError(Code::Internal, "code generation for level " + name + " failed");
        take(*kernels);
      }
      GRAPHC_ASSIGN_OR_RETURN(std::vector<std::byte> linked, linkSharedObject(objects));
      result.model.objects.push_back({target->name().str(), std::move(linked)});
    }
    return Status();
  }

  //===-- diagnostics -------------------------------------------------------------------------------------------===//
  LogicalResult collect(mlir::Diagnostic &d) {
    std::string where = locationText(d.getLocation());
    std::string message = (where.empty() ? "" : where + ": ") + d.str();
    auto severity = d.getSeverity() == DiagnosticSeverity::Error     ? CompileDiagnostic::Error
                    : d.getSeverity() == DiagnosticSeverity::Warning ? CompileDiagnostic::Warning
                    : d.getSeverity() == DiagnosticSeverity::Note    ? CompileDiagnostic::Note
                                                                     : CompileDiagnostic::Remark;
    result.diagnostics.push_back({severity, Code::CompileFailed, message});
    return success();
  }
  /// The errors so far as one status: the first one's code, all their messages.
  Status firstError(Code otherwise, const std::string &summary) {
    const CompileDiagnostic *first = nullptr;
    std::string text;
    for (const CompileDiagnostic &d : result.diagnostics)
      if (d.severity == CompileDiagnostic::Error) {
        if (!first)
          first = &d;
        text += (text.empty() ? "" : "\n  ") + d.message;
      }
    if (!first)
      return error(otherwise, summary);
    Code code = first->code == Code::CompileFailed ? otherwise : first->code;
    return error(code, text);
  }

  const std::string &path;
  const CompileOptions &options;
  CompileResult &result;
  unsigned threads = 1;
  std::shared_ptr<ComputeDevice> device_; // null: the processor
  PhaseContext context_;
  std::optional<MLIRContext> mlirContext; // outlives the module
  OwningOpRef<ModuleOp> module;
  std::string sideBytes;
  fs::path folder;
};
} // namespace

CompileResult graphc::compileFile(const std::string &path, const CompileOptions &options) {
  CompileResult result;
  result.status = Compilation(path, options, result).run();
  if (result.status.ok() && options.strict)
    for (const auto *list : {&result.diagnostics, &result.model.remarks})
      for (const CompileDiagnostic &d : *list)
        if (d.severity == CompileDiagnostic::Warning && result.status.ok())
          result.status = error(d.code == Code::Ok ? Code::CompileFailed : d.code, "--strict: ", d.message);
  return result;
}

std::vector<PhaseInfo> graphc::phaseList() {
  std::vector<PhaseInfo> list;
  for (const Phase &phase : phases())
    list.push_back({phase.name.str(), phase.does.str()});
  return list;
}
