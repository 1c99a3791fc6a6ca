// Counters of a launch, the access sets, and the analytic time they give.
#include "runtime/cudasim/engine/Checkers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace graphc::cudasim {

namespace {

/// Sectors and bank cycles of one access.
void countMemory(Worker &worker, Warp &warp, const Inst &inst, const MemOp &mem, uint32_t mask) {
  Counters &counters = worker.counters;
  uint64_t addresses[32];
  mask = laneAddresses(warp, mem, mask, addresses);
  if (!mask)
    return;
  uint32_t bytes = mem.access == AccessKind::LdMatrix || mem.access == AccessKind::StMatrix ? 16
                   : mem.access == AccessKind::AsyncCopy || mem.access == AccessKind::MmaTile
                       ? mem.elementBytes
                       : uint32_t(mem.elementBytes) * mem.vector;
  bool isStore = inst.cls == Class::Store;
  auto global = [&](const uint64_t (&at)[32], uint32_t lanes, uint32_t size) {
    uint64_t sectors[32 * 4], lines[32];
    unsigned count = 0, lineCount = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      uint64_t address = at[__builtin_ctz(rest)];
      for (uint64_t sector = address >> 5; sector <= (address + size - 1) >> 5 && count < 128; ++sector)
        sectors[count++] = sector;
      (void)lines;
      (void)lineCount;
    }
    std::sort(sectors, sectors + count);
    unsigned distinct = unsigned(std::unique(sectors, sectors + count) - sectors);
    uint64_t total = uint64_t(__builtin_popcount(lanes)) * size;
    counters.globalRequests += 1;
    counters.globalSectors += distinct;
    counters.globalIdealSectors += std::min<uint64_t>((total + 31) / 32, distinct);
    counters.globalBytes += total;
    (isStore ? counters.globalStoreBytes : counters.globalLoadBytes) += total;
  };
  auto shared = [&](const uint64_t (&at)[32], uint32_t lanes, uint32_t size) {
    // Lanes are served in phases of 128 bytes: 32 lanes of 4 bytes, 16 of 8, 8 of 16.
    unsigned lanesPerPhase = size <= 4 ? 32 : size == 8 ? 16 : 8;
    for (unsigned first = 0; first < 32; first += lanesPerPhase) {
      uint32_t group = lanes & (lanesPerPhase == 32 ? ~0u : ((1u << lanesPerPhase) - 1) << first);
      if (!group)
        continue;
      uint32_t words[32][32];
      unsigned depth[32] = {}, worst = 1;
      for (uint32_t rest = group; rest; rest &= rest - 1) {
        uint64_t address = at[__builtin_ctz(rest)];
        for (uint64_t word = address >> 2; word <= (address + size - 1) >> 2; ++word) {
          unsigned bank = unsigned(word & 31), k = 0;
          while (k < depth[bank] && words[bank][k] != uint32_t(word))
            ++k;
          if (k == depth[bank] && k < 32)
            words[bank][depth[bank]++] = uint32_t(word);
          worst = std::max(worst, depth[bank]);
        }
      }
      counters.sharedCycles += worst;
      counters.sharedIdealCycles += 1;
    }
    counters.sharedRequests += 1;
  };
  if (mem.access == AccessKind::MmaTile)
    return; // the tile's addresses are the fragment layout's, not the hardware's
  if (mem.access == AccessKind::AsyncCopy) {
    uint64_t sources[32];
    auto *source = reinterpret_cast<const uint64_t *>(warp.at(mem.source));
    auto *sizes = mem.hasSourceSize ? reinterpret_cast<const uint32_t *>(warp.at(mem.sourceSize)) : nullptr;
    uint32_t reading = 0;
    for (int i = 0; i < 32; ++i) {
      sources[i] = source[i] + uint64_t(mem.sourceOffset);
      reading |= uint32_t(((mask >> i) & 1) && (!sizes || sizes[i])) << i;
    }
    if (reading)
      global(sources, reading, bytes);
    shared(addresses, mask, bytes);
    return;
  }
  uint64_t first = addresses[__builtin_ctz(mask)];
  switch (concreteSpace(mem.space, first)) {
  case MemSpace::Global: global(addresses, mask, bytes); break;
  case MemSpace::Shared: shared(addresses, mask, bytes); break;
  case MemSpace::Local: counters.localBytes += uint64_t(__builtin_popcount(mask)) * bytes; break;
  default: break;
  }
}

} // namespace

void instrument(Worker &worker, Block &block, Warp &warp, const Inst &inst, uint32_t mask) {
  LaunchState &launch = *block.launch;
  if (launch.config->collectCounters) {
    ++worker.executions[warp.pc];
    worker.lanes[warp.pc] += uint64_t(__builtin_popcount(mask));
    if (inst.kind == Kind::Branch) {
      ++worker.counters.branches;
      // Divergent when other lanes of the fragment fall through.
      worker.counters.divergentBranches += mask && (warp.active & ~mask) != 0;
    }
    if (inst.cls == Class::Load || inst.cls == Class::Store || inst.cls == Class::Atomic ||
        (inst.cls == Class::AsyncCopy && inst.fn != runAsyncCommit && inst.fn != runAsyncWait))
      countMemory(worker, warp, inst, *inst.mem, mask);
  }
  if (block.races && (inst.cls == Class::Load || inst.cls == Class::Store || inst.cls == Class::Atomic || inst.cls == Class::AsyncCopy || inst.fn == runFence || inst.fn == runMbarrier))
    block.races->access(warp, inst, mask);
  if (launch.defined && warp.event == Event::None)
    launch.defined->instruction(worker, block, warp, inst, mask);
}

void finishCounters(LaunchState &launch) {
  Counters &total = launch.result->counters;
  const FunctionCode &function = *launch.function;
  std::vector<uint64_t> executions(function.code.size()), lanes(function.code.size());
  uint64_t steps = 0;
  for (auto &worker : launch.workers) {
    const Counters &part = worker->counters;
    steps += worker->steps;
    total.globalRequests += part.globalRequests;
    total.globalSectors += part.globalSectors;
    total.globalIdealSectors += part.globalIdealSectors;
    total.globalBytes += part.globalBytes;
    total.globalLoadBytes += part.globalLoadBytes;
    total.globalStoreBytes += part.globalStoreBytes;
    total.sharedRequests += part.sharedRequests;
    total.sharedCycles += part.sharedCycles;
    total.sharedIdealCycles += part.sharedIdealCycles;
    total.localBytes += part.localBytes;
    total.branches += part.branches;
    total.divergentBranches += part.divergentBranches;
    total.blocks += part.blocks;
    for (size_t i = 0; i < worker->executions.size(); ++i) {
      executions[i] += worker->executions[i];
      lanes[i] += worker->lanes[i];
    }
  }
  total.warps = total.blocks * launch.warpsPerBlock;
  total.occupancy = double(total.blocksPerMultiprocessor) * launch.warpsPerBlock /
                    (launch.model->maxThreadsPerMultiprocessor / 32.0);
  total.warpInstructions = steps;
  if (!launch.config->collectCounters)
    return;
  total.warpInstructions = 0;
  uint64_t *byClass[] = {&total.integer, &total.fp32, &total.fp64, &total.fp16, &total.conversion, &total.special,
                         &total.move, &total.control, &total.memoryLoads, &total.memoryStores, &total.atomics,
                         &total.warpCollectives, &total.barriers, &total.mma, &total.asyncCopies};
  for (size_t i = 0; i < function.code.size(); ++i) {
    const Inst &inst = function.code[i];
    total.warpInstructions += executions[i];
    total.laneInstructions += lanes[i];
    *byClass[int(inst.cls)] += executions[i];
    if (inst.cls == Class::Fp32) {
      std::string_view text = function.debug[inst.debug].text;
      total.fp32Flops += lanes[i] * (text.find("fma") != text.npos || text.find("mad") != text.npos ? 2 : 1);
    } else if (inst.cls == Class::Mma) {
      std::string_view text = function.debug[inst.debug].text;
      uint64_t flops = inst.target;
      if (text.find("wmma") != text.npos)
        flops = 2ull * (inst.target & 255) * ((inst.target >> 8) & 255) * ((inst.target >> 16) & 255);
      total.mmaFlops += executions[i] * flops;
    }
  }
  // Distinct 128-byte lines, from the tracked bytes when there are any.
  if (launch.config->trackAccesses) {
    AccessSet all = launch.result->reads;
    all.merge(launch.result->writes);
    all.merge(launch.result->atomics);
    uint64_t last = ~uint64_t(0);
    all.forEach([&](uint64_t lo, uint64_t hi) {
      uint64_t first = lo >> 7, end = (hi - 1) >> 7;
      if (first == last)
        ++first;
      if (first <= end) {
        total.uniqueLines += end - first + 1;
        last = end;
      }
    });
  }
}

double estimateMicroseconds(const Counters &counters, const DeviceModel &model, const LaunchConfig &config) {
  uint64_t blocks = std::max<uint64_t>(config.grid.count(), 1);
  double perWave = std::max<double>(1, double(counters.blocksPerMultiprocessor) * model.multiprocessors);
  // Work of a partly filled last wave takes as long as a full one.
  double waves = double(blocks) / perWave, quantised = std::ceil(waves) / waves;
  if (waves < 1)
    quantised = 1;
  double used = std::min<double>(model.multiprocessors, double(blocks));
  double clock = model.clockKHz * 1e3;
  double dramBytes = counters.uniqueLines ? counters.uniqueLines * 128.0 : counters.globalSectors * 32.0;
  // Few resident warps cannot keep DRAM busy: half the warps is enough.
  double hiding = std::min(1.0, std::max(0.1, counters.occupancy * 2));
  double dram = dramBytes / (model.dramBytesPerSecond * hiding * std::min(1.0, used / (model.multiprocessors * 0.5)));
  double l2 = counters.globalSectors * 32.0 / (model.l2BytesPerSecond * used / model.multiprocessors);
  double shared = counters.sharedCycles / (used * clock);
  double issue = counters.warpInstructions / (used * 4 * clock);
  double fp32 = counters.fp32 * 32.0 / (used * model.fp32LanesPerClock * clock);
  double fp64 = counters.fp64 * 32.0 / (used * model.fp64LanesPerClock * clock);
  double sfu = counters.special * 32.0 / (used * model.sfuLanesPerClock * clock);
  double tensor = counters.mmaFlops / 2.0 / (used * model.tensorF16FmaPerClock * clock);
  double compute = std::max({shared, issue, fp32, fp64, sfu, tensor}) * quantised;
  return model.launchMicroseconds + 1e6 * std::max({dram, l2, compute});
}

std::string formatCounters(const Counters &c, const LaunchConfig &config, std::span<const DeviceModel> models) {
  std::string text;
  char line[160];
  auto row = [&](const char *name, const char *format, auto... values) {
    char value[96];
    std::snprintf(value, sizeof value, format, values...);
    std::snprintf(line, sizeof line, "  %-28s %s\n", name, value);
    text += line;
  };
  using ull = unsigned long long;
  row("blocks, warps", "%llu, %llu", ull(c.blocks), ull(c.warps));
  row("occupancy", "%.0f%% (%u blocks a multiprocessor)", c.occupancy * 100, c.blocksPerMultiprocessor);
  row("warp instructions", "%llu (%.1f%% of lanes active)", ull(c.warpInstructions), c.activeLanes() * 100);
  const std::pair<const char *, uint64_t> classes[] = {
      {"  integer", c.integer}, {"  f32", c.fp32}, {"  f64", c.fp64}, {"  f16/bf16", c.fp16}, {"  conversion", c.conversion},
      {"  special function", c.special}, {"  move", c.move}, {"  control", c.control}, {"  load", c.memoryLoads},
      {"  store", c.memoryStores}, {"  atomic", c.atomics}, {"  warp collective", c.warpCollectives},
      {"  barrier, fence", c.barriers}, {"  mma", c.mma}, {"  cp.async", c.asyncCopies}};
  for (auto &[name, count] : classes)
    if (count)
      row(name, "%llu", ull(count));
  if (c.branches)
    row("branches", "%llu (%llu divergent)", ull(c.branches), ull(c.divergentBranches));
  if (c.globalRequests)
    row("global sectors", "%llu for %llu requests (ideal %llu, %.0f%% coalesced)", ull(c.globalSectors), ull(c.globalRequests),
        ull(c.globalIdealSectors), 100.0 * double(c.globalIdealSectors) / double(std::max<uint64_t>(c.globalSectors, 1)));
  if (c.globalBytes)
    row("global bytes", "%llu read, %llu written", ull(c.globalLoadBytes), ull(c.globalStoreBytes));
  if (c.uniqueLines)
    row("distinct 128-byte lines", "%llu", ull(c.uniqueLines));
  if (c.sharedRequests)
    row("shared bank cycles", "%llu (ideal %llu)", ull(c.sharedCycles), ull(c.sharedIdealCycles));
  if (c.localBytes)
    row("local bytes", "%llu", ull(c.localBytes));
  if (c.fp32Flops)
    row("f32 operations", "%llu", ull(c.fp32Flops));
  if (c.mmaFlops)
    row("mma operations", "%llu", ull(c.mmaFlops));
  for (const DeviceModel &model : models) {
    std::string name = "estimate, " + model.name;
    row(name.c_str(), "%.2f us", estimateMicroseconds(c, model, config));
  }
  return text;
}

} // namespace graphc::cudasim
