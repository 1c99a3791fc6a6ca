// The proof of stream-order checking: correct programs over several streams, devices and graphs, in which every event wait,
// every synchronisation and every graph edge is left out in turn. Each omission is reported under every schedule and
// seed; the complete program never is, and its result is right.
#include "SimulatedDriver.h"

#include <numeric>

using namespace graphc::cudasim::test;

namespace {

constexpr int n = 4096;

class WaitMutations;
struct Program {
  const char *name;
  void (WaitMutations::*body)();
  const char *options = "";
};

class WaitMutations : public Simulator, public ::testing::WithParamInterface<Program> {
protected:
  void SetUp() override {}

  int leftOut = -1, next = 0;
  bool failed = false; ///< a call said no
  bool right = true;   ///< the result

  /// Whether the order that follows is kept.
  bool keep() { return next++ != leftOut; }
  void must(CUresult result) { failed |= result != CUDA_SUCCESS; }
  void record(CUevent e, CUstream s) { must(CU(cuEventRecord)(e, s)); }
  void wait(CUstream s, CUevent e) {
    if (keep())
      must(CU(cuStreamWaitEvent)(s, e, 0));
  }
  void hostWait(CUstream s) {
    if (keep())
      must(CU(cuStreamSynchronize)(s));
  }
  void hostWait(CUevent e) {
    if (keep())
      must(CU(cuEventSynchronize)(e));
  }
  template <typename... Args>
  void run(const char *name, CUstream s, Args... args) { must(launch(name, s, n, args...)); }
  void upload(CUdeviceptr to, const int *from, CUstream s) { must(CU(cuMemcpyHtoDAsync_v2)(to, from, n * 4, s)); }
  void download(int *to, CUdeviceptr from, CUstream s) { must(CU(cuMemcpyDtoHAsync_v2)(to, from, n * 4, s)); }
  void expect(const int *values, int each) { right &= std::accumulate(values, values + n, 0) == each * n; }

public:
  void pipeline();
  void fanOut();
  void ring();
  void pooled();
  void captured();
  void edges();
  void values();
  void peers();
  void doubleBuffered();
};

/// Upload, compute and download streams; the second round uses the buffers of the first.
void WaitMutations::pipeline() {
  CUdeviceptr input = alloc(n), output = alloc(n);
  int *in = pinned(n), *out = pinned(n);
  CUstream up = stream(), compute = stream(), down = stream();
  CUevent uploaded = event(), computed = event(), downloaded = event(), consumed = event();
  for (int round = 0; round < 2; ++round) {
    if (round == 1)
      hostWait(uploaded); // the staging buffer is free again
    std::fill(in, in + n, round + 1);
    if (round == 1)
      wait(up, consumed); // the upload may overwrite what the first kernel has read
    upload(input, in, up);
    record(uploaded, up);
    wait(compute, uploaded);
    if (round == 1)
      wait(compute, downloaded); // the kernel may overwrite what was downloaded
    run("copy", compute, output, input, n);
    record(consumed, compute);
    run("add_one", compute, output, n);
    record(computed, compute);
    wait(down, computed);
    download(out, output, down);
    record(downloaded, down);
  }
  hostWait(down);
  expect(out, 3);
}

/// One producer, three readers, then the producer again.
void WaitMutations::fanOut() {
  CUstream s = stream(), readers[3] = {stream(), stream(), stream()};
  CUevent produced = event(), read[3] = {event(), event(), event()};
  CUdeviceptr a = alloc(n), copies[3] = {alloc(n), alloc(n), alloc(n)};
  int *out = pinned(n);
  run("fill", s, a, n, 5);
  record(produced, s);
  for (int i = 0; i < 3; ++i) {
    wait(readers[i], produced);
    run("copy", readers[i], copies[i], a, n);
    record(read[i], readers[i]);
  }
  for (CUevent e : read)
    wait(s, e);
  run("fill", s, a, n, 6);
  for (int i = 0; i < 3; ++i) { // by now s is behind every reader
    download(out, copies[i], s);
    hostWait(s);
    expect(out, 5);
  }
}

/// One buffer goes around three streams.
void WaitMutations::ring() {
  CUstream streams[3] = {stream(), stream(), stream()};
  CUevent passed = event();
  CUdeviceptr a = alloc(n);
  int *out = pinned(n);
  run("fill", streams[2], a, n, 0);
  for (int i = 0; i < 7; ++i) {
    record(passed, streams[(i + 2) % 3]);
    wait(streams[i % 3], passed);
    run("add_one", streams[i % 3], a, n);
  }
  download(out, a, streams[0]);
  hostWait(streams[0]);
  expect(out, 7);
}

/// Stream-ordered memory handed to another stream and back.
void WaitMutations::pooled() {
  CUstream s = stream(), t = stream();
  CUevent filled = event(), copied = event();
  CUdeviceptr kept = alloc(n), temporary = 0;
  int *out = pinned(n);
  must(CU(cuMemAllocAsync)(&temporary, n * 4, s));
  run("fill", s, temporary, n, 3);
  record(filled, s);
  wait(t, filled);
  run("copy", t, kept, temporary, n);
  record(copied, t);
  wait(s, copied);
  must(CU(cuMemFreeAsync)(temporary, s));
  download(out, kept, t);
  hostWait(t);
  expect(out, 3);
}

/// Fork and join inside a capture; the graph is launched twice with a change of its input in between.
void WaitMutations::captured() {
  CUstream s = stream(), t = stream();
  CUevent fork = event(), join = event(), launched = event(), changed = event();
  CUdeviceptr a = alloc(n), b = alloc(n), c = alloc(n);
  int *out = pinned(n);
  must(CU(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  run("add_one", s, a, n);
  record(fork, s);
  wait(t, fork);
  run("copy", t, b, a, n);
  record(join, t);
  run("copy", s, c, a, n);
  wait(s, join);
  run("add_one", s, b, n);
  CUgraph graph = nullptr;
  must(CU(cuStreamEndCapture)(s, &graph));
  CUgraphExec exec = nullptr;
  if (!graph || CU(cuGraphInstantiateWithFlags)(&exec, graph, 0) != CUDA_SUCCESS) {
    failed = true;
    return;
  }
  CUstream u = stream(), v = stream();
  run("fill", u, a, n, 1);
  must(CU(cuGraphLaunch)(exec, u));
  record(launched, u);
  wait(v, launched);
  run("fill", v, a, n, 10);
  record(changed, v);
  wait(u, changed);
  must(CU(cuGraphLaunch)(exec, u));
  download(out, b, u);
  hostWait(u);
  expect(out, 12);
}

/// The same made by hand: every edge left out in turn.
void WaitMutations::edges() {
  CUdeviceptr a = alloc(n), b = alloc(n), c = alloc(n);
  int *out = pinned(n), size = n, first = 4, factor = 3;
  CUgraph graph = nullptr;
  must(CU(cuGraphCreate)(&graph, 0));
  auto node = [&](const char *name, std::vector<void *> params) {
    CUDA_KERNEL_NODE_PARAMS what = {};
    what.func = function(name);
    what.gridDimX = (n + 255) / 256;
    what.blockDimX = 256;
    what.gridDimY = what.gridDimZ = what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = params.data();
    CUgraphNode result = nullptr;
    must(CU(cuGraphAddKernelNode_v2)(&result, graph, nullptr, 0, &what));
    return result;
  };
  auto edge = [&](CUgraphNode from, CUgraphNode to) {
    if (keep())
      must(CU(cuGraphAddDependencies)(graph, &from, &to, 1));
  };
  CUgraphNode fill = node("fill", {&a, &size, &first}), left = node("copy", {&b, &a, &size}), right = node("copy", {&c, &a, &size});
  CUgraphNode scale = node("scale", {&b, &size, &factor}), again = node("copy", {&a, &b, &size}), last = node("add_one", {&a, &size});
  edge(fill, left);
  edge(fill, right);
  edge(left, scale);
  edge(scale, again);
  edge(right, again); // `again` writes what `right` reads
  edge(again, last);
  CUgraphExec exec = nullptr;
  must(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  CUstream s = stream();
  must(CU(cuGraphLaunch)(exec, s));
  download(out, a, s);
  hostWait(s);
  expect(out, 13);
}

/// Order through a value in memory, no events.
void WaitMutations::values() {
  CUstream s = stream(), t = stream();
  CUdeviceptr flag = alloc(1), a = alloc(n), b = alloc(n);
  int *out = pinned(n);
  must(CU(cuMemsetD32_v2)(flag, 0, 1));
  must(CU(cuCtxSynchronize)()); // without this nobody might ever see the flag: a deadlock, reported after its time limit
  run("fill", s, a, n, 8);
  must(CU(cuStreamWriteValue32_v2)(s, flag, 1, 0));
  if (keep())
    must(CU(cuStreamWaitValue32_v2)(t, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
  run("copy", t, b, a, n);
  download(out, b, t);
  hostWait(t);
  expect(out, 8);
}

/// Two devices: the second works on a copy, the result comes back.
void WaitMutations::peers() {
  CUcontext second = nullptr;
  must(CU(cuDevicePrimaryCtxRetain)(&second, 1));
  CUstream s = stream();
  CUdeviceptr a = alloc(n);
  CUevent filled = event(), returned = event();
  must(CU(cuCtxSetCurrent)(second));
  CUmodule secondModule = nullptr;
  must(CU(cuModuleLoadData)(&secondModule, kernelsPtx));
  CUstream t = stream();
  CUdeviceptr b = alloc(n);
  CUevent copied = event();
  CUfunction addOne = nullptr;
  must(CU(cuModuleGetFunction)(&addOne, secondModule, "add_one"));
  must(CU(cuCtxSetCurrent)(context));
  int *out = pinned(n);
  run("fill", s, a, n, 20);
  record(filled, s);
  must(CU(cuCtxSetCurrent)(second));
  wait(t, filled);
  must(CU(cuMemcpyPeerAsync)(b, second, a, context, n * 4, t));
  record(copied, t);
  must(CU(cuCtxSetCurrent)(context));
  wait(s, copied);
  run("fill", s, a, n, 0); // the copy has read it
  must(CU(cuCtxSetCurrent)(second));
  int size = n;
  void *params[] = {&b, &size};
  must(CU(cuLaunchKernel)(addOne, (n + 255) / 256, 1, 1, 256, 1, 1, 0, t, params, nullptr));
  record(copied, t);
  must(CU(cuCtxSetCurrent)(context));
  wait(s, copied);
  must(CU(cuMemcpyPeerAsync)(a, context, b, second, n * 4, s));
  record(returned, s);
  download(out, a, s);
  hostWait(s);
  expect(out, 21);
  must(CU(cuCtxSetCurrent)(second)); // a finding belongs to the context of the later operation
  must(CU(cuCtxSynchronize)());
  must(CU(cuCtxSetCurrent)(context));
}

/// Two halves in flight; every half has its own events, used again in each round.
void WaitMutations::doubleBuffered() {
  CUstream load = stream(), compute = stream();
  CUevent loaded[2] = {event(), event()}, freed[2] = {event(), event()};
  CUdeviceptr half[2] = {alloc(n), alloc(n)}, sum = alloc(n);
  int *source[4] = {pinned(n), pinned(n), pinned(n), pinned(n)}, *out = pinned(n);
  for (int i = 0; i < 4; ++i) {
    std::fill(source[i], source[i] + n, i + 1);
    if (i >= 2)
      wait(load, freed[i % 2]);
    upload(half[i % 2], source[i], load);
    record(loaded[i % 2], load);
    wait(compute, loaded[i % 2]);
    run("copy", compute, sum, half[i % 2], n);
    record(freed[i % 2], compute);
  }
  download(out, sum, compute);
  hostWait(compute);
  expect(out, 4);
}

const Program programs[] = {{"Pipeline", &WaitMutations::pipeline},
                            {"FanOut", &WaitMutations::fanOut},
                            {"Ring", &WaitMutations::ring},
                            {"Pooled", &WaitMutations::pooled},
                            {"Captured", &WaitMutations::captured},
                            {"Edges", &WaitMutations::edges},
                            {"Values", &WaitMutations::values},
                            {"Peers", &WaitMutations::peers, ",devices=2"},
                            {"DoubleBuffered", &WaitMutations::doubleBuffered}};

TEST_P(WaitMutations, EveryOmissionIsReported) {
  const Program &program = GetParam();
  int total = 0;
  for (const char *schedule : {"lazy", "random", "adversarial", "eager"})
    for (int seed = 0; seed < 3; ++seed) {
      std::string options = "schedule=" + std::string(schedule) + ",seed=" + std::to_string(seed) + program.options;
      auto run = [&](int omitted) {
        begin(options);
        leftOut = omitted;
        next = 0;
        failed = false;
        right = true;
        (this->*program.body)();
        must(CU(cuCtxSynchronize)());
      };
      run(-1);
      ASSERT_FALSE(failed) << options << "\n" << allReports();
      ASSERT_EQ(errors(), 0u) << options << "\n" << allReports();
      ASSERT_TRUE(right) << options;
      total = next;
      for (int wait = 0; wait < total; ++wait) {
        run(wait);
        EXPECT_TRUE(failed) << options << ": without wait " << wait << " nothing is reported, the result is " << (right ? "right" : "wrong");
      }
    }
  RecordProperty("omissions", total);
  std::printf("%s: %d omissions\n", program.name, total);
}

INSTANTIATE_TEST_SUITE_P(Programs, WaitMutations, ::testing::ValuesIn(programs), [](const auto &info) { return std::string(info.param.name); });

} // namespace
