#include "tools/graphc/Options.h"

#include "tools/graphc/Machine.h"

#include <algorithm>
#include <array>
#include <sched.h>
#include <string_view>
#include <thread>

namespace graphc::tool {
namespace {

constexpr std::array<std::string_view, 5> kCpuLevels = {"v3", "v4", "v4-bf16", "v4-amx", "host"};
constexpr std::array<std::string_view, 3> kModes = {"default", "reduce-overhead", "max-autotune"};

template <typename Range>
bool has(const Range &range, std::string_view value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

/// Cores this process may use: a container or taskset may allow fewer than the machine has.
int usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace

void ModelOptions::declare(CLI::App &app) {
  app.add_option("MODEL", model, ".onnx, .mlir or .gcx file")->required();
  app.add_option("--device", device, "cpu (default), sim[:N] or cuda[:N]");
  app.add_option("--threads", threads, "threads of one run (default: all cores)");
  app.add_option("--mode", mode, "default, reduce-overhead (buffers bound and addresses resolved once, for many calls) or max-autotune");
  app.add_option("--amp", amp, "compute in bf16 or fp16 where the operator classes allow it");
  app.add_option("--shape", shapes, "sizes of an input: NAME=[1..64]x3x?x224 ('?' and ranges stay symbolic)")->take_all();
  app.add_option("--cpu-level", cpuLevel, "instructions to use: v3, v4, v4-bf16, v4-amx or host (default)");
  cache.clear();
  app.add_option("--cache", cache, "folder where what was compiled is kept and found again, or off (default: $XDG_CACHE_HOME/graphc or ~/.cache/graphc)")
      ->envname("GRAPHC_CACHE");
  app.add_flag("--strict", strict, "what could not be done as asked is an error instead of a remark");
  app.add_option("--dump-phases", dumpPhases, "write the module after each phase into this folder as numbered .mlir files");
  app.add_option("--from-phase", fromPhase, "MODEL is a dump taken after this phase; resume behind it");
  app.add_option("--to-phase", toPhase, "stop after this phase");
  app.add_option("--print-ir-after", printIrAfter, "print the module on stderr after this pass");
  app.add_flag("--timing", timing, "print how long each phase took on stderr");
}

std::string ModelOptions::cacheFolder() const { return cache == "off" ? "" : cache.empty() ? tool::cacheFolder() : cache; }

Status ModelOptions::check() {
  GRAPHC_ASSIGN_OR_RETURN(deviceId, DeviceId::parse(device));
  if (threads < 0 || threads > 1024)
    return error(Code::InvalidOption, "--threads ", threads, " is out of range; 1 to 1024, or 0 for all cores");
  if (threads == 0)
    threads = usableCores();
  if (!has(kModes, mode))
    return error(Code::InvalidOption, "--mode ", mode, " is unknown; valid are ", joined(kModes));
  if (mode == "max-autotune")
    return error(Code::InvalidOption, "--mode ", mode, " is not in this build; use --mode default or reduce-overhead");
  if (!amp.empty() && amp != "bf16" && amp != "fp16")
    return error(Code::InvalidOption, "--amp ", amp, " is unknown; valid are bf16 and fp16");
  if (amp == "fp16" && device == "cpu")
    return error(Code::InvalidOption, "--amp fp16 is not for the cpu, which has no fp16 products; use --amp bf16");
  if (!has(kCpuLevels, cpuLevel))
    return error(Code::InvalidOption, "--cpu-level ", cpuLevel, " is unknown; valid are ", joined(kCpuLevels));
  for (const std::string &shape : shapes)
    if (shape.find('=') == std::string::npos || shape.front() == '=' || shape.back() == '=')
      return error(Code::InvalidOption, "--shape ", shape, ": expected NAME=SIZES such as x=[1..64]x3x?x224");
  return {};
}

} // namespace graphc::tool
