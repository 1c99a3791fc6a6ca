// The simulated CUDA device, seen from the driver API: memory, modules, launches.
//
// An API layer owns one `MemorySpace` per device, loads PTX text into `Module`s, and calls `launch` when its stream
// scheduler decides that a kernel runs. `launch` is synchronous and knows nothing of streams, events or contexts; it
// returns what the kernel touched (`AccessSet`s), so that stream order can be checked above it.
//
// Device addresses are host addresses: `reinterpret_cast<void *>(address)` of a live allocation may be read and
// written by the API layer (copies, memset). Nothing here throws; failures come back as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphc::cudasim {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

// ---------------------------------------------------------------------------------------------- devices

/// What a device can do and how fast it is. `named` returns the table entries; callers adjust copies.
struct DeviceModel {
  std::string name;           ///< e.g. "Simulated H200"; the API shows it as the device's name
  int major = 8, minor = 0;   ///< compute capability
  uint32_t multiprocessors = 108;
  uint32_t maxThreadsPerBlock = 1024;
  uint32_t maxThreadsPerMultiprocessor = 2048;
  uint32_t maxBlocksPerMultiprocessor = 32;
  uint32_t registersPerBlock = 65536;
  uint32_t registersPerMultiprocessor = 65536;
  uint32_t sharedPerBlock = 48 * 1024;      ///< without opt-in
  uint32_t sharedPerBlockOptin = 163 * 1024;
  uint32_t sharedPerMultiprocessor = 164 * 1024;
  uint32_t reservedSharedPerBlock = 1024;
  uint64_t constBytes = 64 * 1024;
  uint64_t l2Bytes = 40u << 20;
  uint64_t memoryBytes = uint64_t(40) << 30;
  uint32_t clockKHz = 1410000;
  uint32_t memoryClockKHz = 1215000;
  uint32_t memoryBusBits = 5120;

  // For the time estimate.
  double dramBytesPerSecond = 1.555e12;
  double l2BytesPerSecond = 4.5e12;
  double fp32LanesPerClock = 64;   ///< f32 fused multiply-adds per multiprocessor and clock
  double fp64LanesPerClock = 32;
  double sfuLanesPerClock = 16;
  double tensorF16FmaPerClock = 1024; ///< f16/bf16 multiply-adds per multiprocessor and clock
  double launchMicroseconds = 2.5;

  int capability() const { return major * 10 + minor; }

  /// "H200", "A100", "RTX4090", "B200": the tables. Nothing for any other name.
  static std::optional<DeviceModel> named(std::string_view name);
  /// A plain device of that compute capability (8.0 → the A100 table, 8.9 → RTX 4090, 9.0 → H200, 10.0 → B200).
  static std::optional<DeviceModel> forCapability(int major, int minor);
};

// ---------------------------------------------------------------------------------------------- memory

enum class AllocationKind : uint8_t {
  Device,       ///< cuMemAlloc
  Pool,         ///< cuMemAllocAsync and pools
  Managed,
  Pinned,       ///< cuMemHostAlloc: registered host memory the library itself allocated
  Registered,   ///< cuMemHostRegister
  ModuleGlobal, ///< a `.global` or `.const` variable
};
const char *kindName(AllocationKind kind);

/// One live or freed range. `id` grows with every allocation of the process, so two uses of one address differ.
struct Allocation {
  uint64_t base = 0, size = 0;
  AllocationKind kind = AllocationKind::Device;
  bool live = true;
  bool readOnly = false; ///< a `.const` variable: kernels may not write it
  uint64_t id = 0;
  std::string label;      ///< shown in reports: where it was allocated, or a variable's name
  bool contains(uint64_t address, uint64_t bytes = 1) const {
    return address >= base && address - base < size && bytes <= size - (address - base);
  }
};

/// A live sub-allocation that an arena or pool annotated.
struct SubAllocation {
  uint64_t base = 0, size = 0;
  std::string label;
};

/// One device's memory. Addresses are never handed out twice; there is a guard gap (at least 4 KiB) between any two
/// allocations, and a freed range stays known (quarantined), so a stale pointer is reported as use after free.
/// All members may be called from several host threads.
class MemorySpace {
public:
  /// `trackDefined` keeps a byte shadow of what was ever written (the uninitialised-read option).
  explicit MemorySpace(int ordinal, uint64_t capacityBytes, bool trackDefined = false);
  ~MemorySpace();
  MemorySpace(const MemorySpace &) = delete;
  MemorySpace &operator=(const MemorySpace &) = delete;

  int ordinal() const { return ordinalNumber; }
  uint64_t capacity() const { return capacityBytes; }
  uint64_t used() const; ///< bytes of live device allocations

  /// Zero when the capacity (or the host's memory) is exhausted. New memory holds the poison pattern 0xCD unless
  /// `poison` is off (large allocations are poisoned lazily: only the first `poisonLimit` bytes).
  uint64_t allocate(uint64_t size, uint64_t alignment = 256, AllocationKind kind = AllocationKind::Device,
                    std::string label = {});
  /// False when `base` is not the start of a live allocation made by `allocate`.
  bool free(uint64_t base);
  void setPoisonLimit(uint64_t bytes) { poisonLimit = bytes; }
  /// Kernels may not write it any more (`.const` variables).
  void setReadOnly(uint64_t base);

  /// The live allocation that holds `address` (own, registered host memory, or a peer's), or nothing.
  std::optional<Allocation> find(uint64_t address) const;
  /// The allocation nearest to `address`, live or freed, for messages.
  std::optional<Allocation> findNearest(uint64_t address) const;
  std::vector<Allocation> liveAllocations() const;

  /// From the first annotation on, only annotated parts of that allocation may be touched by kernels: the rest is red
  /// zone. Annotating a range that overlaps earlier ones replaces them. False when outside a live allocation.
  bool annotate(uint64_t base, uint64_t size, std::string label = {});
  /// Ends a sub-allocation (poisons it): a later access is a use after free. False when none starts at `base`.
  bool unannotate(uint64_t base);
  /// Drops all annotations of the allocation holding `base`; the whole range is accessible again.
  void clearAnnotations(uint64_t base);

  /// Host memory that kernels on this device may touch.
  void registerHost(void *base, uint64_t size, AllocationKind kind, std::string label = {});
  bool unregisterHost(void *base);

  /// Peer access: allocations of `peer` become visible to kernels on this device.
  void enablePeer(MemorySpace &peer);
  void disablePeer(MemorySpace &peer);
  bool hasPeer(const MemorySpace &peer) const;

  /// Definedness (no-ops, and everything defined, when tracking is off or for host memory).
  bool tracksDefined() const { return shadowEnabled; }
  void setTrackDefined(bool on); ///< only before the first allocation
  void markDefined(uint64_t address, uint64_t size, bool defined = true);
  /// Copies definedness along with data within or between spaces; a host source is defined throughout.
  void copyDefined(uint64_t destination, uint64_t source, uint64_t size, const MemorySpace *sourceSpace = nullptr);
  /// The first undefined byte of the range, if any: checked by device-to-host copies.
  std::optional<uint64_t> firstUndefined(uint64_t address, uint64_t size) const;

  // -- for the interpreter ---------------------------------------------------------------------------------------
  struct Range {
    uint64_t lo = 0, hi = 0; ///< accessible bytes [lo, hi): an allocation, or one annotated part
    bool readOnly = false;
    bool host = false; ///< registered host memory (no shadow)
  };
  /// The accessible range around `address`; an empty range when there is none.
  Range accessible(uint64_t address) const;
  /// One sentence about `address` for reports ("256 bytes past the end of the 4096-byte device allocation … ").
  std::string describe(uint64_t address) const;
  /// The shadow byte (0 = never written) of an own device address.
  uint8_t *shadowOf(uint64_t address) const;
  /// Changes whenever an allocation, annotation or peer changes: caches compare it.
  uint64_t version() const;
  class TouchedMaps &touchedMaps() const { return *touched; }

private:
  struct Tables;
  std::unique_ptr<Tables> tables;
  std::unique_ptr<class TouchedMaps> touched;
  int ordinalNumber;
  uint64_t capacityBytes;
  uint64_t poisonLimit = uint64_t(1) << 20;
  bool shadowEnabled;
};

/// A byte-exact set of addresses, dense inside 4 KiB pages and run-length coded over full pages.
class AccessSet {
public:
  struct Bits {
    uint64_t words[64] = {}; ///< one bit per byte of the page
  };
  bool empty() const { return pages.empty(); }
  void add(uint64_t lo, uint64_t hi); ///< bytes [lo, hi)
  void merge(const AccessSet &other);
  /// The first run of bytes in both sets, as [lo, hi).
  std::optional<std::pair<uint64_t, uint64_t>> firstOverlap(const AccessSet &other) const;
  bool contains(uint64_t address) const;
  void subtract(uint64_t lo, uint64_t hi);
  /// Calls `fn(lo, hi)` for each maximal run, in address order.
  void forEach(const std::function<void(uint64_t, uint64_t)> &fn) const;
  uint64_t bytes() const;
  /// Calls `fn(firstPage, count, bits)` in address order; without bits, all bytes of those pages are in the set.
  template <typename Function>
  void forEachPage(Function fn) const {
    for (const Run &run : pages)
      fn(run.first, run.count, static_cast<const Bits *>(run.bits.get()));
  }

  // -- for the interpreter: ORs page bits in (`page` = address >> 12) ---------------------------------------------
  void orPage(uint64_t page, const uint64_t (&words)[64]);

private:
  /// `full` pages starting at `first`; a partial page has count 1 and its bits.
  struct Run {
    uint64_t first = 0, count = 0;
    std::unique_ptr<Bits> bits;
    Run() = default;
    Run(uint64_t first, uint64_t count, std::unique_ptr<Bits> bits = nullptr)
        : first(first), count(count), bits(std::move(bits)) {}
    Run(const Run &other)
        : first(other.first), count(other.count), bits(other.bits ? std::make_unique<Bits>(*other.bits) : nullptr) {}
    Run(Run &&) = default;
    Run &operator=(Run &&) = default;
    Run &operator=(const Run &other) { return *this = Run(other); }
  };
  std::vector<Run> pages; ///< sorted, disjoint
  void normalize(std::vector<Run> &&sorted);
};

// ---------------------------------------------------------------------------------------------- modules

struct ParamInfo {
  uint32_t offset = 0, size = 0, align = 1;
};

struct FunctionInfo {
  std::string name;
  std::vector<ParamInfo> params;
  uint32_t paramBytes = 0;       ///< of the whole parameter block
  uint32_t registers = 0;        ///< estimate from liveness, as cuFuncGetAttribute(NUM_REGS)
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0;       ///< per thread, without the stack of recursion and alloca
  uint32_t constBytes = 0;
  uint32_t maxThreadsPerBlock = 1024; ///< from .maxntid/.reqntid and the device
  Dim3 requiredBlock{0, 0, 0};   ///< .reqntid, zero when absent
  Dim3 maxBlock{0, 0, 0};        ///< .maxntid, zero when absent
  uint32_t minBlocksPerMultiprocessor = 0;
  uint32_t instructions = 0;     ///< decoded, after inlining
  uint32_t line = 0;             ///< of the .entry in the PTX text
  /// Non-empty when the function holds something the simulator cannot execute ("line 42: wgmma.mma_async is …").
  /// The module still loads; launching this function (or getting it, as the API prefers) fails with this text.
  std::string refused;
};

struct GlobalInfo {
  std::string name;
  uint64_t address = 0, size = 0;
  bool constant = false;
};

struct FunctionCode; ///< the decoded function, private to the engine
struct ModuleCode;

class Module {
public:
  enum class Failure {
    None,
    InvalidPtx,          ///< CUDA_ERROR_INVALID_PTX: the log names line and reason
    UnsupportedTarget,   ///< PTX above the device, or an `a`/`f` target of another architecture: NO_BINARY_FOR_GPU
    UnsupportedVersion,  ///< CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    NotPtx,              ///< cubin or fatbin without PTX
    OutOfMemory,
  };
  /// Parses and decodes; globals are allocated and initialised in `memory` (which must outlive the module). Null on
  /// failure, with `errorLog` naming the line. A fatbin or ELF image is recognised and refused with a clear text.
  static std::unique_ptr<Module> load(std::string_view ptx, const DeviceModel &model, MemorySpace &memory,
                                      std::string &errorLog, Failure *failure = nullptr);
  ~Module();

  size_t functionCount() const;
  const FunctionInfo &function(size_t index) const;
  /// −1 when there is no entry of that name.
  int findFunction(std::string_view name) const;
  const std::vector<GlobalInfo> &globals() const;
  const GlobalInfo *findGlobal(std::string_view name) const;
  std::string_view target() const;     ///< "sm_80", "sm_90a"
  int ptxVersion() const;              ///< 84 for .version 8.4
  const std::vector<std::string> &sourceFiles() const;
  ModuleCode &code() const { return *impl; }

private:
  Module();
  std::unique_ptr<ModuleCode> impl;
};

// ---------------------------------------------------------------------------------------------- launches

struct Checks {
  bool bounds = true;        ///< bounds, liveness and alignment of every access (cheap)
  bool barriers = true;      ///< divergence at barriers and partial-mask warp collectives
  bool asyncCopies = true;   ///< touching the destination of a pending cp.async, overwriting its source
  bool uninitialised = false; ///< reads of never-written memory reaching a branch, an address or a host copy
  bool sharedRaces = false;
  bool globalRaces = false;  ///< forces one host thread
  bool strictFences = false; ///< synchronisation through unfenced strong accesses does not count
  bool sameValueWrites = false; ///< report same-value write-write pairs as notes
};

enum class FindingKind : uint8_t {
  OutOfBounds, UseAfterFree, Misaligned, WriteToConstant, NullPointer,
  SharedRace, GlobalRace, SameValueWrite,
  Uninitialised, PendingAsyncCopy, StackOverflow,
  BarrierDivergence, ImpossibleBarrier, PartialWarpMask, SyncCheck,
  Deadlock, Livelock, StepBudget, Trap, Assertion, InvalidInstruction,
};
const char *findingName(FindingKind kind);

/// One place in a kernel.
struct CodeSite {
  uint32_t ptxLine = 0;
  std::string instruction;  ///< PTX text of the instruction
  std::string file;         ///< CUDA source, from -lineinfo; empty without
  uint32_t line = 0;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
};

struct Finding {
  FindingKind kind = FindingKind::OutOfBounds;
  bool isError = true;       ///< notes do not fail the launch
  std::string kernel;
  CodeSite site;
  std::optional<CodeSite> other; ///< the second party of a race, or the other barrier
  uint64_t address = 0;      ///< zero when not about memory
  uint32_t bytes = 0;
  std::string allocation;    ///< sentence about the nearest allocation
  uint64_t count = 1;        ///< how often the same pair of lines was found
  std::string message;       ///< the complete report, several lines, ready to print
};

struct Counters {
  uint64_t warpInstructions = 0, laneInstructions = 0;
  // Warp instructions by class.
  uint64_t integer = 0, fp32 = 0, fp64 = 0, fp16 = 0, conversion = 0, special = 0, move = 0, control = 0,
           memoryLoads = 0, memoryStores = 0, atomics = 0, warpCollectives = 0, barriers = 0, mma = 0, asyncCopies = 0;
  uint64_t mmaFlops = 0;     ///< multiply-adds ×2 done by mma
  uint64_t fp32Flops = 0;    ///< lane flops, a fused multiply-add counts two
  // Global memory, 32-byte sectors.
  uint64_t globalRequests = 0, globalSectors = 0, globalIdealSectors = 0, globalBytes = 0;
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;
  uint64_t uniqueLines = 0;  ///< distinct 128-byte lines touched: compulsory DRAM traffic
  // Shared memory, 32 banks of 4 bytes.
  uint64_t sharedRequests = 0, sharedCycles = 0, sharedIdealCycles = 0;
  uint64_t localBytes = 0;
  uint64_t branches = 0, divergentBranches = 0;
  uint64_t blocks = 0, warps = 0;
  double occupancy = 0;      ///< resident warps over the multiprocessor's limit
  uint32_t blocksPerMultiprocessor = 0;
  double activeLanes() const { return warpInstructions ? double(laneInstructions) / (32.0 * warpInstructions) : 0; }
};

struct LaunchConfig {
  Dim3 grid, block;
  uint32_t dynamicSharedBytes = 0;
  uint32_t stackBytes = 1024;     ///< per thread, for recursion and alloca (CU_LIMIT_STACK_SIZE)
  bool cooperative = false;
  Dim3 cluster{1, 1, 1};          ///< only 1×1×1 is executed
  std::span<const std::byte> params; ///< the parameter block, laid out as FunctionInfo::params
  uint64_t seed = 0;              ///< block order and warp interleaving; 0 = in order
  unsigned hostThreads = 1;
  Checks checks;
  bool trackAccesses = false;     ///< fill reads, writes, atomics
  bool collectCounters = false;
  uint64_t stepBudget = 0;        ///< warp instructions per launch; 0 = the default of 2^40
  uint64_t livelockSteps = 0;     ///< warp instructions without any write before a livelock is reported; 0 = 2^26
  uint32_t maxFindings = 32;      ///< distinct ones kept; the first error stops the launch unless keepGoing
  bool keepGoing = false;         ///< log-only: skip the offending lanes' access and continue
  /// Called with complete printf output pieces, in order of execution; when empty the text goes to LaunchResult.
  std::function<void(std::string_view)> printfSink;
};

enum class LaunchStatus : uint8_t {
  Ok,
  InvalidConfiguration, ///< nothing ran: CUDA_ERROR_INVALID_VALUE
  OutOfResources,       ///< nothing ran: LAUNCH_OUT_OF_RESOURCES
  TooLargeCooperative,  ///< nothing ran: COOPERATIVE_LAUNCH_TOO_LARGE
  Refused,              ///< nothing ran: the function holds unsupported instructions
  IllegalAddress, MisalignedAddress, Trapped, Asserted, Timeout, LaunchFailed,
};
const char *statusName(LaunchStatus status);

struct LaunchResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string error;             ///< for the statuses where nothing ran
  std::vector<Finding> findings; ///< errors and notes; any error makes status differ from Ok unless keepGoing
  Counters counters;
  AccessSet reads, writes, atomics; ///< global memory only, when trackAccesses
  std::string printfText;
  double seconds = 0;            ///< host time spent
};

/// Runs one grid to completion.
LaunchResult launch(const Module &module, size_t function, MemorySpace &memory, const DeviceModel &model,
                    const LaunchConfig &config);

/// Blocks of that shape resident on one multiprocessor (cuOccupancyMaxActiveBlocksPerMultiprocessor).
uint32_t residentBlocks(const FunctionInfo &function, const DeviceModel &model, uint32_t threadsPerBlock,
                        uint32_t dynamicSharedBytes);

/// Analytic time from counters: launch + max(DRAM, L2, shared, issue, FP, mma), scaled by occupancy and waves. For
/// ranking and regressions only.
double estimateMicroseconds(const Counters &counters, const DeviceModel &model, const LaunchConfig &config);
/// The counters as an aligned table, with the estimate for each model.
std::string formatCounters(const Counters &counters, const LaunchConfig &config, std::span<const DeviceModel> models);

/// "x86-64-v4", "x86-64-v3" or "x86-64": the handler set chosen by cpuid.
const char *handlerLevel();
/// Forces a handler level (tests); false when this processor lacks it.
bool setHandlerLevel(std::string_view level);

} // namespace graphc::cudasim
