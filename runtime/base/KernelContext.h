// What a CPU kernel is handed besides buffers and scalars. Plain C layout: generated code addresses these fields
// by byte offset, so fields are only ever appended.
#pragma once

#include <cstdint>

extern "C" {

/// The first out-of-range index a kernel meets is written here (flag set last) and read after the run.
/// `site` numbers the checks inside one kernel; the plan maps it back to an op and a source location.
struct GraphcErrorCell {
  int32_t flag;
  int32_t site;
  int64_t value, lower, upper;
};

struct GraphcKernelContext {
  GraphcErrorCell *error;
  void *scratch; // per worker, 64-byte aligned
  int64_t scratchBytes;
};

/// A compiled kernel runs the iterations [begin, end) of its outermost parallel range.
typedef void (*GraphcKernelFn)(void *const *buffers, const int64_t *scalars, GraphcKernelContext *context,
                               int64_t begin, int64_t end);
}
