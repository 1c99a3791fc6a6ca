#include "codegen/cuda/Prelude.h"

// No include: NVRTC spends longer on its own headers than on our kernels. Half types are their bits, widened and rounded by one
// instruction each.
const char *graphc::codegen::cuda::preludeText() {
  return R"(#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)

typedef signed char i8;
typedef short i16;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct f16 { u16 bits; };
struct bf16 { u16 bits; };
__device__ __forceinline__ float widen(f16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float(unsigned(x.bits) << 16); }
__device__ __forceinline__ f16 narrow_f16(float x) { f16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
__device__ __forceinline__ bf16 narrow_bf16(float x) { bf16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
// From double through a float rounded to odd, so that the second rounding sees what was cut off.
__device__ __forceinline__ float round_to_odd(double x) {
  float near = float(x);
  double back = near;
  if (back == x || x != x || near == INFINITY && x == double(INFINITY) || near == -INFINITY && x == -double(INFINITY)) return near;
  int bits = __float_as_int(near);
  if (fabs(back) > fabs(x)) bits -= 1;
  return __int_as_float(bits | 1);
}
__device__ __forceinline__ f16 narrow_f16(double x) { return narrow_f16(round_to_odd(x)); }
__device__ __forceinline__ bf16 narrow_bf16(double x) { return narrow_bf16(round_to_odd(x)); }

// Neighbouring elements that move in one access.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
template <int N, class T> __device__ __forceinline__ Pack<T, N> load_pack(const T* p) { return *reinterpret_cast<const Pack<T, N>*>(p); }
template <class T, int N> __device__ __forceinline__ void store_pack(T* p, const Pack<T, N>& pack) { *reinterpret_cast<Pack<T, N>*>(p) = pack; }
template <int N, class T> __device__ __forceinline__ Pack<T, N> load_pack(const T* p, bool aligned) {
  if (aligned) return load_pack<N>(p);
  Pack<T, N> pack;
  #pragma unroll
  for (int i = 0; i < N; ++i) pack.at[i] = p[i];
  return pack;
}
template <class T, int N> __device__ __forceinline__ void store_pack(T* p, const Pack<T, N>& pack, bool aligned) {
  if (aligned) return store_pack(p, pack);
  #pragma unroll
  for (int i = 0; i < N; ++i) p[i] = pack.at[i];
}
template <int N, class T> __device__ __forceinline__ Pack<T, N> same_pack(T value) {
  Pack<T, N> pack;
  #pragma unroll
  for (int i = 0; i < N; ++i) pack.at[i] = value;
  return pack;
}
template <int Bytes, class T> __device__ __forceinline__ bool is_aligned(const T* p) { return reinterpret_cast<u64>(p) % Bytes == 0; }

// Integers wrap, divide by zero to zero and shift everything out.
template <class T> struct Unsigned;
template <> struct Unsigned<i8> { typedef u8 type; };
template <> struct Unsigned<i16> { typedef u16 type; };
template <> struct Unsigned<int> { typedef u32 type; };
template <> struct Unsigned<i64> { typedef u64 type; };
template <class T> __device__ __forceinline__ T wrapping_add(T a, T b) { typedef typename Unsigned<T>::type U; return T(U(U(a) + U(b))); }
template <class T> __device__ __forceinline__ T wrapping_sub(T a, T b) { typedef typename Unsigned<T>::type U; return T(U(U(a) - U(b))); }
template <class T> __device__ __forceinline__ T wrapping_mul(T a, T b) {
  if constexpr (sizeof(T) < 4) return T(int(a) * int(b));
  else { typedef typename Unsigned<T>::type U; return T(U(a) * U(b)); }
}
template <class T> __device__ __forceinline__ T divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (T(-1) < T(0)) if (b == T(-1)) return wrapping_sub(T(0), a);
  return T(a / b);
}
template <class T> __device__ __forceinline__ T rest(T a, T b) {
  if (b == 0) return 0;
  if constexpr (T(-1) < T(0)) if (b == T(-1)) return 0;
  return T(a % b);
}
template <class T> __device__ __forceinline__ T shift_left(T a, T by) {
  typedef typename Unsigned<T>::type U;
  return U(by) >= sizeof(T) * 8 ? T(0) : T(U(U(a) << U(by)));
}
template <class T> __device__ __forceinline__ T shift_right(T a, T by) {
  constexpr int most = sizeof(T) * 8 - 1;
  if constexpr (T(-1) < T(0)) return T(a >> (typename Unsigned<T>::type(by) > most ? most : int(by)));
  else return by > T(most) ? T(0) : T(a >> by);
}
__device__ __forceinline__ int floor_div(int a, int b) { int q = a / b; return q * b > a ? q - 1 : q; }
__device__ __forceinline__ i64 floor_div(i64 a, i64 b) { i64 q = a / b; return q * b > a ? q - 1 : q; }
__device__ __forceinline__ int floor_mod(int a, int b) { int r = a % b; return r < 0 ? r + b : r; }
__device__ __forceinline__ i64 floor_mod(i64 a, i64 b) { i64 r = a % b; return r < 0 ? r + b : r; }

// NaN wins.
template <class T> __device__ __forceinline__ T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <class T> __device__ __forceinline__ T minimum(T a, T b) { return a < b || a != a ? a : b; }

template <class To, class From> __device__ __forceinline__ To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
// Out of range saturates, NaN gives 0.
template <class T, class F> __device__ __forceinline__ T saturate(F x) {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr int width = sizeof(T) * 8 - (is_signed ? 1 : 0);
  constexpr u64 most = ~0ull >> (64 - width);
  const F limit = F(1ull << (width - 1)) * F(2);
  if (x != x) return 0;
  if (x >= limit) return T(most);
  if constexpr (is_signed) { if (x < -limit) return T(T(-1) - T(most)); }
  else if (x <= F(-1)) return 0;
  return T(x);
}

// e^x to about 2^-22, for softmax and attention: one multiplication and one instruction.
__device__ __forceinline__ float fast_exp(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f)); return y; }

template <class T> __device__ __forceinline__ T exchange(unsigned members, T value, int step) { return __shfl_xor_sync(members, value, step); }
__device__ __forceinline__ bool exchange(unsigned members, bool value, int step) { return __shfl_xor_sync(members, int(value), step) != 0; }
__device__ __forceinline__ i16 exchange(unsigned members, i16 value, int step) { return i16(__shfl_xor_sync(members, int(value), step)); }
__device__ __forceinline__ i8 exchange(unsigned members, i8 value, int step) { return i8(__shfl_xor_sync(members, int(value), step)); }
__device__ __forceinline__ void atomic_add(i64* p, i64 value) { atomicAdd(reinterpret_cast<u64*>(p), u64(value)); }

// The first index out of range is kept for the next synchronisation to report; the access stays inside.
struct ErrorCell { int flag, site; i64 value, lower, upper; };
__device__ __forceinline__ i64 check_index(i64 at, i64 size, bool wrap, int site, ErrorCell* error) {
  const i64 lower = wrap ? -size : 0;
  const i64 place = at < 0 && wrap ? at + size : at;
  if (at >= lower && at < size) return place;
  if (error && atomicCAS(&error->flag, 0, 1) == 0) {
    error->site = site;
    error->value = at;
    error->lower = lower;
    error->upper = size - 1;
  }
  return place < 0 || size <= 0 ? 0 : size - 1;
}
)";
}
