// graphc-sim-run run MODEL [inputs and expectations as on `graphc run`]: a model's generated CUDA kernels on the simulated device, with
// what they cost: kernels, launches, bytes of their buffers, time of NVRTC and of the simulation.
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/PrintTensor.h"
#include "test/sim/SimPlan.h"
#include "tools/graphc/Tensors.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <set>

using namespace graphc;
using namespace graphc::test;

namespace {

struct Options {
  std::string model, cache;
  std::vector<std::string> shapes, architectures;
  tool::InputOptions inputs;
  tool::ExpectedOptions expected;
  int threads = 2;
  bool unfused = false, counters = false;
};

std::vector<tool::Port> portsOf(const plan::PlanT &plan, const std::vector<std::unique_ptr<plan::ParamT>> &params) {
  std::vector<tool::Port> ports;
  for (const auto &param : params) {
    const plan::BufferT &buffer = *plan.buffers[param->buffer];
    tool::Port port{param->name, plan::toDType(buffer.dtype), {}, {}};
    for (int dim : buffer.dims) {
      const plan::Expr &expr = plan.exprs[dim];
      port.dims.push_back(expr.op() == plan::ExprOp::Const ? std::optional(expr.value()) : std::nullopt);
      port.dimNames.push_back("?");
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

Result<std::unique_ptr<SimPlan>> compile(const Options &options) {
  CompileOptions compile;
  compile.threads = options.threads;
  compile.shapes = options.shapes;
  compile.cacheDir = options.cache;
  compile.fuse = !options.unfused;
  compile.keepKernelText = true;
  std::set<std::string> asked;
  while (true) {
    auto plan = SimPlan::compile(options.model, compile);
    if (plan.ok())
      return plan;
    // Sizes may depend on the values of inputs.
    CompileResult once = compileFile(options.model, compile);
    bool more = false;
    for (const std::string &wanted : once.valueInputs)
      for (size_t i = 0; i < once.inputNames.size(); ++i)
        if (once.inputNames[i] == wanted && asked.insert(wanted).second) {
          GRAPHC_ASSIGN_OR_RETURN(auto value, options.inputs.valueOf(once.inputNames, i));
          if (value) {
            compile.constantInputs.emplace(wanted, std::move(*value));
            more = true;
          }
        }
    if (!more)
      return plan.status();
  }
}

Result<int> run(const Options &options) {
  GRAPHC_ASSIGN_OR_RETURN(Tolerance tolerance, options.expected.tolerance());
  GRAPHC_ASSIGN_OR_RETURN(std::unique_ptr<SimPlan> plan, compile(options));
  const plan::PlanT &steps = *plan->compiled().plan;
  auto inputPorts = portsOf(steps, steps.inputs), outputPorts = portsOf(steps, steps.outputs);
  double codegen = 0;
  for (const PhaseTime &time : plan->compiled().times)
    if (time.name == "codegen")
      codegen = time.ms;
  std::cout << steps.kernels.size() << " kernels in " << steps.modules.size() << " modules, codegen " << codegen << " ms\n";
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, options.inputs.resolve(inputPorts));
  GRAPHC_ASSIGN_OR_RETURN(auto expected, options.expected.resolve(outputPorts, options.inputs.testData));
  GRAPHC_ASSIGN_OR_RETURN(SimRun done, plan->run(inputs));
  std::cout << done.launches << " launches over " << done.bytesTouched << " bytes, simulated in " << done.seconds << " s\n";
  if (options.counters) {
    std::cout << "launches  lane-instr/B  sectors/compulsory  occupancy  est. us (H200)  kernel\n";
    for (const KernelCounters &kernel : done.counters)
      std::cout << std::setw(8) << kernel.launches << std::fixed << std::setprecision(2) << std::setw(14)
                << kernel.laneInstructions / std::max(1.0, kernel.globalBytes) << std::setw(20)
                << kernel.sectors / std::max(1.0, kernel.compulsorySectors) << std::setw(11) << kernel.occupancy << std::setw(16)
                << kernel.microsecondsH200 << "  " << kernel.kernel << "\n" << std::defaultfloat;
  }
  int wrong = 0;
  for (size_t i = 0; i < done.outputs.size(); ++i) {
    const std::string &name = outputPorts[i].name;
    if (!expected[i]) {
      std::cout << name << ": " << tensorText(done.outputs[i], 8) << "\n";
      continue;
    }
    Comparison comparison = compareTensors(done.outputs[i], *expected[i], tolerance);
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
    if (kernel.llvmIr.find("row_tile") != std::string::npos)
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
  if (options.counters)
    setenv("GRAPHC_CUDASIM", "report=none,threads=0,counters=on,gpu=h200", 1);
  auto code = report.parsed() ? resources(options) : run(options);
  if (!code.ok()) {
    std::cerr << code.status().message() << "\n";
    return 1;
  }
  return *code;
}
