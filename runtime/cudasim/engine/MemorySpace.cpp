// Device memory: a reserved stretch of host addresses from which allocations are cut and never handed out twice.
//
// Nothing is committed until touched (MAP_NORESERVE), so a 141 GB device costs nothing, and an address names one
// allocation for the life of the process: a stale pointer is always recognised.
#include "runtime/cudasim/engine/Launch.h"

#include <atomic>
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include <sys/mman.h>

namespace graphc::cudasim {

const char *kindName(AllocationKind kind) {
  switch (kind) {
  case AllocationKind::Device: return "device allocation";
  case AllocationKind::Pool: return "pool allocation";
  case AllocationKind::Managed: return "managed allocation";
  case AllocationKind::Pinned: return "pinned host allocation";
  case AllocationKind::Registered: return "registered host range";
  case AllocationKind::ModuleGlobal: return "module variable";
  }
  return "allocation";
}

namespace {

constexpr uint64_t pageBytes = 4096, guardBytes = 4096, chunkBytes = uint64_t(1) << 38;
std::atomic<uint64_t> nextId{1};

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

struct Record {
  Allocation allocation;
  bool annotated = false, isHost = false;
  std::map<uint64_t, SubAllocation> parts;
  std::map<uint64_t, SubAllocation> ended; ///< sub-allocations that were freed, for messages
};

struct Chunk {
  uint64_t base, size, used, shadow;
};

} // namespace

struct MemorySpace::Tables {
  mutable std::shared_mutex mutex;
  std::map<uint64_t, Record> records; ///< by base; live and freed
  std::vector<Chunk> chunks;
  std::vector<MemorySpace *> peers;
  uint64_t used = 0;
  std::atomic<uint64_t> version{1};

  Record *holding(uint64_t address) {
    auto it = records.upper_bound(address);
    if (it == records.begin())
      return nullptr;
    --it;
    return it->second.allocation.contains(address) ? &it->second : nullptr;
  }
};

MemorySpace::MemorySpace(int ordinal, uint64_t capacityBytes, bool trackDefined)
    : tables(std::make_unique<Tables>()), touched(std::make_unique<TouchedMaps>()), ordinalNumber(ordinal), capacityBytes(capacityBytes), shadowEnabled(trackDefined) {}

MemorySpace::~MemorySpace() {
  for (Chunk &chunk : tables->chunks) {
    munmap(reinterpret_cast<void *>(chunk.base), chunk.size);
    if (chunk.shadow)
      munmap(reinterpret_cast<void *>(chunk.shadow), chunk.size);
  }
}

uint64_t MemorySpace::used() const {
  std::shared_lock lock(tables->mutex);
  return tables->used;
}

void MemorySpace::setTrackDefined(bool on) {
  std::unique_lock lock(tables->mutex);
  if (tables->chunks.empty())
    shadowEnabled = on;
}

uint64_t MemorySpace::allocate(uint64_t size, uint64_t alignment, AllocationKind kind, std::string label) {
  if (size == 0 || size > capacityBytes)
    return 0;
  std::unique_lock lock(tables->mutex);
  if (tables->used + size > capacityBytes)
    return 0;
  alignment = std::max<uint64_t>(alignment, 256);
  uint64_t needed = roundUp(size, pageBytes) + guardBytes + alignment;
  Chunk *chunk = tables->chunks.empty() ? nullptr : &tables->chunks.back();
  if (!chunk || chunk->used + needed > chunk->size) {
    uint64_t bytes = std::max(chunkBytes, roundUp(needed + pageBytes, chunkBytes));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    while (base == MAP_FAILED && bytes / 2 >= needed + pageBytes) { // a host with an address-space limit
      bytes /= 2;
      base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    }
    if (base == MAP_FAILED)
      return 0;
    void *shadow = nullptr;
    if (shadowEnabled) {
      shadow = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
      if (shadow == MAP_FAILED) {
        munmap(base, bytes);
        return 0;
      }
    }
    madvise(base, bytes, MADV_DONTDUMP);
    tables->chunks.push_back({reinterpret_cast<uint64_t>(base), bytes, pageBytes, reinterpret_cast<uint64_t>(shadow)});
    chunk = &tables->chunks.back();
  }
  uint64_t base = roundUp(chunk->base + chunk->used, alignment);
  chunk->used = roundUp(base + size, pageBytes) + guardBytes - chunk->base;
  Record record;
  record.allocation = {base, size, kind, true, false, nextId++, std::move(label)};
  tables->records[base] = std::move(record);
  tables->used += size;
  ++tables->version;
  uint64_t poison = std::min(size, poisonLimit);
  lock.unlock();
  if (poison)
    std::memset(reinterpret_cast<void *>(base), 0xCD, poison);
  return base;
}

bool MemorySpace::free(uint64_t base) {
  std::unique_lock lock(tables->mutex);
  auto it = tables->records.find(base);
  if (it == tables->records.end() || !it->second.allocation.live || it->second.isHost)
    return false;
  Allocation &allocation = it->second.allocation;
  allocation.live = false;
  tables->used -= allocation.size;
  ++tables->version;
  uint64_t first = roundUp(base, pageBytes), last = (base + allocation.size) & ~(pageBytes - 1);
  if (last > first)
    madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
  return true;
}

void MemorySpace::setReadOnly(uint64_t base) {
  std::unique_lock lock(tables->mutex);
  auto it = tables->records.find(base);
  if (it != tables->records.end())
    it->second.allocation.readOnly = true;
}

std::optional<Allocation> MemorySpace::find(uint64_t address) const {
  std::shared_lock lock(tables->mutex);
  Record *record = tables->holding(address);
  if (record && record->allocation.live)
    return record->allocation;
  for (MemorySpace *peer : tables->peers) {
    std::shared_lock peerLock(peer->tables->mutex);
    Record *theirs = peer->tables->holding(address);
    if (theirs && theirs->allocation.live && !theirs->isHost)
      return theirs->allocation;
  }
  return std::nullopt;
}

std::optional<Allocation> MemorySpace::findNearest(uint64_t address) const {
  std::shared_lock lock(tables->mutex);
  auto after = tables->records.upper_bound(address);
  const Allocation *best = nullptr;
  uint64_t distance = ~uint64_t(0);
  auto consider = [&](const Allocation &candidate) {
    uint64_t d = address < candidate.base                         ? candidate.base - address
                 : address >= candidate.base + candidate.size ? address - (candidate.base + candidate.size) + 1
                                                                  : 0;
    if (d < distance) {
      distance = d;
      best = &candidate;
    }
  };
  if (after != tables->records.end())
    consider(after->second.allocation);
  if (after != tables->records.begin())
    consider(std::prev(after)->second.allocation);
  return best ? std::optional(*best) : std::nullopt;
}

std::vector<Allocation> MemorySpace::liveAllocations() const {
  std::shared_lock lock(tables->mutex);
  std::vector<Allocation> result;
  for (auto &[base, record] : tables->records)
    if (record.allocation.live)
      result.push_back(record.allocation);
  return result;
}

bool MemorySpace::annotate(uint64_t base, uint64_t size, std::string label) {
  std::unique_lock lock(tables->mutex);
  Record *record = tables->holding(base);
  if (!record || !record->allocation.live || !record->allocation.contains(base, size) || size == 0)
    return false;
  record->annotated = true;
  auto it = record->parts.upper_bound(base);
  if (it != record->parts.begin() && std::prev(it)->second.base + std::prev(it)->second.size > base)
    --it;
  while (it != record->parts.end() && it->first < base + size)
    it = record->parts.erase(it);
  record->ended.erase(record->ended.lower_bound(base), record->ended.lower_bound(base + size));
  record->parts[base] = {base, size, std::move(label)};
  ++tables->version;
  return true;
}

bool MemorySpace::unannotate(uint64_t base) {
  std::unique_lock lock(tables->mutex);
  Record *record = tables->holding(base);
  if (!record)
    return false;
  auto it = record->parts.find(base);
  if (it == record->parts.end())
    return false;
  record->ended[base] = it->second;
  uint64_t size = it->second.size;
  record->parts.erase(it);
  ++tables->version;
  lock.unlock();
  std::memset(reinterpret_cast<void *>(base), 0xCD, std::min(size, poisonLimit));
  markDefined(base, size, false);
  return true;
}

void MemorySpace::clearAnnotations(uint64_t base) {
  std::unique_lock lock(tables->mutex);
  if (Record *record = tables->holding(base)) {
    record->annotated = false;
    record->parts.clear();
    record->ended.clear();
    ++tables->version;
  }
}

void MemorySpace::registerHost(void *base, uint64_t size, AllocationKind kind, std::string label) {
  std::unique_lock lock(tables->mutex);
  Record record;
  uint64_t address = reinterpret_cast<uint64_t>(base);
  record.allocation = {address, size, kind, true, false, nextId++, std::move(label)};
  record.isHost = true;
  // Host memory is recycled by the host's allocator: dead records in the way are dropped.
  auto it = tables->records.upper_bound(address);
  if (it != tables->records.begin() && std::prev(it)->second.allocation.contains(address))
    --it;
  while (it != tables->records.end() && it->first < address + size) {
    if (it->second.isHost && !it->second.allocation.live)
      it = tables->records.erase(it);
    else
      ++it;
  }
  tables->records[address] = std::move(record);
  ++tables->version;
}

bool MemorySpace::unregisterHost(void *base) {
  std::unique_lock lock(tables->mutex);
  auto it = tables->records.find(reinterpret_cast<uint64_t>(base));
  if (it == tables->records.end() || !it->second.isHost || !it->second.allocation.live)
    return false;
  it->second.allocation.live = false;
  ++tables->version;
  return true;
}

void MemorySpace::enablePeer(MemorySpace &peer) {
  std::unique_lock lock(tables->mutex);
  if (&peer != this && std::find(tables->peers.begin(), tables->peers.end(), &peer) == tables->peers.end())
    tables->peers.push_back(&peer);
  ++tables->version;
}
void MemorySpace::disablePeer(MemorySpace &peer) {
  std::unique_lock lock(tables->mutex);
  std::erase(tables->peers, &peer);
  ++tables->version;
}
bool MemorySpace::hasPeer(const MemorySpace &peer) const {
  std::shared_lock lock(tables->mutex);
  return std::find(tables->peers.begin(), tables->peers.end(), &peer) != tables->peers.end();
}

uint8_t *MemorySpace::shadowOf(uint64_t address) const {
  if (!shadowEnabled)
    return nullptr;
  for (const Chunk &chunk : tables->chunks)
    if (address - chunk.base < chunk.size)
      return reinterpret_cast<uint8_t *>(chunk.shadow + (address - chunk.base));
  for (MemorySpace *peer : tables->peers)
    if (uint8_t *shadow = peer->shadowOf(address))
      return shadow;
  return nullptr;
}

void MemorySpace::markDefined(uint64_t address, uint64_t size, bool defined) {
  if (uint8_t *shadow = shadowOf(address))
    std::memset(shadow, defined ? 1 : 0, size);
}

void MemorySpace::copyDefined(uint64_t destination, uint64_t source, uint64_t size, const MemorySpace *sourceSpace) {
  uint8_t *to = shadowOf(destination);
  if (!to)
    return;
  uint8_t *from = (sourceSpace ? sourceSpace : this)->shadowOf(source);
  if (from)
    std::memmove(to, from, size);
  else
    std::memset(to, 1, size);
}

std::optional<uint64_t> MemorySpace::firstUndefined(uint64_t address, uint64_t size) const {
  uint8_t *shadow = shadowOf(address);
  if (!shadow)
    return std::nullopt;
  void *hit = std::memchr(shadow, 0, size);
  if (!hit)
    return std::nullopt;
  return address + uint64_t(static_cast<uint8_t *>(hit) - shadow);
}

MemorySpace::Range MemorySpace::accessible(uint64_t address) const {
  auto inRecord = [address](Record *record) -> Range {
    if (!record || !record->allocation.live)
      return {};
    const Allocation &allocation = record->allocation;
    if (!record->annotated)
      return {allocation.base, allocation.base + allocation.size, allocation.readOnly, record->isHost};
    auto it = record->parts.upper_bound(address);
    if (it == record->parts.begin())
      return {};
    --it;
    if (address - it->second.base >= it->second.size)
      return {};
    return {it->second.base, it->second.base + it->second.size, allocation.readOnly, record->isHost};
  };
  std::shared_lock lock(tables->mutex);
  Range range = inRecord(tables->holding(address));
  if (range.hi)
    return range;
  for (MemorySpace *peer : tables->peers) {
    std::shared_lock peerLock(peer->tables->mutex);
    Record *theirs = peer->tables->holding(address);
    if (theirs && !theirs->isHost) {
      range = inRecord(theirs);
      if (range.hi)
        return range;
    }
  }
  return {};
}

std::string MemorySpace::describe(uint64_t address) const {
  std::optional<Allocation> nearest = findNearest(address);
  if (!nearest)
    return "this device has no allocations";
  char text[96];
  std::snprintf(text, sizeof text, "%s of %llu bytes at 0x%llx", kindName(nearest->kind),
                (unsigned long long)nearest->size, (unsigned long long)nearest->base);
  std::string what = text;
  if (!nearest->label.empty())
    what += " (" + nearest->label + ")";
  uint64_t end = nearest->base + nearest->size;
  if (nearest->contains(address)) {
    if (!nearest->live)
      return "offset " + std::to_string(address - nearest->base) + " in a freed " + what;
    std::shared_lock lock(tables->mutex);
    if (Record *record = tables->holding(address); record && record->annotated) {
      auto partText = [](const SubAllocation &part) {
        return "part of " + std::to_string(part.size) + " bytes" + (part.label.empty() ? "" : " (" + part.label + ")");
      };
      auto ended = record->ended.upper_bound(address);
      if (ended != record->ended.begin() && address - std::prev(ended)->first < std::prev(ended)->second.size)
        return "offset " + std::to_string(address - std::prev(ended)->first) + " in a released " +
               partText(std::prev(ended)->second) + " of a " + what;
      auto it = record->parts.upper_bound(address);
      if (it != record->parts.begin()) {
        const SubAllocation &part = std::prev(it)->second;
        if (address - part.base >= part.size)
          return std::to_string(address - (part.base + part.size)) + " bytes past the end of a " + partText(part) + " of a " + what;
      }
      if (it != record->parts.end())
        return std::to_string(it->first - address) + " bytes before a " + partText(it->second) + " of a " + what;
      return "in the red zone of a " + what;
    }
    return "offset " + std::to_string(address - nearest->base) + " in a " + what;
  }
  std::string state = nearest->live ? "" : "freed ";
  if (address >= end)
    return std::to_string(address - end) + " bytes past the end of a " + state + what;
  return std::to_string(nearest->base - address) + " bytes before a " + state + what;
}

uint64_t MemorySpace::version() const { return tables->version; }

} // namespace graphc::cudasim
