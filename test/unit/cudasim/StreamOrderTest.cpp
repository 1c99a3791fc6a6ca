// Stream order: five bugs that every GPU programmer writes once are reported under every seed and schedule, their fixed
// versions never are; and the finer rules of streams, events and copies, each with a program that would break one.
#include "SimulatedDriver.h"

#include <atomic>
#include <numeric>
#include <thread>

using namespace graphc::cudasim::test;

namespace {

constexpr int n = 4096;

/// seed and schedule.
class StreamOrder : public Simulator, public ::testing::WithParamInterface<std::tuple<const char *, int>> {
protected:
  void SetUp() override {
    begin(std::string("schedule=") + std::get<0>(GetParam()) + ",seed=" + std::to_string(std::get<1>(GetParam())));
  }
  CUresult finish() { return CU(cuCtxSynchronize)(); }
};

INSTANTIATE_TEST_SUITE_P(Schedules, StreamOrder,
                         ::testing::Combine(::testing::Values("lazy", "random", "adversarial", "eager"),
                                            ::testing::Range(0, 10)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

// -- 1: a consumer in another stream, without waiting for the producer's event

TEST_P(StreamOrder, MissingWaitIsReported) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, n, a, n, 7));
  OK(launch("copy", t, n, b, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_EQ(errors("stream-race"), 1u) << allReports();
  std::string text = allReports();
  EXPECT_NE(text.find("kernel fill"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel copy"), std::string::npos) << text;
  EXPECT_NE(text.find("called from"), std::string::npos) << text;
}

TEST_P(StreamOrder, WaitingForTheEventIsClean) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(launch("fill", s, n, a, n, 7));
  OK(CU(cuEventRecord)(e, s));
  OK(CU(cuStreamWaitEvent)(t, e, 0));
  OK(launch("copy", t, n, b, a, n));
  OK(finish());
  EXPECT_EQ(read(b, n), std::vector<int>(n, 7));
  EXPECT_EQ(errors(), 0u) << allReports();
}

// -- 2: the pinned source of a copy in flight is overwritten

TEST_P(StreamOrder, OverwritingAPinnedSourceIsReported) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  int *staging = pinned(n);
  CUstream s = stream();
  std::fill(staging, staging + n, 1);
  OK(CU(cuMemcpyHtoDAsync_v2)(a, staging, n * 4, s));
  std::fill(staging, staging + n, 2);
  OK(CU(cuMemcpyHtoDAsync_v2)(b, staging, n * 4, s));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamSynchronize)(s));
  EXPECT_EQ(errors("host-race"), 1u) << allReports();
  EXPECT_NE(allReports().find("wrote"), std::string::npos) << allReports();
}

TEST_P(StreamOrder, SynchronisingBeforeOverwritingIsClean) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  int *staging = pinned(n);
  CUstream s = stream();
  std::fill(staging, staging + n, 1);
  OK(CU(cuMemcpyHtoDAsync_v2)(a, staging, n * 4, s));
  EXPECT_EQ(staging[5], 1) << "reading a source in flight is allowed";
  OK(CU(cuStreamSynchronize)(s));
  std::fill(staging, staging + n, 2);
  OK(CU(cuMemcpyHtoDAsync_v2)(b, staging, n * 4, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 1));
  EXPECT_EQ(read(b, n), std::vector<int>(n, 2));
  EXPECT_EQ(errors(), 0u) << allReports();
}

// -- 3: a device buffer is used again in another stream while the first still works on it

TEST_P(StreamOrder, ReusingABufferAcrossStreamsIsReported) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  OK(CU(cuMemsetD32_v2)(a, 1, n));
  OK(CU(cuCtxSynchronize)());
  CUstream s = stream(), t = stream();
  OK(launch("copy", s, n, b, a, n)); // the last reader of a in s
  OK(launch("fill", t, n, a, n, 9)); // a handed to someone else
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_EQ(errors("stream-race"), 1u) << allReports();
}

TEST_P(StreamOrder, ReusingABufferBehindAnEventIsClean) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  OK(CU(cuMemsetD32_v2)(a, 1, n));
  OK(CU(cuCtxSynchronize)());
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(launch("copy", s, n, b, a, n));
  OK(CU(cuEventRecord)(e, s));
  OK(CU(cuStreamWaitEvent)(t, e, 0));
  OK(launch("fill", t, n, a, n, 9));
  OK(finish());
  EXPECT_EQ(read(b, n), std::vector<int>(n, 1));
  EXPECT_EQ(errors(), 0u) << allReports();
}

// -- 4: the event waited for was recorded before the work that matters

TEST_P(StreamOrder, AStaleEventIsReported) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(launch("fill", s, n, a, n, 1));
  OK(CU(cuEventRecord)(e, s));
  OK(launch("add_one", s, n, a, n));
  OK(CU(cuStreamWaitEvent)(t, e, 0)); // should have been recorded again
  OK(launch("copy", t, n, b, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_EQ(errors("stream-race"), 1u) << allReports();
}

TEST_P(StreamOrder, AnEventRecordedAgainIsClean) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(launch("fill", s, n, a, n, 1));
  OK(CU(cuEventRecord)(e, s));
  OK(launch("add_one", s, n, a, n));
  OK(CU(cuEventRecord)(e, s));
  OK(CU(cuStreamWaitEvent)(t, e, 0));
  OK(launch("copy", t, n, b, a, n));
  OK(finish());
  EXPECT_EQ(read(b, n), std::vector<int>(n, 2));
  EXPECT_EQ(errors(), 0u) << allReports();
}

// -- 5: the host looks at a result it never waited for

TEST_P(StreamOrder, ReadingAResultInFlightIsReported) {
  CUdeviceptr a = alloc(n);
  int *result = pinned(n);
  CUstream s = stream();
  OK(launch("fill", s, n, a, n, 5));
  OK(CU(cuMemcpyDtoHAsync_v2)(result, a, n * 4, s));
  volatile int seen = result[100];
  (void)seen;
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamSynchronize)(s));
  EXPECT_EQ(errors("host-race"), 1u) << allReports();
  EXPECT_NE(allReports().find("read"), std::string::npos) << allReports();
}

TEST_P(StreamOrder, SynchronisingBeforeReadingIsClean) {
  CUdeviceptr a = alloc(n);
  int *result = pinned(n);
  CUstream s = stream();
  OK(launch("fill", s, n, a, n, 5));
  OK(CU(cuMemcpyDtoHAsync_v2)(result, a, n * 4, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(std::accumulate(result, result + n, 0), 5 * n);
  EXPECT_EQ(errors(), 0u) << allReports();
}

// ------------------------------------------------------------------------------------------------ the finer rules

TEST_P(StreamOrder, TheLegacyStreamOrdersBlockingStreamsBothWays) {
  CUdeviceptr a = alloc(n), b = alloc(n), c = alloc(n);
  CUstream s = stream(CU_STREAM_DEFAULT), t = stream(CU_STREAM_DEFAULT);
  OK(launch("fill", s, n, a, n, 3));
  OK(launch("copy", nullptr, n, b, a, n));
  OK(launch("copy", t, n, c, b, n));
  OK(finish());
  EXPECT_EQ(read(c, n), std::vector<int>(n, 3));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, TheLegacyStreamDoesNotOrderNonBlockingStreams) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(CU_STREAM_NON_BLOCKING);
  OK(launch("fill", s, n, a, n, 3));
  OK(launch("copy", nullptr, n, b, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_EQ(errors("stream-race"), 1u) << allReports();
}

TEST_P(StreamOrder, BlockingStreamsAreNotOrderedAmongThemselves) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(CU_STREAM_DEFAULT), t = stream(CU_STREAM_DEFAULT);
  OK(launch("fill", s, n, a, n, 3));
  OK(launch("copy", t, n, b, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
}

TEST_P(StreamOrder, APageableCopyOrdersNoNonBlockingStream) {
  // cuMemcpyHtoD of pageable memory returns after staging: the data may still be on its way.
  std::vector<int> values(n, 4);
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(CU(cuMemcpyHtoD_v2)(a, values.data(), n * 4));
  OK(launch("add_one", s, n, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_EQ(errors("stream-race"), 1u) << allReports();
}

TEST_P(StreamOrder, APinnedSynchronousCopyIsOrdered) {
  int *values = pinned(n);
  std::fill(values, values + n, 4);
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(CU(cuMemcpyHtoD_v2)(a, values, n * 4));
  OK(launch("add_one", s, n, a, n));
  OK(finish());
  EXPECT_EQ(read(a, n), std::vector<int>(n, 5));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, DeviceMemsetIsAsynchronous) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(CU(cuMemsetD32_v2)(a, 0, n));
  OK(launch("add_one", s, n, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
}

TEST_P(StreamOrder, PageableSourcesAreReadAtTheCall) {
  std::vector<int> values(n, 4);
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(CU(cuMemcpyHtoDAsync_v2)(a, values.data(), n * 4, s));
  std::fill(values.begin(), values.end(), 9);
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 4));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, AnEventNeverRecordedIsNoWait) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(CU(cuStreamWaitEvent)(t, e, 0));
  OK(launch("fill", s, n, a, n, 1));
  OK(launch("add_one", t, n, a, n));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
}

TEST_P(StreamOrder, AWaitKeepsTheRecordItSaw) {
  // Recording the event again later moves no wait that was queued before.
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  CUevent e = event();
  OK(launch("fill", s, n, a, n, 1));
  OK(CU(cuEventRecord)(e, s));
  OK(CU(cuStreamWaitEvent)(t, e, 0));
  OK(launch("add_one", s, n, b, n));
  OK(CU(cuEventRecord)(e, s));
  OK(launch("copy", t, n, b, a, n)); // races with add_one on b
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
}

TEST_P(StreamOrder, ASuccessfulQueryIsASynchronisation) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, n, a, n, 1));
  CUresult status;
  int asked = 0;
  while ((status = CU(cuStreamQuery)(s)) == CUDA_ERROR_NOT_READY)
    ASSERT_LT(++asked, 100);
  OK(status);
  OK(launch("add_one", t, n, a, n));
  OK(finish());
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, AtomicsDoNotRaceWithEachOther) {
  CUdeviceptr counter = alloc(1);
  OK(CU(cuMemsetD32_v2)(counter, 0, 1));
  OK(CU(cuCtxSynchronize)());
  CUstream s = stream(), t = stream();
  OK(launch("count_up", s, 256, counter));
  OK(launch("count_up", t, 256, counter));
  OK(finish());
  EXPECT_EQ(read(counter, 1)[0], 512);
  EXPECT_EQ(errors(), 0u) << allReports();
  // A plain access does race with them.
  OK(launch("count_up", s, 256, counter));
  OK(launch("fill", t, 1, counter, 1, 0));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
}

TEST_P(StreamOrder, RangesAreExactToTheByte) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, 1001, a, 1001, 1));
  OK(launch("fill", t, n - 1001, a + 1001 * 4, n - 1001, 2));
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(errors(), 0u) << allReports();
  OK(launch("fill", s, 1001, a, 1001, 1));
  OK(launch("fill", t, n - 1000, a + 1000 * 4, n - 1000, 2)); // one element shared
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_NE(allReports().find("4 bytes at"), std::string::npos) << allReports();
}

TEST_P(StreamOrder, FreeWaitsAndFreeAsyncDoesNot) {
  CUdeviceptr a = alloc(n), b = 0;
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, n, a, n, 1));
  OK(CU(cuMemFree_v2)(a)); // waits for the device
  OK(CU(cuMemAllocAsync)(&b, n * 4, s));
  OK(launch("fill", s, n, b, n, 1));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(errors(), 0u) << allReports();
  OK(launch("add_one", t, n, b, n));
  OK(CU(cuMemFreeAsync)(b, s)); // nothing orders it behind t
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_GE(errors(), 1u) << allReports();
}

TEST_P(StreamOrder, UsingAnAsyncAllocationBeforeItsStreamGotThereIsReported) {
  CUdeviceptr b = 0;
  CUstream s = stream(), t = stream();
  OK(CU(cuMemAllocAsync)(&b, n * 4, s));
  OK(launch("fill", t, n, b, n, 1));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_EQ(errors("stream-race"), 1u) << allReports();
}

TEST_P(StreamOrder, HostFunctionsRunInOrderAndMayTouchFinishedBuffers) {
  struct State {
    int *buffer;
    int sum = 0;
  } state{pinned(n)};
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  OK(launch("fill", s, n, a, n, 2));
  OK(CU(cuMemcpyDtoHAsync_v2)(state.buffer, a, n * 4, s));
  OK(CU(cuLaunchHostFunc)(
      s,
      [](void *data) {
        auto *state = static_cast<State *>(data);
        state->sum = std::accumulate(state->buffer, state->buffer + n, 0);
        CUdeviceptr unused;
        EXPECT_CU(CUDA_ERROR_NOT_PERMITTED, CU(cuMemAlloc_v2)(&unused, 4));
        std::fill(state->buffer, state->buffer + n, 8);
      },
      &state));
  OK(CU(cuMemcpyHtoDAsync_v2)(a, state.buffer, n * 4, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(state.sum, 2 * n);
  EXPECT_EQ(read(a, n), std::vector<int>(n, 8));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, ValuesInMemoryOrderStreams) {
  CUdeviceptr flag = alloc(1), a = alloc(n);
  OK(CU(cuMemsetD32_v2)(flag, 0, 1));
  OK(CU(cuCtxSynchronize)());
  CUstream s = stream(), t = stream();
  OK(CU(cuStreamWaitValue32_v2)(t, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
  OK(launch("add_one", t, n, a, n));
  OK(launch("fill", s, n, a, n, 1));
  OK(CU(cuStreamWriteValue32_v2)(s, flag, 1, 0));
  OK(finish());
  EXPECT_EQ(read(a, n), std::vector<int>(n, 2));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, AHostThreadsWorkIsOrderedByTheProgramsOwnMeans) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, n, a, n, 1));
  CUresult status = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    CU(cuCtxSetCurrent)(context);
    status = CU(cuStreamSynchronize)(s);
  }).join();
  OK(status);
  OK(launch("add_one", t, n, a, n));
  OK(finish());
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, APartlySharedPinnedPageIsWatchedByValue) {
  // Two small slots of one pinned buffer: touching the idle one is fine, the one in flight is not.
  CUdeviceptr a = alloc(64);
  int *slots = pinned(2048);
  CUstream s = stream();
  std::fill(slots, slots + 2048, 3);
  OK(CU(cuMemcpyHtoDAsync_v2)(a, slots, 64 * 4, s));
  slots[64] = 5;
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_EQ(errors(), 0u) << allReports();
  OK(CU(cuMemcpyHtoDAsync_v2)(a, slots, 64 * 4, s));
  slots[10] = 6;
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamSynchronize)(s));
  EXPECT_EQ(errors("host-race"), 1u) << allReports();
}

TEST_P(StreamOrder, TheSameSeedGivesTheSameReports) {
  auto program = [&] {
    SetUp();
    CUdeviceptr a = alloc(n), b = alloc(n);
    CUstream s = stream(), t = stream(), u = stream();
    CU(cuMemsetD32Async)(a, 1, n, s);
    launch("copy", t, n, b, a, n);
    launch("add_one", u, n, b, n);
    finish();
    std::string kinds;
    for (const Report &report : reports())
      kinds += report.kind + ":" + report.message.substr(0, report.message.find("called from"));
    return kinds;
  };
  EXPECT_EQ(program(), program());
}

// -------------------------------------------------------------------------------------------------- timing

class StreamTiming : public Simulator {};

TEST_F(StreamTiming, EventsMeasure) {
  CUdeviceptr a = alloc(n);
  CUstream s = stream();
  CUevent start = event(), end = event(), never = event();
  float ms = -1;
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime_v2)(&ms, start, end));
  OK(CU(cuEventRecord)(start, s));
  OK(launch("fill", s, n, a, n, 1));
  OK(CU(cuEventRecord)(end, s));
  EXPECT_CU(CUDA_ERROR_NOT_READY, CU(cuEventElapsedTime_v2)(&ms, start, end));
  OK(CU(cuEventSynchronize)(end));
  OK(CU(cuEventElapsedTime_v2)(&ms, start, end));
  EXPECT_GT(ms, 0);
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime_v2)(&ms, start, never));
  CUevent untimed;
  OK(CU(cuEventCreate)(&untimed, CU_EVENT_DISABLE_TIMING));
  OK(CU(cuEventRecord)(untimed, s));
  OK(CU(cuStreamSynchronize)(s));
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime_v2)(&ms, start, untimed));
}

TEST_F(StreamTiming, ACallbackComesWithoutAnyFurtherCall) {
  // A program may wait for its host function on a condition of its own.
  symbol<int(const char *)>("graphcCudasimConfigure")("idle=50");
  std::atomic<bool> called{false};
  CUstream s = stream();
  OK(CU(cuLaunchHostFunc)(s, [](void *flag) { *static_cast<std::atomic<bool> *>(flag) = true; }, &called));
  for (int i = 0; i < 400 && !called; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(called);
  OK(CU(cuStreamSynchronize)(s));
}

TEST_F(StreamTiming, WaitingForAValueNobodyWritesIsADeadlock) {
  CUdeviceptr flag = alloc(1);
  OK(CU(cuMemsetD32_v2)(flag, 0, 1));
  OK(CU(cuCtxSynchronize)());
  CUstream s = stream();
  OK(CU(cuStreamWaitValue32_v2)(s, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamSynchronize)(s));
  EXPECT_NE(allReports().find("deadlock"), std::string::npos);
}

TEST_F(StreamTiming, ThePerThreadVariantsUseTheirOwnStream) {
  CUdeviceptr a = alloc(n), b = alloc(n);
  int size = n, seven = 7;
  void *fill[] = {&a, &size, &seven};
  OK(CU(cuLaunchKernel_ptsz)(function("fill"), n / 256, 1, 1, 256, 1, 1, 0, nullptr, fill, nullptr));
  OK(CU(cuStreamSynchronize_ptsz)(nullptr));
  EXPECT_EQ(read(a, n), std::vector<int>(n, 7));
  // Another thread's default stream is a different one: without waiting, this races.
  OK(CU(cuLaunchKernel_ptsz)(function("fill"), n / 256, 1, 1, 256, 1, 1, 0, nullptr, fill, nullptr));
  std::thread([&] {
    CU(cuCtxSetCurrent)(context);
    void *copy[] = {&b, &a, &size};
    EXPECT_CU(CUDA_SUCCESS, CU(cuLaunchKernel_ptsz)(function("copy"), n / 256, 1, 1, 256, 1, 1, 0, nullptr, copy, nullptr));
  }).join();
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
}

TEST_F(StreamTiming, TrackingCanBeSwitchedOff) {
  begin("streams=off");
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, n, a, n, 7));
  OK(launch("copy", t, n, b, a, n));
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(errors(), 0u);
}

TEST_F(StreamTiming, LogOnlyGoesOnAndReportsEveryPair) {
  begin("action=log");
  CUdeviceptr a = alloc(n), b = alloc(n);
  CUstream s = stream(), t = stream();
  OK(launch("fill", s, n, a, n, 7));
  OK(launch("copy", t, n, b, a, n));
  OK(launch("add_one", s, n, b, n));
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(errors("stream-race"), 2u) << allReports();
}

} // namespace

// -- parts of a pool in stream order

int annotateIn(CUstream stream, CUdeviceptr at, size_t bytes) {
  return symbol<int(void *, uint64_t, uint64_t, const char *)>("graphcCudasimAnnotateIn")(stream, at, bytes, "part");
}
int unannotateIn(CUstream stream, CUdeviceptr at, size_t bytes) {
  return symbol<int(void *, uint64_t, uint64_t)>("graphcCudasimUnannotateIn")(stream, at, bytes);
}

TEST_P(StreamOrder, PoolPartsFollowTheirStream) {
  CUdeviceptr pool = alloc(4 * n);
  CUstream s = stream();
  // Handed out, used, returned and handed out anew at another size while nothing has run yet.
  ASSERT_EQ(annotateIn(s, pool, n * 4), 0);
  OK(launch("fill", s, n, pool, n, 7));
  ASSERT_EQ(unannotateIn(s, pool, n * 4), 0);
  ASSERT_EQ(annotateIn(s, pool, 2 * n * 4), 0);
  OK(launch("fill", s, 2 * n, pool, 2 * n, 8));
  OK(finish());
  EXPECT_EQ(read(pool, 2 * n), std::vector<int>(2 * n, 8));
  EXPECT_EQ(errors(), 0u) << allReports();
}

TEST_P(StreamOrder, UsingAPartAfterItsReturnIsReported) {
  CUdeviceptr pool = alloc(4 * n);
  CUstream s = stream();
  ASSERT_EQ(annotateIn(s, pool, n * 4), 0);
  ASSERT_EQ(unannotateIn(s, pool, n * 4), 0);
  OK(launch("fill", s, n, pool, n, 7));
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_NE(allReports().find("released part"), std::string::npos) << allReports();
}

TEST_P(StreamOrder, ReturningAPartThatAnotherStreamUsesIsReported) {
  CUdeviceptr pool = alloc(4 * n);
  CUstream s = stream(), t = stream();
  CUevent ready = event();
  ASSERT_EQ(annotateIn(s, pool, n * 4), 0);
  OK(CU(cuEventRecord)(ready, s));
  OK(CU(cuStreamWaitEvent)(t, ready, 0));
  OK(launch("fill", t, n, pool, n, 7));
  ASSERT_EQ(unannotateIn(s, pool, n * 4), 0); // t is not waited for
  EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, finish());
  EXPECT_GE(errors(), 1u) << allReports();
}

TEST_P(StreamOrder, OnlyAnnotatedPartsOfLiveMemoryAreAccepted) {
  CUdeviceptr pool = alloc(n);
  CUstream s = stream();
  EXPECT_EQ(annotateIn(s, pool, n * 4 + 1), 1);
  EXPECT_EQ(annotateIn(s, 4096, 16), 1);
  EXPECT_EQ(annotateIn(reinterpret_cast<CUstream>(&pool), pool, 16), 1);
  EXPECT_EQ(annotateIn(s, pool, n * 4), 0);
}
