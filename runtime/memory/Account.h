// Counts the bytes a part of the runtime holds, and the most it ever held: the measured side of "peak memory planned =
// peak memory measured".
#pragma once

#include <atomic>
#include <cstdint>

namespace graphc {

class MemoryAccount {
public:
  void add(int64_t bytes) {
    int64_t now = current_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void remove(int64_t bytes) { current_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// The peak starts anew from what is held now.
  void resetPeak() { peak_.store(current_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

  int64_t currentBytes() const { return current_.load(std::memory_order_relaxed); }
  int64_t peakBytes() const { return peak_.load(std::memory_order_relaxed); }

private:
  std::atomic<int64_t> current_{0}, peak_{0};
};

} // namespace graphc
