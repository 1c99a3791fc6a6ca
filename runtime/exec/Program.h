// The plan prepared for walking: commands as flat steps whose buffer and scalar lists lie in two shared arrays, memory
// groups, constants. Private to runtime/exec.
#pragma once

#include "runtime/devices/cpu/LibraryCall.h"
#include "runtime/devices/cpu/Routine.h"
#include "runtime/exec/Executable.h"
#include "runtime/exec/StreamSchedule.h"
#include "runtime/memory/Account.h"
#include "runtime/memory/ArenaPlanner.h"

#include <mutex>

namespace graphc {

enum class Place : uint8_t { Constant, Input, Output, Arena, Heap };

struct BufferInfo {
  DType dtype;
  std::vector<int> dims;           // expressions
  int root;                        // itself unless an alias
  std::vector<int> offsetExprs;    // bytes from the root's start, to be summed
  Place place;                     // of the root
  int index = -1;                  // parameter, arena group or heap slot of the root
  const std::byte *constant = nullptr; // root's address, for Place::Constant
  int64_t constantBytes = 0;
  bool late = false;               // size or offset depends on a symbol bound during the call
  bool moving = false;             // offset depends on the counter of a loop, and the size on nothing of the kind
};

/// Geometry of one operand: where its sizes come from.
struct OperandInfo {
  int buffer = -1;
  std::vector<int> dims, strides; // strides empty: dense
  int offset = -1;
};

struct Step {
  plan::Action kind = plan::Action::NONE;
  const plan::CommandT *command = nullptr;
  int topIndex = 0;  // of the enclosing top-level command
  int id = 0;        // number over all steps of the list, bodies included
  bool late = false; // resolved right before it runs
  bool moving = false; // its addresses are: they depend on the counter of a loop

  // Dispatch and Library: addresses in Context::addresses[slot …)
  int slot = 0, slotCount = 0;
  int scalar = 0, scalarCount = 0;
  GraphcKernelFn kernel = nullptr;
  int rangeExpr = -1, costScaleExpr = -1, scratchExpr = -1;
  double costNs = 0;
  int grain = 1;
  bool serial = false;
  int cell = 0; // on a device: its error cell, in StepList::cells

  int library = -1; // index into StepList::libraries
  const cpu::RoutineEntry *routine = nullptr;
  std::vector<OperandInfo> operands; // Library, Routine, Copy, Fill
  std::vector<Step> body, otherwise;
};

/// `prepare` or `main`.
struct StepList {
  std::vector<Step> steps;
  int stepCount = 0;
  std::vector<int> slotBuffers;  // buffer of every address slot
  std::vector<int> scalarExprs;
  std::vector<std::unique_ptr<cpu::LibraryCall>> libraries;
  std::vector<std::vector<std::pair<int, int>>> inputSlots, outputSlots; // {slot, buffer} fed by each parameter

  ArenaPlanner planner;
  std::vector<std::vector<int>> groups; // buffers (root first) of every arena group
  std::vector<std::vector<int>> heaps;  // the same for what is allocated when its size is known

  // On a device:
  std::vector<CommandAccess> accesses; // by top-level command
  std::vector<int> streams;
  int streamCount = 1;
  /// Who reports through each error cell: the place of every site. Cell 0 serves kernels without named sites. Shared with
  /// checks that outlive the call.
  std::shared_ptr<std::vector<std::vector<std::string>>> cells;
  std::string notRecordable; // why the list cannot be recorded; empty: it can
};

/// What a program keeps on its device.
struct DeviceProgram {
  std::vector<std::shared_ptr<const DeviceModule>> modules;
  std::vector<std::unique_ptr<DeviceKernel>> kernels; // by Plan.kernels
  DeviceMemory constants;                             // weights and prepared constants, uploaded once
  int64_t preparedBytes = 0;
  std::vector<std::span<const std::byte>> hostConstants; // by buffer: the bytes of weights
  CachingAllocator::PoolId recordPool = CachingAllocator::kSharedPool;
};

class Program {
public:
  Status build(std::unique_ptr<plan::PlanT> plan, LoadOptions options);

  std::unique_ptr<plan::PlanT> plan;
  LoadOptions options;
  Signature signature;

  std::vector<BufferInfo> buffers;
  std::vector<int> earlyExprs, lateExprs;     // over sizes of inputs; over what data decides
  std::vector<std::vector<int>> movingExprs;  // over each symbol that counts a loop
  bool hasLate = false, isStatic = false; // static: no sizes but constants
  std::vector<bool> lateSymbol; // decided by data
  std::vector<bool> counter;    // counts a loop, and no size depends on it
  StepList prepare, main;

  std::vector<WeightBytes> files;
  std::vector<AlignedBytes> prepared; // by buffer
  std::vector<int64_t> preparedSize;
  std::vector<bool> absent;        // by buffer: contents not at hand
  std::vector<bool> constantsRead; // by root buffer: by a call, where the plan put them; empty when any may be
  int64_t weightBytes = 0;
  std::unique_ptr<cpu::PackingCache> packing;
  std::unique_ptr<DeviceProgram> device; // null: the processor
  ~Program();
  mutable MemoryAccount contextAccount, packedAccount;

  // Free contexts: taken and returned by one atomic exchange each; the list behind the mutex only holds the overflow.
  static constexpr int kFastContexts = 16;
  mutable std::atomic<Context *> freeContexts[kFastContexts] = {};
  mutable std::mutex overflowMutex;
  mutable std::vector<Context *> overflow;
  mutable std::atomic<int64_t> contextCount{0};
  mutable std::atomic<int> activeCalls{0}; // calls in flight, counted only when there is a pool to share

  int concurrency() const { return options.pool ? options.pool->concurrency() : 1; }
  void log(LogLevel level, const std::string &message) const {
    if (options.log)
      options.log(level, message);
  }
  std::string dimsText(int buffer) const;

private:
  Status buildBuffers();
  Status loadConstants();
  Status buildList(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands, bool prepareList);
  Status buildSteps(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands, int topIndex,
                    std::vector<Step> &steps);
  Status buildLibraries(StepList &list, std::vector<Step> &steps);
  Status buildArena(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands, bool prepareList);
  Status checkFixedOffsets() const;
  Status checkFixedViews() const;
  void buildSignature();
  Status runPrepare();
  // ---- on a device (DeviceProgram.cpp) ----
  Status buildDevice();
  Status uploadConstants();
  void buildDeviceList(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands);
  void reportSlowLibraries(const Context &context, const std::vector<Step> &steps) const;
  void findReadConstants(const Context &context);
  void releaseUnusedPrepared();

  std::vector<bool> lateExpr_, movingExpr_;
};

} // namespace graphc
