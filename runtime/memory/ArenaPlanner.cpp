#include "runtime/memory/ArenaPlanner.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

namespace graphc {

static int64_t alignUp(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

ArenaPlanner::ArenaPlanner(std::span<const ArenaItem> items) : items_(items.begin(), items.end()) {
  int count = size();
  conflictStart_.reserve(count + 1);
  conflictStart_.push_back(0);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j)
      if (i != j && items_[i].first <= items_[j].last && items_[j].first <= items_[i].last)
        conflicts_.push_back(j);
    conflictStart_.push_back(static_cast<int>(conflicts_.size()));
  }
}

int64_t ArenaPlanner::place(std::span<const int64_t> bytes, std::span<int64_t> offsets, Workspace &workspace) const {
  int count = size();
  assert(static_cast<int>(bytes.size()) == count && static_cast<int>(offsets.size()) == count &&
         "one size and one offset per item");
  auto &order = workspace.order;
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
  // Ties by position keep the result the same everywhere.
  std::sort(order.begin(), order.end(), [&](int a, int b) { return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b; });
  workspace.placed.assign(count, false);

  int64_t extent = 0;
  for (int item : order) {
    workspace.placed[item] = true;
    offsets[item] = 0;
    int64_t need = alignUp(bytes[item]);
    if (need == 0)
      continue;
    auto &neighbours = workspace.neighbours;
    neighbours.clear();
    for (int c = conflictStart_[item]; c < conflictStart_[item + 1]; ++c)
      if (workspace.placed[conflicts_[c]] && bytes[conflicts_[c]] > 0)
        neighbours.push_back(conflicts_[c]);
    std::sort(neighbours.begin(), neighbours.end(),
              [&](int a, int b) { return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : a < b; });

    int64_t cursor = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (int other : neighbours) {
      int64_t gap = offsets[other] - cursor;
      if (gap >= need && gap < bestGap) {
        best = cursor;
        bestGap = gap;
      }
      cursor = std::max(cursor, offsets[other] + alignUp(bytes[other]));
    }
    offsets[item] = best >= 0 ? best : cursor;
    extent = std::max(extent, offsets[item] + need);
  }
  return extent;
}

int64_t planArena(std::span<const ArenaItem> items, std::span<int64_t> offsets) {
  std::vector<int64_t> bytes;
  bytes.reserve(items.size());
  for (const ArenaItem &item : items)
    bytes.push_back(item.bytes);
  ArenaPlanner::Workspace workspace;
  return ArenaPlanner(items).place(bytes, offsets, workspace);
}

} // namespace graphc
