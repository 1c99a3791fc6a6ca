#include "tools/graphc/LatencySummary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace graphc::tool {

double percentile(std::span<const double> sorted, double p) {
  assert(!sorted.empty() && "a percentile of nothing");
  size_t rank = static_cast<size_t>(std::ceil(p / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

LatencySummary summarise(std::span<const double> latenciesMs) {
  std::vector<double> sorted(latenciesMs.begin(), latenciesMs.end());
  std::sort(sorted.begin(), sorted.end());
  LatencySummary summary;
  summary.minMs = sorted.front();
  summary.meanMs = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  summary.p50Ms = percentile(sorted, 50);
  summary.p90Ms = percentile(sorted, 90);
  summary.p95Ms = percentile(sorted, 95);
  summary.p99Ms = percentile(sorted, 99);
  summary.perSecond = summary.meanMs > 0 ? 1000 / summary.meanMs : 0;

  constexpr size_t kBlocks = 10;
  double lowest = summary.p50Ms, highest = summary.p50Ms;
  if (latenciesMs.size() >= 3 * kBlocks)
    for (size_t block = 0; block < kBlocks; ++block) {
      size_t begin = latenciesMs.size() * block / kBlocks, end = latenciesMs.size() * (block + 1) / kBlocks;
      std::vector<double> part(latenciesMs.begin() + begin, latenciesMs.begin() + end);
      std::sort(part.begin(), part.end());
      double median = percentile(part, 50);
      lowest = std::min(lowest, median);
      highest = std::max(highest, median);
    }
  summary.noisy = highest > 1.1 * lowest || summary.p90Ms > 1.5 * summary.p50Ms;
  return summary;
}

} // namespace graphc::tool
