// What orders two accesses and what does not: scopes, fences, exits, matrix tiles, asynchronous copies, many readers.
#include "test/unit/cudasim-engine/Engine.h"

namespace graphc::cudasim {
namespace {

class Races : public EngineTest {};

TEST_F(Races, BlockScopeOrdersItsBlockOnly) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void blockAdd(int *p) { atomicAdd_block(p, 1); }
extern "C" __global__ void deviceAdd(int *p) { atomicAdd(p, 1); }
// A hand-over from the first warp to the second, through a flag of block or device scope.
extern "C" __global__ void handOver(int *p, int *flag) {
  if (threadIdx.x == 0) { p[1] = 7; __threadfence_block(); atomicExch_block(flag, 1); }
  if (threadIdx.x == 32) { while (atomicAdd_block(flag, 0) == 0) ; __threadfence_block(); p[2] = p[1]; }
}
extern "C" __global__ void acrossBlocks(int *p, int *flag) {
  if (blockIdx.x == 0 && threadIdx.x == 0) { p[1] = 7; __threadfence(); atomicExch_block(flag, 1); }
  if (blockIdx.x == 1 && threadIdx.x == 0) { while (atomicAdd_block(flag, 0) == 0) ; __threadfence(); p[2] = p[1]; }
}
extern "C" __global__ void blockFence(int *p, int *flag) { // the fence reaches no further than the block
  if (blockIdx.x == 0 && threadIdx.x == 0) { p[1] = 7; __threadfence_block(); atomicExch(flag, 1); }
  if (blockIdx.x == 1 && threadIdx.x == 0) { while (atomicAdd(flag, 0) == 0) ; __threadfence_block(); p[2] = p[1]; }
}
)"))) << bench.log;
  bench.config.checks.globalRaces = true;
  int *p = bench.allocate<int>(8);
  FINDS(bench.run("blockAdd", {4}, {32}, p), GlobalRace);
  CLEAN(bench.run("blockAdd", {1}, {128}, p));
  CLEAN(bench.run("deviceAdd", {4}, {32}, p));
  CLEAN(bench.run("handOver", {1}, {64}, p, bench.allocate<int>(1)));
  FINDS(bench.run("acrossBlocks", {2}, {32}, p, bench.allocate<int>(1)), GlobalRace);
  FINDS(bench.run("blockFence", {2}, {32}, p, bench.allocate<int>(1)), GlobalRace);
}

TEST_F(Races, FencesReleaseAndStrictModeLooksCloser) {
  const char *source = R"(
extern "C" __global__ void signal(int *p, int *flag) {
  if (blockIdx.x == 0 && threadIdx.x == 0) { BEFORE; p[1] = 7; RELEASE; atomicExch(flag, 1); }
  if (blockIdx.x == 1 && threadIdx.x == 0) { while (atomicAdd(flag, 0) == 0) ; ACQUIRE; p[2] = p[1]; }
}
)";
  Bench bench;
  int *p = bench.allocate<int>(8);
  bench.config.checks.globalRaces = true;
  auto run = [&](const char *before, const char *release, const char *acquire, bool strict) {
    bench.config.checks.strictFences = strict;
    std::vector<std::string> options = {std::string("-DBEFORE=") + before, std::string("-DRELEASE=") + release, std::string("-DACQUIRE=") + acquire};
    EXPECT_TRUE(bench.load(ptxOf(source, "compute_80", options))) << bench.log;
    return bench.run("signal", {2}, {32}, p, bench.allocate<int>(1));
  };
  const char *fence = "__threadfence()";
  CLEAN(run("", fence, fence, false));
  CLEAN(run("", fence, fence, true));
  CLEAN(run("", fence, "", false)); // the reader may do without, unless one is strict
  FINDS(run("", fence, "", true), GlobalRace);
  FINDS(run("", "", fence, false), GlobalRace);
  FINDS(run("", "", fence, true), GlobalRace);
  FINDS(run(fence, "", fence, true), GlobalRace); // a fence before the write says nothing about it
}

TEST_F(Races, EveryReaderCounts) {
  // Block 0 reads first and raises no flag; many others read too and do. The writer hears of all but block 0.
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void readers(const int *in, int *p, int *done, int silent) {
  if (blockIdx.x < gridDim.x - 1) {
    if (threadIdx.x == 0) {
      p[8 + blockIdx.x] = in[blockIdx.x] + p[0];
      if (blockIdx.x != silent) { __threadfence(); atomicAdd(done, 1); }
    }
  } else if (threadIdx.x == 0) {
    int waitFor = gridDim.x - 1 - (silent >= 0);
    while (atomicAdd(done, 0) < waitFor) ;
    __threadfence();
    p[0] = silent + 100;
  }
}
)")));
  bench.config.checks.globalRaces = true;
  int *in = bench.allocate<int>(64), *p = bench.allocate<int>(128);
  CLEAN(bench.run("readers", {40}, {32}, in, p, bench.allocate<int>(1), -1));
  for (int silent : {0, 5, 20, 38}) {
    LaunchResult result = bench.run("readers", {40}, {32}, in, p, bench.allocate<int>(1), silent);
    FINDS(result, GlobalRace);
    ASSERT_TRUE(result.findings[0].other.has_value());
    EXPECT_EQ(result.findings[0].other->block.x, uint32_t(silent));
  }
}

TEST_F(Races, ShapesOfGlobalAccesses) {
  // Whole lines, odd offsets, vectors, strides, broadcasts and gathers: each clean alone, each seen when one thread strays.
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
__device__ float ADD(float v) { return v + 1; }
__device__ float4 ADD(float4 v) { v.x += 1; return v; }
__device__ unsigned char ADD(unsigned char v) { return v + 1; }
__device__ unsigned short ADD(unsigned short v) { return v + 1; }
#define KERNEL(NAME, T, INDEX) extern "C" __global__ void NAME(T *p, int stray) { \
  int i = threadIdx.x, b = blockIdx.x; unsigned k = INDEX; \
  if (b == 1 && i == 17 && stray >= 0) k = stray; \
  p[k] = ADD(p[k]); }
KERNEL(lines, float, b * 64 + i)
KERNEL(odd, float, b * 67 + i + 3)
KERNEL(vectors, float4, b * 64 + i)
KERNEL(columns, float, i * 8 + b)
KERNEL(backwards, float, b * 64 + 63 - i)
KERNEL(shuffled, float, b * 64 + (i * 37) % 64)
KERNEL(bytes, unsigned char, b * 64 + i)
KERNEL(halves, unsigned short, b * 64 + i)
extern "C" __global__ void broadcast(float *p, float *q, int stray) { float v = p[0]; q[blockIdx.x * 64 + threadIdx.x] = v; if (blockIdx.x == 1 && threadIdx.x == 9 && stray >= 0) p[0] = v + 1; }
)"))) << bench.log;
  bench.config.checks.globalRaces = true;
  float *p = bench.allocate<float>(4096), *q = bench.allocate<float>(1024);
  for (const char *name : {"lines", "odd", "vectors", "columns", "backwards", "shuffled", "bytes", "halves"}) {
    SCOPED_TRACE(name);
    CLEAN(bench.run(name, {2}, {64}, p, -1));
    LaunchResult result = bench.run(name, {2}, {64}, p, 40);
    if (std::string(name) == "columns") { // 40 is thread 5 of block 0
      FINDS(result, GlobalRace);
      EXPECT_EQ(result.findings[0].other->thread.x, 5u);
    } else {
      FINDS(result, GlobalRace);
    }
  }
  CLEAN(bench.run("broadcast", {2}, {64}, p, q, -1));
  FINDS(bench.run("broadcast", {2}, {64}, p, q, 1), GlobalRace);
}

TEST_F(Races, LanesOfOneWarp) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void neighbours(int *p) { p[threadIdx.x] = threadIdx.x; SYNC; p[64 + threadIdx.x] = p[(threadIdx.x + 1) % 32]; }
)", "compute_80", {"-DSYNC="})));
  bench.config.checks.globalRaces = true;
  int *p = bench.allocate<int>(128);
  FINDS(bench.run("neighbours", {1}, {32}, p), GlobalRace);
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void neighbours(int *p) { p[threadIdx.x] = threadIdx.x; __syncwarp(); p[64 + threadIdx.x] = p[(threadIdx.x + 1) % 32]; }
)")));
  CLEAN(bench.run("neighbours", {1}, {32}, p));
}

TEST_F(Races, AtomicsAfterAPlainWriteOfTheirWarp) {
  // The first lane is ordered after its own write; that must not hide it from the other lanes.
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void global(int *p, int sync) { if (threadIdx.x == 0) p[0] = 5; if (sync) __syncwarp(); atomicAdd(p, 1); }
extern "C" __global__ void shared(int *p, int sync) { __shared__ int s; if (threadIdx.x == 0) s = 5; if (sync) __syncwarp(); atomicAdd(&s, 1); __syncwarp(); p[threadIdx.x] = s; }
)")));
  bench.config.checks.globalRaces = bench.config.checks.sharedRaces = true;
  int *p = bench.allocate<int>(32);
  CLEAN(bench.run("global", {1}, {32}, p, 1));
  FINDS(bench.run("global", {1}, {32}, p, 0), GlobalRace);
  CLEAN(bench.run("shared", {1}, {32}, p, 1));
  FINDS(bench.run("shared", {1}, {32}, p, 0), SharedRace);
}

TEST_F(Races, ThreadsThatLeaveCountAsArrived) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void leave(int *p, int n) {
  __shared__ int s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x >= n) return;
  __syncthreads();
  p[threadIdx.x] = s[127 - threadIdx.x];
}
)")));
  bench.config.checks.sharedRaces = true;
  int *p = bench.allocate<int>(128);
  CLEAN(bench.run("leave", {1}, {128}, p, 64)); // whole warps leave
  LaunchResult result = bench.run("leave", {1}, {128}, p, 50);
  CLEAN(result);
  EXPECT_TRUE(has(result, FindingKind::SyncCheck)) << messages(result);
  EXPECT_EQ(result.findings.size(), 1u);
  EXPECT_FALSE(has(bench.run("leave", {1}, {128}, p, 128), FindingKind::SyncCheck));
}

TEST_F(Races, GlobalFlagsOrderSharedMemory) {
  // A hand-over through global memory inside a block is no shared-memory race, though only shared races are checked.
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void pass(int *flag, int *out) {
  __shared__ int box;
  if (threadIdx.x == 0) { box = 3; __threadfence(); atomicExch(flag + blockIdx.x, 1); }
  if (threadIdx.x == 32) { while (atomicAdd(flag + blockIdx.x, 0) == 0) ; __threadfence(); out[blockIdx.x] = box; }
}
)")));
  bench.config.checks.sharedRaces = true;
  bench.config.hostThreads = 2;
  CLEAN(bench.run("pass", {8}, {64}, bench.allocate<int>(8), bench.allocate<int>(8)));
}

TEST_F(Races, WmmaTilesTouchMemory) {
  const char *source = R"(
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void tile(const half *in, float *out) {
  __shared__ half a[256];
  __shared__ float c[256];
  for (int i = threadIdx.x; i < 256; i += 64) a[i] = in[i];
  SYNC1;
  if (threadIdx.x < 32) {
    fragment<matrix_a, 16, 16, 16, half, row_major> fa; fragment<matrix_b, 16, 16, 16, half, col_major> fb; fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f); load_matrix_sync(fa, a, 16); load_matrix_sync(fb, a, 16); mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
  }
  SYNC2;
  for (int i = threadIdx.x; i < 256; i += 64) out[i] = c[i];
})";
  Bench bench;
  auto *in = bench.allocate<uint16_t>(256);
  auto *out = bench.allocate<float>(256);
  bench.config.checks.sharedRaces = true;
  auto load = [&](const char *first, const char *second) {
    return bench.load(ptxOf(source, "compute_80", {std::string("-DSYNC1=") + first, std::string("-DSYNC2=") + second}));
  };
  ASSERT_TRUE(load("__syncthreads()", "__syncthreads()")) << bench.log;
  CLEAN(bench.run("tile", {1}, {64}, in, out));
  ASSERT_TRUE(load("", "__syncthreads()"));
  FINDS(bench.run("tile", {1}, {64}, in, out), SharedRace);
  ASSERT_TRUE(load("__syncthreads()", ""));
  FINDS(bench.run("tile", {1}, {64}, in, out), SharedRace);
}

TEST_F(Races, SourcesOfAsynchronousCopies) {
  const char *source = R"(
extern "C" __global__ void overwrite(int *in, int *out) {
  __shared__ __align__(16) int s[128];
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;" ::"r"(to), "l"(in + threadIdx.x * 4) : "memory");
  EARLY;
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  LATE;
  out[threadIdx.x] = s[127 - threadIdx.x];
})";
  Bench bench;
  int *in = bench.allocate<int>(128), *out = bench.allocate<int>(32);
  bench.config.checks.globalRaces = true;
  auto load = [&](const char *early, const char *late) {
    return bench.load(ptxOf(source, "compute_80", {std::string("-DEARLY=") + early, std::string("-DLATE=") + late}));
  };
  ASSERT_TRUE(load("", "in[threadIdx.x]=1")) << bench.log;
  CLEAN(bench.run("overwrite", {1}, {32}, in, out));
  ASSERT_TRUE(load("in[threadIdx.x]=1", ""));
  LaunchResult result = bench.run("overwrite", {1}, {32}, in, out);
  EXPECT_TRUE(has(result, FindingKind::PendingAsyncCopy) || has(result, FindingKind::GlobalRace)) << messages(result);
  bench.config.checks.globalRaces = false; // found without the race check, too
  result = bench.run("overwrite", {1}, {32}, in, out);
  FINDS(result, PendingAsyncCopy);
  EXPECT_NE(result.findings[0].message.find("still reading"), std::string::npos) << result.findings[0].message;
  ASSERT_TRUE(load("atomicAdd(in+threadIdx.x,1)", ""));
  FINDS(bench.run("overwrite", {1}, {32}, in, out), PendingAsyncCopy);
  ASSERT_TRUE(load("out[threadIdx.x+0]=1", ""));
  CLEAN(bench.run("overwrite", {1}, {32}, in, out));
}

TEST_F(Races, ManyBlocksDrawTickets) {
  // The chain of knowledge through one counter grows by one block at a time; it must stay cheap.
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
__device__ unsigned ticket;
extern "C" __global__ void lastBlock(int *partial, int *out) {
  __shared__ bool last;
  if (threadIdx.x == 0) { partial[blockIdx.x] = blockIdx.x; __threadfence(); last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1; }
  __syncthreads();
  if (last) { int s = 0; for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) s += partial[i]; atomicAdd(out, s); }
}
)")));
  bench.config.checks.globalRaces = true;
  int *partial = bench.allocate<int>(4096), *out = bench.allocate<int>(1);
  LaunchResult result = bench.run("lastBlock", {4096}, {32}, partial, out);
  CLEAN(result);
  EXPECT_EQ(*out, 4096 * 4095 / 2);
}

} // namespace
} // namespace graphc::cudasim
