// The threads of the CPU device.
//
// One caller at a time owns the pool; another caller that finds it busy runs its work serially, so a process never
// has more threads at work than callers + pool. Work is cut into chunks that caller and workers claim one by one: a worker
// that the system has put to sleep costs nothing but its share of the chunks.
#pragma once

#include "runtime/base/ThreadPool.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace graphc {

struct SpinPoolOptions {
  int threads = 0;            // concurrency, the caller included; 0: the cores this process may use
  int64_t spinNs = 50'000;    // how long an idle worker spins before it parks
  std::vector<int> affinity;  // core of worker i (the caller is not moved); empty: the system decides
};

/// Workers that spin for the next job up to 50 µs and then park on a futex.
class SpinPool final : public ThreadPool {
public:
  explicit SpinPool(const SpinPoolOptions &options = {});
  ~SpinPool() override;

  int concurrency() const override { return static_cast<int>(workers_.size()) + 1; }
  bool tryEnter() override { return !busy_.exchange(true, std::memory_order_acquire); }
  void leave() override { busy_.store(false, std::memory_order_release); }
  void run(int chunks, Work work, void *argument) override;

  /// Why affinity could not be set, or empty.
  const std::string &affinityProblem() const { return affinityProblem_; }

private:
  void workerLoop(int worker);
  bool claimAndRun(int worker, uint64_t ticket);

  // A ticket is {job number : 32, next chunk : 32}. Claiming a chunk by compare-exchange proves that the job's fields
  // read just before still belong to that job number.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  std::atomic<Work> work_{nullptr};
  std::atomic<void *> argument_{nullptr};
  std::atomic<uint32_t> chunks_{0};
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<uint32_t> wakeWord_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<bool> busy_{false};

  int64_t spinNs_;
  std::vector<std::thread> workers_;
  std::string affinityProblem_;
};

/// Cores this process may use (its affinity mask, not the machine's count).
int availableCores();

} // namespace graphc
