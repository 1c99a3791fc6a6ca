// Lowering: barriers, warp collectives, matrix instructions and mbarrier.
#include "runtime/cudasim/engine/Lower.h"

#include <cstring>

namespace graphc::cudasim {

using ptx::Operand;
using ptx::Type;

// -- matrices in shared memory -------------------------------------------------------------------------------------

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
  if (type == Type::F32 && (name == "min" || name == "max")) {
    RareForm form;
    form.op = name == "min" ? 1 : 2;
    form.mode = uint8_t((mods->take("NaN") ? 1 : 0) | (mods->take("abs") ? 2 : 0));
    Value a = value(operand(1), type), members = memberMask(operand(2));
    int d = destination(operand(0), 4);
    Inst &inst = emit(Kind::Collective, rareReduxF32, Class::WarpCollective);
    std::memcpy(&inst.imm, &form, sizeof form);
    use(inst.a, a);
    use(inst.members, members);
    def(inst.d, d, true);
    return;
  }
  if (ptx::sizeOf(type) != 4 || type == Type::F32)
    refuse("redux needs a 32-bit integer type, or min or max of f32");
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
  if (shape.m == 8 && shape.n == 8 && shape.k == 4) {
    lowerMmaQuadPairs();
    return;
  }
  if (!mods->take("row") || !mods->take("col"))
    refuse("only .row.col is supported");
  bool saturate = mods->take("satfinite");
  Type d = mods->takeType(), a = mods->takeType(), b = mods->takeType(), c = mods->takeType();
  if (c == Type::None || d != c)
    refuse("the accumulators must have one type");
  bool isFp8 = (a == Type::E4M3 || a == Type::E5M2) && (b == Type::E4M3 || b == Type::E5M2);
  if (isFp8 && shape.m == 16 && shape.n == 8 && (shape.k == 32 || shape.k == 16) && (d == Type::F32 || d == Type::F16)) {
    lowerMmaFp8(shape, d, a, b);
    return;
  }
  bool eightBit = (a == Type::S8 || a == Type::U8) && (b == Type::S8 || b == Type::U8);
  if (eightBit ? d != Type::S32 : (d != Type::F32 && d != Type::F16))
    refuse("this combination of types is not supported");
  if (!eightBit && a != Type::F16 && a != Type::BF16 && a != Type::TF32)
    refuse("this combination of types is not supported");
  if (shape.n != 8 || (shape.m != 16 && shape.m != 8) || (shape.m == 8 && !eightBit))
    refuse("this shape is not supported");
  Handler fn = table.mma(shape, d, a, b, saturate);
  unsigned perRegister = 4 / ptx::sizeOf(a == Type::TF32 ? Type::F32 : a);
  size_t aRegs = size_t(shape.m) * shape.k / 32 / perRegister, bRegs = size_t(shape.k) * shape.n / 32 / perRegister;
  size_t cRegs = size_t(shape.m) * shape.n / 32 / (d == Type::F16 ? 2 : 1);
  size_t counts[4] = {cRegs, aRegs, bRegs, cRegs};
  if (!fn)
    refuse("this shape and type is not supported");
  Inst &inst = emitMma(fn, shape, counts);
  inst.flags = saturate ? Saturate : 0;
}

/// An mma with these register counts of d, a, b and c.
Inst &Lowering::emitMma(Handler fn, MmaShape shape, const size_t (&counts)[4]) {
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
  inst.target = uint32_t(shape.m) * shape.n * shape.k * 2; // flops, for the counters
  for (size_t i = 0; i < values.size(); ++i)
    use(refs[results.size() + i], values[i]);
  for (size_t i = 0; i < results.size(); ++i)
    def(refs[i], results[i], true);
  return inst;
}

/// m8n8k4, the form of sm_70: f16, any layouts.
void Lowering::lowerMmaQuadPairs() {
  auto isColumn = [&] {
    std::string_view layout = mods->takeNext();
    if (layout != "row" && layout != "col")
      refuse("needs two layouts");
    return layout == "col";
  };
  bool columnA = isColumn(), columnB = isColumn();
  Type d = mods->takeType(), a = mods->takeType(), b = mods->takeType(), c = mods->takeType();
  if (a != Type::F16 || b != Type::F16 || (d != Type::F16 && d != Type::F32) || (c != Type::F16 && c != Type::F32))
    refuse("m8n8k4 is supported for f16 only");
  Inst &inst = emitMma(rareMmaQuadPairs, {8, 8, 16}, {d == Type::F16 ? 4u : 8u, 2, 2, c == Type::F16 ? 4u : 8u});
  inst.sub = uint8_t(unsigned(columnA) | (columnB ? 0 : 2) | (d == Type::F16 ? 4 : 0) | (c == Type::F16 ? 8 : 0));
}

void Lowering::lowerMmaFp8(MmaShape shape, Type d, Type a, Type b) {
  size_t accumulators = d == Type::F16 ? 2 : 4;
  Inst &inst = emitMma(rareMmaFp8, shape, {accumulators, size_t(shape.k / 8), size_t(shape.k / 16), accumulators});
  inst.sub = uint8_t((a == Type::E5M2 ? 1 : 0) | (b == Type::E5M2 ? 2 : 0) | (d == Type::F16 ? 4 : 0));
  inst.wide = uint8_t(shape.k);
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
