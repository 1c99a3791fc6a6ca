// Races in shared memory: writes against everything, reads by log (see SharedShadow).
#include "runtime/cudasim/engine/Races.h"

#include <algorithm>

namespace graphc::cudasim {

namespace {

constexpr size_t logLimit = 512; ///< entries of one warp before they are worked out

/// Calls fn(lane, address, readers): runs of shared bytes, each with the lanes that read it.
template <class Function>
void forReaders(const MemOp &mem, uint32_t lanes, const uint32_t *addresses, Function fn) {
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t address = addresses[lane], readers = 1u << lane;
    if (mem.access == AccessKind::LdMatrix) { // the row given by one lane goes to others
      unsigned row = lane % 8;
      readers = mem.isSigned ? 0x11111111u << (row / 2) : 0xFu << (row * 4);
    } else if (mem.access == AccessKind::MmaTile) { // which lane gets which element is not documented
      readers = ~0u;
    } else { // lanes that read one address are one access; tiles are read in halves of a warp
      for (uint32_t others = rest & (rest - 1); others; others &= others - 1) {
        unsigned other = unsigned(__builtin_ctz(others));
        if (addresses[other] != address) {
          if (other == lane + 1 && lane + 16 < 32 && (rest >> (lane + 16) & 1) && addresses[lane + 16] == address)
            readers |= 1u << (lane + 16);
          break;
        }
        readers |= 1u << other;
      }
      rest &= ~(readers & ~(1u << lane));
    }
    fn(lane, address, readers);
  }
}

} // namespace

void RaceChecker::State::sharedAccess(const Access &access, uint32_t lanes) {
  uint32_t w = access.warp.index;
  if (access.writes) {
    sharedWrite(access, lanes);
    return;
  }
  if (unordered(shared.lastWrite, w)) {
    checkSharedRead(access, lanes);
    if (access.warp.event != Event::None)
      return;
  }
  SharedShadow::Logged &entry = newEntry(access.warp, lanes);
  for (int i = 0; i < 32; ++i)
    entry.addresses[i] = uint32_t(access.addresses[i]);
}

SharedShadow::Logged &RaceChecker::State::newEntry(Warp &warp, uint32_t lanes) {
  uint32_t w = warp.index;
  shared.lastRead[w] = clock[w];
  std::vector<SharedShadow::Logged> &log = shared.log[w];
  if (log.size() >= logLimit) {
    workOut(w);
    log.clear();
  }
  SharedShadow::Logged &entry = log.emplace_back();
  entry.pc = warp.pc;
  entry.lanes = lanes;
  entry.clock = clock[w];
  return entry;
}

void RaceChecker::State::logRead(Warp &warp, const MemOp &mem, uint32_t lanes) {
  uint32_t *addresses = newEntry(warp, lanes).addresses, offset = uint32_t(mem.offset);
  if (mem.noAddress) {
    std::fill(addresses, addresses + 32, offset);
  } else if (mem.wideAddress) { // an address of more than 32 bits is out of bounds: the handler reports it
    auto *base = reinterpret_cast<const uint64_t *>(warp.at(mem.address));
    for (int i = 0; i < 32; ++i)
      addresses[i] = uint32_t(base[i]) + offset;
  } else {
    auto *base = reinterpret_cast<const uint32_t *>(warp.at(mem.address));
    for (int i = 0; i < 32; ++i)
      addresses[i] = base[i] + offset;
  }
}

/// A read against the writes it may not know of.
void RaceChecker::State::checkSharedRead(const Access &access, uint32_t lanes) {
  uint32_t w = access.warp.index, addresses[32];
  for (int i = 0; i < 32; ++i)
    addresses[i] = uint32_t(access.addresses[i]);
  forReaders(access.mem, lanes, addresses, [&](unsigned, uint32_t address, uint32_t readers) {
    if (uint64_t(address) + access.bytes > launch->sharedBytes || access.warp.event != Event::None)
      return; // out of bounds: the handler reports it
    for (uint32_t g = address / granule; g <= (address + access.bytes - 1) / granule; ++g) {
      const SharedShadow::Write &write = shared.writes[g];
      if (write.clock <= knows[w * warps + (write.thread >> 5)] || (access.strong && write.strong))
        continue;
      for (uint32_t rest = readers; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        if (write.thread == w * 32 + lane || orderedLocal(w, lane, write.thread, write.clock))
          continue;
        complain(access, lane, true, "read after write", address, false, siteOf(write.thread, write.pc, block->linear),
                 describeShared(*launch, address));
        return;
      }
    }
  });
}

void RaceChecker::State::sharedWrite(const Access &access, uint32_t lanes) {
  uint32_t w = access.warp.index, now = clock[w];
  uint32_t unknownReaders = unordered(shared.lastRead, w);
  for (uint32_t rest = unknownReaders; rest; rest &= rest - 1) {
    uint32_t u = uint32_t(__builtin_ctz(rest));
    workOut(u);
    shared.log[u].clear();
  }
  // Strong accesses of one instruction do not race with each other: all are compared with what was before, then noted.
  // (A lane's own note would hide from its neighbours the plain write it replaces.)
  uint32_t later = access.strong ? lanes : 0;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t thread = w * 32 + lane, address = uint32_t(access.addresses[lane]);
    if (access.addresses[lane] + access.bytes > launch->sharedBytes)
      continue;
    bool reported = false;
    const char *at = block->shared + address;
    for (uint32_t g = address / granule; g <= (address + access.bytes - 1) / granule; ++g) {
      SharedShadow::Write &write = shared.writes[g];
      if (write.clock > knows[w * warps + (write.thread >> 5)] && !(access.strong && write.strong) && !reported && write.thread != thread) {
        if (write.serial == serial) { // two lanes of this very instruction
          complain(access, lane, true, "write after write in one instruction", address, writesSameAsLane(access, lane, write.thread & 31),
                   siteOf(write.thread, write.pc, block->linear), describeShared(*launch, address));
          reported = true;
        } else if (!orderedLocal(w, lane, write.thread, write.clock)) {
          complain(access, lane, true, "write after write", address, writesSameAsMemory(access, lane, at),
                   siteOf(write.thread, write.pc, block->linear), describeShared(*launch, address));
          reported = true;
        }
      }
      auto check = [&](const std::vector<SharedShadow::Read> &reads, uint32_t u) {
        if (reads.empty())
          return;
        const SharedShadow::Read &read = reads[size_t(u) * shared.granules + g];
        if (read.clock <= knows[w * warps + u])
          return;
        for (uint32_t who = read.lanes; who && !reported; who &= who - 1) {
          uint32_t reader = u * 32 + uint32_t(__builtin_ctz(who));
          if (orderedLocal(w, lane, reader, read.clock))
            continue;
          complain(access, lane, true, "write after read", address, writesSameAsMemory(access, lane, at),
                   siteOf(reader, read.pc, block->linear), describeShared(*launch, address));
          reported = true;
        }
      };
      for (uint32_t unknown = unknownReaders; unknown && !reported; unknown &= unknown - 1) {
        uint32_t u = uint32_t(__builtin_ctz(unknown));
        check(shared.reads, u);
        if (!access.strong)
          check(shared.strongReads, u);
      }
      if (!access.strong)
        write = {now, access.warp.pc, serial, uint16_t(thread), false};
    }
    if (access.warp.event != Event::None)
      return;
  }
  for (; later; later &= later - 1) {
    unsigned lane = unsigned(__builtin_ctz(later));
    uint64_t address = access.addresses[lane];
    if (address + access.bytes <= launch->sharedBytes)
      for (uint64_t g = address / granule; g <= (address + access.bytes - 1) / granule; ++g)
        shared.writes[g] = {now, access.warp.pc, serial, uint16_t(w * 32 + lane), true};
  }
  shared.lastWrite[w] = now;
}

/// Turns a warp's log into what each granule knows of its reads.
void RaceChecker::State::workOut(uint32_t warp) {
  for (const SharedShadow::Logged &entry : shared.log[warp]) {
    const MemOp &mem = *launch->function->code[entry.pc].mem;
    uint32_t bytes = mem.access == AccessKind::LdMatrix  ? 16
                     : mem.access == AccessKind::MmaTile ? mem.elementBytes
                                                         : uint32_t(mem.elementBytes) * mem.vector;
    std::vector<SharedShadow::Read> &reads = mem.strong ? shared.strongReads : shared.reads;
    if (reads.empty())
      reads.resize(shared.granules * warps);
    forReaders(mem, entry.lanes, entry.addresses, [&](unsigned, uint32_t address, uint32_t readers) {
      if (uint64_t(address) + bytes > launch->sharedBytes)
        return;
      for (uint32_t g = address / granule; g <= (address + bytes - 1) / granule; ++g) {
        SharedShadow::Read &read = reads[size_t(warp) * shared.granules + g];
        read = {entry.clock, read.clock == entry.clock ? read.lanes | readers : readers, entry.pc};
      }
    });
  }
}

/// After a barrier: reads that every living warp knows of can race with nothing any more.
void RaceChecker::State::dropLogs() {
  for (uint32_t u = 0; u < warps; ++u) {
    if (shared.log[u].empty())
      continue;
    bool known = true;
    for (uint32_t w = 0; w < warps; ++w)
      known &= !block->warps[w].live || shared.lastRead[u] <= knows[w * warps + u];
    if (known)
      shared.log[u].clear();
  }
}

} // namespace graphc::cudasim
