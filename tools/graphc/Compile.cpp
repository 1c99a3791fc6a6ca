// graphc compile: a model as one file that runs without a compiler.
#include "runtime/artifact/Artifact.h"
#include "tools/graphc/Model.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Tensors.h"
#include "tools/graphc/Verb.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>

namespace graphc::tool {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::string output;
  std::vector<std::string> targets;
};

/// Whether `name` is sm_NN or compute_NN of a device that the kernels can run on (8.0 and later), with NVIDIA's suffixes a and f.
bool isArchitecture(std::string_view name) {
  std::string_view number = name.starts_with("sm_") ? name.substr(3) : name.starts_with("compute_") ? name.substr(8) : std::string_view();
  if (number.ends_with('a') || number.ends_with('f'))
    number.remove_suffix(1);
  int value = 0;
  auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  return problem == std::errc() && end == number.data() + number.size() && value >= 80 && value < 1000;
}

/// For a CUDA device, which need not be here.
Result<int> compileForDevice(Options &options) {
  CompileOptions compile;
  compile.planOnly = true;
  for (const std::string &target : options.targets)
    if (!isArchitecture(target))
      return error(Code::InvalidOption, "--targets: '", target, "' is no architecture of a CUDA device from 8.0 on, such as sm_90 or compute_80");
  compile.architectures = options.targets;
  GRAPHC_ASSIGN_OR_RETURN(Model model, Model::load(options.model, options.inputs.provider(), std::move(compile)));
  const CompiledModel &compiled = model.details();
  GRAPHC_RETURN_IF_ERROR(writeDeviceArtifact(options.output, *compiled.plan, compiled.weights));
  std::error_code ignored;
  std::cout << options.output << ": " << std::fixed << std::setprecision(2)
            << static_cast<double>(std::filesystem::file_size(options.output, ignored)) / (1 << 20) << " MiB, kernels for "
            << (options.targets.empty() ? "compute_80" : joined(options.targets)) << ", compiled in " << std::setprecision(0) << model.compileMs()
            << " ms\n" << std::defaultfloat;
  return kExitOk;
}

Result<int> compile(Options &options) {
  GRAPHC_RETURN_IF_ERROR(options.model.check());
  if (options.model.model.ends_with(".gcx"))
    return error(Code::InvalidOption, "'", options.model.model, "' is compiled already");
  if (!options.model.toPhase.empty())
    return error(Code::InvalidOption, "--to-phase has no use here: an artifact needs every phase");
  if (!options.output.ends_with(".gcx"))
    return error(Code::InvalidOption, "-o ", options.output, ": the name of an artifact ends in .gcx");
  if (!options.model.deviceId.isCpu())
    return compileForDevice(options);
  if (options.targets.empty())
    options.targets = {"host"};
  auto host = cpu::hostLevel();
  if (!host)
    return error(Code::DeviceUnavailable, "this machine runs no CPU level (it lacks AVX2), so weights cannot be packed for one");
  CompileOptions compile;
  for (const std::string &target : options.targets) {
    std::string level = target == "host" ? std::string(cpu::levelName(*host)) : target;
    if (!cpu::levelFromName(level))
      return error(Code::InvalidOption, "--targets: '", level, "' is not one of v3, v4, v4-bf16, v4-amx, host");
    if (std::find(compile.objectLevels.begin(), compile.objectLevels.end(), level) == compile.objectLevels.end())
      compile.objectLevels.push_back(level);
  }
  GRAPHC_ASSIGN_OR_RETURN(Model model, Model::load(options.model, options.inputs.provider(), std::move(compile)));
  std::vector<ArtifactKernels> kernels;
  std::vector<std::string> levels;
  for (const LevelObject &object : model.details().objects) {
    kernels.push_back({*cpu::levelFromName(object.level), object.sharedObject});
    levels.push_back(object.level);
  }
  GRAPHC_RETURN_IF_ERROR(writeArtifact(options.output, *model.details().executable, kernels, *host));
  std::error_code ignored;
  std::cout << options.output << ": " << std::fixed << std::setprecision(2)
            << static_cast<double>(std::filesystem::file_size(options.output, ignored)) / (1 << 20) << " MiB, kernels for " << joined(levels)
            << ", compiled in " << std::setprecision(0) << model.compileMs() << " ms\n" << std::defaultfloat;
  return kExitOk;
}

} // namespace

Action declareCompile(CLI::App &app) {
  auto options = std::make_shared<Options>();
  options->model.declare(app);
  options->inputs.declare(app);
  app.add_option("-o,--out", options->output, "the artifact to write, FILE.gcx")->required();
  app.add_option("--targets", options->targets, "what to hold kernels for, by comma: CPU levels v3,v4,v4-bf16,v4-amx or host (default); with --device cuda or sim architectures "
                                                   "sm_80,sm_90,sm_100 (machine code) and compute_80 (PTX, the default)")->delimiter(',');
  return [options] { return compile(*options); };
}

} // namespace graphc::tool
