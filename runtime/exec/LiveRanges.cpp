#include "runtime/exec/LiveRanges.h"

#include "runtime/plan/PlanCheck.h"

#include <algorithm>
#include <climits>
#include <map>

namespace graphc {

namespace {

using Commands = std::vector<std::unique_ptr<plan::CommandT>>;

struct LoopUses {
  int begin = 0, end = 0;
  std::map<int, bool> readFirst; // buffers its body uses: whether the first use reads
};

class Walk {
public:
  Walk(const std::vector<int> &roots, LiveRanges &ranges) : roots_(roots), ranges_(ranges) {}

  void visit(const Commands &commands) {
    for (const auto &command : commands) {
      if (depth_ == 0)
        ranges_.topLevel.push_back(position_);
      visit(*command);
    }
  }

  void finish() {
    ranges_.topLevel.push_back(position_);
    // Inner loops come first: what they widen may reach out of a loop around them.
    for (const LoopUses &loop : closed_)
      for (auto [root, readFirst] : loop.readFirst) {
        int &first = ranges_.first[root], &last = ranges_.last[root];
        if (readFirst || first < loop.begin || last > loop.end) {
          first = std::min(first, loop.begin);
          last = std::max(last, loop.end);
        }
      }
  }

private:
  void visit(const plan::CommandT &command) {
    const plan::LoopT *loop = command.action.AsLoop();
    if (loop) {
      open_.emplace_back();
      open_.back().begin = position_;
    }
    auto isRoot = [&](int root) { return [this, root](int buffer) { return roots_[buffer] == root; }; };
    for (int buffer : plan::buffersOf(command)) {
      int root = roots_[buffer];
      ranges_.first[root] = std::min(ranges_.first[root], position_);
      ranges_.last[root] = std::max(ranges_.last[root], position_);
      bool reads = std::any_of(command.reads.begin(), command.reads.end(), isRoot(root)) ||
                   std::none_of(command.writes.begin(), command.writes.end(), isRoot(root));
      for (LoopUses &around : open_)
        around.readFirst.try_emplace(root, reads);
    }
    ++position_;
    ++depth_;
    if (const plan::IfT *branch = command.action.AsIf()) {
      visit(branch->then_commands);
      visit(branch->else_commands);
    }
    if (loop) {
      visit(loop->body);
      open_.back().end = position_ - 1;
      closed_.push_back(std::move(open_.back()));
      open_.pop_back();
    }
    --depth_;
  }

  const std::vector<int> &roots_;
  LiveRanges &ranges_;
  int position_ = 0, depth_ = 0;
  std::vector<LoopUses> open_, closed_;
};

} // namespace

LiveRanges liveRanges(const Commands &commands, const std::vector<int> &roots) {
  LiveRanges ranges;
  ranges.first.assign(roots.size(), INT_MAX);
  ranges.last.assign(roots.size(), -1);
  Walk walk(roots, ranges);
  walk.visit(commands);
  walk.finish();
  return ranges;
}

} // namespace graphc
