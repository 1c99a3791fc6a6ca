// Matrix products, convolutions and pooling through oneDNN. oneDNN's own headers are seen only by the files of this folder
// whose names begin with OneDnn.
//
//   LibraryCall     one command of a plan: what to compute, which operands are constant (packed at load)
//   LibraryKernel   the call at concrete sizes: primitives, one per slice, each run single-threaded by a worker
//   BoundLibrary    a kernel with addresses; belongs to one Context
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/devices/cpu/PackingCache.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace graphc::cpu {

struct LibraryOperand {
  DType dtype = DType::F32;
  bool present = false;
  const void *constant = nullptr; // start of the buffer when its contents never change
};

/// Immutable once made, so any number of contexts share it.
class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  virtual int slices() const = 0;
  /// Scratch one worker needs while it runs a slice.
  virtual int64_t scratchBytes() const = 0;
  /// What the library chose ("brg:avx2", "jit_1x1:avx2" …); differing slices are joined by '+'.
  virtual const std::string &implementation() const = 0;
  /// Whether the choice is one of the slow general ones (gemm, ref); worth a remark.
  virtual bool slow() const = 0;
  /// Whether a run still reads the constant operand where the plan put it (false: a packed copy is used).
  virtual bool readsConstant(int operand) const = 0;
};

class BoundLibrary {
public:
  virtual ~BoundLibrary() = default;
  /// One address per operand of the command (null where absent or packed).
  virtual void setAddresses(std::span<void *const> addresses) = 0;
  /// `scratch` is 64-byte aligned and holds scratchBytes().
  virtual Status run(int slice, void *scratch) = 0;
};

class LibraryCall {
public:
  /// `threads`: into how many slices a large call is cut.
  static Result<std::unique_ptr<LibraryCall>> create(const plan::PlanT &plan, const plan::LibraryT &library,
                                                     std::vector<LibraryOperand> operands, PackingCache &packing,
                                                     int threads);
  virtual ~LibraryCall() = default;

  /// The expressions whose values make up the geometry handed to kernelFor().
  virtual const std::vector<int> &geometryExprs() const = 0;
  /// Whether the geometry can differ from call to call.
  virtual bool dynamic() const = 0;
  /// Finds or builds the kernel for these values. Thread-safe; building takes 0.1–1 ms, finding well under 1 µs.
  /// With `exact` false, sizes never seen are served by primitives of other sizes where that is possible: rows of a
  /// matmul and images of a batch in blocks of powers of two, which are made at first use. That costs microseconds, and pays
  /// until the size comes again.
  virtual Result<std::shared_ptr<const LibraryKernel>> kernelFor(std::span<const int64_t> geometry, bool exact) = 0;
  /// `recycled`: what bind() of this call gave the same context for another size, or null; what it holds is used again.
  virtual std::unique_ptr<BoundLibrary> bind(std::shared_ptr<const LibraryKernel> kernel, std::unique_ptr<BoundLibrary> recycled = nullptr) = 0;
};

/// The calling thread's OpenMP thread count is 1 while this lives: oneDNN would start a team per calling thread.
class SerialOpenMP {
public:
  SerialOpenMP();
  ~SerialOpenMP();
  SerialOpenMP(const SerialOpenMP &) = delete;
  SerialOpenMP &operator=(const SerialOpenMP &) = delete;
  /// For threads of our own: once is enough.
  static void forThisThread();

private:
  int saved_ = 0;
};

/// Whether 8-bit products accumulate exactly here. Without VNNI the library adds pairs of u8·s8 products in saturating
/// 16-bit arithmetic (255·127 twice is too much), so such calls are refused and belong into generated kernels.
bool exactInt8();

/// "oneDNN 2.6.3 isa 7": part of every packing key.
std::string libraryVersion();

} // namespace graphc::cpu
