// The random numbers of one sample: Philox with the seed as key and (block, index, epoch) as counter.
#include "frontend/graphc/data.h"
#include "runtime/base/Philox.h"

#include <cmath>
#include <numbers>

namespace graphc::data {

uint32_t RandomStream::bits() {
  if (left_ == 0) {
    PhiloxBlock words = philox4x32({static_cast<uint32_t>(block_++), static_cast<uint32_t>(index_), static_cast<uint32_t>(index_ >> 32),
                                    static_cast<uint32_t>(epoch_)},
                                   {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    for (int i = 0; i < 4; ++i)
      words_[i] = words[i];
    left_ = 4;
  }
  return words_[4 - left_--];
}

double RandomStream::uniform() {
  uint64_t high = bits(), low = bits();
  return static_cast<double>((high << 21) ^ (low >> 11)) * 0x1p-53;
}

uint64_t RandomStream::below(uint64_t bound) {
  // Draws beyond the largest multiple of the bound would favour small results; they are drawn again.
  uint64_t limit = bound ? UINT64_MAX - UINT64_MAX % bound : UINT64_MAX;
  uint64_t value;
  do {
    uint64_t high = bits();
    value = high << 32 | bits();
  } while (value >= limit);
  return bound ? value % bound : 0;
}

double RandomStream::normal() {
  // 1 - uniform() is never zero.
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

} // namespace graphc::data
