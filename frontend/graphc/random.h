// Random numbers: Philox4x32-10, so that a number depends on the seed and its position and on nothing else, neither device
// nor thread count.
#pragma once

#include <cstdint>

namespace graphc {

class Generator {
public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}
  void manualSeed(uint64_t seed) { seed_ = seed, offset_ = 0; }
  uint64_t seed() const { return seed_; }
  /// Blocks of four numbers drawn so far.
  uint64_t offset() const { return offset_; }
  void setState(uint64_t seed, uint64_t offset) { seed_ = seed, offset_ = offset; }
  /// Reserves `blocks` blocks and returns the first.
  uint64_t advance(uint64_t blocks) {
    uint64_t first = offset_;
    offset_ += blocks;
    return first;
  }

private:
  uint64_t seed_, offset_ = 0;
};

/// Seeds the generator of this thread's context.
void manualSeed(uint64_t seed);
/// The generator of this thread's context.
Generator &generator();

} // namespace graphc
