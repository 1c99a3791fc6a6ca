// Lowering: memory accesses, atomics, asynchronous copies, barriers, warp collectives and matrix instructions.
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
    switch (variable.space) {
    case ptx::Space::Shared:
      result.offset += sharedOffset.at(&variable);
      result.space = space == MemSpace::Generic ? MemSpace::Shared : space;
      break;
    case ptx::Space::Local:
      result.offset += localOffset(op.var);
      result.space = MemSpace::Local;
      break;
    case ptx::Space::Param:
      if (current->function->isEntry && paramOffset.count(&variable)) {
        result.offset += paramOffset.at(&variable);
        result.space = MemSpace::Param;
      } else {
        result.offset += localOffset(op.var);
        result.space = MemSpace::Local;
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
  if (mods->take("relaxed") || mods->take("mmio"))
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
  if (!bytes || bytes > 8)
    refuse("loads of this type are not supported");
  const Operand &to = operand(0);
  std::vector<Operand> single{to};
  const std::vector<Operand> &targets = to.kind == Operand::Kind::Vector ? to.elements : single;
  if (targets.size() != vector)
    refuse("the vector has another length than the type");
  Address from = address(operand(1), space, param);
  std::vector<int> registers;
  RegClass cls = bytes == 8 ? RegClass::Wide : RegClass::Word;
  for (const Operand &target : targets)
    if (target.kind == Operand::Kind::Register)
      cls = classOf(registerOf(target));
  for (const Operand &target : targets) {
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
  if (!bytes || bytes > 8)
    refuse("stores of this type are not supported");
  const Operand &from = operand(1);
  std::vector<Operand> single{from};
  const std::vector<Operand> &sources = from.kind == Operand::Kind::Vector ? from.elements : single;
  if (sources.size() != vector)
    refuse("the vector has another length than the type");
  Address to = address(operand(0), space, param);
  if (to.space == MemSpace::Param)
    refuse("kernel parameters cannot be written");
  // Store the low bytes of whatever register holds the value; mixed widths become values of the type.
  bool wide = bytes == 8;
  if (!wide) {
    bool allWide = true;
    for (const Operand &source : sources)
      allWide &= source.kind == Operand::Kind::Register && classOf(registerOf(source)) == RegClass::Wide;
    wide = allWide;
  }
  std::vector<Value> values;
  for (const Operand &source : sources)
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

void Lowering::lowerMatrix(bool isStore) {
  if (!mods->take("sync") || !mods->take("aligned"))
    refuse("needs .sync.aligned");
  if (!mods->take("m8n8"))
    refuse("only m8n8 is supported");
  unsigned count = mods->take("x1") ? 1 : mods->take("x2") ? 2 : mods->take("x4") ? 4 : 0;
  if (!count)
    refuse("needs .x1, .x2 or .x4");
  bool trans = mods->take("trans");
  MemSpace space;
  bool constant, param;
  if (!takeSpace(space, constant, param))
    space = MemSpace::Generic;
  if (!mods->take("b16"))
    refuse("only b16 is supported");
  const Operand &registers = operand(isStore ? 1 : 0);
  Address at = address(operand(isStore ? 0 : 1), space);
  std::vector<Operand> single{registers};
  const std::vector<Operand> &list = registers.kind == Operand::Kind::Vector ? registers.elements : single;
  if (list.size() != count)
    refuse("the register list has another length than the matrix count");
  std::vector<Value> values;
  std::vector<int> results;
  for (const Operand &element : list) {
    if (isStore)
      values.push_back(value(element, Type::B32));
    else
      results.push_back(destination(element, 4));
  }
  MemOp &mem = newMem(at);
  mem.access = isStore ? AccessKind::StMatrix : AccessKind::LdMatrix;
  mem.elementBytes = 16;
  mem.vector = uint8_t(count);
  mem.isSigned = trans;
  Ref members = this->constant(0xFFFFFFFF, 4).ref;
  Inst &inst = emit(Kind::Collective, isStore ? table.store(mem) : table.load(mem), isStore ? Class::Store : Class::Load);
  inst.mem = &mem;
  inst.members = members;
  useAddress(mem, at);
  for (size_t i = 0; i < count; ++i) {
    if (isStore)
      use(mem.values[i], values[i]);
    else
      def(mem.values[i], results[i], true);
  }
}

// -- barriers and collectives --------------------------------------------------------------------------------------

void Lowering::lowerFence(std::string_view opcode) {
  // Any fence is a full fence here; its scope matters to race checking only.
  bool cta = false, proxy = false;
  for (std::string_view piece = mods->takeNext(); !piece.empty(); piece = mods->takeNext()) {
    if (piece == "cta")
      cta = true;
    else if (piece.substr(0, 5) == "proxy" || piece == "mbarrier_init")
      proxy = true;
    else if (piece != "gl" && piece != "gpu" && piece != "sys" && piece != "sc" && piece != "acq_rel" &&
             piece != "acquire" && piece != "release" && piece != "cluster" && piece != "async" && piece != "alias" &&
             piece.substr(0, 5) != "async" && piece.substr(0, 4) != "sync" && piece.substr(0, 9) != "tensormap" &&
             piece.substr(0, 6) != "shared" && piece != "global")
      refuse("'." + std::string(piece) + "' is not supported");
  }
  (void)opcode;
  Inst &inst = emit(Kind::Masked, proxy ? runNothing : runFence, Class::Barrier);
  inst.sub = cta ? 0 : 2;
}

void Lowering::lowerBarrier(std::string_view opcode) {
  if (mods->take("warp")) {
    mods->take("sync");
    Value members = memberMask(operand(0));
    Inst &inst = emit(Kind::WarpSync, nullptr, Class::Barrier);
    use(inst.members, members);
    return;
  }
  if (mods->has("cluster"))
    refuse("cluster barriers are not supported");
  mods->take("cta");
  bool aligned = opcode == "bar" || mods->take("aligned");
  BarrierOp op;
  if (mods->take("sync"))
    op = BarrierOp::Sync;
  else if (mods->take("arrive"))
    op = BarrierOp::Arrive;
  else if (mods->take("red"))
    op = mods->take("popc") ? BarrierOp::RedPopc : mods->take("and") ? BarrierOp::RedAnd : BarrierOp::RedOr;
  else
    refuse("unknown barrier form");
  if (op == BarrierOp::RedOr)
    mods->take("or");
  mods->take("pred");
  mods->take("u32");
  bool isRed = op >= BarrierOp::RedAnd;
  size_t next = isRed ? 1 : 0;
  Value id = hasOperand(next) ? value(operand(next), Type::U32) : constant(0, 4);
  size_t remaining = at->operands.size() - std::min(at->operands.size(), next + 1);
  bool hasCount = isRed ? remaining == 2 : remaining == 1;
  Value count = hasCount ? value(operand(next + 1), Type::U32) : constant(0, 4);
  bool negated = false;
  Value p = trueValue();
  if (isRed)
    p = predicate(at->operands.back(), negated);
  int d = -1;
  if (isRed)
    d = op == BarrierOp::RedPopc ? destination(operand(0), 4) : predicateDestination(operand(0));
  Inst &inst = emit(Kind::Barrier, nullptr, Class::Barrier);
  inst.sub = uint8_t(op);
  inst.wide = hasCount;
  inst.flags = uint32_t(aligned) | uint32_t(negated) << 1;
  use(inst.a, id);
  use(inst.b, count);
  use(inst.c, p);
  if (d >= 0)
    def(inst.d, d, true);
}

void Lowering::lowerShfl() {
  if (!mods->take("sync"))
    refuse("only the .sync form exists on this target");
  WarpOp op = mods->take("up")     ? WarpOp::ShflUp
              : mods->take("down") ? WarpOp::ShflDown
              : mods->take("bfly") ? WarpOp::ShflBfly
                                   : WarpOp::ShflIdx;
  if (op == WarpOp::ShflIdx && !mods->take("idx"))
    refuse("unknown mode");
  if (!mods->take("b32"))
    refuse("only b32 exists");
  const Operand &d = operand(0);
  Value a = value(operand(1), Type::B32), b = value(operand(2), Type::U32), c = value(operand(3), Type::U32);
  Value members = memberMask(operand(4));
  std::vector<Ref> &list = newList(1);
  int result = d.kind == Operand::Kind::Pair ? (d.reg >= 0 ? current->registerBase + d.reg : temporary(RegClass::Word))
                                             : destination(d, 4);
  Inst &inst = emit(Kind::Collective, table.warp(op), Class::WarpCollective);
  inst.list = list.data();
  use(inst.a, a);
  use(inst.b, b);
  use(inst.c, c);
  use(inst.members, members);
  def(inst.d, result, true);
  if (d.kind == Operand::Kind::Pair && d.reg2 >= 0)
    def(list[0], current->registerBase + d.reg2, true);
}

void Lowering::lowerVote() {
  if (!mods->take("sync"))
    refuse("only the .sync form exists on this target");
  bool ballot = mods->take("ballot");
  WarpOp op = ballot ? WarpOp::VoteBallot : mods->take("all") ? WarpOp::VoteAll : mods->take("any") ? WarpOp::VoteAny : WarpOp::VoteUni;
  if (op == WarpOp::VoteUni)
    mods->take("uni");
  mods->take("pred");
  mods->take("b32");
  bool negated;
  Value p = predicate(operand(1), negated);
  Value members = memberMask(operand(2));
  int d = ballot ? destination(operand(0), 4) : predicateDestination(operand(0));
  Inst &inst = emit(Kind::Collective, table.warp(op), Class::WarpCollective);
  inst.flags = negated;
  use(inst.a, p);
  use(inst.b, members);
  use(inst.members, members);
  def(inst.d, d, true);
}

void Lowering::lowerMatch() {
  bool all = mods->take("all");
  if (!all && !mods->take("any"))
    refuse("unknown mode");
  if (!mods->take("sync"))
    refuse("only the .sync form exists");
  Type type = mods->takeType();
  bool wide = ptx::sizeOf(type) == 8;
  const Operand &d = operand(0);
  Value a = value(operand(1), type), members = memberMask(operand(2));
  std::vector<Ref> &list = newList(1);
  int result = d.kind == Operand::Kind::Pair ? (d.reg >= 0 ? current->registerBase + d.reg : temporary(RegClass::Word))
                                             : destination(d, 4);
  Inst &inst = emit(Kind::Collective,
                    table.warp(all ? (wide ? WarpOp::MatchAll64 : WarpOp::MatchAll32)
                                   : (wide ? WarpOp::MatchAny64 : WarpOp::MatchAny32)),
                    Class::WarpCollective);
  inst.list = list.data();
  use(inst.a, a);
  use(inst.b, members);
  use(inst.members, members);
  def(inst.d, result, true);
  if (d.kind == Operand::Kind::Pair && d.reg2 >= 0)
    def(list[0], current->registerBase + d.reg2, true);
}

void Lowering::lowerRedux() {
  if (!mods->take("sync"))
    refuse("only the .sync form exists");
  std::string_view name = mods->takeNext();
  Type type = mods->takeType();
  bool isSigned = type == Type::S32;
  if (ptx::sizeOf(type) != 4 || type == Type::F32)
    refuse("redux needs a 32-bit integer type");
  WarpOp op;
  if (name == "add")
    op = isSigned ? WarpOp::ReduxAddS : WarpOp::ReduxAddU;
  else if (name == "min")
    op = isSigned ? WarpOp::ReduxMinS : WarpOp::ReduxMinU;
  else if (name == "max")
    op = isSigned ? WarpOp::ReduxMaxS : WarpOp::ReduxMaxU;
  else if (name == "and")
    op = WarpOp::ReduxAnd;
  else if (name == "or")
    op = WarpOp::ReduxOr;
  else if (name == "xor")
    op = WarpOp::ReduxXor;
  else
    refuse("unknown operation");
  Value a = value(operand(1), type), members = memberMask(operand(2));
  int d = destination(operand(0), 4);
  Inst &inst = emit(Kind::Collective, table.warp(op), Class::WarpCollective);
  use(inst.a, a);
  use(inst.b, members);
  use(inst.members, members);
  def(inst.d, d, true);
}

void Lowering::lowerElect() {
  if (!mods->take("sync"))
    refuse("only the .sync form exists");
  const Operand &d = operand(0);
  if (d.kind != Operand::Kind::Pair)
    refuse("elect needs two destinations");
  Value members = memberMask(operand(1));
  std::vector<Ref> &list = newList(1);
  Inst &inst = emit(Kind::Collective, table.warp(WarpOp::Elect), Class::WarpCollective);
  inst.list = list.data();
  inst.sub = d.reg >= 0;
  use(inst.b, members);
  use(inst.members, members);
  if (d.reg >= 0)
    def(inst.d, current->registerBase + d.reg, true);
  if (d.reg2 >= 0)
    def(list[0], current->registerBase + d.reg2, true);
}

// -- matrices ------------------------------------------------------------------------------------------------------

static bool parseShape(std::string_view text, MmaShape &shape) {
  unsigned numbers[3] = {0, 0, 0};
  const char letters[3] = {'m', 'n', 'k'};
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    if (at >= text.size() || text[at] != letters[i])
      return false;
    ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      numbers[i] = numbers[i] * 10 + unsigned(text[at++] - '0');
  }
  shape = {uint16_t(numbers[0]), uint16_t(numbers[1]), uint16_t(numbers[2])};
  return at == text.size();
}

void Lowering::lowerMma() {
  if (!mods->take("sync") || !mods->take("aligned"))
    refuse("only .sync.aligned is supported");
  for (const char *piece : {"sp", "sp::ordered_metadata", "block_scale", "kind::mxf8f6f4"})
    if (mods->has(piece))
      refuse("sparse and block-scaled forms are not supported");
  std::string_view text = mods->takeNext();
  MmaShape shape;
  if (!parseShape(text, shape))
    refuse("unknown shape " + std::string(text));
  if (!mods->take("row") || !mods->take("col"))
    refuse("only .row.col is supported");
  bool saturate = mods->take("satfinite");
  Type d = mods->takeType(), a = mods->takeType(), b = mods->takeType(), c = mods->takeType();
  if (c == Type::None || d != c)
    refuse("the accumulators must have one type");
  bool eightBit = (a == Type::S8 || a == Type::U8) && (b == Type::S8 || b == Type::U8);
  if (eightBit ? d != Type::S32 : (d != Type::F32 && d != Type::F16))
    refuse("this combination of types is not supported");
  if (!eightBit && a != Type::F16 && a != Type::BF16 && a != Type::TF32)
    refuse("this combination of types is not supported");
  if (shape.n != 8 || (shape.m != 16 && shape.m != 8))
    refuse("this shape is not supported");
  Handler fn = table.mma(shape, d, a, b, saturate);
  unsigned perRegister = 4 / ptx::sizeOf(a == Type::TF32 ? Type::F32 : a);
  size_t aRegs = size_t(shape.m) * shape.k / 32 / perRegister, bRegs = size_t(shape.k) * shape.n / 32 / perRegister;
  size_t cRegs = size_t(shape.m) * shape.n / 32 / (d == Type::F16 ? 2 : 1);
  size_t counts[4] = {cRegs, aRegs, bRegs, cRegs};
  if (!fn)
    refuse("this shape and type is not supported");
  std::vector<Value> values;
  std::vector<int> results;
  for (size_t which = 0; which < 4; ++which) {
    const Operand &list = operand(which);
    std::vector<Operand> single{list};
    const std::vector<Operand> &elements = list.kind == Operand::Kind::Vector ? list.elements : single;
    if (elements.size() != counts[which])
      refuse("operand " + std::to_string(which + 1) + " has " + std::to_string(elements.size()) + " registers, expected " +
             std::to_string(counts[which]));
    for (const Operand &element : elements) {
      if (which == 0)
        results.push_back(destination(element, 4));
      else
        values.push_back(value(element, Type::B32));
    }
  }
  std::vector<Ref> &refs = newList(results.size() + values.size());
  Ref members = constant(0xFFFFFFFF, 4).ref;
  Inst &inst = emit(Kind::Collective, fn, Class::Mma);
  inst.list = refs.data();
  inst.members = members;
  inst.flags = saturate ? Saturate : 0;
  inst.target = uint32_t(shape.m) * shape.n * shape.k * 2; // flops, for the counters
  for (size_t i = 0; i < values.size(); ++i)
    use(refs[results.size() + i], values[i]);
  for (size_t i = 0; i < results.size(); ++i)
    def(refs[i], results[i], true);
}

void Lowering::lowerWmma() {
  bool load = mods->take("load"), store = mods->take("store"), compute = mods->take("mma");
  if (load + store + compute != 1)
    refuse("unknown form");
  if (!compute) {
    bool a = mods->take("a"), b = mods->take("b"), c = mods->take("c"), d = mods->take("d");
    (void)c;
    (void)d;
    if (!mods->take("sync") || !mods->take("aligned"))
      refuse("needs .sync.aligned");
    bool row = mods->take("row"), col = mods->take("col");
    if (row == col)
      refuse("needs .row or .col");
    MemSpace space;
    bool constant, param;
    takeSpace(space, constant, param);
    Type type = mods->takeType();
    MmaShape shape;
    std::string_view text = mods->takeNext();
    if (!parseShape(text, shape))
      refuse("unknown shape " + std::string(text));
    unsigned bytes = ptx::sizeOf(type);
    if (type != Type::F16 && type != Type::BF16 && type != Type::TF32 && type != Type::F32 && type != Type::S8 &&
        type != Type::U8 && type != Type::S32)
      refuse("this type is not supported");
    unsigned rows = a ? shape.m : b ? shape.k : shape.m, columns = a ? shape.k : shape.n;
    const Operand &list = operand(store ? 1 : 0);
    size_t regs = list.kind == Operand::Kind::Vector ? list.elements.size() : 1;
    std::vector<Operand> single{list};
    const std::vector<Operand> &elements = list.kind == Operand::Kind::Vector ? list.elements : single;
    unsigned perRegister = 4 / bytes;
    if (regs * perRegister * 32 < rows * columns || regs > 8)
      refuse("the register list does not fit the tile");
    Address where = address(operand(store ? 0 : 1), space);
    Value stride = hasOperand(2) ? value(operand(2), Type::U32) : this->constant(row ? columns : rows, 4);
    std::vector<Ref> &refs = newList(regs);
    std::vector<Value> values;
    std::vector<int> results;
    for (const Operand &element : elements) {
      if (store)
        values.push_back(value(element, Type::B32));
      else
        results.push_back(destination(element, 4));
    }
    MemOp &mem = newMem(where);
    mem.access = AccessKind::MmaTile;
    mem.elementBytes = uint8_t(bytes);
    mem.tile = refs.data();
    Ref members = this->constant(0xFFFFFFFF, 4).ref;
    Inst &inst = emit(Kind::Collective, store ? table.store(mem) : table.load(mem), store ? Class::Store : Class::Load);
    inst.mem = &mem;
    inst.members = members;
    inst.target = rows | columns << 8 | perRegister << 16;
    inst.sub = col;
    inst.wide = uint8_t(regs * perRegister);
    inst.flags = bytes;
    useAddress(mem, where);
    use(inst.c, stride);
    for (size_t i = 0; i < regs; ++i) {
      if (store)
        use(refs[i], values[i]);
      else
        def(refs[i], results[i], true);
    }
    return;
  }
  if (!mods->take("sync") || !mods->take("aligned"))
    refuse("needs .sync.aligned");
  // The fragments are stored by element, so the layouts written here no longer matter.
  for (int i = 0; i < 2; ++i)
    if (!mods->take("row") && !mods->take("col"))
      refuse("needs two layouts");
  MmaShape shape;
  std::string_view text = mods->takeNext();
  if (!parseShape(text, shape))
    refuse("unknown shape " + std::string(text));
  bool saturate = mods->take("satfinite");
  mods->take("rn");
  Type types[4];
  int count = 0;
  for (Type type = mods->takeType(); type != Type::None && count < 4; type = mods->takeType())
    types[count++] = type;
  Type d, a, c;
  if (count == 2) { // f16: only the accumulators are named
    d = types[0];
    c = types[1];
    a = Type::F16;
  } else if (count == 4) {
    d = types[0];
    a = types[1];
    c = types[3];
    if (types[1] != types[2])
      refuse("a and b must have one type");
  } else {
    refuse("unknown types");
  }
  if (!(shape.m == 16 && shape.n == 16 && (shape.k == 16 || (shape.k == 8 && a == Type::TF32))) &&
      !(shape.m == 32 && shape.n == 8 && shape.k == 16) && !(shape.m == 8 && shape.n == 32 && shape.k == 16))
    refuse("this shape is not supported");
  Handler fn = table.mma({shape.m, uint16_t(shape.n + 64), shape.k}, d, a, a, saturate);
  std::vector<Value> values;
  std::vector<int> results;
  size_t sizes[4];
  for (size_t which = 0; which < 4; ++which) {
    const Operand &list = operand(which);
    std::vector<Operand> single{list};
    const std::vector<Operand> &elements = list.kind == Operand::Kind::Vector ? list.elements : single;
    sizes[which] = elements.size();
    for (const Operand &element : elements) {
      if (which == 0)
        results.push_back(destination(element, 4));
      else
        values.push_back(value(element, Type::B32));
    }
  }
  if (sizes[0] != (d == Type::F16 ? 4u : 8u) || sizes[3] != (c == Type::F16 ? 4u : 8u) || sizes[1] > 8 || sizes[2] > 8)
    refuse("unexpected register counts");
  std::vector<Ref> &refs = newList(results.size() + values.size());
  Ref members = constant(0xFFFFFFFF, 4).ref;
  Inst &inst = emit(Kind::Collective, fn, Class::Mma);
  inst.list = refs.data();
  inst.members = members;
  inst.flags = saturate ? Saturate : 0;
  inst.target = uint32_t(shape.m) | uint32_t(shape.n) << 8 | uint32_t(shape.k) << 16;
  inst.wide = uint8_t(sizes[1] | sizes[2] << 4);
  inst.sub = uint8_t((d == Type::F16 ? 1 : 0) | (c == Type::F16 ? 2 : 0));
  for (size_t i = 0; i < values.size(); ++i)
    use(refs[results.size() + i], values[i]);
  for (size_t i = 0; i < results.size(); ++i)
    def(refs[i], results[i], true);
}

// -- mbarrier ------------------------------------------------------------------------------------------------------

void Lowering::lowerMbarrier() {
  for (const char *piece : {"expect_tx", "complete_tx"})
    if (mods->has(piece))
      refuse("transaction barriers are not supported");
  bool noComplete = mods->take("noComplete");
  MbarrierOp op;
  if (mods->take("init"))
    op = MbarrierOp::Init;
  else if (mods->take("inval"))
    op = MbarrierOp::Inval;
  else if (mods->take("arrive"))
    op = noComplete ? MbarrierOp::ArriveNoComplete : MbarrierOp::Arrive;
  else if (mods->take("arrive_drop"))
    op = MbarrierOp::ArriveDrop;
  else if (mods->take("test_wait") || mods->take("try_wait"))
    op = mods->take("parity") ? MbarrierOp::TestWaitParity : MbarrierOp::TestWait;
  else if (mods->take("pending_count"))
    op = MbarrierOp::PendingCount;
  else
    refuse("unknown form");
  for (const char *piece : {"release", "acquire", "relaxed", "cta", "cluster"})
    mods->take(piece);
  if (mods->has("shared::cluster"))
    refuse("shared::cluster is not supported");
  bool shared = mods->take("shared") || mods->take("shared::cta");
  mods->take("b64");
  if (op == MbarrierOp::PendingCount) { // our state word keeps it in the low 20 bits
    Value state = value(operand(1), Type::B64);
    int wide = temporary(RegClass::Wide);
    Inst &inst = emit(Kind::Simd64, table.integer(Op::And, Type::B64), Class::Barrier);
    use(inst.a, state);
    use(inst.b, constant(0xFFFFF, 8));
    def(inst.d, wide);
    Inst &narrow = emit(Kind::Simd32, table.integer(Op::UnpackLo32, Type::B64), Class::Barrier);
    narrow.imm = 0xFFFFFFFF;
    use(narrow.a, {0, wide});
    def(narrow.d, destination(operand(0), 4));
    return;
  }
  bool hasState = op == MbarrierOp::Arrive || op == MbarrierOp::ArriveNoComplete || op == MbarrierOp::ArriveDrop;
  bool isWait = op == MbarrierOp::TestWait || op == MbarrierOp::TestWaitParity;
  size_t addressAt = hasState || isWait ? 1 : 0;
  if (hasState && operand(0).kind == Operand::Kind::Address)
    addressAt = 0;
  Address where = address(operand(addressAt), shared ? MemSpace::Shared : MemSpace::Generic);
  Value b = constant(1, 4);
  bool wideB = false;
  if (op == MbarrierOp::Init || (hasState && hasOperand(addressAt + 1)))
    b = value(operand(addressAt + 1), Type::U32);
  else if (op == MbarrierOp::TestWaitParity)
    b = value(operand(addressAt + 1), Type::U32);
  else if (op == MbarrierOp::TestWait) {
    b = value(operand(addressAt + 1), Type::B64);
    wideB = true;
  }
  int d = -1;
  bool predicateResult = isWait;
  if (isWait)
    d = predicateDestination(operand(0));
  else if (hasState && addressAt == 1)
    d = destination(operand(0), 8);
  (void)predicateResult;
  MemOp &mem = newMem(where);
  mem.access = AccessKind::Atomic;
  mem.elementBytes = 8;
  mem.strong = true;
  Inst &inst = emit(Kind::Masked, runMbarrier, Class::Barrier);
  inst.mem = &mem;
  inst.sub = uint8_t(op);
  inst.wide = wideB;
  inst.flags = d >= 0;
  useAddress(mem, where);
  use(inst.b, b);
  if (d >= 0)
    def(inst.d, d, true);
}

} // namespace graphc::cudasim
