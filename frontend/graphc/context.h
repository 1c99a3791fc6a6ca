// What ops of a thread read without being told: default element type, gradient mode, random generator. Each thread has
// one of its own; a program that wants two independent worlds on one thread makes another and uses it for a while:
//
//   ThreadContext other;
//   { ThreadContext::Use use(other); … }
#pragma once

#include "frontend/graphc/device.h"
#include "frontend/graphc/random.h"
#include "runtime/base/DType.h"

#include <memory>

namespace graphc {

struct OpStatistics {
  int64_t calls = 0;          // ops run
  int64_t launches = 0;       // starts of a kernel or of a plan; one may serve many tensors
  int64_t compiled = 0;       // executables built because no table held them
  int64_t fromDisk = 0;       // executables that the cache folder held
  int64_t denseCopies = 0;    // operands copied because no kernel reads them as they lie
  int64_t denseCopyBytes = 0;
};

class ThreadContext {
public:
  ThreadContext();
  ~ThreadContext();
  ThreadContext(const ThreadContext &) = delete;
  ThreadContext &operator=(const ThreadContext &) = delete;

  /// The one this thread uses now.
  static ThreadContext &current();

  class Use {
  public:
    explicit Use(ThreadContext &context);
    ~Use();
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

  private:
    ThreadContext *before_;
  };

  DType defaultDtype = DType::F32;
  Device defaultDevice;
  bool gradEnabled = true;
  bool inferenceMode = false;
  bool anomalyDetection = false;
  /// Ops give the same bits every time; where a device knows a faster way that does not, `false` allows it. The CPU has none.
  bool deterministic = true;
  /// Products of f32 tensors may be computed with operands of 10 bits of mantissa where the device has units for that. The CPU
  /// has none.
  bool allowTf32 = false;
  /// Threads one op may use; 0: as many as the process may use. Results do not depend on it.
  int threads = 0;

  Generator &generator();
  const OpStatistics &opStatistics() const;
  void resetOpStatistics();

  struct State; // opaque: the table of compiled ops
  State &state() { return *state_; }

private:
  std::unique_ptr<State> state_;
};

/// Results of float factories without a dtype.
void setDefaultDtype(DType dtype);
DType defaultDtype();

/// Folder in which compiled ops are kept for the next process, which then runs them without the compiler; empty: none. For the
/// whole process.
void setOpCacheFolder(const std::string &folder);

namespace memory {
/// Bytes of tensors: what is in use, the most there ever was since resetPeak(), and what is kept for reuse; and how often memory
/// was asked for. Of any device; one that is not there is an error.
struct Stats {
  int64_t allocated = 0, peakAllocated = 0, cached = 0, allocations = 0;
};
Stats stats(Device device = Device::cpu());
void resetPeak(Device device = Device::cpu());
/// Gives cached blocks back to the system, or to the device's driver.
void emptyCache(Device device = Device::cpu());
} // namespace memory

} // namespace graphc
