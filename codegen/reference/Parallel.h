// A plain parallel loop for the interpreter: it is compared against the runtime, so it shares nothing with its pool.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace graphc::reference {

/// Calls body(begin, end) for pieces of [0, count) of at most `grain`, on as many threads as there are cores.
inline void parallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)> &body) {
  int64_t pieces = (count + grain - 1) / grain;
  int64_t threads = std::min<int64_t>(pieces, std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<int64_t> nextPiece{0};
  auto work = [&] {
    for (int64_t piece; (piece = nextPiece.fetch_add(1)) < pieces;)
      body(piece * grain, std::min(count, (piece + 1) * grain));
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
}

} // namespace graphc::reference
