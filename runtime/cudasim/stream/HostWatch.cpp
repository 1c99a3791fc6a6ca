#include "runtime/cudasim/stream/HostWatch.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <execinfo.h>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>

namespace graphc::cudasim {

namespace {

constexpr uint64_t pageBytes = 4096;

// The fault handler may run on any thread at any instruction: it uses only this fixed table and atomics. State that a
// signal handler needs cannot be passed to it, hence the one set of globals in the simulator.
struct OwnedRange {
  std::atomic<uint64_t> lo{0}, hi{0};
};
constexpr size_t maxRanges = 4096;
OwnedRange ownedRanges[maxRanges];
std::atomic<size_t> ownedCount{0};

struct Fault {
  std::atomic<uint64_t> address{0};
  bool write = false;
  void *frames[5] = {};
};
constexpr size_t maxFaults = 256;
Fault faults[maxFaults];
std::atomic<size_t> faultCount{0};
struct sigaction previousHandler;

bool isOwned(uint64_t address) {
  size_t count = std::min(ownedCount.load(std::memory_order_acquire), maxRanges);
  for (size_t i = 0; i < count; ++i)
    if (address >= ownedRanges[i].lo.load(std::memory_order_relaxed) &&
        address < ownedRanges[i].hi.load(std::memory_order_relaxed))
      return true;
  return false;
}

void onFault(int signal, siginfo_t *info, void *context) {
  uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
  if (info->si_code == SEGV_ACCERR && isOwned(address)) {
    uint64_t page = address & ~(pageBytes - 1);
    auto *machine = static_cast<ucontext_t *>(context);
    size_t index = faultCount.fetch_add(1);
    if (index < maxFaults) {
      Fault &fault = faults[index];
#if defined(__x86_64__)
      fault.write = machine->uc_mcontext.gregs[REG_ERR] & 2;
      fault.frames[0] = reinterpret_cast<void *>(machine->uc_mcontext.gregs[REG_RIP]);
#endif
      void *stack[10];
      int depth = backtrace(stack, 10);
      // Frames: this handler, the kernel's trampoline, the faulting instruction, its callers.
      for (int i = 3, out = 1; i < depth && out < 5; ++i)
        fault.frames[out++] = stack[i];
      fault.address.store(address, std::memory_order_release);
    }
    mprotect(reinterpret_cast<void *>(page), pageBytes, PROT_READ | PROT_WRITE);
    return;
  }
  // Not ours: whoever was there before decides, as if we had never been installed.
  if (previousHandler.sa_flags & SA_SIGINFO) {
    if (previousHandler.sa_sigaction)
      return previousHandler.sa_sigaction(signal, info, context);
  } else if (previousHandler.sa_handler != SIG_DFL && previousHandler.sa_handler != SIG_IGN) {
    return previousHandler.sa_handler(signal);
  }
  sigaction(SIGSEGV, &previousHandler, nullptr); // returning re-executes the instruction under the default action
}

std::once_flag installed;
void installHandler() {
  std::call_once(installed, [] {
    void *warm[2];
    backtrace(warm, 2); // its first call loads the unwinder, which a signal handler must not
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previousHandler);
  });
}

} // namespace

HostWatch::HostWatch() = default;
HostWatch::~HostWatch() { clear(); }

void HostWatch::addOwned(uint64_t base, uint64_t bytes) {
  uint64_t rounded = (bytes + pageBytes - 1) / pageBytes * pageBytes;
  owned[base] = rounded;
  size_t count = ownedCount.load();
  for (size_t i = 0; i <= std::min(count, maxRanges - 1); ++i)
    if (i == count || ownedRanges[i].hi.load() == 0) {
      ownedRanges[i].lo.store(base);
      ownedRanges[i].hi.store(base + rounded);
      if (i == count)
        ownedCount.store(count + 1, std::memory_order_release);
      return;
    }
  owned.erase(base); // more pinned buffers than the handler's table holds: this one is watched by value only
}

void HostWatch::removeOwned(uint64_t base) {
  auto it = owned.find(base);
  if (it == owned.end())
    return;
  drainFaults();
  mprotect(reinterpret_cast<void *>(base), it->second, PROT_READ | PROT_WRITE);
  for (size_t i = 0; i < std::min(ownedCount.load(), maxRanges); ++i)
    if (ownedRanges[i].lo.load() == base && ownedRanges[i].hi.load())
      ownedRanges[i].hi.store(0), ownedRanges[i].lo.store(0);
  std::erase_if(watches, [&](const Watch &watch) { return watch.lo < base + it->second && watch.hi > base; });
  owned.erase(it);
}

/// The whole pages inside a watch's range. The tail of an allocation's last page belongs to nobody, so it does not keep
/// that page open.
std::pair<uint64_t, uint64_t> HostWatch::guardedPages(const Watch &watch, uint64_t allocationEnd) {
  uint64_t lo = (watch.lo + pageBytes - 1) & ~(pageBytes - 1);
  uint64_t hi = watch.hi + pageBytes > allocationEnd && watch.hi <= allocationEnd ? allocationEnd
                                                                                : watch.hi & ~(pageBytes - 1);
  return {lo, std::max(lo, hi)};
}

/// Sets the protection of the owned pages in [lo, hi) to what the remaining watches ask for.
void HostWatch::applyProtection(uint64_t lo, uint64_t hi) {
  auto it = owned.upper_bound(lo);
  if (it == owned.begin())
    return;
  --it;
  uint64_t base = it->first, end = base + it->second;
  if (lo >= end)
    return;
  uint64_t first = lo & ~(pageBytes - 1), last = std::min(end, (hi + pageBytes - 1) & ~(pageBytes - 1));
  // Between two neighbouring edges of guarded page ranges the protection is one and the same.
  struct Guard {
    uint64_t lo, hi;
    int protection;
  };
  std::vector<Guard> guards;
  std::vector<uint64_t> edges{first, last};
  for (const Watch &watch : watches) {
    if (watch.hi <= first || watch.lo >= last || suspended || watch.reported || watch.paused)
      continue;
    auto [guardLo, guardHi] = guardedPages(watch, end);
    guards.push_back({guardLo, guardHi, watch.deviceReads ? PROT_READ : PROT_NONE});
    for (uint64_t edge : {guardLo, guardHi})
      if (edge > first && edge < last)
        edges.push_back(edge);
  }
  std::sort(edges.begin(), edges.end());
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i] == edges[i + 1])
      continue;
    int protection = PROT_READ | PROT_WRITE;
    for (const Guard &guard : guards)
      if (guard.lo <= edges[i] && guard.hi >= edges[i + 1])
        protection &= guard.protection;
    mprotect(reinterpret_cast<void *>(edges[i]), edges[i + 1] - edges[i], protection);
  }
}

void HostWatch::open(uint64_t lo, uint64_t hi) {
  auto it = owned.upper_bound(lo);
  if (it == owned.begin())
    return;
  --it;
  uint64_t end = it->first + it->second, first = lo & ~(pageBytes - 1);
  if (lo < end)
    mprotect(reinterpret_cast<void *>(first), std::min(end, (hi + pageBytes - 1) & ~(pageBytes - 1)) - first,
             PROT_READ | PROT_WRITE);
}

void HostWatch::close(uint64_t lo, uint64_t hi) {
  if (!watches.empty())
    applyProtection(lo, hi);
}

void HostWatch::takeSnapshot(Watch &watch) {
  watch.snapshot.clear();
  for (auto [lo, hi] : watch.snapshotRanges) {
    open(lo, hi); // another watch may guard these bytes
    auto *bytes = reinterpret_cast<const std::byte *>(lo);
    watch.snapshot.insert(watch.snapshot.end(), bytes, bytes + (hi - lo));
    close(lo, hi);
  }
}

void HostWatch::arm(Moment moment, const VectorClock &clock, const std::shared_ptr<const OperationInfo> &info,
                    uint64_t lo, uint64_t hi, bool deviceReads) {
  if (!enabled || lo >= hi)
    return;
  installHandler();
  Watch watch{moment, clock, info, lo, hi, deviceReads, {}, {}};
  auto it = owned.upper_bound(lo);
  bool own = it != owned.begin() && lo < std::prev(it)->first + std::prev(it)->second;
  uint64_t guardedLo = hi, guardedHi = hi;
  if (own) {
    uint64_t end = std::prev(it)->first + std::prev(it)->second;
    auto [guardLo, guardHi] = guardedPages(watch, end);
    guardedLo = std::min(hi, guardLo);
    guardedHi = std::min(hi, guardHi);
  }
  if (deviceReads) {
    if (guardedLo >= guardedHi) {
      watch.snapshotRanges.push_back({lo, hi});
    } else {
      if (lo < guardedLo)
        watch.snapshotRanges.push_back({lo, guardedLo});
      if (guardedHi < hi)
        watch.snapshotRanges.push_back({guardedHi, hi});
    }
    takeSnapshot(watch);
  }
  watches.push_back(std::move(watch));
  if (own)
    applyProtection(lo, hi);
}

void HostWatch::compare(Watch &watch) {
  size_t at = 0;
  for (auto [lo, hi] : watch.snapshotRanges) {
    open(lo, hi);
    const auto *now = reinterpret_cast<const std::byte *>(lo);
    for (uint64_t i = 0; i < hi - lo && !watch.reported; ++i)
      if (now[i] != watch.snapshot[at + i]) {
        touches.push_back({lo + i, true, false, {}, watch.info, true});
        watch.reported = true;
      }
    at += hi - lo;
    close(lo, hi);
  }
}

void HostWatch::check(Moment moment) {
  for (Watch &watch : watches)
    if (watch.deviceReads && watch.moment.slot == moment.slot && watch.moment.time == moment.time)
      compare(watch);
}

void HostWatch::release(const VectorClock &clock) {
  if (watches.empty())
    return;
  drainFaults();
  std::vector<std::pair<uint64_t, uint64_t>> opened;
  bool any = false;
  for (const Watch &watch : watches)
    any |= clock.covers(watch.moment);
  if (!any)
    return;
  for (size_t i = 0; i < watches.size();) {
    if (!clock.covers(watches[i].moment)) {
      ++i;
      continue;
    }
    if (watches[i].deviceReads)
      compare(watches[i]);
    opened.push_back({watches[i].lo, watches[i].hi});
    watches.erase(watches.begin() + long(i));
  }
  for (auto [lo, hi] : opened)
    applyProtection(lo, hi);
}

void HostWatch::deviceWrote(uint64_t lo, uint64_t hi) {
  for (Watch &watch : watches)
    if (watch.deviceReads && watch.lo < hi && watch.hi > lo)
      takeSnapshot(watch);
}

void HostWatch::refreshSnapshots() {
  for (Watch &watch : watches)
    if (watch.deviceReads && !watch.snapshotRanges.empty())
      takeSnapshot(watch);
}

void HostWatch::pauseAfter(Moment moment) {
  bool any = false;
  for (Watch &watch : watches)
    if (watch.clock.covers(moment))
      any = watch.paused = true;
  if (any)
    for (const Watch &watch : watches)
      applyProtection(watch.lo, watch.hi);
}

void HostWatch::resumePaused() {
  bool any = false;
  for (Watch &watch : watches) {
    any |= watch.paused;
    watch.paused = false;
  }
  if (any)
    for (const Watch &watch : watches)
      applyProtection(watch.lo, watch.hi);
}

void HostWatch::compareAll() {
  for (Watch &watch : watches)
    if (watch.deviceReads)
      compare(watch);
}

void HostWatch::drainFaults() {
  size_t count = std::min(faultCount.load(), maxFaults);
  for (size_t i = 0; i < count; ++i) {
    uint64_t address = faults[i].address.exchange(0, std::memory_order_acquire);
    if (!address)
      continue;
    for (Watch &watch : watches)
      if (address >= watch.lo && address < watch.hi && (faults[i].write || !watch.deviceReads)) {
        Touch touch{address, faults[i].write, true, {}, watch.info, watch.deviceReads};
        for (size_t frame = 0; frame < 5; ++frame)
          touch.site.frames[frame] = faults[i].frames[frame];
        touches.push_back(std::move(touch));
        watch.reported = true; // its pages are open from now on
        break;
      }
  }
  faultCount.store(0);
}

std::vector<HostWatch::Touch> HostWatch::collect() {
  if (faultCount.load(std::memory_order_relaxed))
    drainFaults();
  return std::exchange(touches, {});
}

void HostWatch::suspend() {
  suspended = true;
  for (const Watch &watch : watches)
    open(watch.lo, watch.hi);
}

void HostWatch::resume() {
  suspended = false;
  for (const Watch &watch : watches)
    applyProtection(watch.lo, watch.hi);
}

void HostWatch::clear() {
  watches.clear();
  touches.clear();
  while (!owned.empty())
    removeOwned(owned.begin()->first);
}

} // namespace graphc::cudasim
