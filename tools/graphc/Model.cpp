#include "tools/graphc/Model.h"

#include "frontend/compile/CompilerLibrary.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/Text.h"
#include "runtime/devices/cpu/CpuLevel.h"
#include "runtime/devices/cpu/ThreadPool.h"
#include "runtime/devices/Devices.h"
#include "runtime/devices/cuda/Nvrtc.h"
#include "runtime/memory/MappedFile.h"
#include "tools/graphc/Machine.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>

namespace graphc::tool {
namespace {

Port portOf(const TensorInfo &info) {
  Port port{info.name, info.dtype, {}, info.dims};
  for (const std::string &dim : info.dims) {
    int64_t size = 0;
    auto [end, problem] = std::from_chars(dim.data(), dim.data() + dim.size(), size);
    bool fixed = problem == std::errc() && end == dim.data() + dim.size();
    port.dims.push_back(fixed ? std::optional(size) : std::nullopt);
  }
  return port;
}

void printTimes(const CompiledModel &model) {
  std::cerr << "graphc: times:\n" << std::fixed << std::setprecision(1);
  for (const PhaseTime &time : model.times)
    std::cerr << "  " << time.name << std::string(time.name.size() < 14 ? 14 - time.name.size() : 1, ' ') << std::setw(8) << time.ms << " ms\n";
  std::cerr << std::defaultfloat << std::setprecision(6);
}

void printWarning(const std::string &line) { std::cerr << "graphc: warning: " << line << "\n"; }

void printWarnings(std::span<const CompileDiagnostic> diagnostics) {
  for (const CompileDiagnostic &diagnostic : diagnostics)
    if (diagnostic.severity == CompileDiagnostic::Warning)
      printWarning(diagnostic.message);
}

Status checkSuffix(const std::string &model) {
  std::string suffix = std::filesystem::path(model).extension().string();
  if (suffix == ".onnx" || suffix == ".mlir" || suffix == ".gcx")
    return {};
  return error(Code::ModelUnreadable, "'", model, "': the kind of model is told by its name, which must end in .onnx, .mlir or .gcx");
}

/// Options that ask something of the compiler have no use with an artifact, which was compiled before.
Status checkArtifactOptions(const ModelOptions &options) {
  for (auto [name, given] : {std::pair("--shape", !options.shapes.empty()), {"--dump-phases", !options.dumpPhases.empty()},
                             {"--from-phase", !options.fromPhase.empty()}, {"--to-phase", !options.toPhase.empty()},
                             {"--print-ir-after", !options.printIrAfter.empty()}, {"--amp", !options.amp.empty()}})
    if (given)
      return error(Code::InvalidOption, name, ": '", options.model, "' is compiled already; give the .onnx or .mlir it was made from");
  return {};
}

Result<CompiledModel> loadCompiled(const ModelOptions &options, std::shared_ptr<ComputeDevice> device) {
  GRAPHC_RETURN_IF_ERROR(checkArtifactOptions(options));
  auto start = std::chrono::steady_clock::now();
  ArtifactOptions artifact;
  artifact.device = std::move(device);
  if (options.mode == "reduce-overhead")
    artifact.record = RecordPolicy::Measured;
  if (options.threads > 1) {
    SpinPoolOptions pool;
    pool.threads = options.threads;
    artifact.pool = std::make_shared<SpinPool>(pool);
  }
  if (options.cpuLevel != "host")
    artifact.level = cpu::levelFromName(options.cpuLevel);
  artifact.log = [](LogLevel level, const std::string &message) {
    if (level == LogLevel::Warning)
      printWarning(message);
  };
  CompiledModel model;
  GRAPHC_ASSIGN_OR_RETURN(model.executable, loadArtifact(options.model, artifact));
  if (auto mapped = MappedFile::open(options.model); mapped.ok())
    if (auto summary = summarizeArtifact((*mapped)->bytes()); summary.ok())
      if (auto level = chooseLevel(summary->levels, artifact.level))
        model.cpuLevel = cpu::levelName(*level);
  model.times.push_back({"load", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()});
  return model;
}

/// Compiles; when sizes depend on inputs' values, again with the values at hand.
Result<CompileResult> compile(const std::string &path, CompileOptions &options, const ValueProvider &values) {
  GRAPHC_ASSIGN_OR_RETURN(const CompilerEntry *compiler, openCompiler());
  while (true) {
    CompileResult result = compiler->compileFile(path, options);
    if (result.status.ok()) {
      printWarnings(result.diagnostics);
      return result;
    }
    bool more = false;
    if (values)
      for (const std::string &wanted : result.valueInputs) {
        if (options.constantInputs.contains(wanted))
          continue;
        for (size_t i = 0; i < result.inputNames.size(); ++i) {
          if (result.inputNames[i] != wanted)
            continue;
          GRAPHC_ASSIGN_OR_RETURN(std::optional<HostTensor> value, values(result.inputNames, i));
          if (!value)
            continue;
          options.constantInputs.emplace(wanted, std::move(*value));
          more = true;
        }
      }
    if (!more)
      return result.status;
  }
}

} // namespace

Model::Model(Model &&) noexcept = default;
Model &Model::operator=(Model &&) noexcept = default;
Model::~Model() = default;

CompileOptions compileOptionsOf(const ModelOptions &options, CompileOptions base) {
  base.device = options.device;
  if (options.device != "cpu")
    base.nvrtc = cuda::Nvrtc::candidates(toolkitFolders(), sitePackagesFolders());
  if (options.mode == "reduce-overhead")
    base.record = RecordPolicy::Measured;
  base.cpuLevel = options.cpuLevel;
  base.threads = options.threads;
  base.amp = options.amp;
  base.shapes = options.shapes;
  base.strict = options.strict;
  base.dumpPhasesDir = options.dumpPhases;
  base.fromPhase = options.fromPhase;
  base.toPhase = options.toPhase;
  base.cacheDir = options.cacheFolder();
  base.printIrAfter = options.printIrAfter;
  return base;
}

Result<Model> Model::load(const ModelOptions &options, const ValueProvider &values, CompileOptions base) {
  GRAPHC_RETURN_IF_ERROR(checkSuffix(options.model));
  Model model;
  model.options = options;
  // A device that is not here is said before anything is compiled for it; an artifact is made without one.
  if (!options.deviceId.isCpu() && !base.planOnly) {
    GRAPHC_ASSIGN_OR_RETURN(model.device, openDevice(options.deviceId));
  }
  if (options.model.ends_with(".gcx")) {
    GRAPHC_ASSIGN_OR_RETURN(model.compiled, loadCompiled(options, model.device));
  } else {
    CompileOptions compile = compileOptionsOf(options, std::move(base));
    compile.openDevice = model.device;
    GRAPHC_RETURN_IF_ERROR(model.findOrCompile(std::move(compile), values));
  }
  if (options.timing)
    printTimes(model.compiled);
  if (model.compiled.executable) {
    for (const TensorInfo &info : model.compiled.executable->signature().inputs)
      model.inputPorts.push_back(portOf(info));
    for (const TensorInfo &info : model.compiled.executable->signature().outputs)
      model.outputPorts.push_back(portOf(info));
  }
  return model;
}

Status Model::findOrCompile(CompileOptions compileOptions, const ValueProvider &values) {
  if (std::string folder = compileOptions.cacheDir; !folder.empty()) {
    auto opened = ModelCache::open(folder, compilerIdentity(), [problems = cacheProblems.get()](const std::string &line) {
      problems->push_back(line);
      printWarning(line);
    });
    if (!opened.ok()) {
      std::string line = "the compile cache is not used: " + opened.status().message();
      // Nobody asked for the folder of the user's own.
      if (options.strict && !options.cache.empty())
        return error(Code::CacheUnusable, "--strict: ", line);
      printWarning(line);
      compileOptions.cacheDir.clear();
    } else if (ModelCache::serves(options.model, compileOptions)) {
      cache = std::make_unique<ModelCache>(*std::move(opened));
    }
  }
  if (cache) {
    auto found = cache->find(options.model, compileOptions, values);
    if (found.ok() && *found) {
      cacheUse_ = "hit";
      compiled = *std::move(*found);
      printWarnings(compiled.remarks);
      return strictly(compiled.remarks);
    }
    cacheUse_ = "miss";
    compileOptions.keepObjects = true;
  }
  GRAPHC_ASSIGN_OR_RETURN(result, compile(options.model, compileOptions, values));
  compiled = std::move(result.model);
  for (const auto &[name, value] : compileOptions.constantInputs) {
    GRAPHC_ASSIGN_OR_RETURN(HostTensor copy, value.clone());
    constantInputs.emplace(name, std::move(copy));
  }
  missed = std::make_unique<CompileOptions>(std::move(compileOptions));
  return {};
}

/// Under --strict a warning is an error, also when it was said by the process that compiled the model.
Status Model::strictly(std::span<const CompileDiagnostic> diagnostics) const {
  for (const CompileDiagnostic &diagnostic : diagnostics)
    if (options.strict && diagnostic.severity == CompileDiagnostic::Warning)
      return error(diagnostic.code == Code::Ok ? Code::CompileFailed : diagnostic.code, "--strict: ", diagnostic.message);
  return {};
}

Status Model::keep() {
  auto unusable = [](const CompileDiagnostic &d) { return d.code == Code::CacheUnusable; };
  // A folder that took no kernels (and was complained about) takes no model either.
  if (cache && missed && compiled.executable && std::none_of(result.diagnostics.begin(), result.diagnostics.end(), unusable)) {
    result.model = std::move(compiled);
    cache->store(options.model, *missed, result);
    compiled = std::move(result.model);
  }
  cache.reset();
  if (options.strict && !options.cache.empty() && !cacheProblems->empty())
    return error(Code::CacheUnusable, "--strict: ", cacheProblems->front());
  return {};
}

Result<std::vector<HostTensor>> Model::run(std::span<const HostTensor> inputs) {
  std::vector<HostTensor> outputs(outputPorts.size());
  if (bindsBuffers()) {
    GRAPHC_ASSIGN_OR_RETURN(auto own, compiled.executable->newContext());
    GRAPHC_RETURN_IF_ERROR(compiled.executable->bind(*own, inputs, outputs));
    GRAPHC_RETURN_IF_ERROR(compiled.executable->runBound(*own));
    return outputs;
  }
  GRAPHC_RETURN_IF_ERROR(compiled.executable->run(inputs, outputs));
  return outputs;
}

Status Model::runAgain(std::span<const HostTensor> inputs, const RunOptions &runOptions) {
  bool bind = bindsBuffers();
  if (!context) {
    GRAPHC_ASSIGN_OR_RETURN(context, compiled.executable->newContext());
    bound.resize(outputPorts.size());
    if (bind)
      GRAPHC_RETURN_IF_ERROR(compiled.executable->bind(*context, inputs, bound));
  }
  return bind ? compiled.executable->runBound(*context, runOptions) : compiled.executable->run(*context, inputs, bound, runOptions);
}

double Model::loadMs() const {
  double ms = 0;
  for (const PhaseTime &time : compiled.times)
    if (time.name == "load")
      ms += time.ms;
  return ms;
}

double Model::compileMs() const { return compiled.compileMs() - loadMs(); }

MemoryReport Model::memory() const {
  MemoryReport report;
  ExecutableStatistics statistics = compiled.executable->statistics();
  report.preparedBytes = statistics.preparedBytes + statistics.packedBytes;
  report.peakBytes = report.preparedBytes;
  if (!context)
    return report;
  MemoryUse use = Executable::measured(*context);
  report.peakBytes += use.arena + use.scratch + use.late;
  for (const HostTensor &output : bound) // bound before the last call, so not counted by it
    report.peakBytes += static_cast<int64_t>(output.sizeBytes());
  return report;
}

} // namespace graphc::tool
