// When buffers must keep their contents, from the commands alone.
#pragma once

#include "runtime/plan/Plan.h"

#include <memory>
#include <vector>

namespace graphc {

/// Commands are counted through all bodies, in the order in which they are written.
struct LiveRanges {
  std::vector<int> first, last; // of each buffer, inclusive; last = -1: no command uses it
  std::vector<int> topLevel;    // the number of each outermost command; one more behind the last
};

/// `roots`: the buffer whose memory each buffer is. A buffer of a body lives within the body, so that the bodies of an if share
/// memory; one that a loop's body reads before it writes it, or that is used around the loop too, lives through the whole loop.
LiveRanges liveRanges(const std::vector<std::unique_ptr<plan::CommandT>> &commands, const std::vector<int> &roots);

} // namespace graphc
