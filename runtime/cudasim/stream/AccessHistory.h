// Who last touched each byte of device and pinned memory, and which pairs no order explains.
//
// Per 4 KiB page there is a short list of records (moment, kind, bytes). A new access is compared with the records
// whose bytes it shares: a record that happened before it is replaced where the new access says all the old one said;
// one that did not is a race, reported with both operations. The lists stay short because ordered work replaces.
#pragma once

#include "runtime/cudasim/engine/Engine.h"
#include "runtime/cudasim/stream/VectorClock.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace graphc::cudasim {

/// Where the program asked for something: return addresses, innermost first, outside the simulator.
struct CallSite {
  std::array<void *, 5> frames{};
  std::string text() const; ///< "main+0x1f (./a.out) < run+0x80 (./a.out)"
};

/// What reports say about an operation. Shared by its queue entry and by every record it leaves behind.
struct OperationInfo {
  std::string what;   ///< "kernel saxpy<<<4,256>>>", "cuMemcpyHtoDAsync of 4096 bytes"
  std::string stream; ///< "stream 3", "the legacy default stream"
  CallSite site;
  uint64_t number = 0; ///< in order of the calls
  std::string text() const;
};

enum class AccessKind : uint8_t { Read, Write, Atomic };

struct Race {
  uint64_t address = 0, bytes = 0;
  AccessKind earlierKind, laterKind;
  std::shared_ptr<const OperationInfo> earlier, later; ///< in the order of this execution, which no rule demands
};

class AccessHistory {
public:
  using Info = std::shared_ptr<const OperationInfo>;

  /// Checks and remembers. Races are appended, at most one per (record, call).
  void access(const VectorClock &clock, Moment moment, const Info &info, AccessKind kind, uint64_t lo, uint64_t hi,
              std::vector<Race> &races);
  void access(const VectorClock &clock, Moment moment, const Info &info, AccessKind kind, const AccessSet &set,
              std::vector<Race> &races);
  /// Freed memory: addresses of device memory never come back, host addresses may.
  void forget(uint64_t lo, uint64_t hi);
  void clear() { pages.clear(); }

private:
  static constexpr uint64_t pageBytes = 4096;
  using Words = std::array<uint64_t, 64>;
  struct Record {
    Moment moment;
    AccessKind kind;
    uint16_t lo = 0, hi = 0;      ///< bytes [lo, hi) of the page; with `words`, their hull
    std::unique_ptr<Words> words; ///< exact bytes when they are not one run
    Info info;
  };
  struct Bytes { ///< the bytes of one page being accessed
    uint16_t lo, hi;
    const uint64_t *words; ///< or null: the run [lo, hi)
  };
  using Page = std::vector<Record>;
  /// Pages in blocks of 64 so that large buffers cost one tree step per 256 KiB.
  std::map<uint64_t, std::unique_ptr<std::array<Page, 64>>> pages;

  Page &page(uint64_t index);
  void accessPage(const VectorClock &clock, Moment moment, const Info &info, AccessKind kind, uint64_t index,
                  Bytes bytes, std::vector<Race> &races);
};

} // namespace graphc::cudasim
