// Lowering: the dispatch over opcodes, arithmetic, moves, conversions and comparisons.
#include "runtime/cudasim/engine/Lower.h"

#include <tuple>

namespace graphc::cudasim {

using ptx::Operand;
using ptx::Type;

static bool isFloatType(Type type) { return type >= Type::F16 && type <= Type::F32x2; }
static bool isHalf(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2;
}
static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }
static Kind kindFor(unsigned bytes) { return bytes == 8 ? Kind::Simd64 : Kind::Simd32; }

/// Rounding, ftz, sat of float arithmetic.
uint32_t Lowering::takeFloatFlags(Mods &mods) {
  uint32_t flags = 0;
  if (mods.take("rz"))
    flags |= RoundZero;
  else if (mods.take("rm"))
    flags |= RoundDown;
  else if (mods.take("rp"))
    flags |= RoundUp;
  else
    mods.take("rn");
  if (mods.take("ftz"))
    flags |= FlushZero;
  if (mods.take("sat"))
    flags |= Saturate;
  if (mods.take("relu"))
    flags |= Relu;
  return flags;
}

void Lowering::lower() {
  std::string_view opcode = at->parts[0];
  using Method = void (Lowering::*)();
  static const std::unordered_map<std::string_view, Method> methods = {
      {"mov", &Lowering::lowerMov},     {"cvt", &Lowering::lowerCvt},       {"cvta", &Lowering::lowerCvta},
      {"setp", &Lowering::lowerSetp},   {"set", &Lowering::lowerSet},       {"selp", &Lowering::lowerSelp},
      {"mul", &Lowering::lowerMul},     {"call", &Lowering::lowerCall},     {"ld", &Lowering::lowerLoad},
      {"ldu", &Lowering::lowerLoad},    {"st", &Lowering::lowerStore},      {"shfl", &Lowering::lowerShfl},
      {"vote", &Lowering::lowerVote},   {"match", &Lowering::lowerMatch},   {"redux", &Lowering::lowerRedux},
      {"elect", &Lowering::lowerElect}, {"mma", &Lowering::lowerMma},       {"wmma", &Lowering::lowerWmma},
      {"mbarrier", &Lowering::lowerMbarrier}};
  auto method = methods.find(opcode);
  if (method != methods.end()) {
    (this->*method->second)();
    return;
  }
  if (opcode == "bra") {
    mods->take("uni");
    const Operand &target = operand(0);
    if (target.kind != Operand::Kind::Symbol)
      refuse("expected a label");
    int index = current->function->findLabel(target.name, at->scope);
    if (index < 0)
      refuse("unknown label " + std::string(target.name));
    current->branches.push_back({uint32_t(lowered.code.size()), index});
    emit(Kind::Branch, nullptr, Class::Control);
  } else if (opcode == "brx") { // a chain of compares; the ISA leaves an index past the end undefined
    if (!mods->take("idx"))
      refuse("only brx.idx exists");
    mods->take("uni");
    if (at->guard >= 0)
      refuse("a guarded brx.idx is not supported");
    Value index = value(operand(0), Type::U32);
    const std::vector<std::string_view> *targets = nullptr;
    for (auto &[name, list] : current->function->branchTargets)
      if (name == operand(1).name)
        targets = &list;
    if (!targets)
      refuse("unknown target list " + std::string(operand(1).name));
    for (size_t k = 0; k < targets->size(); ++k) {
      int label = current->function->findLabel((*targets)[k], at->scope);
      if (label < 0)
        refuse("unknown label " + std::string((*targets)[k]));
      int hit = temporary(RegClass::Predicate);
      Inst &compare = emit(Kind::Masked, table.compare(Type::U32, Cmp::Eq, false), Class::Control);
      use(compare.a, index);
      use(compare.b, constant(k, 4));
      def(compare.d, hit, true);
      current->branches.push_back({uint32_t(lowered.code.size()), label});
      Inst &branch = emit(Kind::Branch, nullptr, Class::Control);
      use(branch.guard, {0, hit});
    }
    emit(Kind::Masked, runTrap, Class::Control);
  } else if (opcode == "ret" || opcode == "exit") {
    mods->take("uni");
    if (opcode == "exit" || current->function == &entry) {
      emit(Kind::Exit, nullptr, Class::Control);
    } else {
      current->branches.push_back({uint32_t(lowered.code.size()), int(current->function->instructions.size())});
      emit(Kind::Branch, nullptr, Class::Control);
    }
  } else if (opcode == "trap" || opcode == "brkpt") {
    emit(Kind::Masked, runTrap, Class::Control);
  } else if (opcode == "nanosleep") {
    mods->take("u32");
    Value amount = value(operand(0), Type::U32);
    Inst &inst = emit(Kind::Masked, runNanosleep, Class::Control);
    use(inst.a, amount);
  } else if (opcode == "membar" || opcode == "fence") {
    lowerFence(opcode);
  } else if (opcode == "bar" || opcode == "barrier") {
    lowerBarrier(opcode);
  } else if (opcode == "atom" || opcode == "red") {
    lowerAtomic(opcode == "red");
  } else if (opcode == "cp") {
    lowerAsync();
  } else if (opcode == "ldmatrix" || opcode == "stmatrix") {
    lowerMatrix(opcode == "stmatrix");
  } else if (opcode == "movmatrix") {
    for (const char *piece : {"sync", "aligned", "m8n8", "trans", "b16"})
      if (!mods->take(piece))
        refuse("only movmatrix.sync.aligned.m8n8.trans.b16 exists");
    Value a = value(operand(1), Type::B32);
    int d = destination(operand(0), 4);
    Inst &inst = emit(Kind::Collective, table.mma({8, 8, 0}, Type::F16, Type::F16, Type::F16, false), Class::WarpCollective);
    use(inst.a, a);
    def(inst.d, d, true);
    inst.members = constant(0xFFFFFFFF, 4).ref;
  } else if (opcode == "activemask") {
    mods->take("b32");
    int d = destination(operand(0), 4);
    Inst &inst = emit(Kind::Masked, table.warp(WarpOp::Activemask), Class::WarpCollective);
    def(inst.d, d, true);
  } else if (opcode == "prefetch" || opcode == "prefetchu" || opcode == "applypriority" || opcode == "discard" ||
             opcode == "pmevent" || opcode == "griddepcontrol" || opcode == "setmaxnreg") {
    while (!mods->takeNext().empty()) {
    }
    emit(Kind::Masked, runNothing, Class::Control); // hints
  } else if (opcode == "createpolicy") {
    while (!mods->takeNext().empty()) {
    }
    move(destination(operand(0), 8), constant(0, 8)); // cache policies mean nothing here
  } else if (opcode == "alloca" || opcode == "stacksave" || opcode == "stackrestore") {
    lowerStack(opcode);
  } else if (opcode == "isspacep") {
    std::string_view space = mods->takeNext();
    Value a = value(operand(1), Type::B64);
    int d = predicateDestination(operand(0));
    Inst &inst = emit(Kind::Masked, runIsSpace, Class::Integer);
    inst.sub = space == "shared" || space == "shared::cta" || space == "shared::cluster" ? 1
               : space == "local"                                                        ? 2
               : space == "param" || space == "param::entry"                             ? 3
               : space == "global"                                                       ? 0
               : space == "const"                                                        ? 4
                                                                                         : 5;
    if (inst.sub == 5)
      refuse("isspacep." + std::string(space) + " is not supported");
    use(inst.a, a);
    def(inst.d, d, true);
  } else {
    lowerIntegerOrFloat(opcode);
  }
}

void Lowering::lowerIntegerOrFloat(std::string_view opcode) {
  if (lowerRare(opcode))
    return;
  if (opcode == "mad" || opcode == "fma") {
    lowerMad(opcode == "fma");
    return;
  }
  if (opcode == "addc" || opcode == "subc" || opcode == "madc" ||
      ((opcode == "add" || opcode == "sub") && mods->has("cc"))) {
    lowerCarry(opcode);
    return;
  }
  if (opcode == "and" || opcode == "or" || opcode == "xor" || opcode == "not") {
    lowerLogic(opcode);
    return;
  }
  static const std::unordered_map<std::string_view, Op> basic = {
      {"add", Op::Add}, {"sub", Op::Sub}, {"div", Op::Div},     {"rem", Op::Rem},   {"min", Op::Min},
      {"max", Op::Max}, {"abs", Op::Abs}, {"neg", Op::Neg},     {"rcp", Op::Rcp},   {"sqrt", Op::Sqrt},
      {"ex2", Op::Ex2}, {"lg2", Op::Lg2}, {"rsqrt", Op::Rsqrt}, {"sin", Op::Sin},   {"cos", Op::Cos},
      {"tanh", Op::Tanh}, {"copysign", Op::Copysign}};
  auto found = basic.find(opcode);
  if (found == basic.end()) {
    lowerBits(opcode);
    return;
  }
  Op op = found->second;
  Type type = mods->takeType();
  if (type == Type::None)
    refuse("no type");
  if (!isFloatType(type)) {
    bool saturate = mods->take("sat");
    if (saturate && (type != Type::S32 || (op != Op::Add && op != Op::Sub)))
      refuse("sat needs s32");
    Value a = value(operand(1), type);
    if (op == Op::Abs || op == Op::Neg) {
      simple(table.integer(op, type), type, {a}, operand(0), Class::Integer);
      return;
    }
    Value b = value(operand(2), type);
    if (saturate) { // in 64 bits, then narrowed with saturation
      int wideA = temporary(RegClass::Wide), wideB = temporary(RegClass::Wide), sum = temporary(RegClass::Wide);
      Handler extend = table.convert(Type::S64, Type::S32, CvtRound::Default, 0);
      unaryInto(extend, wideA, a, Kind::Simd64, Class::Integer);
      unaryInto(extend, wideB, b, Kind::Simd64, Class::Integer);
      Inst &inst = emit(Kind::Simd64, table.integer(op, Type::S64), Class::Integer);
      use(inst.a, {0, wideA});
      use(inst.b, {0, wideB});
      def(inst.d, sum);
      int d = destination(operand(0), 4);
      Inst &narrow = emit(Kind::Simd32, table.convert(Type::S32, Type::S64, CvtRound::Default, Saturate), Class::Integer);
      narrow.imm = int64_t(Type::S32) | int64_t(Type::S64) << 8;
      narrow.flags = Saturate;
      use(narrow.a, {0, sum});
      def(narrow.d, d);
      return;
    }
    simple(table.integer(op, type), type, {a, b}, operand(0), Class::Integer);
    return;
  }
  bool approximate = mods->take("approx"), full = mods->take("full");
  uint32_t flags = takeFloatFlags(*mods);
  bool unaryOp = op == Op::Abs || op == Op::Neg || op == Op::Rcp || op == Op::Sqrt || op == Op::Rsqrt || op == Op::Ex2 ||
                 op == Op::Lg2 || op == Op::Sin || op == Op::Cos || op == Op::Tanh;
  bool transcendental = op == Op::Ex2 || op == Op::Lg2 || op == Op::Sin || op == Op::Cos || op == Op::Tanh || op == Op::Rsqrt;
  if (transcendental && !approximate)
    refuse("only the approximate form exists");
  if ((approximate || full) && !transcendental && op != Op::Div && op != Op::Rcp && op != Op::Sqrt)
    refuse("approx is not defined here");
  bool absolute = false; // of the three-input forms
  if (op == Op::Min || op == Op::Max) {
    bool nan = mods->take("NaN"), xorsign = mods->take("xorsign");
    if (xorsign)
      mods->take("abs");
    else if (hasOperand(3) && type == Type::F32)
      absolute = mods->take("abs");
    bool isMax = op == Op::Max;
    op = nan ? (isMax ? Op::MaxNan : Op::MinNan) : xorsign ? (isMax ? Op::MaxXorSign : Op::MinXorSign) : op;
  }
  if (op == Op::Sqrt || op == Op::Rcp)
    mods->take("ftz");
  auto source = [&](size_t index) {
    Value v = value(operand(index), type);
    if (!absolute)
      return v;
    int magnitude = temporary(RegClass::Word);
    unaryInto(table.real(Op::Abs, Type::F32, 0), magnitude, v, Kind::Simd32, Class::Fp32);
    return Value{0, magnitude};
  };
  Value a = source(1);
  Handler fn = isHalf(type) ? table.half(op, type, flags) : table.real(op, type, flags);
  Class cls = transcendental || op == Op::Rcp || op == Op::Sqrt || op == Op::Div ? Class::Special : classFor(type);
  if (unaryOp) {
    simple(fn, type, {a}, operand(0), cls, flags);
    if (isHalf(type))
      lowered.code.back().sub = type == Type::F16x2 || type == Type::BF16x2;
    return;
  }
  Value b = source(2);
  if (hasOperand(3) && (op == Op::Min || op == Op::Max || op == Op::MinNan || op == Op::MaxNan)) { // three inputs
    Value c = source(3);
    int first = temporary(ptx::sizeOf(type) == 8 ? RegClass::Wide : RegClass::Word);
    Inst &inst = emit(kindFor(ptx::sizeOf(type)), fn, cls);
    inst.flags = flags;
    use(inst.a, a);
    use(inst.b, b);
    def(inst.d, first);
    simple(fn, type, {{0, first}, c}, operand(0), cls, flags);
    return;
  }
  simple(fn, type, {a, b}, operand(0), cls, flags);
}

void Lowering::lowerMul() {
  bool lo = mods->take("lo"), hi = mods->take("hi"), wide = mods->take("wide");
  Type type = mods->takeType();
  if (isFloatType(type)) {
    uint32_t flags = takeFloatFlags(*mods);
    Value a = value(operand(1), type), b = value(operand(2), type);
    simple(isHalf(type) ? table.half(Op::Mul, type, flags) : table.real(Op::Mul, type, flags), type, {a, b}, operand(0),
           classFor(type), flags);
    return;
  }
  if (!lo && !hi && !wide)
    refuse("mul needs .lo, .hi or .wide");
  Value a = value(operand(1), type), b = value(operand(2), type);
  Type result = type;
  if (wide)
    result = ptx::sizeOf(type) == 4 ? Type::B64 : Type::B32;
  simple(table.integer(wide ? Op::MulWide : hi ? Op::MulHi : Op::MulLo, type), result, {a, b}, operand(0), Class::Integer);
}

void Lowering::lowerMad(bool isFma) {
  if (!isFma && mods->has("cc")) {
    lowerCarry("mad");
    return;
  }
  bool lo = mods->take("lo"), hi = mods->take("hi"), wide = mods->take("wide");
  Type type = mods->takeType();
  if (isFloatType(type)) {
    uint32_t flags = takeFloatFlags(*mods);
    Value a = value(operand(1), type), b = value(operand(2), type), c = value(operand(3), type);
    simple(isHalf(type) ? table.half(Op::Fma, type, flags) : table.real(Op::Fma, type, flags), type, {a, b, c},
           operand(0), classFor(type), flags);
    return;
  }
  if (!lo && !hi && !wide)
    refuse("mad needs .lo, .hi or .wide");
  Type result = wide ? (ptx::sizeOf(type) == 4 ? Type::B64 : Type::B32) : type;
  Value a = value(operand(1), type), b = value(operand(2), type), c = value(operand(3), result);
  simple(table.integer(wide ? Op::MadWide : hi ? Op::MadHi : Op::MadLo, type), result, {a, b, c}, operand(0),
         Class::Integer);
}

void Lowering::lowerCarry(std::string_view opcode) {
  bool cc = mods->take("cc"), lo = mods->take("lo"), hi = mods->take("hi");
  Type type = mods->takeType();
  Op op;
  if (opcode == "add")
    op = Op::AddCC;
  else if (opcode == "addc")
    op = cc ? Op::AddCCC : Op::AddC;
  else if (opcode == "sub")
    op = Op::SubCC;
  else if (opcode == "subc")
    op = cc ? Op::SubCCC : Op::SubC;
  else if (opcode == "mad")
    op = lo ? Op::MadLoCC : Op::MadHiCC;
  else
    op = lo ? (cc ? Op::MadLoCCC : Op::MadLoC) : (cc ? Op::MadHiCCC : Op::MadHiC);
  bool isMad = opcode == "mad" || opcode == "madc";
  if (isMad && lo == hi)
    refuse("needs .lo or .hi");
  Value a = value(operand(1), type), b = value(operand(2), type), c = isMad ? value(operand(3), type) : a;
  int d = destination(operand(0), ptx::sizeOf(type));
  Inst &inst = emit(Kind::Masked, table.integer(op, type), Class::Integer);
  inst.wide = uint8_t(ptx::sizeOf(type));
  use(inst.a, a);
  use(inst.b, b);
  use(inst.c, c);
  def(inst.d, d, true);
}

void Lowering::lowerLogic(std::string_view opcode) {
  Type type = mods->takeType();
  if (type == Type::Pred) {
    PredOp op = opcode == "and" ? PredOp::And : opcode == "or" ? PredOp::Or : opcode == "xor" ? PredOp::Xor : PredOp::Not;
    bool negateA = false, negateB = false;
    Value a = predicate(operand(1), negateA), b = trueValue();
    if (op != PredOp::Not)
      b = predicate(operand(2), negateB);
    int d = predicateDestination(operand(0));
    Inst &inst = emit(Kind::Masked, table.predicate(op), Class::Integer);
    inst.flags = uint32_t(negateA) | uint32_t(negateB) << 1;
    use(inst.a, a);
    use(inst.b, b);
    def(inst.d, d, true);
    return;
  }
  Op op = opcode == "and" ? Op::And : opcode == "or" ? Op::Or : opcode == "xor" ? Op::Xor : Op::Not;
  Value a = value(operand(1), type);
  if (op == Op::Not)
    simple(table.integer(op, type), type, {a}, operand(0), Class::Integer);
  else
    simple(table.integer(op, type), type, {a, value(operand(2), type)}, operand(0), Class::Integer);
}

void Lowering::lowerBits(std::string_view opcode) {
  if (opcode == "shl" || opcode == "shr") {
    Type type = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), Type::U32);
    simple(table.integer(opcode == "shl" ? Op::Shl : Op::Shr, type), type, {a, b}, operand(0), Class::Integer);
  } else if (opcode == "shf") {
    bool left = mods->take("l");
    if (!left && !mods->take("r"))
      refuse("shf needs .l or .r");
    bool clamp = mods->take("clamp");
    if (!clamp && !mods->take("wrap"))
      refuse("shf needs .wrap or .clamp");
    Type type = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), type), c = value(operand(3), Type::U32);
    simple(table.integer(left ? (clamp ? Op::ShfLClamp : Op::ShfLWrap) : (clamp ? Op::ShfRClamp : Op::ShfRWrap), type),
           type, {a, b, c}, operand(0), Class::Integer);
  } else if (opcode == "popc" || opcode == "clz" || opcode == "bfind") {
    bool shiftAmount = mods->take("shiftamt");
    Type type = mods->takeType();
    Op op = opcode == "popc" ? Op::Popc : opcode == "clz" ? Op::Clz : shiftAmount ? Op::BfindShift : Op::Bfind;
    Value a = value(operand(1), type);
    simple(table.integer(op, type), Type::U32, {a}, operand(0), Class::Integer);
  } else if (opcode == "brev") {
    Type type = mods->takeType();
    simple(table.integer(Op::Brev, type), type, {value(operand(1), type)}, operand(0), Class::Integer);
  } else if (opcode == "cnot") {
    Type type = mods->takeType();
    simple(table.integer(Op::CNot, type), type, {value(operand(1), type)}, operand(0), Class::Integer);
  } else if (opcode == "bfe") {
    Type type = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), Type::U32), c = value(operand(3), Type::U32);
    simple(table.integer(Op::Bfe, type), type, {a, b, c}, operand(0), Class::Integer);
  } else if (opcode == "bfi") {
    Type type = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), type), c = value(operand(3), Type::U32),
          length = value(operand(4), Type::U32);
    std::vector<Ref> &list = newList(1);
    simple(table.integer(Op::Bfi, type), type, {a, b, c}, operand(0), Class::Integer);
    lowered.code.back().list = list.data();
    use(list[0], length);
  } else if (opcode == "prmt") {
    mods->take("b32");
    static const std::pair<std::string_view, Op> modes[] = {{"f4e", Op::PrmtF4e}, {"b4e", Op::PrmtB4e},
                                                            {"rc8", Op::PrmtRc8}, {"ecl", Op::PrmtEcl},
                                                            {"ecr", Op::PrmtEcr}, {"rc16", Op::PrmtRc16}};
    Op op = Op::Prmt;
    for (auto &[name, mode] : modes)
      if (mods->take(name))
        op = mode;
    Value a = value(operand(1), Type::B32), b = value(operand(2), Type::B32), c = value(operand(3), Type::B32);
    simple(table.integer(op, Type::B32), Type::B32, {a, b, c}, operand(0), Class::Integer);
  } else if (opcode == "lop3") {
    if (!mods->take("b32"))
      refuse("only lop3.b32 is supported");
    Value a = value(operand(1), Type::B32), b = value(operand(2), Type::B32), c = value(operand(3), Type::B32);
    uint64_t lut = immediate(operand(4), Type::B32);
    simple(table.integer(Op::Lop3, Type::B32), Type::B32, {a, b, c}, operand(0), Class::Integer);
    lowered.code.back().imm = int64_t(lut);
  } else if (opcode == "sad") {
    Type type = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), type), c = value(operand(3), type);
    simple(table.integer(Op::Sad, type), type, {a, b, c}, operand(0), Class::Integer);
  } else if (opcode == "mul24" || opcode == "mad24") {
    if (!mods->take("lo"))
      refuse("needs .lo or .hi");
    Type type = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), type);
    if (opcode == "mul24")
      simple(table.integer(Op::Mul24, type), type, {a, b}, operand(0), Class::Integer);
    else
      simple(table.integer(Op::Mad24, type), type, {a, b, value(operand(3), type)}, operand(0), Class::Integer);
  } else if (opcode == "dp4a") {
    Type typeA = mods->takeType(), typeB = mods->takeType();
    bool signedA = isSignedType(typeA), signedB = isSignedType(typeB);
    Op op = signedA ? (signedB ? Op::Dp4aSS : Op::Dp4aSU) : (signedB ? Op::Dp4aUS : Op::Dp4aUU);
    Value a = value(operand(1), Type::B32), b = value(operand(2), Type::B32), c = value(operand(3), Type::B32);
    simple(table.integer(op, Type::B32), Type::B32, {a, b, c}, operand(0), Class::Integer);
  } else if (opcode == "testp") {
    static const std::pair<std::string_view, uint8_t> tests[] = {{"finite", 0}, {"infinite", 1}, {"number", 2},
                                                                 {"notanumber", 3}, {"normal", 4}, {"subnormal", 5}};
    int which = -1;
    for (auto &[name, index] : tests)
      if (mods->take(name))
        which = index;
    Type type = mods->takeType();
    if (which < 0)
      refuse("unknown test");
    Value a = value(operand(1), type);
    int d = predicateDestination(operand(0));
    Inst &inst = emit(Kind::Masked, table.testp(type, unsigned(which)), classFor(type));
    inst.sub = uint8_t(which);
    use(inst.a, a);
    def(inst.d, d, true);
  } else {
    refuse("this instruction is not supported");
  }
}

void Lowering::lowerMov() {
  Type type = mods->takeType();
  const Operand &to = operand(0), &from = operand(1);
  if (type == Type::Pred) {
    bool negated = false;
    Value a = predicate(from, negated);
    int d = predicateDestination(to);
    Inst &inst = emit(Kind::Masked, table.predicate(PredOp::Mov), Class::Move);
    inst.flags = negated;
    use(inst.a, a);
    use(inst.b, trueValue());
    def(inst.d, d, true);
    return;
  }
  unsigned bytes = ptx::sizeOf(type);
  if (bytes == 16) {
    auto halves = [&](const Operand &op) -> std::pair<Value, Value> {
      if (op.kind == Operand::Kind::Vector) {
        if (op.elements.size() != 2)
          refuse("128 bits are two 64-bit pieces");
        return {value(op.elements[0], Type::B64), value(op.elements[1], Type::B64)};
      }
      auto [low, high] = halvesOf(op);
      return {{0, low}, {0, high}};
    };
    auto [low, high] = halves(from);
    int intoLow, intoHigh;
    if (to.kind == Operand::Kind::Vector) {
      if (to.elements.size() != 2)
        refuse("128 bits are two 64-bit pieces");
      intoLow = destination(to.elements[0], 8);
      intoHigh = destination(to.elements[1], 8);
    } else {
      std::tie(intoLow, intoHigh) = halvesOf(to);
    }
    if (high.reg == intoLow && high.reg >= 0) { // the pieces swap places
      int copy = temporary(RegClass::Wide);
      move(copy, high);
      high = {0, copy};
    }
    move(intoLow, low);
    move(intoHigh, high);
    return;
  }
  if (to.kind == Operand::Kind::Vector) { // unpack
    size_t count = to.elements.size();
    unsigned part = count ? unsigned(bytes / count) : 0;
    if ((count != 2 && count != 4) || part < 1 || bytes > 8)
      refuse("this unpacking is not supported");
    Value a = valueOfSize(from, bytes);
    // The source may be overwritten by one of the pieces: copy it first when it is a destination.
    for (const Operand &element : to.elements)
      if (element.kind == Operand::Kind::Register && a.reg == registerOf(element)) {
        int copy = temporary(classOf(a.reg));
        move(copy, a);
        a = {0, copy};
        break;
      }
    for (size_t i = 0; i < count; ++i) {
      if (to.elements[i].kind == Operand::Kind::Sink)
        continue;
      int d = destination(to.elements[i], part);
      uint32_t shift = uint32_t(i * part * 8);
      uint32_t keep = part == 4 ? 0xFFFFFFFFu : (1u << (part * 8)) - 1;
      Inst *inst;
      if (bytes == 8) {
        inst = &emit(Kind::Simd32, table.integer(Op::UnpackLo32, Type::B64), Class::Move);
        inst->flags = shift;
        inst->imm = keep;
      } else if (part == 2) {
        inst = &emit(Kind::Simd32, table.integer(i ? Op::UnpackHi16 : Op::UnpackLo16, Type::B32), Class::Move);
      } else {
        inst = &emit(Kind::Simd32, table.integer(Op::Bfe, Type::U32), Class::Move);
        use(inst->b, constant(shift, 4));
        use(inst->c, constant(part * 8, 4));
      }
      use(inst->a, a);
      def(inst->d, d);
    }
    return;
  }
  int d = destination(to, bytes);
  if (from.kind == Operand::Kind::Vector) { // pack
    size_t count = from.elements.size();
    unsigned part = count ? unsigned(bytes / count) : 0;
    if ((count != 2 && count != 4) || bytes > 8 || part < 1)
      refuse("this packing is not supported");
    std::vector<Value> pieces;
    for (const Operand &element : from.elements)
      pieces.push_back(valueOfSize(element, part));
    auto pair16 = [&](Value low, Value high, int into) {
      Inst &inst = emit(Kind::Simd32, table.integer(Op::Pack16, Type::B32), Class::Move);
      use(inst.a, low);
      use(inst.b, high);
      def(inst.d, into);
    };
    if (part == 4 || (part == 2 && count == 4)) {
      if (count == 4) {
        int low = temporary(RegClass::Word), high = temporary(RegClass::Word);
        pair16(pieces[0], pieces[1], low);
        pair16(pieces[2], pieces[3], high);
        pieces = {{0, low}, {0, high}};
      }
      Inst &inst = emit(Kind::Simd64, table.integer(Op::Pack32, Type::B64), Class::Move);
      use(inst.a, pieces[0]);
      use(inst.b, pieces[1]);
      def(inst.d, d);
    } else if (part == 2) {
      pair16(pieces[0], pieces[1], d);
    } else { // bytes
      Value sum = pieces[0];
      for (size_t i = 1; i < count; ++i) {
        int next = i + 1 == count ? d : temporary(RegClass::Word);
        std::vector<Ref> &list = newList(1);
        Inst &inst = emit(Kind::Simd32, table.integer(Op::Bfi, Type::U32), Class::Move);
        use(inst.a, pieces[i]);
        use(inst.b, sum);
        use(inst.c, constant(i * part * 8, 4));
        inst.list = list.data();
        use(list[0], constant(part * 8, 4));
        def(inst.d, next);
        sum = {0, next};
      }
    }
    return;
  }
  move(d, value(from, type));
}

void Lowering::lowerCvt() {
  if (lowerRare("cvt"))
    return;
  CvtRound round = CvtRound::Default;
  static const std::pair<std::string_view, CvtRound> rounds[] = {
      {"rn", CvtRound::Rn},   {"rz", CvtRound::Rz},   {"rm", CvtRound::Rm},   {"rp", CvtRound::Rp}, {"rni", CvtRound::Rni},
      {"rzi", CvtRound::Rzi}, {"rmi", CvtRound::Rmi}, {"rpi", CvtRound::Rpi}, {"rna", CvtRound::Rna}};
  for (auto &[name, which] : rounds)
    if (mods->take(name))
      round = which;
  uint32_t flags = 0;
  if (mods->take("ftz"))
    flags |= FlushZero;
  if (mods->take("sat"))
    flags |= Saturate;
  if (mods->take("relu"))
    flags |= Relu;
  if (mods->take("satfinite"))
    flags |= 512;
  Type to = mods->takeType(), from = mods->takeType();
  if (from == Type::None)
    refuse("cvt needs two types");
  if (to == Type::F16x2 || to == Type::BF16x2) {
    if (from != Type::F32)
      refuse("this packed conversion is not supported");
    Value a = value(operand(1), Type::F32), b = value(operand(2), Type::F32);
    simple(table.convertPack(to, round, flags), Type::B32, {a, b}, operand(0), Class::Conversion, flags);
    lowered.code.back().imm = int64_t(to == Type::BF16x2) | int64_t(round == CvtRound::Rz ? RoundZero : RoundNearest) << 8;
    return;
  }
  if (to == Type::TF32) {
    Value a = value(operand(1), Type::F32);
    simple(table.convert(to, from, round, flags), Type::B32, {a}, operand(0), Class::Conversion,
           flags | (round == CvtRound::Rn ? 256 : 0));
    return;
  }
  bool integers = !isFloatType(to) && !isFloatType(from);
  if (isFloatType(to) && isFloatType(from) && to == from && round == CvtRound::Default && !(flags & ~FlushZero))
    round = CvtRound::Rn;
  // A wide register may hold a narrow source, and the destination register may be wider than the result.
  Value a = value(operand(1), from);
  const Operand &target = operand(0);
  unsigned toBytes = ptx::sizeOf(to);
  int d = target.kind == Operand::Kind::Sink ? temporary(toBytes == 8 ? RegClass::Wide : RegClass::Word) : registerOf(target);
  Type declared = target.kind == Operand::Kind::Register ? current->function->registers[target.reg] : to;
  unsigned regBytes = ptx::sizeOf(declared);
  if (classOf(d) == RegClass::Predicate || regBytes < toBytes)
    refuse("the destination register is narrower than the result");
  bool widen = !isFloatType(to) && regBytes > toBytes && toBytes >= 2; // 8-bit results take the general path
  int result = widen ? temporary(RegClass::Word) : d;
  unsigned resultBytes = widen ? toBytes : regBytes;
  Handler fn = table.convert(to, from, round, flags);
  Inst &inst = emit(resultBytes == 8 ? Kind::Simd64 : Kind::Simd32, fn, integers ? Class::Integer : Class::Conversion);
  inst.flags = flags | (resultBytes == 2 ? 1024 : 0);
  inst.imm = int64_t(to) | int64_t(from) << 8 | int64_t(round) << 16;
  use(inst.a, a);
  def(inst.d, result);
  if (widen) {
    Type narrow = isSignedType(to) ? (toBytes == 2 ? Type::S16 : Type::S32) : (toBytes == 2 ? Type::U16 : Type::U32);
    Type wide = regBytes == 8 ? (isSignedType(to) ? Type::S64 : Type::U64) : (isSignedType(to) ? Type::S32 : Type::U32);
    unaryInto(table.convert(wide, narrow, CvtRound::Default, 0), d, {0, result},
              regBytes == 8 ? Kind::Simd64 : Kind::Simd32, Class::Integer);
  }
}

void Lowering::lowerCvta() {
  bool to = mods->take("to");
  std::string_view space = mods->takeNext();
  Type type = mods->takeType();
  if (ptx::sizeOf(type) != 8)
    refuse("only 64-bit addresses are supported");
  uint64_t window = 0;
  if (space == "shared" || space == "shared::cta" || space == "shared::cluster")
    window = sharedWindow;
  else if (space == "local")
    window = localWindow;
  else if (space == "param" || space == "param::entry")
    window = paramWindow;
  else if (space != "global" && space != "const")
    refuse("unknown space " + std::string(space));
  Value a = value(operand(1), Type::B64);
  if (!window) {
    move(destination(operand(0), 8), a);
    return;
  }
  simple(table.integer(to ? Op::Sub : Op::Add, Type::U64), Type::U64, {a, constant(window, 8)}, operand(0), Class::Integer);
}

static Cmp takeCompare(Mods &mods, Type type, bool &known) {
  static const std::pair<std::string_view, Cmp> names[] = {
      {"eq", Cmp::Eq},   {"ne", Cmp::Ne},   {"lt", Cmp::Lt},   {"le", Cmp::Le},   {"gt", Cmp::Gt},  {"ge", Cmp::Ge},
      {"equ", Cmp::EqU}, {"neu", Cmp::NeU}, {"ltu", Cmp::LtU}, {"leu", Cmp::LeU}, {"gtu", Cmp::GtU}, {"geu", Cmp::GeU},
      {"num", Cmp::Num}, {"nan", Cmp::Nan}, {"lo", Cmp::Lt},   {"ls", Cmp::Le},   {"hi", Cmp::Gt},  {"hs", Cmp::Ge}};
  (void)type;
  known = true;
  for (auto &[name, cmp] : names)
    if (mods.take(name))
      return cmp;
  known = false;
  return Cmp::Eq;
}
static BoolOp takeBool(Mods &mods) {
  return mods.take("and") ? BoolOp::And : mods.take("or") ? BoolOp::Or : mods.take("xor") ? BoolOp::Xor : BoolOp::None;
}

void Lowering::lowerSetp() {
  Type type = mods->takeType();
  bool known, ftz = mods->take("ftz");
  Cmp cmp = takeCompare(*mods, type, known);
  if (!known)
    refuse("unknown comparison");
  BoolOp how = takeBool(*mods);
  const Operand &d = operand(0);
  Value a = value(operand(1), type), b = value(operand(2), type);
  bool negated = false;
  Value c = trueValue();
  if (how != BoolOp::None)
    c = predicate(operand(3), negated);
  bool packed = type == Type::F16x2 || type == Type::BF16x2;
  Inst &inst = emit(Kind::Masked, table.compare(type, cmp, ftz), classFor(type));
  inst.sub = uint8_t(unsigned(how) | (negated ? 16 : 0));
  inst.wide = uint8_t(cmp);
  use(inst.a, a);
  use(inst.b, b);
  if (how != BoolOp::None || d.kind == Operand::Kind::Pair || packed) {
    std::vector<Ref> &list = newList(2);
    inst.list = list.data();
    use(list[1], c);
    if (d.kind == Operand::Kind::Pair) {
      if (d.reg2 >= 0)
        def(list[0], current->registerBase + d.reg2, true);
      if (d.reg >= 0)
        def(inst.d, current->registerBase + d.reg, true);
      return;
    }
  }
  def(inst.d, predicateDestination(d), true);
}

void Lowering::lowerSet() {
  bool ftz = mods->take("ftz");
  Type result = mods->takeType(), type = mods->takeType();
  bool known;
  Cmp cmp = takeCompare(*mods, type, known);
  if (!known || type == Type::None)
    refuse("unknown comparison");
  BoolOp how = takeBool(*mods);
  Value a = value(operand(1), type), b = value(operand(2), type);
  bool negated = false;
  Value c = trueValue();
  if (how != BoolOp::None)
    c = predicate(operand(3), negated);
  int d = destination(operand(0), ptx::sizeOf(result));
  Inst &inst = emit(Kind::Simd32, table.compareSet(type, cmp, ftz, result), classFor(type));
  inst.sub = uint8_t(unsigned(how) | (negated ? 16 : 0));
  inst.wide = uint8_t(cmp);
  switch (result) {
  case Type::F32: inst.flags = 0x3F800000; break;
  case Type::F16: case Type::F16x2: inst.flags = 0x3C00; break;
  case Type::BF16: case Type::BF16x2: inst.flags = 0x3F80; break;
  case Type::U16: case Type::S16: inst.flags = 0xFFFF; break;
  default: inst.flags = 0xFFFFFFFF; break;
  }
  use(inst.a, a);
  use(inst.b, b);
  if (how != BoolOp::None) {
    std::vector<Ref> &list = newList(2);
    inst.list = list.data();
    use(list[1], c);
  }
  def(inst.d, d);
}

void Lowering::lowerSelp() {
  Type type = mods->takeType();
  Value a = value(operand(1), type), b = value(operand(2), type);
  bool negated = false;
  Value c = predicate(operand(3), negated);
  int d = destination(operand(0), ptx::sizeOf(type));
  Type bits = ptx::sizeOf(type) == 8 ? Type::B64 : Type::B32;
  Inst &inst = emit(kindFor(ptx::sizeOf(type)), table.integer(Op::Selp, bits), Class::Integer);
  inst.flags = negated ? ~0u : 0;
  use(inst.a, a);
  use(inst.b, b);
  use(inst.c, c);
  def(inst.d, d);
}

} // namespace graphc::cudasim
