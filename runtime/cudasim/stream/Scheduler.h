// Runs queued operations: one scheduler, one seed, no threads of its own.
//
// Lazily, a synchronisation runs exactly what it must wait for, so that a program which forgot to wait meets work that
// has not happened yet. With a seed, independent work is ordered by it; `Random` also runs work early, at any call.
#pragma once

#include "runtime/cudasim/stream/Operation.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>

namespace graphc::cudasim {

enum class SchedulePolicy : uint8_t { Lazy, Random, Adversarial, Eager };

class Scheduler {
public:
  /// `execute` does one operation's work; `mutex` is the driver's, held by every caller of the members below.
  Scheduler(std::mutex &mutex, std::function<void(Operation &)> execute,
            std::function<void(const std::string &)> reportStuck)
      : mutex(mutex), execute(std::move(execute)), reportStuck(std::move(reportStuck)) {}

  void configure(SchedulePolicy policy, uint64_t seed);
  void enqueue(const OperationRef &operation);
  /// Runs what `operation` needs, and it. False when nothing can make it progress (reported as a deadlock).
  bool runUntil(const OperationRef &operation);
  /// Runs one operation that `operation` needs (cuStreamQuery: each question lets the device progress a little).
  void stepTowards(const OperationRef &operation);
  /// A chance for early execution, at every API call.
  void maybeProgress();
  /// Runs everything that can run; what waits for values that nobody writes stays.
  void runAll();
  bool idle() const { return pending.empty(); }
  bool hasHostWork() const { return hostWork > 0; }
  /// Drops everything queued (reset).
  void clear();

private:
  std::mutex &mutex;
  std::function<void(Operation &)> execute;
  std::function<void(const std::string &)> reportStuck;
  std::condition_variable finished;
  SchedulePolicy policy = SchedulePolicy::Lazy;
  uint64_t seed = 0;
  std::mt19937_64 random;
  std::map<uint64_t, OperationRef> pending; ///< by sequence
  struct BySequence {
    bool operator()(const Operation *a, const Operation *b) const { return a->sequence < b->sequence; }
  };
  std::set<Operation *, BySequence> ready;
  uint64_t nextSequence = 1, mark = 0;
  size_t hostWork = 0, runningElsewhere = 0;

  uint64_t markAncestors(const OperationRef &operation);
  Operation *pick(uint64_t mark);
  void run(Operation *operation);
};

} // namespace graphc::cudasim
