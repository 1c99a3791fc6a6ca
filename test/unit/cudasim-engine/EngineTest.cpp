// The engine's parts: loading, memory, access sets, launches, determinism, handler levels, foreign PTX.
#include "test/unit/cudasim-engine/Engine.h"
#include "tools/bench/cudasim/Kernels.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

namespace graphc::cudasim {
namespace {

class Engine : public EngineTest {};

// -- loading -------------------------------------------------------------------------------------------------------

const char *head = ".version 8.0\n.target sm_80\n.address_size 64\n";

TEST(Loading, ErrorsNameTheLine) {
  Bench bench;
  struct {
    const char *text;
    Module::Failure failure;
    const char *message;
  } cases[] = {
      {".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { add.u32 %r1; }", Module::Failure::None, nullptr},
      {".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n  mov.u32 %r1 %r2;\n}", Module::Failure::InvalidPtx, "line 5"},
      {".version 8.0\n.target sm_80\n.address_size 64\n.bogus\n", Module::Failure::InvalidPtx, "line 4"},
      {".version 9.9\n.target sm_80\n.address_size 64\n", Module::Failure::UnsupportedVersion, "9.9"},
      {".version 8.0\n.target sm_90\n.address_size 64\n", Module::Failure::UnsupportedTarget, "sm_90"},
      {".version 8.0\n.target sm_90a\n.address_size 64\n", Module::Failure::UnsupportedTarget, "sm_90a"},
      {"\x7f" "ELF....", Module::Failure::NotPtx, "cubin"},
      {"hello", Module::Failure::InvalidPtx, "line 1"},
      {"", Module::Failure::InvalidPtx, ".version"},
  };
  for (auto &c : cases) {
    Module::Failure failure;
    auto module = Module::load(c.text, bench.model, bench.memory, bench.log, &failure);
    EXPECT_EQ(failure, c.failure) << c.text << "\n" << bench.log;
    if (c.message)
      EXPECT_NE(bench.log.find(c.message), std::string::npos) << bench.log;
  }
  DeviceModel hopper = *DeviceModel::named("H200");
  EXPECT_TRUE(Module::load(".version 9.4\n.target sm_90a\n.address_size 64\n", hopper, bench.memory, bench.log)) << bench.log;
}

TEST(Loading, OnlyTheFunctionWithTheUnknownInstructionIsRefused) {
  Bench bench;
  ASSERT_TRUE(bench.load(std::string(head) + R"(
.visible .entry good() { ret; }
.visible .entry bad() {
  .reg .b64 %rd<3>;
  wgmma.fence.sync.aligned;
  ret;
}
.visible .entry modifier() {
  .reg .f32 %f<3>;
  add.frobnicate.f32 %f1, %f2, %f2;
  ret;
})")) << bench.log;
  EXPECT_EQ(bench.run("good", {1}, {1}).status, LaunchStatus::Ok);
  LaunchResult bad = bench.run("bad", {1}, {1});
  EXPECT_EQ(bad.status, LaunchStatus::Refused);
  EXPECT_NE(bad.error.find("wgmma.fence"), std::string::npos) << bad.error;
  EXPECT_NE(bad.error.find("line 8"), std::string::npos) << bad.error;
  LaunchResult modifier = bench.run("modifier", {1}, {1});
  EXPECT_EQ(modifier.status, LaunchStatus::Refused);
  EXPECT_NE(modifier.error.find("frobnicate"), std::string::npos) << modifier.error;
}

TEST(Loading, InlineAssemblyScopes) {
  Bench bench;
  ASSERT_TRUE(bench.load(std::string(head) + R"(
.visible .entry k(.param .u64 .ptr .global .align 4 k_param_0) {
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [k_param_0];
  mov.u32 %r1, 0; mov.u32 %r2, 3;
  { .reg .pred P1; .reg .b32 %r1x; LAB: add.u32 %r1, %r1, 1; setp.lt.u32 P1, %r1, %r2; @P1 bra LAB; }
  { .reg .pred P1; LAB: add.u32 %r1, %r1, 10; setp.lt.u32 P1, %r1, 40; @P1 bra LAB; bra DONE; DONE: }
  st.global.u32 [%rd1], %r1;
  ret;
})")) << bench.log;
  int *p = bench.allocate<int>(1);
  CLEAN(bench.run("k", {1}, {1}, p));
  EXPECT_EQ(p[0], 43);
}

TEST(Loading, IndexedBranches) {
  Bench bench;
  ASSERT_TRUE(bench.load(std::string(head) + R"(
.visible .entry k(.param .u64 k_param_0) {
  .reg .b64 %rd<4>; .reg .b32 %r<5>;
  ld.param.u64 %rd1, [k_param_0];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 3;
  ts: .branchtargets A, B, C, A;
  brx.idx %r2, ts;
A: mov.u32 %r3, 100; bra DONE;
B: mov.u32 %r3, 200; bra DONE;
C: mov.u32 %r3, 300;
DONE:
  mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})")) << bench.log;
  int *p = bench.allocate<int>(32);
  CLEAN(bench.run("k", {1}, {32}, p));
  for (int i = 0; i < 32; ++i)
    ASSERT_EQ(p[i], i % 4 == 1 ? 200 : i % 4 == 2 ? 300 : 100);
}

TEST_F(Engine, FunctionsAndGlobalsAreDescribed) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
__constant__ float c[10]; __device__ double g = 2.5;
extern "C" __global__ void __launch_bounds__(256, 2) k(int a, double b, char c2, float *p) { __shared__ float s[100]; s[threadIdx.x % 100] = a + b + c2 + c[threadIdx.x % 10] + g; __syncthreads(); *p = s[3]; }
)")));
  const FunctionInfo &info = bench.module->function(0);
  EXPECT_EQ(info.name, "k");
  ASSERT_EQ(info.params.size(), 4u);
  EXPECT_EQ(info.params[1].offset, 8u);
  EXPECT_EQ(info.params[2].offset, 16u);
  EXPECT_EQ(info.params[3].offset, 24u);
  EXPECT_EQ(info.paramBytes, 32u);
  EXPECT_EQ(info.staticSharedBytes, 400u);
  EXPECT_EQ(info.maxThreadsPerBlock, 256u);
  EXPECT_EQ(info.minBlocksPerMultiprocessor, 2u);
  const GlobalInfo *g = bench.module->findGlobal("g");
  ASSERT_NE(g, nullptr);
  EXPECT_EQ(*reinterpret_cast<double *>(g->address), 2.5);
  EXPECT_TRUE(bench.module->findGlobal("c")->constant);
  EXPECT_EQ(bench.module->findGlobal("c")->size, 40u);
}

// -- memory and access sets ----------------------------------------------------------------------------------------

TEST(Memory, AddressesAreNeverReused) {
  MemorySpace memory(0, 1 << 30);
  std::set<uint64_t> seen;
  for (int i = 0; i < 2000; ++i) {
    uint64_t a = memory.allocate(1000 + i);
    ASSERT_NE(a, 0u);
    ASSERT_EQ(a % 256, 0u);
    ASSERT_TRUE(seen.insert(a).second);
    ASSERT_TRUE(memory.free(a));
    ASSERT_FALSE(memory.free(a));
  }
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_EQ(memory.allocate(2u << 30), 0u) << "more than the capacity";
  uint64_t a = memory.allocate(100, 256, AllocationKind::Device, "a"), b = memory.allocate(100);
  EXPECT_GE(b - a, 4096u);
  EXPECT_EQ(memory.find(a + 99)->label, "a");
  EXPECT_FALSE(memory.find(a + 100).has_value());
  memory.free(a);
  EXPECT_FALSE(memory.find(a).has_value());
  EXPECT_NE(memory.describe(a + 4).find("freed"), std::string::npos);
  EXPECT_EQ(memory.liveAllocations().size(), 1u);
}

TEST(Memory, Peers) {
  MemorySpace one(0, 1 << 20), two(1, 1 << 20);
  uint64_t a = two.allocate(64);
  EXPECT_EQ(one.accessible(a).hi, 0u);
  one.enablePeer(two);
  EXPECT_EQ(one.accessible(a).hi, a + 64);
  one.disablePeer(two);
  EXPECT_EQ(one.accessible(a).hi, 0u);
}

TEST(AccessSets, AgreeWithASetOfBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    AccessSet sets[2];
    std::vector<char> bytes[2] = {std::vector<char>(40000), std::vector<char>(40000)};
    for (int s = 0; s < 2; ++s)
      for (int i = 0; i < 6; ++i) {
        uint64_t lo = random() % 39000, hi = lo + 1 + random() % (i % 2 ? 900 : 9000);
        hi = std::min<uint64_t>(hi, 40000);
        bool remove = random() % 4 == 0;
        remove ? sets[s].subtract(lo, hi) : sets[s].add(lo, hi);
        std::fill(bytes[s].begin() + lo, bytes[s].begin() + hi, !remove);
      }
    for (int s = 0; s < 2; ++s) {
      std::vector<char> seen(40000);
      uint64_t last = 0;
      sets[s].forEach([&](uint64_t lo, uint64_t hi) {
        ASSERT_LT(lo, hi);
        ASSERT_TRUE(last == 0 || lo > last) << "runs are maximal";
        last = hi;
        std::fill(seen.begin() + lo, seen.begin() + hi, 1);
      });
      ASSERT_EQ(seen, bytes[s]);
      ASSERT_EQ(sets[s].bytes(), uint64_t(std::count(seen.begin(), seen.end(), 1)));
    }
    uint64_t first = 40000;
    for (uint64_t i = 0; i < 40000 && first == 40000; ++i)
      if (bytes[0][i] && bytes[1][i])
        first = i;
    auto overlap = sets[0].firstOverlap(sets[1]);
    ASSERT_EQ(overlap.has_value(), first != 40000);
    if (overlap)
      ASSERT_EQ(overlap->first, first);
    sets[0].merge(sets[1]);
    uint64_t both = 0;
    for (int i = 0; i < 40000; ++i)
      both += bytes[0][i] || bytes[1][i];
    ASSERT_EQ(sets[0].bytes(), both);
  }
}

TEST_F(Engine, AccessesAreTrackedToTheByte) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void k(const unsigned char *in, int *out, int *counter, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { out[i * 3] = in[i]; atomicAdd(counter, 1); } }
)")));
  auto *in = bench.allocate<unsigned char>(10000);
  int *out = bench.allocate<int>(3000), *counter = bench.allocate<int>(8);
  bench.config.trackAccesses = true;
  LaunchResult result = bench.run("k", {8}, {128}, in, out, counter, 777);
  CLEAN(result);
  uint64_t a = reinterpret_cast<uint64_t>(in), b = reinterpret_cast<uint64_t>(out), c = reinterpret_cast<uint64_t>(counter);
  EXPECT_EQ(result.reads.bytes(), 777u);
  EXPECT_TRUE(result.reads.contains(a + 776));
  EXPECT_FALSE(result.reads.contains(a + 777));
  EXPECT_EQ(result.writes.bytes(), 777u * 4);
  EXPECT_TRUE(result.writes.contains(b + 12 * 776 + 3));
  EXPECT_FALSE(result.writes.contains(b + 12 * 776 + 4));
  EXPECT_EQ(result.atomics.bytes(), 4u);
  EXPECT_TRUE(result.atomics.contains(c));
  EXPECT_EQ(counter[0], 777);
}

// -- launches ------------------------------------------------------------------------------------------------------

/// Whatever picture the addresses of a warp make, and however often it changes: the right values, and the right bytes noted.
void readsAndWritesEveryPicture() {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
template <class T> __device__ __forceinline__ void through(const T *in, T *out, const int *table, int rounds) {
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) { int j = table[k * 64 + threadIdx.x]; if (j >= 0) out[k * 64 + threadIdx.x] = in[j]; }
}
template <class T> __device__ __forceinline__ void scatter(const T *in, T *out, const int *table, int rounds) {
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) { int j = table[k * 64 + threadIdx.x]; if (j >= 0) out[j] = in[j]; }
}
template <class T> __device__ __forceinline__ void shared(const T *in, T *out, const int *table, int rounds) {
  __shared__ T s[256];
  for (int i = threadIdx.x; i < 256; i += 64) s[i] = in[i];
  __syncthreads();
  through(s, out, table, rounds);
}
struct __align__(16) Four { int a, b, c, d; };
struct __align__(8) Two { int a, b; };
#define KERNELS(name, T) \
  extern "C" __global__ void name##_through(const T *in, T *out, const int *table, int rounds) { through(in, out, table, rounds); } \
  extern "C" __global__ void name##_scatter(const T *in, T *out, const int *table, int rounds) { scatter(in, out, table, rounds); } \
  extern "C" __global__ void name##_shared(const T *in, T *out, const int *table, int rounds) { shared(in, out, table, rounds); }
KERNELS(char, signed char) KERNELS(short, short) KERNELS(int, int) KERNELS(long, long long) KERNELS(two, Two) KERNELS(four, Four)
)"))) << bench.log;
  const int rounds = 120, warp = 32;
  std::mt19937 random(3);
  std::vector<int> table(rounds * 64);
  for (int half = 0; half < rounds * 2; ++half) {
    int *lanes = table.data() + half * warp, base = int(random() % 100), which = half % 40 < 25 ? int(half / 40 % 8) : int(random() % 10);
    for (int i = 0; i < warp; ++i)
      switch (which) {
      case 0: lanes[i] = base + i; break;
      case 1: lanes[i] = base; break;
      case 2: lanes[i] = base + i / 8 * 3; break;         // eight lanes at one place
      case 3: lanes[i] = base + i % 8 * 2; break;         // every eight lanes alike
      case 4: lanes[i] = base + 62 - 2 * i; break;
      case 5: lanes[i] = base + i / 4 * 16 + i % 4; break; // pieces of rows
      case 6: lanes[i] = i % 3 ? base + i : -1; break;     // some lanes only
      case 7: lanes[i] = base + (i ^ 5); break;
      case 8: lanes[i] = i < 8 ? base + i : i < 16 ? base : base + i % 8; break;
      default: lanes[i] = int(random() % 256); break;
      }
    for (int i = 0; i < warp; ++i)
      lanes[i] = std::min(lanes[i], 255);
  }
  int *deviceTable = bench.allocate<int>(table.size());
  std::copy(table.begin(), table.end(), deviceTable);
  bench.config.trackAccesses = true;
  for (auto [name, bytes] : {std::pair<std::string, int>{"char", 1}, {"short", 2}, {"int", 4}, {"long", 8}, {"two", 8}, {"four", 16}})
    for (std::string how : {"through", "scatter", "shared"}) {
      SCOPED_TRACE(name + " " + how);
      auto *in = bench.allocate<unsigned char>(size_t(256) * bytes), *out = bench.allocate<unsigned char>(table.size() * bytes);
      for (int i = 0; i < 256 * bytes; ++i)
        in[i] = static_cast<unsigned char>(random());
      LaunchResult result = bench.run((name + "_" + how).c_str(), {1}, {64}, in, out, deviceTable, rounds);
      CLEAN(result);
      std::vector<unsigned char> want(table.size() * bytes);
      std::vector<bool> read(256), written(table.size());
      for (size_t i = 0; i < table.size(); ++i) {
        if (table[i] < 0)
          continue;
        size_t to = how == "scatter" ? size_t(table[i]) : i;
        std::memcpy(want.data() + to * bytes, in + table[i] * bytes, size_t(bytes));
        read[table[i]] = written[to] = true;
      }
      ASSERT_EQ(std::memcmp(out, want.data(), want.size()), 0);
      if (how == "shared")
        read.assign(256, true);
      for (int i = 0; i < 256 * bytes; ++i)
        ASSERT_EQ(result.reads.contains(reinterpret_cast<uint64_t>(in) + i), read[i / bytes]) << i;
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(result.writes.contains(reinterpret_cast<uint64_t>(out) + i), written[i / bytes]) << i;
    }
}

TEST_F(Engine, EveryPictureOfAddresses) {
  std::string best = handlerLevel();
  for (const char *level : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    if (!setHandlerLevel(level))
      continue;
    SCOPED_TRACE(level);
    readsAndWritesEveryPicture();
  }
  setHandlerLevel(best);
}

TEST_F(Engine, ConfigurationsAreChecked) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf("extern \"C\" __global__ void __launch_bounds__(64) k(int *p) { __shared__ int s[64]; s[threadIdx.x] = 1; __syncthreads(); p[threadIdx.x] = s[63 - threadIdx.x]; }")));
  int *p = bench.allocate<int>(64);
  EXPECT_EQ(bench.run("k", {1}, {64}, p).status, LaunchStatus::Ok);
  EXPECT_EQ(bench.run("k", {1}, {65}, p).status, LaunchStatus::InvalidConfiguration);
  EXPECT_EQ(bench.run("k", {0}, {64}, p).status, LaunchStatus::InvalidConfiguration);
  EXPECT_EQ(bench.run("k", {1, 70000}, {64}, p).status, LaunchStatus::InvalidConfiguration);
  EXPECT_EQ(bench.run("k", {1}, {64}).status, LaunchStatus::InvalidConfiguration);
  bench.config.dynamicSharedBytes = 200 << 10;
  EXPECT_EQ(bench.run("k", {1}, {64}, p).status, LaunchStatus::InvalidConfiguration);
}

TEST_F(Engine, PrintfAndAssert) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void say(int *p) { if (threadIdx.x < 2) printf("%d %s %.3f %5u|%-4d|%llx %c %%\n", -(int)threadIdx.x, "word", 1.5, 42u, 7, 1ull << 40, 'z'); *p = printf("plain\n"); }
extern "C" __global__ void must(int *p) { assert(p[0] == 1); }
)"))) << bench.log;
  int *p = bench.allocate<int>(1);
  LaunchResult result = bench.run("say", {1}, {2}, p);
  CLEAN(result);
  EXPECT_EQ(result.printfText, "0 word 1.500    42|7   |10000000000 z %\n-1 word 1.500    42|7   |10000000000 z %\nplain\nplain\n");
  LaunchResult failed = bench.run("must", {1}, {1}, p);
  EXPECT_EQ(failed.status, LaunchStatus::Asserted);
  EXPECT_NE(failed.findings[0].message.find("assertion `p[0] == 1` failed"), std::string::npos) << failed.findings[0].message;
}

TEST_F(Engine, SeedsThreadsAndLevelsAgree) {
  std::string best = handlerLevel();
  std::vector<float> reference;
  for (const char *level : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    if (!setHandlerLevel(level))
      continue;
    Bench bench;
    ASSERT_TRUE(bench.load(ptxOf(benchmarkKernels))) << bench.log;
    const int n = 64, rows = 40;
    float *in = bench.allocate<float>(rows * n), *out = bench.allocate<float>(rows * n), *a = bench.allocate<float>(n * n), *b = bench.allocate<float>(n * n), *c = bench.allocate<float>(n * n);
    for (int i = 0; i < rows * n; ++i)
      in[i] = std::sin(float(i));
    for (int i = 0; i < n * n; ++i)
      a[i] = std::sin(float(i)), b[i] = std::cos(float(i) * 2);
    for (unsigned threads : {1u, 3u})
      for (uint64_t seed : {0u, 1u, 99u}) {
        bench.config.hostThreads = threads;
        bench.config.seed = seed;
        bench.config.checks.sharedRaces = seed == 99;
        CLEAN(bench.run("softmax", {rows}, {64}, in, out, n));
        CLEAN(bench.run("sgemm64", {1, 1}, {16, 16}, a, b, c, n, n, n));
        std::vector<float> all(out, out + rows * n);
        all.insert(all.end(), c, c + n * n);
        if (reference.empty())
          reference = all;
        for (size_t i = 0; i < all.size(); ++i)
          ASSERT_EQ(all[i], reference[i]) << level << " threads " << threads << " seed " << seed << " element " << i;
      }
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int i = 0; i < n; ++i)
        sum += std::exp(double(in[r * n + i]));
      for (int i = 0; i < n; ++i)
        ASSERT_NEAR(out[r * n + i], std::exp(double(in[r * n + i])) / sum, 1e-7);
    }
  }
  setHandlerLevel(best);
}

TEST_F(Engine, Counters) {
  Bench bench;
  ASSERT_TRUE(bench.load(ptxOf(R"(
extern "C" __global__ void coalesced(const float *a, float *b) { int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i]; }
extern "C" __global__ void strided(const float *a, float *b) { int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i * 8]; }
extern "C" __global__ void banks(float *b, int stride) { __shared__ float s[32 * 32]; s[threadIdx.x * stride] = 1; __syncthreads(); b[threadIdx.x] = s[threadIdx.x * stride]; }
extern "C" __global__ void diverge(int *p) { if (threadIdx.x % 2) p[threadIdx.x] = p[threadIdx.x] * 3 / 7; }
)")));
  float *a = bench.allocate<float>(1 << 14), *b = bench.allocate<float>(1 << 14);
  bench.config.collectCounters = bench.config.trackAccesses = true;
  Counters c = bench.run("coalesced", {4}, {256}, a, b).counters;
  EXPECT_EQ(c.globalRequests, 64u);
  EXPECT_EQ(c.globalSectors, 256u);
  EXPECT_EQ(c.globalIdealSectors, 256u);
  EXPECT_EQ(c.uniqueLines, 64u);
  EXPECT_EQ(c.blocks, 4u);
  EXPECT_EQ(c.warps, 32u);
  c = bench.run("strided", {4}, {256}, a, b).counters;
  EXPECT_EQ(c.globalSectors, 32u * 32 + 128);
  c = bench.run("banks", {1}, {32}, b, 1).counters;
  EXPECT_EQ(c.sharedCycles, c.sharedIdealCycles);
  c = bench.run("banks", {1}, {32}, b, 32).counters;
  EXPECT_EQ(c.sharedCycles, 64u);
  LaunchResult text = bench.run("strided", {4}, {256}, a, b);
  std::vector<DeviceModel> models = {*DeviceModel::named("H200")};
  EXPECT_NE(formatCounters(text.counters, bench.config, models).find("global sectors"), std::string::npos);
  EXPECT_GT(estimateMicroseconds(text.counters, models[0], bench.config), 0);
}

// -- PTX that another compiler wrote -------------------------------------------------------------------------------

std::string sharedPtx(const char *name) {
#ifdef GRAPHC_SHARED_DIR
  std::ifstream file(std::string(GRAPHC_SHARED_DIR) + "/ptx/" + name + "_sm80.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
#else
  return {};
#endif
}

float halfToFloat(uint16_t h) {
  int e = (h >> 10) & 31, m = h & 1023;
  float v = e ? std::ldexp(1.0f + m / 1024.0f, e - 15) : std::ldexp(m / 1024.0f, -14);
  return h & 0x8000 ? -v : v;
}

class Triton : public testing::Test {
protected:
  void SetUp() override {
    if (sharedPtx("add").empty())
      GTEST_SKIP() << "the shared folder with Triton's PTX is not there (GRAPHC_SHARED_DIR)";
    bench.config.checks.sharedRaces = bench.config.checks.globalRaces = bench.config.checks.uninitialised = true;
  }
  Bench bench{true};
  std::mt19937 random{7};
  float uniform() { return std::uniform_real_distribution<float>(-2, 2)(random); }
};

TEST_F(Triton, Add) {
  ASSERT_TRUE(bench.load(sharedPtx("add"))) << bench.log;
  const int n = 5008;
  float *x = bench.allocate<float>(n), *y = bench.allocate<float>(n), *o = bench.allocate<float>(n);
  for (int i = 0; i < n; ++i)
    x[i] = uniform(), y[i] = uniform();
  CLEAN(bench.run("add", {(n + 1023) / 1024}, {128}, x, y, o, n, (void *)nullptr, (void *)nullptr));
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(o[i], x[i] + y[i]);
}

TEST_F(Triton, Softmax) {
  ASSERT_TRUE(bench.load(sharedPtx("softmax"))) << bench.log;
  const int rows = 8, n = 784;
  float *x = bench.allocate<float>(rows * n), *o = bench.allocate<float>(rows * n);
  for (int i = 0; i < rows * n; ++i)
    x[i] = uniform();
  bench.config.dynamicSharedBytes = 16;
  CLEAN(bench.run("softmax", {rows}, {128}, x, o, n, (void *)nullptr, (void *)nullptr));
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i)
      sum += std::exp(double(x[r * n + i]));
    for (int i = 0; i < n; ++i)
      ASSERT_NEAR(o[r * n + i], std::exp(double(x[r * n + i])) / sum, 1e-7);
  }
}

TEST_F(Triton, LayerNorm) {
  ASSERT_TRUE(bench.load(sharedPtx("layernorm"))) << bench.log;
  const int rows = 6, n = 1008;
  float *x = bench.allocate<float>(rows * n), *w = bench.allocate<float>(n), *b = bench.allocate<float>(n), *o = bench.allocate<float>(rows * n);
  for (int i = 0; i < rows * n; ++i)
    x[i] = uniform();
  for (int i = 0; i < n; ++i)
    w[i] = uniform(), b[i] = uniform();
  bench.config.dynamicSharedBytes = 16;
  CLEAN(bench.run("layernorm", {rows}, {128}, x, w, b, o, n, 1e-5f, (void *)nullptr, (void *)nullptr));
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int i = 0; i < n; ++i)
      mean += x[r * n + i];
    mean /= n;
    for (int i = 0; i < n; ++i)
      variance += (x[r * n + i] - mean) * (x[r * n + i] - mean);
    double scale = 1 / std::sqrt(variance / n + 1e-5);
    for (int i = 0; i < n; ++i)
      ASSERT_NEAR(o[r * n + i], (x[r * n + i] - mean) * scale * w[i] + b[i], 1e-5);
  }
}

TEST_F(Triton, Matmul) {
  ASSERT_TRUE(bench.load(sharedPtx("matmul"))) << bench.log;
  const int M = 128, N = 192, K = 96;
  auto *a = bench.allocate<uint16_t>(M * K), *b = bench.allocate<uint16_t>(K * N), *c = bench.allocate<uint16_t>(M * N);
  for (int i = 0; i < M * K; ++i)
    a[i] = uint16_t(0x3400 + random() % 0x0800) | uint16_t(random() & 0x8000);
  for (int i = 0; i < K * N; ++i)
    b[i] = uint16_t(0x3400 + random() % 0x0800) | uint16_t(random() & 0x8000);
  bench.config.dynamicSharedBytes = 16384;
  CLEAN(bench.run("matmul", {M / 64, N / 64}, {128}, a, b, c, M, N, K, (void *)nullptr, (void *)nullptr));
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double want = 0, magnitude = 0;
      for (int k = 0; k < K; ++k) {
        double p = double(halfToFloat(a[m * K + k])) * halfToFloat(b[k * N + n]);
        want += p;
        magnitude += std::fabs(p);
      }
      ASSERT_NEAR(halfToFloat(c[m * N + n]), want, magnitude * 1e-3 + 1e-3) << m << "," << n;
    }
}

} // namespace
} // namespace graphc::cudasim
