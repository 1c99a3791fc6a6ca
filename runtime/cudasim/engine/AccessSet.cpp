// Byte-exact address sets in 4 KiB pages.
#include "runtime/cudasim/engine/Engine.h"

#include <algorithm>
#include <cstring>

namespace graphc::cudasim {

namespace {

bool allOnes(const uint64_t (&words)[64]) {
  uint64_t all = ~uint64_t(0);
  for (uint64_t word : words)
    all &= word;
  return all == ~uint64_t(0);
}
bool allZero(const uint64_t (&words)[64]) {
  uint64_t any = 0;
  for (uint64_t word : words)
    any |= word;
  return any == 0;
}
void setBits(uint64_t (&words)[64], unsigned lo, unsigned hi, bool value) { // [lo, hi)
  for (unsigned word = lo / 64; word <= (hi - 1) / 64; ++word) {
    unsigned first = word * 64 < lo ? lo % 64 : 0, last = word * 64 + 64 > hi ? (hi - 1) % 64 : 63;
    uint64_t mask = (~uint64_t(0) >> (63 - last)) & (~uint64_t(0) << first);
    words[word] = value ? words[word] | mask : words[word] & ~mask;
  }
}

} // namespace

/// Joins adjacent full runs and turns complete bit pages into full ones.
void AccessSet::normalize(std::vector<Run> &&sorted) {
  pages.clear();
  for (Run &run : sorted) {
    if (run.bits && allZero(run.bits->words))
      continue;
    if (run.bits && allOnes(run.bits->words))
      run.bits.reset();
    if (!run.bits && !pages.empty() && !pages.back().bits && pages.back().first + pages.back().count == run.first)
      pages.back().count += run.count;
    else
      pages.push_back(std::move(run));
  }
}

void AccessSet::add(uint64_t lo, uint64_t hi) {
  if (lo >= hi)
    return;
  AccessSet one;
  uint64_t first = lo >> 12, last = (hi - 1) >> 12;
  std::vector<Run> runs;
  auto partial = [&](uint64_t page, unsigned from, unsigned to) {
    auto bits = std::make_unique<Bits>();
    setBits(bits->words, from, to, true);
    runs.emplace_back(page, 1, std::move(bits));
  };
  if (first == last) {
    partial(first, unsigned(lo & 4095), unsigned((hi - 1) & 4095) + 1);
  } else {
    partial(first, unsigned(lo & 4095), 4096);
    if (last > first + 1)
      runs.emplace_back(first + 1, last - first - 1);
    partial(last, 0, unsigned((hi - 1) & 4095) + 1);
  }
  one.normalize(std::move(runs));
  if (pages.empty() || one.pages.front().first > pages.back().first + pages.back().count - 1) { // appended in order
    std::vector<Run> all = std::move(pages);
    for (Run &run : one.pages)
      all.push_back(std::move(run));
    normalize(std::move(all));
    return;
  }
  merge(one);
}

void AccessSet::merge(const AccessSet &other) {
  if (other.pages.empty())
    return;
  if (pages.empty()) {
    pages = other.pages;
    return;
  }
  std::vector<Run> result;
  size_t i = 0, j = 0;
  // Walk both in pages, splitting full runs where the other set begins.
  uint64_t atI = pages[0].first, atJ = other.pages[0].first;
  auto endOf = [](const Run &run) { return run.first + run.count; };
  while (i < pages.size() || j < other.pages.size()) {
    bool haveI = i < pages.size(), haveJ = j < other.pages.size();
    if (haveI && (!haveJ || atI < atJ)) {
      uint64_t stop = endOf(pages[i]);
      if (haveJ)
        stop = std::min(stop, atJ);
      if (pages[i].bits)
        result.emplace_back(atI, 1, std::move(pages[i].bits));
      else
        result.emplace_back(atI, stop - atI);
      atI = stop;
    } else if (haveJ && (!haveI || atJ < atI)) {
      uint64_t stop = endOf(other.pages[j]);
      if (haveI)
        stop = std::min(stop, atI);
      if (other.pages[j].bits)
        result.emplace_back(atJ, 1, std::make_unique<Bits>(*other.pages[j].bits));
      else
        result.emplace_back(atJ, stop - atJ);
      atJ = stop;
    } else { // the same page
      bool fullI = !pages[i].bits, fullJ = !other.pages[j].bits;
      uint64_t stop = std::min(endOf(pages[i]), endOf(other.pages[j]));
      if (fullI || fullJ) {
        if (!(fullI && fullJ))
          stop = atI + 1;
        result.emplace_back(atI, stop - atI);
      } else {
        auto bits = std::move(pages[i].bits);
        for (int word = 0; word < 64; ++word)
          bits->words[word] |= other.pages[j].bits->words[word];
        result.emplace_back(atI, 1, std::move(bits));
        stop = atI + 1;
      }
      atI = atJ = stop;
    }
    if (i < pages.size() && atI >= endOf(pages[i])) {
      ++i;
      if (i < pages.size())
        atI = pages[i].first;
    }
    if (j < other.pages.size() && atJ >= endOf(other.pages[j])) {
      ++j;
      if (j < other.pages.size())
        atJ = other.pages[j].first;
    }
  }
  normalize(std::move(result));
}

void AccessSet::orPage(uint64_t page, const uint64_t (&words)[64]) {
  if (allZero(words))
    return;
  bool isFull = allOnes(words);
  std::unique_ptr<Bits> bits;
  if (!isFull) {
    bits = std::make_unique<Bits>();
    std::memcpy(bits->words, words, sizeof words);
  }
  if (pages.empty() || page >= pages.back().first + pages.back().count) { // the usual order
    if (isFull && !pages.empty() && !pages.back().bits && pages.back().first + pages.back().count == page)
      ++pages.back().count;
    else
      pages.emplace_back(page, 1, std::move(bits));
    return;
  }
  AccessSet one;
  one.pages.emplace_back(page, 1, std::move(bits));
  merge(one);
}

std::optional<std::pair<uint64_t, uint64_t>> AccessSet::firstOverlap(const AccessSet &other) const {
  size_t i = 0, j = 0;
  while (i < pages.size() && j < other.pages.size()) {
    const Run &a = pages[i], &b = other.pages[j];
    if (a.first + a.count <= b.first) {
      ++i;
      continue;
    }
    if (b.first + b.count <= a.first) {
      ++j;
      continue;
    }
    uint64_t page = std::max(a.first, b.first), stop = std::min(a.first + a.count, b.first + b.count);
    if (!a.bits && !b.bits)
      return std::pair{page << 12, stop << 12};
    for (unsigned word = 0; word < 64; ++word) {
      uint64_t both = (a.bits ? a.bits->words[word] : ~uint64_t(0)) & (b.bits ? b.bits->words[word] : ~uint64_t(0));
      if (!both)
        continue;
      uint64_t lo = (page << 12) + word * 64 + uint64_t(__builtin_ctzll(both)), hi = lo;
      auto bit = [&](uint64_t address) {
        unsigned offset = unsigned(address & 4095);
        auto in = [&](const Run &run) { return !run.bits || (run.bits->words[offset / 64] >> (offset % 64) & 1); };
        return in(a) && in(b);
      };
      while (hi < (page + 1) << 12 && bit(hi))
        ++hi;
      return std::pair{lo, hi};
    }
    if (a.first + a.count <= b.first + b.count)
      ++i;
    else
      ++j;
  }
  return std::nullopt;
}

bool AccessSet::contains(uint64_t address) const {
  uint64_t page = address >> 12;
  auto it = std::upper_bound(pages.begin(), pages.end(), page, [](uint64_t p, const Run &run) { return p < run.first; });
  if (it == pages.begin())
    return false;
  --it;
  if (page >= it->first + it->count)
    return false;
  return !it->bits || (it->bits->words[(address & 4095) / 64] >> (address & 63) & 1);
}

void AccessSet::subtract(uint64_t lo, uint64_t hi) {
  if (lo >= hi)
    return;
  std::vector<Run> result;
  for (Run &run : pages) {
    uint64_t runLo = run.first << 12, runHi = (run.first + run.count) << 12;
    if (runHi <= lo || runLo >= hi) {
      result.push_back(std::move(run));
      continue;
    }
    if (run.bits) {
      setBits(run.bits->words, unsigned(std::max(lo, runLo) - runLo), unsigned(std::min(hi, runHi) - runLo), false);
      result.push_back(std::move(run));
      continue;
    }
    AccessSet left;
    left.add(runLo, std::max(runLo, lo));
    AccessSet right;
    right.add(std::min(runHi, hi), runHi);
    // Both may end in the same page, when the hole lies inside it.
    left.merge(right);
    for (Run &piece : left.pages)
      result.push_back(std::move(piece));
  }
  normalize(std::move(result));
}

void AccessSet::forEach(const std::function<void(uint64_t, uint64_t)> &fn) const {
  uint64_t lo = 0, hi = 0;
  auto emit = [&](uint64_t from, uint64_t to) {
    if (from == hi && hi != lo) {
      hi = to;
      return;
    }
    if (hi != lo)
      fn(lo, hi);
    lo = from;
    hi = to;
  };
  for (const Run &run : pages) {
    if (!run.bits) {
      emit(run.first << 12, (run.first + run.count) << 12);
      continue;
    }
    for (unsigned word = 0; word < 64; ++word) {
      uint64_t rest = run.bits->words[word];
      while (rest) {
        unsigned first = unsigned(__builtin_ctzll(rest));
        uint64_t ones = ~(rest >> first);
        unsigned length = ones ? unsigned(__builtin_ctzll(ones)) : 64 - first;
        if (length > 64 - first)
          length = 64 - first;
        uint64_t base = (run.first << 12) + word * 64 + first;
        emit(base, base + length);
        rest &= length + first >= 64 ? 0 : ~uint64_t(0) << (first + length);
      }
    }
  }
  if (hi != lo)
    fn(lo, hi);
}

uint64_t AccessSet::bytes() const {
  uint64_t total = 0;
  for (const Run &run : pages) {
    if (!run.bits)
      total += run.count << 12;
    else
      for (uint64_t word : run.bits->words)
        total += uint64_t(__builtin_popcountll(word));
  }
  return total;
}

} // namespace graphc::cudasim
