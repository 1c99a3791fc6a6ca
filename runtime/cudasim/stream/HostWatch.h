// Catches the program's own touches of pinned memory that a queued copy still needs.
//
// An API sees copies, not loads and stores. So while a copy from or to memory of cuMemHostAlloc is in flight — from the
// call until the host has synchronised with it — the pages lying wholly inside its range are protected: read-only for
// a copy's source, no access for its destination. A touch faults; the handler notes address, direction and place,
// opens the page and lets the program go on. The next API call turns notes into reports. Bytes on shared pages and in
// memory of cuMemHostRegister cannot be protected; for sources among them a snapshot shows whether they changed.
#pragma once

#include "runtime/cudasim/stream/AccessHistory.h"

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace graphc::cudasim {

class HostWatch {
public:
  struct Touch {
    uint64_t address = 0;
    bool write = false;
    bool exact = true;      ///< false: seen only by the changed value
    CallSite site;          ///< the touching instruction and its callers
    std::shared_ptr<const OperationInfo> operation;
    bool operationReads = false;
  };

  HostWatch();
  ~HostWatch();

  void setEnabled(bool on) { enabled = on; }
  /// Memory we allocated page-aligned, so whole pages are ours to protect.
  void addOwned(uint64_t base, uint64_t bytes);
  void removeOwned(uint64_t base);

  /// A copy reads or writes [lo, hi) at some time until the host's clock covers `moment`.
  void arm(Moment moment, const VectorClock &clock, const std::shared_ptr<const OperationInfo> &info, uint64_t lo,
           uint64_t hi, bool deviceReads);
  /// Around a host function: what runs after it in stream order cannot object to what it does.
  void pauseAfter(Moment moment);
  void resumePaused();
  /// Ends all watches that the clock covers and opens their pages; changed snapshots come out as touches.
  void release(const VectorClock &clock);
  /// Device work or a host function ordered before the copy wrote host memory: not the program's fault.
  void deviceWrote(uint64_t lo, uint64_t hi);
  void refreshSnapshots();
  /// Compares all snapshots: before work that may itself write host memory.
  void compareAll();
  bool empty() const { return watches.empty(); }
  /// Compares the snapshot of one operation just before it reads.
  void check(Moment moment);
  /// Touches since the last call.
  std::vector<Touch> collect();

  /// The simulator itself must reach all memory while it runs a kernel, and a copy its own range.
  void suspend();
  void resume();
  void open(uint64_t lo, uint64_t hi);
  void close(uint64_t lo, uint64_t hi);

  /// Forgets everything (reset).
  void clear();

private:
  struct Watch {
    Moment moment;
    VectorClock clock;
    std::shared_ptr<const OperationInfo> info;
    uint64_t lo, hi;
    bool deviceReads;
    std::vector<std::byte> snapshot; ///< of a source's bytes that no protected page guards
    std::vector<std::pair<uint64_t, uint64_t>> snapshotRanges;
    bool reported = false, paused = false;
  };
  bool enabled = true;
  bool suspended = false;
  std::map<uint64_t, uint64_t> owned; ///< base → bytes, rounded up to pages
  std::vector<Watch> watches;
  std::vector<Touch> touches;

  static std::pair<uint64_t, uint64_t> guardedPages(const Watch &watch, uint64_t allocationEnd);
  void compare(Watch &watch);
  void takeSnapshot(Watch &watch);
  void drainFaults();
  void applyProtection(uint64_t lo, uint64_t hi);
};

} // namespace graphc::cudasim
