// Lowering: the rare instructions of Rare.h, and forms that are made of common ones.
#include "runtime/cudasim/engine/Lower.h"
#include "runtime/cudasim/engine/Rare.h"

#include <cstring>

namespace graphc::cudasim {

using ptx::Operand;
using ptx::Type;

static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }

void Lowering::rare(Handler fn, Type result, std::initializer_list<Value> sources, const RareForm &form, uint32_t flags) {
  simple(fn, result, sources, operand(0), Class::Integer, flags);
  std::memcpy(&lowered.code.back().imm, &form, sizeof form);
}

/// Every form here is recognised before it is taken apart: false means that someone else decodes it.
bool Lowering::lowerRare(std::string_view opcode) {
  auto value32 = [&](size_t index) { return value(operand(index), Type::B32); };
  if (opcode == "mad" && mods->has("hi") && mods->has("sat")) {
    mods->take("hi"), mods->take("sat");
    if (mods->takeType() != Type::S32)
      refuse("mad.hi.sat needs s32");
    rare(rareMadHiSat, Type::B32, {value32(1), value32(2), value32(3)}, {});
  } else if ((opcode == "mul24" || opcode == "mad24") && mods->has("hi")) {
    mods->take("hi");
    RareForm form;
    form.saturate = mods->take("sat");
    form.isSigned = isSignedType(mods->takeType());
    form.op = opcode == "mad24";
    if (form.saturate && !form.isSigned)
      refuse("sat needs s32");
    rare(rareMul24Hi, Type::B32, {value32(1), value32(2), form.op ? value32(3) : constant(0, 4)}, form);
  } else if (opcode == "fns") {
    mods->take("b32");
    rare(rareFns, Type::B32, {value32(1), value32(2), value32(3)}, {});
  } else if (opcode == "szext" || opcode == "bmsk") {
    RareForm form;
    form.mode = mods->take("wrap");
    if (!form.mode && !mods->take("clamp"))
      refuse("needs .clamp or .wrap");
    form.isSigned = isSignedType(mods->takeType());
    rare(opcode == "szext" ? rareSzext : rareBmsk, Type::B32, {value32(1), value32(2)}, form);
  } else if (opcode == "dp2a") {
    RareForm form;
    form.op = mods->take("hi");
    if (!form.op && !mods->take("lo"))
      refuse("needs .lo or .hi");
    form.signedA = isSignedType(mods->takeType());
    form.signedB = isSignedType(mods->takeType());
    rare(rareDp2a, Type::B32, {value32(1), value32(2), value32(3)}, form);
  } else if (opcode == "slct") {
    RareForm form;
    form.mode = mods->take("ftz");
    Type type = mods->takeType(), test = mods->takeType();
    Value a = value(operand(1), type), b = value(operand(2), type);
    if (test == Type::S32)
      simple(table.integer(Op::Slct, type), type, {a, b, value(operand(3), Type::S32)}, operand(0), Class::Integer);
    else if (test == Type::F32)
      rare(rareSlct, type, {a, b, value(operand(3), Type::F32)}, form);
    else
      refuse("the selector is s32 or f32");
  } else if (opcode == "lop3" && (mods->has("or") || mods->has("and"))) {
    lowerLop3Predicate();
  } else if ((opcode == "add" || opcode == "min" || opcode == "max") && (mods->has("u16x2") || mods->has("s16x2"))) {
    RareForm form;
    form.isSigned = mods->take("s16x2");
    if (!form.isSigned)
      mods->take("u16x2");
    form.mode = mods->take("relu");
    form.op = opcode == "add" ? 0 : opcode == "min" ? 1 : 2;
    if (form.mode && (!form.isSigned || !form.op))
      refuse("relu needs min or max of s16x2");
    rare(rarePair16, Type::B32, {value32(1), value32(2)}, form);
  } else if ((opcode == "min" || opcode == "max") && mods->has("relu") && mods->has("s32")) {
    mods->take("relu"), mods->take("s32");
    RareForm form;
    form.op = opcode == "min" ? 1 : 2;
    rare(rareRelu, Type::B32, {value32(1), value32(2)}, form);
  } else if ((opcode == "min" || opcode == "max") && mods->has("xorsign") && mods->has("NaN")) {
    for (const char *piece : {"xorsign", "NaN", "abs", "ftz"})
      mods->take(piece);
    Type type = mods->takeType();
    RareForm form;
    form.op = opcode == "min" ? 1 : 2;
    form.mode = type == Type::F32 ? 0 : type == Type::F16 || type == Type::F16x2 ? 1 : 2;
    form.lanes = type == Type::F16x2 || type == Type::BF16x2 ? 2 : 1;
    if (type == Type::F64)
      refuse("not defined for f64");
    rare(rarePick, type, {value(operand(1), type), value(operand(2), type)}, form);
  } else if ((opcode == "add" || opcode == "sub" || opcode == "fma") && mods->has("f32") && (mods->has("f16") || mods->has("bf16"))) {
    lowerMixedPrecision(opcode);
  } else if (opcode == "fma" && mods->has("oob")) {
    lowerFmaOob();
  } else if (opcode == "cvt" && mods->has("pack")) {
    mods->take("pack"), mods->take("sat");
    RareForm form;
    std::string_view to = mods->takeNext();
    if (to != "u16" && to != "s16" && to != "u8" && to != "s8" && to != "u4" && to != "s4" && to != "u2" && to != "s2")
      refuse("unknown packed type " + std::string(to));
    form.isSigned = to[0] == 's';
    form.lanes = uint8_t(to == "u16" || to == "s16" ? 16 : to[1] - '0');
    if (mods->takeType() != Type::S32)
      refuse("cvt.pack converts s32");
    form.op = mods->take("b32");
    rare(rareCvtPack, Type::B32, {value32(1), value32(2), form.op ? value32(3) : constant(0, 4)}, form);
  } else if (opcode == "cvt" && (mods->has("e4m3x2") || mods->has("e5m2x2"))) {
    lowerFp8Conversion();
  } else if (opcode[0] == 'v') {
    return lowerVideo(opcode);
  } else {
    return false;
  }
  return true;
}

/// lop3.or/and: also a predicate, (d != 0) op q.
void Lowering::lowerLop3Predicate() {
  BoolOp how = mods->take("or") ? BoolOp::Or : BoolOp::And;
  mods->take("and");
  if (!mods->take("b32"))
    refuse("only lop3.b32 exists");
  const Operand &to = operand(0);
  if (to.kind != Operand::Kind::Pair || to.reg2 < 0)
    refuse("expected a register and a predicate");
  Value a = value(operand(1), Type::B32), b = value(operand(2), Type::B32), c = value(operand(3), Type::B32);
  uint64_t lut = immediate(operand(4), Type::B32);
  bool negated;
  Value q = predicate(operand(5), negated);
  int d = to.reg >= 0 ? current->registerBase + to.reg : temporary(RegClass::Word);
  Inst &logic = emit(Kind::Simd32, table.integer(Op::Lop3, Type::B32), Class::Integer);
  logic.imm = int64_t(lut);
  use(logic.a, a);
  use(logic.b, b);
  use(logic.c, c);
  def(logic.d, d);
  Inst &test = emit(Kind::Masked, table.compare(Type::U32, Cmp::Ne, false), Class::Integer);
  test.sub = uint8_t(unsigned(how) | (negated ? 16 : 0));
  test.wide = uint8_t(Cmp::Ne);
  std::vector<Ref> &list = newList(2);
  test.list = list.data();
  use(test.a, {0, d});
  use(test.b, constant(0, 4));
  use(list[1], q);
  def(test.d, current->registerBase + to.reg2, true);
}

/// add, sub and fma of f32 with 16-bit operands, which convert exactly.
void Lowering::lowerMixedPrecision(std::string_view opcode) {
  uint32_t flags = takeFloatFlags(*mods);
  mods->take("f32");
  Type narrow = mods->takeType();
  if (narrow != Type::F16 && narrow != Type::BF16)
    refuse("the operands are f16 or bf16");
  auto widened = [&](size_t index) {
    int wide = temporary(RegClass::Word);
    unaryInto(table.convert(Type::F32, narrow, CvtRound::Default, 0), wide, value(operand(index), narrow), Kind::Simd32, Class::Conversion);
    return Value{0, wide};
  };
  Value a = widened(1);
  if (opcode == "fma") {
    Value b = widened(2);
    simple(table.real(Op::Fma, Type::F32, flags), Type::F32, {a, b, value(operand(3), Type::F32)}, operand(0), Class::Fp32, flags);
    return;
  }
  simple(table.real(opcode == "add" ? Op::Add : Op::Sub, Type::F32, flags), Type::F32, {a, value(operand(2), Type::F32)}, operand(0),
         Class::Fp32, flags);
}

/// fma of halves, zero where a or b is what tensor copies fill in outside a tensor.
void Lowering::lowerFmaOob() {
  mods->take("oob");
  uint32_t flags = takeFloatFlags(*mods);
  Type type = mods->takeType();
  if (type != Type::F16 && type != Type::F16x2 && type != Type::BF16 && type != Type::BF16x2)
    refuse("oob needs f16 or bf16");
  Value a = value(operand(1), type), b = value(operand(2), type), c = value(operand(3), type);
  int sum = temporary(RegClass::Word);
  Inst &inst = emit(Kind::Simd32, table.half(Op::Fma, type, flags), Class::Fp16);
  inst.flags = flags;
  use(inst.a, a);
  use(inst.b, b);
  use(inst.c, c);
  def(inst.d, sum);
  simple(rareZeroOob, type, {a, b, {0, sum}}, operand(0), Class::Fp16);
}

void Lowering::lowerFp8Conversion() {
  bool finite = mods->take("satfinite"), relu = mods->take("relu");
  if (!mods->take("rn"))
    refuse("needs .rn");
  Type to = mods->takeType(), from = mods->takeType();
  bool isFrom = from == Type::E4M3x2 || from == Type::E5M2x2;
  RareForm form;
  form.mode = (isFrom ? from : to) == Type::E5M2x2;
  if (isFrom) {
    if (to != Type::F16x2 || finite)
      refuse("8-bit floats convert to f16x2");
    form.op = relu;
    rare(rareFromFp8, Type::B32, {value(operand(1), Type::B16)}, form);
    return;
  }
  if (!finite)
    refuse("needs .satfinite");
  form.second = relu;
  if (from == Type::F32) {
    rare(rareToFp8, Type::B16, {value(operand(1), Type::F32), value(operand(2), Type::F32)}, form);
  } else if (from == Type::F16x2) {
    form.op = 1;
    Value a = value(operand(1), Type::B32);
    rare(rareToFp8, Type::B16, {a, a}, form);
  } else {
    refuse("8-bit floats come from f32 or f16x2");
  }
}

bool Lowering::lowerVideo(std::string_view opcode) {
  static const std::pair<std::string_view, VideoOp> names[] = {
      {"vadd", VideoOp::Add}, {"vsub", VideoOp::Sub}, {"vabsdiff", VideoOp::AbsDiff}, {"vmin", VideoOp::Min}, {"vmax", VideoOp::Max},
      {"vshl", VideoOp::Shl}, {"vshr", VideoOp::Shr}, {"vmad", VideoOp::Mad}, {"vset", VideoOp::Set}, {"vavrg", VideoOp::Average}};
  RareForm form;
  std::string_view name = opcode;
  if (name.back() == '2' || name.back() == '4') {
    form.lanes = uint8_t(name.back() - '0');
    name.remove_suffix(1);
  }
  bool simd = form.lanes > 1, known = false;
  VideoOp op = VideoOp::Add;
  for (auto &[candidate, which] : names)
    if (name == candidate) {
      op = which;
      known = true;
    }
  bool wordOnly = op == VideoOp::Shl || op == VideoOp::Shr || op == VideoOp::Mad;
  if (!known || (simd ? wordOnly : op == VideoOp::Average))
    return false;
  form.op = uint8_t(op);
  if (op != VideoOp::Set)
    form.isSigned = isSignedType(mods->takeType());
  form.signedA = isSignedType(mods->takeType());
  form.signedB = isSignedType(mods->takeType());
  form.saturate = mods->take("sat");
  if (op == VideoOp::Shl || op == VideoOp::Shr) {
    form.mode = mods->take("wrap");
    if (!form.mode && !mods->take("clamp"))
      refuse("needs .clamp or .wrap");
  } else if (op == VideoOp::Set) {
    static const std::pair<std::string_view, Cmp> compares[] = {{"eq", Cmp::Eq}, {"ne", Cmp::Ne}, {"lt", Cmp::Lt},
                                                                {"le", Cmp::Le}, {"gt", Cmp::Gt}, {"ge", Cmp::Ge}};
    bool found = false;
    for (auto &[text, cmp] : compares)
      if (!found && mods->take(text)) {
        form.mode = uint8_t(cmp);
        found = true;
      }
    if (!found)
      refuse("unknown comparison");
  } else if (op == VideoOp::Mad) {
    form.second = mods->take("po") ? 4 : 0;
    form.second |= mods->take("shr7") ? 1 : mods->take("shr15") ? 2 : 0;
  }
  if (op != VideoOp::Mad)
    form.second = mods->take("add") ? 1 : simd ? 0 : mods->take("min") ? 2 : mods->take("max") ? 3 : 0;
  // "h1" is 17, "b2" is 10; of SIMD forms "h32" lists lanes, the highest first.
  auto select = [&](const Operand &which, uint32_t otherwise) -> uint32_t {
    std::string_view text = which.selector;
    if (text.empty())
      return otherwise;
    if (!simd)
      return (text[0] == 'h' ? 16u : 8u) + uint32_t(text[1] - '0');
    if (text.size() != size_t(form.lanes) + 1)
      refuse("the selector has another number of lanes");
    uint32_t result = 0;
    for (size_t k = 0; k < form.lanes; ++k)
      result |= uint32_t(text[text.size() - 1 - k] - '0') << (3 * k);
    return result;
  };
  uint32_t a = select(operand(1), simd ? (form.lanes == 2 ? 010u : 03210u) : 0);
  uint32_t b = select(operand(2), simd ? (form.lanes == 2 ? 032u : 07654u) : 0);
  uint32_t d = 0;
  if (!simd) {
    d = select(operand(0), 0);
  } else if (operand(0).selector.empty()) {
    d = (1u << form.lanes) - 1;
  } else {
    for (char c : operand(0).selector.substr(1))
      d |= 1u << (c - '0');
  }
  if (!simd && d && form.second)
    refuse("a selected destination takes no second operation");
  auto plain = [&](size_t index, bool mayNegate) {
    Operand copy = operand(index);
    if (copy.negate && !mayNegate)
      refuse("only vmad negates operands");
    copy.negate = false;
    return value(copy, Type::B32);
  };
  bool isMad = op == VideoOp::Mad;
  Value x = plain(1, isMad), y = plain(2, isMad);
  Value z = hasOperand(3) ? plain(3, isMad) : constant(0, 4);
  if (isMad) {
    if (operand(1).negate != operand(2).negate)
      form.second |= 8;
    else if (operand(3).negate)
      form.second |= 16;
  } else if (!hasOperand(3) && (simd || d || form.second)) {
    refuse("a third operand is missing");
  }
  Operand target = operand(0);
  target.selector = {};
  rare(simd ? rareVideoSimd : rareVideo, Type::B32, {x, y, z}, form, selectors(d, a, b));
  return true;
}

} // namespace graphc::cudasim
