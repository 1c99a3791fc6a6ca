// What the graph calls share: finding handles, and turning parameter structs into actions.
#pragma once

#include "runtime/cudasim/api/Actions.h"
#include "runtime/cudasim/api/GraphExec.h"

#include <algorithm>

namespace graphc::cudasim {

inline CUgraphNode handleOf(GraphNode *node) { return reinterpret_cast<CUgraphNode>(node); }

/// Graphs are found among the user's, those being captured, and the children owned by nodes.
Graph *findGraph(Driver &driver, CUgraph handle);
GraphNode *findNode(Driver &driver, CUgraphNode handle);
CUresult addNode(Driver &driver, CUgraphNode *result, CUgraph graphHandle, const CUgraphNode *dependencies,
                 size_t count, CUgraphNodeType type, std::shared_ptr<Action> action, Context *context,
                 GraphNode **made = nullptr);

CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1 &p);
CUresult kernelFrom(Driver &driver, Context *current, const CUDA_KERNEL_NODE_PARAMS *params,
                    std::shared_ptr<Action> &result, Context *&context);
/// The parameters as cuGraphKernelNodeGetParams shows them; the pointers live as long as the node keeps them.
CUresult describeKernel(GraphNode &node, CUDA_KERNEL_NODE_PARAMS &out);
CUresult copyFrom(const CUDA_MEMCPY3D *params, std::shared_ptr<Action> &result);
CUresult fillFromNode(const CUDA_MEMSET_NODE_PARAMS *params, std::shared_ptr<Action> &result);
CUresult hostFrom(const CUDA_HOST_NODE_PARAMS *params, std::shared_ptr<Action> &result);
/// The node's parameters out of the tagged union of cuGraphAddNode and cuGraph(Exec)NodeSetParams.
CUresult actionFrom(Driver &driver, Context *current, CUgraphNodeParams &params, std::shared_ptr<Action> &action,
                    Context *&context);

/// The convention of all list getters: a null array asks for the count.
template <typename T>
CUresult listNodes(const std::vector<GraphNode *> &nodes, T *out, size_t *count) {
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (out) {
    for (size_t i = 0; i < *count; ++i)
      out[i] = i < nodes.size() ? handleOf(nodes[i]) : nullptr;
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
  return CUDA_SUCCESS;
}

} // namespace graphc::cudasim
