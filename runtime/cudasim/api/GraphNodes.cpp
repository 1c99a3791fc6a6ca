#include "runtime/cudasim/api/GraphNodes.h"

namespace graphc::cudasim {

static Graph *findIn(Graph *candidate, Graph *wanted) {
  if (candidate == wanted)
    return candidate;
  for (GraphNode *node : candidate->nodes.all())
    if (node->child)
      if (Graph *found = findIn(node->child.get(), wanted))
        return found;
  return nullptr;
}

Graph *findGraph(Driver &driver, CUgraph handle) {
  if (Graph *graph = driver.graphs.find(handle))
    return graph;
  auto *wanted = reinterpret_cast<Graph *>(handle);
  for (Graph *graph : driver.graphs.all())
    if (Graph *found = findIn(graph, wanted))
      return found;
  for (Capture *capture : driver.captures.all())
    if (capture->graph && findIn(capture->graph, wanted))
      return wanted;
  return nullptr;
}

static GraphNode *findNodeIn(Graph *graph, CUgraphNode handle) {
  if (GraphNode *node = graph->find(handle))
    return node;
  for (GraphNode *node : graph->nodes.all())
    if (node->child)
      if (GraphNode *found = findNodeIn(node->child.get(), handle))
        return found;
  return nullptr;
}

GraphNode *findNode(Driver &driver, CUgraphNode handle) {
  for (Graph *graph : driver.graphs.all())
    if (GraphNode *node = findNodeIn(graph, handle))
      return node;
  for (Capture *capture : driver.captures.all())
    if (capture->graph)
      if (GraphNode *node = findNodeIn(capture->graph, handle))
        return node;
  return nullptr;
}

CUresult addNode(Driver &driver, CUgraphNode *result, CUgraph graphHandle, const CUgraphNode *dependencies,
                 size_t count, CUgraphNodeType type, std::shared_ptr<Action> action, Context *context,
                 GraphNode **made) {
  Graph *graph = findGraph(driver, graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  if (!result || (count && !dependencies))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode *> nodes;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *dependency = graph->find(dependencies[i]);
    if (!dependency || std::find(nodes.begin(), nodes.end(), dependency) != nodes.end())
      return CUDA_ERROR_INVALID_VALUE;
    nodes.push_back(dependency);
  }
  GraphNode *node = graph->add(type, std::move(action), nodes);
  node->context = context;
  *result = handleOf(node);
  if (made)
    *made = node;
  return CUDA_SUCCESS;
}

CUresult kernelFrom(Driver &driver, Context *current, const CUDA_KERNEL_NODE_PARAMS *params,
                    std::shared_ptr<Action> &result, Context *&context) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  context = params->ctx ? driver.contexts.find(params->ctx) : current;
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  CUfunction function = params->func ? params->func : reinterpret_cast<CUfunction>(params->kern);
  if (Function *known = driver.functions.find(function))
    context = known->module->context;
  std::shared_ptr<KernelAction> action;
  CUresult status = makeKernelAction(function, {params->gridDimX, params->gridDimY, params->gridDimZ},
                                     {params->blockDimX, params->blockDimY, params->blockDimZ}, params->sharedMemBytes,
                                     params->kernelParams, params->extra, false, context, action);
  result = std::move(action);
  return status;
}

CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1 &p) {
  CUDA_KERNEL_NODE_PARAMS result = {};
  result.func = p.func;
  result.gridDimX = p.gridDimX;
  result.gridDimY = p.gridDimY;
  result.gridDimZ = p.gridDimZ;
  result.blockDimX = p.blockDimX;
  result.blockDimY = p.blockDimY;
  result.blockDimZ = p.blockDimZ;
  result.sharedMemBytes = p.sharedMemBytes;
  result.kernelParams = p.kernelParams;
  result.extra = p.extra;
  return result;
}

CUresult describeKernel(GraphNode &node, CUDA_KERNEL_NODE_PARAMS &out) {
  auto *action = static_cast<KernelAction *>(node.action.get());
  Driver &driver = Driver::get();
  if (!driver.functions.find(action->function))
    return CUDA_ERROR_INVALID_VALUE;
  node.parameterPointers.clear();
  for (const ParamInfo &param : action->function->info().params)
    node.parameterPointers.push_back(action->params.data() + param.offset);
  out = {};
  out.func = reinterpret_cast<CUfunction>(action->function);
  out.gridDimX = action->grid.x;
  out.gridDimY = action->grid.y;
  out.gridDimZ = action->grid.z;
  out.blockDimX = action->block.x;
  out.blockDimY = action->block.y;
  out.blockDimZ = action->block.z;
  out.sharedMemBytes = action->sharedBytes;
  out.kernelParams = node.parameterPointers.data();
  out.ctx = reinterpret_cast<CUcontext>(node.context);
  return CUDA_SUCCESS;
}

CUresult copyFrom(const CUDA_MEMCPY3D *params, std::shared_ptr<Action> &result) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<CopyAction> action;
  CUresult status = copyFromDescription("graph memcpy node", *params, action);
  result = std::move(action);
  return status;
}

CUresult fillFromNode(const CUDA_MEMSET_NODE_PARAMS *params, std::shared_ptr<Action> &result) {
  if (!params || (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4))
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<FillAction> action;
  CUresult status = fillFrom("graph memset node", params->dst, params->pitch, params->value, params->elementSize,
                             params->width, params->height, action);
  result = std::move(action);
  return status;
}

CUresult hostFrom(const CUDA_HOST_NODE_PARAMS *params, std::shared_ptr<Action> &result) {
  if (!params || !params->fn)
    return CUDA_ERROR_INVALID_VALUE;
  auto action = std::make_shared<HostAction>();
  action->function = params->fn;
  action->data = params->userData;
  result = std::move(action);
  return CUDA_SUCCESS;
}

CUresult actionFrom(Driver &driver, Context *current, CUgraphNodeParams &params, std::shared_ptr<Action> &action,
                    Context *&context) {
  context = current;
  switch (params.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL: {
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    const CUDA_KERNEL_NODE_PARAMS_v3 &given = params.kernel;
    kernel.func = given.func;
    kernel.gridDimX = given.gridDimX;
    kernel.gridDimY = given.gridDimY;
    kernel.gridDimZ = given.gridDimZ;
    kernel.blockDimX = given.blockDimX;
    kernel.blockDimY = given.blockDimY;
    kernel.blockDimZ = given.blockDimZ;
    kernel.sharedMemBytes = given.sharedMemBytes;
    kernel.kernelParams = given.kernelParams;
    kernel.extra = given.extra;
    kernel.kern = given.kern;
    kernel.ctx = given.ctx;
    return kernelFrom(driver, current, &kernel, action, context);
  }
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    if (params.memcpy.copyCtx)
      context = driver.contexts.find(params.memcpy.copyCtx);
    return context ? copyFrom(&params.memcpy.copyParams, action) : CUDA_ERROR_INVALID_CONTEXT;
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = params.memset.dst;
    fill.pitch = params.memset.pitch;
    fill.value = params.memset.value;
    fill.elementSize = params.memset.elementSize;
    fill.width = params.memset.width;
    fill.height = params.memset.height;
    if (params.memset.ctx)
      context = driver.contexts.find(params.memset.ctx);
    return context ? fillFromNode(&fill, action) : CUDA_ERROR_INVALID_CONTEXT;
  }
  case CU_GRAPH_NODE_TYPE_HOST: {
    CUDA_HOST_NODE_PARAMS host = {};
    host.fn = params.host.fn;
    host.userData = params.host.userData;
    return hostFrom(&host, action);
  }
  case CU_GRAPH_NODE_TYPE_EMPTY:
    action = makeMarker("empty node");
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

} // namespace graphc::cudasim
