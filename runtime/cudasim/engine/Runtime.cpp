// Handlers that are not about lanes of numbers: printf, assert, trap, fences, clocks, mbarrier.
#include "runtime/cudasim/engine/Checkers.h"

#include <atomic>
#include <cstdio>

namespace graphc::cudasim {

namespace {

/// What a call's argument list names: an offset, times four, in the frame whose base is inst.a.
char *argumentPlace(Warp &warp, const Inst &inst, unsigned lane, Ref quadrupled) {
  return localMemory(warp, lane, reinterpret_cast<const uint32_t *>(warp.at(inst.a))[lane] + quadrupled / 4);
}
template <class T>
T argumentValue(Warp &warp, const Inst &inst, unsigned lane, Ref quadrupled) {
  T value;
  std::memcpy(&value, argumentPlace(warp, inst, lane, quadrupled), sizeof value);
  return value;
}

/// Bytes readable from a generic address, as a host pointer; null when it points nowhere.
const char *hostPointer(Warp &warp, unsigned lane, uint64_t address, uint64_t &available) {
  LaunchState &launch = *warp.block->launch;
  switch (concreteSpace(MemSpace::Generic, address)) {
  case MemSpace::Shared:
    if (address >= launch.sharedBytes)
      return nullptr;
    available = launch.sharedBytes - address;
    return warp.block->shared + address;
  case MemSpace::Local:
    if (address >= localEnd(warp, lane))
      return nullptr;
    available = localEnd(warp, lane) - address;
    return localMemory(warp, lane, uint32_t(address));
  case MemSpace::Param:
    if (address >= launch.paramBlock.size())
      return nullptr;
    available = launch.paramBlock.size() - address;
    return launch.paramBlock.data() + address;
  default: {
    MemorySpace::Range range = launch.memory->accessible(address);
    if (!range.hi)
      return nullptr;
    available = range.hi - address;
    return reinterpret_cast<const char *>(address);
  }
  }
}
std::string stringAt(Warp &warp, unsigned lane, uint64_t address) {
  uint64_t available = 0;
  const char *p = hostPointer(warp, lane, address, available);
  if (!p)
    return "(invalid string)";
  return std::string(p, strnlen(p, available));
}

} // namespace

/// list: places of the format pointer, the argument block pointer and the result.
void runPrintf(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  LaunchState &launch = *warp.block->launch;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    std::string format = stringAt(warp, lane, argumentValue<uint64_t>(warp, inst, lane, inst.list[0]));
    uint64_t block = argumentValue<uint64_t>(warp, inst, lane, inst.list[1]), offset = 0;
    uint64_t available = 0;
    const char *arguments = block ? hostPointer(warp, lane, block, available) : nullptr;
    // Arguments sit at their natural alignment; floats were promoted to double.
    auto take = [&](size_t size) {
      uint64_t value = 0;
      offset = (offset + size - 1) / size * size;
      if (arguments && offset + size <= available)
        std::memcpy(&value, arguments + offset, size);
      offset += size;
      return value;
    };
    std::string text;
    int count = 0;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        text += format[i];
        continue;
      }
      if (i + 1 < format.size() && format[i + 1] == '%') {
        text += '%';
        ++i;
        continue;
      }
      std::string spec = "%";
      int longs = 0;
      size_t j = i + 1;
      while (j < format.size() && std::strchr("-+ #0123456789.*hlLjzt", format[j])) {
        if (format[j] == 'l' || format[j] == 'j' || format[j] == 'z' || format[j] == 't')
          ++longs;
        else if (format[j] == '*')
          spec += std::to_string(int(take(4)));
        else if (format[j] != 'h' && format[j] != 'L')
          spec += format[j];
        ++j;
      }
      char conversion = j < format.size() ? format[j] : 0;
      char buffer[512];
      buffer[0] = 0;
      switch (conversion) {
      case 'd': case 'i': {
        long long value = longs ? (long long)take(8) : (long long)int32_t(take(4));
        std::snprintf(buffer, sizeof buffer, (spec + "lld").c_str(), value);
        text += buffer;
        break;
      }
      case 'u': case 'x': case 'X': case 'o': {
        unsigned long long value = longs ? take(8) : take(4);
        std::snprintf(buffer, sizeof buffer, (spec + "ll" + conversion).c_str(), value);
        text += buffer;
        break;
      }
      case 'c':
        std::snprintf(buffer, sizeof buffer, (spec + "c").c_str(), int(take(4)));
        text += buffer;
        break;
      case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A': {
        uint64_t bits = take(8);
        double value;
        std::memcpy(&value, &bits, 8);
        std::snprintf(buffer, sizeof buffer, (spec + conversion).c_str(), value);
        text += buffer;
        break;
      }
      case 's': {
        std::string value = stringAt(warp, lane, take(8));
        std::vector<char> room(value.size() + 512);
        std::snprintf(room.data(), room.size(), (spec + "s").c_str(), value.c_str());
        text += room.data();
        break;
      }
      case 'p': {
        std::snprintf(buffer, sizeof buffer, "0x%llx", (unsigned long long)take(8));
        text += buffer;
        break;
      }
      default:
        text += format.substr(i, j - i + 1);
        break;
      }
      ++count;
      i = j;
    }
    if (inst.list[2] != 0xFFFFFFFCu)
      std::memcpy(argumentPlace(warp, inst, lane, inst.list[2]), &count, 4);
    std::lock_guard lock(launch.mutex);
    if (launch.config->printfSink)
      launch.config->printfSink(text);
    else
      launch.result->printfText += text;
  }
  ++warp.writes;
}

void runAssertFail(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  unsigned lane = unsigned(__builtin_ctz(mask));
  std::string message = stringAt(warp, lane, argumentValue<uint64_t>(warp, inst, lane, inst.list[0]));
  std::string file = stringAt(warp, lane, argumentValue<uint64_t>(warp, inst, lane, inst.list[1]));
  uint32_t line = argumentValue<uint32_t>(warp, inst, lane, inst.list[2]);
  std::string function = stringAt(warp, lane, argumentValue<uint64_t>(warp, inst, lane, inst.list[3]));
  report(warp, inst, lane, FindingKind::Assertion,
         file + ":" + std::to_string(line) + ": " + function + ": assertion `" + message + "` failed");
}

void runTrap(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  report(warp, inst, unsigned(__builtin_ctz(mask)), FindingKind::Trap, "the kernel executed a trap");
}

void runBadCall(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  report(warp, inst, unsigned(__builtin_ctz(mask)), FindingKind::InvalidInstruction,
         "a call through a pointer that holds the address of no function with these parameters");
}

void runFence(Warp &warp, const Inst &, void *, uint32_t) {
  (void)warp;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void runNanosleep(Warp &warp, const Inst &, void *, uint32_t) {
  warp.spinning = true;
  if (warp.event == Event::None)
    warp.event = Event::Yield;
}

void runNothing(Warp &, const Inst &, void *, uint32_t) {}

/// wide: 64-bit result; sub: globaltimer; flags: the high word.
void runClock(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  uint64_t value = deviceClock(warp, inst.sub);
  if (inst.flags)
    value >>= 32;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (inst.wide)
      reinterpret_cast<uint64_t *>(warp.at(inst.d))[lane] = value;
    else
      reinterpret_cast<uint32_t *>(warp.at(inst.d))[lane] = uint32_t(value);
  }
}

void runIsSpace(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  static const MemSpace spaces[] = {MemSpace::Global, MemSpace::Shared, MemSpace::Local, MemSpace::Param};
  auto *a = reinterpret_cast<const uint64_t *>(warp.at(inst.a));
  uint32_t &p = warp.pred(inst.d), value = 0;
  for (int i = 0; i < 32; ++i) {
    uint64_t address = a[i];
    MemSpace space = concreteSpace(MemSpace::Generic, address);
    bool is = inst.sub < 4 && space == spaces[inst.sub];
    if (space == MemSpace::Global && (inst.sub == 0 || inst.sub == 4)) // constants lie in global memory, read-only
      is = warp.block->launch->memory->accessible(address).readOnly == (inst.sub == 4);
    value |= uint32_t(is) << i;
  }
  p = (p & ~mask) | (value & mask);
}

// -- mbarrier (sm_80) ----------------------------------------------------------------------------------------------
//
// The opaque 64-bit object is ours: pending arrivals (20 bits), arrivals per phase (20 bits), phase (24 bits). The state
// token an arrival returns is the object's word before it.

namespace {

constexpr uint64_t countMask = 0xFFFFF;

uint64_t pack(uint64_t pending, uint64_t expected, uint64_t phase) {
  return (pending & countMask) | (expected & countMask) << 20 | (phase & 0xFFFFFF) << 40;
}

} // namespace

void runMbarrier(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  const MemOp &mem = *inst.mem;
  Block &block = *warp.block;
  uint64_t addresses[32];
  char *pointers[32];
  laneAddresses(warp, mem, mask, addresses);
  mask = resolveAccess(warp, inst, mem, addresses, 8, true, mask, pointers);
  MbarrierOp op = MbarrierOp(inst.sub);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    auto *word = reinterpret_cast<uint64_t *>(pointers[lane]);
    uint64_t before = *word;
    uint64_t pending = before & countMask, expected = (before >> 20) & countMask, phase = before >> 40;
    uint32_t address = uint32_t(addresses[lane]);
    auto arrive = [&](uint32_t count, bool drop) {
      if (expected == 0 && op != MbarrierOp::Init) {
        report(warp, inst, lane, FindingKind::InvalidInstruction, "mbarrier at a place that mbarrier.init has not set up",
               addresses[lane], 8);
        return;
      }
      if (count > pending) {
        report(warp, inst, lane, FindingKind::InvalidInstruction,
               "more arrivals than the mbarrier's phase expects (" + std::to_string(pending) + " pending)", addresses[lane], 8);
        return;
      }
      if (block.races)
        block.races->mbarrierArrive(warp, address);
      pending -= count;
      if (drop)
        expected -= count;
      if (pending == 0) {
        pending = expected;
        ++phase;
        if (block.races)
          block.races->mbarrierCompletes(address);
      }
      *word = pack(pending, expected, phase);
    };
    uint32_t b = inst.wide ? 0 : reinterpret_cast<const uint32_t *>(warp.at(inst.b))[lane];
    switch (op) {
    case MbarrierOp::Init:
      if (b == 0 || b > countMask) {
        report(warp, inst, lane, FindingKind::InvalidInstruction,
               "mbarrier.init with a count of " + std::to_string(b) + " (1 to 1048575 are possible)", addresses[lane], 8);
        return;
      }
      *word = pack(b, b, 0);
      ++warp.writes;
      break;
    case MbarrierOp::Inval:
      *word = 0;
      ++warp.writes;
      break;
    case MbarrierOp::Arrive:
    case MbarrierOp::ArriveNoComplete:
    case MbarrierOp::ArriveDrop:
      arrive(b, op == MbarrierOp::ArriveDrop);
      ++warp.writes;
      if (inst.flags)
        reinterpret_cast<uint64_t *>(warp.at(inst.d))[lane] = before;
      break;
    case MbarrierOp::AsyncArrive: {
      // Arrives when the thread's copies so far are done; data moved at issue, so that is now.
      AsyncState &async = block.async[warp.index];
      size_t kept = 0;
      for (const AsyncEntry &entry : async.entries) {
        if (entry.lane != lane) {
          async.entries[kept++] = entry;
          continue;
        }
        finishAsyncCopy(warp, entry);
      }
      async.entries.resize(kept);
      if (!inst.flags) // without .noinc the pending count grows by the arrival it will make
        ++pending;
      arrive(1, false);
      ++warp.writes;
      break;
    }
    case MbarrierOp::TestWait:
    case MbarrierOp::TestWaitParity: {
      bool complete;
      if (op == MbarrierOp::TestWait)
        complete = (reinterpret_cast<const uint64_t *>(warp.at(inst.b))[lane] >> 40) != phase;
      else
        complete = (phase & 1) != (b & 1);
      uint32_t &p = warp.pred(inst.d);
      p = complete ? p | 1u << lane : p & ~(1u << lane);
      if (complete && block.races)
        block.races->mbarrierWait(warp, address);
      if (!complete)
        noteSpin(warp);
      break;
    }
    default:
      break;
    }
    if (warp.event == Event::Fault)
      return;
  }
}

} // namespace graphc::cudasim
