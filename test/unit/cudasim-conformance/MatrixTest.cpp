// Asynchronous copies, mma.sync, ldmatrix and wmma, each with an answer computed on the host.
#include "test/unit/cudasim-conformance/Driver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace graphc::cudasim::conformance {
namespace {

class Matrices : public Conformance {};

// -- asynchronous copies ------------------------------------------------------------------------------

TEST_P(Matrices, AsyncCopies) {
  Program &program = Program::get(R"(
extern "C" __global__ void copies(const int *in, int *out, int valid) {
  __shared__ __align__(16) int s[2][256];
  auto copy = [&](int stage, const int *from, int bytes) {
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[stage][threadIdx.x * 4]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from + threadIdx.x * 4), "r"(bytes) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  copy(0, in, 16);
  copy(1, in + 256, threadIdx.x < valid ? 16 : 0);
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) out[i] = s[0][255 - i];
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) out[256 + i] = s[1][i];
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[0][threadIdx.x]);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" ::"r"(to), "l"(in + 511 - threadIdx.x) : "memory");
  out[512 + threadIdx.x] = s[0][threadIdx.x];
})", arch());
  std::vector<int> in(512);
  std::iota(in.begin(), in.end(), 1000);
  Buffer<int> input(in), out(576);
  int valid = 40;
  ASSERT_EQ(run(program.function("copies"), {1}, {64}, 0, input, out, valid), CUDA_SUCCESS);
  auto read = out.read();
  for (int i = 0; i < 256; ++i) {
    ASSERT_EQ(read[i], in[255 - i]);
    ASSERT_EQ(read[256 + i], i < valid * 4 ? in[256 + i] : 0);
  }
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(read[512 + i], in[511 - i]);
}

float bf16Value(uint16_t h) {
  uint32_t u = uint32_t(h) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
float halfValue(uint16_t h) {
  int exponent = (h >> 10) & 31, mantissa = h & 1023;
  float v = exponent ? std::ldexp(1.0f + mantissa / 1024.0f, exponent - 15) : std::ldexp(mantissa / 1024.0f, -14);
  return h & 0x8000 ? -v : v;
}

/// The fragment layouts of the PTX ISA, written out: which (row, column) each register piece holds.
struct MmaCase {
  const char *name, *shape, *types;
  int m, k, aBits; ///< n is 8
  const char *accumulator; ///< f32 f16 s32
};
const MmaCase mmaCases[] = {
    {"f16k16", "m16n8k16", "f32.f16.f16.f32", 16, 16, 16, "f32"}, {"f16k8", "m16n8k8", "f32.f16.f16.f32", 16, 8, 16, "f32"},
    {"f16acc", "m16n8k16", "f16.f16.f16.f16", 16, 16, 16, "f16"}, {"f16acck8", "m16n8k8", "f16.f16.f16.f16", 16, 8, 16, "f16"},
    {"bf16k16", "m16n8k16", "f32.bf16.bf16.f32", 16, 16, 16, "f32"}, {"bf16k8", "m16n8k8", "f32.bf16.bf16.f32", 16, 8, 16, "f32"},
    {"tf32k8", "m16n8k8", "f32.tf32.tf32.f32", 16, 8, 32, "f32"}, {"tf32k4", "m16n8k4", "f32.tf32.tf32.f32", 16, 4, 32, "f32"},
    {"s8k32", "m16n8k32", "s32.s8.s8.s32", 16, 32, 8, "s32"}, {"s8k16", "m16n8k16", "s32.s8.s8.s32", 16, 16, 8, "s32"},
    {"e4m3k32", "m16n8k32", "f32.e4m3.e4m3.f32", 16, 32, 8, "f32"}, {"e5m2k16", "m16n8k16", "f32.e5m2.e5m2.f32", 16, 16, 8, "f32"},
    {"u8k32", "m16n8k32", "s32.u8.s8.s32", 16, 32, 8, "s32"}, {"s8m8", "m8n8k16", "s32.s8.u8.s32", 8, 16, 8, "s32"}};

TEST_P(Matrices, MatrixMultiply) {
  std::string source;
  auto list = [](const char *constraint, const std::string &array, int count, int &next, std::string &operands, std::string &constraints) {
    operands += "{";
    for (int i = 0; i < count; ++i) {
      operands += (i ? ",%" : "%") + std::to_string(next++);
      constraints += std::string(constraints.empty() ? "" : ",") + "\"" + constraint + "\"(" + array + "[" + std::to_string(i) + "])";
    }
    operands += "}";
  };
  auto counts = [](const MmaCase &c) {
    int per = 32 / c.aBits;
    return std::array<int, 3>{c.m * c.k / 32 / per, c.k * 8 / 32 / per, c.m * 8 / 32 / (std::string(c.accumulator) == "f16" ? 2 : 1)};
  };
  auto exists = [&](const MmaCase &c) { return arch() != "compute_80" || std::string(c.types).find("f32.e") == std::string::npos; };
  for (const MmaCase &c : mmaCases) {
    if (!exists(c))
      continue;
    auto [a, b, d] = counts(c);
    std::string operands, outputs, inputs;
    int next = 0;
    list("+r", "d", d, next, operands, outputs);
    std::string accumulators = operands;
    operands += ", ";
    list("r", "a", a, next, operands, inputs);
    operands += ", ";
    list("r", "b", b, next, operands, inputs);
    source += std::string("extern \"C\" __global__ void ") + c.name + "(const unsigned *A, const unsigned *B, unsigned *D) {\n" +
              "  unsigned a[" + std::to_string(a) + "], b[" + std::to_string(b) + "], d[" + std::to_string(d) + "]; int l = threadIdx.x;\n" +
              "  for (int i = 0; i < " + std::to_string(a) + "; ++i) a[i] = A[i * 32 + l];\n" +
              "  for (int i = 0; i < " + std::to_string(b) + "; ++i) b[i] = B[i * 32 + l];\n" +
              "  for (int i = 0; i < " + std::to_string(d) + "; ++i) d[i] = D[i * 32 + l];\n" +
              "  asm volatile(\"mma.sync.aligned." + c.shape + ".row.col." + c.types + " " + operands + ", " + accumulators + ";\" : " + outputs + " : " + inputs + ");\n" +
              "  for (int i = 0; i < " + std::to_string(d) + "; ++i) D[i * 32 + l] = d[i];\n}\n";
  }
  Program &program = Program::get(source, arch());
  for (const MmaCase &c : mmaCases) {
    if (!exists(c))
      continue;
    SCOPED_TRACE(c.name);
    auto [aCount, bCount, dCount] = counts(c);
    std::mt19937 random(5);
    int per = 32 / c.aBits;
    std::vector<std::vector<double>> A(c.m, std::vector<double>(c.k)), B(c.k, std::vector<double>(8)), C(c.m, std::vector<double>(8));
    std::vector<unsigned> a(aCount * 32), b(bCount * 32), d(dCount * 32);
    std::string types = c.types;
    bool isF16 = types.find(".f16") != types.npos && types.find(".bf16") == types.npos, isBf16 = types.find("bf16") != types.npos;
    bool signedA = types.find("u8.s8") == types.npos, signedB = types.find("s8.u8") == types.npos;
    auto piece = [&](double &value, bool isSigned) -> unsigned {
      unsigned bits = random();
      if (c.aBits == 32) { // tf32
        value = double(int(bits % 2048) - 1024) / 512;
        float f = float(value);
        std::memcpy(&bits, &f, 4);
        return bits;
      }
      if (c.aBits == 8 && types.find("f32.e") != types.npos) { // normal 8-bit floats of moderate size
        bool isE5m2 = types.find("e5m2") != types.npos;
        unsigned mantissa = isE5m2 ? 2 : 3, exponent = (isE5m2 ? 13 : 5) + bits % 4, fraction = bits >> 8 & ((1u << mantissa) - 1);
        value = std::ldexp(1.0 + double(fraction) / (1 << mantissa), int(exponent) - (isE5m2 ? 15 : 7));
        return exponent << mantissa | fraction;
      }
      if (c.aBits == 8) {
        value = isSigned ? double(int8_t(bits)) : double(uint8_t(bits));
        return bits & 255;
      }
      uint16_t h = isF16 ? uint16_t(0x3000 + bits % 0x0C00) : uint16_t(0x3E00 + bits % 0x0200);
      h |= bits & 0x8000;
      value = isF16 ? halfValue(h) : bf16Value(h);
      return h;
    };
    (void)isBf16;
    int halves = c.m / 8;
    for (int r = 0; r < aCount; ++r)
      for (int l = 0; l < 32; ++l)
        for (int e = 0; e < per; ++e) {
          int row = l / 4 + (halves == 2 ? (r % 2) * 8 : 0), column = (l % 4) * per + e + (r / halves) * 4 * per;
          a[r * 32 + l] |= piece(A[row][column], signedA) << (e * c.aBits % 32);
        }
    for (int r = 0; r < bCount; ++r)
      for (int l = 0; l < 32; ++l)
        for (int e = 0; e < per; ++e)
          b[r * 32 + l] |= piece(B[(l % 4) * per + e + r * 4 * per][l / 4], signedB) << (e * c.aBits % 32);
    std::string accumulator = c.accumulator;
    auto place = [&](int r, int l, int e) {
      return accumulator == "f16" ? std::pair{l / 4 + r * 8, (l % 4) * 2 + e} : std::pair{l / 4 + (r / 2) * 8, (l % 4) * 2 + r % 2};
    };
    for (int r = 0; r < dCount; ++r)
      for (int l = 0; l < 32; ++l)
        for (int e = 0; e < (accumulator == "f16" ? 2 : 1); ++e) {
          auto [row, column] = place(r, l, e);
          if (accumulator == "f16") {
            uint16_t h = uint16_t(0x3C00 + random() % 256);
            C[row][column] = halfValue(h);
            d[r * 32 + l] |= unsigned(h) << (16 * e);
          } else if (accumulator == "f32") {
            float f = float(int(random() % 64)) / 8;
            C[row][column] = f;
            std::memcpy(&d[r * 32 + l], &f, 4);
          } else {
            d[r * 32 + l] = random() % 1000;
            C[row][column] = d[r * 32 + l];
          }
        }
    Buffer<unsigned> deviceA(a), deviceB(b), deviceD(d);
    ASSERT_EQ(run(program.function(c.name), {1}, {32}, 0, deviceA, deviceB, deviceD), CUDA_SUCCESS);
    auto out = deviceD.read();
    for (int r = 0; r < dCount; ++r)
      for (int l = 0; l < 32; ++l)
        for (int e = 0; e < (accumulator == "f16" ? 2 : 1); ++e) {
          auto [row, column] = place(r, l, e);
          double want = C[row][column], magnitude = std::fabs(want);
          for (int k = 0; k < c.k; ++k) {
            want += A[row][k] * B[k][column];
            magnitude += std::fabs(A[row][k] * B[k][column]);
          }
          if (accumulator == "s32") {
            ASSERT_EQ(int(out[r * 32 + l]), int(want));
          } else if (accumulator == "f16") {
            ASSERT_NEAR(halfValue(uint16_t(out[r * 32 + l] >> (16 * e))), want, magnitude * 2e-3);
          } else {
            float got;
            std::memcpy(&got, &out[r * 32 + l], 4);
            ASSERT_NEAR(got, want, magnitude * 1e-6) << row << "," << column;
          }
        }
  }
}

TEST_P(Matrices, LoadMatrix) {
  std::string source = R"(
extern "C" __global__ void matrices(const unsigned short *in, unsigned *out) {
  __shared__ __align__(16) unsigned short s[32][8];
  int l = threadIdx.x;
  for (int c = 0; c < 8; ++c) s[l][c] = in[l * 8 + c];
  __syncthreads();
  unsigned p = (unsigned)__cvta_generic_to_shared(&s[l][0]), a[4], b[4], c[2], d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(p));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(p));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(c[0]), "=r"(c[1]) : "r"(p));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(d) : "r"(p));
  for (int i = 0; i < 4; ++i) { out[i * 32 + l] = a[i]; out[128 + i * 32 + l] = b[i]; }
  out[256 + l] = c[0]; out[288 + l] = c[1]; out[320 + l] = d;
  unsigned m; asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(a[0])); out[352 + l] = m;
})";
  bool stores = arch() != "compute_80";
  if (stores)
    source += R"(
extern "C" __global__ void store(unsigned short *out) {
  __shared__ __align__(16) unsigned short s[32][8];
  int l = threadIdx.x; unsigned p = (unsigned)__cvta_generic_to_shared(&s[l][0]), v[4];
  for (int i = 0; i < 4; ++i) { int r = i * 8 + l / 4, c = (l % 4) * 2; v[i] = (r * 8 + c) | (r * 8 + c + 1) << 16; }
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(p), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
  __syncthreads();
  for (int c = 0; c < 8; ++c) out[l * 8 + c] = s[l][c];
})";
  Program &program = Program::get(source, arch());
  std::vector<uint16_t> in(256);
  std::iota(in.begin(), in.end(), uint16_t(100));
  Buffer<uint16_t> input(in);
  Buffer<unsigned> out(384);
  ASSERT_EQ(run(program.function("matrices"), {1}, {32}, 0, input, out), CUDA_SUCCESS);
  auto read = out.read();
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < 32; ++l) {
      auto at = [&](int r, int c) { return unsigned(in[(i * 8 + r) * 8 + c]); };
      unsigned plain = at(l / 4, l % 4 * 2) | at(l / 4, l % 4 * 2 + 1) << 16, turned = at(l % 4 * 2, l / 4) | at(l % 4 * 2 + 1, l / 4) << 16;
      ASSERT_EQ(read[i * 32 + l], plain);
      ASSERT_EQ(read[128 + i * 32 + l], turned);
      if (i < 2)
        ASSERT_EQ(read[256 + i * 32 + l], plain);
      if (i == 0) {
        ASSERT_EQ(read[320 + l], turned);
        ASSERT_EQ(read[352 + l], turned);
      }
    }
  if (stores) {
    Buffer<uint16_t> stored(256);
    ASSERT_EQ(run(program.function("store"), {1}, {32}, 0, stored), CUDA_SUCCESS);
    auto values = stored.read();
    for (int i = 0; i < 256; ++i)
      ASSERT_EQ(values[i], i);
  }
}

TEST_P(Matrices, WmmaFragments) {
  Program &program = Program::get(R"(
#include <mma.h>
using namespace nvcuda::wmma;
template <int M, int N, int K, class T, class LA, class LB>
__device__ void tile(const T *a, const T *b, float *c, int lda, int ldb) {
  fragment<matrix_a, M, N, K, T, LA> fa; fragment<matrix_b, M, N, K, T, LB> fb; fragment<accumulator, M, N, K, float> fc;
  fill_fragment(fc, 1.0f);
  load_matrix_sync(fa, a, lda); load_matrix_sync(fb, b, ldb);
  mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2;
  store_matrix_sync(c, fc, N, mem_row_major);
}
extern "C" __global__ void square(const half *a, const half *b, float *c) { tile<16, 16, 16, half, row_major, col_major>(a, b, c, 16, 16); }
extern "C" __global__ void tall(const half *a, const half *b, float *c) { tile<32, 8, 16, half, row_major, row_major>(a, b, c, 16, 8); }
extern "C" __global__ void flat(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) { tile<8, 32, 16, __nv_bfloat16, col_major, row_major>(a, b, c, 8, 32); }
extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c) {
  fragment<matrix_a, 16, 16, 16, signed char, row_major> fa; fragment<matrix_b, 16, 16, 16, signed char, col_major> fb; fragment<accumulator, 16, 16, 16, int> fc;
  fill_fragment(fc, 3); load_matrix_sync(fa, a, 16); load_matrix_sync(fb, b, 16); mma_sync(fc, fa, fb, fc); store_matrix_sync(c, fc, 16, mem_row_major);
}
extern "C" __global__ void halves(const half *a, const half *b, half *c) {
  fragment<matrix_a, 16, 16, 16, half, row_major> fa; fragment<matrix_b, 16, 16, 16, half, col_major> fb; fragment<accumulator, 16, 16, 16, half> fc;
  load_matrix_sync(fc, c, 16, mem_row_major); load_matrix_sync(fa, a, 16); load_matrix_sync(fb, b, 16); mma_sync(fc, fa, fb, fc); store_matrix_sync(c, fc, 16, mem_col_major);
})", arch());
  std::mt19937 random(11);
  auto halvesOf = [&](size_t count) {
    std::vector<uint16_t> values(count);
    for (auto &v : values)
      v = uint16_t(0x3400 + random() % 0x0800) | uint16_t(random() & 0x8000);
    return values;
  };
  auto check = [&](const char *name, int M, int N, int K, bool rowA, bool rowB, bool isBf16) {
    SCOPED_TRACE(name);
    auto a = halvesOf(M * K), b = halvesOf(K * N);
    Buffer<uint16_t> da(a), db(b);
    Buffer<float> dc(M * N);
    ASSERT_EQ(run(program.function(name), {1}, {32}, 0, da, db, dc), CUDA_SUCCESS);
    auto c = dc.read();
    auto value = [&](uint16_t h) { return double(isBf16 ? bf16Value(h) : halfValue(h)); };
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        double want = 1, magnitude = 1;
        for (int k = 0; k < K; ++k) {
          double p = value(a[rowA ? m * K + k : k * M + m]) * value(b[rowB ? k * N + n : n * K + k]);
          want += p;
          magnitude += std::fabs(p);
        }
        ASSERT_NEAR(c[m * N + n], want * 2, magnitude * 4e-6);
      }
  };
  check("square", 16, 16, 16, true, false, false);
  check("tall", 32, 8, 16, true, true, false);
  check("flat", 8, 32, 16, false, true, true);
  std::vector<int8_t> a(256), b(256);
  for (int i = 0; i < 256; ++i)
    a[i] = int8_t(random()), b[i] = int8_t(random());
  Buffer<int8_t> da(a), db(b);
  Buffer<int> dc(256);
  ASSERT_EQ(run(program.function("bytes"), {1}, {32}, 0, da, db, dc), CUDA_SUCCESS);
  auto c = dc.read();
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      int want = 3;
      for (int k = 0; k < 16; ++k)
        want += a[m * 16 + k] * b[n * 16 + k];
      ASSERT_EQ(c[m * 16 + n], want);
    }
  auto ha = halvesOf(256), hb = halvesOf(256), hc = halvesOf(256);
  Buffer<uint16_t> dha(ha), dhb(hb), dhc(hc);
  ASSERT_EQ(run(program.function("halves"), {1}, {32}, 0, dha, dhb, dhc), CUDA_SUCCESS);
  auto out = dhc.read();
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      double want = halfValue(hc[m * 16 + n]);
      for (int k = 0; k < 16; ++k)
        want += double(halfValue(ha[m * 16 + k])) * halfValue(hb[n * 16 + k]);
      ASSERT_NEAR(halfValue(out[n * 16 + m]), want, 0.02);
    }
}

/// sm_70's form: four products a warp, each in eight lanes. Which element a register piece holds is written out from the ISA.
TEST_P(Matrices, QuadPairs) {
  std::string source;
  for (bool columnA : {false, true})
    for (bool columnB : {false, true})
      for (bool halfD : {false, true})
        for (bool halfC : {false, true}) {
          std::string name = std::string("quads") + (columnA ? "c" : "r") + (columnB ? "c" : "r") + (halfD ? "h" : "f") + (halfC ? "h" : "f");
          int d = halfD ? 4 : 8, c = halfC ? 4 : 8, next = 0;
          auto list = [&](int count) {
            std::string text = "{";
            for (int i = 0; i < count; ++i)
              text += (i ? ",%" : "%") + std::to_string(next++);
            return text + "}";
          };
          std::string operands = list(d) + ", " + list(2) + ", " + list(2) + ", " + list(c), outputs, inputs;
          for (int i = 0; i < d; ++i)
            outputs += std::string(i ? "," : "") + (halfD ? "\"=r\"(d[" : "\"=f\"(((float *)d)[") + std::to_string(i) + "])";
          for (int i = 0; i < 4; ++i)
            inputs += "\"r\"(" + std::string(i < 2 ? "a[" : "b[") + std::to_string(i % 2) + "]),";
          for (int i = 0; i < c; ++i)
            inputs += std::string(i ? "," : "") + (halfC ? "\"r\"(c[" : "\"f\"(((float *)c)[") + std::to_string(i) + "])";
          source += "extern \"C\" __global__ void " + name + "(const unsigned *A, const unsigned *B, const unsigned *C, unsigned *D) {\n" +
                    "  unsigned a[2], b[2], c[8], d[8]; int l = threadIdx.x;\n" +
                    "  for (int i = 0; i < 2; ++i) a[i] = A[i * 32 + l], b[i] = B[i * 32 + l];\n  for (int i = 0; i < 8; ++i) c[i] = C[i * 32 + l], d[i] = 0;\n" +
                    "  asm volatile(\"mma.sync.aligned.m8n8k4." + (columnA ? "col." : "row.") + (columnB ? "col." : "row.") + (halfD ? "f16" : "f32") +
                    ".f16.f16." + (halfC ? "f16 " : "f32 ") + operands + ";\" : " + outputs + " : " + inputs + ");\n" +
                    "  for (int i = 0; i < 8; ++i) D[i * 32 + l] = d[i];\n}\n";
        }
  Program &program = Program::get(source, arch());
  std::mt19937 random(11);
  auto smallHalf = [&] { return uint16_t(random() % 2 << 15 | (14 + random() % 3) << 10 | (random() % 8) << 7); }; // sums stay exact
  for (bool columnA : {false, true})
    for (bool columnB : {false, true})
      for (bool halfD : {false, true})
        for (bool halfC : {false, true}) {
          std::string name = std::string("quads") + (columnA ? "c" : "r") + (columnB ? "c" : "r") + (halfD ? "h" : "f") + (halfC ? "h" : "f");
          SCOPED_TRACE(name);
          std::vector<uint32_t> a(64), b(64), c(256);
          for (auto *words : {&a, &b})
            for (uint32_t &word : *words)
              word = smallHalf() | uint32_t(smallHalf()) << 16;
          for (uint32_t &word : c) {
            float v = float(int(random() % 64) - 32) / 8;
            std::memcpy(&word, &v, 4);
            if (halfC)
              word = smallHalf() | uint32_t(smallHalf()) << 16;
          }
          Buffer<uint32_t> bufferA(a), bufferB(b), bufferC(c), bufferD(256);
          ASSERT_EQ(run(program.function(name.c_str()), {1}, {32}, 0, bufferA, bufferB, bufferC, bufferD), CUDA_SUCCESS);
          std::vector<uint32_t> got = bufferD.read();
          auto half = [](const std::vector<uint32_t> &words, int lane, int i) { return halfValue(uint16_t(words[i / 2 * 32 + lane] >> (16 * (i % 2)))); };
          for (int pair = 0; pair < 4; ++pair) {
            // The lane (low half of the warp: first four rows or columns) and piece of A(m, k), B(k, n), C(m, n).
            auto laneOf = [&](int inQuad, bool upper) { return pair * 4 + inQuad + (upper ? 16 : 0); };
            auto A = [&](int m, int k) { return columnA ? half(a, laneOf(k, m >= 4), m % 4) : half(a, laneOf(m % 4, m >= 4), k); };
            auto B = [&](int k, int n) { return columnB ? half(b, laneOf(n % 4, n >= 4), k) : half(b, laneOf(k, n >= 4), n % 4); };
            auto accumulator = [&](const std::vector<uint32_t> &words, bool isHalf, int m, int n) {
              if (isHalf)
                return half(words, laneOf(m % 4, m >= 4), n);
              int lane = laneOf((m & 1) | (n & 2), m >= 4), i = (n & 4) | (m & 2) | (n & 1);
              float v;
              std::memcpy(&v, &words[size_t(i) * 32 + lane], 4);
              return v;
            };
            for (int m = 0; m < 8; ++m)
              for (int n = 0; n < 8; ++n) {
                double want = accumulator(c, halfC, m, n);
                for (int k = 0; k < 4; ++k)
                  want += double(A(m, k)) * B(k, n);
                ASSERT_NEAR(accumulator(got, halfD, m, n), want, halfD ? 2e-2 : 1e-5) << pair << ": " << m << ", " << n;
              }
          }
        }
}

INSTANTIATE_TEST_SUITE_P(Arch, Matrices, testing::ValuesIn(architectures()), [](auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Matrices);

} // namespace
} // namespace graphc::cudasim::conformance
