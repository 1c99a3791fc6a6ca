// Access tracking: which bytes of which allocations a launch read, wrote or updated atomically.
#include "runtime/cudasim/engine/Launch.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>

namespace graphc::cudasim {

namespace {

constexpr size_t heapBytes = 100 * 1024; ///< maps up to here come from the heap, larger ones are mapped lazily
constexpr size_t mostPages = 8192;       ///< kept per map, and four times that in all: 12 and 48 MiB

void release(TouchedRange &range) {
  if (range.mapped <= heapBytes)
    free(range.read);
  else
    munmap(range.read, range.mapped);
}

/// Calls fn(page) for each page with bits.
template <class Function>
void forPages(const TouchedRange &range, Function fn) {
  uint64_t count = range.words / 64;
  for (uint64_t page = 0; page < count;) {
    uint64_t eight = 1;
    if (page + 8 <= count)
      std::memcpy(&eight, range.pages + page, 8);
    if (!eight) {
      page += 8;
      continue;
    }
    for (uint64_t end = std::min(page + 8, count); page < end; ++page)
      if (range.pages[page])
        fn(page);
  }
}

} // namespace

TouchedMaps::~TouchedMaps() {
  for (auto &[key, range] : kept)
    release(range);
}

TouchedRange TouchedMaps::take(uint64_t lo, uint64_t hi) {
  {
    std::lock_guard lock(mutex);
    auto it = kept.find({lo, hi});
    if (it != kept.end()) {
      TouchedRange range = it->second;
      kept.erase(it);
      keptPages -= range.keptPages;
      return range;
    }
  }
  TouchedRange range;
  range.lo = lo;
  range.hi = hi;
  range.base = lo & ~uint64_t(4095);
  uint64_t pages = (hi - range.base + 4095) >> 12;
  range.words = pages * 64;
  range.mapped = range.words * 8 * 3 + pages;
  void *memory = range.mapped <= heapBytes ? calloc(1, range.mapped)
                                           : mmap(nullptr, range.mapped, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  range.read = static_cast<uint64_t *>(memory);
  range.written = range.read + range.words;
  range.atomics = range.written + range.words;
  range.pages = reinterpret_cast<uint8_t *>(range.atomics + range.words);
  return range;
}

void TouchedMaps::giveBack(TouchedRange &&range) {
  size_t pages = 0;
  forPages(range, [&](uint64_t) { ++pages; });
  if (pages > mostPages) {
    release(range);
    return;
  }
  forPages(range, [&](uint64_t page) {
    for (uint64_t *bits : {range.read, range.written, range.atomics})
      std::memset(bits + page * 64, 0, 512);
    range.pages[page] = 0;
  });
  range.keptPages = pages + 1;
  std::lock_guard lock(mutex);
  if (keptPages + range.keptPages > 4 * mostPages) {
    for (auto &[key, other] : kept)
      release(other);
    kept.clear();
    keptPages = 0;
  }
  keptPages += range.keptPages;
  kept.insert({{range.lo, range.hi}, range});
}

void attachTracking(Warp &warp, BoundsCache &cache, uint64_t lo, uint64_t hi) {
  Worker &worker = *warp.worker;
  auto it = worker.touched.find(lo);
  if (it == worker.touched.end())
    it = worker.touched.emplace(lo, warp.block->launch->memory->touchedMaps().take(lo, hi)).first;
  const TouchedRange &range = it->second;
  cache.readBits = range.read;
  cache.writeBits = range.written;
  cache.pageTouched = range.pages;
  cache.bitsBase = range.base;
}

void trackLanes(Warp &warp, const MemOp &mem, const uint64_t (&addresses)[32], uint32_t bytes, bool write, uint32_t mask) {
  BoundsCache &cache = warp.caches[mem.index];
  uint64_t *words = mem.access == AccessKind::Atomic ? nullptr : write ? cache.writeBits : cache.readBits;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint64_t address = addresses[__builtin_ctz(rest)];
    if (address < cache.lo || address + bytes > cache.hi) {
      // Lanes of one access may lie in several allocations.
      MemorySpace::Range range = warp.block->launch->memory->accessible(address);
      if (!range.hi)
        continue;
      BoundsCache other;
      attachTracking(warp, other, range.lo, range.hi);
      TouchedRange &touched = warp.worker->touched[range.lo];
      uint64_t *target = mem.access == AccessKind::Atomic ? touched.atomics : write ? touched.written : touched.read;
      for (uint64_t at = address - touched.base; at < address - touched.base + bytes; ++at)
        target[at >> 6] |= uint64_t(1) << (at & 63);
      touched.pages[(address - touched.base) >> 12] = 1;
      touched.pages[(address - touched.base + bytes - 1) >> 12] = 1;
      continue;
    }
    if (mem.access == AccessKind::Atomic && !words)
      words = cache.readBits + 2 * (cache.writeBits - cache.readBits);
    uint64_t at = address - cache.bitsBase;
    cache.pageTouched[at >> 12] = 1;
    uint64_t bits = bytes >= 64 ? ~uint64_t(0) : (uint64_t(1) << bytes) - 1;
    words[at >> 6] |= bits << (at & 63);
    if ((at & 63) + bytes > 64) {
      words[(at >> 6) + 1] |= bits >> (64 - (at & 63));
      cache.pageTouched[(at + bytes - 1) >> 12] = 1;
    }
  }
}

void collectTouched(Worker &worker, LaunchResult &result) {
  for (auto &[lo, range] : worker.touched)
    forPages(range, [&](uint64_t page) {
      auto add = [&](AccessSet &set, const uint64_t *words) {
        set.orPage((range.base >> 12) + page, *reinterpret_cast<const uint64_t(*)[64]>(words + page * 64));
      };
      add(result.reads, range.read);
      add(result.writes, range.written);
      add(result.atomics, range.atomics);
    });
}

} // namespace graphc::cudasim
