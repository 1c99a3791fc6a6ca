// What the race checker knows: clocks of warps, what each warp has seen of the others, and the two shadows.
//
// Every warp has a clock; an access is tagged with its thread and the clock. Clocks never go back, not even when the
// block's storage serves the next block, so nothing is ever cleared: whatever an earlier block left counts as ordered.
#pragma once

#include "runtime/cudasim/engine/Checkers.h"

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

namespace graphc::cudasim {

/// Which clocks of which blocks happened before: a persistent map from block to its warps' clocks. Copies share their
/// structure, and joining two of which one came from the other touches only where they differ; chains of atomics over
/// thousands of blocks stay cheap.
class Knowledge {
public:
  using Clocks = std::vector<uint32_t>;
  bool empty() const { return !root; }
  const Clocks *of(uint32_t block) const;
  void join(const Knowledge &other) { root = joined(root, other.root, levels - 1); }
  /// The clocks of `block` become at least these.
  void raise(uint32_t block, const Clocks &clocks);

private:
  static constexpr int levels = 8; ///< of four bits each
  using Child = std::shared_ptr<const void>;
  struct Node {
    std::array<Child, 16> children;
  };
  Child root;
  static Child joined(const Child &a, const Child &b, int level);
  static Child raised(const Child &node, uint32_t block, const Clocks &clocks, int level);
};

/// What releases left at a location. Block-scope operations synchronise within their block only.
struct SyncVariable {
  Knowledge device;
  uint32_t onlyBlock = ~0u; ///< whose releases alone made `device`; ~0: nobody's yet
  bool severalBlocks = false;
  std::unordered_map<uint32_t, Knowledge> blocks; ///< block-scope releases
};

/// Shared memory of one block, by granules of the smallest access width. Writes are kept exactly. Reads are only logged
/// (with all lanes' addresses) and worked out when somebody writes who does not know of them: after a barrier everybody
/// knows, and the log is dropped unread.
struct SharedShadow {
  struct Write {
    uint32_t clock = 0, pc = 0, serial = 0;
    uint16_t thread = 0;
    bool strong = false;
  };
  struct Read {
    uint32_t clock = 0, lanes = 0, pc = 0;
  };
  struct Logged {
    uint32_t pc, lanes, clock;
    uint32_t addresses[32];
  };
  size_t granules = 0;
  std::vector<Write> writes;
  std::vector<Read> reads, strongReads;      ///< [warp][granule]; once needed
  std::vector<uint32_t> lastWrite, lastRead; ///< per warp: the newest clock
  std::vector<std::vector<Logged>> log;      ///< per warp
};

/// Global memory of the whole launch (its blocks then run on one host thread), by lines of 32 granules.
///
/// A record is one warp's access at one clock; a touch says which granules of a line it concerns and which lanes had
/// them. A line keeps its newest write and its newest read in place and older ones, as long as they matter, in lists.
/// Lists are shared: the same touches in the same order give the same number, however many lines they happen to.
struct GlobalShadow {
  struct Record {
    uint32_t block, clock, pc;
    uint16_t warp;
    bool strong;
    uint8_t scope;
  };
  struct Touch {
    uint32_t record = 0, map = 0;
    uint32_t mask = 0; ///< granules of the line; zero: nothing
  };
  struct Node {
    Touch touch;
    uint32_t next = 0;
  };
  struct Line {
    Touch write, read;
    uint32_t olderWrites = 0, olderReads = 0; ///< lists; the granules of writes are disjoint
  };

  // Which lanes had a granule: lane (granule + first) >> shift; or one and the same lane; or a set of lanes.
  static uint32_t steps(int first, uint32_t shift) { return uint32_t(first + 0x8000) << 8 | shift; }
  static uint32_t oneLane(uint32_t lane) { return 1u << 31 | lane; }
  uint32_t severalLanes(uint32_t lanes);
  static bool isSet(uint32_t map) { return map >> 30 == 3; }
  uint32_t lanesOf(uint32_t map, uint32_t granule) const {
    if (!(map >> 31))
      return 1u << ((int(granule) + int(map >> 8) - 0x8000) >> (map & 255));
    return isSet(map) ? laneSets[map & 0x3FFFFFFF] : 1u << (map & 31);
  }

  static constexpr size_t most = size_t(1) << 26; ///< records and nodes: beyond, checking stops with a note

  explicit GlobalShadow(uint32_t granule);
  Line &line(uint64_t address);
  /// The list with this touch in front.
  uint32_t push(uint32_t list, const Touch &touch);
  /// The list without these granules.
  uint32_t without(uint32_t list, uint32_t mask);
  void addRead(Line &line, const Touch &touch);
  void setWrite(Line &line, const Touch &touch, bool forgetReads);

  uint32_t granule, lineBytes;
  std::vector<Record> records; ///< index 0: none
  std::vector<Node> nodes;     ///< index 0: the empty list
  std::unordered_map<uint64_t, SyncVariable> sync;

private:
  static constexpr uint64_t pageBytes = 4096;
  struct Cached {
    uint64_t page = ~uint64_t(0);
    Line *lines = nullptr;
  };
  std::unordered_map<uint64_t, std::unique_ptr<Line[]>> pages;
  Cached cache[64];
  std::vector<uint32_t> table; ///< open addressing: nodes by content
  std::vector<uint32_t> laneSets;
  std::unordered_map<uint32_t, uint32_t> laneSetIndex;
  size_t slotOf(const Touch &touch, uint32_t next) const;
};

struct RaceChecker::State {
  LaunchState *launch = nullptr;
  Block *block = nullptr;
  uint32_t warps = 0, granule = 4;
  bool checkShared = false, checkGlobal = false, strict = false;
  std::vector<uint32_t> clock; ///< per warp
  std::vector<uint32_t> knows; ///< [warp][other]: up to which clock; the own entry holds for all lanes of the warp
  std::vector<std::unique_ptr<uint32_t[]>> lanes; ///< per warp: [lane][other lane], when partial joins happened
  std::vector<Knowledge> remote;  ///< per warp: of other blocks
  std::vector<Knowledge> pending; ///< strict: seen by an unfenced strong read, waiting for the fence
  std::vector<uint8_t> fenced;    ///< per warp: 0, or 1 + the scope of its fences
  std::vector<uint32_t> exited;   ///< per warp: the clock it left with
  Knowledge exitedRemote;
  struct Joining { ///< a barrier in progress: what arrived
    std::vector<uint32_t> clocks;
    Knowledge remote;
  };
  Joining joining[16];
  std::unordered_map<uint32_t, SyncVariable> sharedSync;
  struct Mbarrier { ///< arrivals release into the phase, a wait acquires the phase that is complete
    Knowledge arriving, completed;
  };
  std::unordered_map<uint32_t, Mbarrier> mbarriers; ///< by address
  uint32_t serial = 0;
  SharedShadow shared;
  std::shared_ptr<GlobalShadow> global;
  struct LastRecord {
    uint32_t clock = 0, record = 0;
  };
  std::vector<LastRecord> lastRecord; ///< [warp][memory instruction]

  /// One memory instruction of a warp, as both shadows look at it.
  struct Access {
    Warp &warp;
    const Inst &inst;
    const MemOp &mem;
    uint32_t bytes;
    bool reads, writes, strong;
    const uint64_t (&addresses)[32];
  };

  uint32_t self() const { return uint32_t(block->linear); }
  bool orderedLocal(uint32_t warp, uint32_t lane, uint32_t thread, uint32_t at) const {
    uint32_t other = thread >> 5;
    if (at <= knows[warp * warps + other])
      return true;
    uint32_t otherLane = thread & 31;
    return other == warp && (otherLane == lane || (lanes[warp] && at <= lanes[warp][lane * 32 + otherLane]));
  }
  bool ordered(uint32_t warp, uint32_t lane, const GlobalShadow::Record &record, uint32_t otherLane) const;
  /// Warps whose newest access (`last`, per warp) this one does not know of.
  uint32_t unordered(const std::vector<uint32_t> &last, uint32_t warp) const {
    uint32_t mask = 0;
    const uint32_t *row = &knows[warp * warps];
    for (uint32_t u = 0; u < warps; ++u)
      mask |= uint32_t(last[u] > row[u]) << u;
    return mask;
  }

  // Clocks and synchronisation (Races.cpp)
  Knowledge snapshot(uint32_t warp) const;
  void learn(uint32_t warp, const Knowledge &what);
  void acquire(uint32_t warp, const SyncVariable &variable, const MemOp &mem);
  void release(uint32_t warp, SyncVariable &variable, const MemOp &mem, const Knowledge &what);
  bool releases(uint32_t warp, const MemOp &mem, unsigned &scope) const;

  // Reports (Races.cpp)
  CodeSite siteOf(uint32_t thread, uint32_t pc, uint64_t linear) const;
  bool writesSameAsMemory(const Access &access, unsigned lane, const char *at) const;
  bool writesSameAsLane(const Access &access, unsigned a, unsigned b) const;
  void complain(const Access &access, unsigned lane, bool isShared, const char *what, uint64_t address, bool same,
                CodeSite other, std::string allocation);

  // Shared memory (SharedRaces.cpp); lane addresses are offsets there
  void sharedAccess(const Access &access, uint32_t lanes);
  /// A read that needs only to be remembered.
  void logRead(Warp &warp, const MemOp &mem, uint32_t lanes);
  SharedShadow::Logged &newEntry(Warp &warp, uint32_t lanes);
  void checkSharedRead(const Access &access, uint32_t lanes);
  void sharedWrite(const Access &access, uint32_t lanes);
  void workOut(uint32_t warp);
  void dropLogs();

  // Global memory (GlobalRaces.cpp)
  enum class Pass : uint8_t { Both, Check, Note };
  void globalAccess(const Access &access, uint32_t lanes);
  void pieces(const Access &access, uint32_t lanes, GlobalShadow::Touch piece, Pass pass);
  void pieceAccess(const Access &access, const GlobalShadow::Touch &piece, uint64_t lineAddress, Pass pass = Pass::Both);
  bool isBefore(const Access &access, const GlobalShadow::Touch &piece, const GlobalShadow::Touch &earlier,
                unsigned &lane, unsigned &earlierLane, uint32_t &granuleIndex) const;
  void complainGlobal(const Access &access, const GlobalShadow::Touch &earlier, const char *what, unsigned lane,
                      unsigned earlierLane, uint64_t address);
  uint32_t recordFor(const Access &access);
};

} // namespace graphc::cudasim
