// Which queue each command of a plan goes to, and which other queues' commands it must wait for.
//
// A queue does its work in order, so commands of one queue need no events. `assignStreams` follows chains of producer and
// consumer and opens a further queue only where two chains are independent. `planWaits` then finds, for the memory that the
// commands of a call really touch, the fewest waits that order every pair of conflicting accesses.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace graphc {

/// Buffers (roots of aliases) that one command touches; constants and inputs, which nobody writes, are left out.
struct CommandAccess {
  std::vector<int> reads, writes;
  int stream = -1; // as the plan says; -1: to be chosen
};

std::vector<int> assignStreams(std::span<const CommandAccess> commands, int maxStreams);

/// Bytes [begin, end) of a space: the arena, or a buffer of its own.
struct MemoryRange {
  int space = 0;
  int64_t begin = 0, end = 0;
  bool overlaps(const MemoryRange &other) const { return space == other.space && begin < other.end && other.begin < end; }
};

/// Stream 0 frames the call: the others begin behind its start, and it ends behind all of them.
struct StreamWaits {
  std::vector<std::vector<int>> waits; // by command: earlier commands of other streams
  std::vector<bool> afterStart;        // by command: must wait for the start of the call itself
  std::vector<int> joins;              // commands that the end of the call waits for
  std::vector<bool> recorded;          // by command: somebody waits for it
};

StreamWaits planWaits(std::span<const CommandAccess> commands, std::span<const int> streams,
                      const std::function<MemoryRange(int buffer)> &rangeOf);

} // namespace graphc
