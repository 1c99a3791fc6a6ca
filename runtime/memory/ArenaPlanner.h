// Where the temporaries of a plan lie in one block of memory.
//
// The same function serves the compiler (static sizes, shown by `inspect`), the loader, and every call of a plan
// with symbolic sizes, so the peak is a number everybody agrees on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphc {

inline constexpr int64_t kArenaAlignment = 64;

struct ArenaItem {
  int64_t bytes = 0;
  int first = 0; // first and last command that touches it, inclusive
  int last = 0;
};

/// Remembers what depends on lifetimes alone (who may overlap whom), so that placing for new sizes costs
/// microseconds and, after the first call, allocates nothing.
class ArenaPlanner {
public:
  ArenaPlanner() = default;
  /// Only the lifetimes of the items are kept.
  explicit ArenaPlanner(std::span<const ArenaItem> items);

  /// Greedy by size: the largest item first, each into the smallest gap that holds it between the items it lives
  /// with. Writes 64-byte aligned offsets; returns the extent, also a multiple of 64. Const, but not for concurrent use
  /// of one `Workspace`.
  struct Workspace {
    std::vector<int> order;
    std::vector<int> neighbours;
    std::vector<bool> placed;
  };
  int64_t place(std::span<const int64_t> bytes, std::span<int64_t> offsets, Workspace &workspace) const;

  int size() const { return static_cast<int>(items_.size()); }

private:
  std::vector<ArenaItem> items_;
  std::vector<int> conflictStart_; // items_.size() + 1 indices into conflicts_
  std::vector<int> conflicts_;
};

/// One-shot form: offsets for `items`, and the extent.
int64_t planArena(std::span<const ArenaItem> items, std::span<int64_t> offsets);

} // namespace graphc
