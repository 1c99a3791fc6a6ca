// Whole kernels: memory forms, control flow, warp and block cooperation, matrices. Each has an answer computed on the host.
#include "test/unit/cudasim-conformance/Driver.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace graphc::cudasim::conformance {
namespace {

class Kernels : public Conformance {};

std::vector<unsigned> randomWords(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned> values(count);
  for (unsigned &value : values)
    value = random();
  return values;
}

// -- control flow --------------------------------------------------------------------------------------------------

TEST_P(Kernels, DivergentLoopsAndBranches) {
  Program &program = Program::get(R"(
extern "C" __global__ void collatz(const unsigned *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = in[i] % 1000 + 1, steps = 0;
  while (v != 1) {
    if (v % 2) v = 3 * v + 1; else v /= 2;
    if (++steps > 500) break;
  }
  switch (in[i] % 7) {
    case 0: steps += 1; break;
    case 1: steps ^= 5; break;
    case 2: steps *= 3; break;
    case 3: steps -= 7; break;
    case 4: steps = ~steps; break;
    case 5: steps <<= 2;
    default: steps += 11;
  }
  out[i] = steps;
})", arch());
  const int n = 1000;
  auto in = randomWords(n, 1);
  Buffer<unsigned> input(in), output(n);
  int count = n;
  ASSERT_EQ(run(program.function("collatz"), {8}, {128}, 0, input, output, count), CUDA_SUCCESS);
  auto out = output.read();
  for (int i = 0; i < n; ++i) {
    unsigned v = in[i] % 1000 + 1, steps = 0;
    for (; v != 1 && steps <= 500; ++steps)
      v = v % 2 ? 3 * v + 1 : v / 2;
    const unsigned m = in[i] % 7;
    unsigned want = m == 0 ? steps + 1 : m == 1 ? steps ^ 5 : m == 2 ? steps * 3 : m == 3 ? steps - 7 : m == 4 ? ~steps : m == 5 ? (steps << 2) + 11 : steps + 11;
    ASSERT_EQ(out[i], want) << i;
  }
}

TEST_P(Kernels, CallsLocalMemoryAndSpinLocks) {
  Program &program = Program::get(R"(
struct Pair { int a; long long b; float c[3]; };
__device__ __noinline__ Pair twist(Pair p, int k) {
  p.a += k; p.b *= k; p.c[k % 3] += 0.5f; return p;
}
__device__ __noinline__ int poly(int x) { return x < 0 ? -x : x * x + 1; }
extern "C" __global__ void calls(int *out) {
  int i = threadIdx.x;
  Pair p{i, i, {1, 2, 3}};
  if (i % 3) p = twist(p, i); else p = twist(p, 2);
  out[i] = p.a + (int)p.b + (int)(p.c[0] * 2 + p.c[1] * 4 + p.c[2] * 8) + poly(i - 20);
}
extern "C" __global__ void localArray(int *out, int rounds) {
  int table[32];
  for (int k = 0; k < 32; ++k) table[k] = threadIdx.x * k;
  int at = threadIdx.x % 32;
  for (int r = 0; r < rounds; ++r) { table[at] += r; at = (at * 5 + 3) % 32; }
  int sum = 0;
  for (int k = 0; k < 32; ++k) sum += table[k] * (k + 1);
  out[threadIdx.x] = sum;
}
__device__ int lock;
extern "C" __global__ void spin(int *counter) {
  while (atomicCAS(&lock, 0, 1) != 0) ;
  __threadfence();
  *(volatile int *)counter = *(volatile int *)counter + 1;
  __threadfence();
  atomicExch(&lock, 0);
})", arch());
  Buffer<int> out(64), local(64), counter(1, 0);
  ASSERT_EQ(run(program.function("calls"), {1}, {64}, 0, out), CUDA_SUCCESS);
  auto values = out.read();
  for (int i = 0; i < 64; ++i) {
    int k = i % 3 ? i : 2;
    float c[3] = {1, 2, 3};
    c[k % 3] += 0.5f;
    int x = i - 20;
    ASSERT_EQ(values[i], i + k + i * k + int(c[0] * 2 + c[1] * 4 + c[2] * 8) + (x < 0 ? -x : x * x + 1)) << i;
  }
  int rounds = 40;
  ASSERT_EQ(run(program.function("localArray"), {1}, {64}, 0, local, rounds), CUDA_SUCCESS);
  values = local.read();
  for (int i = 0; i < 64; ++i) {
    int table[32], at = i % 32, sum = 0;
    for (int k = 0; k < 32; ++k)
      table[k] = i * k;
    for (int r = 0; r < rounds; ++r) {
      table[at] += r;
      at = (at * 5 + 3) % 32;
    }
    for (int k = 0; k < 32; ++k)
      sum += table[k] * (k + 1);
    ASSERT_EQ(values[i], sum) << i;
  }
  ASSERT_EQ(run(program.function("spin"), {2}, {64}, 0, counter), CUDA_SUCCESS);
  EXPECT_EQ(counter.read()[0], 128);
}

// -- memory --------------------------------------------------------------------------------------------------------

TEST_P(Kernels, LoadsAndStoresOfEveryWidth) {
  Program &program = Program::get(R"(
#define FORM(NAME, T, EXPR) extern "C" __global__ void NAME(const T *in, T *out) { int i = blockIdx.x * blockDim.x + threadIdx.x; T v = in[i]; out[i] = EXPR; }
FORM(u8, unsigned char, v + 1)
FORM(s8, signed char, v / 3)
FORM(u16, unsigned short, v * 3)
FORM(s16, short, v / 5)
FORM(u64, unsigned long long, v * 7)
FORM(f64, double, v * 0.5)
extern "C" __global__ void vectors(const uint4 *in, uint4 *out, const ushort2 *in2, ushort2 *out2, const double2 *in3, double2 *out3) {
  int i = threadIdx.x;
  uint4 v = in[i]; out[i] = make_uint4(v.w, v.z, v.y, v.x);
  ushort2 w = in2[i]; out2[i] = make_ushort2(w.y, w.x);
  double2 d = in3[i]; out3[i] = make_double2(d.y, -d.x);
}
__constant__ int table[64];
__device__ int answers[4] = {7, 8, 9, 10};
__device__ int *pointer = &answers[2];
extern "C" __global__ void constants(int *out) {
  out[threadIdx.x] = table[(threadIdx.x * 7) % 64] + answers[threadIdx.x % 4] + *pointer;
}
extern "C" __global__ void dynamicShared(const int *in, int *out) {
  extern __shared__ int buffer[];
  __shared__ int fixed[32];
  buffer[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 32) fixed[threadIdx.x] = in[threadIdx.x] * 2;
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x % 32];
}
struct Big { int v[40]; };
extern "C" __global__ void byValue(Big big, short s, double d, int *out) {
  out[threadIdx.x] = big.v[threadIdx.x % 40] + s + (int)d;
})", arch());
  const int n = 256;
  auto check = [&](const char *name, auto sample, auto fn) {
    using T = decltype(sample);
    std::vector<T> in(n);
    std::mt19937_64 random(3);
    for (T &v : in)
      v = T(int64_t(random()) >> 20);
    Buffer<T> input(in), output(n);
    ASSERT_EQ(run(program.function(name), {2}, {128}, 0, input, output), CUDA_SUCCESS) << name;
    auto out = output.read();
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(out[i], fn(in[i])) << name << " " << i;
  };
  check("u8", uint8_t(), [](uint8_t v) { return uint8_t(v + 1); });
  check("s8", int8_t(), [](int8_t v) { return int8_t(v / 3); });
  check("u16", uint16_t(), [](uint16_t v) { return uint16_t(v * 3); });
  check("s16", int16_t(), [](int16_t v) { return int16_t(v / 5); });
  check("u64", uint64_t(), [](uint64_t v) { return v * 7; });
  check("f64", double(), [](double v) { return v * 0.5; });

  auto words = randomWords(256, 4);
  std::vector<uint16_t> shorts(128);
  std::vector<double> doubles(128);
  std::iota(shorts.begin(), shorts.end(), uint16_t(9));
  std::iota(doubles.begin(), doubles.end(), 0.25);
  Buffer<unsigned> in4(words), out4(256);
  Buffer<uint16_t> in2(shorts), out2(128);
  Buffer<double> in8(doubles), out8(128);
  ASSERT_EQ(run(program.function("vectors"), {1}, {64}, 0, in4, out4, in2, out2, in8, out8), CUDA_SUCCESS);
  auto four = out4.read();
  auto two = out2.read();
  auto eight = out8.read();
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < 4; ++k)
      ASSERT_EQ(four[i * 4 + k], words[i * 4 + 3 - k]);
    ASSERT_EQ(two[2 * i], shorts[2 * i + 1]);
    ASSERT_EQ(eight[2 * i + 1], -doubles[2 * i]);
  }

  CUdeviceptr table;
  size_t bytes;
  ASSERT_EQ(Driver::get().getGlobal(&table, &bytes, program.module, "table"), CUDA_SUCCESS);
  ASSERT_EQ(bytes, 256u);
  std::vector<int> values(64);
  std::iota(values.begin(), values.end(), 100);
  ASSERT_EQ(Driver::get().toDevice(table, values.data(), 256), CUDA_SUCCESS);
  Buffer<int> out(128), input(values);
  ASSERT_EQ(run(program.function("constants"), {1}, {128}, 0, out), CUDA_SUCCESS);
  auto read = out.read();
  for (int i = 0; i < 128; ++i)
    ASSERT_EQ(read[i], 100 + i * 7 % 64 + 7 + i % 4 + 9);
  Buffer<int> shared(64);
  ASSERT_EQ(run(program.function("dynamicShared"), {1}, {64}, 256, input, shared), CUDA_SUCCESS);
  read = shared.read();
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(read[i], values[63 - i] + values[i % 32] * 2);
  struct {
    int v[40];
  } big;
  for (int i = 0; i < 40; ++i)
    big.v[i] = i * i;
  short s = -5;
  double d = 12.75;
  Buffer<int> byValue(64);
  ASSERT_EQ(run(program.function("byValue"), {1}, {64}, 0, big, s, d, byValue), CUDA_SUCCESS);
  read = byValue.read();
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(read[i], (i % 40) * (i % 40) + 7);
}

TEST_P(Kernels, GenericPointersAndDebugCode) {
  const char *source = R"(
__device__ __noinline__ void bump(int *p, int by) { *p += by; }
extern "C" __global__ void generic(int *out) {
  __shared__ int shared[64];
  int local[4] = {1, 2, 3, 4};
  shared[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int *p = threadIdx.x % 3 == 0 ? &shared[threadIdx.x] : threadIdx.x % 3 == 1 ? &local[threadIdx.x % 4] : &out[threadIdx.x];
  bump(p, 10);
  out[64 + threadIdx.x] = *p + (__isShared(p) ? 1000 : 0) + (__isLocal(p) ? 2000 : 0) + (__isGlobal(p) ? 4000 : 0);
})";
  for (std::vector<std::string> options : {std::vector<std::string>{}, std::vector<std::string>{"-G"}, std::vector<std::string>{"-lineinfo"}}) {
    Program &program = Program::get(source, arch(), options);
    std::vector<int> start(128, 5);
    Buffer<int> out(start);
    ASSERT_EQ(run(program.function("generic"), {1}, {64}, 0, out), CUDA_SUCCESS);
    auto read = out.read();
    for (int i = 0; i < 64; ++i)
      ASSERT_EQ(read[64 + i], i % 3 == 0 ? i + 1010 : i % 3 == 1 ? i % 4 + 1 + 2010 : 4015) << i;
  }
}

TEST_P(Kernels, LineInformationLosesNoInstruction) {
  const char *source = R"(
__device__ float helper(float x) { return x > 0 ? sqrtf(x) : expf(x); }
extern "C" __global__ void lines(float *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    p[i] = helper(p[i]) + helper(p[i] * 2);
})";
  std::vector<float> in(300);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i) - 150;
  std::vector<float> results[2];
  int k = 0, n = 300;
  for (std::vector<std::string> options : {std::vector<std::string>{}, std::vector<std::string>{"-lineinfo"}}) {
    Buffer<float> buffer(in);
    ASSERT_EQ(run(Program::get(source, arch(), options).function("lines"), {1}, {64}, 0, buffer, n), CUDA_SUCCESS);
    results[k++] = buffer.read();
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), 1200), 0);
  for (int i = 0; i < 300; ++i) {
    auto help = [](double x) { return x > 0 ? std::sqrt(x) : std::exp(x); };
    ASSERT_NEAR(results[0][i], help(in[i]) + help(in[i] * 2.0), 2e-5);
  }
}

// -- warps ---------------------------------------------------------------------------------------------------------

TEST_P(Kernels, WarpCollectives) {
  Program &program = Program::get(R"(
extern "C" __global__ void shuffles(const unsigned *in, unsigned *out) {
  unsigned i = threadIdx.x, v = in[i];
  out[i] = __shfl_sync(~0u, v, (i * 7 + 3) & 31);
  out[i + 64] = __shfl_up_sync(~0u, v, 3);
  out[i + 128] = __shfl_down_sync(~0u, v, 5, 16);
  out[i + 192] = __shfl_xor_sync(~0u, v, 9);
  out[i + 256] = __shfl_sync(~0u, v, 2, 8);
  if (i % 32 < 20) out[i + 320] = __shfl_xor_sync(0xFFFFF, v, 1);
}
extern "C" __global__ void votes(const unsigned *in, unsigned *out) {
  unsigned i = threadIdx.x, v = in[i];
  out[i] = __ballot_sync(~0u, v & 1);
  out[i + 64] = __all_sync(~0u, v >= 0) | __any_sync(~0u, v % 50 == 0) << 1;
  out[i + 128] = __match_any_sync(~0u, v % 5);
  int p; out[i + 192] = __match_all_sync(~0u, i / 32, &p) + p;
  if (v % 3 == 0) out[i + 256] = __activemask() & (1u << (i % 32)) ? 1 : 0;
  out[i + 320] = __match_any_sync(~0u, (unsigned long long)(v % 3) << 40);
}
extern "C" __global__ void reductions(const unsigned *in, unsigned *out) {
  unsigned i = threadIdx.x, v = in[i];
  out[i] = __reduce_add_sync(~0u, v); out[i + 64] = __reduce_min_sync(~0u, v); out[i + 128] = __reduce_max_sync(~0u, (int)v);
  out[i + 192] = __reduce_and_sync(~0u, v | 0xF0); out[i + 256] = __reduce_or_sync(~0u, v & 0xFF); out[i + 320] = __reduce_xor_sync(~0u, v);
}
// Groups with different masks inside one warp, and lanes that meet again at __syncwarp.
extern "C" __global__ void groups(unsigned *out) {
  __shared__ unsigned box[64];
  unsigned i = threadIdx.x, lane = i % 32;
  unsigned mask = lane < 8 ? 0xFFu : lane < 24 ? 0xFFFF00u : 0xFF000000u;
  out[i] = __reduce_add_sync(mask, lane);
  if (lane < 8) box[i] = i * 2; else box[i] = i * 3;
  __syncwarp();
  out[i + 64] = box[i ^ 9];
})", arch());
  auto in = randomWords(64, 7);
  Buffer<unsigned> input(in), a(384), b(384), c(384), g(128);
  ASSERT_EQ(run(program.function("shuffles"), {1}, {64}, 0, input, a), CUDA_SUCCESS);
  auto out = a.read();
  for (int i = 0; i < 64; ++i) {
    int w = i & ~31, l = i & 31;
    ASSERT_EQ(out[i], in[w + ((i * 7 + 3) & 31)]);
    ASSERT_EQ(out[i + 64], in[w + (l >= 3 ? l - 3 : l)]);
    ASSERT_EQ(out[i + 128], in[w + (l % 16 + 5 < 16 ? l + 5 : l)]);
    ASSERT_EQ(out[i + 192], in[w + (l ^ 9)]);
    ASSERT_EQ(out[i + 256], in[w + l / 8 * 8 + 2]);
    if (l < 20)
      ASSERT_EQ(out[i + 320], in[w + (l ^ 1)]);
  }
  ASSERT_EQ(run(program.function("votes"), {1}, {64}, 0, input, b), CUDA_SUCCESS);
  out = b.read();
  for (int i = 0; i < 64; ++i) {
    int w = i & ~31;
    unsigned ballot = 0, any = 0, same = 0, same3 = 0;
    for (int l = 0; l < 32; ++l) {
      ballot |= (in[w + l] & 1) << l;
      any |= in[w + l] % 50 == 0;
      same |= unsigned(in[w + l] % 5 == in[i] % 5) << l;
      same3 |= unsigned(in[w + l] % 3 == in[i] % 3) << l;
    }
    ASSERT_EQ(out[i], ballot);
    ASSERT_EQ(out[i + 64], 1 | any << 1);
    ASSERT_EQ(out[i + 128], same);
    ASSERT_EQ(out[i + 192], 0u); // all lanes, plus a true predicate
    if (in[i] % 3 == 0)
      ASSERT_EQ(out[i + 256], 1u);
    ASSERT_EQ(out[i + 320], same3);
  }
  ASSERT_EQ(run(program.function("reductions"), {1}, {64}, 0, input, c), CUDA_SUCCESS);
  out = c.read();
  for (int w = 0; w < 64; w += 32) {
    unsigned sum = 0, low = ~0u, andAll = ~0u, orAll = 0, xorAll = 0;
    int high = INT32_MIN;
    for (int l = 0; l < 32; ++l) {
      unsigned v = in[w + l];
      sum += v; low = std::min(low, v); high = std::max(high, int(v)); andAll &= v | 0xF0; orAll |= v & 0xFF; xorAll ^= v;
    }
    for (int i = w; i < w + 32; ++i) {
      ASSERT_EQ(out[i], sum); ASSERT_EQ(out[i + 64], low); ASSERT_EQ(out[i + 128], unsigned(high));
      ASSERT_EQ(out[i + 192], andAll); ASSERT_EQ(out[i + 256], orAll); ASSERT_EQ(out[i + 320], xorAll);
    }
  }
  ASSERT_EQ(run(program.function("groups"), {1}, {64}, 0, g), CUDA_SUCCESS);
  out = g.read();
  for (int i = 0; i < 64; ++i) {
    int l = i % 32, j = i ^ 9;
    ASSERT_EQ(out[i], l < 8 ? 28u : l < 24 ? 248u : 220u);
    ASSERT_EQ(out[i + 64], unsigned(j % 32 < 8 ? j * 2 : j * 3));
  }
}

// -- atomics -------------------------------------------------------------------------------------------------------

TEST_P(Kernels, Atomics) {
  Program &program = Program::get(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void integers(int *g, unsigned *u, unsigned long long *l, int *out) {
  __shared__ int s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&g[0], i); atomicSub(&g[1], i); atomicMin(&g[2], -i); atomicMax(&g[3], i); atomicOr(&g[4], 1 << (i % 31)); atomicAnd(&g[5], ~(1 << (i % 31)));
  atomicXor(&g[6], i); atomicInc(&u[0], 99); atomicDec(&u[1], 50); atomicAdd(&u[2], 3u); atomicMax(&u[3], (unsigned)i); atomicMin(&u[4], (unsigned)i);
  atomicAdd(&l[0], (unsigned long long)i << 20); atomicMax(&l[1], (unsigned long long)i << 33); atomicExch(&l[2], 77ull);
  atomicCAS(&g[7], 0, 4242); atomicCAS(&l[3], 0ull, 1ull << 40);
  atomicAdd(&s[threadIdx.x % 4], 1);
  atomicAdd_block(&g[8], 1); atomicAdd_system(&g[9], 1);
  __syncthreads();
  if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void floats(float *f, double *d, __half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2) {
  atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(h, __float2half(1.0f)); atomicAdd(h2, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(b, __float2bfloat16(1.0f)); atomicAdd(b2, __floats2bfloat162_rn(1.0f, -1.0f));
}
extern "C" __global__ void cas16(unsigned short *p) { unsigned short old = *p, seen; do { seen = old; old = atomicCAS(p, seen, (unsigned short)(seen + 1)); } while (old != seen); })", arch());
  const int n = 512;
  Buffer<int> g(std::vector<int>{0, 0, 5, -1, 0, -1, 0, 0, 0, 0}), out(16);
  Buffer<unsigned> u(std::vector<unsigned>{0, 0, 0, 0, 12345});
  Buffer<uint64_t> l(4, 0);
  ASSERT_EQ(run(program.function("integers"), {4}, {128}, 0, g, u, l, out), CUDA_SUCCESS);
  auto gi = g.read();
  auto ui = u.read();
  auto li = l.read();
  int sum = n * (n - 1) / 2, xorAll = 0;
  for (int i = 0; i < n; ++i)
    xorAll ^= i;
  EXPECT_EQ(gi, (std::vector<int>{sum, -sum, -511, 511, 0x7FFFFFFF, INT32_MIN, xorAll, 4242, n, n}));
  unsigned down = 0;
  for (int i = 0; i < n; ++i)
    down = down == 0 || down > 50 ? 50 : down - 1;
  EXPECT_EQ(ui, (std::vector<unsigned>{n % 100, down, 3 * n, 511, 0}));
  EXPECT_EQ(li, (std::vector<uint64_t>{uint64_t(sum) << 20, uint64_t(511) << 33, 77, uint64_t(1) << 40}));
  EXPECT_EQ(out.read(), std::vector<int>(16, 32));
  Buffer<float> f(1, 0);
  Buffer<double> d(1, 0);
  Buffer<uint16_t> h(1, 0), h2(2, 0), b(1, 0), b2(2, 0), c(1, 0);
  ASSERT_EQ(run(program.function("floats"), {1}, {128}, 0, f, d, h, h2, b, b2), CUDA_SUCCESS);
  EXPECT_EQ(f.read()[0], 64.0f);
  EXPECT_EQ(d.read()[0], 32.0);
  EXPECT_EQ(h.read()[0], 0x5800);                                   // 128 in f16
  EXPECT_EQ(h2.read(), (std::vector<uint16_t>{0x5800, 0x5C00}));    // 128, 256
  EXPECT_EQ(b.read()[0], 0x4300);                                   // 128 in bf16
  EXPECT_EQ(b2.read(), (std::vector<uint16_t>{0x4300, 0xC300}));
  ASSERT_EQ(run(program.function("cas16"), {1}, {64}, 0, c), CUDA_SUCCESS);
  EXPECT_EQ(c.read()[0], 64);
}

// -- blocks --------------------------------------------------------------------------------------------------------

TEST_P(Kernels, Barriers) {
  Program &program = Program::get(R"(
extern "C" __global__ void reds(const int *in, int *out) {
  int v = in[threadIdx.x];
  out[threadIdx.x] = __syncthreads_count(v > 0); out[threadIdx.x + 96] = __syncthreads_and(v > -1000) | __syncthreads_or(v == 12345) << 1;
}
extern "C" __global__ void early(int *out, int n) {
  __shared__ int s[128];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x >= n) return;
  __syncthreads();
  out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
// Two warps produce, two consume, through named barriers.
extern "C" __global__ void named(int *out) {
  __shared__ int box[64];
  int i = threadIdx.x % 64;
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x < 64) {
      asm volatile("bar.sync 2, 128;" ::: "memory");
      box[i] = i * 10 + round;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.arrive 2, 128;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[round * 64 + i] = box[63 - i];
    }
  }
}
__device__ unsigned ticket;
__device__ float partial[64];
extern "C" __global__ void lastBlock(const float *in, float *out) {
  __shared__ bool last;
  partial[blockIdx.x] = in[blockIdx.x] * 2;
  __threadfence();
  if (threadIdx.x == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += ((volatile float *)partial)[i];
    *out = sum;
  }
}
__device__ volatile int flags[64];
// Every block waits for its successor: only works when all are resident and progress.
extern "C" __global__ void chain(int *out) {
  int next = blockIdx.x + 1;
  if (threadIdx.x == 0) {
    if (next < gridDim.x) while (flags[next] == 0) ;
    __threadfence();
    out[blockIdx.x] = next < gridDim.x ? flags[next] + 1 : 1;
    __threadfence();
    flags[blockIdx.x] = next < gridDim.x ? flags[next] + 1 : 1;
  }
})", arch());
  std::vector<int> in(96);
  for (int i = 0; i < 96; ++i)
    in[i] = i * 37 % 101 - 50;
  Buffer<int> input(in), red(192), early(128, -1), named(320), chain(48);
  ASSERT_EQ(run(program.function("reds"), {1}, {96}, 0, input, red), CUDA_SUCCESS);
  int positive = int(std::count_if(in.begin(), in.end(), [](int v) { return v > 0; }));
  for (int v : red.read())
    ASSERT_TRUE(v == positive || v == 1) << v;
  int n = 100;
  ASSERT_EQ(run(program.function("early"), {1}, {128}, 0, early, n), CUDA_SUCCESS);
  auto out = early.read();
  for (int i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], i < n ? n - 1 - i : -1);
  ASSERT_EQ(run(program.function("named"), {1}, {128}, 0, named), CUDA_SUCCESS);
  out = named.read();
  for (int i = 0; i < 320; ++i)
    ASSERT_EQ(out[i], (63 - i % 64) * 10 + i / 64);
  std::vector<float> halves(64);
  std::iota(halves.begin(), halves.end(), 1.0f);
  Buffer<float> values(halves), total(1);
  ASSERT_EQ(run(program.function("lastBlock"), {64}, {64}, 0, values, total), CUDA_SUCCESS);
  EXPECT_EQ(total.read()[0], 64 * 65.0f);
  ASSERT_EQ(run(program.function("chain"), {48}, {32}, 0, chain), CUDA_SUCCESS);
  out = chain.read();
  for (int i = 0; i < 48; ++i)
    ASSERT_EQ(out[i], 48 - i);
}

TEST_P(Kernels, MemoryBarrierObjects) {
  Program &program = Program::get(R"(
extern "C" __global__ void phases(int *out) {
  __shared__ unsigned long long barrier;
  __shared__ int box[64];
  unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(64) : "memory");
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    box[threadIdx.x] = threadIdx.x * (round + 1);
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(address), "l"(state) : "memory");
    sum += box[63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
})", arch());
  Buffer<int> out(64);
  ASSERT_EQ(run(program.function("phases"), {1}, {64}, 0, out), CUDA_SUCCESS);
  auto read = out.read();
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(read[i], (63 - i) * 10);
}

TEST_P(Kernels, CooperativeGrids) {
  if (arch() != "compute_80")
    GTEST_SKIP() << "cooperative_groups takes seconds to compile; one architecture is enough";
  Program &program = Program::get(R"(
#include <cooperative_groups.h>
extern "C" __global__ void grid(int *a, int *b) {
  auto g = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  a[i] = i + 1;
  g.sync();
  b[i] = a[n - 1 - i] * 2;
  g.sync();
  a[i] = b[(i + 1) % n] + 1;
})", arch());
  const int n = 24 * 64;
  Buffer<int> a(n), b(n);
  void *arguments[] = {&a.address, &b.address};
  ASSERT_EQ(Driver::get().launchCooperative(program.function("grid"), 24, 1, 1, 64, 1, 1, 0, nullptr, arguments), CUDA_SUCCESS);
  ASSERT_EQ(Driver::get().synchronize(), CUDA_SUCCESS);
  auto read = a.read();
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(read[i], (n - (i + 1) % n) * 2 + 1);
}

INSTANTIATE_TEST_SUITE_P(Arch, Kernels, testing::ValuesIn(architectures()), [](auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Kernels);

} // namespace
} // namespace graphc::cudasim::conformance
