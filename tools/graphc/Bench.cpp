// graphc bench: warm up, call for a while, say how long calls take and whether the machine was quiet.
#include "tools/graphc/LatencySummary.h"
#include "tools/graphc/Model.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/SlowestCommands.h"
#include "tools/graphc/Tensors.h"
#include "tools/graphc/Verb.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>

namespace graphc::tool {
namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

struct BenchOptions {
  ModelOptions model;
  InputOptions inputs;
  double seconds = 2;
  bool json = false;
  int slowest = 0;
};

/// Resident memory of this process.
int64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct Measurement {
  double firstRunMs = 0;
  std::vector<double> latenciesMs;
};

Result<Measurement> measure(Model &model, std::span<const HostTensor> inputs, double seconds) {
  Measurement result;
  auto start = Clock::now();
  GRAPHC_RETURN_IF_ERROR(model.runAgain(inputs));
  result.firstRunMs = msSince(start);
  // Warm-up: caches, the library's primitives, the clock of the processor. A tenth of the time, at least three calls.
  double warmUpMs = std::min(500.0, seconds * 100);
  start = Clock::now();
  for (int calls = 0; calls < 3 || (msSince(start) < warmUpMs && calls < 100000); ++calls)
    GRAPHC_RETURN_IF_ERROR(model.runAgain(inputs));
  start = Clock::now();
  result.latenciesMs.reserve(1 << 16);
  do {
    auto before = Clock::now();
    GRAPHC_RETURN_IF_ERROR(model.runAgain(inputs));
    result.latenciesMs.push_back(msSince(before));
  } while (msSince(start) < seconds * 1000);
  return result;
}

std::string shortMs(double ms) {
  std::ostringstream out;
  if (ms < 1)
    out << std::setprecision(4) << ms * 1000 << " us";
  else
    out << std::setprecision(4) << ms << " ms";
  return out.str();
}

std::string shortBytes(int64_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1 << 20) << " MiB";
  return out.str();
}

Result<int> bench(BenchOptions &options) {
  GRAPHC_RETURN_IF_ERROR(options.model.check());
  if (!(options.seconds > 0) || options.seconds > 3600)
    return error(Code::InvalidOption, "--seconds ", options.seconds, " is out of range; more than 0, at most 3600");
  GRAPHC_ASSIGN_OR_RETURN(Model model, Model::load(options.model, options.inputs.provider()));
  if (!model.runnable()) {
    std::cerr << "graphc: stopped after phase " << options.model.toPhase << "\n";
    return kExitOk;
  }
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, options.inputs.resolve(model.inputs()));
  GRAPHC_ASSIGN_OR_RETURN(Measurement measured, measure(model, inputs, options.seconds));
  GRAPHC_RETURN_IF_ERROR(model.keep());
  std::vector<CommandCost> costs;
  if (options.slowest > 0) {
    GRAPHC_ASSIGN_OR_RETURN(costs, costOfCommands(model, inputs, std::min(0.5, options.seconds)));
    costs.resize(std::min(costs.size(), static_cast<size_t>(options.slowest)));
  }

  LatencySummary summary = summarise(measured.latenciesMs);
  MemoryReport memory = model.memory();
  int64_t resident = residentBytes();
  const char *noise = summary.noisy ? "noisy" : "quiet";
  if (options.json) {
    nlohmann::ordered_json json;
    json["latency_ms"] = {{"min", summary.minMs}, {"mean", summary.meanMs}, {"p50", summary.p50Ms},
                          {"p90", summary.p90Ms}, {"p95", summary.p95Ms},   {"p99", summary.p99Ms}};
    json["throughput"] = summary.perSecond;
    json["compile_ms"] = model.compileMs();
    json["load_ms"] = model.loadMs();
    json["first_run_ms"] = measured.firstRunMs;
    json["peak_bytes"] = memory.peakBytes;
    json["rss_bytes"] = resident;
    json["noise"] = noise;
    json["device"] = options.model.device;
    json["threads"] = options.model.threads;
    json["mode"] = options.model.mode;
    json["cache"] = model.cacheUse();
    json["calls"] = measured.latenciesMs.size();
    for (const CommandCost &cost : costs)
      json["slowest"].push_back({{"command", cost.name}, {"us", cost.us}, {"share", cost.share}});
    std::cout << json.dump() << "\n";
    return kExitOk;
  }
  std::cout << "latency     min " << shortMs(summary.minMs) << ", mean " << shortMs(summary.meanMs) << ", p50 " << shortMs(summary.p50Ms) << ", p90 "
            << shortMs(summary.p90Ms) << ", p95 " << shortMs(summary.p95Ms) << ", p99 " << shortMs(summary.p99Ms) << "\n"
            << "throughput  " << std::setprecision(5) << summary.perSecond << " calls/s (" << measured.latenciesMs.size() << " calls)\n"
            << "start       compile " << shortMs(model.compileMs()) << ", load " << shortMs(model.loadMs()) << ", first run " << shortMs(measured.firstRunMs)
            << "\n"
            << "memory      peak " << shortBytes(memory.peakBytes) << " planned by the runtime, " << shortBytes(resident) << " resident\n"
            << "setting     " << options.model.device << ", " << options.model.threads << " thread" << (options.model.threads == 1 ? "" : "s") << ", mode "
            << options.model.mode << "; the machine was " << noise << (summary.noisy ? ": repeat before trusting small differences" : "") << "\n";
  for (const CommandCost &cost : costs)
    std::cout << (&cost == costs.data() ? "slowest     " : "            ") << std::fixed << std::setprecision(1) << cost.us << " us, " << std::setprecision(0)
              << cost.share * 100 << " %: " << cost.name << "\n" << std::defaultfloat;
  return kExitOk;
}

} // namespace

Action declareBench(CLI::App &app) {
  auto options = std::make_shared<BenchOptions>();
  options->model.declare(app);
  options->inputs.declare(app);
  app.add_option("--seconds", options->seconds, "how long to measure after the warm-up (default 2)");
  app.add_option("--slowest", options->slowest, "name so many commands that cost most")->check(CLI::NonNegativeNumber);
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] { return bench(*options); };
}

} // namespace graphc::tool
