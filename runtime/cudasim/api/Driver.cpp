#include "runtime/cudasim/api/Driver.h"
#include "runtime/cudasim/api/Exports.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace graphc::cudasim {

ThreadState &threadState() {
  static thread_local ThreadState state;
  return state;
}

Driver &Driver::get() {
  // Never destroyed: programs call the driver from their own static destructors.
  static Driver *driver = new Driver;
  return *driver;
}

Driver::Driver()
    : scheduler(mutex, [this](Operation &operation) { execute(operation); },
                [this](const std::string &text) { note("deadlock", text); }) {
  if (const char *text = std::getenv("GRAPHC_CUDASIM"))
    parseOptions(text, options, optionError);
  log.setTarget(options.report);
}

// ---------------------------------------------------------------------------------------------------- entering

Call::Call(const char *name, void *caller) : driver(Driver::get()), name(name) {
  ThreadState &state = threadState();
  outermost = state.depth == 0 && !state.inCallback;
  ++state.depth;
  if (outermost) {
    driver.mutex.lock();
    if (!state.perThreadDefault)
      state.caller = caller;
    state.entryFrame = reinterpret_cast<char *>(this);
    ++driver.callCount;
  }
}

Call::~Call() {
  --threadState().depth;
  if (outermost)
    driver.mutex.unlock();
}

CUresult Call::enter(Need need) {
  ThreadState &state = threadState();
  if (state.inCallback)
    return need == Need::Nothing ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
  if (need == Need::Nothing)
    return CUDA_SUCCESS;
  if (!driver.initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (outermost) {
    driver.collectHostTouches();
    driver.hostKnows(driver.finishedCallbacks);
    driver.scheduler.maybeProgress();
  }
  if (!state.contexts.empty()) {
    context = driver.contexts.find(state.contexts.back());
    if (!context && need >= Need::Context)
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  if (need == Need::Init)
    return CUDA_SUCCESS;
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  return need == Need::Live && context->failureSeen ? context->failure : CUDA_SUCCESS;
}

PerThreadDefaultStream::PerThreadDefaultStream(void *caller)
    : outer(threadState().perThreadDefault), outerCaller(threadState().caller) {
  threadState().perThreadDefault = true;
  threadState().caller = caller;
}

PerThreadDefaultStream::~PerThreadDefaultStream() {
  threadState().perThreadDefault = outer;
  threadState().caller = outerCaller;
}

CUresult answerNotSupported(const char *name) {
  ThreadState &state = threadState();
  if (state.inCallback)
    return CUDA_ERROR_NOT_PERMITTED;
  Call call(name, __builtin_return_address(0));
  if (call.driver.log.countUnsupported(name))
    call.driver.log.print("graphc-cudasim: " + std::string(name) +
                          " is not implemented by the simulated device and answers CUDA_ERROR_NOT_SUPPORTED\n");
  return CUDA_ERROR_NOT_SUPPORTED;
}

std::string OperationInfo::text() const {
  return what + " (#" + std::to_string(number) + ", " + stream + ")";
}

// ---------------------------------------------------------------------------------------------------- start, end

CUresult Driver::initialise() {
  if (!optionError.empty()) {
    log.print("graphc-cudasim: " + optionError + "\n");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (initialised)
    return options.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
  scheduler.configure(options.schedule, options.seed);
  hostWatch.setEnabled(options.hostWatch && options.streams);
  for (unsigned i = 0; i < options.devices; ++i) {
    auto device = std::make_unique<Device>();
    device->ordinal = int(i);
    device->model = options.model;
    device->model.memoryBytes = options.memoryBytes;
    device->memory = std::make_unique<MemorySpace>(int(i), options.memoryBytes, options.checks.uninitialised);
    auto pool = std::make_unique<Pool>();
    pool->device = device.get();
    pool->isDefault = true;
    device->defaultPool = device->currentPool = pools.add(std::move(pool));
    devices.push_back(std::move(device));
  }
  initialised = true;
  if (!options.devices)
    return CUDA_ERROR_NO_DEVICE;
  startIdleRunner();
  return CUDA_SUCCESS;
}

void Driver::startIdleRunner() {
  if (idleRunning || !options.idleMs)
    return;
  idleRunning = true;
  // From exit() on nothing may run behind the program's back: what it would touch may be gone.
  std::atexit([] { get().exiting = true; });
  // The program's threads may wait for a host function, or poll memory a kernel writes, without calling us.
  std::thread([this] {
    uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::lock_guard<std::mutex> lock(mutex);
      auto now = std::chrono::steady_clock::now();
      if (exiting)
        return;
      if (callCount != seen || scheduler.idle() || !options.idleMs) {
        seen = callCount;
        since = now;
        continue;
      }
      unsigned patience = scheduler.hasHostWork() ? std::min(20u, options.idleMs) : options.idleMs;
      if (now - since >= std::chrono::milliseconds(patience))
        scheduler.runAll();
    }
  }).detach();
}

void Driver::reset() {
  scheduler.clear();
  for (Context *context : contexts.all())
    context->failure = CUDA_ERROR_DEINITIALIZED; // no leak reports: the caller throws everything away
  while (!contexts.all().empty())
    destroyContext(contexts.all().back());
  destroyAllGraphs();
  hostWatch.clear();
  history.clear();
  events.clear();
  streams.clear();
  kernels.clear();
  libraries.clear();
  functions.clear();
  modules.clear();
  pools.clear();
  while (!memory.empty())
    releaseMemory(memory.begin());
  devices.clear();
  reportedPairs.clear();
  forgotten.clear();
  valueWrites.clear();
  hostClock = finishedCallbacks = VectorClock();
  slots = ClockSlots();
  hostModelSeconds = 0;
  operationCount = 0;
  nextId = 1;
  initialised = false;
  options = Options();
  optionError.clear();
  if (const char *text = std::getenv("GRAPHC_CUDASIM"))
    parseOptions(text, options, optionError);
  log.clear();
  log.setTarget(options.report);
  threadState().contexts.clear();
}

// ---------------------------------------------------------------------------------------------------- handles

Device *Driver::device(CUdevice ordinal) {
  return ordinal >= 0 && size_t(ordinal) < devices.size() ? devices[ordinal].get() : nullptr;
}

Context *Driver::createContext(Device &device, unsigned flags, bool primary) {
  auto created = std::make_unique<Context>();
  created->device = &device;
  created->flags = flags;
  created->primary = primary;
  created->id = nextId++;
  Context *result = contexts.add(std::move(created));
  result->legacy = createStream(result, Stream::Kind::Legacy, 0, 0);
  return result;
}

void Driver::destroyContext(Context *context, bool renew) {
  // Work that was queued would have run on a device by now; its findings belong to this context.
  for (Stream *stream : std::vector<Stream *>(context->streams))
    if (stream->last && !stream->last->done)
      scheduler.runUntil(OperationRef(stream->last));
  for (auto &[operation, clock] : std::exchange(context->orphans, {}))
    if (!operation->done)
      scheduler.runUntil(operation);
  for (Stream *stream : context->streams)
    hostKnows(stream->clock);
  if (!context->failure) {
    size_t leaked = 0, bytes = 0;
    std::string text;
    for (auto &[base, record] : memory)
      if (record.context == context && record.kind != MemoryRecord::Kind::Module &&
          record.kind != MemoryRecord::Kind::Registered) {
        ++leaked;
        bytes += record.size;
        char line[96];
        std::snprintf(line, sizeof line, "  %llu bytes at 0x%llx, allocated at ", (unsigned long long)record.size,
                      (unsigned long long)base);
        if (leaked <= 20)
          text += line + record.site.text() + "\n";
      }
    if (leaked)
      note("leak", std::to_string(leaked) + " allocations (" + std::to_string(bytes) +
                       " bytes) were still live when their context ended:\n" + text);
  }
  destroyCaptures(context);
  for (auto it = memory.begin(); it != memory.end();) {
    auto next = std::next(it);
    if (it->second.context == context)
      releaseMemory(it);
    it = next;
  }
  for (LoadedModule *module : std::vector<LoadedModule *>(modules.all()))
    if (module->context == context)
      unloadModule(module);
  for (Event *event : std::vector<Event *>(events.all()))
    if (event->context == context)
      events.erase(event);
  for (Stream *stream : std::vector<Stream *>(context->streams)) {
    slots.release(stream->slot);
    streams.erase(stream);
  }
  for (Context *other : contexts.all())
    other->peers.erase(context);
  if (renew) {
    Device *device = context->device;
    unsigned flags = context->flags;
    *context = Context();
    context->device = device;
    context->flags = flags;
    context->primary = true;
    context->id = nextId++;
    context->legacy = createStream(context, Stream::Kind::Legacy, 0, 0);
    return;
  }
  if (context->device->primary == context) {
    context->device->primary = nullptr;
    context->device->primaryCount = 0;
  }
  contexts.erase(context);
}

std::string Stream::name() const {
  switch (kind) {
  case Kind::Legacy:
    return "the legacy default stream";
  case Kind::PerThread:
    return "a thread's default stream";
  case Kind::User:
    break;
  }
  return "stream " + std::to_string(id);
}

Stream *Driver::createStream(Context *context, Stream::Kind kind, unsigned flags, int priority) {
  auto created = std::make_unique<Stream>();
  created->context = context;
  created->kind = kind;
  created->flags = flags;
  created->priority = priority;
  created->id = nextId++;
  created->slot = slots.acquire(hostClock);
  Stream *result = streams.add(std::move(created));
  context->streams.push_back(result);
  return result;
}

Stream *Driver::perThreadStream(Context *context) {
  Stream *&stream = context->perThread[std::this_thread::get_id()];
  if (!stream)
    stream = createStream(context, Stream::Kind::PerThread, 0, 0);
  return stream;
}

Stream *Driver::stream(CUstream handle) {
  ThreadState &state = threadState();
  Context *current = state.contexts.empty() ? nullptr : contexts.find(state.contexts.back());
  bool perThread = handle == CU_STREAM_PER_THREAD || (!handle && state.perThreadDefault);
  if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
    return streams.find(handle);
  if (!current)
    return nullptr;
  return perThread ? perThreadStream(current) : current->legacy;
}

// ---------------------------------------------------------------------------------------------------- queueing

std::shared_ptr<const OperationInfo> Driver::makeInfo(const std::string &what, const std::string &where) {
  auto info = std::make_shared<OperationInfo>();
  info->what = what;
  info->stream = where;
  info->number = ++operationCount;
  if (options.streams)
    info->site = captureSite();
  else
    info->site.frames[0] = threadState().caller;
  return info;
}

/// What work queued to `stream` now comes after: the stream, the host, and the legacy stream's two-way order with the
/// blocking streams of its context.
VectorClock Driver::clockFor(Stream &stream, std::vector<OperationRef> &dependencies) {
  VectorClock clock = hostClock;
  clock.join(stream.clock);
  auto follow = [&](Stream &other) {
    clock.join(other.clock);
    if (other.last && !other.last->done)
      dependencies.push_back(other.last);
  };
  if (stream.last)
    dependencies.push_back(stream.last);
  if (stream.kind == Stream::Kind::Legacy) {
    for (Stream *other : stream.context->streams)
      if (other->blocking() && !other->capture)
        follow(*other);
  } else if (stream.blocking()) {
    follow(*stream.context->legacy);
  }
  return clock;
}

OperationRef Driver::enqueue(Stream &stream, std::shared_ptr<Action> action, const std::vector<OperationRef> &extra,
                             const VectorClock *extraClock) {
  auto operation = std::make_shared<Operation>();
  operation->context = stream.context;
  operation->info = makeInfo(action->describe(), stream.name());
  operation->clock = clockFor(stream, operation->dependencies);
  operation->dependencies.insert(operation->dependencies.end(), extra.begin(), extra.end());
  if (extraClock)
    operation->clock.join(*extraClock);
  operation->moment = slots.next(stream.slot);
  operation->clock.advance(operation->moment);
  operation->action = std::move(action);
  operation->startSeconds = hostModelSeconds;
  stream.clock = operation->clock;
  stream.last = operation;
  operation->action->queued(*operation);
  scheduler.enqueue(operation);
  return operation;
}

OperationRef Driver::enqueueAt(Context *context, uint32_t slot, const VectorClock &clock,
                               std::vector<OperationRef> dependencies, std::shared_ptr<Action> action,
                               const std::string &where) {
  auto operation = std::make_shared<Operation>();
  operation->context = context;
  operation->info = makeInfo(action->describe(), where);
  operation->clock = clock;
  operation->moment = slots.next(slot);
  operation->clock.advance(operation->moment);
  operation->dependencies = std::move(dependencies);
  operation->action = std::move(action);
  operation->startSeconds = hostModelSeconds;
  operation->action->queued(*operation);
  scheduler.enqueue(operation);
  return operation;
}

// ---------------------------------------------------------------------------------------------------- waiting

void Driver::hostKnows(const VectorClock &clock) {
  hostClock.join(clock);
  if (!hostWatch.empty())
    hostWatch.release(hostClock);
  std::erase_if(forgotten, [&](const Forgotten &range) {
    if (!hostClock.covers(range.moment))
      return false;
    history.forget(range.lo, range.hi);
    return true;
  });
}

CUresult Driver::waitFor(const OperationRef &operation, const VectorClock &clock, Context *context) {
  VectorClock known = clock;
  if (operation) {
    if (!operation->done && !scheduler.runUntil(operation)) {
      context->failure = CUDA_ERROR_LAUNCH_FAILED;
      return context->outcome();
    }
    hostModelSeconds = std::max(hostModelSeconds, operation->endSeconds);
    known.join(operation->clock);
  }
  hostKnows(known);
  collectHostTouches();
  return context->outcome();
}

CUresult Driver::synchronise(Stream &stream) {
  if (stream.kind == Stream::Kind::Legacy) {
    // Waiting for the legacy stream waits for the blocking streams too, as work in it would.
    std::vector<OperationRef> before;
    VectorClock clock = clockFor(stream, before);
    for (const OperationRef &operation : before)
      if (CUresult failure = waitFor(operation, operation->clock, stream.context))
        return failure;
    hostKnows(clock);
    collectHostTouches();
    return stream.context->outcome();
  }
  VectorClock clock = stream.clock;
  return waitFor(OperationRef(stream.last), clock, stream.context);
}

CUresult Driver::synchronise(Context &context) {
  CUresult result = CUDA_SUCCESS;
  std::vector<std::pair<OperationRef, VectorClock>> all = std::move(context.orphans);
  context.orphans.clear();
  for (Stream *stream : context.streams)
    all.push_back({stream->last, stream->clock});
  for (auto &[operation, clock] : all)
    if (CUresult failure = waitFor(operation, clock, &context))
      result = failure;
  return result ? result : context.outcome();
}

CUresult Driver::synchroniseDevice(Device &device) {
  for (Context *context : std::vector<Context *>(contexts.all()))
    if (context->device == &device)
      synchronise(*context); // another context's failure is not the caller's
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------------------------------------------- running

void Driver::execute(Operation &operation) {
  for (const OperationRef &dependency : operation.dependencies) {
    operation.startSeconds = std::max(operation.startSeconds, dependency->endSeconds);
    // A wait on a memory value learns what came before it only when it runs.
    operation.clock.join(dependency->clock);
  }
  operation.endSeconds = operation.startSeconds;
  if (operation.context->failure && !operation.action->survivesFailure()) {
    operation.failed = true;
    return;
  }
  if (operation.action->callsHost()) {
    // What came before a host function is finished for it: it may touch those buffers.
    hostWatch.release(operation.clock);
    if (!hostWatch.empty()) {
      hostWatch.compareAll();
      hostWatch.pauseAfter(operation.moment);
    }
    ThreadState &state = threadState();
    state.inCallback = true;
    {
      Unlocked unlocked(*this);
      operation.action->run(operation);
    }
    state.inCallback = false;
    finishedCallbacks.join(operation.clock);
    if (!hostWatch.empty()) {
      hostWatch.resumePaused();
      hostWatch.refreshSnapshots();
    }
  } else {
    bool suspends = !hostWatch.empty() && operation.action->touchesAnything();
    if (!hostWatch.empty())
      hostWatch.check(operation.moment);
    if (suspends)
      hostWatch.suspend();
    operation.action->run(operation);
    if (suspends)
      hostWatch.resume();
  }
  operation.endSeconds = operation.startSeconds + operation.modelSeconds;
}

void Driver::touch(Operation &operation, AccessKind kind, uint64_t lo, uint64_t hi) {
  if (!options.streams || lo >= hi)
    return;
  std::vector<Race> races;
  history.access(operation.clock, operation.moment, operation.info, kind, lo, hi, races);
  if (!races.empty())
    reportRaces(operation, races);
}

void Driver::touch(Operation &operation, AccessKind kind, const AccessSet &set) {
  if (!options.streams || set.empty())
    return;
  std::vector<Race> races;
  history.access(operation.clock, operation.moment, operation.info, kind, set, races);
  if (!races.empty())
    reportRaces(operation, races);
}

static const char *verb(AccessKind kind) {
  return kind == AccessKind::Read ? "reads" : kind == AccessKind::Write ? "writes" : "updates atomically";
}

void Driver::reportRaces(Operation &operation, const std::vector<Race> &races) {
  for (const Race &race : races) {
    // The call that came first is named first, whatever order this execution took.
    const OperationInfo *a = race.earlier.get(), *b = race.later.get();
    AccessKind aKind = race.earlierKind, bKind = race.laterKind;
    if (a->number > b->number) {
      std::swap(a, b);
      std::swap(aKind, bKind);
    }
    std::string pair = a->what + a->stream + std::to_string(reinterpret_cast<uintptr_t>(a->site.frames[0])) + "|" +
                       b->what + b->stream + std::to_string(reinterpret_cast<uintptr_t>(b->site.frames[0]));
    if (!reportedPairs.insert(pair).second)
      continue;
    char where[64];
    std::snprintf(where, sizeof where, "  memory: %llu bytes at 0x%llx, ", (unsigned long long)race.bytes,
                  (unsigned long long)race.address);
    fail(operation.context, "stream-race",
         "no event, stream order or synchronisation orders these two, and both touch the same memory:\n  " + a->text() +
             " " + verb(aKind) + " it\n    called from " + a->site.text() + "\n  " + b->text() + " " + verb(bKind) +
             " it\n    called from " + b->site.text() + "\n" + where + describeAddress(race.address) +
             "\n  what would help: record an event after the first and let the second's stream wait for it, or "
             "synchronise in between\n");
  }
}

void Driver::collectHostTouches() {
  for (const HostWatch::Touch &touch : hostWatch.collect()) {
    char where[64];
    std::snprintf(where, sizeof where, "0x%llx", (unsigned long long)touch.address);
    std::string pair = touch.operation->what + touch.operation->stream + "|host" + touch.site.text();
    if (!reportedPairs.insert(pair).second)
      continue;
    Context *owner = nullptr;
    if (MemoryRecord *record = findMemory(touch.address))
      owner = record->context;
    if (!owner && !threadState().contexts.empty())
      owner = contexts.find(threadState().contexts.back());
    fail(owner, "host-race",
         std::string("the program ") + (touch.write ? "wrote" : "read") + " host memory that a queued operation " +
             (touch.operationReads ? "still reads" : "still writes") + ", and had not synchronised with it:\n  " +
             touch.operation->text() + "\n    called from " + touch.operation->site.text() + "\n  the program at " +
             (touch.exact ? touch.site.text() : std::string("some place between the two calls (seen by the changed value)")) +
             "\n  memory: " + where + ", " + describeAddress(touch.address) +
             "\n  what would help: synchronise with the stream, or with an event recorded after the copy, before " +
             (touch.write ? "writing" : "reading") + "\n");
  }
}

void Driver::fail(Context *context, const std::string &kind, const std::string &text, CUresult code) {
  bool first = !context || !context->reported;
  log.add(kind, text, true, first || !options.failOnFinding);
  if (!context)
    return;
  context->reported = true;
  if (options.failOnFinding && !context->failure)
    context->failure = code;
}

void Driver::note(const std::string &kind, const std::string &text) { log.add(kind, text, false, true); }

// ---------------------------------------------------------------------------------------------------- memory

MemoryRecord *Driver::findMemory(uint64_t address) {
  auto it = memory.upper_bound(address);
  if (it == memory.begin())
    return nullptr;
  --it;
  return address - it->first < it->second.size ? &it->second : nullptr;
}

std::string Driver::describeAddress(uint64_t address) {
  MemoryRecord *record = findMemory(address);
  if (record) {
    static const char *const names[] = {"device allocation", "pool allocation", "managed allocation",
                                        "pinned host allocation", "registered host range", "module variable",
                                        "graph allocation"};
    return std::to_string(address - record->base) + " bytes into the " + std::to_string(record->size) + "-byte " +
           names[int(record->kind)] +
           (record->kind == MemoryRecord::Kind::Module ? "" : " made at " + record->site.text());
  }
  for (auto &device : devices)
    if (device->memory->findNearest(address))
      return device->memory->describe(address);
  return "not in any allocation";
}

void Driver::releaseMemory(std::map<uint64_t, MemoryRecord>::iterator it) {
  MemoryRecord &record = it->second;
  history.forget(record.base, record.base + record.size);
  if (record.onDevice()) {
    if (record.kind != MemoryRecord::Kind::Module) // the module owns its variables
      record.device->memory->free(record.base);
    if (record.pool)
      record.pool->used -= record.size;
  } else {
    hostWatch.removeOwned(record.base);
    for (auto &device : devices)
      device->memory->unregisterHost(reinterpret_cast<void *>(record.base));
    if (record.mappedPages)
      munmap(reinterpret_cast<void *>(record.base), record.size);
  }
  memory.erase(it);
}

namespace {
class Marker final : public Action {
public:
  explicit Marker(std::string text) : text(std::move(text)) {}
  std::string describe() const override { return text; }
  void run(Operation &) override {}
  bool survivesFailure() const override { return true; }

private:
  std::string text;
};
} // namespace

std::shared_ptr<Action> makeMarker(std::string text) { return std::make_shared<Marker>(std::move(text)); }

} // namespace graphc::cudasim
