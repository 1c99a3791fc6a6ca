// The warp interpreter: fragments of (pc, mask), lowest pc first, merging where they meet.
//
// Any order of fragments is legal under independent thread scheduling; lowest first makes them reconverge with one
// compare per instruction. Two things keep legal programs alive: after a while the longest-waiting fragment gets its
// turn even if it is not the lowest (a lane that holds a lock must be able to release it), and a fragment that waits at
// a barrier or for its member mask parks instead of blocking the others.
#include "runtime/cudasim/engine/Checkers.h"

#include <algorithm>

namespace graphc::cudasim {

namespace {

/// Blends a Simd result into the lanes of `mask`.
inline void blendWord(uint32_t *d, const uint32_t *s, uint32_t mask) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#endif
  for (int i = 0; i < 32; ++i) {
    uint32_t keep = 0u - ((mask >> i) & 1);
    d[i] = (s[i] & keep) | (d[i] & ~keep);
  }
}
inline void blendWide(uint64_t *d, const uint64_t *s, uint32_t mask) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#endif
  for (int i = 0; i < 32; ++i) {
    uint64_t keep = uint64_t(0) - ((mask >> i) & 1);
    d[i] = (s[i] & keep) | (d[i] & ~keep);
  }
}

/// The fragment to run: the lowest pc, or, when `rotate`, the one that waited longest. −1 when none is ready.
int select(Warp &warp, bool rotate) {
  int best = -1;
  for (unsigned i = 0; i < warp.fragmentCount; ++i) {
    const Fragment &fragment = warp.fragments[i];
    if (fragment.state != Fragment::Ready)
      continue;
    if (best < 0)
      best = int(i);
    else if (rotate ? fragment.stamp < warp.fragments[best].stamp : fragment.pc < warp.fragments[best].pc)
      best = int(i);
  }
  return best;
}

uint32_t limitFor(const Warp &warp, unsigned current, uint32_t pc) {
  uint32_t limit = UINT32_MAX;
  for (unsigned i = 0; i < warp.fragmentCount; ++i)
    if (i != current && warp.fragments[i].state == Fragment::Ready && warp.fragments[i].pc >= pc &&
        warp.fragments[i].pc < limit)
      limit = warp.fragments[i].pc;
  return limit;
}

bool readyBelow(const Warp &warp, unsigned current, uint32_t pc) {
  for (unsigned i = 0; i < warp.fragmentCount; ++i)
    if (i != current && warp.fragments[i].state == Fragment::Ready && warp.fragments[i].pc < pc)
      return true;
  return false;
}

void removeFragment(Warp &warp, unsigned index) { warp.fragments[index] = warp.fragments[--warp.fragmentCount]; }

/// Lanes that the fragment at `index` leaves behind, ready at `pc`; an equal fragment may wait there already.
void addReady(Warp &warp, unsigned index, uint32_t pc, uint32_t mask) {
  for (unsigned i = 0; i < warp.fragmentCount; ++i)
    if (i != index && warp.fragments[i].state == Fragment::Ready && warp.fragments[i].pc == pc) {
      warp.fragments[i].mask |= mask;
      return;
    }
  Fragment split;
  split.pc = pc;
  split.mask = mask;
  split.stamp = warp.fragments[index].stamp;
  warp.fragments[warp.fragmentCount++] = split;
}

/// A collective at warp.fragments[index] with active lanes `m`. True when it ran (for all of m) and the pc may advance.
bool runCollective(Block &block, Warp &warp, const Inst &inst, unsigned &index, uint32_t m, uint32_t &mask) {
  auto *members = reinterpret_cast<const uint32_t *>(warp.at(inst.members));
  auto gather = [&](uint32_t lanes, uint32_t &any, bool &uniform) {
    any = 0;
    uniform = true;
    uint32_t first = members[__builtin_ctz(lanes)];
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      uint32_t mine = members[__builtin_ctz(rest)];
      any |= mine;
      uniform &= mine == first;
    }
  };
  uint32_t any;
  bool uniform;
  gather(m, any, uniform);
  uint32_t need = any & warp.live;
  if ((need & ~m) != 0) {
    // Others may already wait at this very instruction.
    for (unsigned i = 0; i < warp.fragmentCount;) {
      Fragment &other = warp.fragments[i];
      if (i != index && other.state == Fragment::AtCollective && other.pc == warp.pc) {
        m |= other.mask;
        mask |= other.mask;
        if (index == unsigned(warp.fragmentCount) - 1)
          index = i;
        removeFragment(warp, i);
        continue;
      }
      ++i;
    }
    warp.fragments[index].mask = mask;
    gather(m, any, uniform);
    need = any & warp.live;
  }
  uint32_t ready = m;
  if ((need & ~m) != 0) {
    if (uniform) {
      ready = 0;
    } else {
      ready = 0;
      for (uint32_t rest = m; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if ((members[lane] & warp.live & ~m) == 0)
          ready |= 1u << lane;
      }
    }
  }
  if (ready) {
    if (block.launch->config->checks.barriers) {
      for (uint32_t rest = ready; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (!((members[lane] >> lane) & 1)) {
          report(warp, inst, unsigned(lane), FindingKind::PartialWarpMask,
                 "the executing thread is not in its own member mask " + std::to_string(members[lane]));
          break;
        }
      }
      if (warp.event != Event::None)
        return false;
    }
    inst.fn(warp, inst, nullptr, ready);
  }
  uint32_t waiting = m & ~ready;
  if (!waiting)
    return true;
  // Split: lanes that ran (or were predicated off) go on, the others park here.
  uint32_t onward = mask & ~waiting;
  Fragment parked;
  parked.pc = warp.pc;
  parked.mask = waiting;
  parked.state = Fragment::AtCollective;
  uint32_t waitAny;
  bool ignored;
  gather(waiting, waitAny, ignored);
  parked.need = waitAny;
  if (onward) {
    warp.fragments[warp.fragmentCount++] = parked;
    mask = onward;
    return true;
  }
  warp.fragments[index] = parked;
  mask = 0;
  return false;
}

/// bar.warp.sync. True when the pc may advance.
bool runWarpSync(Block &block, Warp &warp, const Inst &inst, unsigned index, uint32_t m, uint32_t &mask) {
  auto *members = reinterpret_cast<const uint32_t *>(warp.at(inst.members));
  uint32_t any = 0;
  for (uint32_t rest = m; rest; rest &= rest - 1)
    any |= members[__builtin_ctz(rest)];
  if ((any & warp.live & ~m) == 0) {
    if (block.races)
      block.races->joinLanes(warp, any & m);
    return true;
  }
  Fragment parked;
  parked.pc = warp.pc;
  parked.mask = m;
  parked.state = Fragment::AtWarpSync;
  parked.need = any;
  uint32_t onward = mask & ~m;
  if (onward) {
    warp.fragments[warp.fragmentCount++] = parked;
    mask = onward;
    wakeParked(warp);
    return true;
  }
  warp.fragments[index] = parked;
  mask = 0;
  wakeParked(warp);
  return false;
}

template <bool Instrumented>
WarpOutcome run(Worker &worker, Block &block, Warp &warp, uint64_t fuel) {
  LaunchState &launch = *block.launch;
  const Inst *code = launch.function->code.data();
  const uint32_t classes = launch.instrumentedClasses;
  constexpr uint64_t turn = 2048; // instructions before another fragment's turn
  uint64_t begin = fuel;
  bool rotate = false;
  warp.spinning = false;
  for (;;) {
    int chosen = select(warp, rotate);
    if (chosen < 0) {
      wakeParked(warp);
      chosen = select(warp, rotate);
      if (chosen < 0) {
        worker.steps += begin - fuel;
        return warp.live ? WarpOutcome::Blocked : WarpOutcome::Finished;
      }
    }
    bool rotated = rotate;
    rotate = false;
    unsigned index = unsigned(chosen);
    uint32_t pc = warp.fragments[index].pc, mask = warp.fragments[index].mask;
    warp.fragments[index].stamp = worker.steps + (begin - fuel) + 1;
    uint32_t limit = warp.fragmentCount > 1 ? limitFor(warp, index, pc) : UINT32_MAX;
    uint64_t turnFuel = warp.fragmentCount > 1 ? turn : ~uint64_t(0);
    // Leaving this loop means: store the fragment and choose again.
    for (;;) {
      if (pc >= limit) [[unlikely]] {
        if (pc == limit) { // meet: merge every ready fragment here
          for (unsigned i = 0; i < warp.fragmentCount;) {
            if (i != index && warp.fragments[i].state == Fragment::Ready && warp.fragments[i].pc == pc) {
              mask |= warp.fragments[i].mask;
              if (index == unsigned(warp.fragmentCount) - 1)
                index = i;
              removeFragment(warp, i);
              continue;
            }
            ++i;
          }
          if (warp.fragmentCount == 1)
            turnFuel = ~uint64_t(0);
          warp.fragments[index].mask = mask;
          limit = limitFor(warp, index, pc + 1);
        } else if (rotated) { // its turn goes on wherever the others are
          limit = limitFor(warp, index, pc);
          continue;
        } else {
          break;
        }
      }
      if (fuel == 0) [[unlikely]] {
        warp.fragments[index].pc = pc;
        warp.fragments[index].mask = mask;
        worker.steps += begin;
        return WarpOutcome::Exhausted;
      }
      if (turnFuel == 0) [[unlikely]] {
        rotate = true;
        break;
      }
      const Inst &inst = code[pc];
      uint32_t m;
      { // straight-line code of a whole warp: nothing to ask between instructions
        uint64_t count = inst.run;
        if (count > 1 && mask == warp.live && count <= limit - pc && count <= fuel && count <= turnFuel &&
            !(Instrumented && (classes >> int(inst.cls) & 1))) {
          const Inst *at = &inst, *end = at + count;
          do {
            warp.pc = uint32_t(at - code);
            at->fn(warp, *at, warp.at(at->d), mask);
            ++at;
          } while (at != end && warp.event == Event::None && !(Instrumented && (classes >> int(at->cls) & 1)));
          uint64_t done = uint64_t(at - &inst);
          pc += uint32_t(done);
          fuel -= done;
          turnFuel -= done;
          if (warp.event != Event::None) [[unlikely]]
            goto event;
          continue;
        }
      }
      --fuel;
      --turnFuel;
      m = mask & (warp.pred(inst.guard) ^ inst.guardFlip);
      if constexpr (Instrumented) {
        warp.pc = pc;
        warp.active = mask;
        // A branch matters even when nobody takes it.
        if ((m || inst.kind == Kind::Branch) && (classes >> int(inst.cls) & 1)) {
          instrument(worker, block, warp, inst, m);
          if (warp.event != Event::None)
            goto event;
        }
      }
      switch (inst.kind) {
      case Kind::Simd32: {
        if (m == warp.live) [[likely]] {
          inst.fn(warp, inst, warp.at(inst.d), m);
        } else if (m) {
          inst.fn(warp, inst, warp.scratch, m);
          blendWord(reinterpret_cast<uint32_t *>(warp.at(inst.d)), reinterpret_cast<uint32_t *>(warp.scratch), m);
        }
        ++pc;
        continue;
      }
      case Kind::Simd64: {
        if (m == warp.live) [[likely]] {
          inst.fn(warp, inst, warp.at(inst.d), m);
        } else if (m) {
          inst.fn(warp, inst, warp.scratch, m);
          blendWide(reinterpret_cast<uint64_t *>(warp.at(inst.d)), reinterpret_cast<uint64_t *>(warp.scratch), m);
        }
        ++pc;
        continue;
      }
      case Kind::Masked:
        if (m) {
          warp.pc = pc;
          inst.fn(warp, inst, nullptr, m);
        }
        ++pc;
        if (warp.event != Event::None) [[unlikely]]
          goto event;
        continue;
      case Kind::Branch: {
        if (m == mask) {
          pc = inst.target;
          if (warp.fragmentCount > 1) {
            limit = limitFor(warp, index, pc);
            if (!rotated && readyBelow(warp, index, pc))
              goto choose; // jumped over a waiting fragment: that one is now the lowest
          }
          continue;
        }
        if (!m) {
          ++pc;
          continue;
        }
        // Divergence: the lower pc goes on.
        uint32_t other = mask & ~m, fall = pc + 1, target = inst.target;
        uint32_t splitPc = target, splitMask = m;
        if (target < fall) {
          splitPc = fall;
          splitMask = other;
          pc = target;
          mask = m;
        } else {
          pc = fall;
          mask = other;
        }
        warp.fragments[index].mask = mask;
        addReady(warp, index, splitPc, splitMask);
        if (turnFuel > turn)
          turnFuel = turn;
        limit = limitFor(warp, index, pc);
        continue;
      }
      case Kind::Call: // never guarded: a guarded call branches around this
        warp.pc = pc;
        enterFunction(warp, inst, m);
        if (warp.event != Event::None) [[unlikely]]
          goto event;
        pc = inst.target;
        if (warp.fragmentCount > 1) {
          limit = limitFor(warp, index, pc);
          if (!rotated && readyBelow(warp, index, pc))
            goto choose;
        }
        continue;
      case Kind::Return: {
        uint32_t targets[32];
        warp.pc = pc;
        leaveFunction(warp, inst, m, targets);
        pc = targets[__builtin_ctz(m)];
        for (uint32_t rest = m, first = pc; rest;) { // lanes that came from elsewhere go back there
          uint32_t target = targets[__builtin_ctz(rest)], group = 0;
          for (uint32_t lanes = rest; lanes; lanes &= lanes - 1)
            group |= targets[__builtin_ctz(lanes)] == target ? lanes & -lanes : 0;
          rest &= ~group;
          if (target == first)
            mask = group;
          else
            addReady(warp, index, target, group);
        }
        warp.fragments[index].mask = mask;
        if (warp.fragmentCount > 1) {
          turnFuel = std::min(turnFuel, turn);
          limit = limitFor(warp, index, pc);
          if (!rotated && readyBelow(warp, index, pc))
            goto choose;
        }
        continue;
      }
      case Kind::Exit: {
        if (!m) {
          ++pc;
          continue;
        }
        mask &= ~m;
        warp.live &= ~m;
        ++pc;
        if (mask) {
          warp.fragments[index].mask = mask;
          warp.fragments[index].pc = pc;
        } else {
          removeFragment(warp, index);
        }
        lanesExited(block, warp);
        if (warp.event != Event::None)
          goto stopped;
        goto reselect;
      }
      case Kind::Barrier: {
        if (!m) {
          ++pc;
          continue;
        }
        warp.pc = pc;
        warp.fragments[index].pc = pc;
        warp.fragments[index].mask = mask;
        arriveAtBarrier(block, warp, inst, index, m);
        if (warp.event != Event::None)
          goto stopped;
        goto reselect;
      }
      case Kind::Collective: {
        if (!m) {
          ++pc;
          continue;
        }
        warp.pc = pc;
        if (m == warp.live && (inst.members & 3) == PoolBase) [[likely]] {
          auto *members = reinterpret_cast<const uint32_t *>(warp.at(inst.members));
          if ((warp.live & ~members[0]) == 0) {
            inst.fn(warp, inst, nullptr, m);
            ++pc;
            if (warp.event != Event::None) [[unlikely]]
              goto event;
            continue;
          }
        }
        bool advance = runCollective(block, warp, inst, index, m, mask);
        if (warp.event != Event::None)
          goto event;
        if (!advance)
          goto reselect;
        ++pc;
        warp.fragments[index].mask = mask;
        if (warp.fragmentCount > 1)
          limit = limitFor(warp, index, pc);
        continue;
      }
      case Kind::WarpSync: {
        if (!m) {
          ++pc;
          continue;
        }
        warp.pc = pc;
        bool advance = runWarpSync(block, warp, inst, index, m, mask);
        if (!advance)
          goto reselect;
        ++pc;
        warp.fragments[index].mask = mask;
        if (warp.fragmentCount > 1)
          limit = limitFor(warp, index, pc);
        continue;
      }
      }
    event:
      if (warp.event == Event::Yield) {
        warp.event = Event::None;
        warp.fragments[index].pc = pc;
        warp.fragments[index].mask = mask;
        unsigned ready = 0;
        for (unsigned i = 0; i < warp.fragmentCount; ++i)
          ready += warp.fragments[i].state == Fragment::Ready;
        if (ready > 1 && begin - fuel < 16 * turn) { // let the warp's other lanes run first
          rotate = true;
          goto reselect;
        }
        worker.steps += begin - fuel;
        return WarpOutcome::Yielded;
      }
      warp.fragments[index].pc = pc;
      warp.fragments[index].mask = mask;
    stopped:
      worker.steps += begin - fuel;
      return WarpOutcome::Stopped;
    }
  choose:
    warp.fragments[index].pc = pc;
    warp.fragments[index].mask = mask;
  reselect:;
  }
}

} // namespace

void mergeFragments(Warp &warp) {
  for (unsigned i = 0; i < warp.fragmentCount; ++i)
    for (unsigned j = i + 1; j < warp.fragmentCount;) {
      if (warp.fragments[i].state == Fragment::Ready && warp.fragments[j].state == Fragment::Ready &&
          warp.fragments[i].pc == warp.fragments[j].pc) {
        warp.fragments[i].mask |= warp.fragments[j].mask;
        removeFragment(warp, j);
      } else {
        ++j;
      }
    }
}

void wakeParked(Warp &warp) {
  bool woke = false;
  // Collectives: merge those at one pc, then see whether everyone who lives has come.
  for (unsigned i = 0; i < warp.fragmentCount; ++i) {
    if (warp.fragments[i].state != Fragment::AtCollective)
      continue;
    for (unsigned j = i + 1; j < warp.fragmentCount;) {
      if (warp.fragments[j].state == Fragment::AtCollective && warp.fragments[j].pc == warp.fragments[i].pc) {
        warp.fragments[i].mask |= warp.fragments[j].mask;
        warp.fragments[i].need |= warp.fragments[j].need;
        removeFragment(warp, j);
      } else {
        ++j;
      }
    }
    Fragment &fragment = warp.fragments[i];
    if ((fragment.need & warp.live & ~fragment.mask) == 0) {
      fragment.state = Fragment::Ready;
      woke = true;
    }
  }
  // Warp barriers: lanes may wait at different places.
  uint32_t waiting = 0;
  for (unsigned i = 0; i < warp.fragmentCount; ++i)
    if (warp.fragments[i].state == Fragment::AtWarpSync)
      waiting |= warp.fragments[i].mask;
  bool released = false;
  for (unsigned i = 0; i < warp.fragmentCount; ++i) {
    Fragment &fragment = warp.fragments[i];
    if (fragment.state != Fragment::AtWarpSync || (fragment.need & warp.live & ~waiting) != 0)
      continue;
    uint32_t need = fragment.need;
    if (warp.block->races)
      warp.block->races->joinLanes(warp, need & waiting);
    for (unsigned j = 0; j < warp.fragmentCount; ++j)
      if (warp.fragments[j].state == Fragment::AtWarpSync && (warp.fragments[j].mask & need)) {
        warp.fragments[j].state = Fragment::Ready;
        ++warp.fragments[j].pc;
        released = true;
      }
  }
  if (woke || released)
    mergeFragments(warp);
}

WarpOutcome runWarp(Worker &worker, Block &block, Warp &warp, uint64_t fuel) {
  return block.launch->instrumented ? run<true>(worker, block, warp, fuel) : run<false>(worker, block, warp, fuel);
}

} // namespace graphc::cudasim
