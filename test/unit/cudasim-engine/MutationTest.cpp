// The best proof of the checks: in correct kernels, every barrier, wait, arrival, fence and guard is deleted in turn, by
// blanking its PTX. Each deletion must be reported. What is not reported must leave the result as it was (then it was
// redundant for this launch), or stand in the list of explanations. (Waits between streams: test/unit/cudasim/WaitMutationTest.cpp.)
#include "test/unit/cudasim-engine/Engine.h"
#include "tools/bench/cudasim/Kernels.h"

#include <algorithm>
#include <functional>

namespace graphc::cudasim {
namespace {

const char *suite = R"(
#include <mma.h>
extern "C" __global__ void reverse(const int *in, int *out, int n) {
  __shared__ int s[128];
  int i = threadIdx.x;
  if (i < n) s[i] = in[i];
  __syncthreads();
  if (i < n) out[i] = s[n - 1 - i];
}
extern "C" __global__ void warpReverse(const int *in, int *out, int n) {
  __shared__ int s[32];
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  int v = s[31 - threadIdx.x];
  __syncwarp();
  s[threadIdx.x] = v * 3;
  __syncwarp();
  out[threadIdx.x] = s[(threadIdx.x + 7) % 32] + n;
}
extern "C" __global__ void reduce(const int *in, int *out, int n) {
  __shared__ int s[128];
  int i = threadIdx.x;
  s[i] = i < n ? in[i] : 0;
  __syncthreads();
#pragma unroll 1
  for (int d = 64; d; d >>= 1) {
    if (i < d) s[i] += s[i + d];
    __syncthreads();
  }
  if (i == 0) out[0] = s[0];
}
extern "C" __global__ void histogram(const int *in, int *out, int n) {
  __shared__ int bins[16];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  if (i < n) atomicAdd(&bins[in[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
extern "C" __global__ void stencil(const int *in, int *out, int n) {
  __shared__ int tile[66];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) tile[threadIdx.x + 1] = in[i];
  if (threadIdx.x == 0) tile[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == 63) tile[65] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  if (i < n) out[i] = tile[threadIdx.x] + 2 * tile[threadIdx.x + 1] + tile[threadIdx.x + 2];
}
extern "C" __global__ void scan(const int *in, int *out, int n) {
  __shared__ int s[2][128];
  int i = threadIdx.x, from = 0;
  s[0][i] = in[i];
  __syncthreads();
#pragma unroll 1
  for (int d = 1; d < n; d *= 2) {
    s[from ^ 1][i] = i >= d ? s[from][i] + s[from][i - d] : s[from][i];
    from ^= 1;
    __syncthreads();
  }
  out[i] = s[from][i];
}
extern "C" __global__ void transpose(const int *in, int *out, int n) {
  __shared__ int tile[32][33];
  int x = threadIdx.x, y = threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[y + k][x] = in[(blockIdx.y * 32 + y + k) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8) out[(blockIdx.x * 32 + y + k) * n + blockIdx.y * 32 + x] = tile[x][y + k];
}
__device__ unsigned ticket;
extern "C" __global__ void lastBlock(const int *in, int *out, int n) {
  __shared__ bool last;
  int *partial = out + 8;
  if (threadIdx.x == 0) { partial[blockIdx.x] = in[blockIdx.x] * 2; __threadfence(); last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1; }
  __syncthreads();
  if (last && threadIdx.x == 0) { int sum = 0; for (int i = 0; i < n; ++i) sum += partial[i]; out[0] = sum; }
}
__device__ unsigned arrived;
extern "C" __global__ void gridBarrier(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * 3;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); atomicAdd(&arrived, 1); while (atomicAdd(&arrived, 0) % gridDim.x) ; __threadfence(); }
  __syncthreads();
  out[n + i] = out[n - 1 - i];
}
// Two warps produce, two consume, through named barriers.
extern "C" __global__ void named(const int *in, int *out, int n) {
  __shared__ int box[64];
  int i = threadIdx.x % 64;
#pragma unroll 1
  for (int round = 0; round < n; ++round) {
    if (threadIdx.x < 64) {
      asm volatile("bar.sync 2, 128;" ::: "memory");
      box[i] = in[i] * 10 + round;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.arrive 2, 128;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[round * 64 + i] = box[63 - i];
    }
  }
}
extern "C" __global__ void phases(const int *in, int *out, int n) {
  __shared__ unsigned long long barrier;
  __shared__ int box[64];
  unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(64) : "memory");
  __syncthreads();
  int sum = 0;
#pragma unroll 1
  for (int round = 0; round < n; ++round) {
    box[threadIdx.x] = in[threadIdx.x] * (round + 1);
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(address), "l"(state) : "memory");
    sum += box[63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void pipeline(const int *in, int *out, int tiles) {
  __shared__ __align__(16) int s[2][128];
  int t = threadIdx.x, sum = 0;
  auto load = [&](int stage, int tile) {
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[stage][t * 4 % 128]);
    if (t < 32) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + tile * 128 + t * 4) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  load(0, 0);
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) load((tile + 1) & 1, tile + 1); else asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    sum += s[tile & 1][127 - t] * (tile + 1);
    __syncthreads();
  }
  __shared__ int partial[4];
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (t % 32 == 0) partial[t / 32] = sum;
  __syncthreads();
  if (t == 0) *out = partial[0] + partial[1] + partial[2] + partial[3];
}
extern "C" __global__ void wmmaTile(const int *in, int *out, int n) {
  using namespace nvcuda::wmma;
  __shared__ half a[256];
  __shared__ float c[256];
  for (int i = threadIdx.x; i < n; i += 64) a[i] = __int2half_rn(in[i] & 7);
  __syncthreads();
  if (threadIdx.x < 32) {
    fragment<matrix_a, 16, 16, 16, half, row_major> fa; fragment<matrix_b, 16, 16, 16, half, col_major> fb; fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f); load_matrix_sync(fa, a, 16); load_matrix_sync(fb, a, 16); mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 64) out[i] = (int)c[i];
}
)";

struct Case {
  const char *kernel;
  Dim3 grid, block;
  int n;
  size_t inputs, outputs; ///< elements
  bool matrices = false;  ///< (A, B, C, 64, 64, n) instead of (in, out, n)
  size_t elementBytes = 4;
  bool isFloat = false;
};
const Case cases[] = {
    {"reverse", {1}, {128}, 100, 100, 100},
    {"warpReverse", {1}, {32}, 5, 32, 32},
    {"reduce", {1}, {128}, 120, 120, 1},
    {"histogram", {3}, {64}, 170, 170, 16},
    {"stencil", {3}, {64}, 150, 150, 150},
    {"scan", {1}, {128}, 128, 128, 128},
    {"transpose", {2, 2}, {32, 8}, 64, 4096, 4096},
    {"lastBlock", {16}, {64}, 16, 16, 32},
    {"gridBarrier", {4}, {64}, 256, 256, 512},
    {"named", {1}, {128}, 3, 64, 192},
    {"phases", {1}, {64}, 3, 64, 64},
    {"pipeline", {1}, {128}, 6, 768, 1},
    {"wmmaTile", {1}, {64}, 256, 256, 256},
    {"softmax", {2}, {64}, 128, 256, 256, false, 4, true},
    {"sgemm64", {1, 1}, {16, 16}, 64, 4096, 4096, true, 4, true},
    {"mma64", {1, 1}, {128}, 128, 8192, 4096, true, 2, true},
};

struct Explanation {
  const char *kernel, *statement; ///< a piece of the deleted PTX, guard apart
  int most;                       ///< so many deletions
  const char *why;
};
const Explanation explanations[] = {
    {"gridBarrier", "membar", 1, "the fence after the wait: by default a strong read acquires without one (strict-fences looks closer)"},
    {"softmax", "bar.sync", 1, "the last barrier protects a scratch array that nobody uses again"},
};

class Mutations : public EngineTest, public testing::WithParamInterface<Case> {};

struct Mutant {
  size_t begin, end;
  bool isGuard;
};

/// Statements of one kernel that order or protect something.
std::vector<Mutant> mutantsOf(const std::string &ptx, const std::string &kernel) {
  size_t entry = ptx.find(".entry " + kernel + "("), end = ptx.find("\n}", entry);
  std::vector<Mutant> result;
  for (size_t at = ptx.find('\n', entry); at < end; at = ptx.find('\n', at + 1)) {
    size_t lineEnd = ptx.find('\n', at + 1);
    std::string line = ptx.substr(at + 1, lineEnd - at - 1);
    if (line.find("//") != line.npos)
      line.resize(line.find("//"));
    for (const char *what : {"bar.sync", "bar.warp.sync", "bar.arrive", "barrier.sync", "cp.async.wait", "membar", "fence.", "mbarrier.arrive", "mbarrier.init"}) {
      size_t found = line.find(what);
      if (found != line.npos && line.find(';', found) != line.npos)
        result.push_back({at + 1 + found, at + 1 + line.find(';', found), false});
    }
    // A guard: a conditional branch forwards.
    size_t branch = line.find(" bra");
    if (line.find('@') != line.npos && branch != line.npos) {
      size_t dollar = line.find('$');
      std::string label = line.substr(dollar, line.find(';') - dollar);
      size_t target = ptx.find("\n" + label + ":", entry);
      if (target != ptx.npos && target > at) {
        // "@p bra A; bra B; A:" guards A by going there: without the guard everybody does.
        size_t next = ptx.find_first_not_of("\n\t ", lineEnd);
        bool goesThere = ptx.compare(next, 7, "bra.uni") == 0;
        result.push_back({at + 1 + line.find('@'), at + 1 + (goesThere ? branch : line.find(';')), true});
      }
    }
  }
  return result;
}

TEST_P(Mutations, EveryDeletionIsReportedOrRedundant) {
  const Case &c = GetParam();
  bool isBenchmark = c.isFloat;
  const std::string &ptx = ptxOf(isBenchmark ? benchmarkKernels : suite);
  bool hole = false; // in what was written: copying the result to the host would report it
  auto run = [&](const std::string &text, std::vector<uint32_t> &result) {
    Bench bench(true);
    bench.config.checks.sharedRaces = bench.config.checks.globalRaces = bench.config.checks.uninitialised = true;
    bench.config.livelockSteps = 20000;
    bench.config.stepBudget = 2000000;
    EXPECT_TRUE(bench.load(text)) << bench.log;
    auto *in = bench.allocate<char>(c.inputs * c.elementBytes), *other = bench.allocate<char>(c.inputs * c.elementBytes);
    auto *out = bench.allocate<uint32_t>(c.outputs, "out", std::string(c.kernel) == "histogram");
    std::mt19937 random(7);
    for (char *buffer : {in, other})
      for (size_t i = 0; i < c.inputs; ++i) {
        if (c.elementBytes == 2)
          reinterpret_cast<uint16_t *>(buffer)[i] = uint16_t(0x3F80 + random() % 64);
        else if (c.isFloat)
          reinterpret_cast<float *>(buffer)[i] = float(random() % 64) / 16;
        else
          reinterpret_cast<uint32_t *>(buffer)[i] = random() % 1000;
      }
    LaunchResult launched = c.matrices ? bench.run(c.kernel, c.grid, c.block, in, other, out, 64, 64, c.n)
                                       : bench.run(c.kernel, c.grid, c.block, in, out, c.n);
    result.assign(out, out + c.outputs);
    hole = bench.memory.firstUndefined(reinterpret_cast<uint64_t>(out), c.outputs * 4).has_value();
    return launched;
  };
  std::vector<uint32_t> right, got;
  CLEAN(run(ptx, right));
  const bool hadHole = hole;
  std::vector<Mutant> mutants = mutantsOf(ptx, c.kernel);
  int reported = 0, redundant = 0;
  std::vector<int> explained(std::size(explanations));
  for (const Mutant &mutant : mutants) {
    std::string text = ptx, statement = ptx.substr(mutant.begin, mutant.end - mutant.begin);
    std::fill(text.begin() + long(mutant.begin), text.begin() + long(mutant.end), ' ');
    if (run(text, got).status != LaunchStatus::Ok || hole != hadHole) {
      ++reported;
      continue;
    }
    if (mutant.isGuard && got == right) {
      ++redundant;
      continue;
    }
    bool known = false;
    for (size_t i = 0; i < std::size(explanations) && !known; ++i)
      known = explanations[i].kernel == std::string(c.kernel) && statement.find(explanations[i].statement) != statement.npos && ++explained[i] <= explanations[i].most;
    size_t line = 1 + size_t(std::count(ptx.begin(), ptx.begin() + long(mutant.begin), '\n'));
    EXPECT_TRUE(known) << "deleting \"" << statement << "\" (PTX line " << line << ") goes unnoticed"
                       << (got == right ? ", the result is right" : ", the result is wrong") << "\n"
                       << ptx.substr(mutant.begin > 300 ? mutant.begin - 300 : 0, 600);
  }
  EXPECT_GE(reported, 1);
  RecordProperty("reported", reported);
  RecordProperty("redundant", redundant);
  std::printf("%s: %zu deletions, %d reported, %d redundant guards\n", c.kernel, mutants.size(), reported, redundant);
}

INSTANTIATE_TEST_SUITE_P(Suite, Mutations, testing::ValuesIn(cases), [](auto &info) { return std::string(info.param.kernel); });

} // namespace
} // namespace graphc::cudasim
