#include "runtime/devices/cpu/ThreadPool.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphc {

static void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

static int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

static void futexWakeAll(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

int availableCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

SpinPool::SpinPool(const SpinPoolOptions &options) : spinNs_(options.spinNs) {
  int threads = options.threads > 0 ? options.threads : availableCores();
  for (int worker = 1; worker < threads; ++worker) {
    workers_.emplace_back([this, worker] { workerLoop(worker); });
    size_t slot = static_cast<size_t>(worker) - 1;
    if (slot < options.affinity.size()) {
      cpu_set_t set;
      CPU_ZERO(&set);
      if (options.affinity[slot] >= 0 && options.affinity[slot] < CPU_SETSIZE)
        CPU_SET(options.affinity[slot], &set);
      if (::pthread_setaffinity_np(workers_.back().native_handle(), sizeof set, &set) != 0)
        affinityProblem_ = text("worker ", worker, " cannot be bound to core ", options.affinity[slot]);
    }
  }
}

SpinPool::~SpinPool() {
  stopping_.store(true, std::memory_order_release);
  wakeWord_.fetch_add(1, std::memory_order_seq_cst);
  futexWakeAll(wakeWord_);
  for (std::thread &worker : workers_)
    worker.join();
}

/// Runs chunks of the ticket's job until none is left; false when there was none to begin with.
bool SpinPool::claimAndRun(int worker, uint64_t ticket) {
  uint32_t job = static_cast<uint32_t>(ticket >> 32);
  bool ran = false;
  while (static_cast<uint32_t>(ticket >> 32) == job) {
    uint32_t chunk = static_cast<uint32_t>(ticket);
    Work work = work_.load(std::memory_order_acquire);
    void *argument = argument_.load(std::memory_order_acquire);
    if (chunk >= chunks_.load(std::memory_order_acquire))
      break;
    // On failure `ticket` holds the current value: another chunk of this job, or a newer job.
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    work(argument, static_cast<int>(chunk), worker);
    done_.fetch_add(1, std::memory_order_acq_rel);
    ran = true;
    ticket = ticket_.load(std::memory_order_acquire);
  }
  return ran;
}

void SpinPool::run(int chunks, Work work, void *argument) {
  if (chunks <= 0)
    return;
  if (workers_.empty() || chunks == 1) {
    for (int chunk = 0; chunk < chunks; ++chunk)
      work(argument, chunk, 0);
    return;
  }
  // Close the old job first: a worker still holding its last ticket must not pair it with the new job's fields.
  uint64_t old = ticket_.load(std::memory_order_relaxed) >> 32;
  ticket_.store(old << 32 | UINT32_MAX, std::memory_order_release);
  done_.store(0, std::memory_order_relaxed);
  work_.store(work, std::memory_order_release);
  argument_.store(argument, std::memory_order_release);
  chunks_.store(static_cast<uint32_t>(chunks), std::memory_order_release);
  uint64_t ticket = (old + 1) << 32;
  ticket_.store(ticket, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    wakeWord_.fetch_add(1, std::memory_order_seq_cst);
    futexWakeAll(wakeWord_);
  }
  claimAndRun(0, ticket);
  // The rest is running on a worker. If that worker has lost its core, give ours away after a while.
  for (int spins = 0; done_.load(std::memory_order_acquire) != chunks; ++spins) {
    if (spins < 4000)
      relax();
    else
      std::this_thread::yield();
  }
}

void SpinPool::workerLoop(int worker) {
  uint32_t lastJob = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    int64_t deadline = 0;
    int spins = 0;
    uint64_t ticket;
    while (true) {
      ticket = ticket_.load(std::memory_order_acquire);
      if (static_cast<uint32_t>(ticket >> 32) != lastJob || stopping_.load(std::memory_order_relaxed))
        break;
      relax();
      if (++spins % 64 == 0) {
        int64_t now = nowNs();
        if (deadline == 0)
          deadline = now + spinNs_;
        else if (now > deadline) {
          uint32_t word = wakeWord_.load(std::memory_order_seq_cst);
          sleepers_.fetch_add(1, std::memory_order_seq_cst);
          // A job published before we counted as a sleeper would not wake us: look again.
          ticket = ticket_.load(std::memory_order_seq_cst);
          if (static_cast<uint32_t>(ticket >> 32) == lastJob && !stopping_.load(std::memory_order_seq_cst))
            futexWait(wakeWord_, word);
          sleepers_.fetch_sub(1, std::memory_order_seq_cst);
          deadline = 0;
          spins = 0;
        }
      }
    }
    lastJob = static_cast<uint32_t>(ticket >> 32);
    claimAndRun(worker, ticket);
  }
}

} // namespace graphc
