#include "runtime/cudasim/api/Reports.h"

#include <cstdio>

namespace graphc::cudasim {

void ReportLog::add(std::string kind, std::string text, bool isError, bool printIt) {
  if (printIt)
    print("==== graphc-cudasim: " + kind + "\n" + text + (text.ends_with('\n') ? "" : "\n"));
  if (entries.size() < keptReports)
    entries.push_back({std::move(kind), std::move(text), isError});
}

void ReportLog::print(const std::string &text) const {
  if (target == "none")
    return;
  if (target == "stderr") {
    std::fputs(text.c_str(), stderr);
    return;
  }
  if (FILE *file = std::fopen(target.c_str(), "a")) {
    std::fputs(text.c_str(), file);
    std::fclose(file);
    return;
  }
  std::fprintf(stderr, "graphc-cudasim: report file %s cannot be written; the report follows\n%s", target.c_str(),
               text.c_str());
}

void ReportLog::addLaunch(const std::string &kernel, const LaunchConfig &config, const LaunchResult &result,
                          const DeviceModel &) {
  if (launchEntries.size() >= keptLaunches)
    return;
  const Counters &counters = result.counters;
  std::vector<DeviceModel> models;
  for (const char *name : {"A100", "H200", "RTX4090"})
    models.push_back(*DeviceModel::named(name));
  GraphcCudasimLaunch values = {};
  const uint32_t grid[] = {config.grid.x, config.grid.y, config.grid.z};
  const uint32_t block[] = {config.block.x, config.block.y, config.block.z};
  for (int i = 0; i < 3; ++i) {
    values.grid[i] = grid[i];
    values.block[i] = block[i];
  }
  values.sharedBytes = config.dynamicSharedBytes;
  values.hostSeconds = result.seconds;
  values.microsecondsA100 = estimateMicroseconds(counters, models[0], config);
  values.microsecondsH200 = estimateMicroseconds(counters, models[1], config);
  values.microsecondsRTX4090 = estimateMicroseconds(counters, models[2], config);
  values.warpInstructions = counters.warpInstructions;
  values.laneInstructions = counters.laneInstructions;
  values.globalSectors = counters.globalSectors;
  values.globalIdealSectors = counters.globalIdealSectors;
  values.globalBytes = counters.globalBytes;
  values.uniqueLines = counters.uniqueLines;
  values.sharedCycles = counters.sharedCycles;
  values.sharedIdealCycles = counters.sharedIdealCycles;
  values.branches = counters.branches;
  values.divergentBranches = counters.divergentBranches;
  values.mma = counters.mma;
  values.occupancy = counters.occupancy;
  launchEntries.push_back({kernel, formatCounters(counters, config, models), values});
}

size_t ReportLog::reports(const GraphcCudasimReport **out) {
  reportView.clear();
  for (const Entry &entry : entries)
    reportView.push_back({entry.kind.c_str(), entry.text.c_str(), entry.isError ? 1 : 0});
  if (out)
    *out = reportView.data();
  return reportView.size();
}

size_t ReportLog::launches(const GraphcCudasimLaunch **out) {
  launchView.clear();
  for (const Launch &launch : launchEntries) {
    launchView.push_back(launch.values);
    launchView.back().kernel = launch.kernel.c_str();
    launchView.back().table = launch.table.c_str();
  }
  if (out)
    *out = launchView.data();
  return launchView.size();
}

size_t ReportLog::unsupportedCalls(const GraphcCudasimCall **out) {
  callView.clear();
  for (const auto &[name, count] : unsupported)
    callView.push_back({name.c_str(), count});
  if (out)
    *out = callView.data();
  return callView.size();
}

void ReportLog::clear() {
  entries.clear();
  launchEntries.clear();
  unsupported.clear();
  reportView.clear();
  launchView.clear();
  callView.clear();
}

} // namespace graphc::cudasim
