// Scalars as C++ expressions. Signed integers wrap in the kernel dialect and not in C++, so integer arithmetic goes through
// helpers of the prelude; floats need none, since NVRTC is told not to contract.
#include "codegen/cuda/KernelPrinter.h"

#include "codegen/common/MathExpansion.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

std::string cuda::typeName(Type type, StringRef index) {
  if (type.isIndex())
    return index.str();
  if (type.isF64())
    return "double";
  if (type.isF32())
    return "float";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return "i64";
  case 32:
    return "int";
  case 16:
    return "i16";
  case 8:
    return "i8";
  default:
    return "bool";
  }
}

static std::string unsignedName(Type type) {
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return "u64";
  case 32:
    return "u32";
  case 16:
    return "u16";
  case 8:
    return "u8";
  default:
    return "bool";
  }
}

//===----------------------------------------------------------------------===//
// Text and names
//===----------------------------------------------------------------------===//

void KernelPrinter::line(const Twine &text) {
  text_.append(2 * depth_, ' ');
  text_ += text.str();
  text_ += '\n';
}

std::string KernelPrinter::fresh(StringRef base) {
  unsigned count = counts_[base]++;
  return count ? (base + "_" + Twine(count + 1)).str() : base.str();
}

std::string KernelPrinter::use(Value value) {
  const Text &text = names_[value];
  assert(!text.text.empty() && "a value is printed before it is used");
  return text.atom ? text.text : "(" + text.text + ")";
}
std::string KernelPrinter::raw(Value value) { return names_[value].text; }

/// What a named value is called.
static StringRef nameOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return "sum"; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return "difference"; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return "product"; })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>([](auto) { return "quotient"; })
      .Case<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp, arith::MaxNumFOp>([](auto) { return "larger"; })
      .Case<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp, arith::MinNumFOp>([](auto) { return "smaller"; })
      .Case<arith::CmpFOp, arith::CmpIOp>([](auto) { return "holds"; })
      .Case<arith::SelectOp>([](auto) { return "chosen"; })
      .Case<kernel::IndexOp, arith::IndexCastOp>([](auto) { return "at"; })
      .Case<arith::BitcastOp>([](auto) { return "bits"; })
      .Case<math::FmaOp>([](auto) { return "fused"; })
      .Default([](Operation *op) { return isa<math::MathDialect>(op->getDialect()) ? op->getName().stripDialect() : "value"; });
}

/// Values with one use in their own block are written there, as long as the line stays readable.
bool KernelPrinter::isInlined(Operation *op, const Text &text) {
  Value value = op->getResult(0);
  if (!value.hasOneUse() || text.text.size() > 90)
    return false;
  Operation *user = *value.getUsers().begin();
  return user->getBlock() == op->getBlock() && (isa<arith::ArithDialect, math::MathDialect>(user->getDialect()) ||
                                                isa<kernel::StoreOp, kernel::YieldOp, kernel::CheckIndexOp>(user));
}

void KernelPrinter::define(Operation *op, Text text) {
  Value value = op->getResult(0);
  if (value.use_empty())
    return;
  if (isInlined(op, text)) {
    set(value, text);
    return;
  }
  // Not the function's own name.
  std::string name = fresh(isa<math::MathDialect>(op->getDialect()) ? nameOf(op).str() + "_value" : nameOf(op).str());
  line("const " + type(value.getType()) + " " + name + " = " + text.text + ";");
  set(value, {name});
}

KernelPrinter::Text KernelPrinter::call(StringRef function, std::initializer_list<std::string> arguments) {
  std::string text = function.str() + "(";
  bool first = true;
  for (const std::string &argument : arguments) {
    text += (first ? "" : ", ") + argument;
    first = false;
  }
  return {text + ")"};
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

static std::string floatLiteral(const APFloat &value, bool isDouble) {
  if (value.isNaN())
    return isDouble ? "double(NAN)" : "NAN";
  if (value.isInfinity()) {
    std::string text = isDouble ? "double(INFINITY)" : "INFINITY";
    return value.isNegative() ? "-" + text : text;
  }
  char buffer[64];
  // The shortest text that reads back as this number.
  double number = isDouble ? value.convertToDouble() : static_cast<double>(value.convertToFloat());
  for (int digits = 6; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    double back = strtod(buffer, nullptr);
    if (isDouble ? back == number : static_cast<float>(back) == static_cast<float>(number))
      break;
  }
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return isDouble ? text : text + "f";
}

KernelPrinter::Text KernelPrinter::literal(TypedAttr attr) {
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    Type type = number.getType();
    if (type.isF16() || type.isBF16())
      return {(type.isF16() ? "f16{" : "bf16{") + std::to_string(number.getValue().bitcastToAPInt().getZExtValue()) + "}"};
    std::string text = floatLiteral(number.getValue(), type.isF64());
    return {text, text[0] != '-'};
  }
  auto integer = cast<IntegerAttr>(attr);
  if (integer.getType().isInteger(1))
    return {integer.getValue().isZero() ? "false" : "true"};
  int64_t value = integer.getType().isIndex() ? integer.getInt() : integer.getValue().getSExtValue();
  bool wide = integer.getType().isInteger(64);
  if (integer.getType().isInteger(8) || integer.getType().isInteger(16)) // a plain literal would be an int
    return {(integer.getType().isInteger(8) ? "i8(" : "i16(") + std::to_string(value) + ")"};
  if (value == std::numeric_limits<int64_t>::min())
    return {"(-9223372036854775807ll - 1)"};
  if (value == std::numeric_limits<int32_t>::min() && !wide)
    return {"(-2147483647 - 1)"};
  return {std::to_string(value) + (wide ? "ll" : ""), value >= 0};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void KernelPrinter::printOps(Block &block) {
  for (Operation &op : block.without_terminator())
    printOp(&op);
}

void KernelPrinter::printOp(Operation *op) {
  if (failed_)
    return;
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    return printLoad(load);
  if (auto store = dyn_cast<kernel::StoreOp>(op))
    return printStore(store);
  if (auto check = dyn_cast<kernel::CheckIndexOp>(op))
    return printCheck(check);
  if (auto map = dyn_cast<kernel::MapOp>(op))
    return group_.size ? groupMap(map) : printMap(map);
  if (auto reduce = dyn_cast<kernel::ReduceOp>(op))
    return group_.size ? groupReduce(reduce) : printReduce(reduce);
  if (auto scan = dyn_cast<kernel::ScanOp>(op))
    return printScan(scan);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (constant.getType().isIndex() && cast<IntegerAttr>(constant.getValue()).getInt() >= 0)
      nonNegative_.insert(constant.getResult());
    return set(constant.getResult(), literal(cast<TypedAttr>(constant.getValue())));
  }
  if (auto wide = dyn_cast<arith::MulUIExtendedOp>(op)) {
    Type type = wide.getLow().getType();
    std::string u = unsignedName(type);
    std::string low = fresh("low"), high = fresh("high");
    line("const " + this->type(type) + " " + low + " = wrapping_mul(" + raw(wide.getLhs()) + ", " + raw(wide.getRhs()) + ");");
    line("const " + this->type(type) + " " + high + " = " + (type.isInteger(64) ? "__umul64hi(" : "__umulhi(") + raw(wide.getLhs()) + ", " +
         raw(wide.getRhs()) + ");");
    set(wide.getLow(), {low});
    set(wide.getHigh(), {high});
    return;
  }
  std::optional<Text> text = op->getNumResults() == 1 ? expression(op) : std::nullopt;
  if (!text) {
    op->emitError() << "has no spelling in CUDA C++";
    failed_ = true;
    return;
  }
  define(op, *text);
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

KernelPrinter::Text KernelPrinter::compareFloats(arith::CmpFOp op) {
  std::string a = use(op.getLhs()), b = use(op.getRhs());
  if (isHalf(op.getLhs().getType())) {
    a = "widen(" + a + ")";
    b = "widen(" + b + ")";
  }
  using P = arith::CmpFPredicate;
  switch (op.getPredicate()) {
  case P::AlwaysFalse:
    return {"false"};
  case P::AlwaysTrue:
    return {"true"};
  case P::OEQ:
    return {a + " == " + b, false};
  case P::OGT:
    return {a + " > " + b, false};
  case P::OGE:
    return {a + " >= " + b, false};
  case P::OLT:
    return {a + " < " + b, false};
  case P::OLE:
    return {a + " <= " + b, false};
  case P::ONE:
    return {a + " < " + b + " || " + a + " > " + b, false};
  case P::ORD:
    return {a + " == " + a + " && " + b + " == " + b, false};
  case P::UEQ:
    return {"!(" + a + " < " + b + " || " + a + " > " + b + ")"};
  case P::UGT:
    return {"!(" + a + " <= " + b + ")"};
  case P::UGE:
    return {"!(" + a + " < " + b + ")"};
  case P::ULT:
    return {"!(" + a + " >= " + b + ")"};
  case P::ULE:
    return {"!(" + a + " > " + b + ")"};
  case P::UNE:
    return {a + " != " + b, false};
  case P::UNO:
    if (a == b)
      return {a + " != " + a, false};
    return {a + " != " + a + " || " + b + " != " + b, false};
  }
  llvm_unreachable("every predicate is handled");
}

/// Math ops in f32 and f64: an instruction, the shared expansion as a device function, or CUDA's library.
KernelPrinter::Text KernelPrinter::floatMath(Operation *op) {
  Type type = op->getResult(0).getType();
  bool isDouble = type.isF64();
  std::string suffix = isDouble ? "" : "f";
  std::vector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isHalf(operand.getType()) ? "widen(" + raw(operand) + ")" : raw(operand));
  StringRef name = op->getName().stripDialect();
  Text text;
  StringRef library = llvm::StringSwitch<StringRef>(name)
                          .Case("absf", "fabs")
                          .Case("roundeven", "rint")
                          .Case("copysign", "copysign")
                          .Case("powf", "pow")
                          .Case("atan2", "atan2")
                          .Case("fma", "fma")
                          .Default(name);
  static const char *expanded[] = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf", "sin", "cos"};
  std::string function = (library + suffix).str();
  if (auto exp = dyn_cast<math::ExpOp>(op); exp && arith::bitEnumContainsAny(exp.getFastmath(), arith::FastMathFlags::afn)) {
    function = "fast_exp";
  } else if (!isDouble && llvm::is_contained(expanded, name)) {
    function = "exact_" + name.str();
    helpers_.insert(name.str());
  } else if (name == "rsqrt") {
    return {(isDouble ? "1.0 / sqrt(" : "1.0f / sqrtf(") + operands[0] + ")", false};
  }
  std::string list;
  for (const std::string &operand : operands)
    list += (list.empty() ? "" : ", ") + operand;
  return {function + "(" + list + ")"};
}

std::optional<KernelPrinter::Text> KernelPrinter::expression(Operation *op) {
  auto operand = [&](unsigned i) { return use(op->getOperand(i)); };
  auto argument = [&](unsigned i) { return raw(op->getOperand(i)); };
  Type type = op->getResult(0).getType();
  Type from = op->getNumOperands() ? op->getOperand(0).getType() : type;

  // Arithmetic on half types runs in f32 and rounds once; selecting and moving does not compute.
  if (isHalf(type) && !isa<arith::SelectOp, arith::TruncFOp, arith::BitcastOp, arith::SIToFPOp, arith::UIToFPOp>(op)) {
    std::string a = "widen(" + argument(0) + ")", b = op->getNumOperands() > 1 ? "widen(" + argument(1) + ")" : "";
    std::string narrow = "narrow_" + this->type(type) + "(";
    std::string wide;
    if (isa<arith::AddFOp>(op))
      wide = a + " + " + b;
    else if (isa<arith::SubFOp>(op))
      wide = a + " - " + b;
    else if (isa<arith::MulFOp>(op))
      wide = a + " * " + b;
    else if (isa<arith::DivFOp>(op))
      wide = a + " / " + b;
    else if (isa<arith::NegFOp>(op))
      wide = "-" + a;
    else if (isa<arith::MaximumFOp>(op))
      wide = "maximum(" + a + ", " + b + ")";
    else if (isa<arith::MinimumFOp>(op))
      wide = "minimum(" + a + ", " + b + ")";
    else if (isa<arith::RemFOp>(op))
      wide = "fmodf(" + a + ", " + b + ")";
    else if (isa<math::MathDialect>(op->getDialect()))
      wide = floatMath(op).text;
    else
      return std::nullopt;
    return Text{narrow + wide + ")"};
  }
  auto infix = [&](StringRef sign) -> Text { return {operand(0) + " " + sign.str() + " " + operand(1), false}; };
  auto function = [&](StringRef name) -> Text { return call(name, {argument(0), argument(1)}); };
  auto isBool = type.isInteger(1);
  auto asUnsigned = [&](unsigned i) { return unsignedName(op->getOperand(i).getType()) + "(" + argument(i) + ")"; };

  return llvm::TypeSwitch<Operation *, std::optional<Text>>(op)
      .Case<arith::AddFOp>([&](auto) { return infix("+"); })
      .Case<arith::SubFOp>([&](auto) { return infix("-"); })
      .Case<arith::MulFOp>([&](auto) { return infix("*"); })
      .Case<arith::DivFOp>([&](auto) { return infix("/"); })
      .Case<arith::NegFOp>([&](auto) { return Text{"-" + operand(0), false}; })
      .Case<arith::RemFOp>([&](auto) { return function(type.isF64() ? "fmod" : "fmodf"); })
      .Case<arith::MaximumFOp>([&](auto) { return function("maximum"); })
      .Case<arith::MinimumFOp>([&](auto) { return function("minimum"); })
      .Case<arith::MaxNumFOp>([&](auto) { return function(type.isF64() ? "fmax" : "fmaxf"); })
      .Case<arith::MinNumFOp>([&](auto) { return function(type.isF64() ? "fmin" : "fminf"); })
      .Case<arith::AddIOp>([&](auto) { return type.isIndex() ? infix("+") : isBool ? infix("!=") : function("wrapping_add"); })
      .Case<arith::SubIOp>([&](auto) { return type.isIndex() ? infix("-") : isBool ? infix("!=") : function("wrapping_sub"); })
      .Case<arith::MulIOp>([&](auto) { return type.isIndex() ? infix("*") : isBool ? infix("&&") : function("wrapping_mul"); })
      .Case<arith::DivSIOp>([&](auto) { return function("divide"); })
      .Case<arith::RemSIOp>([&](auto) { return function("rest"); })
      .Case<arith::DivUIOp>([&](auto) { return Text{this->type(type) + "(divide(" + asUnsigned(0) + ", " + asUnsigned(1) + "))"}; })
      .Case<arith::RemUIOp>([&](auto) { return Text{this->type(type) + "(rest(" + asUnsigned(0) + ", " + asUnsigned(1) + "))"}; })
      .Case<arith::MaxSIOp>([&](auto) { return Text{operand(0) + " > " + operand(1) + " ? " + operand(0) + " : " + operand(1), false}; })
      .Case<arith::MinSIOp>([&](auto) { return Text{operand(0) + " < " + operand(1) + " ? " + operand(0) + " : " + operand(1), false}; })
      .Case<arith::MaxUIOp>([&](auto) { return Text{asUnsigned(0) + " > " + asUnsigned(1) + " ? " + operand(0) + " : " + operand(1), false}; })
      .Case<arith::MinUIOp>([&](auto) { return Text{asUnsigned(0) + " < " + asUnsigned(1) + " ? " + operand(0) + " : " + operand(1), false}; })
      .Case<arith::AndIOp>([&](auto) { return isBool ? infix("&&") : Text{this->type(type) + "(" + infix("&").text + ")"}; })
      .Case<arith::OrIOp>([&](auto) { return isBool ? infix("||") : Text{this->type(type) + "(" + infix("|").text + ")"}; })
      .Case<arith::XOrIOp>([&](auto) { return isBool ? infix("!=") : Text{this->type(type) + "(" + infix("^").text + ")"}; })
      .Case<arith::ShLIOp>([&](auto) { return function("shift_left"); })
      .Case<arith::ShRSIOp>([&](auto) { return function("shift_right"); })
      .Case<arith::ShRUIOp>([&](auto) { return Text{this->type(type) + "(shift_right(" + asUnsigned(0) + ", " + asUnsigned(1) + "))"}; })
      .Case<arith::SelectOp>([&](auto) { return Text{operand(0) + " ? " + operand(1) + " : " + operand(2), false}; })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) { return compareFloats(cmp); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) -> Text {
        static const char *signs[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
        auto predicate = static_cast<unsigned>(cmp.getPredicate());
        if (predicate < 6 || from.isInteger(1))
          return infix(signs[predicate]);
        std::string u = from.isIndex() ? (index_ == "int" ? "u32" : "u64") : unsignedName(from);
        return {u + "(" + argument(0) + ") " + signs[predicate] + " " + u + "(" + argument(1) + ")", false};
      })
      .Case<arith::ExtFOp>([&](auto) -> Text {
        std::string wide = isHalf(from) ? "widen(" + argument(0) + ")" : argument(0);
        return type.isF64() ? Text{"double(" + wide + ")"} : Text{wide, isHalf(from)};
      })
      .Case<arith::TruncFOp>([&](auto) -> Text {
        if (isHalf(type))
          return call("narrow_" + this->type(type), {argument(0)});
        return Text{"float(" + argument(0) + ")"};
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto conversion) -> Text {
        std::string whole = isa<arith::UIToFPOp>(op) ? asUnsigned(0) : from.isInteger(1) ? "-int(" + argument(0) + ")" : argument(0);
        if (isHalf(type))
          return call("narrow_" + this->type(type), {"float(" + whole + ")"});
        return Text{this->type(type) + "(" + whole + ")"};
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) -> Text {
        std::string number = isHalf(from) ? "widen(" + argument(0) + ")" : argument(0);
        std::string target = isa<arith::FPToUIOp>(op) ? unsignedName(type) : this->type(type);
        return Text{"saturate<" + target + ">(" + number + ")"};
      })
      .Case<arith::ExtSIOp>([&](auto) -> Text {
        return from.isInteger(1) ? Text{this->type(type) + "(-int(" + argument(0) + "))"} : Text{this->type(type) + "(" + argument(0) + ")"};
      })
      .Case<arith::ExtUIOp>([&](auto) { return Text{this->type(type) + "(" + asUnsigned(0) + ")"}; })
      .Case<arith::TruncIOp>([&](auto) -> Text {
        return type.isInteger(1) ? Text{"(" + operand(0) + " & 1) != 0", false} : Text{this->type(type) + "(" + argument(0) + ")"};
      })
      .Case<arith::IndexCastOp>([&](auto) -> Text {
        return from.isInteger(1) ? Text{this->type(type) + "(-int(" + argument(0) + "))"} : Text{this->type(type) + "(" + argument(0) + ")"};
      })
      .Case<arith::IndexCastUIOp>([&](auto) { return Text{this->type(type) + "(" + (from.isIndex() ? argument(0) : asUnsigned(0)) + ")"}; })
      .Case<arith::BitcastOp>([&](auto) { return Text{"bit_cast<" + this->type(type) + ">(" + argument(0) + ")"}; })
      .Case<math::AbsIOp>([&](auto) { return Text{operand(0) + " < 0 ? wrapping_sub(" + this->type(type) + "(0), " + argument(0) + ") : " + operand(0), false}; })
      .Case<kernel::IndexOp>([&](kernel::IndexOp index) {
        ValueSpace space;
        AffineExpr expr = space.rewrite(index.getMap(), index.getIndices())[0];
        if (isNonNegative(expr, space))
          nonNegative_.insert(index.getResult());
        return affine(expr, space);
      })
      .Default([&](Operation *) -> std::optional<Text> {
        if (isa<math::MathDialect>(op->getDialect()) && (type.isF32() || type.isF64()))
          return floatMath(op);
        return std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// Helpers from the shared expansions
//===----------------------------------------------------------------------===//

std::string KernelPrinter::helperFunction(StringRef name, MLIRContext *context) {
  Block block;
  OpBuilder b(context);
  b.setInsertionPointToEnd(&block);
  Location loc = b.getUnknownLoc();
  Value x = block.addArgument(b.getF32Type(), loc);
  OperationState state(loc, ("math." + name).str(), x, b.getF32Type());
  Operation *op = b.create(state);
  b.setInsertionPoint(op);
  Value result = expandMathOp(b, op);
  assert(result && "only ops with an expansion become helpers");
  op->erase();
  b.setInsertionPointToEnd(&block);
  kernel::YieldOp::create(b, loc, result);
  KernelPrinter printer;
  printer.depth_ = 1;
  printer.set(x, {"x"});
  printer.printOps(block);
  printer.line("return " + printer.raw(result) + ";");
  assert(printer.helpers_.empty() && "an expansion calls no other");
  return "__device__ __forceinline__ float exact_" + name.str() + "(float x) {\n" + printer.text_ + "}\n";
}
