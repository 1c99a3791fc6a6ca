// The cheapest way to give each node one of two labels, when some prefer a label and some pairs prefer to agree.
#pragma once
#include <cstdint>
#include <vector>

namespace graphc {

/// Minimum cut between label 0 and label 1 (Dinic's algorithm).
class MinCut {
public:
  static constexpr int64_t infinite = int64_t(1) << 60;

  unsigned addNode();
  /// Paid when `node` gets this label.
  void costOfZero(unsigned node, int64_t cost);
  void costOfOne(unsigned node, int64_t cost);
  /// Paid when `one` gets label 1 and `zero` gets label 0.
  void costOfSplit(unsigned one, unsigned zero, int64_t cost);

  /// The label of each node. Nodes that are free to choose get 0.
  std::vector<bool> solve();

private:
  struct Edge {
    unsigned to;
    int64_t capacity;
  };
  void connect(unsigned from, unsigned to, int64_t capacity);
  bool measureDistances();
  int64_t sendFlow();

  // Node 0 is the source (label 1), node 1 the sink (label 0). Edge i and i ^ 1 are each other's reverse.
  std::vector<std::vector<unsigned>> edgesOf{{}, {}};
  std::vector<Edge> edges;
  std::vector<int> distance;
  std::vector<size_t> next;
};

} // namespace graphc
