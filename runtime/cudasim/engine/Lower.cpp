// Lowering: emission, operands, layout of parameters and shared memory, bodies.
#include "runtime/cudasim/engine/Lower.h"

#include <algorithm>
#include <cstring>

namespace graphc::cudasim {

using ptx::Operand;
using ptx::Type;

// -- Mods ----------------------------------------------------------------------------------------------------------

bool Mods::take(std::string_view name) {
  for (size_t i = 1; i < parts.size(); ++i)
    if (!(used >> i & 1) && parts[i] == name) {
      used |= uint64_t(1) << i;
      return true;
    }
  return false;
}
bool Mods::has(std::string_view name) const {
  for (size_t i = 1; i < parts.size(); ++i)
    if (!(used >> i & 1) && parts[i] == name)
      return true;
  return false;
}
Type Mods::takeType() {
  for (size_t i = 1; i < parts.size(); ++i)
    if (!(used >> i & 1)) {
      Type type = ptx::typeNamed(parts[i]);
      if (type != Type::None) {
        used |= uint64_t(1) << i;
        return type;
      }
    }
  return Type::None;
}
std::string_view Mods::takeNext() {
  for (size_t i = 1; i < parts.size(); ++i)
    if (!(used >> i & 1)) {
      used |= uint64_t(1) << i;
      return parts[i];
    }
  return {};
}
bool Mods::takePrefix(std::string_view prefix, std::string_view *rest) {
  for (size_t i = 1; i < parts.size(); ++i)
    if (!(used >> i & 1) && parts[i].substr(0, prefix.size()) == prefix) {
      used |= uint64_t(1) << i;
      if (rest)
        *rest = parts[i].substr(prefix.size());
      return true;
    }
  return false;
}
void Mods::finish() const {
  for (size_t i = 1; i < parts.size(); ++i)
    if (!(used >> i & 1))
      throw Refusal{"'." + std::string(parts[i]) + "' is not supported on " + std::string(parts[0])};
}

// -- emission ------------------------------------------------------------------------------------------------------

Lowering::Lowering(const ptx::Program &program, const ptx::Function &entry, const GlobalAddresses &globals,
                   const DeviceModel &model, FunctionCode &out)
    : program(program), entry(entry), globals(globals), model(model), out(out), table(handlers()) {}

void Lowering::refuse(std::string why) const { throw Refusal{std::move(why)}; }

const Operand &Lowering::operand(size_t index) const {
  if (index >= at->operands.size())
    refuse("operand " + std::to_string(index + 1) + " is missing");
  return at->operands[index];
}

Inst &Lowering::emit(Kind kind, Handler fn, Class cls) {
  if (!fn && kind != Kind::Branch && kind != Kind::Exit && kind != Kind::Barrier && kind != Kind::WarpSync &&
      kind != Kind::Call && kind != Kind::Return)
    refuse("this form is not supported");
  lowered.code.emplace_back();
  lowered.fixupBegin.push_back(uint32_t(lowered.fixups.size()));
  Inst &inst = lowered.code.back();
  inst.kind = kind;
  inst.fn = fn;
  inst.cls = cls;
  inst.guard = predTrue;
  inst.debug = uint32_t(out.debug.size() - 1);
  if (at && at->guard >= 0 && !unguarded) {
    lowered.fixups.push_back({&inst.guard, current->registerBase + at->guard, false, true, false});
    inst.guardFlip = at->guardNegated ? ~0u : 0;
  }
  return inst;
}

void Lowering::use(Ref &where, Value value, bool isAddress) {
  if (value.reg < 0)
    where = value.ref;
  else
    lowered.fixups.push_back({&where, value.reg, false, true, isAddress});
}
void Lowering::def(Ref &where, int reg, bool alsoUse) { lowered.fixups.push_back({&where, reg, true, alsoUse, false}); }

int Lowering::temporary(RegClass cls) {
  lowered.registers.push_back(cls);
  return int(lowered.registers.size()) - 1;
}

std::vector<Ref> &Lowering::newList(size_t size) {
  out.lists.emplace_back(size, 0);
  return out.lists.back();
}

Lowering::Value Lowering::constant(uint64_t bits, unsigned bytes) {
  unsigned width = bytes == 8 ? 8 : 4;
  if (width == 4)
    bits &= 0xFFFFFFFF;
  auto [it, isNew] = constants.try_emplace({bits, width}, 0);
  if (isNew) {
    size_t offset = out.pool.size();
    out.pool.resize(offset + width * 32);
    for (int i = 0; i < 32; ++i)
      std::memcpy(out.pool.data() + offset + size_t(i) * width, &bits, width);
    it->second = Ref(offset) | PoolBase;
  }
  return {it->second, -1};
}

Lowering::Value Lowering::special(Special which) {
  auto [it, isNew] = specialIndex.try_emplace(which, uint32_t(out.specials.size()));
  if (isNew)
    out.specials.push_back({which, 0});
  return {(it->second << 2) | 3, -1}; // base 3: patched once slots are known
}

uint64_t Lowering::immediate(const Operand &op, Type type) const {
  switch (op.kind) {
  case Operand::Kind::Integer:
    if (type == Type::F32) { // `0` for a float is tolerated by ptxas only as a bit pattern of integers
      float f = float(op.value);
      uint32_t u;
      std::memcpy(&u, &f, 4);
      return u;
    }
    if (type == Type::F64) {
      double f = double(op.value);
      uint64_t u;
      std::memcpy(&u, &f, 8);
      return u;
    }
    break;
  case Operand::Kind::Float32:
    if (type == Type::F64) {
      uint64_t u;
      std::memcpy(&u, &op.real, 8);
      return u;
    }
    return uint64_t(op.value) & 0xFFFFFFFF;
  case Operand::Kind::Float64:
    if (ptx::sizeOf(type) == 4) {
      float f = float(op.real);
      uint32_t u;
      std::memcpy(&u, &f, 4);
      return u;
    }
    return uint64_t(op.value);
  default:
    refuse("expected a constant");
  }
  uint64_t bits = uint64_t(op.value);
  switch (ptx::sizeOf(type)) {
  case 1: return bits & 0xFF;
  case 2: return bits & 0xFFFF;
  case 4: return bits & 0xFFFFFFFF;
  default: return bits;
  }
}

int Lowering::registerOf(const Operand &op) const {
  if (op.kind != Operand::Kind::Register)
    refuse("expected a register");
  return current->registerBase + op.reg;
}

bool Lowering::isWide128(const Operand &op) const {
  return op.kind == Operand::Kind::Register && upperHalf.count(current->registerBase + op.reg);
}

std::pair<int, int> Lowering::halvesOf(const Operand &op) const {
  if (!isWide128(op))
    refuse("expected a 128-bit register");
  int low = registerOf(op);
  return {low, upperHalf.at(low)};
}

static const std::pair<std::string_view, Special> specialNames[] = {
    {"%tid.x", TidX}, {"%tid.y", TidY}, {"%tid.z", TidZ}, {"%ntid.x", NTidX}, {"%ntid.y", NTidY}, {"%ntid.z", NTidZ},
    {"%ctaid.x", CtaIdX}, {"%ctaid.y", CtaIdY}, {"%ctaid.z", CtaIdZ}, {"%nctaid.x", NCtaIdX}, {"%nctaid.y", NCtaIdY},
    {"%nctaid.z", NCtaIdZ}, {"%laneid", LaneId}, {"%warpid", WarpId}, {"%nwarpid", NWarpId}, {"%smid", SmId},
    {"%nsmid", NSmId}, {"%gridid", GridId}, {"%lanemask_eq", LaneMaskEq}, {"%lanemask_lt", LaneMaskLt},
    {"%lanemask_le", LaneMaskLe}, {"%lanemask_gt", LaneMaskGt}, {"%lanemask_ge", LaneMaskGe}, {"%envreg1", EnvReg1},
    {"%envreg2", EnvReg2}, {"%dynamic_smem_size", DynamicSmemSize}, {"%total_smem_size", TotalSmemSize}, {"%aggr_smem_size", TotalSmemSize},
    {"%clusterid.x", CtaIdX}, {"%clusterid.y", CtaIdY}, {"%clusterid.z", CtaIdZ}, {"%nclusterid.x", NCtaIdX},
    {"%nclusterid.y", NCtaIdY}, {"%nclusterid.z", NCtaIdZ}, {"%cluster_ctaid.x", ZeroSpecial},
    {"%cluster_ctaid.y", ZeroSpecial}, {"%cluster_ctaid.z", ZeroSpecial}, {"%cluster_ctarank", ZeroSpecial},
    {"%cluster_nctaid.x", OneSpecial}, {"%cluster_nctaid.y", OneSpecial}, {"%cluster_nctaid.z", OneSpecial},
    {"%cluster_nctarank", OneSpecial}, {"%envreg0", ZeroSpecial}};

Lowering::Value Lowering::addressValue(const Operand &op, unsigned bytes) {
  if (op.kind == Operand::Kind::Variable) {
    const ptx::Variable &variable = current->function->variables[op.var];
    if (variable.space == ptx::Space::Shared)
      return constant(sharedOffset.at(&variable) + uint64_t(op.value), bytes);
    if (variable.space == ptx::Space::Param && current->function->isEntry && paramOffset.count(&variable))
      return constant(paramOffset.at(&variable) + uint64_t(op.value), bytes);
    if (variable.space == ptx::Space::Local || variable.space == ptx::Space::Param) {
      Value offset = constant(uint64_t(localOffset(op.var) + op.value), bytes);
      if (frame < 0)
        return offset;
      int d = temporary(bytes == 8 ? RegClass::Wide : RegClass::Word);
      Value base = special(FrameBase);
      if (bytes == 8) {
        int wide = temporary(RegClass::Wide);
        unaryInto(table.convert(Type::U64, Type::U32, CvtRound::Default, 0), wide, base, Kind::Simd64, Class::Move);
        base = {0, wide};
      }
      Inst &inst = emit(bytes == 8 ? Kind::Simd64 : Kind::Simd32, table.integer(Op::Add, bytes == 8 ? Type::U64 : Type::U32), Class::Integer);
      use(inst.a, base);
      use(inst.b, offset);
      def(inst.d, d);
      return {0, d};
    }
  }
  auto shared = sharedByName.find(op.name);
  if (shared != sharedByName.end())
    return constant(sharedOffset.at(shared->second) + uint64_t(op.value), bytes);
  auto global = globals.find(op.name);
  if (global == globals.end()) {
    auto function = program.functionIndex.find(op.name);
    if (function != program.functionIndex.end())
      return constant(functionAddress(size_t(function->second)), bytes);
    refuse("unknown name " + std::string(op.name));
  }
  return constant(global->second + uint64_t(op.value), bytes);
}

Lowering::Value Lowering::valueOfSize(const Operand &op, unsigned bytes) {
  return value(op, bytes == 8 ? Type::B64 : bytes == 4 ? Type::B32 : bytes == 2 ? Type::B16 : Type::B8);
}

Lowering::Value Lowering::value(const Operand &op, Type type) {
  unsigned bytes = ptx::sizeOf(type);
  switch (op.kind) {
  case Operand::Kind::Register: {
    if (op.negate)
      refuse("a register cannot be negated here");
    int reg = registerOf(op);
    if (isWide128(op))
      refuse("a 128-bit register cannot be used here");
    if (classOf(reg) == RegClass::Predicate)
      refuse("a predicate cannot be used as a value here");
    if (classOf(reg) == RegClass::Wide && bytes < 8) { // narrowing read
      int narrow = temporary(RegClass::Word);
      unguarded = true; // a guarded definition would look live from the function's start
      Inst &inst = emit(Kind::Simd32, table.integer(Op::UnpackLo32, Type::B64), Class::Move);
      use(inst.a, {0, reg});
      def(inst.d, narrow);
      inst.imm = 0xFFFFFFFF;
      unguarded = false;
      return {0, narrow};
    }
    if (classOf(reg) == RegClass::Word && bytes == 8)
      refuse("a 32-bit register is used as a 64-bit value");
    return {0, reg};
  }
  case Operand::Kind::Special: {
    for (auto &[name, which] : specialNames)
      if (op.name == name) {
        Value narrow = special(which);
        if (bytes != 8)
          return narrow;
        int wide = temporary(RegClass::Wide);
        unguarded = true;
        Inst &inst = emit(Kind::Simd64, table.convert(Type::U64, Type::U32, CvtRound::Default, 0), Class::Move);
        use(inst.a, narrow);
        def(inst.d, wide);
        unguarded = false;
        return {0, wide};
      }
    bool clock = op.name == "%clock" || op.name == "%clock64" || op.name == "%clock_hi";
    bool timer = op.name == "%globaltimer" || op.name == "%globaltimer_lo" || op.name == "%globaltimer_hi";
    if (clock || timer) {
      int d = temporary(bytes == 8 ? RegClass::Wide : RegClass::Word);
      Inst &inst = emit(Kind::Masked, runClock, Class::Move);
      inst.wide = bytes == 8;
      inst.sub = timer;
      inst.flags = op.name.substr(op.name.size() - 3) == "_hi";
      def(inst.d, d, true);
      return {0, d};
    }
    // Performance counters, spare environment registers, reserved shared memory, device graphs: nothing of the kind here.
    for (std::string_view prefix : {"%pm", "%envreg", "%reserved_smem_offset", "%current_graph_exec"})
      if (op.name.substr(0, prefix.size()) == prefix)
        return constant(0, bytes);
    if (op.name == "%is_explicit_cluster")
      refuse("%is_explicit_cluster is a predicate");
    refuse("special register " + std::string(op.name) + " is not supported");
  }
  case Operand::Kind::Variable:
  case Operand::Kind::Symbol:
    return addressValue(op, bytes);
  case Operand::Kind::Sink:
    refuse("'_' cannot be read");
  default:
    return constant(immediate(op, type), bytes);
  }
}

Lowering::Value Lowering::predicate(const Operand &op, bool &negated) {
  negated = op.negate;
  if (op.kind == Operand::Kind::Integer) {
    negated = (op.value == 0) != op.negate;
    return trueValue();
  }
  if (op.kind == Operand::Kind::Special && op.name == "%is_explicit_cluster") { // there are none
    negated = !op.negate;
    return trueValue();
  }
  int reg = registerOf(op);
  if (classOf(reg) != RegClass::Predicate)
    refuse("expected a predicate");
  return {0, reg};
}

int Lowering::destination(const Operand &op, unsigned bytes) {
  RegClass wanted = bytes == 8 ? RegClass::Wide : RegClass::Word;
  if (op.kind == Operand::Kind::Sink)
    return temporary(wanted);
  int reg = registerOf(op);
  if (isWide128(op))
    refuse("a 128-bit register cannot be used here");
  if (classOf(reg) != wanted)
    refuse(classOf(reg) == RegClass::Predicate ? "a predicate cannot hold this result"
                                               : "the destination register has another width than the result");
  return reg;
}
int Lowering::predicateDestination(const Operand &op) {
  if (op.kind == Operand::Kind::Sink)
    return temporary(RegClass::Predicate);
  int reg = registerOf(op);
  if (classOf(reg) != RegClass::Predicate)
    refuse("expected a predicate as destination");
  return reg;
}

Class Lowering::classFor(Type type) {
  switch (type) {
  case Type::F32: case Type::F32x2: return Class::Fp32;
  case Type::F64: return Class::Fp64;
  case Type::F16: case Type::F16x2: case Type::BF16: case Type::BF16x2: return Class::Fp16;
  default: return Class::Integer;
  }
}

void Lowering::unaryInto(Handler fn, int d, Value a, Kind kind, Class cls) {
  Inst &inst = emit(kind, fn, cls);
  use(inst.a, a);
  def(inst.d, d);
}

void Lowering::move(int d, Value a) {
  bool wide = classOf(d) == RegClass::Wide;
  unaryInto(table.integer(Op::Mov, wide ? Type::B64 : Type::B32), d, a, wide ? Kind::Simd64 : Kind::Simd32, Class::Move);
  // 16-bit registers hold zero-extended values, so a wider constant would not be what the move leaves.
  lowered.code.back().isConstantMove = a.reg < 0;
}

void Lowering::simple(Handler fn, Type result, std::initializer_list<Value> sources, const Operand &d, Class cls,
                      uint32_t flags) {
  unsigned bytes = ptx::sizeOf(result);
  int reg = destination(d, bytes);
  Inst &inst = emit(bytes == 8 ? Kind::Simd64 : Kind::Simd32, fn, cls);
  inst.flags = flags;
  Ref *places[3] = {&inst.a, &inst.b, &inst.c};
  size_t index = 0;
  for (Value source : sources)
    use(*places[index++], source);
  def(inst.d, reg);
}

// -- layout --------------------------------------------------------------------------------------------------------

void Lowering::layoutParams() {
  uint32_t offset = 0;
  for (int index : entry.params) {
    const ptx::Variable &variable = entry.variables[index];
    uint32_t align = std::max(1u, variable.align);
    offset = (offset + align - 1) / align * align;
    paramOffset[&variable] = offset;
    out.info.params.push_back({offset, uint32_t(variable.size), align});
    offset += uint32_t(variable.size);
  }
  out.info.paramBytes = offset;
}

Lowering::Value Lowering::paramValue(uint32_t offset, unsigned bytes, unsigned regBytes, bool isSigned) {
  if (offset + bytes > out.info.paramBytes)
    refuse("ld.param reads past the end of the parameters");
  auto [it, isNew] = paramSlots.try_emplace({offset, bytes, regBytes, isSigned}, 0);
  if (isNew) {
    uint32_t slot = out.paramAreaBytes;
    out.paramAreaBytes += regBytes * 32;
    out.params.push_back({slot, offset, uint8_t(bytes), uint8_t(regBytes), isSigned});
    it->second = slot | ParamBase;
  }
  return {it->second, -1};
}

void Lowering::addShared(const ptx::Variable &variable) {
  if (sharedOffset.count(&variable))
    return;
  if (variable.unsizedArray) {
    sharedOffset[&variable] = 0; // placed after everything else
    dynamicShared.push_back(&variable);
    return;
  }
  uint32_t align = std::max(4u, variable.align);
  // Real layout for the reported size; ours has a red zone between symbols.
  uint32_t real = (out.info.staticSharedBytes + align - 1) / align * align;
  out.info.staticSharedBytes = real + uint32_t(variable.size);
  uint32_t offset = out.sharedLayoutBytes ? out.sharedLayoutBytes + 16 : 0;
  offset = (offset + align - 1) / align * align;
  sharedOffset[&variable] = offset;
  out.shared.push_back({std::string(variable.name), offset, uint32_t(variable.size)});
  out.sharedLayoutBytes = offset + uint32_t(variable.size);
}

void Lowering::collectShared(const ptx::Function &function, std::vector<const ptx::Function *> &seen) {
  if (std::find(seen.begin(), seen.end(), &function) != seen.end())
    return;
  seen.push_back(&function);
  auto visit = [&](auto &self, const Operand &op) -> void {
    if (op.var >= 0) {
      const ptx::Variable &variable = function.variables[op.var];
      if (variable.space == ptx::Space::Shared)
        addShared(variable);
    } else if (!op.name.empty()) {
      auto global = program.globalIndex.find(op.name);
      if (global != program.globalIndex.end() && program.globals[global->second].space == ptx::Space::Shared) {
        const ptx::Variable &variable = program.globals[global->second];
        sharedByName[op.name] = &variable;
        addShared(variable);
      }
      auto callee = program.functionIndex.find(op.name);
      if (callee != program.functionIndex.end())
        collectShared(program.functions[callee->second], seen);
    }
    for (const Operand &element : op.elements)
      self(self, element);
  };
  for (const ptx::Instruction &instruction : function.instructions) {
    for (const Operand &op : instruction.operands)
      visit(visit, op);
    if (instruction.parts[0] == "call")
      for (const Operand &op : instruction.operands)
        if (op.kind == Operand::Kind::Register) // through a pointer: any of these
          for (const ptx::Function *callee : calledByPointer())
            collectShared(*callee, seen);
  }
}

void Lowering::layoutShared() {
  std::vector<const ptx::Function *> seen;
  collectShared(entry, seen);
  // Even without `extern __shared__`, dynamic memory given at launch exists behind the static part.
  out.dynamicOffset = out.sharedLayoutBytes ? (out.sharedLayoutBytes + 16 + 127) / 128 * 128 : 0;
  for (const ptx::Variable *variable : dynamicShared) {
    out.dynamicOffset = (out.dynamicOffset + variable->align - 1) / variable->align * variable->align;
  }
  for (const ptx::Variable *variable : dynamicShared)
    sharedOffset[variable] = out.dynamicOffset;
  out.usesDynamicShared = !dynamicShared.empty();
}

int64_t Lowering::localOffset(int variable) {
  int64_t &offset = current->localOf[variable];
  if (offset < 0) {
    const ptx::Variable &declared = current->function->variables[variable];
    uint32_t align = std::max(8u, declared.align);
    uint32_t &used = frame < 0 ? out.localBytes : out.frames[size_t(frame)].localBytes;
    used = (used + align - 1) / align * align;
    offset = used;
    used += uint32_t(std::max<uint64_t>(declared.size, 1));
  }
  return offset;
}

// -- bodies and calls ----------------------------------------------------------------------------------------------

static RegClass classOfType(Type type) {
  if (type == Type::Pred)
    return RegClass::Predicate;
  return ptx::sizeOf(type) >= 8 ? RegClass::Wide : RegClass::Word;
}

void Lowering::lowerBody(Instance &instance, const std::vector<std::pair<int, Value>> &incoming) {
  const ptx::Function &function = *instance.function;
  if (!function.refused.empty())
    throw Refusal{function.refused};
  Instance *caller = current;
  const ptx::Instruction *callSite = at;
  instance.registerBase = int(lowered.registers.size());
  for (Type type : function.registers)
    lowered.registers.push_back(classOfType(type));
  for (size_t i = 0; i < function.registers.size(); ++i)
    if (function.registers[i] == Type::B128)
      upperHalf[instance.registerBase + int(i)] = temporary(RegClass::Wide);
  instance.localOf.resize(function.variables.size(), -1);
  for (auto &[reg, from] : incoming) // register parameters
    move(instance.registerBase + reg, from);
  current = &instance;
  for (const ptx::Instruction &instruction : function.instructions) {
    instance.codeAt.push_back(uint32_t(lowered.code.size()));
    at = &instruction;
    out.debug.push_back({instruction.at, instruction.text});
    Mods pieces(instruction.parts);
    mods = &pieces;
    try {
      lower();
      pieces.finish();
    } catch (Refusal &refusal) {
      if (refusal.why.substr(0, 5) != "line ") {
        std::string mnemonic;
        for (std::string_view part : instruction.parts)
          mnemonic += (mnemonic.empty() ? "" : ".") + std::string(part);
        refusal.why = "line " + std::to_string(instruction.at.ptxLine) + ": " + mnemonic + ": " + refusal.why;
        if (&function != &entry)
          refusal.why += " (in " + std::string(function.name) + ")";
      }
      throw;
    }
  }
  instance.codeAt.push_back(uint32_t(lowered.code.size()));
  for (auto [index, target] : instance.branches)
    lowered.code[index].target = instance.codeAt[target];
  current = caller;
  at = callSite;
}

void Lowering::run() {
  out.info.name = std::string(entry.name);
  out.info.line = entry.line;
  layoutParams();
  if (entry.reqntid[0]) {
    out.info.requiredBlock = {entry.reqntid[0], entry.reqntid[1], entry.reqntid[2]};
    out.info.maxThreadsPerBlock = std::min(model.maxThreadsPerBlock, uint32_t(out.info.requiredBlock.count()));
  } else if (entry.maxntid[0]) {
    out.info.maxBlock = {entry.maxntid[0], entry.maxntid[1], entry.maxntid[2]};
    out.info.maxThreadsPerBlock = std::min(model.maxThreadsPerBlock, uint32_t(out.info.maxBlock.count()));
  } else {
    out.info.maxThreadsPerBlock = model.maxThreadsPerBlock;
  }
  out.info.minBlocksPerMultiprocessor = entry.minctapersm;
  out.debug.push_back({{entry.line, 0, 0}, {}});
  out.pool.reserve(4096);
  layoutShared();
  findRecursion();
  if (!recursive.empty()) {
    emit(Kind::Branch, nullptr, Class::Control);
    for (size_t i = 0; i < recursive.size(); ++i)
      lowerRecursive(i);
    lowered.code[0].target = uint32_t(lowered.code.size());
  }
  instances.push_back({&entry, 0, {}, {}, {}});
  lowerBody(instances.back());
  at = nullptr;
  emit(Kind::Exit, nullptr, Class::Control); // falling off the end
  lowered.fixupBegin.push_back(uint32_t(lowered.fixups.size()));
  for (auto [index, callee] : frameCalls)
    lowered.code[index].target = recursive[callee].begin;
  allocateRegisters(lowered, out);
  out.info.localBytes = out.localBytes;
  out.info.instructions = uint32_t(out.code.size());
  out.pool.resize(out.pool.size() + 64);
  // Vectors give no 64-byte alignment: shift the contents to the aligned place.
  size_t shift = size_t(out.poolData() - out.pool.data());
  std::memmove(out.pool.data() + shift, out.pool.data(), out.pool.size() - 64);
}

std::unique_ptr<FunctionCode> decodeFunction(const ptx::Program &program, const ptx::Function &entry,
                                             const GlobalAddresses &globals, const DeviceModel &model) {
  auto out = std::make_unique<FunctionCode>();
  try {
    Lowering(program, entry, globals, model, *out).run();
  } catch (Refusal &refusal) {
    FunctionInfo info = std::move(out->info);
    out = std::make_unique<FunctionCode>();
    out->info = std::move(info);
    out->info.refused = refusal.why;
  }
  return out;
}

} // namespace graphc::cudasim
