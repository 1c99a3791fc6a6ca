// The driver's state: devices, contexts, streams, events and memory, and how work is queued and waited for.
//
// There is one `Driver` per process, because the C API has no handle for it. All API calls run under its mutex; the
// entry sequence (`CUDASIM_ENTER`) takes the lock, notes the caller, collects what happened since the last call and
// refuses what the state does not allow. Handles are pointers that `Table` knows; anything else is an invalid handle.
#pragma once

#include "runtime/cudasim/api/CudaHeader.h"
#include "runtime/cudasim/api/Graph.h"
#include "runtime/cudasim/api/Options.h"
#include "runtime/cudasim/api/Reports.h"
#include "runtime/cudasim/api/Table.h"
#include "runtime/cudasim/engine/Engine.h"
#include "runtime/cudasim/stream/HostWatch.h"
#include "runtime/cudasim/stream/Operation.h"
#include "runtime/cudasim/stream/Scheduler.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

namespace graphc::cudasim {

struct Pool;

struct Device {
  int ordinal = 0;
  DeviceModel model;
  std::unique_ptr<MemorySpace> memory;
  Context *primary = nullptr;
  unsigned primaryCount = 0, primaryFlags = 0;
  std::set<int> peers; ///< devices whose memory kernels here may touch
  Pool *defaultPool = nullptr, *currentPool = nullptr;
};

struct LoadedModule {
  Context *context = nullptr;
  std::unique_ptr<Module> module;
};

/// A CUfunction. Also stands behind a CUkernel once it is used in a context.
struct Function {
  LoadedModule *module = nullptr;
  size_t index = 0;
  uint32_t maxDynamicShared = 48 * 1024;
  int carveout = -1;
  const FunctionInfo &info() const { return module->module->function(index); }
};

/// A CUlibrary: PTX that becomes a module in each context that uses it.
struct Library {
  std::string image;
  std::map<Context *, LoadedModule *> loaded;
};

/// A CUkernel.
struct Kernel {
  Library *library = nullptr;
  std::string name;
  std::map<Context *, Function *> functions;
  std::map<int, int> attributes; ///< set before a context used it
};

struct Context {
  Device *device = nullptr;
  unsigned flags = 0;
  bool primary = false;
  CUresult failure = CUDA_SUCCESS; ///< sticky
  bool failureSeen = false;        ///< a synchronising call has returned it; from then on every call does
  uint64_t id = 0;
  Stream *legacy = nullptr;
  std::map<std::thread::id, Stream *> perThread;
  std::vector<Stream *> streams; ///< all, these defaults included
  std::vector<std::pair<OperationRef, VectorClock>> orphans; ///< last work of destroyed streams
  std::map<int, size_t> limits;  ///< those that were set
  size_t limit(int which) const; ///< set or default
  CUfunc_cache cacheConfig = CU_FUNC_CACHE_PREFER_NONE;
  std::set<Context *> peers;
  bool reported = false;
  /// What a synchronising call returns.
  CUresult outcome() {
    failureSeen |= failure != CUDA_SUCCESS;
    return failure;
  }
};

struct Stream {
  enum class Kind : uint8_t { User, Legacy, PerThread };
  Context *context = nullptr;
  Kind kind = Kind::User;
  unsigned flags = 0; ///< as for cuStreamCreate
  int priority = 0;
  uint64_t id = 0;
  uint32_t slot = 0;
  VectorClock clock;  ///< of everything queued so far
  OperationRef last;
  Capture *capture = nullptr;
  std::map<int, CUstreamAttrValue> attributes;
  bool blocking() const { return kind != Kind::Legacy && !(flags & CU_STREAM_NON_BLOCKING); }
  std::string name() const;
};

struct Event {
  Context *context = nullptr;
  unsigned flags = 0;
  OperationRef record; ///< the last one; null before the first
  VectorClock clock;   ///< at that record
  Capture *capture = nullptr; ///< recorded inside a capture that still runs
  std::vector<GraphNode *> captured; ///< the nodes it stands for there
  uint64_t captureId = 0;
};

/// What we know about an address range beyond what the engine's memory does.
struct MemoryRecord {
  enum class Kind : uint8_t { Device, Pooled, Managed, Pinned, Registered, Module, GraphOwned };
  uint64_t base = 0, size = 0;
  Kind kind = Kind::Device;
  Context *context = nullptr;
  Device *device = nullptr;
  unsigned flags = 0;
  Pool *pool = nullptr;
  uint64_t id = 0;
  CallSite site;
  bool syncMemops = false;
  bool mappedPages = false; ///< pinned: our own mmap
  bool freeQueued = false;  ///< cuMemFreeAsync is on its way
  bool onDevice() const { return kind != Kind::Pinned && kind != Kind::Registered; }
};

struct Pool {
  Device *device = nullptr;
  bool isDefault = false;
  uint64_t releaseThreshold = 0, used = 0, usedHigh = 0;
  int reuse[3] = {1, 1, 1};
  std::map<int, CUmemAccess_flags> access;
};

enum class Need : uint8_t {
  Nothing,  ///< may be called before cuInit
  Init,
  Context,  ///< and a current context, failed or not
  Live,     ///< and the context has not failed
};

class Driver {
public:
  static Driver &get();
  Driver();

  std::mutex mutex;
  Options options;
  std::string optionError; ///< of GRAPHC_CUDASIM: cuInit fails with it
  std::string lastError;   ///< of the last graphcCudasimConfigure
  bool initialised = false;
  ReportLog log;
  HostWatch hostWatch;
  AccessHistory history;
  Scheduler scheduler;
  ClockSlots slots;
  VectorClock hostClock;     ///< all host threads share it
  VectorClock finishedCallbacks; ///< joins the host's clock at the next call

  std::vector<std::unique_ptr<Device>> devices;
  Table<Context> contexts;
  Table<Stream> streams;
  Table<Event> events;
  Table<LoadedModule> modules;
  Table<Function> functions;
  Table<Pool> pools;
  Table<Library> libraries;
  Table<Kernel> kernels;
  Table<Graph> graphs;
  Table<GraphExec> graphExecs;
  Table<Capture> captures;
  std::map<uint64_t, MemoryRecord> memory; ///< by base address
  std::map<uint64_t, VectorClock> valueWrites; ///< what cuStreamWriteValue released, by address
  struct Forgotten {
    Moment moment;
    uint64_t lo, hi;
  };
  std::vector<Forgotten> forgotten; ///< ranges a pool took back, until the host knows of it
  uint64_t nextId = 1;
  uint64_t operationCount = 0;
  double hostModelSeconds = 0; ///< the modelled devices' clock at the last synchronisation

  // -- contexts and handles ---------------------------------------------------------------------------------------
  Device *device(CUdevice ordinal);
  Context *createContext(Device &device, unsigned flags, bool primary);
  /// With `renew` the handle lives on with nothing behind it (cuDevicePrimaryCtxReset).
  void destroyContext(Context *context, bool renew = false);
  /// Null for an invalid handle. Stream 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD mean the current context's.
  Stream *stream(CUstream handle);
  Stream *perThreadStream(Context *context);
  Stream *createStream(Context *context, Stream::Kind kind, unsigned flags, int priority);

  // -- queueing ---------------------------------------------------------------------------------------------------
  /// Appends work to a stream (never one that captures: callers go through `submit`).
  /// `extra` are further predecessors, known up to `extraClock`.
  OperationRef enqueue(Stream &stream, std::shared_ptr<Action> action, const std::vector<OperationRef> &extra = {},
                       const VectorClock *extraClock = nullptr);
  /// Work with explicit predecessors on its own slot: the inside of a graph launch.
  OperationRef enqueueAt(Context *context, uint32_t slot, const VectorClock &clock,
                         std::vector<OperationRef> dependencies, std::shared_ptr<Action> action,
                         const std::string &where);
  std::shared_ptr<const OperationInfo> makeInfo(const std::string &what, const std::string &where);
  /// Appends to the stream, or to the graph it captures into.
  CUresult submit(Stream &stream, std::shared_ptr<Action> action, OperationRef *queued = nullptr);

  // -- capture ----------------------------------------------------------------------------------------------------
  /// Calls that a capture in progress forbids (allocation, queries, synchronous copies): invalidates it, error 900.
  CUresult refuseInCapture();
  /// Work in the legacy stream would tie capturing blocking streams of its context to it: error 906.
  CUresult refuseLegacyInCapture(Stream &stream);
  void invalidate(Capture &capture);
  void destroyCaptures(Context *context);
  GraphNode *captureNode(Stream &stream, std::shared_ptr<Action> action);

  // -- waiting ----------------------------------------------------------------------------------------------------
  /// Runs the operation and what it needs; the host then knows `clock`. The context's failure, if any.
  CUresult waitFor(const OperationRef &operation, const VectorClock &clock, Context *context);
  CUresult synchronise(Stream &stream);
  CUresult synchronise(Context &context);
  /// Everything of all contexts on a device (cuMemFree).
  CUresult synchroniseDevice(Device &device);
  void hostKnows(const VectorClock &clock);

  // -- while work runs --------------------------------------------------------------------------------------------
  /// Notes that the operation touched memory, and reports what it races with.
  void touch(Operation &operation, AccessKind kind, uint64_t lo, uint64_t hi);
  void touch(Operation &operation, AccessKind kind, const AccessSet &set);
  void reportRaces(Operation &operation, const std::vector<Race> &races);
  /// A finding: logged, and unless action=log the context fails with `code`.
  void fail(Context *context, const std::string &kind, const std::string &text, CUresult code = CUDA_ERROR_LAUNCH_FAILED);
  void note(const std::string &kind, const std::string &text);
  void execute(Operation &operation);

  // -- memory -----------------------------------------------------------------------------------------------------
  MemoryRecord *findMemory(uint64_t address);
  std::string describeAddress(uint64_t address);
  MemoryRecord *recordAllocation(uint64_t base, uint64_t size, MemoryRecord::Kind kind, Context *context,
                                 Device *device);
  /// Allocates device memory, letting queued frees happen first when it is short. Zero when there is none.
  uint64_t allocateOn(Device &device, uint64_t size, uint64_t alignment, AllocationKind kind);
  /// Forgets a range and frees it. The caller has made sure that nothing still uses it.
  void releaseMemory(std::map<uint64_t, MemoryRecord>::iterator it);
  void unloadModule(LoadedModule *module);
  void destroyAllGraphs();

  CUresult initialise();
  void reset();
  void collectHostTouches();
  /// Lets queued work run while the program is silent (callbacks, polled memory).
  void startIdleRunner();

private:
  std::set<std::string> reportedPairs;
  bool idleRunning = false;
  std::atomic<bool> exiting{false};
  uint64_t callCount = 0;
  friend class Call;
  VectorClock clockFor(Stream &stream, std::vector<OperationRef> &dependencies);
};

/// The kernel as a function of that context, loading its library there on first use.
CUresult functionOf(Kernel &kernel, Context *context, Function *&function);

/// Per host thread.
struct ThreadState {
  std::vector<Context *> contexts; ///< the context stack, current last
  unsigned depth = 0;              ///< nested entry points
  bool inCallback = false;
  bool perThreadDefault = false;
  void *caller = nullptr;          ///< of the outermost entry point
  char *entryFrame = nullptr;      ///< an address in that entry point's frame
  CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
ThreadState &threadState();

/// One entry into the API; see CUDASIM_ENTER.
class Call {
public:
  Call(const char *name, void *caller);
  ~Call();
  CUresult enter(Need need);

  Driver &driver;
  Context *context = nullptr; ///< the current one
  const char *name;

private:
  bool outermost;
};

/// Unlocks the driver while the program's code runs.
class Unlocked {
public:
  explicit Unlocked(Driver &driver) : driver(driver) { driver.mutex.unlock(); }
  ~Unlocked() { driver.mutex.lock(); }

private:
  Driver &driver;
};

CallSite captureSite();

/// An action that does nothing but hold a place (event records, waits, graph ends).
std::shared_ptr<Action> makeMarker(std::string text);

#define CUDASIM_ENTER(need)                                                                                          \
  ::graphc::cudasim::Call call(__func__, __builtin_return_address(0));                                               \
  if (CUresult refusal = call.enter(::graphc::cudasim::Need::need))                                                  \
    return refusal;                                                                                                  \
  [[maybe_unused]] ::graphc::cudasim::Driver &driver = call.driver;                                                  \
  [[maybe_unused]] ::graphc::cudasim::Context *context = call.context

} // namespace graphc::cudasim
