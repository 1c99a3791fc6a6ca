// graphc-sim-run run MODEL [inputs and expectations as on `graphc run`]: a model on the simulated device as any program runs it, and
// what that costs: kernels, launches, time of NVRTC and of the simulation; with --counters what the simulator counts.
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/PrintTensor.h"
#include "runtime/cudasim/cudasim.h"
#include "runtime/devices/Devices.h"
#include "tools/graphc/Model.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>

using namespace graphc;

namespace {

struct Options {
  std::string model, cache = "off", amp;
  std::vector<std::string> shapes, architectures;
  tool::InputOptions inputs;
  tool::ExpectedOptions expected;
  int threads = 2;
  bool unfused = false, counters = false;
};

/// What the simulator counted of one kernel, over all its launches. Instructions are PTX's.
struct KernelCounters {
  int launches = 0;
  double laneInstructions = 0, globalBytes = 0, sectors = 0, compulsorySectors = 0;
  double occupancy = 0;        // of the last launch
  double microsecondsH200 = 0; // the simulator's estimate, for ranking only
  double hostSeconds = 0;
};

/// Launches since the last call, by kernel.
std::map<std::string, KernelCounters> takeCounters() {
  std::map<std::string, KernelCounters> byName;
  void *simulator = dlopen(simulatorLibrary().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!simulator)
    return byName;
  const GraphcCudasimLaunch *launches = nullptr;
  size_t count = reinterpret_cast<decltype(graphcCudasimLaunches) *>(dlsym(simulator, "graphcCudasimLaunches"))(&launches);
  for (size_t i = 0; i < count; ++i) {
    const GraphcCudasimLaunch &launch = launches[i];
    KernelCounters &sum = byName[launch.kernel];
    ++sum.launches;
    sum.laneInstructions += static_cast<double>(launch.laneInstructions);
    sum.globalBytes += static_cast<double>(launch.globalBytes);
    sum.sectors += static_cast<double>(launch.globalSectors);
    sum.compulsorySectors += static_cast<double>(launch.uniqueLines) * 4;
    sum.occupancy = launch.occupancy;
    sum.microsecondsH200 += launch.microsecondsH200;
    sum.hostSeconds += launch.hostSeconds;
  }
  reinterpret_cast<decltype(graphcCudasimClear) *>(dlsym(simulator, "graphcCudasimClear"))();
  return byName;
}

void printCounters(const std::map<std::string, KernelCounters> &counters) {
  std::vector<std::pair<std::string, KernelCounters>> all(counters.begin(), counters.end());
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.second.microsecondsH200 > b.second.microsecondsH200; });
  KernelCounters total;
  std::cout << "launches    Mlane-instr  lane-instr/B  sectors/compulsory  occupancy  est. us (H200)  sim s  kernel\n" << std::fixed;
  for (const auto &[name, kernel] : all) {
    std::cout << std::setw(8) << kernel.launches << std::setprecision(2) << std::setw(15) << kernel.laneInstructions / 1e6 << std::setw(14)
              << kernel.laneInstructions / std::max(1.0, kernel.globalBytes) << std::setw(20) << kernel.sectors / std::max(1.0, kernel.compulsorySectors)
              << std::setw(11) << kernel.occupancy << std::setw(16) << kernel.microsecondsH200 << std::setw(7) << kernel.hostSeconds << "  " << name << "\n";
    total.launches += kernel.launches;
    total.laneInstructions += kernel.laneInstructions;
    total.globalBytes += kernel.globalBytes;
    total.microsecondsH200 += kernel.microsecondsH200;
  }
  std::cout << "total: " << total.launches << " launches, " << total.laneInstructions / 1e6 << " M lane instructions, " << total.globalBytes / 1e6
            << " MB moved, estimated " << total.microsecondsH200 << " us on an H200\n" << std::defaultfloat;
}

Result<int> run(const Options &options) {
  GRAPHC_ASSIGN_OR_RETURN(Tolerance tolerance, options.expected.tolerance());
  tool::ModelOptions model;
  model.model = options.model;
  model.device = "sim";
  model.threads = options.threads;
  model.shapes = options.shapes;
  model.cache = options.cache;
  model.amp = options.amp;
  GRAPHC_RETURN_IF_ERROR(model.check());
  CompileOptions compile;
  compile.fuse = !options.unfused;
  GRAPHC_ASSIGN_OR_RETURN(tool::Model loaded, tool::Model::load(model, options.inputs.provider(), std::move(compile)));
  double codegen = 0;
  for (const PhaseTime &time : loaded.details().times)
    if (time.name == "codegen")
      codegen = time.ms;
  const plan::PlanT &plan = loaded.details().executable->plan();
  auto isDispatch = [](const auto &command) { return command->action.AsDispatch() != nullptr; };
  std::cout << plan.kernels.size() << " kernels in " << plan.modules.size() << " modules, " << std::count_if(plan.main.begin(), plan.main.end(), isDispatch)
            << " launches a call, codegen " << codegen << " ms\n";
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, options.inputs.resolve(loaded.inputs()));
  GRAPHC_ASSIGN_OR_RETURN(auto expected, options.expected.resolve(loaded.outputs(), options.inputs.testData));
  (void)takeCounters(); // of what ran once
  auto start = std::chrono::steady_clock::now();
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, loaded.run(inputs));
  std::cout << "simulated in " << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s\n";
  if (options.counters)
    printCounters(takeCounters());
  int wrong = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &name = loaded.outputs()[i].name;
    if (!expected[i]) {
      std::cout << name << ": " << tensorText(outputs[i], 8) << "\n";
      continue;
    }
    Comparison comparison = compareTensors(outputs[i], *expected[i], tolerance);
    (comparison.matches ? std::cout : std::cerr) << "output '" << name << "' " << comparison.message << "\n";
    wrong += !comparison.matches;
  }
  return wrong ? 1 : 0;
}

/// Registers, stack and shared memory of every kernel on real architectures; fails when an elementwise or row kernel spills.
Result<int> resources(const Options &options) {
  CompileOptions compile;
  compile.device = "sim";
  compile.planOnly = compile.keepResources = true;
  compile.threads = options.threads;
  compile.shapes = options.shapes;
  compile.architectures = options.architectures;
  compile.keepKernelText = true;
  CompileResult result = compileFile(options.model, compile);
  GRAPHC_RETURN_IF_ERROR(result.status);
  std::set<std::string> tiled;
  for (const KernelText &kernel : result.model.kernels)
    if (kernel.llvmIr.find("_tile[") != std::string::npos)
      tiled.insert(kernel.name);
  int spills = 0, tiledSpills = 0, most = 0;
  for (const auto &kernel : result.model.resources) {
    bool spilt = kernel.spillLoadBytes + kernel.spillStoreBytes > 0;
    (tiled.contains(kernel.kernel) ? tiledSpills : spills) += spilt;
    most = std::max(most, kernel.registers);
    if (spilt)
      std::cout << kernel.architecture << " " << kernel.kernel << ": " << kernel.registers << " registers, " << kernel.stackBytes << " bytes of stack, "
                << kernel.spillStoreBytes << " + " << kernel.spillLoadBytes << " bytes spilt\n";
  }
  std::cout << result.model.resources.size() << " kernels over " << options.architectures.size() << " architectures, at most " << most
            << " registers; " << spills << " spill, of tiles " << tiledSpills << "\n";
  return spills || result.model.resources.empty() ? 1 : 0;
}
} // namespace

int main(int argc, char **argv) {
  CLI::App app("a model's generated CUDA kernels on the simulated device");
  Options options;
  CLI::App &verb = *app.add_subcommand("run");
  verb.add_option("MODEL", options.model)->required();
  verb.add_option("--cache", options.cache);
  verb.add_option("--amp", options.amp);
  verb.add_option("--shape", options.shapes)->take_all();
  verb.add_option("--threads", options.threads);
  verb.add_flag("--counters", options.counters, "what the simulator counts, kernel by kernel (slower)");
  verb.add_flag("--unfused", options.unfused, "one kernel per op");
  options.inputs.declare(verb);
  options.expected.declare(verb);
  CLI::App &report = *app.add_subcommand("resources", "registers and spills of a model's kernels");
  report.add_option("MODEL", options.model)->required();
  report.add_option("--arch", options.architectures, "sm_80, sm_90 …")->required()->take_all();
  report.add_option("--shape", options.shapes)->take_all();
  report.add_option("--threads", options.threads);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  setenv("GRAPHC_CUDASIM", options.counters ? "threads=0,counters=on,gpu=h200" : "check=races,threads=0", options.counters);
  auto code = report.parsed() ? resources(options) : run(options);
  if (!code.ok()) {
    std::cerr << code.status().message() << "\n";
    return 1;
  }
  return *code;
}
