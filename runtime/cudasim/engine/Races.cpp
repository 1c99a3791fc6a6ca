// Data races in shared and global memory, byte-exact, by clocks.
//
// Every warp has a clock; an access is tagged with its thread and the clock. A warp knows, for every other warp, up to
// which clock that one's accesses happened before its own next instruction:
//   bar.sync joins the participants, bar.arrive only releases, exited threads take no part;
//   bar.warp.sync joins its lanes (lockstep execution gives no order between lanes: a missing __syncwarp shows);
//   a strong write or atomic releases what its warp knows, a strong read or atomic that sees it acquires.
// shfl, vote, match, redux and mma give no order. Across blocks the same clocks travel through atomics, so last-block
// reductions, split-K and grid.sync are ordered. Where precision would cost too much the checker errs to silence: warps
// acquire as a whole, and at most nine readers of a global location are remembered.
#include "runtime/cudasim/engine/Checkers.h"

#include <algorithm>

namespace graphc::cudasim {

namespace {

/// Clocks of other blocks' warps that a warp has acquired.
using Remote = std::unordered_map<uint32_t, std::vector<uint32_t>>;

void join(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}
void join(std::shared_ptr<const Remote> &into, const std::shared_ptr<const Remote> &from) {
  if (!from || from == into)
    return;
  if (!into) {
    into = from;
    return;
  }
  auto merged = std::make_shared<Remote>(*into);
  for (auto &[block, clocks] : *from)
    join((*merged)[block], clocks);
  into = std::move(merged);
}

/// What a release left at a location.
struct SyncVariable {
  std::shared_ptr<const Remote> clocks; ///< of every block, the releasing one included
};

struct GlobalRecord {
  uint32_t block = 0, clock = 0; ///< clock 0: none
  uint32_t pc = 0;
  uint32_t thread : 12 = 0, strong : 1 = 0, scope : 2 = 0, many : 1 = 0;
};
struct GlobalGranule {
  GlobalRecord write, read;
};
constexpr uint64_t shadowPage = 4096;

} // namespace

/// Shared by the blocks of a launch (which then run on one host thread).
struct GlobalShadow {
  std::unordered_map<uint64_t, std::unique_ptr<GlobalGranule[]>> pages; ///< by address / shadowPage
  std::unordered_map<uint64_t, std::vector<GlobalRecord>> readers;      ///< by granule: beyond the first, at most eight
  std::unordered_map<uint64_t, SyncVariable> sync;
  uint32_t granule = 4;
  uint64_t lastPage = ~uint64_t(0);
  GlobalGranule *lastGranules = nullptr;

  GlobalGranule *page(uint64_t address) {
    uint64_t number = address / shadowPage;
    if (number != lastPage) {
      auto &found = pages[number];
      if (!found)
        found = std::make_unique<GlobalGranule[]>(shadowPage / granule);
      lastPage = number;
      lastGranules = found.get();
    }
    return lastGranules;
  }
};

struct RaceChecker::State {
  LaunchState *launch;
  Block *block;
  uint32_t warps, granule;
  bool checkShared, checkGlobal;
  std::shared_ptr<GlobalShadow> global;
  std::vector<uint32_t> clock;   ///< per warp
  std::vector<uint32_t> knows;   ///< [warp][other]: clock; the own entry is all ones
  std::vector<uint32_t> floor;   ///< per warp: clocks up to here are known to all its lanes
  std::vector<std::unique_ptr<uint32_t[]>> lanes; ///< per warp: [lane][other lane], when partial joins happened
  std::vector<std::shared_ptr<const Remote>> remote;
  std::vector<bool> fenced;
  // Barriers in progress: what arrived.
  struct Joining {
    std::vector<uint32_t> clocks;
    std::shared_ptr<const Remote> remote;
  };
  Joining joining[16];
  // Shared shadow, structure of arrays over granules. Most accesses follow a barrier, after which every clock in the
  // shadow is at most `known` of the warp: one compare per granule and no more.
  size_t granules = 0;
  std::vector<uint32_t> writeClock, writePc, writeSerial, readMaximum, readPc;
  std::vector<uint16_t> writeThread;
  std::vector<uint8_t> writeStrong;
  std::vector<uint32_t> readClock, readLanes; ///< [warp][granule]; plain reads
  std::vector<uint32_t> strongReadClock, strongReadLanes;
  std::vector<uint32_t> known; ///< per warp: the least of what it knows of any warp, and of its own lanes

  void refreshKnown(uint32_t warp) {
    uint32_t least = floor[warp];
    for (uint32_t u = 0; u < warps; ++u)
      least = std::min(least, knows[warp * warps + u]);
    known[warp] = least;
  }
  std::unordered_map<uint32_t, SyncVariable> sharedSync;
  uint32_t serial = 0;

  bool orderedLocal(uint32_t warp, uint32_t lane, uint32_t thread, uint32_t at) const {
    uint32_t other = thread >> 5;
    if (other != warp)
      return at <= knows[warp * warps + other];
    uint32_t otherLane = thread & 31;
    return otherLane == lane || at <= floor[warp] || (lanes[warp] && at <= lanes[warp][lane * 32 + otherLane]);
  }
  bool ordered(uint32_t warp, uint32_t lane, const GlobalRecord &record) const {
    if (record.block == uint32_t(block->linear))
      return orderedLocal(warp, lane, record.thread, record.clock);
    if (!remote[warp])
      return false;
    auto it = remote[warp]->find(record.block);
    return it != remote[warp]->end() && record.thread / 32 < it->second.size() &&
           record.clock <= it->second[record.thread / 32];
  }
  /// What this warp would release: its own past and all it knows.
  std::shared_ptr<const Remote> snapshot(uint32_t warp) const {
    auto clocks = remote[warp] ? std::make_shared<Remote>(*remote[warp]) : std::make_shared<Remote>();
    std::vector<uint32_t> own(warps);
    for (uint32_t u = 0; u < warps; ++u)
      own[u] = u == warp ? clock[warp] : knows[warp * warps + u];
    join((*clocks)[uint32_t(block->linear)], own);
    return clocks;
  }
  void acquire(uint32_t warp, const SyncVariable &variable) {
    if (!variable.clocks)
      return;
    auto own = variable.clocks->find(uint32_t(block->linear));
    if (own != variable.clocks->end())
      for (uint32_t u = 0; u < warps && u < own->second.size(); ++u)
        if (u != warp)
          knows[warp * warps + u] = std::max(knows[warp * warps + u], own->second[u]);
    refreshKnown(warp);
    if (variable.clocks->size() > (own != variable.clocks->end() ? 1u : 0u))
      join(remote[warp], variable.clocks);
  }
  void release(uint32_t warp, SyncVariable &variable) {
    join(variable.clocks, snapshot(warp));
    ++clock[warp];
  }
  CodeSite siteOf(uint32_t thread, uint32_t pc, uint64_t linear) const {
    const Inst &inst = launch->function->code[pc];
    Warp stand;
    stand.index = thread >> 5;
    CodeSite site = codeSite(*launch, *block, stand, inst, thread & 31);
    Dim3 grid = launch->config->grid;
    site.block = {uint32_t(linear % grid.x), uint32_t(linear / grid.x % grid.y), uint32_t(linear / (uint64_t(grid.x) * grid.y))};
    return site;
  }
};

RaceChecker::RaceChecker(LaunchState &launch, Block &block) : state(std::make_unique<State>()) {
  State &s = *state;
  s.launch = &launch;
  s.block = &block;
  s.warps = block.warpCount;
  s.checkShared = launch.config->checks.sharedRaces && launch.sharedBytes > 0;
  s.checkGlobal = launch.config->checks.globalRaces;
  s.granule = 4;
  for (const MemOp &mem : launch.function->mems)
    if (mem.space == MemSpace::Shared || mem.space == MemSpace::Generic || mem.space == MemSpace::Global)
      s.granule = std::min<uint32_t>(s.granule, mem.elementBytes);
  s.clock.assign(s.warps, 1);
  s.floor.assign(s.warps, 0);
  s.knows.assign(size_t(s.warps) * s.warps, 0);
  for (uint32_t w = 0; w < s.warps; ++w)
    s.knows[w * s.warps + w] = ~0u;
  s.lanes.resize(s.warps);
  s.remote.resize(s.warps);
  s.fenced.assign(s.warps, false);
  s.known.assign(s.warps, 0);
  if (s.checkShared) {
    s.granules = (launch.sharedBytes + s.granule - 1) / s.granule;
    for (auto *array : {&s.writeClock, &s.writePc, &s.writeSerial, &s.readMaximum, &s.readPc})
      array->resize(s.granules);
    s.writeThread.resize(s.granules);
    s.writeStrong.resize(s.granules);
    s.readClock.resize(s.granules * s.warps);
    s.readLanes.resize(s.granules * s.warps);
  }
  if (s.checkGlobal) {
    if (!launch.globalShadow) {
      launch.globalShadow = std::make_shared<GlobalShadow>();
      launch.globalShadow->granule = s.granule;
    }
    s.global = launch.globalShadow;
  }
}
RaceChecker::~RaceChecker() = default;

void RaceChecker::joinLanes(Warp &warp, uint32_t lanes) {
  State &s = *state;
  uint32_t w = warp.index;
  if ((lanes & warp.live) == warp.live) {
    s.floor[w] = s.clock[w]++;
    s.refreshKnown(w);
    return;
  }
  if (!s.lanes[w]) {
    s.lanes[w] = std::make_unique<uint32_t[]>(1024);
  }
  uint32_t joined[32] = {};
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int a = __builtin_ctz(rest);
    for (int b = 0; b < 32; ++b)
      joined[b] = std::max(joined[b], s.lanes[w][a * 32 + b]);
  }
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    joined[__builtin_ctz(rest)] = s.clock[w];
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    std::copy(joined, joined + 32, &s.lanes[w][__builtin_ctz(rest) * 32]);
  ++s.clock[w];
}

void RaceChecker::barrierArrive(Warp &warp, unsigned id) {
  State &s = *state;
  uint32_t w = warp.index;
  State::Joining &joining = s.joining[id];
  joining.clocks.resize(s.warps);
  for (uint32_t u = 0; u < s.warps; ++u)
    joining.clocks[u] = std::max(joining.clocks[u], u == w ? s.clock[w] : s.knows[w * s.warps + u]);
  join(joining.remote, s.remote[w]);
  ++s.clock[w];
}
void RaceChecker::barrierLeave(Warp &warp, unsigned id) {
  State &s = *state;
  uint32_t w = warp.index;
  State::Joining &joining = s.joining[id];
  for (uint32_t u = 0; u < s.warps; ++u)
    if (u != w)
      s.knows[w * s.warps + u] = std::max(s.knows[w * s.warps + u], joining.clocks[u]);
  s.floor[w] = std::max(s.floor[w], joining.clocks[w]);
  join(s.remote[w], joining.remote);
  s.refreshKnown(w);
}
void RaceChecker::barrierReset(unsigned id) { state->joining[id] = {}; }

void RaceChecker::mbarrierArrive(Warp &warp, uint32_t address) { state->release(warp.index, state->sharedSync[address]); }
void RaceChecker::mbarrierWait(Warp &warp, uint32_t address) { state->acquire(warp.index, state->sharedSync[address]); }

void RaceChecker::copyCompleted(Warp &warp, uint32_t destination, uint32_t bytes, unsigned lane) {
  State &s = *state;
  if (!s.checkShared)
    return;
  for (uint32_t g = destination / s.granule; g < (destination + bytes) / s.granule; ++g)
    if (s.writeThread[g] == warp.index * 32 + lane)
      s.writeClock[g] = s.clock[warp.index];
}

void RaceChecker::access(Warp &warp, const Inst &inst, uint32_t mask) {
  State &s = *state;
  uint32_t w = warp.index;
  if (inst.fn == runFence) {
    s.fenced[w] = true;
    return;
  }
  if (inst.fn == runAsyncCommit || inst.fn == runAsyncWait || inst.fn == runMbarrier)
    return;
  const MemOp &mem = *inst.mem;
  if (mem.access == AccessKind::MmaTile || mem.space == MemSpace::Local || mem.space == MemSpace::Param)
    return;
  if (mem.space == MemSpace::Global && mem.access != AccessKind::AsyncCopy && !s.checkGlobal)
    return;
  if (mem.space == MemSpace::Shared && !s.checkShared)
    return;
  uint64_t addresses[32];
  uint32_t lanes = laneAddresses(warp, mem, mask, addresses);
  uint32_t bytes = mem.access == AccessKind::LdMatrix || mem.access == AccessKind::StMatrix ? 16
                   : mem.access == AccessKind::AsyncCopy                                    ? mem.elementBytes
                                                        : uint32_t(mem.elementBytes) * mem.vector;
  bool isAtomic = mem.access == AccessKind::Atomic;
  bool isWrite = mem.access == AccessKind::Store || mem.access == AccessKind::StMatrix || isAtomic ||
                 mem.access == AccessKind::AsyncCopy;
  bool isRead = mem.access == AccessKind::Load || mem.access == AccessKind::LdMatrix || isAtomic;
  bool strong = mem.strong;
  bool strict = s.launch->config->checks.strictFences;
  ++s.serial;
  uint32_t now = s.clock[w];
  LaunchState &launch = *s.launch;

  // Do the bytes about to be written equal what is there (same-value writes), or what another lane writes now?
  auto sameAsMemory = [&](unsigned lane, const char *at) {
    if (mem.access != AccessKind::Store)
      return false;
    for (unsigned v = 0; v < mem.vector; ++v) {
      const char *value = warp.at(mem.values[v]) + lane * mem.regBytes;
      if (std::memcmp(at + v * mem.elementBytes, value, mem.elementBytes) != 0)
        return false;
    }
    return true;
  };
  auto sameAsLane = [&](unsigned a, unsigned b) {
    if (mem.access != AccessKind::Store || addresses[a] != addresses[b])
      return false;
    for (unsigned v = 0; v < mem.vector; ++v) {
      const char *base = warp.at(mem.values[v]);
      if (std::memcmp(base + a * mem.regBytes, base + b * mem.regBytes, mem.elementBytes) != 0)
        return false;
    }
    return true;
  };
  auto complain = [&](unsigned lane, bool shared, const char *what, uint64_t address, bool same, CodeSite other,
                      std::string allocation) {
    if (same) {
      if (launch.config->checks.sameValueWrites)
        report(warp, inst, lane, FindingKind::SameValueWrite, "two threads write the same value without being ordered", address,
               bytes, std::move(other), false, std::move(allocation));
      return;
    }
    report(warp, inst, lane, shared ? FindingKind::SharedRace : FindingKind::GlobalRace,
           std::string(what) + ": nothing orders these two accesses", address, bytes, std::move(other), true, std::move(allocation));
  };

  // One run of shared bytes touched by `readers` lanes (`lane` is one of them).
  auto sharedAccess = [&](unsigned lane, uint32_t address, uint32_t readers, bool reads, bool writesHere) {
    uint32_t thread = w * 32 + lane;
    if (address + bytes > launch.sharedBytes)
      return; // the handler reports it
    uint32_t first = address / s.granule, last = (address + bytes - 1) / s.granule, known = s.known[w];
    size_t mine = size_t(w) * s.granules;
    if (!strong && reads && !writesHere) { // the common reads: ordered after every write
      uint32_t late = 0;
      for (uint32_t g = first; g <= last; ++g)
        late |= s.writeClock[g] > known;
      if (!late) {
        for (uint32_t g = first; g <= last; ++g) {
          uint32_t old = s.readClock[mine + g] == now ? s.readLanes[mine + g] : 0;
          s.readClock[mine + g] = now;
          s.readLanes[mine + g] = old | readers;
          s.readMaximum[g] = std::max(s.readMaximum[g], now);
          s.readPc[g] = warp.pc;
        }
        return;
      }
    }
    bool reported = false;
    for (uint32_t g = first; g <= last; ++g) {
      uint32_t wrote = s.writeClock[g], writer = s.writeThread[g];
      if (wrote > known && !(strong && s.writeStrong[g]) && !reported && writer != thread &&
          !(s.writeSerial[g] == s.serial && !writesHere)) {
        if (s.writeSerial[g] == s.serial) { // two lanes of this very instruction
          complain(lane, true, "write after write in one instruction", address, sameAsLane(lane, writer & 31),
                   s.siteOf(writer, s.writePc[g], s.block->linear), describeShared(launch, address));
          reported = true;
        } else if (!s.orderedLocal(w, lane, writer, wrote)) {
          bool same = writesHere && !reads && sameAsMemory(lane, s.block->shared + address);
          complain(lane, true, writesHere ? "write after write" : "read after write", address, same,
                   s.siteOf(writer, s.writePc[g], s.block->linear), describeShared(launch, address));
          reported = true;
        }
      }
      if (writesHere) {
        for (uint32_t u = 0; s.readMaximum[g] > known && u < s.warps && !reported; ++u) {
          auto check = [&](const std::vector<uint32_t> &clocks, const std::vector<uint32_t> &who) {
            if (clocks.empty() || reported)
              return;
            size_t at = size_t(u) * s.granules + g;
            if (!clocks[at])
              return;
            for (uint32_t rest = who[at]; rest && !reported; rest &= rest - 1) {
              uint32_t reader = u * 32 + uint32_t(__builtin_ctz(rest));
              if (s.orderedLocal(w, lane, reader, clocks[at])) {
                if (u != w)
                  return;
                continue;
              }
              complain(lane, true, "write after read", address, sameAsMemory(lane, s.block->shared + address),
                       s.siteOf(reader, s.readPc[g], s.block->linear), describeShared(launch, address));
              reported = true;
            }
          };
          check(s.readClock, s.readLanes);
          if (!strong)
            check(s.strongReadClock, s.strongReadLanes);
        }
        s.writeClock[g] = now;
        s.writePc[g] = warp.pc;
        s.writeThread[g] = uint16_t(thread);
        s.writeStrong[g] = strong;
        s.writeSerial[g] = s.serial;
      }
      if (reads && !writesHere) {
        if (strong && s.strongReadClock.empty()) {
          s.strongReadClock.resize(s.readClock.size());
          s.strongReadLanes.resize(s.readClock.size());
        }
        uint32_t &clock = strong ? s.strongReadClock[mine + g] : s.readClock[mine + g];
        uint32_t &who = strong ? s.strongReadLanes[mine + g] : s.readLanes[mine + g];
        who = clock == now ? who | readers : readers;
        clock = now;
        s.readMaximum[g] = std::max(s.readMaximum[g], now);
        s.readPc[g] = warp.pc;
      }
    }
  };

  uint32_t self = uint32_t(s.block->linear);
  // Two strong accesses do not race when each is in the other's scope.
  auto exempt = [&](const GlobalRecord &record) {
    return strong && record.strong && (record.block == self || (record.scope >= 2 && mem.scope >= 2));
  };
  auto globalAccess = [&](unsigned lane, uint64_t address, bool reads, bool writesHere) {
    uint32_t thread = w * 32 + lane;
    GlobalShadow &shadow = *s.global;
    bool reported = false;
    GlobalRecord me;
    me.block = self;
    me.clock = now;
    me.pc = warp.pc;
    me.thread = thread;
    me.strong = strong;
    me.scope = mem.scope;
    GlobalGranule *granules = shadow.page(address) + (address % shadowPage) / shadow.granule;
    uint64_t key = address / shadow.granule;
    for (uint32_t g = 0; g < std::max(1u, bytes / shadow.granule); ++g) {
      GlobalGranule &granule = granules[g];
      GlobalRecord &write = granule.write, &read = granule.read;
      bool sameThread = write.block == self && write.thread == thread;
      if (write.clock && !sameThread && !exempt(write) && !reported && !s.ordered(w, lane, write)) {
        bool sameInstruction = write.block == self && write.pc == warp.pc && write.thread / 32 == w && write.clock == now;
        bool same = writesHere && !reads &&
                    (sameInstruction && addresses[write.thread & 31] == addresses[lane] ? sameAsLane(lane, write.thread & 31)
                                     : sameAsMemory(lane, reinterpret_cast<const char *>(address)));
        complain(lane, false, writesHere ? "write after write" : "read after write", address, same,
                 s.siteOf(write.thread, write.pc, write.block), launch.memory->describe(address));
        reported = true;
      }
      if (writesHere) {
        auto against = [&](const GlobalRecord &other) {
          if (!other.clock || (other.block == self && other.thread == thread) || exempt(other) || reported || s.ordered(w, lane, other))
            return;
          complain(lane, false, "write after read", address, sameAsMemory(lane, reinterpret_cast<const char *>(address)),
                   s.siteOf(other.thread, other.pc, other.block), launch.memory->describe(address));
          reported = true;
        };
        against(read);
        if (read.many) {
          auto it = shadow.readers.find(key + g);
          if (it != shadow.readers.end()) {
            for (const GlobalRecord &other : it->second)
              against(other);
            shadow.readers.erase(it);
          }
        }
        write = me;
        if (!strong || !read.strong)
          read = {};
        read.many = 0;
      } else if (!read.clock || (read.block == self && read.thread / 32 == w && read.strong == strong && !read.many)) {
        read = me;
      } else {
        std::vector<GlobalRecord> &more = shadow.readers[key + g];
        read.many = 1;
        bool placed = false;
        for (GlobalRecord &other : more)
          if (other.block == self && other.thread / 32 == w) {
            other = me;
            placed = true;
            break;
          }
        if (!placed && more.size() < 8)
          more.push_back(me);
      }
    }
  };

  const BoundsCache &bounds = warp.caches[mem.index];
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = addresses[lane];
    MemSpace space = concreteSpace(mem.space, address);
    if (warp.event != Event::None)
      return;
    if (space == MemSpace::Shared) {
      if (strong && isRead) {
        auto it = s.sharedSync.find(uint32_t(address));
        if (it != s.sharedSync.end())
          s.acquire(w, it->second);
      }
      if (s.checkShared) {
        uint32_t readers = 1u << lane;
        unsigned checkLane = lane;
        if (mem.access == AccessKind::LdMatrix) {
          unsigned row = lane % 8;
          readers = mem.isSigned ? 0x11111111u << (row / 2) : 0xFu << (row * 4);
          checkLane = unsigned(__builtin_ctz(readers));
        }
        // Lanes that read one address are one access; tiles are read in halves of a warp.
        if (!isWrite && !strong && mem.access == AccessKind::Load) {
          for (uint32_t others = rest & (rest - 1); others; others &= others - 1) {
            unsigned other = unsigned(__builtin_ctz(others));
            if (addresses[other] != addresses[lane]) {
              if (other != lane + 1)
                break;
              if (lane + 16 < 32 && (rest >> (lane + 16) & 1) && addresses[lane + 16] == addresses[lane])
                readers |= 1u << (lane + 16);
              break;
            }
            readers |= 1u << other;
          }
          rest &= ~(readers & ~(1u << lane));
        }
        sharedAccess(checkLane, uint32_t(address), readers, isRead, isWrite);
      }
      if (strong && isWrite && (!strict || s.fenced[w] || mem.release))
        s.release(w, s.sharedSync[uint32_t(address)]);
    } else if (space == MemSpace::Global && mem.access != AccessKind::AsyncCopy) {
      if (!s.checkGlobal || mem.constant)
        continue;
      if (!(address >= bounds.lo && address + bytes <= bounds.hi) && !launch.memory->accessible(address).hi)
        continue;
      if (strong && isRead) {
        auto it = s.global->sync.find(address);
        if (it != s.global->sync.end())
          s.acquire(w, it->second);
      }
      globalAccess(lane, address, isRead, isWrite);
      if (strong && isWrite && (!strict || s.fenced[w] || mem.release))
        s.release(w, s.global->sync[address]);
    }
  }
  if (mem.access == AccessKind::AsyncCopy && s.checkGlobal) {
    auto *source = reinterpret_cast<const uint64_t *>(warp.at(mem.source));
    auto *sizes = mem.hasSourceSize ? reinterpret_cast<const uint32_t *>(warp.at(mem.sourceSize)) : nullptr;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint64_t address = source[lane] + uint64_t(mem.sourceOffset);
      if ((!sizes || sizes[lane]) && launch.memory->accessible(address).hi)
        globalAccess(lane, address, true, false);
    }
  }
}

} // namespace graphc::cudasim
