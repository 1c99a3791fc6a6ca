// Executable graphs: instantiation, launch, new parameters, whole updates; and the user objects graphs keep alive.
#include "runtime/cudasim/api/GraphNodes.h"

using namespace graphc::cudasim;

namespace {

/// The node of the executable graph that stands for a node of its source graph, if the types agree.
GraphExec::Node *execNode(Driver &driver, CUgraphExec execHandle, CUgraphNode node, CUgraphNodeType type) {
  GraphExec *exec = driver.graphExecs.find(execHandle);
  if (!exec)
    return nullptr;
  auto it = exec->byOrigin.find(reinterpret_cast<GraphNode *>(node));
  return it == exec->byOrigin.end() || exec->nodes[it->second].type != type ? nullptr : &exec->nodes[it->second];
}

} // namespace

extern "C" {

// ------------------------------------------------------------------------------------------------ executable graphs

CUresult cuGraphInstantiateWithFlags(CUgraphExec *result, CUgraph handle, unsigned long long flags) {
  CUDASIM_ENTER(Live);
  Graph *graph = findGraph(driver, handle);
  if (!graph || !result)
    return CUDA_ERROR_INVALID_VALUE;
  if (flags & ~(unsigned long long)(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                    CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))
    return CUDA_ERROR_NOT_SUPPORTED;
  GraphExec *exec = instantiate(driver, *graph, context, flags);
  if (!exec)
    return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *result, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult status = cuGraphInstantiateWithFlags(result, graph, params->flags);
  params->hErrNode_out = nullptr;
  params->result_out = status ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return status;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *result, CUgraph graph, CUgraphNode *errorNode, char *log, size_t size) {
  if (errorNode)
    *errorNode = nullptr;
  if (log && size)
    *log = 0;
  return cuGraphInstantiateWithFlags(result, graph, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *result, CUgraph graph, CUgraphNode *errorNode, char *log, size_t size) {
  return cuGraphInstantiate_v2(result, graph, errorNode, log, size);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags) {
  CUDASIM_ENTER(Init);
  GraphExec *exec = driver.graphExecs.find(handle);
  if (!exec || !flags)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  CUDASIM_ENTER(Init);
  GraphExec *exec = driver.graphExecs.find(handle);
  if (!exec)
    return CUDA_ERROR_INVALID_VALUE;
  destroyExec(driver, exec);
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  CUDASIM_ENTER(Live);
  if (!driver.graphExecs.find(handle))
    return CUDA_ERROR_INVALID_VALUE;
  return driver.stream(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  CUDASIM_ENTER(Live);
  GraphExec *exec = driver.graphExecs.find(handle);
  if (!exec)
    return CUDA_ERROR_INVALID_VALUE;
  Stream *stream = driver.stream(streamHandle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  return launchExec(driver, *exec, *stream);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  GraphExec::Node *node = execNode(driver, exec, handle, CU_GRAPH_NODE_TYPE_KERNEL);
  if (!node)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Action> action;
  Context *owner = nullptr;
  if (CUresult bad = kernelFrom(driver, node->context, params, action, owner))
    return bad;
  if (owner != node->context)
    return CUDA_ERROR_INVALID_VALUE;
  static_cast<KernelAction *>(action.get())->cooperative = static_cast<KernelAction *>(node->action.get())->cooperative;
  node->action = std::move(action); // launches already queued keep theirs
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS wide = widen(*params);
  return cuGraphExecKernelNodeSetParams_v2(exec, node, &wide);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode handle, const CUDA_MEMCPY3D *params, CUcontext) {
  CUDASIM_ENTER(Live);
  GraphExec::Node *node = execNode(driver, exec, handle, CU_GRAPH_NODE_TYPE_MEMCPY);
  std::shared_ptr<Action> action;
  if (!node)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = copyFrom(params, action))
    return bad;
  node->action = std::move(action);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS *params,
                                        CUcontext) {
  CUDASIM_ENTER(Live);
  GraphExec::Node *node = execNode(driver, exec, handle, CU_GRAPH_NODE_TYPE_MEMSET);
  std::shared_ptr<Action> action;
  if (!node)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = fillFromNode(params, action))
    return bad;
  node->action = std::move(action);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode handle, const CUDA_HOST_NODE_PARAMS *params) {
  CUDASIM_ENTER(Live);
  GraphExec::Node *node = execNode(driver, exec, handle, CU_GRAPH_NODE_TYPE_HOST);
  return node ? hostFrom(params, node->action) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode handle, CUevent eventHandle) {
  CUDASIM_ENTER(Live);
  GraphExec::Node *node = execNode(driver, exec, handle, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  Event *event = driver.events.find(eventHandle);
  if (!node || !event)
    return CUDA_ERROR_INVALID_VALUE;
  node->event = event;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode handle, CUevent eventHandle) {
  CUDASIM_ENTER(Live);
  GraphExec::Node *node = execNode(driver, exec, handle, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  Event *event = driver.events.find(eventHandle);
  if (!node || !event)
    return CUDA_ERROR_INVALID_VALUE;
  node->event = event;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode handle, CUgraphNodeParams *params) {
  CUDASIM_ENTER(Live);
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  GraphExec::Node *node = execNode(driver, exec, handle, params->type);
  if (!node)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Action> action;
  Context *owner = nullptr;
  if (CUresult bad = actionFrom(driver, node->context, *params, action, owner))
    return bad;
  node->action = std::move(action);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec execHandle, CUgraphNode handle, unsigned enabled) {
  CUDASIM_ENTER(Live);
  GraphExec *exec = driver.graphExecs.find(execHandle);
  if (!exec)
    return CUDA_ERROR_INVALID_VALUE;
  auto it = exec->byOrigin.find(reinterpret_cast<GraphNode *>(handle));
  if (it == exec->byOrigin.end())
    return CUDA_ERROR_INVALID_VALUE;
  GraphExec::Node &node = exec->nodes[it->second];
  if (node.type != CU_GRAPH_NODE_TYPE_KERNEL && node.type != CU_GRAPH_NODE_TYPE_MEMCPY &&
      node.type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  node.enabled = enabled != 0;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec execHandle, CUgraphNode handle, unsigned *enabled) {
  CUDASIM_ENTER(Live);
  GraphExec *exec = driver.graphExecs.find(execHandle);
  if (!exec || !enabled)
    return CUDA_ERROR_INVALID_VALUE;
  auto it = exec->byOrigin.find(reinterpret_cast<GraphNode *>(handle));
  if (it == exec->byOrigin.end())
    return CUDA_ERROR_INVALID_VALUE;
  *enabled = exec->nodes[it->second].enabled;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec execHandle, CUgraph handle, CUgraphExecUpdateResultInfo *info) {
  CUDASIM_ENTER(Live);
  GraphExec *exec = driver.graphExecs.find(execHandle);
  Graph *graph = findGraph(driver, handle);
  if (!exec || !graph || !info)
    return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  auto refuse = [&](CUgraphExecUpdateResult why, const GraphNode *node) {
    info->result = why;
    info->errorNode = handleOf(const_cast<GraphNode *>(node));
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  std::vector<GraphExec::Node> next;
  if (!flattenGraph(*graph, next))
    return refuse(CU_GRAPH_EXEC_UPDATE_ERROR, nullptr);
  if (next.size() != exec->nodes.size())
    return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i].type != exec->nodes[i].type)
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, next[i].origin);
    if (next[i].dependencies != exec->nodes[i].dependencies)
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, next[i].origin);
    if (next[i].context != exec->nodes[i].context)
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, next[i].origin);
  }
  for (size_t i = 0; i < next.size(); ++i) {
    exec->nodes[i].action = next[i].action;
    exec->nodes[i].event = next[i].event;
  }
  info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *errorNode, CUgraphExecUpdateResult *result) {
  CUgraphExecUpdateResultInfo info = {};
  CUresult status = cuGraphExecUpdate_v2(exec, graph, &info);
  if (errorNode)
    *errorNode = info.errorNode;
  if (result)
    *result = info.result;
  return status;
}

// ------------------------------------------------------------------------------------------------ user objects

CUresult cuUserObjectCreate(CUuserObject *result, void *pointer, CUhostFn destroy, unsigned references, unsigned flags) {
  CUDASIM_ENTER(Init);
  if (!result || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<CUuserObject>(new UserObject{pointer, destroy, references});
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  CUDASIM_ENTER(Init);
  if (!handle || !count)
    return CUDA_ERROR_INVALID_VALUE;
  reinterpret_cast<UserObject *>(handle)->references += count;
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  CUDASIM_ENTER(Init);
  auto *object = reinterpret_cast<UserObject *>(handle);
  if (!object || !count || count > object->references)
    return CUDA_ERROR_INVALID_VALUE;
  if ((object->references -= count) == 0) {
    Unlocked unlocked(driver);
    object->destroy(object->pointer);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject objectHandle, unsigned count, unsigned flags) {
  CUDASIM_ENTER(Init);
  Graph *graph = driver.graphs.find(handle);
  auto *object = reinterpret_cast<UserObject *>(objectHandle);
  if (!graph || !object || !count || (flags & ~unsigned(CU_GRAPH_USER_OBJECT_MOVE)))
    return CUDA_ERROR_INVALID_VALUE;
  if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
    object->references += count;
  graph->userObjects[object] += count;
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject objectHandle, unsigned count) {
  CUDASIM_ENTER(Init);
  Graph *graph = driver.graphs.find(handle);
  auto *object = reinterpret_cast<UserObject *>(objectHandle);
  if (!graph || !object || !count || graph->userObjects[object] < count)
    return CUDA_ERROR_INVALID_VALUE;
  if ((graph->userObjects[object] -= count) == 0)
    graph->userObjects.erase(object);
  if ((object->references -= count) == 0) {
    Unlocked unlocked(driver);
    object->destroy(object->pointer);
  }
  return CUDA_SUCCESS;
}

} // extern "C"
