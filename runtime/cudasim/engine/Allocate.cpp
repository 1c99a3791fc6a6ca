// Register allocation: virtual registers to slots of the warp's register area.
//
// Liveness is solved per basic block, turned into one interval per register over the linear code, and slots are handed
// out by a linear scan, one pool per width, so that two registers share a slot only when they are the same width and
// never live together. Small register areas stay in the first-level cache; that is worth more than any clever handler.
#include "runtime/cudasim/engine/Function.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace graphc::cudasim {

namespace {

struct BitMatrix {
  size_t words;
  std::vector<uint64_t> data;
  BitMatrix(size_t rows, size_t bits) : words((bits + 63) / 64), data(rows * words) {}
  uint64_t *row(size_t r) { return data.data() + r * words; }
};

} // namespace

/// Registers written once, by an unguarded move of a constant, parameter or special register, become that operand; the
/// moves disappear. (Copies of registers stay: a loop may rewrite their source first.)
static void foldConstants(Lowered &lowered) {
  size_t count = lowered.code.size(), regs = lowered.registers.size();
  std::vector<uint32_t> definitions(regs);
  for (const Fixup &fix : lowered.fixups)
    definitions[fix.reg] += fix.isDef;
  std::vector<bool> folded(regs), removed(count);
  std::vector<Ref> value(regs);
  for (size_t i = 0; i < count; ++i) {
    const Inst &inst = lowered.code[i];
    if (!inst.isConstantMove || lowered.fixupBegin[i + 1] - lowered.fixupBegin[i] != 1)
      continue; // a guard would be a second fixup
    const Fixup &fix = lowered.fixups[lowered.fixupBegin[i]];
    if (!fix.isDef || definitions[fix.reg] != 1)
      continue;
    folded[fix.reg] = true;
    value[fix.reg] = inst.a;
    removed[i] = true;
  }
  std::vector<uint32_t> newIndex(count + 1);
  std::vector<Fixup> fixups;
  std::vector<uint32_t> begins;
  std::deque<Inst> code;
  uint32_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    newIndex[i] = next;
    next += !removed[i];
  }
  newIndex[count] = next;
  for (size_t i = 0; i < count; ++i) {
    if (removed[i])
      continue;
    Inst &old = lowered.code[i];
    code.push_back(old);
    Inst &inst = code.back();
    if (inst.kind == Kind::Branch || inst.kind == Kind::Call)
      inst.target = newIndex[inst.target];
    begins.push_back(uint32_t(fixups.size()));
    for (uint32_t f = lowered.fixupBegin[i]; f < lowered.fixupBegin[i + 1]; ++f) {
      Fixup fix = lowered.fixups[f];
      auto *at = reinterpret_cast<char *>(fix.where), *base = reinterpret_cast<char *>(&old);
      if (at >= base && at < base + sizeof(Inst)) // inside the instruction, which moved
        fix.where = reinterpret_cast<Ref *>(reinterpret_cast<char *>(&inst) + (at - base));
      if (folded[fix.reg] && fix.isUse && !fix.isDef)
        *fix.where = value[fix.reg];
      else
        fixups.push_back(fix);
    }
  }
  begins.push_back(uint32_t(fixups.size()));
  lowered.code = std::move(code);
  lowered.fixups = std::move(fixups);
  lowered.fixupBegin = std::move(begins);
}

void allocateRegisters(Lowered &lowered, FunctionCode &function) {
  foldConstants(lowered);
  size_t count = lowered.code.size(), regs = lowered.registers.size();
  auto fixups = [&](size_t i) {
    return std::span(lowered.fixups.data() + lowered.fixupBegin[i], lowered.fixupBegin[i + 1] - lowered.fixupBegin[i]);
  };
  // Basic blocks.
  std::vector<bool> leader(count + 1);
  leader[0] = true;
  for (size_t i = 0; i < count; ++i) {
    const Inst &inst = lowered.code[i];
    if (inst.kind == Kind::Branch) {
      leader[inst.target] = true;
      leader[i + 1] = true;
    } else if (inst.kind == Kind::Call) { // to liveness an ordinary instruction: what is live across it is saved
      leader[inst.target] = true;
    } else if (inst.kind == Kind::Exit || inst.kind == Kind::Return) {
      leader[i + 1] = true;
    }
  }
  std::vector<uint32_t> starts;
  std::vector<uint32_t> blockOf(count);
  for (size_t i = 0; i < count; ++i) {
    if (leader[i])
      starts.push_back(uint32_t(i));
    blockOf[i] = uint32_t(starts.size() - 1);
  }
  size_t blocks = starts.size();
  starts.push_back(uint32_t(count));
  BitMatrix gen(blocks, regs), kill(blocks, regs), liveIn(blocks, regs), liveOut(blocks, regs);
  for (size_t b = 0; b < blocks; ++b)
    for (uint32_t i = starts[b]; i < starts[b + 1]; ++i) {
      bool guarded = lowered.code[i].guard != predTrue;
      for (const Fixup &fix : fixups(i)) // `guard` itself is a fixup; a virtual guard is never predTrue
        guarded |= fix.where == &lowered.code[i].guard;
      for (const Fixup &fix : fixups(i))
        if (fix.isUse && !(kill.row(b)[fix.reg / 64] >> (fix.reg % 64) & 1))
          gen.row(b)[fix.reg / 64] |= uint64_t(1) << (fix.reg % 64);
      for (const Fixup &fix : fixups(i))
        if (fix.isDef) {
          // A guarded definition keeps the old value in some lanes.
          if (!guarded)
            kill.row(b)[fix.reg / 64] |= uint64_t(1) << (fix.reg % 64);
          else if (!(kill.row(b)[fix.reg / 64] >> (fix.reg % 64) & 1))
            gen.row(b)[fix.reg / 64] |= uint64_t(1) << (fix.reg % 64);
        }
    }
  std::vector<std::array<int, 2>> successors(blocks, {-1, -1});
  for (size_t b = 0; b < blocks; ++b) {
    size_t last = starts[b + 1] - 1;
    const Inst &inst = lowered.code[last];
    bool conditional = false;
    for (const Fixup &fix : fixups(last))
      conditional |= fix.where == &inst.guard;
    if (inst.kind == Kind::Branch && inst.target < count)
      successors[b][0] = int(blockOf[inst.target]);
    if ((conditional || (inst.kind != Kind::Branch && inst.kind != Kind::Exit && inst.kind != Kind::Return)) && last + 1 < count)
      successors[b][1] = int(b) + 1;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks; b-- > 0;) {
      uint64_t *out = liveOut.row(b), *in = liveIn.row(b);
      for (int successor : successors[b])
        if (successor >= 0)
          for (size_t word = 0; word < gen.words; ++word)
            out[word] |= liveIn.row(successor)[word];
      for (size_t word = 0; word < gen.words; ++word) {
        uint64_t next = gen.row(b)[word] | (out[word] & ~kill.row(b)[word]);
        if (next != in[word]) {
          in[word] = next;
          changed = true;
        }
      }
    }
  }
  // Intervals in half steps: uses at 2i, definitions at 2i+1. Only lane-wise instructions may reuse an operand's slot.
  struct Interval {
    uint32_t start = UINT32_MAX, end = 0;
    int reg = 0;
  };
  std::vector<Interval> intervals(regs);
  auto extend = [&](int reg, uint32_t at) {
    intervals[reg].start = std::min(intervals[reg].start, at);
    intervals[reg].end = std::max(intervals[reg].end, at);
  };
  for (size_t b = 0; b < blocks; ++b)
    for (size_t word = 0; word < gen.words; ++word) {
      for (uint64_t rest = liveIn.row(b)[word]; rest; rest &= rest - 1)
        extend(int(word * 64) + __builtin_ctzll(rest), 2 * starts[b]);
      for (uint64_t rest = liveOut.row(b)[word]; rest; rest &= rest - 1)
        extend(int(word * 64) + __builtin_ctzll(rest), 2 * starts[b + 1] - 1);
    }
  for (size_t i = 0; i < count; ++i) {
    bool laneWise = lowered.code[i].kind == Kind::Simd32 || lowered.code[i].kind == Kind::Simd64;
    for (const Fixup &fix : fixups(i)) {
      if (fix.isUse)
        extend(fix.reg, uint32_t(2 * i + (laneWise ? 0 : 1)));
      if (fix.isDef)
        extend(fix.reg, uint32_t(2 * i + 1));
    }
  }
  // What each call saves: live after the instruction that follows it, and not a result.
  std::vector<std::pair<CallSite *, std::vector<int>>> saves;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (lowered.code[i].kind != Kind::Call)
      continue;
    std::vector<uint64_t> live(liveOut.row(blockOf[i]), liveOut.row(blockOf[i]) + gen.words);
    auto set = [&](int reg, bool on) {
      uint64_t bit = uint64_t(1) << (reg % 64);
      live[size_t(reg) / 64] = on ? live[size_t(reg) / 64] | bit : live[size_t(reg) / 64] & ~bit;
    };
    for (size_t j = starts[blockOf[i] + 1]; j-- > i + 2;) {
      bool guarded = false;
      for (const Fixup &fix : fixups(j))
        guarded |= fix.where == &lowered.code[j].guard;
      for (const Fixup &fix : fixups(j))
        if (fix.isDef && !guarded)
          set(fix.reg, false);
      for (const Fixup &fix : fixups(j))
        if (fix.isUse)
          set(fix.reg, true);
    }
    for (const Fixup &fix : fixups(i + 1))
      set(fix.reg, false);
    auto site = std::find_if(function.calls.begin(), function.calls.end(), [&](const CallSite &site) { return &site == lowered.code[i].call; });
    saves.push_back({&*site, {}});
    for (size_t word = 0; word < gen.words; ++word)
      for (uint64_t rest = live[word]; rest; rest &= rest - 1)
        saves.back().second.push_back(int(word * 64) + __builtin_ctzll(rest));
  }
  std::vector<Interval> order;
  for (size_t reg = 0; reg < regs; ++reg)
    if (intervals[reg].start != UINT32_MAX) {
      intervals[reg].reg = int(reg);
      order.push_back(intervals[reg]);
    }
  std::sort(order.begin(), order.end(),
            [](const Interval &a, const Interval &b) { return std::tie(a.start, a.reg) < std::tie(b.start, b.reg); });
  std::vector<uint32_t> slotOf(regs);
  uint32_t used[3] = {2, 0, 0}; // two fixed predicates
  std::vector<uint32_t> freed[3];
  using Active = std::pair<uint32_t, int>;
  std::vector<Active> active;
  auto later = [](const Active &a, const Active &b) { return a.first > b.first; };
  uint32_t wordsLive = 0, wordsPeak = 0;
  auto weight = [&](int reg) {
    return lowered.registers[reg] == RegClass::Wide ? 2u : lowered.registers[reg] == RegClass::Word ? 1u : 0u;
  };
  for (const Interval &interval : order) {
    while (!active.empty() && active.front().first < interval.start) {
      std::pop_heap(active.begin(), active.end(), later);
      int done = active.back().second;
      active.pop_back();
      freed[int(lowered.registers[done])].push_back(slotOf[done]);
      wordsLive -= weight(done);
    }
    int cls = int(lowered.registers[interval.reg]);
    if (freed[cls].empty()) {
      slotOf[interval.reg] = used[cls]++;
    } else { // the lowest: keeps the area dense
      auto lowest = std::min_element(freed[cls].begin(), freed[cls].end());
      slotOf[interval.reg] = *lowest;
      *lowest = freed[cls].back();
      freed[cls].pop_back();
    }
    active.push_back({interval.end, interval.reg});
    std::push_heap(active.begin(), active.end(), later);
    wordsLive += weight(interval.reg);
    wordsPeak = std::max(wordsPeak, wordsLive);
  }
  uint32_t predicateBytes = (used[0] * 4 + 127) & ~127u;
  uint32_t specialBytes = 0;
  for (SpecialSlot &special : function.specials) {
    special.slot = predicateBytes + specialBytes;
    specialBytes += 128;
  }
  uint32_t wordBase = predicateBytes + specialBytes, wideBase = wordBase + used[1] * 128;
  function.predicates = used[0];
  function.registerAreaBytes = wideBase + used[2] * 256;
  auto refOf = [&](int reg) -> Ref {
    switch (lowered.registers[reg]) {
    case RegClass::Predicate: return slotOf[reg] * 4;
    case RegClass::Word: return wordBase + slotOf[reg] * 128;
    default: return wideBase + slotOf[reg] * 256;
    }
  };
  // The saved registers lie behind each frame's variables.
  for (Frame &frame : function.frames)
    frame.bytes = frame.localBytes = (frame.localBytes + 7) & ~7u;
  uint32_t kernelBytes = function.localBytes = saves.empty() ? function.localBytes : (function.localBytes + 7) & ~7u;
  for (auto &[site, live] : saves) {
    uint32_t offset = site->caller < 0 ? kernelBytes : function.frames[size_t(site->caller)].localBytes;
    for (RegClass cls : {RegClass::Wide, RegClass::Word, RegClass::Predicate})
      for (int reg : live)
        if (lowered.registers[reg] == cls) {
          uint8_t bytes = cls == RegClass::Wide ? 8 : cls == RegClass::Word ? 4 : 0;
          site->saved.push_back({refOf(reg), offset, bytes});
          offset += std::max<uint32_t>(bytes, 1);
        }
    uint32_t &end = site->caller < 0 ? function.localBytes : function.frames[size_t(site->caller)].bytes;
    end = std::max(end, (offset + 7) & ~7u);
  }
  function.useBegin.push_back(0);
  for (size_t i = 0; i < count; ++i) {
    for (const Fixup &fix : fixups(i)) {
      *fix.where = refOf(fix.reg);
      uint8_t bytes = lowered.registers[fix.reg] == RegClass::Predicate ? 0
                      : lowered.registers[fix.reg] == RegClass::Word    ? 4
                                                                         : 8;
      if (fix.isUse)
        function.uses.push_back({*fix.where, bytes, false, fix.isAddress});
      if (fix.isDef)
        function.uses.push_back({*fix.where, bytes, true, false});
    }
    function.useBegin.push_back(uint32_t(function.uses.size()));
  }
  // References to specials were written as their index with base 3 (see Lower.cpp); patch them in place.
  auto patchSpecial = [&](Ref &ref) {
    if ((ref & 3) == 3)
      ref = function.specials[ref >> 2].slot;
  };
  for (Inst &inst : lowered.code)
    for (Ref *ref : {&inst.d, &inst.a, &inst.b, &inst.c, &inst.members})
      patchSpecial(*ref);
  for (MemOp &mem : function.mems) {
    patchSpecial(mem.address);
    patchSpecial(mem.source);
    patchSpecial(mem.sourceSize);
    for (Ref &ref : mem.values)
      patchSpecial(ref);
  }
  for (auto &list : function.lists)
    for (Ref &ref : list)
      patchSpecial(ref);
  for (CallSite &site : function.calls)
    for (CallSite::Register &argument : site.argumentRegisters)
      patchSpecial(argument.ref);
  if (function.usesStack) {
    patchSpecial(function.frameBase);
    patchSpecial(function.stackTop);
  }
  function.code.assign(lowered.code.begin(), lowered.code.end());
  for (size_t i = count; i-- > 0;) {
    Inst &inst = function.code[i];
    bool plain = inst.kind == Kind::Simd32 || inst.kind == Kind::Simd64 || inst.kind == Kind::Masked;
    if (plain && inst.guard == predTrue && !inst.guardFlip)
      inst.run = uint8_t(std::min(255, 1 + (i + 1 < count ? function.code[i + 1].run : 0)));
  }
  // What ptxas would need, roughly: live words, addressing temporaries, and its granularity of eight.
  function.info.registers = std::min(255u, ((wordsPeak + 6 + 7) / 8) * 8);
}

} // namespace graphc::cudasim
