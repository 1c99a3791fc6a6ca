// What the generated export table (generate_exports.py) and the hand-written part of the API share.
#pragma once

#include "runtime/cudasim/api/CudaHeader.h"

namespace graphc::cudasim {

/// While alive on a thread, stream 0 means the thread's own default stream (the `_ptsz` and `_ptds` functions). Also
/// remembers who called, since the plain function it forwards to would only see the library itself.
class PerThreadDefaultStream {
public:
  explicit PerThreadDefaultStream(void *caller);
  ~PerThreadDefaultStream();

private:
  bool outer;
  void *outerCaller;
};

/// Counts the call and says once per function on the report stream that it is missing.
CUresult answerNotSupported(const char *name);

struct ExportedFunction {
  const char *base;    ///< "cuMemAlloc"
  int version;         ///< CUDA version that introduced this form
  bool perThread;      ///< a _ptsz or _ptds form
  const char *name;    ///< "cuMemAlloc_v2"
  void *address;
};
extern const ExportedFunction exportedFunctions[]; ///< sorted by base, version
extern const unsigned exportedFunctionCount;

struct ErrorName {
  int value;
  const char *name;
};
extern const ErrorName errorNames[];
extern const unsigned errorNameCount;

} // namespace graphc::cudasim
