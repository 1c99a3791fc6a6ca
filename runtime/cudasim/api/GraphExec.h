// Instantiation and launch of graphs.
#pragma once

#include "runtime/cudasim/api/Driver.h"

namespace graphc::cudasim {

/// The graph's nodes in a fixed order, child graphs expanded. False when it has a cycle.
bool flattenGraph(const Graph &graph, std::vector<GraphExec::Node> &nodes);
/// Null when the graph has a cycle.
GraphExec *instantiate(Driver &driver, Graph &graph, Context *context, unsigned long long flags);
void destroyExec(Driver &driver, GraphExec *exec);
CUresult launchExec(Driver &driver, GraphExec &exec, Stream &stream);

} // namespace graphc::cudasim
