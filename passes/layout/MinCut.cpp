#include "passes/layout/MinCut.h"
#include <algorithm>

namespace graphc {

static constexpr unsigned source = 0, sink = 1;

unsigned MinCut::addNode() {
  edgesOf.emplace_back();
  return edgesOf.size() - 1;
}
void MinCut::connect(unsigned from, unsigned to, int64_t capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}
void MinCut::costOfZero(unsigned node, int64_t cost) { connect(source, node, cost); }
void MinCut::costOfOne(unsigned node, int64_t cost) { connect(node, sink, cost); }
void MinCut::costOfSplit(unsigned one, unsigned zero, int64_t cost) { connect(one, zero, cost); }

bool MinCut::measureDistances() {
  distance.assign(edgesOf.size(), -1);
  distance[source] = 0;
  std::vector<unsigned> queue = {source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (unsigned e : edgesOf[queue[head]])
      if (edges[e].capacity > 0 && distance[edges[e].to] < 0) {
        distance[edges[e].to] = distance[queue[head]] + 1;
        queue.push_back(edges[e].to);
      }
  return distance[sink] >= 0;
}

/// Sends flow along one shortest path. Iterative: networks are thousands of ops deep.
int64_t MinCut::sendFlow() {
  std::vector<unsigned> path; // edges
  unsigned node = source;
  while (node != sink) {
    bool advanced = false;
    for (size_t &i = next[node]; i < edgesOf[node].size(); ++i) {
      Edge &edge = edges[edgesOf[node][i]];
      if (edge.capacity > 0 && distance[edge.to] == distance[node] + 1) {
        path.push_back(edgesOf[node][i]);
        node = edge.to;
        advanced = true;
        break;
      }
    }
    if (advanced)
      continue;
    if (path.empty())
      return 0;
    // A dead end: step back and never try this edge again.
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[node];
  }
  int64_t flow = infinite;
  for (unsigned e : path)
    flow = std::min(flow, edges[e].capacity);
  for (unsigned e : path) {
    edges[e].capacity -= flow;
    edges[e ^ 1].capacity += flow;
  }
  return flow;
}

std::vector<bool> MinCut::solve() {
  while (measureDistances()) {
    next.assign(edgesOf.size(), 0);
    while (sendFlow() > 0) {
    }
  }
  // Whatever the source still reaches has label 1.
  std::vector<bool> labels(edgesOf.size());
  for (size_t i = 0; i < edgesOf.size(); ++i)
    labels[i] = distance[i] >= 0;
  return labels;
}

} // namespace graphc
