// Calls through pointers, and what needs 128 bits: each with an answer computed on the host.
#include "test/unit/cudasim-conformance/Driver.h"

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

INSTANTIATE_TEST_SUITE_P(Arch, Calls, testing::ValuesIn(architectures()), [](auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Calls);

} // namespace
} // namespace graphc::cudasim::conformance
