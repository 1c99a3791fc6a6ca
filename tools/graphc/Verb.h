// A verb of the tool: `graphc run`, `graphc bench`, … One file per verb; Verbs.cpp is the list.
#pragma once

#include "runtime/base/Status.h"

#include <CLI/App.hpp>

#include <functional>
#include <span>
#include <string_view>

namespace graphc::tool {

/// What the process says to its caller.
enum ExitCode : int {
  kExitOk = 0,
  kExitModel = 1,       // the model or an input is at fault
  kExitCommandLine = 2, // the command line is
  kExitDevice = 3,      // the device or the environment is
  kExitInternal = 4,    // we are
  kExitMismatch = 5,    // everything ran, the numbers differ
};

/// Runs the verb after its options were parsed; an error becomes the first line on stderr and the exit code.
using Action = std::function<Result<int>()>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view example; // whole command lines, shown by --help
  /// Declares the options on `app` and returns what runs afterwards.
  Action (*declare)(CLI::App &app);
  /// Of a verb that this build does not have: what to use instead. Empty otherwise.
  std::string_view notYet = {};
};

std::span<const Verb> verbs();

Action declareRun(CLI::App &app);
Action declareInspect(CLI::App &app);
Action declareBench(CLI::App &app);
Action declareVerify(CLI::App &app);
Action declareCompile(CLI::App &app);
Action declareCache(CLI::App &app);
Action declareDevices(CLI::App &app);
Action declareDoctor(CLI::App &app);

} // namespace graphc::tool
