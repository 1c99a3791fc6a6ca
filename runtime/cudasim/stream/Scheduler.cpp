#include "runtime/cudasim/stream/Scheduler.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace graphc::cudasim {

namespace {
/// How long a synchronisation waits for another host thread to write the value that a stream waits for.
constexpr std::chrono::seconds stuckLimit{10};

uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
} // namespace

void Scheduler::configure(SchedulePolicy newPolicy, uint64_t newSeed) {
  policy = newPolicy;
  seed = newSeed;
  random.seed(mix(newSeed));
}

void Scheduler::enqueue(const OperationRef &operation) {
  operation->sequence = nextSequence++;
  // Streams get a rank that changes every 16 operations: an adversary that lets one stream run far ahead of another.
  operation->priority = mix(seed ^ mix(operation->moment.slot * 0x10001ull + operation->moment.time / 16));
  for (const OperationRef &dependency : operation->dependencies)
    if (!dependency->done) {
      dependency->successors.push_back(operation.get());
      ++operation->waitingFor;
    }
  pending.emplace(operation->sequence, operation);
  hostWork += operation->action->callsHost();
  if (operation->waitingFor == 0)
    ready.insert(operation.get());
  if (policy == SchedulePolicy::Eager)
    while (Operation *next = pick(0))
      run(next);
}

uint64_t Scheduler::markAncestors(const OperationRef &operation) {
  ++mark;
  std::vector<Operation *> stack{operation.get()};
  operation->wanted = mark;
  while (!stack.empty()) {
    Operation *next = stack.back();
    stack.pop_back();
    for (const OperationRef &dependency : next->dependencies)
      if (!dependency->done && dependency->wanted != mark) {
        dependency->wanted = mark;
        stack.push_back(dependency.get());
      }
  }
  return mark;
}

/// The next operation to run among the ready ones carrying `wantedMark` (0: any).
Operation *Scheduler::pick(uint64_t wantedMark) {
  std::vector<Operation *> candidates;
  for (Operation *operation : ready)
    if ((wantedMark == 0 || operation->wanted == wantedMark) && operation->action->ready(*operation)) {
      if (seed == 0 && policy != SchedulePolicy::Random && policy != SchedulePolicy::Adversarial)
        return operation;
      candidates.push_back(operation);
    }
  if (candidates.empty())
    return nullptr;
  if (policy == SchedulePolicy::Adversarial)
    return *std::max_element(candidates.begin(), candidates.end(),
                             [](Operation *a, Operation *b) { return a->priority < b->priority; });
  return candidates[random() % candidates.size()];
}

void Scheduler::run(Operation *operation) {
  OperationRef keep = pending.at(operation->sequence);
  ready.erase(operation);
  operation->running = true;
  if (operation->action->callsHost()) {
    ++runningElsewhere;
    execute(*operation); // unlocks around the program's function
    --runningElsewhere;
    --hostWork;
  } else {
    execute(*operation);
  }
  operation->running = false;
  operation->done = true;
  for (Operation *successor : operation->successors)
    if (--successor->waitingFor == 0)
      ready.insert(successor);
  operation->successors.clear();
  operation->dependencies.clear();
  pending.erase(operation->sequence);
  finished.notify_all();
}

bool Scheduler::runUntil(const OperationRef &operation) {
  auto limit = std::chrono::steady_clock::now() + stuckLimit;
  uint64_t wantedMark = operation->done ? 0 : markAncestors(operation);
  while (!operation->done) {
    Operation *next = nullptr;
    if (policy == SchedulePolicy::Random)
      next = pick(0);
    if (!next)
      next = pick(wantedMark);
    if (next) {
      run(next);
      limit = std::chrono::steady_clock::now() + stuckLimit;
      // Another thread's synchronisation may have moved the marks while a host function ran.
      if (wantedMark != mark && !operation->done)
        wantedMark = markAncestors(operation);
      continue;
    }
    if (runningElsewhere > 0) {
      std::unique_lock<std::mutex> lock(mutex, std::adopt_lock);
      finished.wait_for(lock, std::chrono::milliseconds(5));
      lock.release();
      if (!operation->done)
        wantedMark = markAncestors(operation);
      limit = std::chrono::steady_clock::now() + stuckLimit;
      continue;
    }
    // What we need waits for a memory value: let other work write it, or the program's other threads.
    if (Operation *other = pick(0)) {
      run(other);
      continue;
    }
    if (std::chrono::steady_clock::now() > limit) {
      reportStuck("deadlock: " + operation->info->text() +
                  " is waited for, but a stream before it waits for a memory value that nobody writes");
      return false;
    }
    mutex.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    mutex.lock();
    if (!operation->done)
      wantedMark = markAncestors(operation);
  }
  return true;
}

void Scheduler::stepTowards(const OperationRef &operation) {
  if (operation->done)
    return;
  uint64_t wantedMark = markAncestors(operation);
  Operation *next = pick(wantedMark);
  if (!next)
    next = pick(0);
  if (next)
    run(next);
}

void Scheduler::maybeProgress() {
  if (policy == SchedulePolicy::Lazy || policy == SchedulePolicy::Eager || ready.empty())
    return;
  if (random() % 4)
    return;
  for (uint64_t n = random() % 3 + 1; n; --n)
    if (Operation *next = pick(0))
      run(next);
}

void Scheduler::runAll() {
  while (Operation *next = pick(0))
    run(next);
}

void Scheduler::clear() {
  ready.clear();
  for (auto &[sequence, operation] : pending) {
    operation->dependencies.clear();
    operation->successors.clear();
    operation->done = operation->failed = true;
  }
  pending.clear();
  hostWork = 0;
}

} // namespace graphc::cudasim
