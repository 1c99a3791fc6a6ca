// Options that mean the same on every verb that takes a MODEL.
#pragma once

#include "runtime/base/DeviceId.h"
#include "runtime/base/Status.h"

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace graphc::tool {

struct ModelOptions {
  std::string model;
  std::string device = "cpu";
  DeviceId deviceId; // the same, after check()
  int threads = 0; // 0: as many as the machine has cores
  std::string mode = "default";
  std::string amp;
  std::vector<std::string> shapes;
  std::string cpuLevel = "host";
  std::string cache = "off"; // or a folder; "" after declare(): the user's own
  bool strict = false;
  // Seeing the compiler at work.
  std::string dumpPhases, fromPhase, toPhase, printIrAfter;
  bool timing = false;

  void declare(CLI::App &app);
  /// Empty when no cache is used.
  std::string cacheFolder() const;
  /// Refuses what this build does not have, by name; fills in the number of threads.
  Status check();
};

} // namespace graphc::tool
