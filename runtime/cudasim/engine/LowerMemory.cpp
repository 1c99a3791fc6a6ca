// Lowering: memory accesses, atomics and asynchronous copies.
#include "runtime/cudasim/engine/Lower.h"

namespace graphc::cudasim {

using ptx::Operand;
using ptx::Type;

// -- addresses -----------------------------------------------------------------------------------------------------

bool Lowering::takeSpace(MemSpace &space, bool &constant, bool &param) {
  constant = param = false;
  space = MemSpace::Generic;
  if (mods->take("global"))
    space = MemSpace::Global;
  else if (mods->take("shared") || mods->take("shared::cta"))
    space = MemSpace::Shared;
  else if (mods->take("local"))
    space = MemSpace::Local;
  else if (mods->take("const")) {
    space = MemSpace::Global;
    constant = true;
  } else if (mods->take("param") || mods->take("param::entry") || mods->take("param::func")) {
    space = MemSpace::Param;
    param = true;
  } else if (mods->has("shared::cluster")) {
    refuse("shared::cluster is not supported");
  } else {
    return false;
  }
  return true;
}

Lowering::Address Lowering::address(const Operand &op, MemSpace space, bool isParam) {
  if (op.kind != Operand::Kind::Address)
    refuse("expected an address in brackets");
  Address result;
  result.space = space;
  result.offset = op.value;
  if (op.reg >= 0) {
    int reg = current->registerBase + op.reg;
    if (classOf(reg) == RegClass::Predicate)
      refuse("a predicate is no address");
    result.reg = {0, reg};
    result.wide = classOf(reg) == RegClass::Wide;
    // ld.param through a register: kernel parameters in an entry, local copies in a function.
    if (isParam)
      result.space = current->function->isEntry ? MemSpace::Param : MemSpace::Local;
    return result;
  }
  result.none = true;
  if (op.var >= 0) {
    const ptx::Variable &variable = current->function->variables[op.var];
    auto inLocal = [&] {
      result.offset += localOffset(op.var);
      result.space = MemSpace::Local;
      if (frame >= 0) {
        result.reg = special(FrameBase);
        result.wide = result.none = false;
      }
    };
    switch (variable.space) {
    case ptx::Space::Shared:
      result.offset += sharedOffset.at(&variable);
      result.space = space == MemSpace::Generic ? MemSpace::Shared : space;
      break;
    case ptx::Space::Local:
      inLocal();
      break;
    case ptx::Space::Param:
      if (current->function->isEntry && paramOffset.count(&variable)) {
        result.offset += paramOffset.at(&variable);
        result.space = MemSpace::Param;
      } else {
        inLocal();
      }
      break;
    default:
      refuse("a variable of this space cannot be addressed");
    }
    return result;
  }
  if (!op.name.empty()) {
    auto shared = sharedByName.find(op.name);
    if (shared != sharedByName.end()) {
      result.offset += sharedOffset.at(shared->second);
      result.space = MemSpace::Shared;
      return result;
    }
    auto global = globals.find(op.name);
    if (global == globals.end())
      refuse("unknown variable " + std::string(op.name));
    result.offset += int64_t(global->second);
    if (result.space == MemSpace::Generic)
      result.space = MemSpace::Global;
  }
  return result;
}

MemOp &Lowering::newMem(const Address &address, unsigned caches) {
  out.mems.emplace_back();
  MemOp &mem = out.mems.back();
  mem.space = address.space;
  mem.wideAddress = address.wide;
  mem.noAddress = address.none;
  mem.offset = address.offset;
  mem.index = out.boundsCaches;
  out.boundsCaches += caches;
  return mem;
}
void Lowering::useAddress(MemOp &mem, const Address &address) {
  if (!address.none)
    use(mem.address, address.reg, true);
}

void Lowering::takeSemantics(MemOp &mem) {
  if (mods->take("volatile"))
    mem.strong = true;
  bool relaxed = mods->take("relaxed");
  if (mods->take("mmio") || relaxed)
    mem.strong = true;
  if (mods->take("acquire"))
    mem.strong = mem.acquire = true;
  if (mods->take("release"))
    mem.strong = mem.release = true;
  if (mods->take("acq_rel"))
    mem.strong = mem.acquire = mem.release = true;
  mods->take("weak");
  if (mods->take("cta"))
    mem.scope = 0;
  else if (mods->take("cluster"))
    mem.scope = 1;
  else if (mods->take("gpu"))
    mem.scope = 2;
  else if (mods->take("sys"))
    mem.scope = 3;
}

/// Cache hints change nothing; a cache policy is one more operand.
void Lowering::takeHints(size_t &extraOperands) {
  extraOperands = 0;
  while (mods->takePrefix("L1::") || mods->takePrefix("L2::128B") || mods->takePrefix("L2::64B") ||
         mods->takePrefix("L2::256B") || mods->takePrefix("L2::evict") || mods->take("unified")) {
  }
  if (mods->takePrefix("L2::cache_hint"))
    extraOperands = 1;
  for (const char *hint : {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"})
    mods->take(hint);
}

static unsigned takeVector(Mods &mods) { return mods.take("v2") ? 2 : mods.take("v4") ? 4 : mods.take("v8") ? 8 : 1; }
static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }

void Lowering::lowerLoad() {
  MemSpace space;
  bool constant, param;
  takeSpace(space, constant, param);
  MemOp semantics;
  takeSemantics(semantics);
  size_t extra;
  takeHints(extra);
  unsigned vector = takeVector(*mods);
  Type type = mods->takeType();
  unsigned bytes = ptx::sizeOf(type);
  if (!bytes || (bytes == 16 && vector != 1))
    refuse("loads of this type are not supported");
  const Operand &to = operand(0);
  std::vector<Operand> single{to};
  const std::vector<Operand> &targets = to.kind == Operand::Kind::Vector ? to.elements : single;
  if (targets.size() != vector)
    refuse("the vector has another length than the type");
  Address from = address(operand(1), space, param);
  std::vector<int> registers;
  if (bytes == 16) { // as two halves
    auto [low, high] = halvesOf(to);
    registers = {low, high};
    bytes = 8;
    vector = 2;
  }
  RegClass cls = bytes == 8 ? RegClass::Wide : RegClass::Word;
  for (const Operand &target : targets)
    if (target.kind == Operand::Kind::Register)
      cls = classOf(registerOf(target));
  for (const Operand &target : targets) {
    if (isWide128(target))
      continue;
    int reg = target.kind == Operand::Kind::Sink ? temporary(cls) : registerOf(target);
    if (classOf(reg) != cls || cls == RegClass::Predicate)
      refuse("the destination registers have different widths");
    registers.push_back(reg);
  }
  unsigned regBytes = cls == RegClass::Wide ? 8 : 4;
  if (regBytes < bytes)
    refuse("the destination register is narrower than the value");
  if (from.space == MemSpace::Param && from.none) { // known at launch: a broadcast
    for (unsigned v = 0; v < vector; ++v)
      move(registers[v], paramValue(uint32_t(from.offset) + v * bytes, bytes, regBytes, isSignedType(type)));
    return;
  }
  MemOp &mem = newMem(from);
  mem.access = AccessKind::Load;
  mem.elementBytes = uint8_t(bytes);
  mem.vector = uint8_t(vector);
  mem.regBytes = uint8_t(regBytes);
  mem.isSigned = isSignedType(type) && bytes < regBytes;
  mem.constant = constant;
  mem.strong = semantics.strong;
  mem.acquire = semantics.acquire;
  mem.scope = semantics.scope;
  Inst &inst = emit(Kind::Masked, table.load(mem), Class::Load);
  inst.mem = &mem;
  useAddress(mem, from);
  for (unsigned v = 0; v < vector; ++v)
    def(mem.values[v], registers[v], true);
}

void Lowering::lowerStore() {
  MemSpace space;
  bool constant, param;
  takeSpace(space, constant, param);
  if (constant)
    refuse("constant memory cannot be written");
  MemOp semantics;
  takeSemantics(semantics);
  size_t extra;
  takeHints(extra);
  if (mods->has("async"))
    refuse("st.async is not supported");
  unsigned vector = takeVector(*mods);
  Type type = mods->takeType();
  unsigned bytes = ptx::sizeOf(type);
  if (!bytes || (bytes == 16 && vector != 1))
    refuse("stores of this type are not supported");
  const Operand &from = operand(1);
  std::vector<Operand> single{from};
  const std::vector<Operand> &sources = from.kind == Operand::Kind::Vector ? from.elements : single;
  if (sources.size() != vector)
    refuse("the vector has another length than the type");
  Address to = address(operand(0), space, param);
  if (to.space == MemSpace::Param)
    refuse("kernel parameters cannot be written");
  std::vector<Value> values;
  if (bytes == 16) { // as two halves
    auto [low, high] = halvesOf(from);
    values = {{0, low}, {0, high}};
    bytes = 8;
    vector = 2;
  }
  // Store the low bytes of whatever register holds the value; mixed widths become values of the type.
  bool wide = bytes == 8;
  if (!wide) {
    bool allWide = true;
    for (const Operand &source : sources)
      allWide &= source.kind == Operand::Kind::Register && classOf(registerOf(source)) == RegClass::Wide;
    wide = allWide;
  }
  for (const Operand &source : sources)
    if (!isWide128(source))
      values.push_back(wide && bytes < 8 ? Value{0, registerOf(source)} : value(source, type));
  MemOp &mem = newMem(to);
  mem.access = AccessKind::Store;
  mem.elementBytes = uint8_t(bytes);
  mem.vector = uint8_t(vector);
  mem.regBytes = wide ? 8 : 4;
  mem.strong = semantics.strong;
  mem.release = semantics.release;
  mem.scope = semantics.scope;
  Inst &inst = emit(Kind::Masked, table.store(mem), Class::Store);
  inst.mem = &mem;
  useAddress(mem, to);
  for (unsigned v = 0; v < vector; ++v)
    use(mem.values[v], values[v]);
}

void Lowering::lowerAtomic(bool isRed) {
  if (isRed && mods->has("async"))
    refuse("red.async is not supported");
  MemSpace space;
  bool constant, param;
  takeSpace(space, constant, param);
  MemOp semantics;
  takeSemantics(semantics);
  size_t extra;
  takeHints(extra);
  mods->take("noftz");
  static const std::pair<std::string_view, AtomOp> ops[] = {
      {"add", AtomOp::Add}, {"min", AtomOp::Min},   {"max", AtomOp::Max}, {"and", AtomOp::And}, {"or", AtomOp::Or},
      {"xor", AtomOp::Xor}, {"exch", AtomOp::Exch}, {"cas", AtomOp::Cas}, {"inc", AtomOp::Inc}, {"dec", AtomOp::Dec}};
  AtomOp op = AtomOp::None;
  for (auto &[name, which] : ops)
    if (mods->take(name))
      op = which;
  if (op == AtomOp::None)
    refuse("unknown operation");
  unsigned vector = takeVector(*mods);
  Type type = mods->takeType();
  unsigned bytes = ptx::sizeOf(type);
  if (bytes == 16 && !isRed && vector == 1 && (op == AtomOp::Exch || op == AtomOp::Cas)) {
    lowerAtomic128(op == AtomOp::Cas, semantics, address(operand(1), space, param));
    return;
  }
  if (bytes != 2 && bytes != 4 && bytes != 8)
    refuse("atomics of this type are not supported");
  if (vector > 4 || (vector > 1 && op == AtomOp::Cas))
    refuse("this vector form is not supported");
  NumKind num = type == Type::F32 || type == Type::F64 ? NumKind::Float
                : type == Type::F16                    ? NumKind::Half
                : type == Type::F16x2                  ? NumKind::Half2
                : type == Type::BF16                   ? NumKind::BHalf
                : type == Type::BF16x2                 ? NumKind::BHalf2
                : isSignedType(type)                   ? NumKind::Signed
                                                       : NumKind::Unsigned;
  if (num >= NumKind::Float && op != AtomOp::Add && op != AtomOp::Min && op != AtomOp::Max && op != AtomOp::Exch &&
      op != AtomOp::Cas)
    refuse("no such operation on floats");
  size_t first = isRed ? 0 : 1;
  Address to = address(operand(first), space, param);
  std::vector<Value> operands;
  if (vector > 1) {
    if (operand(first + 1).kind != Operand::Kind::Vector || operand(first + 1).elements.size() != vector)
      refuse("expected a vector operand");
    for (const Operand &element : operand(first + 1).elements)
      operands.push_back(value(element, type));
  } else {
    operands.push_back(value(operand(first + 1), type));
    if (op == AtomOp::Cas)
      operands.push_back(value(operand(first + 2), type));
  }
  std::vector<int> results;
  if (!isRed) {
    const Operand &d = operand(0);
    if (vector > 1) {
      for (const Operand &element : d.elements)
        results.push_back(destination(element, bytes));
      if (results.size() != vector)
        refuse("expected a vector destination");
    } else {
      results.push_back(destination(d, bytes));
    }
  }
  MemOp &mem = newMem(to);
  mem.access = AccessKind::Atomic;
  mem.elementBytes = uint8_t(bytes);
  mem.regBytes = bytes == 8 ? 8 : 4;
  mem.vector = uint8_t(vector);
  mem.op = op;
  mem.num = num;
  mem.strong = true;
  mem.acquire = semantics.acquire;
  mem.release = semantics.release;
  mem.scope = semantics.scope;
  Inst &inst = emit(Kind::Masked, table.load(mem), Class::Atomic);
  inst.mem = &mem;
  inst.sub = !isRed;
  useAddress(mem, to);
  for (size_t i = 0; i < operands.size(); ++i)
    use(mem.values[i], operands[i]);
  if (vector == 1 && !results.empty())
    def(inst.d, results[0], true);
  for (size_t i = 0; vector > 1 && i < results.size(); ++i)
    def(mem.values[4 + i], results[i], true);
}

void Lowering::lowerAtomic128(bool isCas, MemOp &semantics, const Address &to) {
  MemOp &mem = newMem(to);
  mem.access = AccessKind::Atomic;
  mem.elementBytes = mem.regBytes = 8;
  mem.vector = 2;
  mem.op = isCas ? AtomOp::Cas : AtomOp::Exch;
  mem.strong = true;
  mem.acquire = semantics.acquire;
  mem.release = semantics.release;
  mem.scope = semantics.scope;
  Inst &inst = emit(Kind::Masked, rareAtomic128, Class::Atomic);
  inst.mem = &mem;
  inst.sub = isCas ? 2 : 1;
  useAddress(mem, to);
  for (size_t i = 0; i < (isCas ? 2u : 1u); ++i) {
    auto [low, high] = halvesOf(operand(2 + i));
    use(mem.values[2 * i], {0, low});
    use(mem.values[2 * i + 1], {0, high});
  }
  auto [low, high] = operand(0).kind == Operand::Kind::Sink ? std::pair(temporary(RegClass::Wide), temporary(RegClass::Wide)) : halvesOf(operand(0));
  def(mem.values[4], low, true);
  def(mem.values[5], high, true);
}

// -- cp.async ------------------------------------------------------------------------------------------------------

void Lowering::lowerAsync() {
  if (!mods->take("async"))
    refuse("this instruction is not supported");
  if (mods->has("bulk") || mods->has("reduce"))
    refuse("bulk copies (TMA) are not supported");
  out.hasAsyncCopies = true;
  if (mods->take("commit_group")) {
    emit(Kind::Masked, runAsyncCommit, Class::AsyncCopy);
    return;
  }
  bool all = mods->take("wait_all");
  if (all || mods->take("wait_group")) {
    int64_t groups = all ? -1 : int64_t(immediate(operand(0), Type::U32));
    Inst &inst = emit(Kind::Masked, runAsyncWait, Class::AsyncCopy);
    inst.imm = groups;
    return;
  }
  if (mods->take("mbarrier")) {
    if (!mods->take("arrive"))
      refuse("unknown form");
    bool noinc = mods->take("noinc");
    mods->take("shared") || mods->take("shared::cta");
    mods->take("b64");
    Address at = address(operand(0), MemSpace::Shared);
    MemOp &mem = newMem(at);
    mem.elementBytes = 8;
    mem.access = AccessKind::Atomic;
    mem.strong = true;
    Inst &inst = emit(Kind::Masked, runMbarrier, Class::Barrier);
    inst.sub = uint8_t(MbarrierOp::AsyncArrive);
    inst.flags = noinc;
    inst.mem = &mem;
    useAddress(mem, at);
    return;
  }
  bool cg = mods->take("cg");
  if (!cg && !mods->take("ca"))
    refuse("cp.async needs .ca or .cg");
  if (!mods->take("shared") && !mods->take("shared::cta"))
    refuse("the destination must be shared memory");
  if (!mods->take("global"))
    refuse("the source must be global memory");
  size_t extra;
  takeHints(extra);
  Address to = address(operand(0), MemSpace::Shared), from = address(operand(1), MemSpace::Global);
  uint64_t bytes = immediate(operand(2), Type::U32);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    refuse("the size must be 4, 8 or 16");
  size_t operands = at->operands.size() - extra;
  Value size;
  bool hasSize = false, ignoreSource = false;
  if (operands > 3) {
    const Operand &fourth = operand(3);
    bool isPredicate = fourth.kind == Operand::Kind::Register && classOf(registerOf(fourth)) == RegClass::Predicate;
    if (isPredicate) { // ignore-src: source size 0 where true
      bool negated;
      Value p = predicate(fourth, negated);
      int d = temporary(RegClass::Word);
      Inst &inst = emit(Kind::Simd32, table.integer(Op::Selp, Type::B32), Class::Integer);
      inst.flags = negated ? ~0u : 0;
      use(inst.a, constant(0, 4));
      use(inst.b, constant(bytes, 4));
      use(inst.c, p);
      def(inst.d, d);
      size = {0, d};
      ignoreSource = true;
    } else {
      size = value(fourth, Type::U32);
    }
    hasSize = true;
  }
  (void)ignoreSource;
  Value source = from.reg;
  if (from.none) {
    source = constant(uint64_t(from.offset), 8);
    from.offset = 0;
  } else if (!from.wide) {
    refuse("the source address must be 64-bit");
  }
  MemOp &mem = newMem(to, 2);
  mem.access = AccessKind::AsyncCopy;
  mem.elementBytes = uint8_t(bytes);
  mem.sourceOffset = from.offset;
  mem.hasSourceSize = hasSize;
  Inst &inst = emit(Kind::Masked, table.load(mem), Class::AsyncCopy);
  inst.mem = &mem;
  useAddress(mem, to);
  use(mem.source, source, true);
  if (hasSize)
    use(mem.sourceSize, size);
}

} // namespace graphc::cudasim
