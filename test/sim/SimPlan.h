// Walks a plan for CUDA on the simulated device, one command after the other on one stream: what the generated kernels compute,
// without the runtime's streams, pools and graphs. Every check of the simulator is on, and a report is an error.
#pragma once

#include "frontend/compile/Compiler.h"
#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace graphc::test {

/// What the simulator counted of one kernel, over all its launches. Instructions are PTX's.
struct KernelCounters {
  std::string kernel;
  int launches = 0;
  double laneInstructions = 0, globalBytes = 0, sectors = 0, compulsorySectors = 0;
  double occupancy = 0;          // of the last launch
  double microsecondsH200 = 0;   // the simulator's estimate, for ranking only
};

struct SimRun {
  std::vector<HostTensor> outputs;
  int launches = 0;
  int64_t bytesTouched = 0; // sizes of the buffers of every launch, added up
  double seconds = 0;       // of the main list
  std::vector<KernelCounters> counters; // where the simulator counts (counters=on), dearest first
};

class SimPlan {
public:
  /// Compiles for the simulated device, as `options` say otherwise; NVRTC and the simulator must be there.
  static Result<std::unique_ptr<SimPlan>> compile(const std::string &path, CompileOptions &options);
  ~SimPlan();

  const CompiledModel &compiled() const;
  Result<SimRun> run(std::span<const HostTensor> inputs);

private:
  SimPlan();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace graphc::test
