// Data races in shared and global memory, byte-exact, by clocks.
//
// A warp knows, for every other warp, up to which clock that one's accesses happened before its own next instruction:
//   bar.sync joins the participants, bar.arrive only releases, threads that have exited count as arrived;
//   bar.warp.sync joins its lanes (lockstep execution gives no order between lanes: a missing __syncwarp shows);
//   a fence and then a strong write (or a .release) releases what the warp knows, a strong read or atomic that sees it
//   acquires; `strictFences` also demands the fence between the last plain write and the release, and after the read.
// shfl, vote, match, redux and mma give no order. Across blocks the same clocks travel through device-scope accesses,
// so last-block reductions, split-K and grid.sync are ordered; block-scope ones order their own block only. Where
// precision would cost too much the checker errs to silence: warps acquire and release as a whole.
#include "runtime/cudasim/engine/Races.h"

#include <algorithm>

namespace graphc::cudasim {

// -- knowledge -----------------------------------------------------------------------------------------------------

static bool coversAll(const Knowledge::Clocks &a, const Knowledge::Clocks &b) {
  for (size_t i = 0; i < b.size(); ++i)
    if (b[i] > (i < a.size() ? a[i] : 0))
      return false;
  return true;
}

Knowledge::Child Knowledge::joined(const Child &a, const Child &b, int level) {
  if (a == b || !b)
    return a;
  if (!a)
    return b;
  if (level < 0) {
    auto &x = *static_cast<const Clocks *>(a.get()), &y = *static_cast<const Clocks *>(b.get());
    if (coversAll(x, y))
      return a;
    if (coversAll(y, x))
      return b;
    auto both = std::make_shared<Clocks>(x);
    both->resize(std::max(x.size(), y.size()));
    for (size_t i = 0; i < y.size(); ++i)
      (*both)[i] = std::max((*both)[i], y[i]);
    return both;
  }
  auto &x = *static_cast<const Node *>(a.get()), &y = *static_cast<const Node *>(b.get());
  Node result;
  bool sameAsA = true, sameAsB = true;
  for (int i = 0; i < 16; ++i) {
    result.children[i] = joined(x.children[i], y.children[i], level - 1);
    sameAsA &= result.children[i] == x.children[i];
    sameAsB &= result.children[i] == y.children[i];
  }
  if (sameAsA)
    return a;
  if (sameAsB)
    return b;
  return std::make_shared<Node>(std::move(result));
}

Knowledge::Child Knowledge::raised(const Child &node, uint32_t block, const Clocks &clocks, int level) {
  if (level < 0)
    return joined(node, std::make_shared<Clocks>(clocks), level);
  auto result = node ? std::make_shared<Node>(*static_cast<const Node *>(node.get())) : std::make_shared<Node>();
  Child &child = result->children[block >> (4 * level) & 15];
  child = raised(child, block, clocks, level - 1);
  return result;
}

void Knowledge::raise(uint32_t block, const Clocks &clocks) { root = raised(root, block, clocks, levels - 1); }

const Knowledge::Clocks *Knowledge::of(uint32_t block) const {
  const void *at = root.get();
  for (int level = levels - 1; at && level >= 0; --level)
    at = static_cast<const Node *>(at)->children[block >> (4 * level) & 15].get();
  return static_cast<const Clocks *>(at);
}

// -- clocks --------------------------------------------------------------------------------------------------------

bool RaceChecker::State::ordered(uint32_t warp, uint32_t lane, const GlobalShadow::Record &record, uint32_t otherLane) const {
  if (record.block == self())
    return orderedLocal(warp, lane, record.warp * 32u + otherLane, record.clock);
  const Knowledge::Clocks *clocks = remote[warp].of(record.block);
  return clocks && record.warp < clocks->size() && record.clock <= (*clocks)[record.warp];
}

Knowledge RaceChecker::State::snapshot(uint32_t warp) const {
  Knowledge result = remote[warp];
  Knowledge::Clocks own(knows.begin() + warp * warps, knows.begin() + (warp + 1) * warps);
  own[warp] = clock[warp];
  result.raise(self(), own);
  return result;
}

void RaceChecker::State::learn(uint32_t warp, const Knowledge &what) {
  if (what.empty())
    return;
  if (const Knowledge::Clocks *own = what.of(self()))
    for (uint32_t u = 0; u < warps && u < own->size(); ++u)
      if (u != warp)
        knows[warp * warps + u] = std::max(knows[warp * warps + u], (*own)[u]);
  remote[warp].join(what);
}

void RaceChecker::State::acquire(uint32_t warp, const SyncVariable &variable, const MemOp &mem) {
  Knowledge seen;
  if (mem.scope >= 2 || (!variable.severalBlocks && variable.onlyBlock == self()))
    seen = variable.device;
  auto own = variable.blocks.find(self());
  if (own != variable.blocks.end())
    seen.join(own->second);
  if (strict && !mem.acquire)
    pending[warp].join(seen);
  else
    learn(warp, seen);
}

/// Whether a strong write of this warp publishes what it did before, and how far.
bool RaceChecker::State::releases(uint32_t warp, const MemOp &mem, unsigned &scope) const {
  scope = mem.scope;
  if (mem.release)
    return true;
  if (!fenced[warp])
    return false;
  scope = std::min<unsigned>(scope, fenced[warp] - 1u);
  return true;
}

void RaceChecker::State::release(uint32_t warp, SyncVariable &variable, const MemOp &mem, const Knowledge &what) {
  unsigned scope;
  bool isRelease = releases(warp, mem, scope);
  if (mem.access != AccessKind::Atomic) { // a plain strong write replaces what earlier ones left
    if (!isRelease || scope >= 2) {
      variable.device = {};
      variable.onlyBlock = ~0u;
      variable.severalBlocks = false;
    }
    variable.blocks.erase(self());
  }
  if (!isRelease)
    return;
  if (scope < 2) {
    variable.blocks[self()].join(what);
    return;
  }
  variable.device.join(what);
  variable.severalBlocks |= variable.onlyBlock != ~0u && variable.onlyBlock != self();
  variable.onlyBlock = self();
}

// -- reports -------------------------------------------------------------------------------------------------------

CodeSite RaceChecker::State::siteOf(uint32_t thread, uint32_t pc, uint64_t linear) const {
  Warp stand;
  stand.index = thread >> 5;
  CodeSite site = codeSite(*launch, *block, stand, launch->function->code[pc], thread & 31);
  Dim3 grid = launch->config->grid;
  site.block = {uint32_t(linear % grid.x), uint32_t(linear / grid.x % grid.y), uint32_t(linear / (uint64_t(grid.x) * grid.y))};
  return site;
}

bool RaceChecker::State::writesSameAsMemory(const Access &access, unsigned lane, const char *at) const {
  const MemOp &mem = access.mem;
  if (mem.access != AccessKind::Store)
    return false;
  for (unsigned v = 0; v < mem.vector; ++v)
    if (std::memcmp(at + v * mem.elementBytes, access.warp.at(mem.values[v]) + lane * mem.regBytes, mem.elementBytes) != 0)
      return false;
  return true;
}

bool RaceChecker::State::writesSameAsLane(const Access &access, unsigned a, unsigned b) const {
  const MemOp &mem = access.mem;
  if (mem.access != AccessKind::Store || access.addresses[a] != access.addresses[b])
    return false;
  for (unsigned v = 0; v < mem.vector; ++v) {
    const char *base = access.warp.at(mem.values[v]);
    if (std::memcmp(base + a * mem.regBytes, base + b * mem.regBytes, mem.elementBytes) != 0)
      return false;
  }
  return true;
}

void RaceChecker::State::complain(const Access &access, unsigned lane, bool isShared, const char *what, uint64_t address,
                                  bool same, CodeSite other, std::string allocation) {
  if (same) {
    if (launch->config->checks.sameValueWrites)
      report(access.warp, access.inst, lane, FindingKind::SameValueWrite, "two threads write the same value without being ordered",
             address, access.bytes, std::move(other), false, std::move(allocation));
    return;
  }
  report(access.warp, access.inst, lane, isShared ? FindingKind::SharedRace : FindingKind::GlobalRace,
         std::string(what) + ": nothing orders these two accesses", address, access.bytes, std::move(other), true,
         std::move(allocation));
}

// -- the interface -------------------------------------------------------------------------------------------------

bool prepareRaceChecking(LaunchState &launch) {
  uint32_t granule = 4;
  bool synchronises = false; // through global memory, which all blocks see
  for (const MemOp &mem : launch.function->mems) {
    if (mem.space != MemSpace::Shared && mem.space != MemSpace::Generic && mem.space != MemSpace::Global)
      continue;
    granule = std::min<uint32_t>(granule, mem.elementBytes);
    synchronises |= mem.strong && mem.space != MemSpace::Shared;
  }
  launch.globalShadow = std::make_shared<GlobalShadow>(granule);
  return !launch.config->checks.globalRaces && !synchronises;
}

RaceChecker::RaceChecker(LaunchState &launch, Block &block) : state(std::make_unique<State>()) {
  State &s = *state;
  s.launch = &launch;
  s.block = &block;
  s.warps = block.warpCount;
  s.checkShared = launch.config->checks.sharedRaces && launch.sharedBytes > 0;
  s.checkGlobal = launch.config->checks.globalRaces;
  s.strict = launch.config->checks.strictFences;
  s.global = launch.globalShadow;
  s.granule = s.global->granule;
  s.clock.assign(s.warps, 0);
  s.exited.assign(s.warps, 0);
  s.knows.assign(size_t(s.warps) * s.warps, 0);
  s.lanes.resize(s.warps);
  s.remote.resize(s.warps);
  s.pending.resize(s.warps);
  s.fenced.assign(s.warps, 0);
  s.shared.lastRead.assign(s.warps, 0);
  s.shared.lastWrite.assign(s.warps, 0);
  s.shared.log.resize(s.warps);
  if (s.checkShared) {
    s.shared.granules = (launch.sharedBytes + s.granule - 1) / s.granule;
    s.shared.writes.resize(s.shared.granules);
  }
  if (s.checkGlobal)
    s.lastRecord.resize(size_t(s.warps) * (launch.function->boundsCaches + 1));
}
RaceChecker::~RaceChecker() = default;

void RaceChecker::blockStarts() {
  State &s = *state;
  uint32_t base = 0;
  for (uint32_t at : s.clock)
    base = std::max(base, at);
  std::fill(s.clock.begin(), s.clock.end(), base + 1);
  std::fill(s.knows.begin(), s.knows.end(), base);
  std::fill(s.exited.begin(), s.exited.end(), base);
  for (uint32_t w = 0; w < s.warps; ++w) {
    s.remote[w] = {};
    s.pending[w] = {};
    s.fenced[w] = 0;
    s.shared.log[w].clear();
  }
  s.exitedRemote = {};
  s.sharedSync.clear();
  s.mbarriers.clear();
  for (State::Joining &joining : s.joining)
    joining = {};
}

void RaceChecker::joinLanes(Warp &warp, uint32_t lanes) {
  State &s = *state;
  uint32_t w = warp.index;
  if ((lanes & warp.live) == warp.live) {
    s.knows[w * s.warps + w] = s.clock[w]++;
    return;
  }
  if (!s.lanes[w])
    s.lanes[w] = std::make_unique<uint32_t[]>(1024);
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

void RaceChecker::warpExited(Warp &warp) {
  State &s = *state;
  s.exited[warp.index] = s.clock[warp.index];
  s.exitedRemote.join(s.remote[warp.index]);
}

void RaceChecker::barrierArrive(Warp &warp, unsigned id) {
  State &s = *state;
  uint32_t w = warp.index;
  State::Joining &joining = s.joining[id];
  joining.clocks.resize(s.warps);
  for (uint32_t u = 0; u < s.warps; ++u)
    joining.clocks[u] = std::max(joining.clocks[u], u == w ? s.clock[w] : s.knows[w * s.warps + u]);
  joining.remote.join(s.remote[w]);
  ++s.clock[w];
}
void RaceChecker::barrierLeave(Warp &warp, unsigned id) {
  State &s = *state;
  uint32_t w = warp.index;
  State::Joining &joining = s.joining[id];
  for (uint32_t u = 0; u < s.warps; ++u)
    s.knows[w * s.warps + u] = std::max({s.knows[w * s.warps + u], joining.clocks[u], u == w ? 0 : s.exited[u]});
  s.remote[w].join(joining.remote);
  s.remote[w].join(s.exitedRemote);
  if (s.strict)
    s.fenced[w] = 0; // what the others brought along is not fenced yet
}
void RaceChecker::barrierReset(unsigned id) {
  state->joining[id] = {};
  if (state->checkShared)
    state->dropLogs();
}

void RaceChecker::mbarrierArrive(Warp &warp, uint32_t address) {
  State &s = *state;
  s.mbarriers[address].arriving.join(s.snapshot(warp.index));
  ++s.clock[warp.index];
}
void RaceChecker::mbarrierCompletes(uint32_t address) {
  State::Mbarrier &barrier = state->mbarriers[address];
  barrier.completed = barrier.arriving;
  barrier.arriving = {};
}
void RaceChecker::mbarrierWait(Warp &warp, uint32_t address) { state->learn(warp.index, state->mbarriers[address].completed); }

void RaceChecker::copyCompleted(Warp &warp, const AsyncEntry &entry) {
  State &s = *state;
  if (s.checkShared)
    for (uint32_t g = entry.destination / s.granule; g < (entry.destination + entry.bytes) / s.granule; ++g)
      if (s.shared.writes[g].thread == warp.index * 32 + entry.lane) {
        s.shared.writes[g].clock = s.clock[warp.index];
        s.shared.lastWrite[warp.index] = s.clock[warp.index];
      }
  if (s.checkGlobal && entry.sourceBytes) { // until now the copy may have been reading
    const Inst &copy = s.launch->function->code[entry.pc];
    uint64_t addresses[32] = {};
    addresses[entry.lane] = entry.source;
    uint32_t waitsAt = warp.pc;
    warp.pc = entry.pc;
    State::Access read{warp, copy, *copy.mem, entry.sourceBytes, true, false, false, addresses};
    s.globalAccess(read, 1u << entry.lane);
    warp.pc = waitsAt;
  }
}

void RaceChecker::access(Warp &warp, const Inst &inst, uint32_t mask) {
  State &s = *state;
  uint32_t w = warp.index;
  if (inst.fn == runFence) {
    s.fenced[w] = std::max<uint8_t>(s.fenced[w], uint8_t(inst.sub + 1));
    if (s.strict) {
      s.learn(w, s.pending[w]);
      s.pending[w] = {};
    }
    return;
  }
  if (inst.fn == runAsyncCommit || inst.fn == runAsyncWait)
    return;
  const MemOp &mem = *inst.mem;
  if (inst.fn == runMbarrier) { // the object itself: set up by a plain write, then used by strong accesses
    if (!s.checkShared)
      return;
    alignas(64) uint64_t places[32];
    uint32_t lanes = laneAddresses(warp, mem, mask, places), inShared = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      inShared |= uint32_t(concreteSpace(mem.space, places[lane]) == MemSpace::Shared) << lane;
    }
    MbarrierOp op = MbarrierOp(inst.sub);
    bool plain = op == MbarrierOp::Init || op == MbarrierOp::Inval, waits = op == MbarrierOp::TestWait || op == MbarrierOp::TestWaitParity;
    ++s.serial;
    State::Access use{warp, inst, mem, 8, !plain, !waits, !plain, places};
    if (inShared)
      s.sharedAccess(use, inShared);
    return;
  }
  if (mem.space == MemSpace::Local || mem.space == MemSpace::Param)
    return;
  if (mem.space == MemSpace::Global && mem.access != AccessKind::AsyncCopy && !s.checkGlobal && !mem.strong)
    return;
  if (mem.space == MemSpace::Shared && mem.access != AccessKind::AsyncCopy && !s.checkShared && !mem.strong)
    return;
  if (mem.space == MemSpace::Shared && mem.access == AccessKind::Load && !mem.strong && !s.unordered(s.shared.lastWrite, w)) {
    s.logRead(warp, mem, mask);
    return;
  }
  bool isMatrix = mem.access == AccessKind::LdMatrix || mem.access == AccessKind::StMatrix;
  bool isAtomic = mem.access == AccessKind::Atomic, isTile = mem.access == AccessKind::MmaTile;
  bool isStore = mem.access == AccessKind::Store || mem.access == AccessKind::StMatrix || (isTile && inst.cls == Class::Store);
  uint32_t bytes = isMatrix ? 16 : isTile || mem.access == AccessKind::AsyncCopy ? mem.elementBytes : uint32_t(mem.elementBytes) * mem.vector;
  alignas(64) uint64_t addresses[32];
  uint32_t lanes = laneAddresses(warp, mem, mask, addresses);
  State::Access access{warp, inst, mem, bytes, !isStore && mem.access != AccessKind::AsyncCopy,
                       isStore || isAtomic || mem.access == AccessKind::AsyncCopy, mem.strong, addresses};
  ++s.serial;

  auto visit = [&]() {
    uint32_t inShared = 0, inGlobal = 0;
    if (mem.space == MemSpace::Shared) {
      inShared = lanes;
    } else if (mem.space == MemSpace::Global) {
      inGlobal = lanes;
    } else {
      for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        MemSpace space = concreteSpace(MemSpace::Generic, addresses[lane]);
        inShared |= uint32_t(space == MemSpace::Shared) << lane;
        inGlobal |= uint32_t(space == MemSpace::Global) << lane;
      }
    }
    if (!mem.strong) {
      if (s.strict && access.writes && mem.access != AccessKind::AsyncCopy)
        s.fenced[w] = 0;
      if (inShared && s.checkShared)
        s.sharedAccess(access, inShared);
      if (inGlobal && s.checkGlobal && !mem.constant)
        s.globalAccess(access, inGlobal);
      return;
    }
    // Strong accesses synchronise: first see what others released, last release.
    auto variables = [&](auto fn) {
      for (uint32_t rest = inShared; rest; rest &= rest - 1)
        fn(true, addresses[__builtin_ctz(rest)]);
      for (uint32_t rest = inGlobal; rest; rest &= rest - 1)
        fn(false, addresses[__builtin_ctz(rest)]);
    };
    if (access.reads)
      variables([&](bool isShared, uint64_t address) {
        if (isShared) {
          auto it = s.sharedSync.find(uint32_t(address));
          if (it != s.sharedSync.end())
            s.acquire(w, it->second, mem);
        } else {
          auto it = s.global->sync.find(address);
          if (it != s.global->sync.end())
            s.acquire(w, it->second, mem);
        }
      });
    if (inShared && s.checkShared)
      s.sharedAccess(access, inShared);
    if (inGlobal && s.checkGlobal)
      s.globalAccess(access, inGlobal);
    if (access.writes && warp.event == Event::None) {
      Knowledge what;
      unsigned scope;
      bool isRelease = s.releases(w, mem, scope);
      if (isRelease)
        what = s.snapshot(w);
      variables([&](bool isShared, uint64_t address) {
        s.release(w, isShared ? s.sharedSync[uint32_t(address)] : s.global->sync[address], mem, what);
      });
      if (isRelease)
        ++s.clock[w];
    }
  };

  if (!isTile) {
    visit();
  } else { // element by element, as the handler lays the fragment out
    uint64_t bases[32];
    std::copy(addresses, addresses + 32, bases);
    uint32_t rows = inst.target & 255, columns = (inst.target >> 8) & 255;
    auto *strides = reinterpret_cast<const uint32_t *>(warp.at(inst.c));
    for (uint32_t j = 0; j < inst.wide && warp.event == Event::None; ++j) {
      for (uint32_t i = 0; i < 32; ++i) {
        uint32_t e = (i * inst.wide + j) % (rows * columns), row = e / columns, column = e % columns;
        addresses[i] = bases[i] + (inst.sub ? uint64_t(column) * strides[i] + row : uint64_t(row) * strides[i] + column) * inst.flags;
      }
      lanes = mask;
      visit();
    }
  }
  if (mem.access == AccessKind::AsyncCopy && s.checkGlobal) {
    auto *source = reinterpret_cast<const uint64_t *>(warp.at(mem.source));
    auto *sizes = mem.hasSourceSize ? reinterpret_cast<const uint32_t *>(warp.at(mem.sourceSize)) : nullptr;
    uint32_t reading = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      addresses[i] = source[i] + uint64_t(mem.sourceOffset);
      reading |= uint32_t((mask >> i & 1) && (!sizes || sizes[i])) << i;
    }
    State::Access read{warp, inst, mem, bytes, true, false, false, addresses};
    s.globalAccess(read, reading);
  }
}

} // namespace graphc::cudasim
