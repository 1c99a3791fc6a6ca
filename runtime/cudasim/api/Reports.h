// Reports, launch records and counts of unsupported calls: what graphcCudasim* hands to programs.
#pragma once

#include "runtime/cudasim/cudasim.h"
#include "runtime/cudasim/engine/Engine.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace graphc::cudasim {

class ReportLog {
public:
  struct Entry {
    std::string kind, text;
    bool isError;
  };
  void setTarget(const std::string &target) { this->target = target; }
  /// `print` writes it to the report target as well.
  void add(std::string kind, std::string text, bool isError, bool print);
  void print(const std::string &text) const;
  void addLaunch(const std::string &kernel, const LaunchConfig &config, const LaunchResult &result,
                 const DeviceModel &model);
  /// True the first time.
  bool countUnsupported(const std::string &name) { return ++unsupported[name] == 1; }

  size_t reports(const GraphcCudasimReport **out);
  size_t launches(const GraphcCudasimLaunch **out);
  size_t unsupportedCalls(const GraphcCudasimCall **out);
  void clear();

private:
  static constexpr size_t keptReports = 10000, keptLaunches = 100000;
  std::string target = "stderr";
  std::deque<Entry> entries;
  struct Launch {
    std::string kernel, table;
    GraphcCudasimLaunch values;
  };
  std::deque<Launch> launchEntries;
  std::map<std::string, uint64_t> unsupported;
  std::vector<GraphcCudasimReport> reportView;
  std::vector<GraphcCudasimLaunch> launchView;
  std::vector<GraphcCudasimCall> callView;
};

} // namespace graphc::cudasim
