// Every check finds its bug, names the place, and is silent on the correct twin of the kernel.
#include "test/unit/cudasim-engine/Engine.h"

namespace graphc::cudasim {
namespace {

class Checks : public EngineTest {};

// -- memory --------------------------------------------------------------------------------------------------------

const char *accesses = R"(
extern "C" __global__ void fill(int *p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = i; }
extern "C" __global__ void misaligned(char *p) { *(int *)(p + 1 + threadIdx.x * 4) = 1; }
extern "C" __global__ void sharedOut(int *p, int n) { __shared__ int a[32]; __shared__ int b[32]; a[threadIdx.x] = b[threadIdx.x] = 1; __syncthreads(); p[threadIdx.x] = a[threadIdx.x + n] + b[threadIdx.x]; }
extern "C" __global__ void localOut(int *p, int n) { volatile int a[8]; for (int i = 0; i < 8; ++i) a[i] = i; p[threadIdx.x] = a[n]; }
__constant__ int table[4];
extern "C" __global__ void constantWrite(int *p, int go) { int *q = go ? (int *)table : p; *q = 3; }
extern "C" __global__ void dynamicOut(int *p, int n) { extern __shared__ int a[]; a[n] = 1; p[0] = a[n]; }
)";

TEST_F(Checks, OutOfBoundsNamesEverything) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(accesses, "compute_80", {"-lineinfo"}))) << bench.log;
  int *p = bench.allocate<int>(100, "weights");
  CLEAN(bench.run("fill", {1}, {128}, p, 100));
  LaunchResult result = bench.run("fill", {1}, {128}, p, 101);
  FINDS(result, OutOfBounds);
  EXPECT_EQ(result.status, LaunchStatus::IllegalAddress);
  const Finding &finding = result.findings[0];
  EXPECT_EQ(finding.address, reinterpret_cast<uint64_t>(p + 100));
  EXPECT_EQ(finding.site.thread.x, 100u);
  EXPECT_EQ(finding.kernel, "fill");
  EXPECT_EQ(finding.site.line, 2u);
  EXPECT_NE(finding.message.find("weights"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("0 bytes past the end"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("kernel.cu:2"), std::string::npos) << finding.message;
  EXPECT_NE(finding.site.instruction.find("st.global"), std::string::npos);
}

TEST_F(Checks, Memory) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(accesses)));
  int *p = bench.allocate<int>(256), *freed = bench.allocate<int>(64);
  FINDS(bench.run("misaligned", {1}, {32}, reinterpret_cast<char *>(p)), Misaligned);
  FINDS(bench.run("fill", {1}, {32}, (int *)nullptr, 32), NullPointer);
  CLEAN(bench.run("fill", {1}, {32}, freed, 64));
  ASSERT_TRUE(bench.memory.free(reinterpret_cast<uint64_t>(freed)));
  FINDS(bench.run("fill", {1}, {32}, freed, 64), UseAfterFree);
  CLEAN(bench.run("sharedOut", {1}, {32}, p, 0));
  FINDS(bench.run("sharedOut", {1}, {32}, p, 1), OutOfBounds); // the red zone between a and b
  FINDS(bench.run("sharedOut", {1}, {32}, p, -1), OutOfBounds);
  FINDS(bench.run("localOut", {1}, {32}, p, 80), OutOfBounds);
  CLEAN(bench.run("constantWrite", {1}, {1}, p, 0));
  FINDS(bench.run("constantWrite", {1}, {1}, p, 1), WriteToConstant);
  bench.config.dynamicSharedBytes = 64;
  CLEAN(bench.run("dynamicOut", {1}, {1}, p, 15));
  FINDS(bench.run("dynamicOut", {1}, {1}, p, 16), OutOfBounds);
}

TEST_F(Checks, SubAllocations) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(accesses)));
  int *arena = bench.allocate<int>(1024, "arena");
  uint64_t base = reinterpret_cast<uint64_t>(arena);
  ASSERT_TRUE(bench.memory.annotate(base, 400, "slot a"));
  ASSERT_TRUE(bench.memory.annotate(base + 512, 400, "slot b"));
  EXPECT_FALSE(bench.memory.annotate(base + 4000, 400, "outside"));
  CLEAN(bench.run("fill", {1}, {128}, arena, 100));
  CLEAN(bench.run("fill", {1}, {128}, arena + 128, 100));
  LaunchResult result = bench.run("fill", {1}, {128}, arena, 101);
  FINDS(result, OutOfBounds);
  EXPECT_NE(result.findings[0].message.find("slot a"), std::string::npos) << result.findings[0].message;
  ASSERT_TRUE(bench.memory.unannotate(base));
  FINDS(bench.run("fill", {1}, {32}, arena, 10), UseAfterFree);
  CLEAN(bench.run("fill", {1}, {128}, arena + 128, 100));
  bench.memory.clearAnnotations(base);
  CLEAN(bench.run("fill", {8}, {128}, arena, 1024));
}

TEST_F(Checks, KeepGoingSkipsOnlyTheOffendingLanes) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(accesses)));
  int *p = bench.allocate<int>(100);
  bench.config.keepGoing = true;
  LaunchResult result = bench.run("fill", {1}, {128}, p, 128);
  EXPECT_EQ(result.status, LaunchStatus::Ok);
  EXPECT_TRUE(has(result, FindingKind::OutOfBounds));
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(p[i], i);
}

// -- barriers and warps --------------------------------------------------------------------------------------------

TEST_F(Checks, Barriers) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void twoPlaces(int *p) {
  if (threadIdx.x < 16) { p[0] = 1; asm volatile("bar.sync 0;" ::: "memory"); p[1] = 2; }
  else { p[2] = 1; asm volatile("bar.sync 0;" ::: "memory"); p[3] = 2; }
}
extern "C" __global__ void differentBarriers(int *p) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1;" ::: "memory"); else asm volatile("bar.sync 2;" ::: "memory");
  p[threadIdx.x] = 1;
}
extern "C" __global__ void tooMany(int *p) { if (threadIdx.x < 32) asm volatile("bar.sync 1, 96;" ::: "memory"); p[threadIdx.x] = 1; }
extern "C" __global__ void partialShuffle(int *p) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffff, v, 1); else { p[threadIdx.x] = 1; v = __shfl_up_sync(0xffffffff, v, 2); }
  p[threadIdx.x] = v;
}
extern "C" __global__ void notInMask(int *p) { if (threadIdx.x < 8) p[threadIdx.x] = __shfl_sync(0x7, threadIdx.x, 1); }
extern "C" __global__ void guardReturn(int *p, int n) { if (threadIdx.x >= n) return; __syncthreads(); p[threadIdx.x] = __shfl_xor_sync(0xffffffff, 5, 1); }
extern "C" __global__ void stop(int *p) { if (p[0] == 0) __trap(); }
extern "C" __global__ void spin(volatile int *p) { while (p[0] == 0) ; p[1] = 1; }
)"))) << bench.log;
  int *p = bench.allocate<int>(256);
  LaunchResult two = bench.run("twoPlaces", {1}, {32}, p);
  FINDS(two, BarrierDivergence);
  ASSERT_TRUE(two.findings[0].other.has_value());
  EXPECT_NE(two.findings[0].other->ptxLine, two.findings[0].site.ptxLine);
  FINDS(bench.run("differentBarriers", {1}, {64}, p), BarrierDivergence);
  FINDS(bench.run("tooMany", {1}, {96}, p), ImpossibleBarrier);
  LaunchResult partial = bench.run("partialShuffle", {1}, {32}, p);
  FINDS(partial, PartialWarpMask);
  EXPECT_TRUE(partial.findings[0].other.has_value());
  FINDS(bench.run("notInMask", {1}, {32}, p), PartialWarpMask);
  CLEAN(bench.run("guardReturn", {1}, {64}, p, 50));
  FINDS(bench.run("stop", {1}, {32}, bench.allocate<int>(1)), Trap);
  bench.config.livelockSteps = 100000;
  LaunchResult live = bench.run("spin", {4}, {64}, bench.allocate<int>(4));
  FINDS(live, Livelock);
  EXPECT_EQ(live.status, LaunchStatus::Timeout);
}

TEST_F(Checks, BlocksThatAreNotResidentCannotHelp) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void waitForLast(volatile int *flag) { if (blockIdx.x == gridDim.x - 1) *flag = 1; else while (*flag == 0) ; }
)")));
  bench.model.multiprocessors = 2;
  bench.config.livelockSteps = 200000;
  uint32_t resident = residentBlocks(bench.module->function(0), bench.model, 32, 0) * 2;
  CLEAN(bench.run("waitForLast", {resident}, {32}, bench.allocate<int>(1)));
  FINDS(bench.run("waitForLast", {resident + 8}, {32}, bench.allocate<int>(1)), Livelock);
  bench.config.cooperative = true;
  EXPECT_EQ(bench.run("waitForLast", {resident + 8}, {32}, bench.allocate<int>(1)).status, LaunchStatus::TooLargeCooperative);
}

TEST_F(Checks, AsyncCopies) {
  Bench bench;
  auto kernel = [](const char *wait, const char *barrier) {
    return std::string(R"(
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ __align__(16) int s[128];
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;" ::"r"(to), "l"(in + threadIdx.x * 4) : "memory");
  )") + wait + barrier + R"(
  out[threadIdx.x] = s[127 - threadIdx.x];
})";
  };
  const char *wait = "asm volatile(\"cp.async.wait_group 0;\" ::: \"memory\");", *barrier = "__syncthreads();";
  int *in = bench.allocate<int>(128), *out = bench.allocate<int>(32);
  ASSERT_TRUE(bench.load(ptxOf(kernel(wait, barrier))));
  bench.config.checks.sharedRaces = true;
  CLEAN(bench.run("k", {1}, {32}, in, out));
  ASSERT_TRUE(bench.load(ptxOf(kernel("", barrier))));
  FINDS(bench.run("k", {1}, {32}, in, out), PendingAsyncCopy);
  ASSERT_TRUE(bench.load(ptxOf(kernel(wait, ""))));
  FINDS(bench.run("k", {1}, {32}, in, out), SharedRace);
}

// -- races ---------------------------------------------------------------------------------------------------------

TEST_F(Checks, SharedRaces) {
  const char *source = R"(
#ifndef SYNC
#define SYNC __syncthreads()
#endif
#ifndef WARP
#define WARP __syncwarp()
#endif
extern "C" __global__ void reverse(int *p) { __shared__ int s[128]; s[threadIdx.x] = p[threadIdx.x]; SYNC; p[threadIdx.x] = s[127 - threadIdx.x]; }
extern "C" __global__ void warpReverse(int *p) { __shared__ int s[32]; s[threadIdx.x] = p[threadIdx.x]; WARP; p[threadIdx.x] = s[31 - threadIdx.x]; }
extern "C" __global__ void reduce(int *p) {
  __shared__ int s[128]; s[threadIdx.x] = p[threadIdx.x]; SYNC;
  for (int d = 64; d; d >>= 1) { if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; SYNC; }
  if (threadIdx.x == 0) p[0] = s[0];
}
extern "C" __global__ void bytes(char *p) { __shared__ char s[64]; s[threadIdx.x] = p[threadIdx.x]; p[threadIdx.x] = s[threadIdx.x]; }
extern "C" __global__ void sameValue(int *p) { __shared__ int s; s = 7; __syncthreads(); p[threadIdx.x] = s; }
extern "C" __global__ void differentValue(int *p) { __shared__ int s; s = threadIdx.x / 32; __syncthreads(); p[threadIdx.x] = s; }
extern "C" __global__ void histogram(int *p) { __shared__ int s[8]; if (threadIdx.x < 8) s[threadIdx.x] = 0; SYNC; atomicAdd(&s[threadIdx.x % 8], 1); SYNC; if (threadIdx.x < 8) p[threadIdx.x] = s[threadIdx.x]; }
extern "C" __global__ void flag(int *p) {
  __shared__ int box; __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) { box = 9; __threadfence_block(); ready = 1; }
  if (threadIdx.x == 64) { while (!ready) ; __threadfence_block(); p[0] = box; }
}
)";
  Bench bench;
  int *p = bench.allocate<int>(256);
  bench.config.checks.sharedRaces = true;
  ASSERT_TRUE(bench.load(ptxOf(source)));
  for (const char *name : {"reverse", "reduce", "sameValue", "histogram", "flag"})
    CLEAN(bench.run(name, {2}, {128}, p));
  CLEAN(bench.run("warpReverse", {1}, {32}, p));
  CLEAN(bench.run("bytes", {1}, {64}, p));
  FINDS(bench.run("differentValue", {1}, {64}, p), SharedRace);
  ASSERT_TRUE(bench.load(ptxOf(source, "compute_80", {"-DSYNC=", "-DWARP="})));
  for (const char *name : {"reverse", "reduce", "histogram"}) {
    LaunchResult result = bench.run(name, {2}, {128}, p);
    FINDS(result, SharedRace);
    EXPECT_TRUE(result.findings[0].other.has_value());
  }
  FINDS(bench.run("warpReverse", {1}, {32}, p), SharedRace); // lockstep hides it; lane clocks do not
}

TEST_F(Checks, GlobalRaces) {
  const char *source = R"(
#define FENCE __threadfence()
__device__ unsigned ticket;
extern "C" __global__ void overlap(int *p) { p[blockIdx.x * 31 + threadIdx.x] = blockIdx.x * 1000 + threadIdx.x; }
extern "C" __global__ void apart(int *p) { p[blockIdx.x * 32 + threadIdx.x] = threadIdx.x; }
extern "C" __global__ void readOther(int *p) { p[blockIdx.x * 32 + threadIdx.x] = p[((blockIdx.x + 1) % gridDim.x) * 32 + threadIdx.x] + 1; }
extern "C" __global__ void lastBlock(int *partial, int *out) {
  __shared__ bool last;
  if (threadIdx.x == 0) partial[blockIdx.x] = blockIdx.x;
  FENCE;
  if (threadIdx.x == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { int s = 0; for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) s += partial[i]; atomicAdd(out, s); }
}
// The classic mistake: other threads' results are not joined before the ticket is drawn.
extern "C" __global__ void forgotBarrier(int *partial, int *out) {
  __shared__ bool last;
  if (threadIdx.x == 63) partial[blockIdx.x] = blockIdx.x;
  __threadfence();
  if (threadIdx.x == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) { int s = 0; for (int i = 0; i < gridDim.x; ++i) s += partial[i]; *out = s; }
}
extern "C" __global__ void noTicket(int *partial, int *out) { partial[blockIdx.x] = blockIdx.x; if (blockIdx.x == gridDim.x - 1) { int s = 0; for (int i = 0; i < gridDim.x; ++i) s += partial[i]; *out = s; } }
)";
  Bench bench;
  int *p = bench.allocate<int>(4096), *out = bench.allocate<int>(4);
  bench.config.checks.globalRaces = true;
  ASSERT_TRUE(bench.load(ptxOf(source)));
  FINDS(bench.run("overlap", {4}, {32}, p), GlobalRace);
  CLEAN(bench.run("apart", {4}, {32}, p));
  FINDS(bench.run("readOther", {4}, {32}, p), GlobalRace);
  CLEAN(bench.run("lastBlock", {32}, {64}, p, out));
  FINDS(bench.run("forgotBarrier", {16}, {64}, p, out), GlobalRace);
  FINDS(bench.run("noTicket", {8}, {32}, p, out), GlobalRace);
}

// -- uninitialised -------------------------------------------------------------------------------------------------

TEST_F(Checks, Uninitialised) {
  Bench bench(true);
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void copy(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void decide(const int *in, int *out) { if (in[threadIdx.x] > 3) out[threadIdx.x] = 1; else out[threadIdx.x * 2] = 5; }
extern "C" __global__ void index(const int *in, int *out) { out[in[threadIdx.x] & 31] = 1; }
extern "C" __global__ void tail(const int4 *in, int4 *out, int n) { int4 v = in[threadIdx.x]; if (threadIdx.x * 4 + 1 >= n) v.y = 0; if (threadIdx.x * 4 + 2 >= n) v.z = 0; if (threadIdx.x * 4 + 3 >= n) v.w = 0; out[threadIdx.x] = v; }
extern "C" __global__ void throughShared(const int *in, int *out) { __shared__ int s[32]; if (threadIdx.x < 16) s[threadIdx.x] = in[threadIdx.x]; __syncthreads(); if (s[threadIdx.x]) out[threadIdx.x] = 1; }
)")));
  int *good = bench.allocate<int>(64), *bad = bench.allocate<int>(64, "fresh", false), *out = bench.allocate<int>(64);
  bench.config.checks.uninitialised = true;
  CLEAN(bench.run("copy", {1}, {32}, good, out));
  CLEAN(bench.run("decide", {1}, {32}, good, out));
  CLEAN(bench.run("index", {1}, {32}, good, out));
  CLEAN(bench.run("copy", {1}, {32}, bad, out)); // copying is no use …
  EXPECT_EQ(bench.memory.firstUndefined(reinterpret_cast<uint64_t>(out), 256), reinterpret_cast<uint64_t>(out)); // … but stays undefined
  bench.memory.markDefined(reinterpret_cast<uint64_t>(out), 256);
  FINDS(bench.run("decide", {1}, {32}, bad, out), Uninitialised);
  FINDS(bench.run("index", {1}, {32}, bad, out), Uninitialised);
  bench.memory.markDefined(reinterpret_cast<uint64_t>(bad), 4);
  CLEAN(bench.run("tail", {1}, {1}, bad, out, 1)); // a vector load past the valid part, masked off
  EXPECT_FALSE(bench.memory.firstUndefined(reinterpret_cast<uint64_t>(out), 16).has_value());
  FINDS(bench.run("throughShared", {1}, {32}, good, out), Uninitialised);
}

// -- the stack of recursion and alloca -----------------------------------------------------------------------------

TEST_F(Checks, Stack) {
  Bench bench(true);
  ASSERT_TRUE(bench.load(ptxOf(R"(
__device__ int *escaped;
__device__ __noinline__ int down(int n) { return n <= 0 ? 1 : down(n - 1) * 3 + n; }
extern "C" __global__ void deep(int *out, int n) { out[threadIdx.x] = down(threadIdx.x == 5 ? n : 2); }
__device__ __noinline__ int *keeper(int n, int *mine) { int own[4] = {n, n, n, n}; return n ? keeper(n - 1, own) : mine; }
extern "C" __global__ void dangling(int *out, int n) { int start[4] = {1, 2, 3, 4}; out[threadIdx.x] = keeper(n, start)[1]; }
__device__ __noinline__ int partly(int n, int x) { int own[8]; if (n > 1) own[n] = x; int r = n ? partly(n - 1, x) : 0; return own[2 + (n & 4)] + r; }
extern "C" __global__ void undefined(int *out, int n) { if (partly(n, n) > 3) out[0] = 1; }
extern "C" __global__ void keeps(const int *in, int *out, int n) { int v = in[threadIdx.x]; int r = down(n); if (v + r > 3) out[0] = 1; }
extern "C" __global__ void big(int *out, int n) {
  unsigned long long place;
  asm volatile("alloca.u64 %0, %1, 16;" : "=l"(place) : "l"((unsigned long long)n) : "memory");
  asm volatile("st.local.u32 [%0], %1;" ::"l"(place), "r"(n) : "memory");
  out[0] = n;
}
extern "C" __global__ void released(int *out, int past) {
  unsigned long long before, place, value = 7;
  asm volatile("stacksave.u64 %0; alloca.u64 %1, 32;" : "=l"(before), "=l"(place) :: "memory");
  if (past) asm volatile("stackrestore.u64 %0;" ::"l"(before) : "memory");
  asm volatile("st.local.u64 [%0+24], %1;" ::"l"(place), "l"(value) : "memory");
}
extern "C" __global__ void restored(int *out, int more) {
  unsigned long long before;
  asm volatile("stacksave.u64 %0;" : "=l"(before) :: "memory");
  asm volatile("stackrestore.u64 %0;" ::"l"(before + more) : "memory");
}
)"))) << bench.log;
  int *out = bench.allocate<int>(64), *in = bench.allocate<int>(64, "fresh", false);
  CLEAN(bench.run("deep", {1}, {32}, out, 8));
  int want = 1;
  for (int i = 1; i <= 8; ++i)
    want = want * 3 + i;
  EXPECT_EQ(out[5], want);
  LaunchResult overflow = bench.run("deep", {1}, {32}, out, 100000);
  FINDS(overflow, StackOverflow);
  EXPECT_EQ(overflow.findings[0].site.thread.x, 5u);
  EXPECT_NE(overflow.findings[0].message.find("CU_LIMIT_STACK_SIZE"), std::string::npos) << overflow.findings[0].message;
  EXPECT_NE(overflow.findings[0].message.find("calls deep"), std::string::npos) << overflow.findings[0].message;
  FINDS(bench.run("deep", {1}, {32}, out, 300), StackOverflow);
  bench.config.stackBytes = 64 << 10;
  CLEAN(bench.run("deep", {1}, {32}, out, 300));
  FINDS(bench.run("dangling", {1}, {32}, out, 1), OutOfBounds); // a variable of a call that has returned
  CLEAN(bench.run("dangling", {1}, {32}, out, 0));
  CLEAN(bench.run("big", {1}, {1}, out, 60000));
  FINDS(bench.run("big", {1}, {1}, out, 70000), StackOverflow);
  CLEAN(bench.run("released", {1}, {1}, out, 0));
  FINDS(bench.run("released", {1}, {1}, out, 1), OutOfBounds);
  CLEAN(bench.run("restored", {1}, {1}, out, 0));
  FINDS(bench.run("restored", {1}, {1}, out, 64), InvalidInstruction);
  // Definedness lives on across calls, and every frame begins undefined.
  bench.config.checks.uninitialised = true;
  CLEAN(bench.run("deep", {1}, {32}, out, 20));
  FINDS(bench.run("undefined", {1}, {1}, out, 6), Uninitialised);
  FINDS(bench.run("keeps", {1}, {32}, in, out, 4), Uninitialised);
  bench.memory.markDefined(reinterpret_cast<uint64_t>(in), 256);
  CLEAN(bench.run("keeps", {1}, {32}, in, out, 4));
}

} // namespace
} // namespace graphc::cudasim
