// A launch: configuration checks, resident blocks, host threads, progress.
//
// Each host thread owns some resident blocks and runs one at a time, a warp after the other, until it finishes or only
// spins; then the next. Blocks start in seeded order and only as many as fit the device are resident, so programs that
// wait for each other across blocks (grid.sync, stream-K, last-block) progress here exactly when they would there.
#include "runtime/cudasim/engine/Checkers.h"
#include "runtime/cudasim/engine/handlers/Handlers.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

namespace graphc::cudasim {

// -- handler levels ------------------------------------------------------------------------------------------------

namespace {

bool supports(int level) {
  if (level == 0)
    return true;
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
  if (level == 1)
    return v3;
  return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
const char *levelNames[] = {"x86-64", "x86-64-v3", "x86-64-v4"};
std::atomic<int> chosenLevel{-1};

int currentLevel() {
  int level = chosenLevel;
  if (level < 0) {
    level = supports(2) ? 2 : supports(1) ? 1 : 0;
    chosenLevel = level;
  }
  return level;
}

} // namespace

const Handlers &handlers() {
  int level = currentLevel();
  return level == 2 ? v4Handlers() : level == 1 ? v3Handlers() : baselineHandlers();
}
const char *handlerLevel() { return levelNames[currentLevel()]; }
bool setHandlerLevel(std::string_view name) {
  for (int level = 0; level < 3; ++level)
    if (name == levelNames[level] && supports(level)) {
      chosenLevel = level;
      return true;
    }
  return false;
}

// -- occupancy -----------------------------------------------------------------------------------------------------

uint32_t residentBlocks(const FunctionInfo &function, const DeviceModel &model, uint32_t threadsPerBlock,
                        uint32_t dynamicSharedBytes) {
  if (threadsPerBlock == 0 || threadsPerBlock > model.maxThreadsPerBlock)
    return 0;
  uint32_t warps = (threadsPerBlock + 31) / 32;
  uint32_t limit = std::min(model.maxBlocksPerMultiprocessor, model.maxThreadsPerMultiprocessor / (warps * 32));
  uint32_t registers = std::max(function.registers, 16u);
  uint32_t perWarp = (registers * 32 + 255) / 256 * 256; // allocated in units of 256
  limit = std::min(limit, model.registersPerMultiprocessor / (perWarp * warps));
  uint64_t shared = uint64_t(function.staticSharedBytes) + dynamicSharedBytes;
  if (shared > model.sharedPerBlockOptin)
    return 0;
  uint64_t used = (shared + model.reservedSharedPerBlock + 127) / 128 * 128;
  return std::min(limit, uint32_t(model.sharedPerMultiprocessor / used));
}

// -- blocks --------------------------------------------------------------------------------------------------------

Worker::~Worker() {
  if (shapes) {
    FunctionCode::ShapePool &pool = launch->function->shapes;
    std::lock_guard lock(pool.mutex);
    pool.kept.push_back(std::move(shapes));
  }
  for (auto &[lo, range] : touched)
    launch->memory->touchedMaps().giveBack(std::move(range));
}

namespace {

constexpr uint64_t warpFuel = uint64_t(1) << 15, blockFuel = uint64_t(1) << 20;

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

void prepareStorage(LaunchState &launch, Block &block) {
  uint32_t warps = launch.warpsPerBlock;
  size_t warpBytes = sizeof(Warp) * warps;
  size_t registerBytes = size_t(launch.function->registerAreaBytes) * warps;
  size_t sharedBytes = (size_t(launch.sharedBytes) + 127) / 64 * 64;
  size_t localBytes = (size_t(launch.localBytes) * warps * 32 + 127) / 64 * 64;
  block.storage.resize(warpBytes + registerBytes + sharedBytes + localBytes + 256);
  auto base = (reinterpret_cast<uintptr_t>(block.storage.data()) + 127) & ~uintptr_t(127);
  block.warps = reinterpret_cast<Warp *>(base);
  block.registers = reinterpret_cast<char *>(base + (warpBytes + 127) / 128 * 128);
  block.shared = block.registers + registerBytes;
  block.local = block.shared + sharedBytes;
  block.launch = &launch;
  block.warpCount = warps;
  block.async.resize(warps);
  if (launch.function->usesStack)
    block.callStacks.resize(size_t(warps) * 32);
  block.pendingBits.assign((launch.sharedBytes / 4 + 127) / 64 + 1, 0);
  block.pending.bits = block.pendingBits.data();
}

uint32_t specialValue(const LaunchState &launch, const Block &block, uint32_t warp, uint32_t lane, Special special) {
  const LaunchConfig &config = *launch.config;
  uint32_t thread = warp * 32 + lane;
  switch (special) {
  case TidX: return thread % config.block.x;
  case TidY: return thread / config.block.x % config.block.y;
  case TidZ: return thread / (config.block.x * config.block.y);
  case LaneId: return lane;
  case WarpId: return warp;
  case LaneMaskEq: return 1u << lane;
  case LaneMaskLt: return (1u << lane) - 1;
  case LaneMaskLe: return (2u << lane) - 1;
  case LaneMaskGt: return ~((2u << lane) - 1);
  case LaneMaskGe: return ~((1u << lane) - 1);
  case NTidX: return config.block.x;
  case NTidY: return config.block.y;
  case NTidZ: return config.block.z;
  case CtaIdX: return block.id.x;
  case CtaIdY: return block.id.y;
  case CtaIdZ: return block.id.z;
  case NCtaIdX: return config.grid.x;
  case NCtaIdY: return config.grid.y;
  case NCtaIdZ: return config.grid.z;
  case SmId: return uint32_t(block.linear % launch.model->multiprocessors);
  case NSmId: return launch.model->multiprocessors;
  case NWarpId: return launch.warpsPerBlock;
  case GridId: return 1;
  // Cooperative groups find the grid's barrier through these two: the high and the low word of its address.
  case EnvReg1: return config.cooperative ? uint32_t(reinterpret_cast<uint64_t>(launch.gridBarrier) >> 32) : 0;
  case EnvReg2: return config.cooperative ? uint32_t(reinterpret_cast<uint64_t>(launch.gridBarrier)) : 0;
  case DynamicSmemSize: return config.dynamicSharedBytes;
  case TotalSmemSize: return launch.function->info.staticSharedBytes + config.dynamicSharedBytes;
  case OneSpecial: return 1;
  case StackTop: return alignFrame(launch.function->localBytes);
  default: return 0;
  }
}

void startBlock(LaunchState &launch, Worker &worker, Block &block, uint64_t linear) {
  const FunctionCode &function = *launch.function;
  const LaunchConfig &config = *launch.config;
  block.worker = &worker;
  block.linear = linear;
  block.id = {uint32_t(linear % config.grid.x), uint32_t(linear / config.grid.x % config.grid.y),
              uint32_t(linear / (uint64_t(config.grid.x) * config.grid.y))};
  block.barrierEpoch = 0;
  block.nextWarp = 0;
  if (config.seed && block.warpCount > 1)
    block.nextWarp = uint32_t(mix(config.seed ^ linear * 77) % block.warpCount);
  for (BarrierState &barrier : block.barriers)
    barrier = {};
  for (AsyncState &async : block.async) {
    async.entries.clear();
    std::memset(async.committed, 0, sizeof async.committed);
  }
  if (block.pending.granules) {
    std::fill(block.pendingBits.begin(), block.pendingBits.end(), 0);
    block.pending.granules = 0;
    block.pending.forgetSources();
  }
  uint64_t threads = config.block.count();
  block.liveWarps = block.warpCount;
  for (uint32_t index = 0; index < block.warpCount; ++index) {
    Warp &warp = block.warps[index];
    // A block's storage serves many blocks: what only depends on the thread is written once.
    bool isNew = !block.initialised;
    if (isNew) {
      new (&warp) Warp;
      warp.bases[RegisterBase] = block.registers + size_t(function.registerAreaBytes) * index;
      warp.bases[PoolBase] = const_cast<char *>(function.poolData());
      warp.bases[ParamBase] = launch.paramArea;
      warp.caches = worker.caches.data();
      warp.shapes = worker.shapes.get();
      warp.shared = block.shared;
      warp.pending = &block.pending;
      warp.index = index;
      warp.block = &block;
      warp.worker = &worker;
    }
    warp.event = Event::None;
    warp.spinning = false;
    warp.spins = 0;
    uint64_t left = threads - uint64_t(index) * 32;
    warp.live = warp.initial = left >= 32 ? ~0u : (1u << left) - 1;
    warp.fragmentCount = 1;
    warp.fragments[0] = {};
    warp.fragments[0].mask = warp.live;
    std::memset(warp.bases[0], 0, function.predicates * 4);
    warp.pred(predTrue) = ~0u;
    for (const SpecialSlot &special : function.specials) {
      if (!isNew && special.special != CtaIdX && special.special != CtaIdY && special.special != CtaIdZ &&
          special.special != SmId && special.special != FrameBase && special.special != StackTop)
        continue;
      auto *slot = reinterpret_cast<uint32_t *>(warp.bases[0] + special.slot);
      for (uint32_t lane = 0; lane < 32; ++lane)
        slot[lane] = specialValue(launch, block, index, lane, special.special);
    }
  }
  block.initialised = true;
  // Shared memory starts as poison, so that reading before writing shows.
  if (launch.sharedBytes)
    std::memset(block.shared, 0xCD, launch.sharedBytes);
  for (size_t lane = 0; function.localBytes && lane < size_t(block.warpCount) * 32; ++lane) // frames are poisoned by calls
    std::memset(block.local + lane * launch.localBytes, 0xCD, function.localBytes);
  for (std::vector<ReturnPoint> &stack : block.callStacks)
    stack.clear();
  if (config.checks.sharedRaces || config.checks.globalRaces) {
    if (!block.races)
      block.races = std::make_unique<RaceChecker>(launch, block);
    block.races->blockStarts();
  }
  if (launch.defined)
    launch.defined->blockStarts(block);
}

/// Thread creation costs tens of microseconds: the first worker goes ahead alone and calls the others when it is worth it.
void callOthers(LaunchState &launch, Worker &worker, bool atOnce) {
  if (worker.index != 0 || !launch.startOthers)
    return;
  constexpr auto patience = std::chrono::microseconds(30);
  if (atOnce || std::chrono::steady_clock::now() - launch.begin > patience)
    std::exchange(launch.startOthers, nullptr)();
}

/// Draws a block's number: several at a time from a large grid, so that workers rarely meet. False when none is left.
bool drawTicket(LaunchState &launch, Worker &worker, uint64_t &ticket) {
  if (worker.nextTicket == worker.ticketEnd) {
    uint64_t drawn = launch.nextBlock.load(std::memory_order_relaxed);
    if (drawn >= launch.totalBlocks)
      return false;
    uint64_t share = launch.config->cooperative ? 1 : (launch.totalBlocks - drawn) / (16 * launch.workers.size());
    uint64_t count = std::clamp<uint64_t>(share, 1, 64);
    worker.nextTicket = launch.nextBlock.fetch_add(count);
    worker.ticketEnd = std::min(worker.nextTicket + count, launch.totalBlocks);
    if (worker.nextTicket >= worker.ticketEnd) {
      worker.nextTicket = worker.ticketEnd;
      return false;
    }
  }
  ticket = worker.nextTicket++;
  return true;
}

uint64_t progressOf(const LaunchState &launch) {
  uint64_t sum = 0;
  for (auto &worker : launch.workers)
    sum += worker->progress.load(std::memory_order_relaxed);
  return sum;
}

enum class BlockOutcome { Finished, Spinning, Exhausted, Stopped };

BlockOutcome runBlock(LaunchState &launch, Worker &worker, Block &block, uint64_t &writes) {
  uint64_t before = worker.steps;
  writes = 0;
  for (;;) {
    bool ran = false, onlySpinning = true;
    uint32_t first = block.nextWarp;
    for (uint32_t k = 0; k < block.warpCount; ++k) {
      uint32_t index = first + k < block.warpCount ? first + k : first + k - block.warpCount;
      Warp &warp = block.warps[index];
      if (!warp.live)
        continue;
      uint64_t writesBefore = warp.writes;
      uint64_t stepsBefore = worker.steps;
      WarpOutcome outcome = runWarp(worker, block, warp, warpFuel);
      writes += warp.writes - writesBefore;
      if (launch.stop.load(std::memory_order_relaxed))
        return BlockOutcome::Stopped;
      callOthers(launch, worker, false);
      if (outcome != WarpOutcome::Yielded && worker.steps != stepsBefore)
        onlySpinning = false;
      ran |= worker.steps != stepsBefore;
      if (!block.liveWarps)
        return BlockOutcome::Finished;
    }
    if (!ran) {
      reportStuck(block);
      launch.stop = true;
      return BlockOutcome::Stopped;
    }
    if (onlySpinning)
      return BlockOutcome::Spinning;
    if (worker.steps - before > blockFuel)
      return BlockOutcome::Exhausted;
  }
}

/// Any one warp of a block, for reports about the whole grid.
void reportGrid(Worker &worker, FindingKind kind, const std::string &text) {
  for (auto &block : worker.resident)
    for (uint32_t index = 0; index < block->warpCount; ++index) {
      Warp &warp = block->warps[index];
      if (warp.live && warp.fragmentCount) {
        const Fragment &fragment = warp.fragments[0];
        report(warp, block->launch->function->code[fragment.pc], unsigned(__builtin_ctz(fragment.mask)), kind, text);
        return;
      }
    }
}

void work(LaunchState &launch, Worker &worker, uint32_t residentShare) {
  uint64_t budget = launch.config->stepBudget ? launch.config->stepBudget : uint64_t(1) << 40;
  uint64_t livelock = launch.config->livelockSteps ? launch.config->livelockSteps : uint64_t(1) << 26;
  uint64_t idleSteps = 0, seenProgress = 0, countedSteps = 0;
  size_t turn = 0;
  auto startNext = [&]() {
    uint64_t ticket;
    if (!drawTicket(launch, worker, ticket))
      return false;
    uint64_t linear = (uint64_t)(((unsigned __int128)ticket * launch.seedMultiplier + launch.seedOffset) % launch.totalBlocks);
    std::unique_ptr<Block> block;
    if (!worker.spare.empty()) {
      block = std::move(worker.spare.back());
      worker.spare.pop_back();
    } else {
      block = std::make_unique<Block>();
      prepareStorage(launch, *block);
    }
    startBlock(launch, worker, *block, linear);
    worker.resident.push_back(std::move(block));
    return true;
  };
  // A cooperative grid is wholly resident from the start.
  callOthers(launch, worker, launch.config->cooperative);
  if (launch.config->cooperative)
    while (worker.resident.size() < residentShare && startNext()) {
    }
  while (!launch.stop.load(std::memory_order_relaxed)) {
    if (worker.resident.empty() && !startNext())
      break;
    if (turn >= worker.resident.size())
      turn = 0;
    Block &block = *worker.resident[turn];
    uint64_t writes;
    uint64_t stepsBefore = worker.steps;
    BlockOutcome outcome = runBlock(launch, worker, block, writes);
    uint64_t ran = worker.steps - stepsBefore;
    if (writes)
      noteProgress(worker);
    if (outcome == BlockOutcome::Stopped)
      break;
    if (outcome == BlockOutcome::Finished) {
      noteProgress(worker);
      worker.counters.blocks += 1;
      worker.spare.push_back(std::move(worker.resident[turn]));
      worker.resident.erase(worker.resident.begin() + long(turn));
      idleSteps = 0;
    } else {
      // It waits for others or used up its turn: let another one in while there is room.
      callOthers(launch, worker, true);
      if (worker.resident.size() < residentShare && startNext())
        turn = worker.resident.size() - 1;
      else
        ++turn;
      uint64_t progress = progressOf(launch);
      if (progress != seenProgress || outcome == BlockOutcome::Exhausted) {
        seenProgress = progress;
        idleSteps = 0;
      } else {
        idleSteps += ran;
        if (idleSteps > livelock) {
          reportGrid(worker, FindingKind::Livelock,
                     "all resident blocks only read memory they wait for, and nothing was written for " +
                         std::to_string(idleSteps) + " warp instructions" +
                         (launch.nextBlock < launch.totalBlocks && !launch.config->cooperative
                              ? "; blocks that are not resident yet cannot help (launch fewer blocks, or cooperatively)"
                              : ""));
          launch.stop = true;
          break;
        }
        if (launch.config->hostThreads > 1)
          std::this_thread::yield();
      }
    }
    if (worker.steps - countedSteps > (uint64_t(1) << 20)) {
      uint64_t total = launch.steps.fetch_add(worker.steps - countedSteps) + (worker.steps - countedSteps);
      countedSteps = worker.steps;
      if (total > budget) {
        reportGrid(worker, FindingKind::StepBudget, "the launch executed more than " + std::to_string(budget) + " warp instructions");
        launch.stop = true;
        break;
      }
    }
  }
}

bool checkConfiguration(const FunctionInfo &info, const DeviceModel &model, const LaunchConfig &config, LaunchResult &result) {
  auto fail = [&](LaunchStatus status, std::string text) {
    result.status = status;
    result.error = info.name + ": " + std::move(text);
    return false;
  };
  if (!info.refused.empty())
    return fail(LaunchStatus::Refused, info.refused);
  auto positive = [](const Dim3 &d) { return d.x && d.y && d.z; };
  if (!positive(config.grid) || !positive(config.block))
    return fail(LaunchStatus::InvalidConfiguration, "grid and block dimensions must be at least 1");
  if (config.grid.x > 2147483647u || config.grid.y > 65535 || config.grid.z > 65535)
    return fail(LaunchStatus::InvalidConfiguration, "the grid is too large (2147483647 × 65535 × 65535 at most)");
  if (config.block.x > 1024 || config.block.y > 1024 || config.block.z > 64 ||
      config.block.count() > model.maxThreadsPerBlock)
    return fail(LaunchStatus::InvalidConfiguration, "the block has " + std::to_string(config.block.count()) +
                                                        " threads; the device allows " + std::to_string(model.maxThreadsPerBlock));
  if (config.cluster.count() != 1)
    return fail(LaunchStatus::InvalidConfiguration, "thread block clusters are not supported");
  if (info.requiredBlock.x && (info.requiredBlock.x != config.block.x || info.requiredBlock.y != config.block.y ||
                               info.requiredBlock.z != config.block.z))
    return fail(LaunchStatus::InvalidConfiguration, "the kernel requires a block of " + std::to_string(info.requiredBlock.x) +
                                                        "×" + std::to_string(info.requiredBlock.y) + "×" +
                                                        std::to_string(info.requiredBlock.z));
  if (config.block.count() > info.maxThreadsPerBlock)
    return fail(LaunchStatus::InvalidConfiguration, "the kernel was compiled for at most " +
                                                        std::to_string(info.maxThreadsPerBlock) + " threads a block");
  if (config.params.size() < info.paramBytes)
    return fail(LaunchStatus::InvalidConfiguration, "the kernel takes " + std::to_string(info.paramBytes) +
                                                        " bytes of parameters, " + std::to_string(config.params.size()) + " were given");
  uint64_t shared = uint64_t(info.staticSharedBytes) + config.dynamicSharedBytes;
  if (shared > model.sharedPerBlockOptin)
    return fail(LaunchStatus::InvalidConfiguration, std::to_string(shared) + " bytes of shared memory; the device allows " +
                                                        std::to_string(model.sharedPerBlockOptin));
  uint32_t resident = residentBlocks(info, model, uint32_t(config.block.count()), config.dynamicSharedBytes);
  if (resident == 0)
    return fail(LaunchStatus::OutOfResources, "a block of " + std::to_string(config.block.count()) + " threads with " +
                                                  std::to_string(info.registers) + " registers does not fit a multiprocessor");
  if (config.cooperative && config.grid.count() > uint64_t(resident) * model.multiprocessors)
    return fail(LaunchStatus::TooLargeCooperative, "a cooperative grid of " + std::to_string(config.grid.count()) +
                                                       " blocks; " + std::to_string(uint64_t(resident) * model.multiprocessors) +
                                                       " can be resident");
  return true;
}

} // namespace

LaunchResult launch(const Module &module, size_t index, MemorySpace &memory, const DeviceModel &model,
                    const LaunchConfig &config) {
  LaunchResult result;
  const FunctionCode &function = *module.code().functions[index];
  if (!checkConfiguration(function.info, model, config, result))
    return result;
  LaunchState launch;
  launch.module = &module.code();
  launch.function = &function;
  launch.memory = &memory;
  launch.model = &model;
  launch.config = &config;
  launch.result = &result;
  launch.warpsPerBlock = uint32_t((config.block.count() + 31) / 32);
  launch.totalBlocks = config.grid.count();
  launch.sharedBytes = config.dynamicSharedBytes ? function.dynamicOffset + config.dynamicSharedBytes : function.sharedLayoutBytes;
  launch.localBytes = function.usesStack ? alignFrame(function.localBytes) + alignFrame(config.stackBytes) : function.localBytes;
  for (const SharedSymbol &symbol : function.shared)
    launch.sharedRanges.push_back({symbol.offset, symbol.offset + symbol.size, &symbol});
  if (config.dynamicSharedBytes)
    launch.sharedRanges.push_back({function.dynamicOffset, launch.sharedBytes, nullptr});
  // Parameters: the block itself, and a broadcast slot for each part that instructions read.
  launch.paramBlock.assign(reinterpret_cast<const char *>(config.params.data()),
                           reinterpret_cast<const char *>(config.params.data()) + function.info.paramBytes);
  launch.paramStorage.resize(function.paramAreaBytes + 128);
  launch.paramArea = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(launch.paramStorage.data()) + 63) & ~uintptr_t(63));
  for (const ParamSlot &slot : function.params) {
    uint64_t value = 0;
    std::memcpy(&value, launch.paramBlock.data() + slot.offset, slot.bytes);
    if (slot.isSigned && slot.bytes < 8) {
      unsigned shift = 64 - slot.bytes * 8;
      value = uint64_t(int64_t(value << shift) >> shift);
    }
    for (int i = 0; i < 32; ++i)
      std::memcpy(launch.paramArea + slot.slot + i * slot.regBytes, &value, slot.regBytes);
  }
  uint32_t perMultiprocessor = residentBlocks(function.info, model, uint32_t(config.block.count()), config.dynamicSharedBytes);
  result.counters.blocksPerMultiprocessor = perMultiprocessor;
  launch.residentLimit = uint32_t(std::min<uint64_t>(uint64_t(perMultiprocessor) * model.multiprocessors, launch.totalBlocks));
  if (config.seed && launch.totalBlocks > 1) { // an affine permutation of the block order
    uint64_t multiplier = mix(config.seed) % launch.totalBlocks | 1;
    while (std::gcd(multiplier, launch.totalBlocks) != 1)
      multiplier = (multiplier + 1) % launch.totalBlocks;
    launch.seedMultiplier = multiplier;
    launch.seedOffset = mix(config.seed + 1) % launch.totalBlocks;
  }
  launch.instrumented = config.collectCounters || config.checks.sharedRaces || config.checks.globalRaces || config.checks.uninitialised;
  if (config.collectCounters || config.checks.uninitialised)
    launch.instrumentedClasses = ~0u;
  else
    for (Class cls : {Class::Load, Class::Store, Class::Atomic, Class::AsyncCopy, Class::Barrier})
      launch.instrumentedClasses |= 1u << int(cls);
  if (config.checks.uninitialised)
    launch.defined = std::make_unique<DefinedChecker>(launch);
  bool gridRegistered = false;
  if (config.cooperative) {
    memory.registerHost(launch.gridBarrier, sizeof launch.gridBarrier, AllocationKind::Pinned, "the grid's barrier");
    gridRegistered = true;
  }
  unsigned threads = std::max(1u, config.hostThreads);
  if ((config.checks.sharedRaces || config.checks.globalRaces) && !prepareRaceChecking(launch))
    threads = 1;
  if (config.checks.uninitialised)
    threads = 1;
  threads = unsigned(std::min<uint64_t>(threads, launch.residentLimit));
  for (unsigned i = 0; i < threads; ++i) {
    auto worker = std::make_unique<Worker>();
    worker->launch = &launch;
    worker->index = i;
    worker->caches.resize(function.boundsCaches + 1);
    {
      std::lock_guard lock(function.shapes.mutex);
      if (!function.shapes.kept.empty()) {
        worker->shapes = std::move(function.shapes.kept.back());
        function.shapes.kept.pop_back();
      }
    }
    if (!worker->shapes)
      worker->shapes = std::make_unique<AccessShape[]>(function.boundsCaches + 1);
    worker->rng = mix(config.seed + i * 1000003);
    if (config.collectCounters) {
      worker->executions.resize(function.code.size());
      worker->lanes.resize(function.code.size());
    }
    launch.workers.push_back(std::move(worker));
  }
  auto share = [&](unsigned i) { return launch.residentLimit / threads + (i < launch.residentLimit % threads); };
  std::vector<std::thread> others;
  if (threads > 1)
    launch.startOthers = [&] {
      for (unsigned i = 1; i < threads; ++i)
        others.emplace_back([&, i] { work(launch, *launch.workers[i], share(i)); });
    };
  work(launch, *launch.workers[0], share(0));
  for (std::thread &thread : others)
    thread.join();
  if (gridRegistered)
    memory.unregisterHost(launch.gridBarrier);
  if (config.trackAccesses)
    for (auto &worker : launch.workers)
      collectTouched(*worker, result);
  finishCounters(launch);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - launch.begin).count();
  return result;
}

} // namespace graphc::cudasim
