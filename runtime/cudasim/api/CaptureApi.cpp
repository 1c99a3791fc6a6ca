// Stream capture: what is allowed while it runs, and how it ends. Errors 900 to 908.
#include "runtime/cudasim/api/Actions.h"

#include <algorithm>
#include <set>

using namespace graphc::cudasim;

namespace graphc::cudasim {

void Driver::invalidate(Capture &capture) { capture.invalidated = true; }

CUresult Driver::refuseInCapture() {
  ThreadState &state = threadState();
  if (captures.all().empty() || state.captureMode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_SUCCESS;
  bool refused = false;
  for (Capture *capture : captures.all()) {
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
      continue;
    bool own = capture->thread == std::this_thread::get_id();
    // A global capture objects to any thread's call, unless that thread asked to be judged by its own captures only.
    if (own ||
        (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && state.captureMode == CU_STREAM_CAPTURE_MODE_GLOBAL)) {
      invalidate(*capture);
      refused = true;
    }
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult Driver::refuseLegacyInCapture(Stream &stream) {
  if (stream.kind != Stream::Kind::Legacy)
    return CUDA_SUCCESS;
  bool refused = false;
  for (Stream *other : stream.context->streams)
    if (other->capture && other->blocking()) {
      invalidate(*other->capture);
      refused = true;
    }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

GraphNode *Driver::captureNode(Stream &stream, std::shared_ptr<Action> action) {
  Capture &capture = *stream.capture;
  auto type = CUgraphNodeType(action->nodeType());
  auto &frontier = capture.frontier[&stream];
  GraphNode *node = capture.graph->add(type, std::move(action), frontier);
  node->context = stream.context;
  frontier.assign(1, node);
  return node;
}

CUresult Driver::submit(Stream &stream, std::shared_ptr<Action> action, OperationRef *queued) {
  if (stream.capture) {
    if (stream.capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    captureNode(stream, std::move(action));
    return CUDA_SUCCESS;
  }
  if (CUresult refusal = refuseLegacyInCapture(stream))
    return refusal;
  OperationRef operation = enqueue(stream, std::move(action));
  if (queued)
    *queued = std::move(operation);
  return CUDA_SUCCESS;
}

static void endCapture(Driver &driver, Capture *capture) {
  for (Stream *stream : driver.streams.all())
    if (stream->capture == capture)
      stream->capture = nullptr;
  for (Event *event : driver.events.all())
    if (event->capture == capture) {
      event->capture = nullptr;
      event->captured.clear();
    }
  driver.captures.erase(capture);
}

void Driver::destroyCaptures(Context *context) {
  for (Capture *capture : std::vector<Capture *>(captures.all()))
    if (!capture->origin || capture->origin->context == context)
      endCapture(*this, capture);
}

static CUresult beginCapture(Driver &driver, CUstream handle, CUstreamCaptureMode mode, Graph *into,
                             const std::vector<GraphNode *> &dependencies) {
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->kind == Stream::Kind::Legacy)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) {
    driver.invalidate(*stream->capture);
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  auto capture = std::make_unique<Capture>();
  capture->id = driver.nextId++;
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  if (!into) {
    capture->owned = std::make_unique<Graph>();
    into = capture->owned.get();
  }
  capture->graph = into;
  capture->frontier[stream] = dependencies;
  stream->capture = driver.captures.add(std::move(capture));
  return CUDA_SUCCESS;
}

/// Whether every node is among, or before, the nodes of `ends`.
static bool joined(const std::vector<GraphNode *> &nodes, const std::vector<GraphNode *> &ends) {
  std::set<GraphNode *> before;
  std::vector<GraphNode *> stack = ends;
  while (!stack.empty()) {
    GraphNode *node = stack.back();
    stack.pop_back();
    if (before.insert(node).second)
      stack.insert(stack.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return std::all_of(nodes.begin(), nodes.end(), [&](GraphNode *node) { return before.count(node); });
}

static CUresult captureInfo(Driver &driver, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                            CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges,
                            size_t *count) {
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  Capture *capture = stream->capture;
  *status = !capture              ? CU_STREAM_CAPTURE_STATUS_NONE
            : capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (!capture || capture->invalidated)
    return CUDA_SUCCESS;
  auto &frontier = capture->frontier[stream];
  if (id)
    *id = capture->id;
  if (graph)
    *graph = reinterpret_cast<CUgraph>(capture->graph);
  if (dependencies)
    *dependencies = reinterpret_cast<const CUgraphNode *>(frontier.data());
  if (edges)
    *edges = nullptr;
  if (count)
    *count = frontier.size();
  return CUDA_SUCCESS;
}

} // namespace graphc::cudasim

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  CUDASIM_ENTER(Live);
  return beginCapture(driver, stream, mode, nullptr, {});
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graphHandle, const CUgraphNode *dependencies,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode) {
  CUDASIM_ENTER(Live);
  Graph *graph = driver.graphs.find(graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  if ((count && !dependencies) || edges)
    return edges ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode *> nodes;
  for (size_t i = 0; i < count; ++i) {
    nodes.push_back(graph->find(dependencies[i]));
    if (!nodes.back())
      return CUDA_ERROR_INVALID_VALUE;
  }
  return beginCapture(driver, stream, mode, graph, nodes);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *result) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  *result = nullptr;
  Capture *capture = stream->capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  if (capture->origin != stream) {
    driver.invalidate(*capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult status = CUDA_SUCCESS;
  if (capture->invalidated)
    status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else
    for (auto &[other, frontier] : capture->frontier)
      if (other != stream && !joined(frontier, capture->frontier[stream]))
        status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!status)
    *result = reinterpret_cast<CUgraph>(capture->owned ? driver.graphs.add(std::move(capture->owned)) : capture->graph);
  endCapture(driver, capture);
  return status;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  CUDASIM_ENTER(Context);
  return captureInfo(driver, handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count) {
  CUDASIM_ENTER(Context);
  return captureInfo(driver, stream, status, id, graph, dependencies, edges, count);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies, size_t *count) {
  CUDASIM_ENTER(Context);
  return captureInfo(driver, stream, status, id, graph, dependencies, nullptr, count);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id) {
  CUDASIM_ENTER(Context);
  return captureInfo(driver, stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes, const CUgraphEdgeData *edges,
                                              size_t count, unsigned flags) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!stream->capture || stream->capture->invalidated)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (edges)
    return CUDA_ERROR_NOT_SUPPORTED;
  if ((count && !nodes) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode *> given;
  for (size_t i = 0; i < count; ++i) {
    given.push_back(stream->capture->graph->find(nodes[i]));
    if (!given.back())
      return CUDA_ERROR_INVALID_VALUE;
  }
  auto &frontier = stream->capture->frontier[stream];
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    frontier.clear();
  for (GraphNode *node : given)
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end())
      frontier.push_back(node);
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  CUDASIM_ENTER(Init);
  if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  std::swap(threadState().captureMode, *mode);
  return CUDA_SUCCESS;
}

} // extern "C"
