// The table that says where device memory went, 75 columns wide.
#include "runtime/memory/CachingAllocator.h"

#include <cstdio>

namespace graphc {

namespace {

constexpr int kWidth = 75;

std::string centred(const std::string &words) {
  int left = (kWidth - 2 - static_cast<int>(words.size())) / 2;
  int right = kWidth - 2 - left - static_cast<int>(words.size());
  return "|" + std::string(static_cast<size_t>(std::max(left, 0)), ' ') + words + std::string(static_cast<size_t>(std::max(right, 0)), ' ') + "|\n";
}

std::string row(const char *name, const std::string &a, const std::string &b, const std::string &c, const std::string &d) {
  char line[128];
  std::snprintf(line, sizeof line, "| %-19s | %10s | %10s | %10s | %10s |\n", name, a.c_str(), b.c_str(), c.c_str(), d.c_str());
  return line;
}

std::string row(const char *name, const MemoryStatistic &statistic, bool bytes) {
  auto word = [bytes](int64_t value) { return bytes ? bytesText(value) : std::to_string(value); };
  return row(name, word(statistic.current), word(statistic.peak), word(statistic.allocated), word(statistic.freed));
}

} // namespace

std::string CachingAllocator::summary() const {
  MemoryStatistics s = statistics();
  std::string rule = "|" + std::string(kWidth - 2, '=') + "|\n", thin = "|" + std::string(kWidth - 2, '-') + "|\n";
  std::string table = rule + centred("graphc memory of " + options_.deviceName) + thin;
  table += centred("out of memory: " + std::to_string(s.outOfMemory) + "   |   retries after releasing the cache: " + std::to_string(s.retries));
  table += rule + row("", "now", "peak", "allocated", "freed") + thin;
  auto group = [&](const char *name, const MemoryStatistics::Pools &pools, bool bytes) {
    table += row(name, pools.all, bytes);
    table += row("  of large blocks", pools.large, bytes);
    table += row("  of small blocks", pools.small, bytes);
    table += thin;
  };
  group("Allocated memory", s.allocatedBytes, true);
  group("Active memory", s.activeBytes, true);
  group("Requested memory", s.requestedBytes, true);
  group("Reserved memory", s.reservedBytes, true);
  group("Unused beside used", s.inactiveSplitBytes, true);
  group("Blocks", s.allocation, false);
  group("Active blocks", s.active, false);
  group("Segments", s.segment, false);
  group("Unused split blocks", s.inactiveSplit, false);
  table += row("Oversize blocks", s.oversizeAllocations, false);
  table += row("Oversize segments", s.oversizeSegments, false);
  return table + rule;
}

} // namespace graphc
