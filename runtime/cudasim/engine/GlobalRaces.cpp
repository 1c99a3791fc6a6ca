// Races in global memory, within and across blocks (see GlobalShadow).
#include "runtime/cudasim/engine/Races.h"

#include <algorithm>
#include <bit>

namespace graphc::cudasim {

// -- the shadow ----------------------------------------------------------------------------------------------------

GlobalShadow::GlobalShadow(uint32_t granule)
    : granule(granule), lineBytes(granule * 32), records(1), nodes(1), table(1024) {}

uint32_t GlobalShadow::severalLanes(uint32_t lanes) {
  auto [it, isNew] = laneSetIndex.try_emplace(lanes, uint32_t(laneSets.size()));
  if (isNew)
    laneSets.push_back(lanes);
  return 3u << 30 | it->second;
}

GlobalShadow::Line &GlobalShadow::line(uint64_t address) {
  uint64_t number = address / pageBytes;
  Cached &cached = cache[number % 64];
  if (cached.page != number) {
    auto &found = pages[number];
    if (!found)
      found = std::make_unique<Line[]>(pageBytes / lineBytes);
    cached = {number, found.get()};
  }
  return cached.lines[address % pageBytes / lineBytes];
}

size_t GlobalShadow::slotOf(const Touch &touch, uint32_t next) const {
  uint64_t hash = (uint64_t(next) << 32 | touch.record) * 0x9E3779B97F4A7C15ull;
  hash ^= (uint64_t(touch.map) << 32 | touch.mask) * 0xC2B2AE3D27D4EB4Full;
  for (size_t at = (hash ^ hash >> 31) & (table.size() - 1);; at = (at + 1) & (table.size() - 1)) {
    if (!table[at])
      return at;
    const Node &node = nodes[table[at]];
    if (node.next == next && node.touch.record == touch.record && node.touch.map == touch.map && node.touch.mask == touch.mask)
      return at;
  }
}

uint32_t GlobalShadow::push(uint32_t list, const Touch &touch) {
  size_t at = slotOf(touch, list);
  if (table[at])
    return table[at];
  nodes.push_back({touch, list});
  uint32_t result = table[at] = uint32_t(nodes.size() - 1);
  if (nodes.size() * 2 > table.size()) {
    table.assign(table.size() * 2, 0);
    for (uint32_t node = 1; node < nodes.size(); ++node)
      table[slotOf(nodes[node].touch, nodes[node].next)] = node;
  }
  return result;
}

uint32_t GlobalShadow::without(uint32_t list, uint32_t mask) {
  uint32_t last = 0; // the rest after it stays as it is
  for (uint32_t at = list; at; at = nodes[at].next)
    if (nodes[at].touch.mask & mask)
      last = at;
  if (!last)
    return list;
  std::vector<Touch> kept;
  uint32_t at = list;
  for (uint32_t end = nodes[last].next; at != end; at = nodes[at].next) {
    Touch touch = nodes[at].touch;
    touch.mask &= ~mask;
    if (touch.mask)
      kept.push_back(touch);
  }
  for (size_t i = kept.size(); i-- > 0;)
    at = push(at, kept[i]);
  return at;
}

void GlobalShadow::addRead(Line &line, const Touch &touch) {
  Touch &newest = line.read;
  if (!newest.mask || (newest.record == touch.record && newest.map == touch.map)) {
    newest = {touch.record, touch.map, newest.mask | touch.mask};
    return;
  }
  // A later read by the same lanes of a warp says all that an earlier one said.
  auto covers = [&](const Touch &earlier) {
    const Record &a = records[earlier.record], &b = records[touch.record];
    return earlier.map == touch.map && (earlier.mask & ~touch.mask) == 0 && a.block == b.block && a.warp == b.warp && a.strong == b.strong;
  };
  if (!covers(newest)) {
    uint32_t at = line.olderReads;
    for (int depth = 0; at && depth < 16; ++depth, at = nodes[at].next)
      if (covers(nodes[at].touch)) { // found: rebuild the list without it
        std::vector<Touch> kept;
        for (uint32_t before = line.olderReads; before != at; before = nodes[before].next)
          kept.push_back(nodes[before].touch);
        line.olderReads = nodes[at].next;
        for (size_t i = kept.size(); i-- > 0;)
          line.olderReads = push(line.olderReads, kept[i]);
        break;
      }
    line.olderReads = push(line.olderReads, newest);
  }
  newest = touch;
}

void GlobalShadow::setWrite(Line &line, const Touch &touch, bool forgetReads) {
  line.olderWrites = without(line.olderWrites, touch.mask);
  if (line.write.record == touch.record && line.write.map == touch.map) {
    line.write.mask |= touch.mask;
  } else {
    line.write.mask &= ~touch.mask;
    if (line.write.mask)
      line.olderWrites = push(line.olderWrites, line.write);
    line.write = touch;
  }
  if (forgetReads) {
    line.read.mask &= ~touch.mask;
    line.olderReads = without(line.olderReads, touch.mask);
  }
}

// -- accesses ------------------------------------------------------------------------------------------------------

/// Two strong accesses do not race when each is in the other's scope.
static bool exempt(bool strong, uint8_t scope, uint32_t block, const GlobalShadow::Record &record) {
  return strong && record.strong && (record.block == block || (record.scope >= 2 && scope >= 2));
}

uint32_t RaceChecker::State::recordFor(const Access &access) {
  uint32_t w = access.warp.index;
  // The copy's read has the bounds cache after its write's.
  uint32_t index = access.mem.index + (access.mem.access == AccessKind::AsyncCopy);
  LastRecord &last = lastRecord[size_t(w) * (launch->function->boundsCaches + 1) + index];
  if (last.clock == clock[w])
    return last.record;
  if (std::max(global->records.size(), global->nodes.size()) >= GlobalShadow::most) {
    if (checkGlobal)
      report(access.warp, access.inst, 0, FindingKind::GlobalRace,
             "the launch is too long for the global race check; what follows in this block goes unchecked", 0, 0, {}, false);
    checkGlobal = false;
    return 0;
  }
  last = {clock[w], uint32_t(global->records.size())};
  global->records.push_back({self(), clock[w], access.warp.pc, uint16_t(w), access.strong, access.mem.scope});
  return last.record;
}

/// Whether an earlier touch of some of the piece's granules happened before it; else which lanes do not know of each other.
bool RaceChecker::State::isBefore(const Access &access, const GlobalShadow::Touch &piece, const GlobalShadow::Touch &earlier,
                                  unsigned &lane, unsigned &earlierLane, uint32_t &index) const {
  uint32_t w = access.warp.index;
  const GlobalShadow::Record &record = global->records[earlier.record];
  uint32_t overlap = piece.mask & earlier.mask;
  if (record.block != self() || record.warp != w) {
    if (ordered(w, 0, record, 0))
      return true;
    index = uint32_t(std::countr_zero(overlap));
    lane = unsigned(std::countr_zero(global->lanesOf(piece.map, index)));
    earlierLane = unsigned(std::countr_zero(global->lanesOf(earlier.map, index)));
    return false;
  }
  if ((earlier.map == piece.map && !GlobalShadow::isSet(piece.map)) || record.clock <= knows[w * warps + w])
    return true;
  for (; overlap; overlap &= overlap - 1) {
    index = uint32_t(std::countr_zero(overlap));
    for (uint32_t mine = global->lanesOf(piece.map, index); mine; mine &= mine - 1)
      for (uint32_t theirs = global->lanesOf(earlier.map, index); theirs; theirs &= theirs - 1) {
        lane = unsigned(std::countr_zero(mine));
        earlierLane = unsigned(std::countr_zero(theirs));
        if (!orderedLocal(w, lane, w * 32 + earlierLane, record.clock))
          return false;
      }
  }
  return true;
}

void RaceChecker::State::complainGlobal(const Access &access, const GlobalShadow::Touch &earlier, const char *what,
                                        unsigned lane, unsigned earlierLane, uint64_t address) {
  const GlobalShadow::Record &record = global->records[earlier.record];
  bool together = record.block == self() && record.warp == access.warp.index && record.pc == access.warp.pc &&
                  record.clock == clock[access.warp.index] && access.addresses[earlierLane] == access.addresses[lane];
  bool same = access.writes && !access.reads &&
              (together ? writesSameAsLane(access, lane, earlierLane)
                        : writesSameAsMemory(access, lane, reinterpret_cast<const char *>(access.addresses[lane])));
  if (same && !launch->config->checks.sameValueWrites)
    return;
  complain(access, lane, false, what, address, same, siteOf(record.warp * 32u + earlierLane, record.pc, record.block),
           launch->memory->describe(address));
}

/// Some granules of one line, with a rule which lane has which.
void RaceChecker::State::pieceAccess(const Access &access, const GlobalShadow::Touch &piece, uint64_t lineAddress, Pass pass) {
  GlobalShadow &shadow = *global;
  GlobalShadow::Line &line = shadow.line(lineAddress);
  bool reported = false, readsAreBefore = true;
  unsigned lane, earlierLane;
  uint32_t index;
  auto check = [&](const GlobalShadow::Touch &earlier, const char *what) {
    if (!(earlier.mask & piece.mask))
      return true;
    if (isBefore(access, piece, earlier, lane, earlierLane, index))
      return true;
    if (pass != Pass::Note && !reported && !exempt(access.strong, access.mem.scope, self(), shadow.records[earlier.record])) {
      complainGlobal(access, earlier, what, lane, earlierLane, lineAddress + index * shadow.granule);
      reported = true;
    }
    return false;
  };
  const char *afterWrite = access.writes ? "write after write" : "read after write";
  check(line.write, afterWrite);
  for (uint32_t at = line.olderWrites; at; at = shadow.nodes[at].next)
    check(shadow.nodes[at].touch, afterWrite);
  if (!access.writes) {
    if (access.warp.event == Event::None && pass != Pass::Check)
      shadow.addRead(line, piece);
    return;
  }
  readsAreBefore &= check(line.read, "write after read");
  for (uint32_t at = line.olderReads; at; at = shadow.nodes[at].next)
    readsAreBefore &= check(shadow.nodes[at].touch, "write after read");
  if (pass != Pass::Check)
    shadow.setWrite(line, piece, readsAreBefore || !access.strong);
}

void RaceChecker::State::globalAccess(const Access &access, uint32_t lanes) {
  uint32_t bytes = access.bytes;
  const uint64_t (&addresses)[32] = access.addresses;
  const BoundsCache &bounds = access.warp.caches[access.mem.index + (access.mem.access == AccessKind::AsyncCopy)];
  auto inside = [&](uint64_t lo, uint64_t hi) {
    return (lo >= bounds.lo && hi <= bounds.hi) || launch->memory->accessible(lo).hi >= hi;
  };
  if (!lanes)
    return;
  GlobalShadow &shadow = *global;
  GlobalShadow::Touch piece;
  piece.record = recordFor(access);
  if (!piece.record)
    return;
  uint32_t each = std::max(1u, bytes / shadow.granule), lineBytes = shadow.lineBytes;
  auto indexOf = [&](uint64_t address) { return uint32_t(address % lineBytes / shadow.granule); };
  // The usual case: a whole warp, one stretch of memory.
  uint64_t first = addresses[0], different = first % bytes;
  for (uint64_t i = 0; i < 32; ++i)
    different |= addresses[i] ^ (first + i * bytes);
  if (lanes == ~0u && !different && std::has_single_bit(each)) {
    uint64_t end = first + 32 * uint64_t(bytes);
    if (!inside(first, end))
      return; // the handler reports it
    for (uint64_t at = first / lineBytes * lineBytes; at < end && access.warp.event == Event::None; at += lineBytes) {
      uint64_t lo = std::max(at, first), hi = std::min(at + lineBytes, end);
      uint32_t count = uint32_t((hi - lo) / shadow.granule);
      piece.mask = (count == 32 ? ~0u : (1u << count) - 1) << indexOf(lo);
      piece.map = GlobalShadow::steps(int((int64_t(at) - int64_t(first)) / int64_t(shadow.granule)), uint32_t(std::countr_zero(each)));
      pieceAccess(access, piece, at);
    }
    return;
  }
  if (!access.strong || !(lanes & (lanes - 1))) {
    pieces(access, lanes, piece, Pass::Both);
    return;
  }
  // Strong accesses of one instruction do not race with each other: all are compared with what was before, then noted.
  pieces(access, lanes, piece, Pass::Check);
  pieces(access, lanes, piece, Pass::Note);
}

/// The lanes of an access in pieces, each within one line.
void RaceChecker::State::pieces(const Access &access, uint32_t lanes, GlobalShadow::Touch piece, Pass pass) {
  GlobalShadow &shadow = *global;
  uint32_t bytes = access.bytes, each = std::max(1u, bytes / shadow.granule), lineBytes = shadow.lineBytes;
  const uint64_t (&addresses)[32] = access.addresses;
  const BoundsCache &bounds = access.warp.caches[access.mem.index + (access.mem.access == AccessKind::AsyncCopy)];
  auto inside = [&](uint64_t lo, uint64_t hi) {
    return (lo >= bounds.lo && hi <= bounds.hi) || launch->memory->accessible(lo).hi >= hi;
  };
  auto indexOf = [&](uint64_t address) { return uint32_t(address % lineBytes / shadow.granule); };
  uint32_t own = each >= 32 ? ~0u : (1u << each) - 1;
  for (uint32_t rest = lanes; rest && access.warp.event == Event::None;) {
    unsigned lane = unsigned(std::countr_zero(rest));
    rest &= rest - 1;
    uint64_t address = addresses[lane], at = address / lineBytes * lineBytes;
    if (address % std::min(bytes, lineBytes) || !inside(address, address + bytes))
      continue;
    uint32_t index = indexOf(address);
    piece.mask = own << index;
    piece.map = GlobalShadow::oneLane(lane);
    if (rest && addresses[std::countr_zero(rest)] == address && !access.writes) { // neighbours that read one address
      uint32_t together = 1u << lane;
      for (; rest && addresses[std::countr_zero(rest)] == address; rest &= rest - 1)
        together |= rest & (0u - rest);
      piece.map = shadow.severalLanes(together);
    } else if (rest) { // lanes that go up through the line in equal steps
      unsigned next = unsigned(std::countr_zero(rest));
      int64_t step = (int64_t(addresses[next]) - int64_t(address)) / int64_t(shadow.granule) / int64_t(next - lane);
      if (step >= int64_t(each) && step < 32 && std::has_single_bit(uint64_t(step))) {
        bool several = false;
        for (; rest; rest &= rest - 1) {
          unsigned other = unsigned(std::countr_zero(rest));
          if (addresses[other] != address + uint64_t(other - lane) * uint64_t(step) * shadow.granule || addresses[other] >= at + lineBytes ||
              !inside(addresses[other], addresses[other] + bytes))
            break;
          piece.mask |= own << indexOf(addresses[other]);
          several = true;
        }
        uint32_t shift = uint32_t(std::countr_zero(uint64_t(step)));
        if (several)
          piece.map = GlobalShadow::steps(int(lane << shift) - int(index), shift);
      }
    }
    pieceAccess(access, piece, at, pass);
  }
}

} // namespace graphc::cudasim
