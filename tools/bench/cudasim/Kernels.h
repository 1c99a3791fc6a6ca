// The benchmark kernels: row softmax, tiled SGEMM, bf16 tensor-core GEMM. Also run (small) by the tests.
#pragma once

namespace graphc::cudasim {

inline const char *benchmarkKernels = R"(
#include <cuda_bf16.h>
extern "C" __global__ void vadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__device__ float blockReduce(float v, float *scratch, bool isMax) {
  for (int d = 16; d; d >>= 1) {
    float o = __shfl_xor_sync(0xffffffff, v, d);
    v = isMax ? fmaxf(v, o) : v + o;
  }
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
  __syncthreads();
  float r = scratch[0];
  for (int i = 1; i < blockDim.x / 32; ++i) r = isMax ? fmaxf(r, scratch[i]) : r + scratch[i];
  __syncthreads();
  return r;
}
extern "C" __global__ void softmax(const float *in, float *out, int columns) {
  __shared__ float scratch[32];
  const float *row = in + (size_t)blockIdx.x * columns;
  float *result = out + (size_t)blockIdx.x * columns;
  float m = -3.4e38f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) m = fmaxf(m, row[i]);
  m = blockReduce(m, scratch, true);
  float s = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) s += __expf(row[i] - m);
  s = blockReduce(s, scratch, false);
  float inv = 1.0f / s;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) result[i] = __expf(row[i] - m) * inv;
}

// 64×64 tile, 16×16 threads, 4×4 outputs each.
extern "C" __global__ void sgemm64(const float *A, const float *B, float *C, int M, int N, int K) {
  __shared__ float As[16][64];
  __shared__ float Bs[16][64];
  int tx = threadIdx.x, ty = threadIdx.y, tid = ty * 16 + tx;
  int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = 0; i < 4; ++i) {
      int e = tid + i * 256;
      As[e % 16][e / 16] = A[(size_t)(row0 + e / 16) * K + k0 + e % 16];
      Bs[e / 64][e % 64] = B[(size_t)(k0 + e / 64) * N + col0 + e % 64];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float a[4], b[4];
      for (int i = 0; i < 4; ++i) a[i] = As[k][ty * 4 + i];
      for (int i = 0; i < 4; ++i) b[i] = Bs[k][tx * 4 + i];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) C[(size_t)(row0 + ty * 4 + i) * N + col0 + tx * 4 + j] = acc[i][j];
}

// C = A·Bᵀ in bf16 with f32 accumulation: 64×64 tile, 4 warps of 32×32, cp.async double buffering, ldmatrix.
extern "C" __global__ void mma64(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N, int K) {
  __shared__ __align__(16) __nv_bfloat16 As[2][64][40];
  __shared__ __align__(16) __nv_bfloat16 Bs[2][64][40];
  int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64, wr = (warp / 2) * 32, wc = (warp % 2) * 32;
  float acc[2][4][4] = {};
  auto load = [&](int stage, int k0) {
    for (int i = 0; i < 2; ++i) {
      int e = tid + i * 128, r = e / 4, c = (e % 4) * 8;
      unsigned sa = (unsigned)__cvta_generic_to_shared(&As[stage][r][c]);
      unsigned sb = (unsigned)__cvta_generic_to_shared(&Bs[stage][r][c]);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sa), "l"(A + (size_t)(row0 + r) * K + k0 + c) : "memory");
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sb), "l"(B + (size_t)(col0 + r) * K + k0 + c) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  load(0, 0);
  for (int k0 = 0, s = 0; k0 < K; k0 += 32, s ^= 1) {
    if (k0 + 32 < K) {
      load(s ^ 1, k0 + 32);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned a[2][4], b[4][2];
      for (int i = 0; i < 2; ++i) {
        unsigned p = (unsigned)__cvta_generic_to_shared(&As[s][wr + i * 16 + lane % 16][kk + (lane / 16) * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3]) : "r"(p) : "memory");
      }
      for (int j = 0; j < 4; ++j) {
        unsigned p = (unsigned)__cvta_generic_to_shared(&Bs[s][wc + j * 8 + lane % 8][kk + ((lane / 8) % 2) * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[j][0]), "=r"(b[j][1]) : "r"(p) : "memory");
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                       : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                       : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e)
        C[(size_t)(row0 + wr + i * 16 + lane / 4 + (e / 2) * 8) * N + col0 + wc + j * 8 + (lane % 4) * 2 + e % 2] = acc[i][j][e];
}
)";

} // namespace graphc::cudasim
