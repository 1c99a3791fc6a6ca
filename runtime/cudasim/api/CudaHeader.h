// cuda.h as a driver implements it: every prototype under its ABI name, visible outside the library.
//
// `__CUDA_API_VERSION_INTERNAL` is the toolkit's own switch for that: it declares the versioned and the
// per-thread-stream names and then removes the renaming macros, so `cuMemAlloc_v2` is written as such in our sources.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT
#include <cuda.h>
