// Graph structure, and launching an instantiated graph as operations with the graph's own edges.
#include "runtime/cudasim/api/GraphExec.h"

#include <algorithm>

namespace graphc::cudasim {

GraphNode *Graph::add(CUgraphNodeType type, std::shared_ptr<Action> action,
                      const std::vector<GraphNode *> &dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->type = type;
  node->action = std::move(action);
  node->dependencies = dependencies;
  return nodes.add(std::move(node));
}

std::vector<GraphNode *> Graph::ordered() const {
  std::vector<GraphNode *> result;
  std::map<GraphNode *, size_t> waiting;
  std::map<GraphNode *, std::vector<GraphNode *>> followers;
  for (GraphNode *node : nodes.all()) {
    waiting[node] = node->dependencies.size();
    for (GraphNode *dependency : node->dependencies)
      followers[dependency].push_back(node);
  }
  for (GraphNode *node : nodes.all())
    if (node->dependencies.empty())
      result.push_back(node);
  for (size_t i = 0; i < result.size(); ++i)
    for (GraphNode *follower : followers[result[i]])
      if (--waiting[follower] == 0)
        result.push_back(follower);
  if (result.size() != nodes.all().size())
    result.clear();
  return result;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  std::map<const GraphNode *, GraphNode *> map;
  for (GraphNode *node : nodes.all()) {
    GraphNode *made = copy->add(node->type, node->action, {});
    made->context = node->context;
    made->event = node->event;
    made->attributes = node->attributes;
    made->clonedFrom = node;
    if (node->child)
      made->child = node->child->clone();
    map[node] = made;
  }
  for (GraphNode *node : nodes.all())
    for (GraphNode *dependency : node->dependencies)
      map[node]->dependencies.push_back(map[dependency]);
  return copy;
}

/// Appends the graph's nodes; `entry` is what its roots depend on. Returns its leaves. False for a cycle.
static bool flatten(const Graph &graph, std::vector<GraphExec::Node> &out, const std::vector<size_t> &entry,
                    std::vector<size_t> &leaves) {
  std::vector<GraphNode *> order = graph.ordered();
  if (order.empty() && !graph.nodes.all().empty())
    return false;
  std::map<const GraphNode *, size_t> place;
  std::map<const GraphNode *, bool> followed;
  for (GraphNode *node : order) {
    std::vector<size_t> dependencies;
    for (GraphNode *dependency : node->dependencies) {
      dependencies.push_back(place[dependency]);
      followed[dependency] = true;
    }
    if (node->dependencies.empty())
      dependencies = entry;
    GraphExec::Node flat;
    flat.origin = node;
    flat.type = node->type;
    flat.context = node->context;
    flat.action = node->action;
    flat.event = node->event;
    if (node->child) {
      std::vector<size_t> ends;
      if (!flatten(*node->child, out, dependencies, ends))
        return false;
      flat.action = makeMarker("end of a child graph");
      flat.dependencies = ends.empty() ? dependencies : ends;
    } else {
      flat.dependencies = dependencies;
    }
    place[node] = out.size();
    out.push_back(std::move(flat));
  }
  for (GraphNode *node : order)
    if (!followed[node])
      leaves.push_back(place[node]);
  return true;
}

bool flattenGraph(const Graph &graph, std::vector<GraphExec::Node> &nodes) {
  std::vector<size_t> leaves;
  return flatten(graph, nodes, {}, leaves);
}

GraphExec *instantiate(Driver &driver, Graph &graph, Context *context, unsigned long long flags) {
  auto exec = std::make_unique<GraphExec>();
  if (!flattenGraph(graph, exec->nodes))
    return nullptr;
  exec->context = context;
  exec->flags = flags;
  exec->id = driver.nextId++;
  // Chains: a node continues the chain of a dependency that nobody continued yet.
  std::vector<bool> continued(exec->nodes.size(), false);
  size_t chains = 0;
  for (size_t i = 0; i < exec->nodes.size(); ++i) {
    GraphExec::Node &node = exec->nodes[i];
    node.chain = size_t(-1);
    for (size_t dependency : node.dependencies)
      if (!continued[dependency]) {
        continued[dependency] = true;
        node.chain = exec->nodes[dependency].chain;
        break;
      }
    if (node.chain == size_t(-1))
      node.chain = chains++;
    exec->byOrigin[node.origin] = i;
  }
  for (size_t i = 0; i < chains; ++i)
    exec->slots.push_back(driver.slots.acquire(driver.hostClock));
  return driver.graphExecs.add(std::move(exec));
}

void destroyExec(Driver &driver, GraphExec *exec) {
  for (uint32_t slot : exec->slots)
    driver.slots.release(slot);
  driver.graphExecs.erase(exec);
}

CUresult launchExec(Driver &driver, GraphExec &exec, Stream &stream) {
  if (stream.capture) {
    if (stream.capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    // A launch inside a capture becomes a child graph.
    auto child = std::make_unique<Graph>();
    std::vector<GraphNode *> made;
    for (GraphExec::Node &node : exec.nodes) {
      std::vector<GraphNode *> dependencies;
      for (size_t dependency : node.dependencies)
        dependencies.push_back(made[dependency]);
      made.push_back(child->add(node.type == CU_GRAPH_NODE_TYPE_GRAPH ? CU_GRAPH_NODE_TYPE_EMPTY : node.type,
                                node.enabled ? node.action : makeMarker("disabled node"), dependencies));
      made.back()->context = node.context;
      made.back()->event = node.event;
    }
    GraphNode *node = driver.captureNode(stream, makeMarker("child graph"));
    node->type = CU_GRAPH_NODE_TYPE_GRAPH;
    node->action = nullptr;
    node->child = std::move(child);
    return CUDA_SUCCESS;
  }
  if (CUresult refusal = driver.refuseLegacyInCapture(stream))
    return refusal;
  std::string where = "graph " + std::to_string(exec.id) + " launched in " + stream.name();
  // Launches of one executable graph follow each other, whatever streams they are in.
  std::vector<OperationRef> extra;
  if (exec.last)
    extra.push_back(exec.last);
  OperationRef start = driver.enqueue(stream, makeMarker("graph launch"), extra, &exec.clock);
  std::vector<OperationRef> operations;
  std::vector<bool> followed(exec.nodes.size(), false);
  for (GraphExec::Node &node : exec.nodes) {
    VectorClock clock = start->clock;
    std::vector<OperationRef> dependencies{start};
    for (size_t dependency : node.dependencies) {
      clock.join(operations[dependency]->clock);
      dependencies.push_back(operations[dependency]);
      followed[dependency] = true;
    }
    Event *event = node.event && driver.events.find(node.event) ? node.event : nullptr;
    if (event && node.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && event->record) {
      clock.join(event->clock);
      dependencies.push_back(event->record);
    }
    Context *context = node.context && driver.contexts.find(node.context) ? node.context : stream.context;
    OperationRef operation =
        driver.enqueueAt(context, exec.slots[node.chain], clock, std::move(dependencies),
                         node.enabled ? node.action : makeMarker("disabled node"), where);
    if (event && node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
      event->record = operation;
      event->clock = operation->clock;
      event->capture = nullptr;
    }
    operations.push_back(std::move(operation));
  }
  std::vector<OperationRef> ends;
  VectorClock endClock;
  for (size_t i = 0; i < operations.size(); ++i)
    if (!followed[i]) {
      ends.push_back(operations[i]);
      endClock.join(operations[i]->clock);
    }
  exec.last = driver.enqueue(stream, makeMarker("end of a graph launch"), ends, &endClock);
  exec.clock = exec.last->clock;
  return CUDA_SUCCESS;
}

void Driver::destroyAllGraphs() {
  captures.clear();
  graphExecs.clear();
  graphs.clear();
}

} // namespace graphc::cudasim
