#include "runtime/exec/StreamSchedule.h"

#include <algorithm>
#include <map>

namespace graphc {

std::vector<int> assignStreams(std::span<const CommandAccess> commands, int maxStreams) {
  size_t count = commands.size(), words = (count + 63) / 64;
  std::vector<int> streams(count, 0);
  std::vector<int> tails; // last command of every stream
  bool given = false;
  for (const CommandAccess &command : commands)
    given = given || command.stream >= 0;
  if (given || maxStreams <= 1) {
    for (size_t i = 0; i < count; ++i)
      streams[i] = std::min(std::max(commands[i].stream, 0), std::max(maxStreams, 1) - 1);
    return streams;
  }

  std::vector<uint64_t> before(count * words); // ancestors of every command
  std::map<int, int> writer;                   // last command that wrote a buffer
  std::map<int, std::vector<int>> readers;     // since
  std::vector<int> load;                       // commands so far, by stream
  for (size_t i = 0; i < count; ++i) {
    uint64_t *mine = before.data() + i * words;
    auto follow = [&](int earlier) {
      const uint64_t *theirs = before.data() + static_cast<size_t>(earlier) * words;
      for (size_t w = 0; w < words; ++w)
        mine[w] |= theirs[w];
      mine[static_cast<size_t>(earlier) / 64] |= uint64_t(1) << (earlier % 64);
    };
    for (int buffer : commands[i].reads)
      if (auto found = writer.find(buffer); found != writer.end())
        follow(found->second);
    for (int buffer : commands[i].writes) {
      if (auto found = writer.find(buffer); found != writer.end())
        follow(found->second);
      for (int reader : readers[buffer])
        follow(reader);
    }
    // The stream whose last command this one follows anyway, the latest of those; else a new one; else the emptiest.
    int chosen = -1;
    for (size_t s = 0; s < tails.size(); ++s)
      if ((mine[static_cast<size_t>(tails[s]) / 64] >> (tails[s] % 64) & 1) && (chosen < 0 || tails[s] > tails[static_cast<size_t>(chosen)]))
        chosen = static_cast<int>(s);
    if (chosen < 0 && static_cast<int>(tails.size()) < maxStreams) {
      chosen = static_cast<int>(tails.size());
      tails.push_back(0);
      load.push_back(0);
    }
    if (chosen < 0)
      chosen = static_cast<int>(std::min_element(load.begin(), load.end()) - load.begin());
    streams[i] = chosen;
    tails[static_cast<size_t>(chosen)] = static_cast<int>(i);
    ++load[static_cast<size_t>(chosen)];
    for (int buffer : commands[i].reads)
      readers[buffer].push_back(static_cast<int>(i));
    for (int buffer : commands[i].writes) {
      writer[buffer] = static_cast<int>(i);
      readers[buffer].clear();
    }
  }
  return streams;
}

StreamWaits planWaits(std::span<const CommandAccess> commands, std::span<const int> streams,
                      const std::function<MemoryRange(int buffer)> &rangeOf) {
  size_t count = commands.size();
  StreamWaits result;
  result.waits.resize(count);
  result.recorded.resize(count);
  result.afterStart.resize(count);
  int streamCount = streams.empty() ? 0 : *std::max_element(streams.begin(), streams.end()) + 1;
  if (streamCount <= 1)
    return result;

  struct Access {
    MemoryRange range;
    int command;
    bool write;
  };
  auto n = static_cast<size_t>(streamCount);
  std::vector<std::vector<Access>> accesses(n);                       // by stream, in order
  // By stream: the latest command of each stream it follows; kStart is the start of the call.
  constexpr int kStart = -1, kNothing = -2;
  std::vector<std::vector<int>> known(n, std::vector<int>(n, kNothing));
  known[0][0] = kStart;
  std::vector<std::vector<int>> knownThen(count);                     // the same, just behind every command
  /// Stream `mine` from here on follows `earlier`. False when it does already.
  auto waitFor = [&](size_t mine, int earlier) {
    auto index = static_cast<size_t>(earlier);
    if (earlier <= known[mine][static_cast<size_t>(streams[index])])
      return false;
    result.recorded[index] = true;
    for (size_t s = 0; s < n; ++s)
      known[mine][s] = std::max(known[mine][s], knownThen[index][s]);
    return true;
  };
  for (size_t i = 0; i < count; ++i) {
    auto mine = static_cast<size_t>(streams[i]);
    std::vector<Access> own;
    for (int buffer : commands[i].reads)
      own.push_back({rangeOf(buffer), static_cast<int>(i), false});
    for (int buffer : commands[i].writes)
      own.push_back({rangeOf(buffer), static_cast<int>(i), true});
    std::vector<int> needed; // latest conflicting command of every other stream
    for (size_t other = 0; other < n; ++other) {
      if (other == mine)
        continue;
      for (size_t k = accesses[other].size(); k-- > 0;) {
        const Access &earlier = accesses[other][k];
        if (earlier.command <= known[mine][other])
          break; // ordered already, and everything before it too
        bool conflict = std::any_of(own.begin(), own.end(), [&](const Access &access) {
          return (access.write || earlier.write) && access.range.overlaps(earlier.range);
        });
        if (conflict) {
          needed.push_back(earlier.command);
          break;
        }
      }
    }
    // The latest first: what it follows itself need not be waited for.
    std::sort(needed.rbegin(), needed.rend());
    for (int earlier : needed)
      if (waitFor(mine, earlier))
        result.waits[i].push_back(earlier);
    if (known[mine][0] == kNothing) {
      result.afterStart[i] = true;
      known[mine][0] = kStart;
    }
    known[mine][mine] = static_cast<int>(i);
    knownThen[i] = known[mine];
    accesses[mine].insert(accesses[mine].end(), own.begin(), own.end());
  }
  std::vector<int> ends;
  for (size_t stream = 1; stream < n; ++stream)
    if (known[stream][stream] >= 0)
      ends.push_back(known[stream][stream]);
  std::sort(ends.rbegin(), ends.rend());
  for (int end : ends)
    if (waitFor(0, end))
      result.joins.push_back(end);
  return result;
}

} // namespace graphc
