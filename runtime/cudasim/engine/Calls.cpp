// Calls that are not inlined: frames in local memory, return addresses beside it.
//
// Every lane has its own frame and its own way back, so lanes of one warp may be in different calls of one function, and
// fragments that meet at a pc merge whatever their depth. Return addresses are kept where no kernel can write them.
#include "runtime/cudasim/engine/Launch.h"

namespace graphc::cudasim {

namespace {

uint32_t *slot(Warp &warp, Ref ref) { return reinterpret_cast<uint32_t *>(warp.at(ref)); }

void storeRegister(Warp &warp, const CallSite::Register &from, unsigned lane, char *to) {
  if (from.bytes == 0) {
    *to = char(warp.pred(from.ref) >> lane & 1);
    return;
  }
  std::memcpy(to, warp.at(from.ref) + lane * from.bytes, from.bytes);
}
void loadRegister(Warp &warp, const CallSite::Register &to, unsigned lane, const char *from) {
  if (to.bytes == 0) {
    uint32_t &lanes = warp.pred(to.ref);
    lanes = (lanes & ~(1u << lane)) | uint32_t(*from & 1) << lane;
    return;
  }
  std::memcpy(warp.at(to.ref) + lane * to.bytes, from, to.bytes);
}

void reportOverflow(Warp &warp, const Inst &inst, unsigned lane, uint64_t wanted) {
  const Block &block = *warp.block;
  const LaunchState &launch = *block.launch;
  size_t depth = block.callStacks[warp.index * 32 + lane].size();
  report(warp, inst, lane, FindingKind::StackOverflow,
         std::to_string(wanted) + " bytes do not fit the thread's stack of " +
             std::to_string(launch.localBytes - alignFrame(launch.function->localBytes)) + " bytes, " +
             std::to_string(depth) + " calls deep; cuCtxSetLimit(CU_LIMIT_STACK_SIZE) sets its size");
}

} // namespace

uint32_t localEnd(const Warp &warp, unsigned lane) {
  const FunctionCode &function = *warp.block->launch->function;
  if (!function.usesStack)
    return function.localBytes;
  return std::max(function.localBytes, reinterpret_cast<const uint32_t *>(warp.at(function.stackTop))[lane]);
}

void enterFunction(Warp &warp, const Inst &inst, uint32_t mask) {
  Block &block = *warp.block;
  const LaunchState &launch = *block.launch;
  const CallSite &site = *inst.call;
  const Frame &frame = launch.function->frames[site.frame];
  uint32_t *base = slot(warp, launch.function->frameBase), *top = slot(warp, launch.function->stackTop);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t callee = alignFrame(top[lane]), caller = base[lane];
    if (uint64_t(callee) + frame.bytes > launch.localBytes) {
      reportOverflow(warp, inst, lane, frame.bytes);
      return;
    }
    std::memset(localMemory(warp, lane, callee), 0xCD, frame.bytes);
    for (const CallSite::Register &saved : site.saved)
      storeRegister(warp, saved, lane, localMemory(warp, lane, caller + saved.offset));
    for (const CallSite::Register &argument : site.argumentRegisters)
      storeRegister(warp, argument, lane, localMemory(warp, lane, callee + argument.offset));
    for (const CallSite::Copy &copy : site.arguments)
      std::memcpy(localMemory(warp, lane, callee + copy.to), localMemory(warp, lane, caller + copy.from), copy.bytes);
    block.callStacks[warp.index * 32 + lane].push_back({warp.pc + 1, caller, top[lane]});
    base[lane] = callee;
    top[lane] = callee + frame.bytes;
  }
}

void leaveFunction(Warp &warp, const Inst &, uint32_t mask, uint32_t (&targets)[32]) {
  Block &block = *warp.block;
  const FunctionCode &function = *block.launch->function;
  uint32_t *base = slot(warp, function.frameBase), *top = slot(warp, function.stackTop);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    std::vector<ReturnPoint> &stack = block.callStacks[warp.index * 32 + lane];
    ReturnPoint to = stack.back();
    stack.pop_back();
    targets[lane] = to.pc;
    base[lane] = to.frameBase;
    top[lane] = to.stackTop;
  }
}

/// Follows every call: the callee's frame still lies above the stack's top; the results come out of it.
void runAfterCall(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  const FunctionCode &function = *warp.block->launch->function;
  const CallSite &site = *inst.call;
  const uint32_t *base = slot(warp, function.frameBase), *top = slot(warp, function.stackTop);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t callee = alignFrame(top[lane]), caller = base[lane];
    for (const CallSite::Register &saved : site.saved)
      loadRegister(warp, saved, lane, localMemory(warp, lane, caller + saved.offset));
    for (const CallSite::Register &result : site.resultRegisters)
      loadRegister(warp, result, lane, localMemory(warp, lane, callee + result.offset));
    for (const CallSite::Copy &copy : site.results)
      std::memcpy(localMemory(warp, lane, caller + copy.to), localMemory(warp, lane, callee + copy.from), copy.bytes);
  }
}

/// a: the size (64-bit when sub is set); imm: the alignment; wide: the result is 64-bit.
void runAlloca(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  const LaunchState &launch = *warp.block->launch;
  uint32_t *top = slot(warp, launch.function->stackTop);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t size = inst.sub ? reinterpret_cast<const uint64_t *>(warp.at(inst.a))[lane] : slot(warp, inst.a)[lane];
    uint64_t align = uint64_t(inst.imm), place = (top[lane] + align - 1) / align * align;
    if (size > launch.localBytes || place + size > launch.localBytes) {
      reportOverflow(warp, inst, lane, size);
      return;
    }
    std::memset(localMemory(warp, lane, uint32_t(place)), 0xCD, size);
    top[lane] = uint32_t(place + size);
    if (inst.wide)
      reinterpret_cast<uint64_t *>(warp.at(inst.d))[lane] = place;
    else
      slot(warp, inst.d)[lane] = uint32_t(place);
  }
}

/// a: what stacksave gave (64-bit when wide).
void runStackRestore(Warp &warp, const Inst &inst, void *, uint32_t mask) {
  const FunctionCode &function = *warp.block->launch->function;
  const uint32_t *base = slot(warp, function.frameBase);
  uint32_t *top = slot(warp, function.stackTop);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t wanted = inst.wide ? reinterpret_cast<const uint64_t *>(warp.at(inst.a))[lane] : slot(warp, inst.a)[lane];
    if (wanted > top[lane] || wanted < base[lane]) {
      report(warp, inst, lane, FindingKind::InvalidInstruction,
             "stackrestore of " + std::to_string(wanted) + ", which no stacksave of this function gave");
      if (warp.event != Event::None)
        return;
      continue;
    }
    top[lane] = uint32_t(wanted);
  }
}

} // namespace graphc::cudasim
