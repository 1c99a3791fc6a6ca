// The slow path of memory accesses: windows, bounds, liveness, alignment, pending copies.
#include "runtime/cudasim/engine/Checkers.h"

#include <algorithm>

namespace graphc::cudasim {

uint64_t deviceClock(Warp &warp, bool nanoseconds) {
  // A clock that advances with executed instructions: repeatable, and monotonic per launch.
  uint64_t steps = warp.worker->steps + warp.block->launch->clock.fetch_add(8, std::memory_order_relaxed);
  return nanoseconds ? uint64_t(1) << 40 | steps : steps;
}

MemSpace concreteSpace(MemSpace space, uint64_t &address) {
  if (space != MemSpace::Generic)
    return space;
  if (address - sharedWindow < windowSize) {
    address -= sharedWindow;
    return MemSpace::Shared;
  }
  if (address - localWindow < windowSize) {
    address -= localWindow;
    return MemSpace::Local;
  }
  if (address - paramWindow < windowSize) {
    address -= paramWindow;
    return MemSpace::Param;
  }
  return MemSpace::Global;
}

static std::string accessText(const MemOp &mem, bool write, uint32_t bytes, MemSpace space) {
  const char *names[] = {"generic", "global", "shared", "local", "parameter"};
  const char *verb = mem.access == AccessKind::Atomic ? "atomic on" : write ? "write of" : "read of";
  return std::string(verb) + " " + std::to_string(bytes) + " bytes of " + names[int(space)] + " memory";
}

uint32_t resolveAccess(Warp &warp, const Inst &inst, const MemOp &mem, const uint64_t (&addresses)[32], uint32_t bytes,
                       bool write, uint32_t mask, char *(&pointers)[32]) {
  Block &block = *warp.block;
  LaunchState &launch = *block.launch;
  bool check = launch.config->checks.bounds;
  BoundsCache &cache = warp.caches[mem.index];
  uint32_t align = mem.access == AccessKind::LdMatrix || mem.access == AccessKind::StMatrix ? 16
                   : mem.access == AccessKind::AsyncCopy                                    ? mem.elementBytes
                                                                                            : bytes;
  uint32_t allowed = 0;
  MemorySpace::Range range;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = addresses[lane], original = address;
    MemSpace space = concreteSpace(mem.space, address);
    if (warp.event != Event::None)
      break;
    if (address & (align - 1)) {
      report(warp, inst, lane, FindingKind::Misaligned,
             accessText(mem, write, bytes, space) + " at an address that is not a multiple of " + std::to_string(align),
             original, bytes);
      continue;
    }
    switch (space) {
    case MemSpace::Shared: {
      const LaunchState::SharedRange *hit = nullptr;
      for (const auto &candidate : launch.sharedRanges)
        if (address >= candidate.lo && address + bytes <= candidate.hi)
          hit = &candidate;
      if (!hit) {
        bool stray = address >= windowSize || address + bytes > launch.sharedBytes;
        if (check || stray) {
          report(warp, inst, lane, FindingKind::OutOfBounds, accessText(mem, write, bytes, space), original, bytes, {}, true,
                 address >= windowSize ? "this is not a shared address; a generic address needs cvta.to.shared"
                                       : describeShared(launch, address));
          continue;
        }
      } else if (mem.space == MemSpace::Shared) {
        cache.lo = hit->lo;
        cache.hi = hit->hi;
      }
      pointers[lane] = block.shared + address;
      break;
    }
    case MemSpace::Local: {
      uint32_t end = localEnd(warp, lane);
      if (address >= windowSize || address + bytes > end) {
        report(warp, inst, lane, FindingKind::OutOfBounds, accessText(mem, write, bytes, space), original, bytes, {}, true,
               "the thread has " + std::to_string(end) + " bytes of local memory" + (launch.function->usesStack ? ", its stack included" : ""));
        continue;
      }
      pointers[lane] = localMemory(warp, lane, uint32_t(address));
      break;
    }
    case MemSpace::Param: {
      if (address + bytes > launch.paramBlock.size() || write) {
        report(warp, inst, lane, FindingKind::OutOfBounds, accessText(mem, write, bytes, space), original, bytes, {}, true,
               write ? "kernel parameters are read-only"
                     : "the parameters have " + std::to_string(launch.paramBlock.size()) + " bytes");
        continue;
      }
      pointers[lane] = launch.paramBlock.data() + address;
      break;
    }
    default: {
      if (!(address >= range.lo && address + bytes <= range.hi))
        range = launch.memory->accessible(address);
      bool inside = range.hi && address + bytes <= range.hi;
      if (!inside) {
        FindingKind kind = FindingKind::OutOfBounds;
        std::optional<Allocation> nearest = launch.memory->findNearest(address);
        if (address < 65536)
          kind = FindingKind::NullPointer;
        else if (!range.hi && nearest && nearest->contains(address)) {
          std::string described = launch.memory->describe(address);
          if (!nearest->live || described.find("released") != std::string::npos)
            kind = FindingKind::UseAfterFree;
        }
        report(warp, inst, lane, kind, accessText(mem, write, bytes, space), original, bytes, {}, true,
               launch.memory->describe(address));
        range = {};
        continue;
      }
      if (write && range.readOnly) {
        report(warp, inst, lane, FindingKind::WriteToConstant, accessText(mem, write, bytes, space), original, bytes, {},
               true, launch.memory->describe(address));
        continue;
      }
      if (address >= cache.hi || address < cache.lo) {
        cache.lo = range.lo;
        cache.hi = range.hi;
        cache.readBits = cache.writeBits = nullptr;
        if (launch.config->trackAccesses)
          attachTracking(warp, cache, range.lo, range.hi);
        if (mem.access == AccessKind::Atomic && cache.readBits) { // atomics are their own class
          TouchedRange &touched = warp.worker->touched[range.lo];
          cache.readBits = cache.writeBits = touched.atomics;
        }
      }
      pointers[lane] = reinterpret_cast<char *>(address);
      break;
    }
    }
    allowed |= 1u << lane;
  }
  if (warp.event != Event::None)
    return 0;
  return allowed;
}

uint32_t laneAddresses(Warp &warp, const MemOp &mem, uint32_t mask, uint64_t (&addresses)[32]) {
  if (mem.access == AccessKind::LdMatrix || mem.access == AccessKind::StMatrix)
    mask &= mem.vector == 4 ? ~0u : mem.vector == 2 ? 0xFFFFu : 0xFFu;
  if (mem.noAddress) {
    std::fill(addresses, addresses + 32, uint64_t(mem.offset));
  } else if (mem.wideAddress) {
    auto *base = reinterpret_cast<const uint64_t *>(warp.at(mem.address));
    for (int i = 0; i < 32; ++i)
      addresses[i] = base[i] + uint64_t(mem.offset);
  } else {
    auto *base = reinterpret_cast<const uint32_t *>(warp.at(mem.address));
    for (int i = 0; i < 32; ++i)
      addresses[i] = uint32_t(base[i] + uint32_t(mem.offset));
  }
  return mask;
}

// -- cp.async ------------------------------------------------------------------------------------------------------

uint32_t checkPending(Warp &warp, const Inst &inst, MemSpace space, const uint64_t (&addresses)[32], uint32_t bytes,
                      bool write, uint32_t mask) {
  Block &block = *warp.block;
  if (!block.launch->config->checks.asyncCopies)
    return mask;
  PendingCopies &pending = *warp.pending;
  auto issuer = [&](auto matches) -> std::string {
    for (uint32_t index = 0; index < block.warpCount; ++index)
      for (const AsyncEntry &entry : block.async[index].entries)
        if (matches(entry))
          return "the copy at PTX line " + std::to_string(block.launch->site(block.launch->function->code[entry.pc]).at.ptxLine) +
                 " was issued by thread " + std::to_string(index * 32 + entry.lane) +
                 " and its cp.async.wait_group has not covered it";
    return {};
  };
  if (space == MemSpace::Shared && bytes <= 16) { // most accesses touch nothing pending
    uint64_t hit = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      uint64_t address = addresses[__builtin_ctz(rest)];
      if (address + bytes > block.launch->sharedBytes)
        continue; // (an aligned access of 16 bytes lies in one word of the map)
      hit |= pending.bits[address >> 8] >> (address >> 2 & 63) & ((uint64_t(1) << ((bytes + 3) / 4)) - 1);
    }
    if (!hit)
      return mask;
  }
  uint32_t allowed = mask;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = addresses[lane];
    MemSpace concrete = concreteSpace(space, address);
    std::string who;
    const char *what = nullptr;
    if (concrete == MemSpace::Shared) {
      if (address + bytes > block.launch->sharedBytes)
        continue;
      for (uint64_t granule = address >> 2; granule <= (address + bytes - 1) >> 2 && !what; ++granule)
        if (pending.bits[granule >> 6] >> (granule & 63) & 1) {
          what = write ? "write to shared memory that a cp.async is still filling" : "read of shared memory that a cp.async is still filling";
          who = issuer([&](const AsyncEntry &entry) {
            return granule * 4 >= entry.destination && granule * 4 < uint64_t(entry.destination) + entry.bytes;
          });
        }
    } else if (concrete == MemSpace::Global && write && address < pending.sourceHi && address + bytes > pending.sourceLo) {
      who = issuer([&](const AsyncEntry &entry) {
        return entry.sourceBytes && address < entry.source + entry.sourceBytes && address + bytes > entry.source;
      });
      if (!who.empty())
        what = "write to global memory that a cp.async is still reading";
    }
    if (!what)
      continue;
    report(warp, inst, lane, FindingKind::PendingAsyncCopy, what, addresses[lane], bytes, {}, true, who);
    allowed &= ~(1u << lane);
    if (warp.event != Event::None)
      return 0;
  }
  return allowed;
}

void noteAsyncCopy(Warp &warp, const uint64_t (&destinations)[32], uint32_t bytes, const uint64_t (&sources)[32],
                   const uint32_t (&sizes)[32], uint32_t mask) {
  Block &block = *warp.block;
  AsyncState &async = block.async[warp.index];
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t destination = uint32_t(destinations[lane]);
    async.entries.push_back({sources[lane], async.committed[lane], destination, warp.pc, uint8_t(lane), uint8_t(bytes), uint8_t(sizes[lane])});
    if (sizes[lane]) {
      block.pending.sourceLo = std::min(block.pending.sourceLo, sources[lane]);
      block.pending.sourceHi = std::max(block.pending.sourceHi, sources[lane] + sizes[lane]);
    }
    for (uint32_t granule = destination >> 2; granule < (destination + bytes) >> 2; ++granule) {
      uint64_t bit = uint64_t(1) << (granule & 63);
      block.pending.granules += !(block.pending.bits[granule >> 6] & bit);
      block.pending.bits[granule >> 6] |= bit;
    }
  }
}

/// The copy is over: its destination and its source may be touched again.
void finishAsyncCopy(Warp &warp, const AsyncEntry &entry) {
  Block &block = *warp.block;
  if (block.races)
    block.races->copyCompleted(warp, entry);
  for (uint32_t granule = entry.destination >> 2; granule < (entry.destination + entry.bytes) >> 2; ++granule) {
    uint64_t bit = uint64_t(1) << (granule & 63);
    block.pending.granules -= (block.pending.bits[granule >> 6] & bit) != 0;
    block.pending.bits[granule >> 6] &= ~bit;
  }
  if (!block.pending.granules)
    block.pending.forgetSources();
}

void runAsyncCommit(Warp &warp, const Inst &, void *, uint32_t mask) {
  AsyncState &async = warp.block->async[warp.index];
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    ++async.committed[__builtin_ctz(rest)];
}

/// imm: groups that may stay open; −1 (wait_all) also covers what was never committed.
void runAsyncWait(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  Block &block = *warp.block;
  AsyncState &async = block.async[warp.index];
  size_t kept = 0;
  for (const AsyncEntry &entry : async.entries) {
    bool mine = (mask >> entry.lane) & 1;
    bool complete = mine && (inst.imm < 0 || int64_t(entry.group) < int64_t(async.committed[entry.lane]) - inst.imm);
    if (!complete) {
      async.entries[kept++] = entry;
      continue;
    }
    finishAsyncCopy(warp, entry);
  }
  async.entries.resize(kept);
}

} // namespace graphc::cudasim
