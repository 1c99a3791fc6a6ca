// Data races in shared and global memory, byte-exact, by clocks.
//
// Every warp has a clock; an access is tagged with its thread and the clock. A warp knows, for every other warp, up to
// which clock that one's accesses happened before its own next instruction:
//   bar.sync joins the participants, bar.arrive only releases, exited threads take no part;
//   bar.warp.sync joins its lanes (lockstep execution gives no order between lanes: a missing __syncwarp shows);
//   a strong write or atomic releases what its warp knows, a strong read or atomic that sees it acquires.
// shfl, vote, match, redux and mma give no order. Across blocks the same clocks travel through atomics, so last-block
// reductions, split-K and grid.sync are ordered. Where precision would cost too much the checker errs to silence: warps
// acquire as a whole, and at most four readers of a global location are remembered.
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
  uint32_t block = 0, pc = 0, clock = 0; ///< clock 0: none
  uint16_t thread = 0;
  bool strong = false;
  uint8_t scope = 0;
};
struct GlobalGranule {
  GlobalRecord write;
  GlobalRecord reads[4];
};

} // namespace

/// Shared by the blocks of a launch (which then run on one host thread).
struct GlobalShadow {
  std::unordered_map<uint64_t, std::unique_ptr<GlobalGranule[]>> pages; ///< by address / 1024
  std::unordered_map<uint64_t, SyncVariable> sync;
  uint32_t granule = 4;
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
  // Shared shadow.
  struct Write {
    uint32_t clock = 0, pc = 0;
    uint16_t thread = 0;
    bool strong = false;
    uint32_t serial = 0;
  };
  std::vector<Write> writes;
  std::vector<uint32_t> readClock, readLanes; ///< [granule][warp]; plain reads
  std::vector<uint32_t> readPc;
  std::vector<uint32_t> strongReadClock, strongReadLanes;
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
  if (s.checkShared) {
    size_t granules = (launch.sharedBytes + s.granule - 1) / s.granule;
    s.writes.resize(granules);
    s.readClock.resize(granules * s.warps);
    s.readLanes.resize(granules * s.warps);
    s.readPc.resize(granules);
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
}
void RaceChecker::barrierReset(unsigned id) { state->joining[id] = {}; }

void RaceChecker::mbarrierArrive(Warp &warp, uint32_t address) { state->release(warp.index, state->sharedSync[address]); }
void RaceChecker::mbarrierWait(Warp &warp, uint32_t address) { state->acquire(warp.index, state->sharedSync[address]); }

void RaceChecker::copyCompleted(Warp &warp, uint32_t destination, uint32_t bytes, unsigned lane) {
  State &s = *state;
  if (!s.checkShared)
    return;
  for (uint32_t g = destination / s.granule; g < (destination + bytes) / s.granule; ++g)
    if (s.writes[g].thread == warp.index * 32 + lane)
      s.writes[g].clock = s.clock[warp.index];
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
  if (mem.access == AccessKind::MmaTile)
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

  auto sharedAccess = [&](unsigned lane, uint32_t address, uint32_t readers, bool reads, bool writesHere) {
    uint32_t thread = w * 32 + lane;
    if (address + bytes > launch.sharedBytes)
      return; // the handler reports it
    uint32_t first = address / s.granule, last = (address + bytes - 1) / s.granule;
    bool reported = false;
    for (uint32_t g = first; g <= last; ++g) {
      State::Write &write = s.writes[g];
      if (write.clock && !(strong && write.strong) && !reported && write.thread != thread &&
          !(write.serial == s.serial && !writesHere)) {
        if (write.serial == s.serial) { // two lanes of this very instruction
          unsigned other = write.thread & 31;
          complain(lane, true, "write after write in one instruction", address, sameAsLane(lane, other),
                   s.siteOf(write.thread, write.pc, s.block->linear), describeShared(launch, address));
          reported = true;
        } else if (!s.orderedLocal(w, lane, write.thread, write.clock)) {
          bool same = writesHere && !reads && sameAsMemory(lane, s.block->shared + address);
          complain(lane, true, writesHere ? "write after write" : "read after write", address, same,
                   s.siteOf(write.thread, write.pc, s.block->linear), describeShared(launch, address));
          reported = true;
        }
      }
      if (writesHere) {
        uint32_t *clocks = &s.readClock[size_t(g) * s.warps];
        const uint32_t *known = &s.knows[w * s.warps];
        uint32_t late = 0;
        for (uint32_t u = 0; u < s.warps; ++u)
          late |= clocks[u] > known[u] ? 1 : 0;
        bool own = clocks[w] > s.floor[w] && (s.readLanes[size_t(g) * s.warps + w] & ~(1u << lane));
        if ((late || own) && !reported) {
          uint32_t reader = w;
          uint32_t readerLane = own ? uint32_t(__builtin_ctz(s.readLanes[size_t(g) * s.warps + w] & ~(1u << lane))) : 0;
          if (own && s.lanes[w] && clocks[w] <= s.lanes[w][lane * 32 + readerLane])
            own = false;
          for (uint32_t u = 0; u < s.warps && late; ++u)
            if (clocks[u] > known[u]) {
              reader = u;
              readerLane = uint32_t(__builtin_ctz(s.readLanes[size_t(g) * s.warps + u] | 1u << 31));
              break;
            }
          if (late || own) {
            complain(lane, true, "write after read", address, sameAsMemory(lane, s.block->shared + address),
                     s.siteOf(reader * 32 + readerLane, s.readPc[g], s.block->linear), describeShared(launch, address));
            reported = true;
          }
        }
        if (!strong && !s.strongReadClock.empty()) {
          for (uint32_t u = 0; u < s.warps && !reported; ++u) {
            uint32_t at = s.strongReadClock[size_t(g) * s.warps + u];
            uint32_t others = s.strongReadLanes[size_t(g) * s.warps + u];
            if (u == w ? at > s.floor[w] && (others & ~(1u << lane)) && !s.lanes[w] : at > s.knows[w * s.warps + u]) {
              complain(lane, true, "plain write after a strong read", address, false,
                       s.siteOf(u * 32 + uint32_t(__builtin_ctz(others | 1u << 31)), s.readPc[g], s.block->linear),
                       describeShared(launch, address));
              reported = true;
            }
          }
        }
        write = {now, warp.pc, uint16_t(thread), strong, s.serial};
      }
      if (reads && !writesHere) {
        if (strong && s.strongReadClock.empty()) {
          s.strongReadClock.resize(s.readClock.size());
          s.strongReadLanes.resize(s.readClock.size());
        }
        size_t at = size_t(g) * s.warps + w;
        uint32_t &clock = strong ? s.strongReadClock[at] : s.readClock[at];
        uint32_t &who = strong ? s.strongReadLanes[at] : s.readLanes[at];
        who = clock == now ? who | readers : readers;
        clock = now;
        s.readPc[g] = warp.pc;
      }
    }
  };

  auto globalAccess = [&](unsigned lane, uint64_t address, bool reads, bool writesHere) {
    uint32_t thread = w * 32 + lane;
    GlobalShadow &shadow = *s.global;
    bool reported = false;
    uint32_t self = uint32_t(s.block->linear);
    for (uint64_t g = address / shadow.granule; g <= (address + bytes - 1) / shadow.granule; ++g) {
      uint64_t byte = g * shadow.granule;
      auto &page = shadow.pages[byte >> 10];
      if (!page)
        page = std::make_unique<GlobalGranule[]>(1024 / shadow.granule);
      GlobalGranule &granule = page[(byte & 1023) / shadow.granule];
      // Two strong accesses do not race when each is in the other's scope.
      auto exempt = [&](const GlobalRecord &record) {
        return strong && record.strong && (record.block == self || (record.scope >= 2 && mem.scope >= 2));
      };
      GlobalRecord &write = granule.write;
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
        for (GlobalRecord &read : granule.reads)
          if (read.clock && !(read.block == self && read.thread == thread) && !exempt(read) && !reported &&
              !s.ordered(w, lane, read)) {
            complain(lane, false, "write after read", address, sameAsMemory(lane, reinterpret_cast<const char *>(address)),
                     s.siteOf(read.thread, read.pc, read.block), launch.memory->describe(address));
            reported = true;
          }
        write = {self, warp.pc, now, uint16_t(thread), strong, mem.scope};
        for (GlobalRecord &read : granule.reads)
          if (!strong || !read.strong)
            read = {};
      }
      if (reads && !writesHere) {
        GlobalRecord *slot = nullptr;
        for (GlobalRecord &read : granule.reads) {
          if (!read.clock || (read.block == self && read.thread / 32 == w && read.strong == strong)) {
            slot = &read;
            break;
          }
        }
        if (!slot) // full: forget one, and possibly miss a race
          slot = &granule.reads[(thread + self) & 3];
        *slot = {self, warp.pc, now, uint16_t(thread), strong, mem.scope};
      }
    }
  };

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
        sharedAccess(checkLane, uint32_t(address), readers, isRead, isWrite);
      }
      if (strong && isWrite && (!strict || s.fenced[w] || mem.release))
        s.release(w, s.sharedSync[uint32_t(address)]);
    } else if (space == MemSpace::Global && mem.access != AccessKind::AsyncCopy) {
      if (!s.checkGlobal || mem.constant)
        continue;
      if (!launch.memory->accessible(address).hi)
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
