// One piece of queued device work: what it does (`Action`), what it must follow, and where it stands in time.
//
// Streams, events and graphs all come down to operations with explicit dependencies. The order that a program asked for
// is known when it makes the call, so the vector clock is computed then; when the work runs is the scheduler's choice.
#pragma once

#include "runtime/cudasim/stream/AccessHistory.h"

#include <memory>
#include <string>
#include <vector>

namespace graphc::cudasim {

struct Context;
class Operation;
using OperationRef = std::shared_ptr<Operation>;

/// What an operation does. Shared between a graph's node and all its launches, so it holds no run state.
class Action {
public:
  virtual ~Action() = default;
  virtual std::string describe() const = 0;
  /// The CUgraphNodeType of a graph node that does this; 5 is CU_GRAPH_NODE_TYPE_EMPTY.
  virtual int nodeType() const { return 5; }
  virtual void run(Operation &operation) = 0;
  /// A wait on a memory value is the only thing that can be unready once its dependencies are done.
  virtual bool ready(const Operation &) const { return true; }
  /// Whether it may touch host memory that it cannot name beforehand (kernels).
  virtual bool touchesAnything() const { return false; }
  /// Called once when it is queued (not when it is captured): arms the watches on host memory.
  virtual void queued(Operation &) {}
  /// Host functions run with the driver unlocked: they may block on other threads of the program.
  virtual bool callsHost() const { return false; }
  /// Whether it still runs after the context failed (time stamps, frees).
  virtual bool survivesFailure() const { return false; }
};

class Operation {
public:
  Context *context = nullptr;
  std::shared_ptr<Action> action;
  std::shared_ptr<const OperationInfo> info;
  VectorClock clock;
  Moment moment;
  uint64_t sequence = 0;
  std::vector<OperationRef> dependencies; ///< dropped when done, so that history is not kept alive
  std::vector<Operation *> successors;    ///< pending ones; they keep this one alive
  unsigned waitingFor = 0;                ///< dependencies not done
  bool running = false, done = false;
  bool failed = false;                    ///< skipped or failed with its context
  uint64_t wanted = 0;                    ///< the scheduler's mark
  uint64_t priority = 0;                  ///< seeded
  double modelSeconds = 0;                ///< duration on the modelled device
  double startSeconds = 0, endSeconds = 0; ///< on the modelled device's clock
};

} // namespace graphc::cudasim
