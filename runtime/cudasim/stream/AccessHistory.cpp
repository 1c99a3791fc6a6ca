#include "runtime/cudasim/stream/AccessHistory.h"

#include <bit>
#include <cstring>

namespace graphc::cudasim {

namespace {

uint64_t runWord(unsigned index, unsigned lo, unsigned hi) {
  unsigned from = index * 64, to = from + 64;
  if (lo >= to || hi <= from)
    return 0;
  uint64_t word = ~uint64_t(0);
  if (lo > from)
    word &= ~uint64_t(0) << (lo - from);
  if (hi < to)
    word &= ~uint64_t(0) >> (to - hi);
  return word;
}

uint64_t wordOf(const uint64_t *words, unsigned lo, unsigned hi, unsigned index) {
  return words ? words[index] : runWord(index, lo, hi);
}

/// A newer, ordered access of kind `by` says everything that an older one of kind `old` said.
bool replaces(AccessKind by, AccessKind old) { return by == AccessKind::Write || by == old; }

bool conflict(AccessKind a, AccessKind b) {
  if (a == AccessKind::Read && b == AccessKind::Read)
    return false;
  return !(a == AccessKind::Atomic && b == AccessKind::Atomic);
}

} // namespace

AccessHistory::Page &AccessHistory::page(uint64_t index) {
  auto &block = pages[index >> 6];
  if (!block)
    block = std::make_unique<std::array<Page, 64>>();
  return (*block)[index & 63];
}

void AccessHistory::accessPage(const VectorClock &clock, Moment moment, const Info &info, AccessKind kind,
                               uint64_t index, Bytes bytes, std::vector<Race> &races) {
  Page &records = page(index);
  for (size_t i = 0; i < records.size();) {
    Record &record = records[i];
    unsigned lo = std::max(bytes.lo, record.lo), hi = std::min(bytes.hi, record.hi);
    if (lo >= hi) {
      ++i;
      continue;
    }
    if (!clock.covers(record.moment)) {
      if (conflict(record.kind, kind))
        for (unsigned w = lo / 64; w <= (hi - 1) / 64; ++w) {
          uint64_t shared = wordOf(record.words ? record.words->data() : nullptr, record.lo, record.hi, w) &
                            wordOf(bytes.words, bytes.lo, bytes.hi, w);
          if (!shared)
            continue;
          unsigned first = std::countr_zero(shared);
          races.push_back({index * pageBytes + w * 64 + first, uint64_t(std::countr_one(shared >> first)), record.kind,
                           kind, record.info, info});
          break;
        }
      ++i;
      continue;
    }
    if (!replaces(kind, record.kind)) {
      ++i;
      continue;
    }
    // The older record is covered: keep only its bytes outside the new access.
    if (!record.words && !bytes.words) {
      if (bytes.lo <= record.lo && bytes.hi >= record.hi) {
        record = std::move(records.back());
        records.pop_back();
        continue;
      }
      if (bytes.lo <= record.lo) {
        record.lo = bytes.hi;
        ++i;
        continue;
      }
      if (bytes.hi >= record.hi) {
        record.hi = bytes.lo;
        ++i;
        continue;
      }
    }
    Words left;
    unsigned newLo = pageBytes, newHi = 0;
    for (unsigned w = 0; w < 64; ++w) {
      left[w] = wordOf(record.words ? record.words->data() : nullptr, record.lo, record.hi, w) &
                ~wordOf(bytes.words, bytes.lo, bytes.hi, w);
      if (left[w]) {
        newLo = std::min(newLo, w * 64 + unsigned(std::countr_zero(left[w])));
        newHi = w * 64 + 64 - unsigned(std::countl_zero(left[w]));
      }
    }
    if (newHi == 0) {
      record = std::move(records.back());
      records.pop_back();
      continue;
    }
    record.lo = uint16_t(newLo);
    record.hi = uint16_t(newHi);
    if (!record.words)
      record.words = std::make_unique<Words>();
    *record.words = left;
    ++i;
  }
  // One operation touching a page in several pieces keeps one record when the pieces join.
  if (!records.empty() && !bytes.words) {
    Record &last = records.back();
    if (last.info == info && last.kind == kind && last.moment.slot == moment.slot &&
        last.moment.time == moment.time && !last.words && last.hi == bytes.lo) {
      last.hi = bytes.hi;
      return;
    }
  }
  Record record{moment, kind, bytes.lo, bytes.hi, nullptr, info};
  if (bytes.words) {
    record.words = std::make_unique<Words>();
    std::memcpy(record.words->data(), bytes.words, sizeof(Words));
  }
  records.push_back(std::move(record));
}

void AccessHistory::access(const VectorClock &clock, Moment moment, const Info &info, AccessKind kind, uint64_t lo,
                           uint64_t hi, std::vector<Race> &races) {
  while (lo < hi) {
    uint64_t index = lo / pageBytes, end = std::min(hi, (index + 1) * pageBytes);
    accessPage(clock, moment, info, kind, index,
               {uint16_t(lo - index * pageBytes), uint16_t(end - index * pageBytes), nullptr}, races);
    lo = end;
  }
}

void AccessHistory::access(const VectorClock &clock, Moment moment, const Info &info, AccessKind kind,
                           const AccessSet &set, std::vector<Race> &races) {
  set.forEachPage([&](uint64_t first, uint64_t count, const AccessSet::Bits *bits) {
    if (!bits) {
      for (uint64_t index = first; index < first + count; ++index)
        accessPage(clock, moment, info, kind, index, {0, uint16_t(pageBytes), nullptr}, races);
      return;
    }
    unsigned lo = pageBytes, hi = 0, ones = 0;
    for (unsigned w = 0; w < 64; ++w)
      if (bits->words[w]) {
        lo = std::min(lo, w * 64 + unsigned(std::countr_zero(bits->words[w])));
        hi = w * 64 + 64 - unsigned(std::countl_zero(bits->words[w]));
        ones += std::popcount(bits->words[w]);
      }
    if (hi)
      accessPage(clock, moment, info, kind, first,
                 {uint16_t(lo), uint16_t(hi), ones == hi - lo ? nullptr : bits->words}, races);
  });
}

void AccessHistory::forget(uint64_t lo, uint64_t hi) {
  uint64_t first = lo / pageBytes, last = (hi + pageBytes - 1) / pageBytes;
  for (auto it = pages.lower_bound(first >> 6); it != pages.end() && it->first <= (last >> 6);) {
    bool any = false;
    for (uint64_t i = 0; i < 64; ++i) {
      uint64_t index = (it->first << 6) + i;
      Page &records = (*it->second)[i];
      if (index >= first && index < last)
        records.clear();
      any |= !records.empty();
    }
    it = any ? std::next(it) : pages.erase(it);
  }
}

} // namespace graphc::cudasim
