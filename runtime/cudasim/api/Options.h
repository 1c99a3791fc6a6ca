// The options of the simulator: one plain struct, parsed from "key=value,key=value".
#pragma once

#include "runtime/cudasim/engine/Engine.h"
#include "runtime/cudasim/stream/Scheduler.h"

#include <string>
#include <string_view>

namespace graphc::cudasim {

struct Options {
  unsigned devices = 1;
  DeviceModel model = *DeviceModel::named("A100");
  uint64_t memoryBytes = uint64_t(16) << 30;
  uint64_t seed = 0;
  SchedulePolicy schedule = SchedulePolicy::Lazy;
  unsigned hostThreads = 1;
  Checks checks;
  bool streams = true;
  bool hostWatch = true;
  bool failOnFinding = true;
  bool counters = false;
  std::string report = "stderr";
  unsigned idleMs = 1000;
  uint64_t stepBudget = 0;
  uint32_t stackBytes = 1024;
  /// One of the options that shape devices was given.
  bool shapesDevices = false;
};

/// Applies `text` to `options`, all or nothing. False with a message that names the option and what it accepts.
bool parseOptions(std::string_view text, Options &options, std::string &error);

} // namespace graphc::cudasim
