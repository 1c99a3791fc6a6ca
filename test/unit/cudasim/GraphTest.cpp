// Capture and graphs: replay, what is fixed when, updates, the graph's own edges, and the errors 900 to 908.
#include "SimulatedDriver.h"

#include <numeric>
#include <thread>

using namespace graphc::cudasim::test;

namespace {

constexpr int n = 1024;

class Graphs : public Simulator {
protected:
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_CU(CUDA_SUCCESS, CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    return exec;
  }
  CUgraph endCapture(CUstream s) {
    CUgraph graph = nullptr;
    EXPECT_CU(CUDA_SUCCESS, CU(cuStreamEndCapture)(s, &graph));
    return graph;
  }
  CUresult begin_(CUstream s, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    return CU(cuStreamBeginCapture_v2)(s, mode);
  }
  size_t nodeCount(CUgraph graph) {
    size_t count = 0;
    EXPECT_CU(CUDA_SUCCESS, CU(cuGraphGetNodes)(graph, nullptr, &count));
    return count;
  }
  CUDA_KERNEL_NODE_PARAMS kernel(const char *name, void **params) {
    CUDA_KERNEL_NODE_PARAMS result = {};
    result.func = function(name);
    result.gridDimX = n / 256;
    result.gridDimY = result.gridDimZ = result.blockDimY = result.blockDimZ = 1;
    result.blockDimX = 256;
    result.kernelParams = params;
    return result;
  }
};

TEST_F(Graphs, CaptureRunsNothingAndReplayRunsAll) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(CU(cuMemsetD32Async)(a, 0, n, s));
  OK(CU(cuStreamSynchronize)(s));
  OK(begin_(s));
  int value = 3;
  OK(launch("fill", s, n, a, n, value));
  value = 100; // parameters were taken at capture
  OK(launch("add_one", s, n, a, n));
  CUstreamCaptureStatus status;
  OK(CU(cuStreamIsCapturing)(s, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CUgraph graph = endCapture(s);
  EXPECT_EQ(nodeCount(graph), 2u);
  EXPECT_EQ(read(a, n), std::vector<int>(n, 0));
  CUgraphExec exec = instantiate(graph);
  OK(CU(cuGraphDestroy)(graph));
  for (int i = 0; i < 3; ++i)
    OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 4));
  OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_F(Graphs, HostSourcesAreReadAtReplay) {
  CUdeviceptr a = alloc(n);
  int *source = pinned(n);
  std::fill(source, source + n, 1);
  CUstream s = stream();
  OK(begin_(s));
  OK(CU(cuMemcpyHtoDAsync_v2)(a, source, n * 4, s));
  CUgraphExec exec = instantiate(endCapture(s));
  std::fill(source, source + n, 2);
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 2));
  // While a replay is in flight the source is in use.
  OK(CU(cuGraphLaunch)(exec, s));
  source[3] = 9;
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamSynchronize)(s));
  EXPECT_EQ(errors("host-race"), 1u) << allReports();
}

TEST_F(Graphs, ForkAndJoinThroughEvents) {
  for (int seed = 0; seed < 20; ++seed) {
    begin("schedule=adversarial,seed=" + std::to_string(seed));
    CUdeviceptr a = alloc(n), b = alloc(n);
    CUstream s = stream(), t = stream();
    CUevent fork = event(), join = event();
    OK(begin_(s));
    OK(launch("fill", s, n, a, n, 1));
    OK(CU(cuEventRecord)(fork, s));
    OK(CU(cuStreamWaitEvent)(t, fork, 0));
    OK(launch("copy", t, n, b, a, n));
    OK(launch("add_one", t, n, b, n));
    OK(CU(cuEventRecord)(join, t));
    OK(CU(cuStreamWaitEvent)(s, join, 0));
    OK(launch("copy", s, n, a, b, n));
    CUgraph graph = endCapture(s);
    EXPECT_EQ(nodeCount(graph), 4u);
    CUgraphExec exec = instantiate(graph);
    OK(CU(cuGraphLaunch)(exec, s));
    OK(CU(cuGraphLaunch)(exec, t)); // launches of one executable graph are ordered, across streams too
    OK(CU(cuCtxSynchronize)());
    EXPECT_EQ(read(a, n), std::vector<int>(n, 2));
    EXPECT_EQ(errors(), 0u) << allReports();
  }
}

TEST_F(Graphs, AMissingEdgeInsideAGraphIsReported) {
  for (int seed = 0; seed < 20; ++seed) {
    begin("schedule=random,seed=" + std::to_string(seed));
    CUdeviceptr a = alloc(n), b = alloc(n);
    int size = n, one = 1;
    void *fill[] = {&a, &size, &one}, *copy[] = {&b, &a, &size};
    CUgraph graph = nullptr;
    OK(CU(cuGraphCreate)(&graph, 0));
    CUgraphNode first, second;
    CUDA_KERNEL_NODE_PARAMS params = kernel("fill", fill);
    OK(CU(cuGraphAddKernelNode_v2)(&first, graph, nullptr, 0, &params));
    params = kernel("copy", copy);
    OK(CU(cuGraphAddKernelNode_v2)(&second, graph, nullptr, 0, &params));
    CUstream s = stream();
    CUgraphExec exec = instantiate(graph);
    OK(CU(cuGraphLaunch)(exec, s));
    EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamSynchronize)(s));
    EXPECT_EQ(errors("stream-race"), 1u) << allReports();
    // With the edge it is clean.
    begin("schedule=random,seed=" + std::to_string(seed));
    a = alloc(n);
    b = alloc(n);
    OK(CU(cuGraphCreate)(&graph, 0));
    params = kernel("fill", fill);
    OK(CU(cuGraphAddKernelNode_v2)(&first, graph, nullptr, 0, &params));
    params = kernel("copy", copy);
    OK(CU(cuGraphAddKernelNode_v2)(&second, graph, nullptr, 0, &params));
    OK(CU(cuGraphAddDependencies_v2)(graph, &first, &second, nullptr, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuGraphAddDependencies_v2)(graph, &first, &second, nullptr, 1));
    s = stream();
    exec = instantiate(graph);
    OK(CU(cuGraphLaunch)(exec, s));
    OK(CU(cuStreamSynchronize)(s));
    EXPECT_EQ(read(b, n), std::vector<int>(n, 1));
    EXPECT_EQ(errors(), 0u) << allReports();
  }
}

TEST_F(Graphs, NodesOfEveryKindAndTheirGetters) {
  CUdeviceptr a = alloc(n);
  std::vector<int> source(n), result(n);
  std::iota(source.begin(), source.end(), 0);
  CUgraph graph = nullptr;
  OK(CU(cuGraphCreate)(&graph, 0));
  CUgraphNode set, in, kernelNode, out, host, empty;
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = a;
  fill.value = 5;
  fill.elementSize = 4;
  fill.width = n;
  fill.height = 1;
  OK(CU(cuGraphAddMemsetNode)(&set, graph, nullptr, 0, &fill, context));
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source.data();
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = a;
  copy.WidthInBytes = n * 2;
  copy.Height = copy.Depth = 1;
  OK(CU(cuGraphAddMemcpyNode)(&in, graph, &set, 1, &copy, context));
  int size = n;
  void *add[] = {&a, &size};
  CUDA_KERNEL_NODE_PARAMS params = kernel("add_one", add);
  OK(CU(cuGraphAddKernelNode_v2)(&kernelNode, graph, &in, 1, &params));
  copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = a;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = result.data();
  copy.WidthInBytes = n * 4;
  copy.Height = copy.Depth = 1;
  OK(CU(cuGraphAddMemcpyNode)(&out, graph, &kernelNode, 1, &copy, context));
  int calls = 0;
  CUDA_HOST_NODE_PARAMS callback = {};
  callback.fn = [](void *count) { ++*static_cast<int *>(count); };
  callback.userData = &calls;
  OK(CU(cuGraphAddHostNode)(&host, graph, &out, 1, &callback));
  OK(CU(cuGraphAddEmptyNode)(&empty, graph, &host, 1));

  CUgraphNodeType type;
  OK(CU(cuGraphNodeGetType)(kernelNode, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS back = {};
  OK(CU(cuGraphKernelNodeGetParams_v2)(kernelNode, &back));
  EXPECT_EQ(back.gridDimX, unsigned(n / 256));
  EXPECT_EQ(*static_cast<CUdeviceptr *>(back.kernelParams[0]), a);
  size_t count = 0;
  OK(CU(cuGraphGetRootNodes)(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  OK(CU(cuGraphGetEdges_v2)(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 5u);
  count = 1;
  CUgraphNode dependency;
  OK(CU(cuGraphNodeGetDependencies_v2)(out, &dependency, nullptr, &count));
  EXPECT_EQ(dependency, kernelNode);

  CUgraph clone = nullptr;
  OK(CU(cuGraphClone)(&clone, graph));
  CUgraphNode inClone;
  OK(CU(cuGraphNodeFindInClone)(&inClone, set, clone));
  fill.value = 50;
  OK(CU(cuGraphMemsetNodeSetParams)(inClone, &fill));

  CUstream s = stream();
  CUgraphExec exec = instantiate(graph);
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result[10], 11);
  EXPECT_EQ(result[n - 1], 6);
  CUgraphExec second = instantiate(clone);
  OK(CU(cuGraphLaunch)(second, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(result[n - 1], 51);
  OK(CU(cuGraphDestroyNode)(empty));
  EXPECT_EQ(nodeCount(graph), 5u);
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_F(Graphs, ExecutableGraphsTakeNewParameters) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream();
  OK(begin_(s));
  OK(launch("fill", s, n, a, n, 1));
  CUgraph graph = endCapture(s);
  CUgraphExec exec = instantiate(graph);
  size_t one = 1;
  CUgraphNode node;
  OK(CU(cuGraphGetNodes)(graph, &node, &one));
  OK(CU(cuGraphLaunch)(exec, s)); // still queued when the parameters change: it keeps the old ones
  int size = n, two = 2;
  void *fill[] = {&b, &size, &two};
  CUDA_KERNEL_NODE_PARAMS params = kernel("fill", fill);
  OK(CU(cuGraphExecKernelNodeSetParams_v2)(exec, node, &params));
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 1));
  EXPECT_EQ(read(b, n), std::vector<int>(n, 2));

  // A whole update: same shape, new parameters.
  OK(begin_(s));
  OK(launch("fill", s, n, a, n, 30));
  CUgraph next = endCapture(s);
  CUgraphExecUpdateResultInfo info;
  OK(CU(cuGraphExecUpdate_v2)(exec, next, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 30));
  OK(begin_(s));
  OK(launch("fill", s, n, a, n, 30));
  OK(launch("add_one", s, n, a, n));
  CUgraph longer = endCapture(s);
  EXPECT_CU(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, CU(cuGraphExecUpdate_v2)(exec, longer, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);

  OK(CU(cuGraphNodeSetEnabled)(exec, node, 0));
  OK(CU(cuMemsetD32Async)(a, 0, n, s));
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 0));
}

TEST_F(Graphs, ChildGraphsAndLaunchesInsideCaptures) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(begin_(s));
  OK(launch("add_one", s, n, a, n));
  CUgraph inner = endCapture(s);
  CUgraphExec innerExec = instantiate(inner);
  OK(begin_(s));
  OK(launch("fill", s, n, a, n, 10));
  OK(CU(cuGraphLaunch)(innerExec, s));
  OK(launch("scale", s, n, a, n, 2));
  CUgraph outer = endCapture(s);
  EXPECT_EQ(nodeCount(outer), 3u);
  CUgraphNode child, second;
  OK(CU(cuGraphAddChildGraphNode)(&child, outer, nullptr, 0, inner));
  CUgraph view = nullptr;
  OK(CU(cuGraphChildGraphNodeGetGraph)(child, &view));
  EXPECT_EQ(nodeCount(view), 1u);
  // Order the added child behind the rest.
  std::vector<CUgraphNode> nodes(4);
  size_t count = 4;
  OK(CU(cuGraphGetNodes)(outer, nodes.data(), &count));
  second = nodes[2];
  OK(CU(cuGraphAddDependencies_v2)(outer, &second, &child, nullptr, 1));
  CUgraphExec exec = instantiate(outer);
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 23));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_F(Graphs, ACycleCannotBeInstantiated) {
  CUgraph graph = nullptr;
  OK(CU(cuGraphCreate)(&graph, 0));
  CUgraphNode x, y;
  OK(CU(cuGraphAddEmptyNode)(&x, graph, nullptr, 0));
  OK(CU(cuGraphAddEmptyNode)(&y, graph, &x, 1));
  OK(CU(cuGraphAddDependencies_v2)(graph, &y, &x, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
}

TEST_F(Graphs, GraphOwnedMemory) {
  CUdeviceptr temporary = 0, result = alloc(n);
  CUstream s = stream();
  OK(begin_(s));
  OK(CU(cuMemAllocAsync)(&temporary, n * 4, s));
  OK(launch("fill", s, n, temporary, n, 6));
  OK(launch("copy", s, n, result, temporary, n));
  OK(CU(cuMemFreeAsync)(temporary, s));
  CUgraphExec exec = instantiate(endCapture(s));
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuGraphLaunch)(exec, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(result, n), std::vector<int>(n, 6));
  EXPECT_EQ(errors(), 0u) << allReports();
}

// ------------------------------------------------------------------------------------------------ errors of capture

TEST_F(Graphs, Error900SynchronisingOrAllocatingInACapture) {
  CUstream s = stream();
  CUgraph graph = nullptr;
  OK(begin_(s));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuStreamSynchronize)(s));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch("trap_now", s, 1)); // 901 from then on
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
  EXPECT_EQ(graph, nullptr);
  OK(begin_(s));
  CUdeviceptr pointer = 0;
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuMemAlloc_v2)(&pointer, 64));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
  // A relaxed capture allows it, and so does a thread that asked for it.
  OK(begin_(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(CU(cuMemAlloc_v2)(&pointer, 64));
  OK(CU(cuStreamEndCapture)(s, &graph));
  OK(begin_(s));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  OK(CU(cuMemAlloc_v2)(&pointer, 64));
  OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  OK(CU(cuStreamEndCapture)(s, &graph));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, begin_(nullptr)) << "the legacy stream cannot be captured";
  OK(begin_(s));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuCtxSynchronize)());
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
}

TEST_F(Graphs, Error902MergingTwoCaptures) {
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(begin_(s));
  OK(begin_(t));
  OK(CU(cuEventRecord)(e, s));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_MERGE, CU(cuStreamWaitEvent)(t, e, 0));
  CUgraph graph;
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(t, &graph));
}

TEST_F(Graphs, Errors903And904UnmatchedAndUnjoined) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  CUgraph graph;
  auto fork = [&] {
    OK(begin_(s));
    OK(CU(cuEventRecord)(e, s));
    OK(CU(cuStreamWaitEvent)(t, e, 0));
    OK(launch("fill", t, n, a, n, 1));
  };
  fork();
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, CU(cuStreamEndCapture)(t, &graph));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
  fork();
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CU(cuStreamEndCapture)(s, &graph));
  EXPECT_CU(CUDA_ERROR_ILLEGAL_STATE, CU(cuStreamEndCapture)(s, &graph)) << "no capture is left";
  OK(launch("fill", t, n, a, n, 1));
  OK(CU(cuStreamSynchronize)(t));
}

TEST_F(Graphs, Error905WaitingForUncapturedWork) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  CUgraph graph;
  OK(launch("fill", t, n, a, n, 1));
  OK(CU(cuEventRecord)(e, t));
  OK(begin_(s));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CU(cuStreamWaitEvent)(s, e, 0));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
}

TEST_F(Graphs, Error906TheLegacyStreamDuringACapture) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(CU_STREAM_DEFAULT), t = stream(CU_STREAM_NON_BLOCKING);
  CUgraph graph;
  OK(begin_(s));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, launch("fill", nullptr, n, a, n, 1));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
  OK(begin_(t)); // a non-blocking stream has nothing to do with the legacy one
  OK(launch("fill", nullptr, n, a, n, 1));
  OK(CU(cuStreamEndCapture)(t, &graph));
}

TEST_F(Graphs, Error907QueryingACapturedEvent) {
  CUstream s = stream();
  CUevent e = event();
  CUgraph graph;
  OK(begin_(s));
  OK(CU(cuEventRecord)(e, s));
  EXPECT_CU(CUDA_ERROR_CAPTURED_EVENT, CU(cuEventSynchronize)(e));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(s, &graph));
}

TEST_F(Graphs, Error908EndingInAnotherThread) {
  CUstream s = stream();
  CUgraph graph;
  CUresult status = CUDA_SUCCESS;
  auto elsewhere = [&] {
    std::thread([&] {
      CU(cuCtxSetCurrent)(context);
      status = CU(cuStreamEndCapture)(s, &graph);
    }).join();
    return status;
  };
  OK(begin_(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, elsewhere());
  OK(CU(cuStreamEndCapture)(s, &graph));
  OK(begin_(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CU(CUDA_SUCCESS, elsewhere());
}

TEST_F(Graphs, CaptureInfoAndSetDependencies) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream();
  OK(begin_(s));
  OK(launch("fill", s, n, a, n, 1));
  CUstreamCaptureStatus status;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode *dependencies = nullptr;
  size_t count = 0;
  OK(CU(cuStreamGetCaptureInfo_v3)(s, &status, &id, &graph, &dependencies, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(nodeCount(graph), 1u);
  OK(CU(cuStreamUpdateCaptureDependencies_v2)(s, nullptr, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  OK(launch("fill", s, n, b, n, 1)); // a second root
  CUgraph ended = endCapture(s);
  OK(CU(cuGraphGetRootNodes)(ended, nullptr, &count));
  EXPECT_EQ(count, 2u);
}

} // namespace
