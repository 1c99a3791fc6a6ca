// Graphs, what capture builds of them, and what instantiation makes of them.
#pragma once

#include "runtime/cudasim/api/CudaHeader.h"
#include "runtime/cudasim/api/Table.h"
#include "runtime/cudasim/stream/Operation.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace graphc::cudasim {

struct Context;
struct Stream;
struct Event;
struct Graph;

struct GraphNode {
  Graph *graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Context *context = nullptr;
  std::shared_ptr<Action> action; ///< null for child graphs
  std::vector<GraphNode *> dependencies;
  Event *event = nullptr;         ///< record and wait nodes
  std::unique_ptr<Graph> child;   ///< a clone, owned by the node
  const GraphNode *clonedFrom = nullptr;
  std::map<int, CUlaunchAttributeValue> attributes;
  std::vector<void *> parameterPointers; ///< what the params getter hands out
};

struct Graph {
  Table<GraphNode> nodes; ///< in order of creation
  std::map<struct UserObject *, unsigned> userObjects;
  GraphNode *add(CUgraphNodeType type, std::shared_ptr<Action> action, const std::vector<GraphNode *> &dependencies);
  std::unique_ptr<Graph> clone() const;
  /// Nodes such that each comes after its dependencies; empty (with nodes present) for a cycle.
  std::vector<GraphNode *> ordered() const;
  GraphNode *find(CUgraphNode node) const { return nodes.find(node); }
};

struct UserObject {
  void *pointer = nullptr;
  CUhostFn destroy = nullptr;
  unsigned references = 0;
};

/// The flattened, fixed form. Node parameters can change between launches, edges cannot.
struct GraphExec {
  struct Node {
    const GraphNode *origin = nullptr; ///< null for the marker that ends a child graph
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    Context *context = nullptr;
    std::shared_ptr<Action> action;
    Event *event = nullptr;
    std::vector<size_t> dependencies;
    size_t chain = 0;   ///< nodes of one chain follow each other and share a clock slot
    bool enabled = true;
  };
  Context *context = nullptr;
  unsigned long long flags = 0;
  std::vector<Node> nodes;
  std::vector<uint32_t> slots; ///< by chain
  std::map<const GraphNode *, size_t> byOrigin;
  OperationRef last;   ///< launches of one executable graph follow each other
  VectorClock clock;
  uint64_t id = 0;
};

/// A stream capture in progress.
struct Capture {
  uint64_t id = 0;
  Stream *origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  bool invalidated = false;
  std::unique_ptr<Graph> owned; ///< null when capturing into an existing graph
  Graph *graph = nullptr;
  std::map<Stream *, std::vector<GraphNode *>> frontier; ///< what the next node of each stream depends on
};

} // namespace graphc::cudasim
