// Uninitialised memory: definedness travels byte by byte through registers, shared, local and global memory.
//
// Loading undefined bytes is no error (vector tails do it); using them is: as an address, or to decide a branch. What is
// stored stays undefined in global memory, so a device-to-host copy finds it (MemorySpace::firstUndefined). Moves,
// packing, shifts and masks by constants, shuffles and copies are exact per byte; any other instruction makes its whole
// result undefined in the lanes where an operand is. In an mma, rows of a and columns of b stay apart.
#include "runtime/cudasim/engine/Checkers.h"

#include <algorithm>

namespace graphc::cudasim {

namespace {

enum class Rule : uint8_t {
  Any, Move, Pack, Unpack, And, Or, Shl, Shr, Prmt, Selp, Widen, Shuffle, Load, Store, Atomic, AsyncCopy, LdMatrix, StMatrix,
  Tile, Mma, Call, AfterCall, Alloca, Nothing,
};

/// Undefined bytes of one register: per lane, a bit per byte.
struct RegisterShadow {
  uint32_t any = 0; ///< lanes with an undefined byte
  uint8_t bytes[32] = {};
};

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

} // namespace

struct DefinedChecker::State {
  LaunchState *launch;
  std::vector<Rule> rules;
  uint32_t slots; ///< 128-byte slots of a warp's register area
  struct BlockShadow {
    std::vector<RegisterShadow> registers; ///< [warp][slot]
    std::vector<uint32_t> predicates;      ///< [warp][predicate]
    std::vector<uint8_t> shared, local;    ///< 1: written
  };
  std::unordered_map<const Block *, BlockShadow> blocks;
  static constexpr RegisterShadow clean{};

  RegisterShadow *shadow(BlockShadow &block, const Warp &warp, Ref ref) {
    return (ref & 3) == RegisterBase ? &block.registers[size_t(warp.index) * slots + ref / 128] : nullptr;
  }
  const RegisterShadow &read(BlockShadow &block, const Warp &warp, Ref ref) {
    RegisterShadow *found = shadow(block, warp, ref);
    return found ? *found : clean;
  }
  static void set(RegisterShadow &to, unsigned lane, uint8_t undefined) {
    to.bytes[lane] = undefined;
    to.any = undefined ? to.any | 1u << lane : to.any & ~(1u << lane);
  }
};

DefinedChecker::DefinedChecker(LaunchState &launch) : state(std::make_unique<State>()) {
  State &s = *state;
  s.launch = &launch;
  const FunctionCode &function = *launch.function;
  s.slots = function.registerAreaBytes / 128 + 2;
  for (const Inst &inst : function.code) {
    std::string_view text = function.debug[inst.debug].text;
    if (!text.empty() && text[0] == '@') { // skip the guard
      size_t i = 1;
      while (i < text.size() && (text[i] == '!' || text[i] == ' '))
        ++i;
      while (i < text.size() && text[i] != ' ' && text[i] != '\t' && text[i] != '\n')
        ++i;
      while (i < text.size() && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n'))
        ++i;
      text = text.substr(i);
    }
    Rule rule = Rule::Any;
    bool simd = inst.kind == Kind::Simd32 || inst.kind == Kind::Simd64;
    if (inst.cls == Class::Load || inst.cls == Class::Store || inst.cls == Class::Atomic || inst.cls == Class::AsyncCopy) {
      if (inst.fn == runAsyncCommit || inst.fn == runAsyncWait)
        rule = Rule::Nothing;
      else
        switch (inst.mem->access) {
        case AccessKind::Load: rule = Rule::Load; break;
        case AccessKind::Store: rule = Rule::Store; break;
        case AccessKind::Atomic: rule = Rule::Atomic; break;
        case AccessKind::AsyncCopy: rule = Rule::AsyncCopy; break;
        case AccessKind::LdMatrix: rule = Rule::LdMatrix; break;
        case AccessKind::StMatrix: rule = Rule::StMatrix; break;
        case AccessKind::MmaTile: rule = Rule::Tile; break;
        }
    } else if (inst.kind == Kind::Call) {
      rule = Rule::Call;
    } else if (inst.fn == runAfterCall) {
      rule = Rule::AfterCall;
    } else if (inst.fn == runAlloca) {
      rule = Rule::Alloca;
    } else if (inst.fn == runMbarrier || inst.fn == runPrintf || inst.fn == runAssertFail || inst.kind == Kind::Return) {
      rule = Rule::Nothing;
    } else if (inst.cls == Class::Mma) {
      rule = startsWith(text, "mma") && text.find("m8n8k4") == text.npos ? Rule::Mma : Rule::Any;
    } else if (simd && inst.cls == Class::Move) {
      bool packs = inst.b != 0 && text.find('{') != text.npos && text.find('{') > text.find(',');
      rule = packs ? Rule::Pack : text.find('{') != text.npos ? Rule::Unpack : Rule::Move;
      if (startsWith(text, "ld.param"))
        rule = Rule::Move;
    } else if (simd && startsWith(text, "and.")) {
      rule = Rule::And;
    } else if (simd && (startsWith(text, "or.") || startsWith(text, "xor.") || startsWith(text, "not."))) {
      rule = Rule::Or;
    } else if (simd && startsWith(text, "shl.") && (inst.b & 3) == PoolBase) {
      rule = Rule::Shl;
    } else if (simd && startsWith(text, "shr.u") && (inst.b & 3) == PoolBase) {
      rule = Rule::Shr;
    } else if (simd && startsWith(text, "prmt.b32") && (inst.c & 3) == PoolBase) {
      rule = Rule::Prmt;
    } else if (simd && startsWith(text, "selp")) {
      rule = Rule::Selp;
    } else if (simd && startsWith(text, "cvt.u") && inst.cls == Class::Integer) {
      rule = Rule::Widen;
    } else if (inst.cls == Class::WarpCollective && startsWith(text, "shfl")) {
      rule = Rule::Shuffle;
    }
    s.rules.push_back(rule);
  }
}
DefinedChecker::~DefinedChecker() = default;

void DefinedChecker::blockStarts(Block &block) {
  State &s = *state;
  State::BlockShadow &shadow = s.blocks[&block];
  shadow.registers.assign(size_t(block.warpCount) * s.slots, {});
  shadow.predicates.assign(size_t(block.warpCount) * s.launch->function->predicates, 0);
  shadow.shared.assign(s.launch->sharedBytes, 0);
  shadow.local.assign(size_t(s.launch->localBytes) * block.warpCount * 32, 0);
}

void DefinedChecker::instruction(Worker &, Block &block, Warp &warp, const Inst &inst, uint32_t mask) {
  State &s = *state;
  State::BlockShadow &shadow = s.blocks[&block];
  const FunctionCode &function = *s.launch->function;
  size_t pc = size_t(&inst - function.code.data());
  Rule rule = s.rules[pc];
  const OperandUse *begin = function.uses.data() + function.useBegin[pc], *end = function.uses.data() + function.useBegin[pc + 1];
  auto predicate = [&](Ref ref) -> uint32_t & { return shadow.predicates[size_t(warp.index) * function.predicates + ref / 4]; };
  auto reg = [&](Ref ref) -> RegisterShadow & { return *s.shadow(shadow, warp, ref); };
  auto complain = [&](unsigned lane, const char *what, uint64_t address) {
    report(warp, inst, lane, FindingKind::Uninitialised, what, address);
  };
  // What of the operands is undefined, addresses apart.
  uint32_t undefined = 0, addressUndefined = 0;
  for (const OperandUse *use = begin; use != end; ++use) {
    if (use->isDef || (use + 1 != end && (use + 1)->isDef && (use + 1)->ref == use->ref && inst.kind != Kind::Simd32 &&
                       inst.kind != Kind::Simd64))
      continue; // a destination that keeps its old lanes is no operand
    uint32_t any = use->bytes ? s.read(shadow, warp, use->ref).any : predicate(use->ref);
    (use->isAddress ? addressUndefined : undefined) |= any & mask;
  }
  if (addressUndefined) {
    complain(unsigned(__builtin_ctz(addressUndefined)), "an address was computed from memory that was never written", 0);
    if (warp.event != Event::None)
      return;
  }
  if (inst.kind == Kind::Branch || (inst.guard != predTrue && inst.kind == Kind::Exit)) {
    uint32_t bad = inst.guard != predTrue ? predicate(inst.guard) & warp.active : 0;
    if (bad)
      complain(unsigned(__builtin_ctz(bad)), "a branch depends on memory that was never written", 0);
    return;
  }
  // One place of memory as a definedness byte array: null when everything there counts as written.
  auto memoryShadow = [&](unsigned lane, uint64_t address, MemSpace space, uint32_t bytes) -> uint8_t * {
    switch (space) {
    case MemSpace::Shared: return address + bytes <= shadow.shared.size() ? shadow.shared.data() + address : nullptr;
    case MemSpace::Local: {
      uint64_t size = s.launch->localBytes;
      return address + bytes <= size ? shadow.local.data() + (warp.index * 32 + lane) * size + address : nullptr;
    }
    case MemSpace::Global: return s.launch->memory->accessible(address).hi ? s.launch->memory->shadowOf(address) : nullptr;
    default: return nullptr;
    }
  };
  auto setAll = [&](uint32_t lanes) { // destinations: undefined in `lanes`, defined elsewhere in mask
    for (const OperandUse *use = begin; use != end; ++use) {
      if (!use->isDef)
        continue;
      if (!use->bytes) {
        uint32_t &p = predicate(use->ref);
        p = (p & ~mask) | lanes;
        continue;
      }
      RegisterShadow &to = reg(use->ref);
      if (!lanes && !(to.any & mask))
        continue;
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        State::set(to, lane, (lanes >> lane) & 1 ? uint8_t((1u << use->bytes) - 1) : 0);
      }
    }
  };
  switch (rule) {
  case Rule::Nothing:
    return;
  case Rule::Call:
  case Rule::AfterCall: {
    // As the handlers of Calls.cpp copy, so does definedness travel.
    const CallSite &site = *inst.call;
    auto *base = reinterpret_cast<const uint32_t *>(warp.at(function.frameBase)), *top = reinterpret_cast<const uint32_t *>(warp.at(function.stackTop));
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint8_t *local = shadow.local.data() + size_t(warp.index * 32 + lane) * s.launch->localBytes;
      uint32_t callee = alignFrame(top[lane]), caller = base[lane];
      auto keep = [&](const CallSite::Register &from, uint32_t frame) {
        uint8_t undefinedBytes = from.bytes ? s.read(shadow, warp, from.ref).bytes[lane] : uint8_t((from.ref & 3) == RegisterBase && predicate(from.ref) >> lane & 1);
        for (unsigned k = 0; k < std::max<unsigned>(from.bytes, 1); ++k)
          local[frame + from.offset + k] = !(undefinedBytes >> k & 1);
      };
      auto restore = [&](const CallSite::Register &to, uint32_t frame) {
        uint8_t missing = 0;
        for (unsigned k = 0; k < std::max<unsigned>(to.bytes, 1); ++k)
          missing |= uint8_t(!local[frame + to.offset + k]) << k;
        if (to.bytes)
          State::set(reg(to.ref), lane, missing);
        else
          predicate(to.ref) = (predicate(to.ref) & ~(1u << lane)) | uint32_t(missing & 1) << lane;
      };
      if (rule == Rule::Call) {
        uint32_t bytes = function.frames[site.frame].bytes;
        if (uint64_t(callee) + bytes > s.launch->localBytes)
          return; // the overflow is about to be reported
        std::fill(local + callee, local + callee + bytes, uint8_t(0));
        for (const CallSite::Register &saved : site.saved)
          keep(saved, caller);
        for (const CallSite::Register &argument : site.argumentRegisters)
          keep(argument, callee);
        for (const CallSite::Copy &copy : site.arguments)
          std::copy_n(local + caller + copy.from, copy.bytes, local + callee + copy.to);
      } else {
        for (const CallSite::Register &saved : site.saved)
          restore(saved, caller);
        for (const CallSite::Register &result : site.resultRegisters)
          restore(result, callee);
        for (const CallSite::Copy &copy : site.results)
          std::copy_n(local + callee + copy.from, copy.bytes, local + caller + copy.to);
      }
    }
    return;
  }
  case Rule::Alloca: {
    auto *top = reinterpret_cast<const uint32_t *>(warp.at(function.stackTop));
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint8_t *local = shadow.local.data() + size_t(warp.index * 32 + lane) * s.launch->localBytes;
      std::fill(local + top[lane], local + s.launch->localBytes, uint8_t(0));
    }
    setAll(0);
    return;
  }
  case Rule::Load:
  case Rule::Atomic:
  case Rule::LdMatrix:
  case Rule::Store:
  case Rule::StMatrix: {
    const MemOp &mem = *inst.mem;
    uint64_t addresses[32];
    uint32_t lanes = laneAddresses(warp, mem, mask, addresses);
    if (rule == Rule::LdMatrix || rule == Rule::StMatrix) {
      for (unsigned j = 0; j < mem.vector; ++j) {
        RegisterShadow old = s.read(shadow, warp, mem.values[j]), fresh;
        for (unsigned row = 0; row < 8; ++row) {
          uint64_t address = addresses[j * 8 + row];
          MemSpace space = concreteSpace(mem.space, address);
          uint8_t *at = memoryShadow(j * 8 + row, address, space, 16);
          for (unsigned column = 0; column < 8; ++column) {
            unsigned lane = mem.isSigned ? column * 4 + row / 2 : row * 4 + column / 2;
            unsigned half = mem.isSigned ? row % 2 : column % 2;
            if (!at)
              continue;
            if (rule == Rule::LdMatrix) {
              uint8_t missing = uint8_t(!at[column * 2]) | uint8_t(uint8_t(!at[column * 2 + 1]) << 1);
              State::set(fresh, lane, uint8_t(fresh.bytes[lane] | missing << (half * 2)));
            } else {
              uint8_t bits = uint8_t(old.bytes[lane] >> (half * 2)) & 3;
              at[column * 2] = !(bits & 1);
              at[column * 2 + 1] = !(bits & 2);
            }
          }
        }
        if (rule == Rule::LdMatrix)
          reg(mem.values[j]) = fresh;
      }
      return;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint64_t address = addresses[lane];
      uint32_t bytes = uint32_t(mem.elementBytes) * mem.vector;
      MemSpace space = concreteSpace(mem.space, address);
      uint8_t *at = memoryShadow(lane, address, space, bytes);
      for (unsigned v = 0; v < mem.vector; ++v) {
        uint8_t missing = 0;
        if (rule != Rule::Store)
          for (unsigned k = 0; at && k < mem.elementBytes; ++k)
            missing |= uint8_t(!at[v * mem.elementBytes + k]) << k;
        if (rule == Rule::Load) {
          if (missing && mem.isSigned && mem.elementBytes < mem.regBytes) // the sign spreads
            missing |= uint8_t(0xFF << mem.elementBytes) & uint8_t((1u << mem.regBytes) - 1);
          RegisterShadow *to = s.shadow(shadow, warp, mem.values[v]);
          if (to)
            State::set(*to, lane, missing);
        } else {
          uint8_t value = s.read(shadow, warp, mem.values[v]).bytes[lane];
          if (rule == Rule::Atomic) {
            if (inst.sub && mem.vector == 1)
              State::set(reg(inst.d), lane, missing);
            if (mem.op == AtomOp::Exch)
              missing = value;
            else
              missing |= value;
            value = missing;
          }
          for (unsigned k = 0; at && k < mem.elementBytes; ++k)
            at[v * mem.elementBytes + k] = !(value >> k & 1);
        }
      }
    }
    return;
  }
  case Rule::AsyncCopy: {
    const MemOp &mem = *inst.mem;
    uint64_t addresses[32];
    laneAddresses(warp, mem, mask, addresses);
    auto *source = reinterpret_cast<const uint64_t *>(warp.at(mem.source));
    auto *sizes = mem.hasSourceSize ? reinterpret_cast<const uint32_t *>(warp.at(mem.sourceSize)) : nullptr;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint8_t *to = memoryShadow(lane, addresses[lane], MemSpace::Shared, mem.elementBytes);
      if (!to)
        continue;
      uint32_t count = sizes ? std::min<uint32_t>(sizes[lane], mem.elementBytes) : mem.elementBytes;
      uint8_t *from = count ? memoryShadow(lane, source[lane] + uint64_t(mem.sourceOffset), MemSpace::Global, count) : nullptr;
      for (uint32_t k = 0; k < mem.elementBytes; ++k)
        to[k] = k < count && from ? from[k] : 1;
    }
    return;
  }
  case Rule::Tile: {
    const MemOp &mem = *inst.mem;
    // Element order as in the handler (see handlers/Memory.cpp).
    uint32_t rows = inst.target & 255, columns = (inst.target >> 8) & 255, perRegister = inst.target >> 16;
    uint64_t bases[32];
    laneAddresses(warp, mem, mask, bases);
    auto *strides = reinterpret_cast<const uint32_t *>(warp.at(inst.c));
    for (uint32_t j = 0; j < inst.wide; ++j)
      for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t e = (lane * inst.wide + j) % (rows * columns), row = e / columns, column = e % columns;
        uint64_t index = inst.sub ? uint64_t(column) * strides[lane] + row : uint64_t(row) * strides[lane] + column;
        uint64_t address = bases[lane] + index * inst.flags;
        MemSpace space = concreteSpace(mem.space, address);
        uint8_t *at = memoryShadow(lane, address, space, inst.flags);
        Ref ref = mem.tile[j / perRegister];
        RegisterShadow *shadowed = s.shadow(shadow, warp, ref);
        if (!at || !shadowed)
          continue;
        unsigned shift = (j % perRegister) * inst.flags;
        for (unsigned k = 0; k < inst.flags; ++k) {
          if (inst.cls == Class::Load)
            State::set(*shadowed, lane, uint8_t((shadowed->bytes[lane] & ~(1u << (shift + k))) | uint32_t(!at[k]) << (shift + k)));
          else
            at[k] = !(shadowed->bytes[lane] >> (shift + k) & 1);
        }
      }
    return;
  }
  default:
    break;
  }
  if (!undefined) {
    setAll(0);
    return;
  }
  const RegisterShadow a = s.read(shadow, warp, inst.a), b = s.read(shadow, warp, inst.b);
  uint8_t whole = inst.kind == Kind::Simd64 ? 0xFF : 0x0F;
  auto each = [&](auto fn) {
    RegisterShadow &to = reg(inst.d);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      State::set(to, lane, uint8_t(fn(lane)) & whole);
    }
  };
  auto byteOf = [&](Ref ref, unsigned lane, unsigned k) -> unsigned {
    const char *base = warp.at(ref);
    unsigned width = inst.kind == Kind::Simd64 ? 8 : 4;
    return uint8_t(base[lane * width + k]);
  };
  switch (rule) {
  case Rule::Move: each([&](unsigned lane) { return a.bytes[lane]; }); break;
  case Rule::Widen: each([&](unsigned lane) { return a.bytes[lane]; }); break;
  case Rule::Pack: {
    unsigned half = inst.kind == Kind::Simd64 ? 4 : 2;
    each([&](unsigned lane) { return (a.bytes[lane] & ((1u << half) - 1)) | b.bytes[lane] << half; });
    break;
  }
  case Rule::Unpack: {
    std::string_view text = function.debug[inst.debug].text;
    bool from64 = text.find("b64") != text.npos;
    // From 64 bits: flags is the bit shift, imm the mask; from 32 the second piece is the upper half.
    bool upper = false;
    if (!from64) { // compare what the handler would produce: cheaper to ask which destination this is
      upper = pc > 0 && function.code[pc - 1].debug == inst.debug && function.code[pc - 1].cls == Class::Move;
    }
    each([&](unsigned lane) {
      if (from64)
        return uint32_t(a.bytes[lane] >> (inst.flags / 8)) & (inst.imm == 0xFFFF ? 3u : 15u);
      return uint32_t(a.bytes[lane] >> (upper ? 2 : 0)) & 3u;
    });
    break;
  }
  case Rule::And:
    each([&](unsigned lane) {
      unsigned result = 0, width = inst.kind == Kind::Simd64 ? 8 : 4;
      for (unsigned k = 0; k < width; ++k) {
        bool ua = a.bytes[lane] >> k & 1, ub = b.bytes[lane] >> k & 1;
        bool zeroA = !ua && byteOf(inst.a, lane, k) == 0, zeroB = !ub && byteOf(inst.b, lane, k) == 0;
        result |= unsigned((ua || ub) && !zeroA && !zeroB) << k;
      }
      return result;
    });
    break;
  case Rule::Or: each([&](unsigned lane) { return a.bytes[lane] | b.bytes[lane]; }); break;
  case Rule::Shl:
  case Rule::Shr: {
    uint32_t amount = reinterpret_cast<const uint32_t *>(warp.at(inst.b))[0];
    each([&](unsigned lane) {
      uint32_t undefinedBytes = a.bytes[lane];
      uint32_t moved = rule == Rule::Shl ? undefinedBytes << (amount / 8) : undefinedBytes >> (amount / 8);
      if (amount % 8)
        moved |= rule == Rule::Shl ? moved << 1 : moved | moved >> 1 | (undefinedBytes >> (amount / 8));
      return moved;
    });
    break;
  }
  case Rule::Prmt:
    each([&](unsigned lane) {
      uint32_t selector = reinterpret_cast<const uint32_t *>(warp.at(inst.c))[lane], both = uint32_t(a.bytes[lane]) | uint32_t(b.bytes[lane]) << 4;
      unsigned result = 0;
      for (unsigned k = 0; k < 4; ++k)
        result |= (both >> ((selector >> (4 * k)) & 7) & 1) << k;
      return result;
    });
    break;
  case Rule::Selp: {
    uint32_t chooser = predicate(inst.c), value = warp.pred(inst.c) ^ inst.flags;
    each([&](unsigned lane) -> unsigned {
      if (chooser >> lane & 1)
        return whole;
      return value >> lane & 1 ? a.bytes[lane] : b.bytes[lane];
    });
    break;
  }
  case Rule::Shuffle: {
    // Values move between lanes: follow them by running the shuffle on the shadow.
    auto *delta = reinterpret_cast<const uint32_t *>(warp.at(inst.b)), *clamp = reinterpret_cast<const uint32_t *>(warp.at(inst.c));
    std::string_view text = function.debug[inst.debug].text;
    bool up = text.find(".up.") != text.npos, down = text.find(".down.") != text.npos, bfly = text.find(".bfly.") != text.npos;
    RegisterShadow &to = reg(inst.d);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest), by = int(delta[lane] & 31), c = int(clamp[lane] & 31), segment = int(clamp[lane] >> 8 & 31);
      int last = (lane & segment) | (c & ~segment), j = up ? lane - by : down ? lane + by : bfly ? lane ^ by : (lane & segment) | (by & ~segment);
      bool inRange = up ? j >= last : j <= last;
      State::set(to, unsigned(lane), a.bytes[inRange ? j & 31 : lane]);
    }
    break;
  }
  case Rule::Mma: {
    std::string_view text = function.debug[inst.debug].text;
    // d…, a…, b…, c… as lowered: the counts follow from the number of destinations and the text's shape.
    size_t results = 0, sources = 0;
    for (const OperandUse *use = begin; use != end; ++use)
      use->isDef ? ++results : ++sources;
    sources -= results; // a destination is listed as an operand too
    size_t aRegs = 0, bRegs = 0;
    bool smallM = text.find("m8n8") != text.npos;
    size_t ab = sources - results;
    bRegs = smallM ? ab / 2 : ab / 3;
    aRegs = ab - bRegs;
    bool rowBad[16] = {}, columnBad[8] = {};
    for (size_t r = 0; r < aRegs; ++r) {
      const RegisterShadow &from = s.read(shadow, warp, inst.list[results + r]);
      for (uint32_t rest = from.any; rest; rest &= rest - 1)
        rowBad[(smallM ? 0 : (r % 2) * 8) + unsigned(__builtin_ctz(rest)) / 4] = true;
    }
    for (size_t r = 0; r < bRegs; ++r) {
      const RegisterShadow &from = s.read(shadow, warp, inst.list[results + aRegs + r]);
      for (uint32_t rest = from.any; rest; rest &= rest - 1)
        columnBad[unsigned(__builtin_ctz(rest)) / 4] = true;
    }
    bool half = results == 2 && !smallM;
    std::vector<RegisterShadow> fresh(results);
    for (size_t r = 0; r < results; ++r) {
      const RegisterShadow &c = s.read(shadow, warp, inst.list[results + aRegs + bRegs + r]);
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned row = lane / 4 + unsigned(half ? r : r / 2) * 8;
        uint8_t bits = c.bytes[lane];
        for (unsigned e = 0; e < (half ? 2u : 1u); ++e) {
          unsigned column = (lane % 4) * 2 + unsigned(half ? e : r % 2);
          if (rowBad[row] || columnBad[column])
            bits |= half ? uint8_t(3 << (2 * e)) : 15;
        }
        State::set(fresh[r], lane, bits);
      }
    }
    for (size_t r = 0; r < results; ++r)
      reg(inst.list[r]) = fresh[r];
    break;
  }
  default: setAll(undefined); break;
  }
}

} // namespace graphc::cudasim
