// Block barriers: arrival per thread, counted per warp as the hardware counts, and the reports when none can complete.
#include "runtime/cudasim/engine/Checkers.h"
#include "runtime/cudasim/engine/Launch.h"

#include <algorithm>

namespace graphc::cudasim {

namespace {

uint32_t waitingLanes(const Warp &warp, unsigned id) {
  uint32_t lanes = 0;
  for (unsigned i = 0; i < warp.fragmentCount; ++i)
    if (warp.fragments[i].state == Fragment::AtBarrier && warp.fragments[i].barrier == id)
      lanes |= warp.fragments[i].mask;
  return lanes;
}

const Inst &instAt(const Block &block, uint32_t pc) { return block.launch->function->code[pc]; }

/// Lanes of one warp wait at an aligned barrier in two places: undefined on hardware.
bool checkDivergence(Block &block, Warp &warp, unsigned id) {
  const Fragment *first = nullptr;
  for (unsigned i = 0; i < warp.fragmentCount; ++i) {
    const Fragment &fragment = warp.fragments[i];
    if (fragment.state != Fragment::AtBarrier || fragment.barrier != id || !(instAt(block, fragment.pc).flags & 1))
      continue;
    if (!first) {
      first = &fragment;
    } else if (fragment.pc != first->pc) {
      const Inst &a = instAt(block, first->pc), &b = instAt(block, fragment.pc);
      report(warp, b, unsigned(__builtin_ctz(fragment.mask)), FindingKind::BarrierDivergence,
             "threads of one warp wait at the same barrier in two different places; every thread of a warp must execute "
             "the same bar.sync",
             0, 0, codeSite(*block.launch, block, warp, a, unsigned(__builtin_ctz(first->mask))));
      return false;
    }
  }
  return true;
}

void release(Block &block, unsigned id) {
  BarrierState &barrier = block.barriers[id];
  ++barrier.generation;
  ++block.barrierEpoch;
  noteProgress(*block.worker);
  for (uint32_t index = 0; index < block.warpCount; ++index) {
    Warp &warp = block.warps[index];
    bool any = false;
    for (unsigned i = 0; i < warp.fragmentCount; ++i) {
      Fragment &fragment = warp.fragments[i];
      if (fragment.state != Fragment::AtBarrier || fragment.barrier != id)
        continue;
      any = true;
      const Inst &inst = instAt(block, fragment.pc);
      // Legal since Volta, but worth a note, once. Lanes may leave after these arrived, so it is known only now.
      if (warp.live != warp.initial && (inst.flags & 1) && block.launch->config->checks.barriers &&
          !block.launch->partialExitNoted.exchange(true))
        report(warp, inst, unsigned(__builtin_ctz(fragment.mask)), FindingKind::SyncCheck,
               "some threads of this warp have exited before this barrier; the others go on without them", 0, 0, {}, false);
      if (BarrierOp(inst.sub) == BarrierOp::RedPopc) {
        auto *d = reinterpret_cast<uint32_t *>(warp.at(inst.d));
        for (uint32_t rest = fragment.mask; rest; rest &= rest - 1)
          d[__builtin_ctz(rest)] = barrier.redCount;
      } else if (BarrierOp(inst.sub) == BarrierOp::RedAnd || BarrierOp(inst.sub) == BarrierOp::RedOr) {
        bool value = BarrierOp(inst.sub) == BarrierOp::RedAnd ? barrier.redAnd : barrier.redOr;
        uint32_t &p = warp.pred(inst.d);
        p = (p & ~fragment.mask) | (value ? fragment.mask : 0);
      }
      fragment.state = Fragment::Ready;
      ++fragment.pc;
    }
    if (any) {
      if (block.races)
        block.races->barrierLeave(warp, id);
      if (warp.fragmentCount > 1)
        mergeFragments(warp);
    }
  }
  if (block.races)
    block.races->barrierReset(id);
  uint32_t generation = barrier.generation;
  barrier = {};
  barrier.generation = generation;
}

void tryComplete(Block &block, unsigned id) {
  BarrierState &barrier = block.barriers[id];
  if (!barrier.waitingFragments && !barrier.arrivedOnly)
    return;
  uint32_t threads = barrier.arrivedOnly;
  bool all = true;
  for (uint32_t index = 0; index < block.warpCount; ++index) {
    Warp &warp = block.warps[index];
    if (!warp.live)
      continue;
    uint32_t waiting = waitingLanes(warp, id);
    if (waiting == warp.live)
      threads += 32;
    else {
      threads += uint32_t(__builtin_popcount(waiting));
      all = false;
    }
  }
  if (barrier.expected ? threads < barrier.expected : !all)
    return;
  for (uint32_t index = 0; index < block.warpCount; ++index)
    if (block.warps[index].fragmentCount > 1 && !checkDivergence(block, block.warps[index], id))
      return;
  release(block, id);
}

} // namespace

void arriveAtBarrier(Block &block, Warp &warp, const Inst &inst, unsigned index, uint32_t mask) {
  unsigned lane = unsigned(__builtin_ctz(mask));
  uint32_t id = reinterpret_cast<const uint32_t *>(warp.at(inst.a))[lane];
  BarrierOp op = BarrierOp(inst.sub);
  if (id >= 16) {
    report(warp, inst, lane, FindingKind::InvalidInstruction, "barrier " + std::to_string(id) + " does not exist (0 to 15 do)");
    return;
  }
  BarrierState &barrier = block.barriers[id];
  uint32_t expected = 0;
  if (inst.wide) {
    expected = reinterpret_cast<const uint32_t *>(warp.at(inst.b))[lane];
    if (expected % 32 || expected > ((block.warpCount * 32 + 31) & ~31u) || expected == 0) {
      report(warp, inst, lane, FindingKind::ImpossibleBarrier,
             "barrier " + std::to_string(id) + " waits for " + std::to_string(expected) + " threads; the block has " +
                 std::to_string(block.warpCount * 32) + " and the count must be a multiple of 32");
      if (!block.launch->config->keepGoing)
        return;
    }
  }
  bool fresh = !barrier.waitingFragments && !barrier.arrivedOnly;
  uint32_t counted = expected ? expected : block.warpCount * 32;
  uint32_t before = barrier.expected ? barrier.expected : block.warpCount * 32;
  if (fresh) {
    barrier.expected = expected;
  } else if (counted != before) {
    report(warp, inst, lane, FindingKind::BarrierDivergence,
           "barrier " + std::to_string(id) + " is used with " + std::to_string(counted) + " threads here and with " +
               std::to_string(before) + " by threads already waiting");
    if (warp.event != Event::None)
      return;
  }
  if (op >= BarrierOp::RedAnd) {
    uint32_t p = (warp.pred(inst.c) ^ ((inst.flags & 2) ? ~0u : 0u)) & mask;
    barrier.redAnd &= p == mask;
    barrier.redOr |= p != 0;
    barrier.redCount += uint32_t(__builtin_popcount(p));
  }
  Fragment &fragment = warp.fragments[index];
  if (op == BarrierOp::Arrive) {
    if (block.races)
      block.races->barrierArrive(warp, id);
    barrier.arrivedOnly += mask == warp.live ? 32 : uint32_t(__builtin_popcount(mask));
    ++fragment.pc;
    if (!barrier.expected)
      barrier.expected = block.warpCount * 32;
    tryComplete(block, id);
    return;
  }
  uint32_t onward = fragment.mask & ~mask;
  if (onward) { // predicated off: these go on
    Fragment rest = fragment;
    rest.mask = onward;
    ++rest.pc;
    warp.fragments[warp.fragmentCount++] = rest;
    warp.fragments[index].mask = mask;
  }
  Fragment &parked = warp.fragments[index];
  parked.state = Fragment::AtBarrier;
  parked.barrier = uint8_t(id);
  ++barrier.waitingFragments;
  if (block.races)
    block.races->barrierArrive(warp, id);
  // Quick exit: most arrivals are not the last.
  if (!barrier.expected && mask == warp.live && ++barrier.arrivedWarps < block.liveWarps)
    return;
  tryComplete(block, id);
}

void lanesExited(Block &block, Warp &warp) {
  if (!warp.live) {
    --block.liveWarps;
    if (block.races)
      block.races->warpExited(warp);
  }
  if (warp.live)
    wakeParked(warp);
  for (unsigned id = 0; id < 16; ++id)
    if (block.barriers[id].waitingFragments)
      tryComplete(block, id);
}

void reportStuck(Block &block) {
  LaunchState &launch = *block.launch;
  // One line per distinct place where threads wait.
  struct Place {
    uint32_t pc;
    Fragment::State state;
    unsigned barrier;
    uint32_t threads;
    Warp *warp;
    unsigned lane;
  };
  std::vector<Place> places;
  Warp *collective = nullptr;
  Fragment collectiveFragment;
  for (uint32_t index = 0; index < block.warpCount; ++index) {
    Warp &warp = block.warps[index];
    for (unsigned i = 0; i < warp.fragmentCount; ++i) {
      const Fragment &fragment = warp.fragments[i];
      if (fragment.state != Fragment::AtBarrier && !collective) {
        collective = &warp;
        collectiveFragment = fragment;
      }
      auto same = std::find_if(places.begin(), places.end(), [&](const Place &place) {
        return place.pc == fragment.pc && place.state == fragment.state;
      });
      if (same != places.end())
        same->threads += uint32_t(__builtin_popcount(fragment.mask));
      else
        places.push_back({fragment.pc, fragment.state, fragment.barrier, uint32_t(__builtin_popcount(fragment.mask)),
                          &warp, unsigned(__builtin_ctz(fragment.mask))});
    }
  }
  if (places.empty())
    return;
  uint32_t exited = 0;
  for (uint32_t index = 0; index < block.warpCount; ++index)
    exited += uint32_t(__builtin_popcount(block.warps[index].initial & ~block.warps[index].live));
  std::string text;
  for (const Place &place : places) {
    const DebugSite &site = launch.site(instAt(block, place.pc));
    text += "\n    " + std::to_string(place.threads) + " thread" + (place.threads == 1 ? "" : "s") + " wait at line " +
            std::to_string(site.at.ptxLine) + " (" + std::string(site.text) + ")" +
            (place.state == Fragment::AtBarrier ? ", barrier " + std::to_string(place.barrier) : "");
  }
  if (exited)
    text += "\n    " + std::to_string(exited) + " thread" + (exited == 1 ? " has" : "s have") + " exited";
  std::optional<CodeSite> other;
  const Place &first = collective ? *std::find_if(places.begin(), places.end(), [&](const Place &place) {
    return place.state != Fragment::AtBarrier;
  })
                                  : places.front();
  for (const Place &place : places)
    if (&place != &first && !other)
      other = codeSite(launch, block, *place.warp, instAt(block, place.pc), place.lane);
  FindingKind kind = FindingKind::Deadlock;
  std::string what;
  if (collective) {
    kind = FindingKind::PartialWarpMask;
    what = "a warp-wide operation waits for threads of its member mask that never come";
  } else if (places.size() > 1) {
    kind = FindingKind::BarrierDivergence;
    what = "threads of one block wait at different barriers, and none can complete";
  } else {
    kind = FindingKind::ImpossibleBarrier;
    what = "a barrier waits for more threads than are left to arrive";
  }
  report(*first.warp, instAt(block, first.pc), first.lane, kind, what + text, 0, 0, other);
}

} // namespace graphc::cudasim
