// Calls through pointers, recursion, the stack, and what needs 128 bits: each with an answer computed on the host.
#include "test/unit/cudasim-conformance/Driver.h"

#include <algorithm>

namespace graphc::cudasim::conformance {
namespace {

class Calls : public Conformance {};

TEST_P(Calls, ThroughPointersTablesAndVirtualFunctions) {
  Program &program = Program::get(R"(
typedef int (*Function)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { __shared__ int s[64]; s[threadIdx.x] = x; return s[threadIdx.x] * x; }
__device__ __noinline__ int negate(int x) { return -x; }
__device__ __noinline__ int apart(int x, int y) { return x - y; } // another signature
__device__ Function table[3] = {twice, square, negate};
__device__ int (*other)(int, int) = apart;
extern "C" __global__ void pointers(int *out) {
  int i = threadIdx.x;
  Function f = table[i % 3];
  int v = f(i);
  if (i % 2) v += table[(i + 1) % 3](i);
  out[i] = v + other(v, i);
}
struct Shape { __device__ virtual int area(int k) const = 0; };
struct Square : Shape { int side; __device__ int area(int k) const override { return side * side * k; } };
struct Rectangle : Shape { int a, b; __device__ int area(int k) const override { return a * b + k; } };
extern "C" __global__ void virtuals(int *out) {
  Square s; s.side = threadIdx.x;
  Rectangle r; r.a = threadIdx.x; r.b = 3;
  const Shape *shape = threadIdx.x % 4 ? (const Shape *)&s : (const Shape *)&r;
  out[threadIdx.x] = shape->area(threadIdx.x % 5);
})", arch());
  Buffer<int> out(64);
  ASSERT_EQ(run(program.function("pointers"), {1}, {64}, 0, out), CUDA_SUCCESS);
  auto values = out.read();
  auto call = [](int which, int x) { return which == 0 ? 2 * x : which == 1 ? x * x : -x; };
  for (int i = 0; i < 64; ++i) {
    int v = call(i % 3, i) + (i % 2 ? call((i + 1) % 3, i) : 0);
    ASSERT_EQ(values[i], v + v - i) << i;
  }
  ASSERT_EQ(run(program.function("virtuals"), {1}, {64}, 0, out), CUDA_SUCCESS);
  values = out.read();
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(values[i], i % 4 ? i * i * (i % 5) : 3 * i + i % 5) << i;
}

TEST_P(Calls, OneHundredAndTwentyEightBits) {
  if (arch() == "compute_80")
    GTEST_SKIP() << "128-bit atomics begin with compute capability 9.0";
  Program &program = Program::get(R"(
extern "C" __global__ void wide(const ulonglong2 *in, ulonglong2 *out, ulonglong2 *cell) {
  int i = threadIdx.x;
  asm volatile("{ .reg .b128 q; ld.global.b128 q, [%0]; st.global.b128 [%1], q; }" ::"l"(in + i), "l"(out + i) : "memory");
  unsigned long long low, high;
  bool done = false;
  while (!done) { // adds i to the lower and 1 to the upper half, both at once
    ulonglong2 old = make_ulonglong2(((volatile unsigned long long *)cell)[0], ((volatile unsigned long long *)cell)[1]);
    unsigned long long newLow = old.x + i, newHigh = old.y + 1;
    asm volatile("{ .reg .b128 c, n, r; mov.b128 c, {%2, %3}; mov.b128 n, {%4, %5}; atom.global.cas.b128 r, [%6], c, n; mov.b128 {%0, %1}, r; }"
                 : "=l"(low), "=l"(high) : "l"(old.x), "l"(old.y), "l"(newLow), "l"(newHigh), "l"(cell) : "memory");
    done = low == old.x && high == old.y;
  }
})", arch());
  std::vector<uint64_t> in(128);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = i * 0x9E3779B97F4A7C15ull;
  Buffer<uint64_t> input(in), out(128), cell(2, 0);
  ASSERT_EQ(run(program.function("wide"), {1}, {64}, 0, input, out, cell), CUDA_SUCCESS);
  EXPECT_EQ(out.read(), in);
  EXPECT_EQ(cell.read(), (std::vector<uint64_t>{64 * 63 / 2, 64}));
}

// -- recursion -----------------------------------------------------------------------------------------------------

const char *recursive = R"(
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void fib(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 11) + fibonacci(threadIdx.x % 3); }

__device__ int odd(int n, int *trace);
__device__ __noinline__ int even(int n, int *trace) { return n == 0 ? 1 : (trace[n] = 2, odd(n - 1, trace)); }
__device__ __noinline__ int odd(int n, int *trace) { int before = trace[n]; return n == 0 ? 0 : (trace[n] = 1, even(n - 1, trace) + 2 * before); }
extern "C" __global__ void mutual(int *out) {
  int trace[12];
  for (int i = 0; i < 12; ++i) trace[i] = i;
  int n = threadIdx.x % 12, v = even(n, trace);
  for (int i = 0; i < 12; ++i) v = v * 3 + trace[i];
  out[threadIdx.x] = v;
}

// Its own arrays in every frame, and a barrier's worth of divergence inside.
__device__ __noinline__ void sort(int *values, int n) {
  if (n < 2) return;
  int less[12], more[12], few = 0, many = 0, pivot = values[0];
  for (int i = 1; i < n; ++i) if (values[i] < pivot) less[few++] = values[i]; else more[many++] = values[i];
  sort(less, few);
  sort(more, many);
  for (int i = 0; i < few; ++i) values[i] = less[i];
  values[few] = pivot;
  for (int i = 0; i < many; ++i) values[few + 1 + i] = more[i];
}
extern "C" __global__ void quicksort(int *out) {
  int values[12], n = 1 + threadIdx.x % 12;
  unsigned state = threadIdx.x * 2654435761u + 1;
  for (int i = 0; i < n; ++i) values[i] = (state = state * 1664525u + 1013904223u) >> 24;
  sort(values, n);
  int v = 0;
  for (int i = 0; i < n; ++i) v = v * 31 + values[i];
  out[threadIdx.x] = v;
}

// Warp-wide operations at different depths: lanes wait for each other where they meet.
__device__ __noinline__ int gather(int depth) {
  if (depth) return gather(depth - 1) + depth;
  return __reduce_add_sync(__activemask(), 1) > 0;
}
extern "C" __global__ void warpwide(int *out) {
  int v = gather(threadIdx.x % 4);
  out[threadIdx.x] = v + __shfl_xor_sync(0xffffffff, v, 1);
  __syncthreads();
  out[threadIdx.x + 64] = out[63 - threadIdx.x];
}

typedef double (*Step)(double, int);
__device__ double first(double, int);
__device__ __noinline__ double second(double x, int n);
__device__ Step steps[2] = {first, second};
__device__ __noinline__ double first(double x, int n) { return n ? steps[n % 2](x * 0.5, n - 1) + x : x; }
__device__ __noinline__ double second(double x, int n) { return n ? steps[(n + 1) % 2](x + 1, n - 1) * 2 : -x; }
extern "C" __global__ void pointers(double *out) { out[threadIdx.x] = steps[threadIdx.x % 2](threadIdx.x, threadIdx.x % 7); }
)";
int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
int odd(int n, int *trace);
int even(int n, int *trace) { return n == 0 ? 1 : (trace[n] = 2, odd(n - 1, trace)); }
int odd(int n, int *trace) {
  int before = trace[n];
  return n == 0 ? 0 : (trace[n] = 1, even(n - 1, trace) + 2 * before);
}
double step(int which, double x, int n) {
  if (which == 0)
    return n ? step(n % 2, x * 0.5, n - 1) + x : x;
  return n ? step((n + 1) % 2, x + 1, n - 1) * 2 : -x;
}

TEST_P(Calls, Recursion) {
  ASSERT_EQ(Driver::get().setLimit(CU_LIMIT_STACK_SIZE, 8192), CUDA_SUCCESS);
  Program &program = Program::get(recursive, arch());
  Buffer<int> out(128);
  ASSERT_EQ(run(program.function("fib"), {1}, {64}, 0, out), CUDA_SUCCESS);
  auto values = out.read();
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(values[i], fibonacci(i % 11) + fibonacci(i % 3)) << i;
  ASSERT_EQ(run(program.function("mutual"), {1}, {64}, 0, out), CUDA_SUCCESS);
  values = out.read();
  for (int i = 0; i < 64; ++i) {
    int trace[12];
    for (int k = 0; k < 12; ++k)
      trace[k] = k;
    unsigned v = unsigned(even(i % 12, trace));
    for (int t : trace)
      v = v * 3 + unsigned(t);
    ASSERT_EQ(unsigned(values[i]), v) << i;
  }
  ASSERT_EQ(run(program.function("quicksort"), {1}, {64}, 0, out), CUDA_SUCCESS);
  values = out.read();
  for (unsigned i = 0; i < 64; ++i) {
    std::vector<int> sorted(1 + i % 12);
    unsigned state = i * 2654435761u + 1, v = 0;
    for (int &value : sorted)
      value = int((state = state * 1664525u + 1013904223u) >> 24);
    std::sort(sorted.begin(), sorted.end());
    for (int value : sorted)
      v = v * 31 + unsigned(value);
    ASSERT_EQ(unsigned(values[i]), v) << i;
  }
  ASSERT_EQ(run(program.function("warpwide"), {1}, {64}, 0, out), CUDA_SUCCESS);
  values = out.read();
  auto depth = [](int i) { int d = i % 4; return d * (d + 1) / 2 + 1; };
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(values[i], depth(i) + depth(i ^ 1)) << i;
    ASSERT_EQ(values[i + 64], values[63 - i]) << i;
  }
}

TEST_P(Calls, RecursionThroughPointers) {
  ASSERT_EQ(Driver::get().setLimit(CU_LIMIT_STACK_SIZE, 8192), CUDA_SUCCESS);
  Buffer<double> out(64);
  ASSERT_EQ(run(Program::get(recursive, arch()).function("pointers"), {1}, {64}, 0, out), CUDA_SUCCESS);
  auto values = out.read();
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(values[i], step(i % 2, i, i % 7)) << i;
}

// What compilers never write: parameters in registers, a guarded call, a guarded return, a predicate that lives on.
TEST_P(Calls, RecursionOverRegisters) {
  const char *ptx = R"(.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 %result, .reg .f64 %half) power(.reg .u32 %n, .reg .f64 %x) {
  .reg .pred %p, %odd;
  .reg .b32 %r<4>;
  .reg .f64 %d<3>;
  mov.u32 %result, 1;
  mov.f64 %half, %x;
  setp.eq.u32 %p, %n, 0;
  @%p ret;
  and.b32 %r0, %n, 1;
  setp.ne.u32 %odd, %r0, 0;
  sub.u32 %r1, %n, 1;
  mul.f64 %d0, %x, 0d3FE0000000000000;
  mov.u32 %r2, 0;
  setp.ne.u32 %p, %n, 100;
  @%p call.uni (%r2, %d1), power, (%r1, %d0);
  mul.lo.u32 %result, %r2, 3;
  add.f64 %half, %d1, %x;
  @%odd add.u32 %result, %result, 1;
}
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .f64 %d<2>;
  mov.u32 %r0, %tid.x;
  rem.u32 %r1, %r0, 9;
  cvt.rn.f64.u32 %d0, %r0;
  call.uni (%r2, %d1), power, (%r1, %d0);
  ld.param.u64 %rd0, [out];
  mul.wide.u32 %rd1, %r0, 16;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f64 [%rd2], %d1;
  cvt.rn.f64.u32 %d0, %r2;
  st.global.f64 [%rd2+8], %d0;
  ret;
}
)";
  CUmodule module;
  ASSERT_EQ(Driver::get().moduleLoad(&module, ptx), CUDA_SUCCESS);
  CUfunction function;
  ASSERT_EQ(Driver::get().getFunction(&function, module, "kernel"), CUDA_SUCCESS);
  Buffer<double> out(128);
  ASSERT_EQ(run(function, {1}, {64}, 0, out), CUDA_SUCCESS);
  auto values = out.read();
  for (int i = 0; i < 64; ++i) {
    double half = 0, x = i;
    int result = 1;
    for (int n = i % 9; n >= 0; --n, x *= 0.5)
      half += x;
    for (int n = 1; n <= i % 9; ++n)
      result = result * 3 + n % 2;
    ASSERT_EQ(values[2 * i], half) << i;
    ASSERT_EQ(values[2 * i + 1], result) << i;
  }
  Driver::get().moduleUnload(module);
}

TEST_P(Calls, MemoryOnTheStack) {
  ASSERT_EQ(Driver::get().setLimit(CU_LIMIT_STACK_SIZE, 8192), CUDA_SUCCESS);
  Program &program = Program::get(R"(
// Fills n words on the stack; the place and its contents must be this thread's own.
__device__ __forceinline__ unsigned sum(unsigned n) {
  unsigned long long place;
  asm volatile("alloca.u64 %0, %1, 16;" : "=l"(place) : "l"((unsigned long long)n * 4) : "memory");
  for (unsigned i = 0; i < n; ++i) asm volatile("st.local.u32 [%0], %1;" ::"l"(place + 4 * i), "r"(i * threadIdx.x) : "memory");
  unsigned total = (unsigned)(place & 15);
  for (unsigned i = 0; i < n; ++i) { unsigned v; asm volatile("ld.local.u32 %0, [%1];" : "=r"(v) : "l"(place + 4 * i) : "memory"); total += v; }
  return total;
}
__device__ __noinline__ unsigned nested(unsigned depth) {
  unsigned mine = sum(depth % 8 + 1);
  return depth ? mine + nested(depth - 1) : mine;
}
extern "C" __global__ void allocate(unsigned *out) {
  unsigned total = 0;
  for (int round = 0; round < 40; ++round) { // without stackrestore this would not fit
    unsigned long long saved;
    asm volatile("stacksave.u64 %0;" : "=l"(saved) :: "memory");
    total += sum(threadIdx.x % 50);
    asm volatile("stackrestore.u64 %0;" :: "l"(saved) : "memory");
  }
  out[threadIdx.x] = total + nested(threadIdx.x % 6);
}
extern "C" __global__ void narrow(unsigned *out) {
  unsigned place;
  asm volatile("alloca.u32 %0, %1;" : "=r"(place) : "r"(64) : "memory");
  asm volatile("st.local.u32 [%0+60], %1;" ::"r"(place), "r"(threadIdx.x * 7) : "memory");
  asm volatile("ld.local.u32 %0, [%1+60];" : "=r"(out[threadIdx.x]) : "r"(place) : "memory");
})", arch());
  Buffer<unsigned> out(64);
  ASSERT_EQ(run(program.function("allocate"), {1}, {64}, 0, out), CUDA_SUCCESS);
  auto values = out.read();
  auto sum = [](unsigned n, unsigned thread) { return n * (n - 1) / 2 * thread; };
  for (unsigned i = 0; i < 64; ++i) {
    unsigned want = 40 * sum(i % 50, i);
    for (unsigned depth = 0; depth <= i % 6; ++depth)
      want += sum(depth % 8 + 1, i);
    ASSERT_EQ(values[i], want) << i;
  }
  ASSERT_EQ(run(program.function("narrow"), {1}, {64}, 0, out), CUDA_SUCCESS);
  values = out.read();
  for (unsigned i = 0; i < 64; ++i)
    ASSERT_EQ(values[i], i * 7) << i;
}

INSTANTIATE_TEST_SUITE_P(Arch, Calls, testing::ValuesIn(architectures()), [](auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Calls);

} // namespace
} // namespace graphc::cudasim::conformance
