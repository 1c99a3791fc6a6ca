// One launch while it runs: the grid's shared state, the host threads' workers, the resident blocks.
#pragma once

#include "runtime/cudasim/engine/Function.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <unordered_map>

namespace graphc::cudasim {

struct LaunchState;
struct GlobalShadow;
class RaceChecker;
class DefinedChecker;

struct BarrierState {
  uint32_t expected = 0;      ///< threads; zero means all that live
  uint32_t arrivedWarps = 0;  ///< warps all of whose live lanes wait here
  uint32_t arrivedOnly = 0;   ///< threads counted by bar.arrive
  uint32_t waitingFragments = 0;
  uint32_t redAnd = 1, redOr = 0, redCount = 0;
  uint32_t generation = 0;
};

/// One lane's copy that its wait_group has not covered yet.
struct AsyncEntry {
  uint64_t source;
  uint32_t group, destination, pc;
  uint8_t lane, bytes, sourceBytes;
};
struct AsyncState {
  uint32_t committed[32] = {};
  std::vector<AsyncEntry> entries;
};

/// Where a lane goes when its function returns, and the stack it finds again there.
struct ReturnPoint {
  uint32_t pc, frameBase, stackTop;
};

struct Block {
  LaunchState *launch = nullptr;
  Worker *worker = nullptr;
  uint64_t linear = 0;
  Dim3 id{0, 0, 0};
  std::vector<char> storage; ///< warps, registers, shared and local memory, in this order
  Warp *warps = nullptr;
  uint32_t warpCount = 0, liveWarps = 0, nextWarp = 0;
  char *registers = nullptr, *shared = nullptr, *local = nullptr;
  BarrierState barriers[16];
  PendingCopies pending;
  std::vector<uint64_t> pendingBits;
  std::vector<AsyncState> async;
  std::vector<std::vector<ReturnPoint>> callStacks; ///< per thread, of kernels that use a stack
  uint64_t barrierEpoch = 0;
  bool initialised = false;
  std::unique_ptr<RaceChecker> races;
};

/// Bits of one allocation's bytes that this worker's blocks touched.
struct TouchedRange {
  uint64_t lo = 0, hi = 0, base = 0, words = 0;
  uint64_t *read = nullptr, *written = nullptr, *atomics = nullptr;
  uint8_t *pages = nullptr; ///< which 4 KiB pages have bits
  size_t mapped = 0;
  size_t keptPages = 0; ///< while TouchedMaps keeps it: pages whose bits were written
};

struct alignas(128) Worker {
  LaunchState *launch = nullptr;
  unsigned index = 0;
  std::vector<BoundsCache> caches;
  std::unique_ptr<AccessShape[]> shapes;
  std::vector<std::unique_ptr<Block>> resident, spare;
  uint64_t steps = 0, rng = 0;
  uint64_t nextTicket = 0, ticketEnd = 0; ///< blocks it has drawn but not started
  std::atomic<uint64_t> progress{0};      ///< grows when its blocks finish or write; others look when theirs only wait
  // counters
  std::vector<uint64_t> executions, lanes;
  Counters counters;
  std::map<uint64_t, TouchedRange> touched; ///< by lo
  ~Worker();
};

struct LaunchState {
  const ModuleCode *module = nullptr;
  const FunctionCode *function = nullptr;
  MemorySpace *memory = nullptr;
  const DeviceModel *model = nullptr;
  const LaunchConfig *config = nullptr;
  LaunchResult *result = nullptr;
  std::vector<char> paramStorage;
  char *paramArea = nullptr;          ///< broadcast slots
  std::vector<char> paramBlock;       ///< for ld.param through registers
  uint32_t sharedBytes = 0;           ///< layout plus dynamic
  uint32_t localBytes = 0;            ///< per thread, with the stack
  struct SharedRange {
    uint32_t lo, hi;
    const SharedSymbol *symbol;       ///< null: dynamic
  };
  std::vector<SharedRange> sharedRanges;
  uint32_t warpsPerBlock = 0, residentLimit = 1;
  uint64_t totalBlocks = 0, seedMultiplier = 1, seedOffset = 0;
  // What all workers read all the time stays away from what they write.
  alignas(128) std::atomic<bool> stop{false};
  std::atomic<bool> partialExitNoted{false};
  alignas(128) std::atomic<uint64_t> nextBlock{0};
  alignas(128) std::atomic<uint64_t> steps{0}, clock{0};
  std::vector<std::unique_ptr<Worker>> workers;
  /// Lets the other workers begin; empty once it has. A launch that is over in microseconds never calls it.
  std::function<void()> startOthers;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::mutex mutex;                   ///< findings, printf
  bool instrumented = false;
  uint32_t instrumentedClasses = 0; ///< a bit per Class that instrumentation looks at
  std::shared_ptr<GlobalShadow> globalShadow; ///< global race checking
  std::unique_ptr<DefinedChecker> defined;
  uint64_t gridBarrier[16] = {};      ///< what %envreg1/2 point to

  const DebugSite &site(const Inst &inst) const { return function->debug[inst.debug]; }
};

inline void noteProgress(Worker &worker) { // only the worker itself writes it
  worker.progress.store(worker.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// -- reports (Report.cpp) ------------------------------------------------------------------------------------------

CodeSite codeSite(const LaunchState &launch, const Block &block, const Warp &warp, const Inst &inst, unsigned lane);
/// Records a finding at an instruction and, when it is an error, stops the launch unless keepGoing.
void report(Warp &warp, const Inst &inst, unsigned lane, FindingKind kind, std::string text, uint64_t address = 0,
            uint32_t bytes = 0, std::optional<CodeSite> other = {}, bool isError = true, std::string allocation = {});
std::string describeShared(const LaunchState &launch, uint64_t offset);

// -- interpreter (Interpreter.cpp, Barriers.cpp) -------------------------------------------------------------------

enum class WarpOutcome : uint8_t { Blocked, Exhausted, Yielded, Finished, Stopped };
/// Runs one warp for at most `fuel` instructions.
WarpOutcome runWarp(Worker &worker, Block &block, Warp &warp, uint64_t fuel);
/// A fragment reached a barrier; `index` is its place in the warp's list. The fragment parks unless it only arrives.
void arriveAtBarrier(Block &block, Warp &warp, const Inst &inst, unsigned index, uint32_t mask);
/// Lanes left: barriers and collectives that waited for them may proceed.
void lanesExited(Block &block, Warp &warp);
/// Parked collectives and warp barriers of this warp that can now run become ready.
void wakeParked(Warp &warp);
/// Nothing in the block can run: names the reason and reports it.
void reportStuck(Block &block);
void mergeFragments(Warp &warp);
/// A cp.async of this warp is done (Access.cpp).
void finishAsyncCopy(Warp &warp, const AsyncEntry &entry);

// -- calls (Calls.cpp) ---------------------------------------------------------------------------------------------

/// Frames begin at multiples of this.
constexpr uint32_t frameAlign = 16;
inline uint32_t alignFrame(uint32_t offset) { return (offset + frameAlign - 1) / frameAlign * frameAlign; }
inline char *localMemory(const Warp &warp, unsigned lane, uint32_t offset) {
  const Block &block = *warp.block;
  return block.local + uint64_t(warp.index * 32 + lane) * block.launch->localBytes + offset;
}
/// The end of what a lane may touch of its local memory.
uint32_t localEnd(const Warp &warp, unsigned lane);
/// A call: saves registers, pushes a frame for each lane. Reports an overflow.
void enterFunction(Warp &warp, const Inst &inst, uint32_t mask);
/// A return: pops each lane's frame; where the lanes go on.
void leaveFunction(Warp &warp, const Inst &inst, uint32_t mask, uint32_t (&targets)[32]);

// -- access tracking (Touched.cpp) ---------------------------------------------------------------------------------

void attachTracking(Warp &warp, BoundsCache &cache, uint64_t lo, uint64_t hi);
void collectTouched(Worker &worker, LaunchResult &result);

/// Maps of touched bytes that earlier launches left, cleared, for the next launch on the same allocation. A map is as
/// long as the allocation; making it anew would cost a small launch on a large buffer more than the launch itself.
class TouchedMaps {
public:
  ~TouchedMaps();
  TouchedRange take(uint64_t lo, uint64_t hi);
  void giveBack(TouchedRange &&range);

private:
  std::mutex mutex;
  std::multimap<std::pair<uint64_t, uint64_t>, TouchedRange> kept; ///< by lo and hi
  size_t keptPages = 0; ///< of all: what they occupy
};

// -- instrumentation (Counters.cpp, Races.cpp, Defined.cpp) --------------------------------------------------------

void countInstruction(Worker &worker, Block &block, Warp &warp, const Inst &inst, uint32_t mask);
void finishCounters(LaunchState &launch);

/// The 32 addresses of a memory instruction, recomputed for instrumentation; the mask of lanes that access.
uint32_t laneAddresses(Warp &warp, const MemOp &mem, uint32_t mask, uint64_t (&addresses)[32]);
/// The space one lane's address is in, with the window taken off.
MemSpace concreteSpace(MemSpace space, uint64_t &address);

} // namespace graphc::cudasim
