// Graphs: building, reading and changing them.
#include "runtime/cudasim/api/GraphNodes.h"

#include <cstring>
#include <fstream>

using namespace graphc::cudasim;

extern "C" {

// ------------------------------------------------------------------------------------------------ building

CUresult cuGraphCreate(CUgraph *result, unsigned flags) {
  CUDASIM_ENTER(Init);
  if (!result || flags)
    return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<CUgraph>(driver.graphs.add(std::make_unique<Graph>()));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  CUDASIM_ENTER(Init);
  Graph *graph = driver.graphs.find(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  for (auto &[object, count] : graph->userObjects)
    if ((object->references -= count) == 0) {
      Unlocked unlocked(driver);
      object->destroy(object->pointer);
    }
  driver.graphs.erase(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  std::shared_ptr<Action> action;
  Context *owner = nullptr;
  if (CUresult bad = kernelFrom(driver, context, params, action, owner))
    return bad;
  return addNode(driver, node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_KERNEL, std::move(action), owner);
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS wide = widen(*params);
  return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &wide);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_MEMCPY3D *params, CUcontext owner) {
  CUDASIM_ENTER(Live);
  Context *target = driver.contexts.find(owner);
  std::shared_ptr<Action> action;
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (CUresult bad = copyFrom(params, action))
    return bad;
  return addNode(driver, node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(action), target);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext owner) {
  CUDASIM_ENTER(Live);
  Context *target = driver.contexts.find(owner);
  std::shared_ptr<Action> action;
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (CUresult bad = fillFromNode(params, action))
    return bad;
  return addNode(driver, node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEMSET, std::move(action), target);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  std::shared_ptr<Action> action;
  if (CUresult bad = hostFrom(params, action))
    return bad;
  return addNode(driver, node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_HOST, std::move(action), context);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count) {
  CUDASIM_ENTER(Live);
  return addNode(driver, node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_EMPTY, makeMarker("empty node"), context);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                  CUgraph childHandle) {
  CUDASIM_ENTER(Live);
  Graph *child = findGraph(driver, childHandle);
  if (!child)
    return CUDA_ERROR_INVALID_VALUE;
  GraphNode *node = nullptr;
  std::unique_ptr<Graph> copy = child->clone();
  if (CUresult bad =
          addNode(driver, result, graph, dependencies, count, CU_GRAPH_NODE_TYPE_GRAPH, nullptr, context, &node))
    return bad;
  node->child = std::move(copy);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                   CUevent handle) {
  CUDASIM_ENTER(Live);
  Event *event = driver.events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  GraphNode *node = nullptr;
  if (CUresult bad = addNode(driver, result, graph, dependencies, count, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                             std::make_shared<EventAction>(true, event), event->context, &node))
    return bad;
  node->event = event;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                 CUevent handle) {
  CUDASIM_ENTER(Live);
  Event *event = driver.events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  GraphNode *node = nullptr;
  if (CUresult bad = addNode(driver, result, graph, dependencies, count, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                             std::make_shared<EventAction>(false, event), event->context, &node))
    return bad;
  node->event = event;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  if (!params || !params->bytesize || params->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  Device *device = driver.device(params->poolProps.location.id);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  uint64_t base = driver.allocateOn(*device, params->bytesize, 512, AllocationKind::Pool);
  if (!base)
    return CUDA_ERROR_OUT_OF_MEMORY;
  driver.recordAllocation(base, params->bytesize, MemoryRecord::Kind::GraphOwned, context, device);
  auto action = std::make_shared<PoolAction>();
  action->base = base;
  action->size = params->bytesize;
  if (CUresult bad = addNode(driver, result, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEM_ALLOC, action, context)) {
    driver.releaseMemory(driver.memory.find(base));
    return bad;
  }
  params->dptr = base;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                               CUdeviceptr address) {
  CUDASIM_ENTER(Live);
  auto it = driver.memory.find(address);
  if (it == driver.memory.end() || it->second.kind != MemoryRecord::Kind::GraphOwned)
    return CUDA_ERROR_INVALID_VALUE;
  auto action = std::make_shared<PoolAction>();
  action->release = action->keep = true;
  action->base = address;
  action->size = it->second.size;
  return addNode(driver, result, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEM_FREE, action, context);
}

CUresult cuGraphAddNode_v2(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params) {
  CUDASIM_ENTER(Live);
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  if (edges)
    for (size_t i = 0; i < count; ++i)
      if (edges[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
        return CUDA_ERROR_NOT_SUPPORTED;
  switch (params->type) {
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return cuGraphAddChildGraphNode(result, graph, dependencies, count, params->graph.graph);
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    return cuGraphAddEventRecordNode(result, graph, dependencies, count, params->eventRecord.event);
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    return cuGraphAddEventWaitNode(result, graph, dependencies, count, params->eventWait.event);
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
    return cuGraphAddMemFreeNode(result, graph, dependencies, count, params->free.dptr);
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {};
    alloc.poolProps = params->alloc.poolProps;
    alloc.bytesize = params->alloc.bytesize;
    CUresult status = cuGraphAddMemAllocNode(result, graph, dependencies, count, &alloc);
    params->alloc.dptr = alloc.dptr;
    return status;
  }
  default: {
    std::shared_ptr<Action> action;
    Context *owner = nullptr;
    if (CUresult bad = actionFrom(driver, context, *params, action, owner))
      return bad;
    return addNode(driver, result, graph, dependencies, count, params->type, std::move(action), owner);
  }
  }
}

CUresult cuGraphAddNode(CUgraphNode *result, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                        CUgraphNodeParams *params) {
  return cuGraphAddNode_v2(result, graph, dependencies, nullptr, count, params);
}

// ------------------------------------------------------------------------------------------------ reading

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || !type)
    return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  return graph ? listNodes(graph->nodes.all(), nodes, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode *> roots;
  for (GraphNode *node : graph->nodes.all())
    if (node->dependencies.empty())
      roots.push_back(node);
  return listNodes(roots, nodes, count);
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  if (!graph || !count || (!from != !to))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode *> froms, tos;
  for (GraphNode *node : graph->nodes.all())
    for (GraphNode *dependency : node->dependencies) {
      froms.push_back(dependency);
      tos.push_back(node);
    }
  size_t room = *count;
  if (CUresult bad = listNodes(froms, from, count))
    return bad;
  if (edges)
    std::memset(edges, 0, std::min(room, froms.size()) * sizeof *edges);
  return to ? listNodes(tos, to, &room) : CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || !count)
    return CUDA_ERROR_INVALID_VALUE;
  if (edges && nodes)
    std::memset(edges, 0, std::min(*count, node->dependencies.size()) * sizeof *edges);
  return listNodes(node->dependencies, nodes, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || !count)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode *> dependents;
  for (GraphNode *other : node->graph->nodes.all())
    if (std::find(other->dependencies.begin(), other->dependencies.end(), node) != other->dependencies.end())
      dependents.push_back(other);
  if (edges && nodes)
    std::memset(edges, 0, std::min(*count, dependents.size()) * sizeof *edges);
  return listNodes(dependents, nodes, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *params) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !params)
    return CUDA_ERROR_INVALID_VALUE;
  return describeKernel(*node, *params);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  CUDA_KERNEL_NODE_PARAMS wide = {};
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = cuGraphKernelNodeGetParams_v2(node, &wide))
    return bad;
  params->func = wide.func;
  params->gridDimX = wide.gridDimX;
  params->gridDimY = wide.gridDimY;
  params->gridDimZ = wide.gridDimZ;
  params->blockDimX = wide.blockDimX;
  params->blockDimY = wide.blockDimY;
  params->blockDimZ = wide.blockDimZ;
  params->sharedMemBytes = wide.sharedMemBytes;
  params->kernelParams = wide.kernelParams;
  params->extra = wide.extra;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *params) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_MEMCPY || !params)
    return CUDA_ERROR_INVALID_VALUE;
  *params = static_cast<CopyAction *>(node->action.get())->description;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *params) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_MEMSET || !params)
    return CUDA_ERROR_INVALID_VALUE;
  auto *action = static_cast<FillAction *>(node->action.get());
  *params = {};
  params->dst = action->base;
  params->pitch = action->pitch;
  params->value = action->value;
  params->elementSize = action->elementBytes;
  params->width = action->width;
  params->height = action->height;
  return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *params) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_HOST || !params)
    return CUDA_ERROR_INVALID_VALUE;
  auto *action = static_cast<HostAction *>(node->action.get());
  params->fn = action->function;
  params->userData = action->data;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !params)
    return CUDA_ERROR_INVALID_VALUE;
  auto *action = static_cast<PoolAction *>(node->action.get());
  *params = {};
  params->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params->poolProps.location.id = node->context->device->ordinal;
  params->bytesize = action->size;
  params->dptr = action->base;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *address) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE || !address)
    return CUDA_ERROR_INVALID_VALUE;
  *address = static_cast<PoolAction *>(node->action.get())->base;
  return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *graph) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node || !node->child || !graph)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = reinterpret_cast<CUgraph>(node->child.get());
  return CUDA_SUCCESS;
}

static CUresult nodeEvent(Driver &driver, CUgraphNode handle, CUgraphNodeType type, CUevent *event) {
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != type || !event)
    return CUDA_ERROR_INVALID_VALUE;
  *event = reinterpret_cast<CUevent>(node->event);
  return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
  CUDASIM_ENTER(Init);
  return nodeEvent(driver, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
  CUDASIM_ENTER(Init);
  return nodeEvent(driver, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  if (!graph || !path)
    return CUDA_ERROR_INVALID_VALUE;
  std::ofstream out(path);
  if (!out)
    return CUDA_ERROR_OPERATING_SYSTEM;
  out << "digraph graph_ {\n";
  std::map<GraphNode *, size_t> number;
  for (GraphNode *node : graph->nodes.all()) {
    number[node] = number.size();
    out << "  n" << number[node] << " [label=\"" << (node->action ? node->action->describe() : "child graph") << "\"];\n";
  }
  for (GraphNode *node : graph->nodes.all())
    for (GraphNode *dependency : node->dependencies)
      out << "  n" << number[dependency] << " -> n" << number[node] << ";\n";
  out << "}\n";
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------ changing

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Action> action;
  Context *owner = nullptr;
  if (CUresult bad = kernelFrom(driver, node->context, params, action, owner))
    return bad;
  node->action = std::move(action);
  node->context = owner;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS wide = widen(*params);
  return cuGraphKernelNodeSetParams_v2(node, &wide);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D *params) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
    return CUDA_ERROR_INVALID_VALUE;
  return copyFrom(params, node->action);
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Action> action;
  if (CUresult bad = fillFromNode(params, action))
    return bad;
  node->action = std::move(action);
  return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_HOST)
    return CUDA_ERROR_INVALID_VALUE;
  return hostFrom(params, node->action);
}

static CUresult setNodeEvent(Driver &driver, CUgraphNode handle, CUgraphNodeType type, CUevent eventHandle) {
  GraphNode *node = findNode(driver, handle);
  Event *event = driver.events.find(eventHandle);
  if (!node || node->type != type || !event)
    return CUDA_ERROR_INVALID_VALUE;
  node->event = event;
  return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  CUDASIM_ENTER(Live);
  return setNodeEvent(driver, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  CUDASIM_ENTER(Live);
  return setNodeEvent(driver, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *params) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || !params || node->type != params->type)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Action> action;
  Context *owner = nullptr;
  if (CUresult bad = actionFrom(driver, node->context, *params, action, owner))
    return bad;
  node->action = std::move(action);
  node->context = owner;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  if (!graph || (count && (!from || !to)))
    return CUDA_ERROR_INVALID_VALUE;
  if (edges)
    for (size_t i = 0; i < count; ++i)
      if (edges[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
        return CUDA_ERROR_NOT_SUPPORTED;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *a = graph->find(from[i]), *b = graph->find(to[i]);
    if (!a || !b || a == b || std::find(b->dependencies.begin(), b->dependencies.end(), a) != b->dependencies.end())
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i)
    graph->find(to[i])->dependencies.push_back(graph->find(from[i]));
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *, size_t count) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  if (!graph || (count && (!from || !to)))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *a = graph->find(from[i]), *b = graph->find(to[i]);
    if (!a || !b || !std::erase(b->dependencies, a))
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  CUDASIM_ENTER(Init);
  GraphNode *node = findNode(driver, handle);
  if (!node)
    return CUDA_ERROR_INVALID_VALUE;
  Graph *graph = node->graph;
  for (GraphNode *other : graph->nodes.all())
    std::erase(other->dependencies, node);
  graph->nodes.erase(node);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *result, CUgraph handle) {
  CUDASIM_ENTER(Init);
  Graph *graph = findGraph(driver, handle);
  if (!graph || !result)
    return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<CUgraph>(driver.graphs.add(graph->clone()));
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *result, CUgraphNode original, CUgraph cloneHandle) {
  CUDASIM_ENTER(Init);
  Graph *clone = findGraph(driver, cloneHandle);
  if (!clone || !result)
    return CUDA_ERROR_INVALID_VALUE;
  for (GraphNode *node : clone->nodes.all())
    if (node->clonedFrom == reinterpret_cast<GraphNode *>(original)) {
      *result = handleOf(node);
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue *value) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !value)
    return CUDA_ERROR_INVALID_VALUE;
  node->attributes[attribute] = *value;
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    auto action = std::make_shared<KernelAction>(*static_cast<KernelAction *>(node->action.get()));
    action->cooperative = value->cooperative != 0;
    node->action = std::move(action);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *value) {
  CUDASIM_ENTER(Live);
  GraphNode *node = findNode(driver, handle);
  if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !value)
    return CUDA_ERROR_INVALID_VALUE;
  auto it = node->attributes.find(attribute);
  *value = {};
  if (it != node->attributes.end())
    *value = it->second;
  else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
    value->cooperative = static_cast<KernelAction *>(node->action.get())->cooperative;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  CUDASIM_ENTER(Live);
  GraphNode *a = findNode(driver, to), *b = findNode(driver, from);
  if (!a || !b || a->type != CU_GRAPH_NODE_TYPE_KERNEL || b->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  a->attributes = b->attributes;
  return CUDA_SUCCESS;
}

} // extern "C"
