// graphc inspect: what a model becomes on its way to machine code.
#include "frontend/compile/CompilerLibrary.h"
#include "runtime/plan/PlanText.h"
#include "tools/graphc/KernelImages.h"
#include "tools/graphc/Model.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Tensors.h"
#include "tools/graphc/Verb.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <regex>

namespace graphc::tool {
namespace {

struct InspectOptions {
  ModelOptions model;
  InputOptions inputs;
  std::string phase, kernel, graph, remarks;
  bool phases = false, plan = false, kernels = false, llvm = false, assembly = false, cuda = false, ptx = false, sass = false;
};

Status printPhases() {
  GRAPHC_ASSIGN_OR_RETURN(const CompilerEntry *compiler, openCompiler());
  for (const PhaseInfo &phase : compiler->phaseList())
    std::cout << phase.name << std::string(phase.name.size() < 12 ? 12 - phase.name.size() : 1, ' ') << phase.does << "\n";
  return {};
}

/// The phase's IR; an error lists the phases.
Result<std::string> phaseText(const CompiledModel &model, const std::string &name) {
  std::vector<std::string> known;
  for (const auto &[phase, text] : model.phases) {
    if (phase == name)
      return text;
    known.push_back(phase);
  }
  return error(Code::InvalidOption, "--phase ", name, " is unknown; the phases are ", joined(known));
}

std::string mebibytes(int64_t bytes) { return text(std::fixed, std::setprecision(2), static_cast<double>(bytes) / (1 << 20), " MiB"); }

const char *kindOf(const plan::CommandT &command) {
  switch (command.action.type) {
  case plan::Action::Dispatch: return "kernels";
  case plan::Action::Library: return "library calls";
  case plan::Action::Routine: return "routines";
  case plan::Action::Copy: return "copies";
  case plan::Action::Fill: return "fills";
  case plan::Action::Check: return "checks";
  case plan::Action::Bind: return "size bindings";
  case plan::Action::If: return "branches";
  case plan::Action::Loop: return "loops";
  default: return "others";
  }
}

void printSummary(const InspectOptions &options, const Model &model) {
  const Executable &executable = *model.details().executable;
  std::cout << "model       " << options.model.model << ", for " << options.model.device
            << (model.details().cpuLevel.empty() ? "" : " level " + model.details().cpuLevel) << "\n";
  for (const Port &port : model.inputs())
    std::cout << "input       " << port.name << ": " << port.typeText() << "\n";
  for (const Port &port : model.outputs())
    std::cout << "output      " << port.name << ": " << port.typeText() << "\n";
  for (const SymbolInfo &symbol : executable.signature().symbols) {
    std::cout << "size        " << symbol.name << " from " << symbol.lo;
    if (symbol.hi < std::numeric_limits<int64_t>::max() / 2)
      std::cout << " to " << symbol.hi;
    if (symbol.multiple > 1)
      std::cout << ", a multiple of " << symbol.multiple;
    std::cout << "\n";
  }
  std::map<std::string, int> counts;
  double flops = 0;
  for (const auto &command : executable.plan().main) {
    ++counts[kindOf(*command)];
    flops += command->flops;
  }
  std::vector<std::string> parts;
  for (const auto &[kind, count] : counts)
    parts.push_back(text(count, " ", kind));
  std::cout << "plan        " << executable.plan().main.size() << " commands: " << joined(parts) << "; " << executable.plan().prepare.size()
            << " to prepare weights\n";
  if (flops > 0)
    std::cout << "work        " << std::setprecision(4) << flops / 1e6 << " Mflop a call\n" << std::setprecision(6);
  ExecutableStatistics statistics = executable.statistics();
  std::cout << "weights     " << mebibytes(statistics.weightBytes) << ", prepared " << mebibytes(statistics.preparedBytes) << ", packed "
            << mebibytes(statistics.packedBytes) << "\n";
  std::vector<Shape> shapes;
  bool fixed = true;
  for (const Port &port : model.inputs()) {
    std::vector<int64_t> sizes;
    for (const auto &dim : port.dims) {
      fixed &= dim.has_value();
      sizes.push_back(dim.value_or(1));
    }
    shapes.emplace_back(std::move(sizes));
  }
  if (auto use = executable.predict(shapes); use.ok())
    std::cout << "memory      " << (fixed ? "" : "with symbolic sizes of 1: ") << "arena " << mebibytes(use->arena) << ", scratch " << mebibytes(use->scratch)
              << ", outputs " << mebibytes(use->outputs) << "; peak "
              << mebibytes(use->callTotal() + statistics.preparedBytes + statistics.packedBytes) << "\n";
  std::cout << "compiled in " << std::fixed << std::setprecision(0) << model.compileMs() << " ms, loaded in " << model.loadMs() << " ms\n" << std::defaultfloat;
}

/// Which implementation the library chose for each call, then the kernels.
Status printKernels(const InspectOptions &options, const CompiledModel &model) {
  bool found = options.kernel.empty();
  for (const KernelText &kernel : model.kernels) {
    if (!options.kernel.empty() && kernel.name != options.kernel)
      continue;
    found = true;
    std::cout << "kernel " << kernel.name << ": " << joined(kernel.sourceOps) << "\n";
    if (options.llvm || options.cuda)
      std::cout << kernel.llvmIr << "\n";
    if (options.assembly)
      std::cout << kernel.assembly << "\n";
    if (!options.ptx && !options.sass)
      continue;
    const plan::PlanT &plan = model.executable->plan();
    for (const auto &entry : plan.kernels) {
      if (entry->symbol != kernel.name)
        continue;
      if (options.ptx) {
        GRAPHC_ASSIGN_OR_RETURN(std::string ptx, ptxOf(plan, *entry));
        std::cout << ptx << "\n";
      }
      if (options.sass) {
        GRAPHC_ASSIGN_OR_RETURN(std::string sass, sassOf(plan, *entry));
        std::cout << sass << "\n";
      }
      break;
    }
  }
  if (!found) {
    std::vector<std::string> names;
    for (const KernelText &kernel : model.kernels)
      names.push_back(kernel.name);
    return error(Code::InvalidOption, "--kernel ", options.kernel, " is unknown; the kernels are ", joined(names));
  }
  if (!options.kernel.empty())
    return {};
  for (size_t i = 0; i < model.executable->plan().main.size(); ++i)
    if (std::string chosen = model.executable->implementation(static_cast<int>(i)); !chosen.empty())
      std::cout << "library " << model.executable->plan().main[i]->name << ": " << chosen << "\n";
  return {};
}

Status printRemarks(const std::string &filter, const CompiledModel &model) {
  std::regex pattern;
  try {
    pattern = std::regex(filter);
  } catch (const std::regex_error &) {
    return error(Code::InvalidOption, "--remarks=", filter, " is not a regular expression");
  }
  for (const CompileDiagnostic &remark : model.remarks)
    if (std::regex_search(remark.message, pattern))
      std::cout << remark.message << "\n";
  return {};
}

Result<int> inspect(InspectOptions &options) {
  if (options.phases) {
    GRAPHC_RETURN_IF_ERROR(printPhases());
    return kExitOk;
  }
  if (options.model.model.empty())
    return error(Code::InvalidOption, "MODEL is required (see graphc inspect --help)");
  GRAPHC_RETURN_IF_ERROR(options.model.check());
  bool cpu = options.model.deviceId.isCpu();
  if (!cpu && (options.llvm || options.assembly))
    return error(Code::InvalidOption, "kernels for ", options.model.device, " are CUDA C++, PTX and machine code: use --cuda, --ptx or --sass");
  if (cpu && (options.cuda || options.ptx || options.sass))
    return error(Code::InvalidOption, "kernels for the cpu are LLVM IR and assembly: use --llvm or --asm, or --device sim");
  CompileOptions compile;
  compile.keepPhaseText = !options.phase.empty() || !options.graph.empty();
  bool kernels = options.kernels || options.llvm || options.assembly || options.cuda || options.ptx || options.sass || !options.kernel.empty();
  compile.keepKernelText = kernels;
  compile.remarks = !options.remarks.empty();
  GRAPHC_ASSIGN_OR_RETURN(Model model, Model::load(options.model, options.inputs.provider(), std::move(compile)));
  const CompiledModel &details = model.details();

  bool asked = false;
  if (!options.graph.empty()) {
    std::string phase = options.phase.empty() ? "import" : options.phase;
    GRAPHC_ASSIGN_OR_RETURN(std::string ir, phaseText(details, phase));
    GRAPHC_ASSIGN_OR_RETURN(const CompilerEntry *compiler, openCompiler());
    GRAPHC_RETURN_IF_ERROR(compiler->writeGraphPicture(ir, std::filesystem::path(options.model.model).filename().string() + ", phase " + phase, options.graph));
    asked = true;
  } else if (!options.phase.empty()) {
    GRAPHC_ASSIGN_OR_RETURN(std::string ir, phaseText(details, options.phase));
    std::cout << ir << "\n";
    asked = true;
  }
  if (!options.remarks.empty()) {
    GRAPHC_RETURN_IF_ERROR(printRemarks(options.remarks, details));
    asked = true;
  }
  if (!model.runnable()) {
    if (!asked)
      std::cerr << "graphc: stopped after phase " << options.model.toPhase << "\n";
    return kExitOk;
  }
  if (options.plan) {
    std::cout << plan::planText(details.executable->plan());
    asked = true;
  }
  if (kernels) {
    GRAPHC_RETURN_IF_ERROR(printKernels(options, details));
    asked = true;
  }
  if (!asked)
    printSummary(options, model);
  return kExitOk;
}

} // namespace

Action declareInspect(CLI::App &app) {
  auto options = std::make_shared<InspectOptions>();
  options->model.declare(app);
  app.get_option("MODEL")->required(false); // --phases needs none
  options->inputs.declare(app);
  app.add_flag("--phases", options->phases, "list the phases with what each does");
  app.add_option("--phase", options->phase, "print the module after this phase");
  app.add_flag("--plan", options->plan, "print the runtime's plan");
  app.add_flag("--kernels", options->kernels, "list kernels with the ops they came from, and the library's choices");
  app.add_option("--kernel", options->kernel, "only this kernel");
  app.add_flag("--llvm", options->llvm, "print the kernels' LLVM IR (cpu)");
  app.add_flag("--asm", options->assembly, "print the kernels' assembly (cpu)");
  app.add_flag("--cuda", options->cuda, "print the kernels' CUDA C++ (sim, cuda)");
  app.add_flag("--ptx", options->ptx, "print the kernels' PTX (sim, cuda)");
  app.add_flag("--sass", options->sass, "print the kernels' machine code (cuda; needs nvdisasm)");
  app.add_flag("--remarks{.}", options->remarks, "what was decided and why; --remarks=REGEX filters");
  app.add_option("--graph", options->graph, "draw a phase (default import) into FILE.svg, FILE.html or FILE.dot");
  return [options] { return inspect(*options); };
}

} // namespace graphc::tool
