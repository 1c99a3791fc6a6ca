// Compiled into a shared object, as the kernels of an artifact are.
#include "runtime/base/KernelContext.h"

#ifndef FACTOR
#define FACTOR 1
#endif

extern "C" void add(void *const *buffers, const int64_t *, GraphcKernelContext *, int64_t begin, int64_t end) {
  auto *a = static_cast<const float *>(buffers[0]), *b = static_cast<const float *>(buffers[1]);
  auto *out = static_cast<float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = (a[i] + b[i]) * FACTOR;
}

extern "C" void scale(void *const *buffers, const int64_t *scalars, GraphcKernelContext *, int64_t begin, int64_t end) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *out = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] * static_cast<float>(scalars[0]);
}
