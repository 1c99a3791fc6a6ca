// Happens-before, in the smallest form: one counter per stream (and per parallel chain of a graph).
//
// A *moment* is (slot, time): the time-th operation of that slot. An operation's clock says, for each slot, up to which
// time everything happened before it. So a happens before b exactly when b's clock at a's slot has reached a's time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace graphc::cudasim {

struct Moment {
  uint32_t slot = 0;
  uint32_t time = 0; ///< 0: never
};

class VectorClock {
public:
  uint32_t at(uint32_t slot) const { return slot < times.size() ? times[slot] : 0; }
  bool covers(Moment moment) const { return at(moment.slot) >= moment.time; }
  void advance(Moment moment) {
    if (moment.slot >= times.size())
      times.resize(moment.slot + 1, 0);
    times[moment.slot] = std::max(times[moment.slot], moment.time);
  }
  void join(const VectorClock &other) {
    if (other.times.size() > times.size())
      times.resize(other.times.size(), 0);
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }

private:
  std::vector<uint32_t> times;
};

/// Hands out slots. A slot is used again only when the host already knows all that its former owner did: whoever gets
/// it then inherits that knowledge from the host, so no unordered pair is missed.
class ClockSlots {
public:
  uint32_t acquire(const VectorClock &host) {
    for (size_t i = 0; i < released.size(); ++i)
      if (host.at(released[i]) >= last[released[i]]) {
        uint32_t slot = released[i];
        released.erase(released.begin() + i);
        return slot;
      }
    last.push_back(0);
    return uint32_t(last.size() - 1);
  }
  void release(uint32_t slot) { released.push_back(slot); }
  Moment next(uint32_t slot) { return {slot, ++last[slot]}; }

private:
  std::vector<uint32_t> last = {0}; ///< slot 0 is the host's
  std::vector<uint32_t> released;
};

} // namespace graphc::cudasim
