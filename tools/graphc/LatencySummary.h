// What a list of latencies says.
#pragma once

#include <span>

namespace graphc::tool {

struct LatencySummary {
  double minMs = 0, meanMs = 0, p50Ms = 0, p90Ms = 0, p95Ms = 0, p99Ms = 0;
  double perSecond = 0; // calls one after the other
  /// Noisy: the machine did something else meanwhile. The latencies are cut into ten blocks in the order they were
  /// measured; their medians stray by more than a tenth of the smallest, or a tenth of all calls took half again as long as the median.
  bool noisy = false;
};

/// `latenciesMs` in the order measured, at least one.
LatencySummary summarise(std::span<const double> latenciesMs);

/// The p-th percentile by the nearest-rank rule of values sorted upwards: the smallest that p percent do not exceed.
double percentile(std::span<const double> sorted, double p);

} // namespace graphc::tool
