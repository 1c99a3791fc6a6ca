// Scalars and vectors: affine expressions, broadcasts, and arith/math ops at the width their operands have.
#include "codegen/cpu/VectorEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cpu;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value VectorEmitter::constant(TypedAttr attr) {
  Value &value = constants_[attr];
  if (!value) {
    // Constants stand at the top of the function, where every copy of a body sees them.
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(entry_);
    value = arith::ConstantOp::create(b_, kernel_.getLoc(), attr);
  }
  return value;
}

Value VectorEmitter::steps(Type element, int64_t count, int64_t stride) {
  SmallVector<Attribute> lanes;
  for (int64_t i = 0; i < count; ++i)
    lanes.push_back(IntegerAttr::get(element, i * stride));
  return constant(cast<TypedAttr>(DenseElementsAttr::get(VectorType::get({count}, element), lanes)));
}

Value VectorEmitter::vectorOf(Value value, int64_t count) {
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({count}, value.getType());
  Attribute known;
  if (matchPattern(value, m_Constant(&known)))
    return constant(cast<TypedAttr>(DenseElementsAttr::get(type, known)));
  return vector::BroadcastOp::create(b_, loc_, type, value);
}

void VectorEmitter::match(Value &a, Value &b) {
  if (auto vector = dyn_cast<VectorType>(a.getType()))
    b = vectorOf(b, vector.getNumElements());
  else if (auto vector = dyn_cast<VectorType>(b.getType()))
    a = vectorOf(a, vector.getNumElements());
}

Value VectorEmitter::select(Value condition, Value a, Value b) {
  if (auto vector = dyn_cast<VectorType>(condition.getType())) {
    a = vectorOf(a, vector.getNumElements());
    b = vectorOf(b, vector.getNumElements());
  }
  match(a, b);
  return arith::SelectOp::create(b_, loc_, condition, a, b);
}

/// Either may be null: always true.
Value VectorEmitter::andMask(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return binary<arith::AndIOp>(a, b);
}

Value VectorEmitter::laneVector() { return binary<arith::AddIOp>(lanes_.base, steps(b_.getI64Type(), lanes_.count)); }

Value VectorEmitter::valueOf(Value kernelValue) {
  if (lanes_.count && kernelValue == lanes_.iv)
    return laneVector();
  auto it = values_.find(kernelValue);
  assert(it != values_.end() && "a kernel value is used before it is emitted");
  return it->second;
}

//===----------------------------------------------------------------------===//
// Affine expressions
//===----------------------------------------------------------------------===//

Value VectorEmitter::evaluate(AffineExpr expr, function_ref<Value(unsigned)> dim) {
  if (auto known = constantOf(expr))
    return i64(*known);
  if (auto d = dyn_cast<AffineDimExpr>(expr))
    return dim(d.getPosition());
  if (auto s = dyn_cast<AffineSymbolExpr>(expr))
    return scalars_[s.getPosition()];
  auto node = cast<AffineBinaryOpExpr>(expr);
  Value left = evaluate(node.getLHS(), dim);
  auto divisor = constantOf(node.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    if (divisor && *divisor < 0)
      return binary<arith::SubIOp>(left, i64(-*divisor));
    // a + b * -1
    if (auto product = dyn_cast<AffineBinaryOpExpr>(node.getRHS());
        product && product.getKind() == AffineExprKind::Mul && constantOf(product.getRHS()) == -1)
      return binary<arith::SubIOp>(left, evaluate(product.getLHS(), dim));
    return binary<arith::AddIOp>(left, evaluate(node.getRHS(), dim));
  case AffineExprKind::Mul:
    if (divisor && llvm::isPowerOf2_64(*divisor) && *divisor > 0)
      return binary<arith::ShLIOp>(left, i64(llvm::Log2_64(*divisor)));
    return binary<arith::MulIOp>(left, evaluate(node.getRHS(), dim));
  default:
    break;
  }
  // Division rounds down (or up), remainders are never negative; divisors are positive sizes. Zero sizes make an empty
  // domain, but what is hoisted out of it must not trap.
  bool ceil = expr.getKind() == AffineExprKind::CeilDiv;
  if (divisor && *divisor > 0 && llvm::isPowerOf2_64(*divisor)) {
    if (expr.getKind() == AffineExprKind::Mod)
      return binary<arith::AndIOp>(left, i64(*divisor - 1));
    if (ceil)
      left = binary<arith::AddIOp>(left, i64(*divisor - 1));
    return binary<arith::ShRSIOp>(left, i64(llvm::Log2_64(*divisor)));
  }
  Value right = divisor && *divisor > 0 ? i64(*divisor) : binary<arith::MaxSIOp>(evaluate(node.getRHS(), dim), i64(1));
  if (ceil)
    left = binary<arith::AddIOp>(left, binary<arith::SubIOp>(right, i64(1)));
  Value quotient = binary<arith::DivSIOp>(left, right);
  Value rest = binary<arith::SubIOp>(left, binary<arith::MulIOp>(quotient, right));
  Value negative = compare(arith::CmpIPredicate::slt, rest, i64(0));
  if (expr.getKind() == AffineExprKind::Mod)
    return select(negative, binary<arith::AddIOp>(rest, right), rest);
  return select(negative, binary<arith::SubIOp>(quotient, i64(1)), quotient);
}

Value VectorEmitter::evaluateIn(const ValueSpace &space, AffineExpr expr, bool laneZero) {
  return evaluate(expr, [&](unsigned dim) {
    Value value = space.values[dim];
    if (laneZero && lanes_.count && value == lanes_.iv)
      return lanes_.base;
    return valueOf(value);
  });
}

Value VectorEmitter::sizeValue(kernel::LoopOp op, unsigned dim) {
  ValueSpace space;
  AffineExpr size = space.rewrite(op.getSizeMap(), op.getSizeMapOperands())[dim];
  return evaluateIn(space, simplifyAffineExpr(size, space.values.size(), scalars_.size()), /*laneZero=*/true);
}

//===----------------------------------------------------------------------===//
// arith and math
//===----------------------------------------------------------------------===//

/// C library function (without the f of the float version) for what is not expanded.
static StringRef libraryName(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("math.acos", "acos").Case("math.acosh", "acosh").Case("math.asin", "asin").Case("math.asinh", "asinh")
      .Case("math.atan", "atan").Case("math.atan2", "atan2").Case("math.atanh", "atanh").Case("math.cbrt", "cbrt")
      .Case("math.cos", "cos").Case("math.cosh", "cosh").Case("math.erf", "erf").Case("math.erfc", "erfc")
      .Case("math.exp", "exp").Case("math.exp2", "exp2").Case("math.expm1", "expm1").Case("math.log", "log")
      .Case("math.log10", "log10").Case("math.log1p", "log1p").Case("math.log2", "log2").Case("math.powf", "pow")
      .Case("math.sin", "sin").Case("math.sinh", "sinh").Case("math.tan", "tan").Case("math.tanh", "tanh")
      .Case("arith.remf", "fmod")
      .Default("");
}

/// One call per lane.
Value VectorEmitter::emitLibraryCall(Operation *op, ValueRange operands, Type element) {
  std::string name = (libraryName(op) + (element.isF32() ? "f" : "")).str();
  auto module = kernel_->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(module.getBody());
    SmallVector<Type> types(operands.size(), element);
    function = func::FuncOp::create(b_, loc_, name, b_.getFunctionType(types, {element}));
    function.setPrivate();
  }
  int64_t count = 0;
  for (Value operand : operands)
    if (auto vector = dyn_cast<VectorType>(operand.getType()))
      count = vector.getNumElements();
  if (!count)
    return func::CallOp::create(b_, loc_, function, operands).getResult(0);
  Value result = vectorOf(constant(b_.getZeroAttr(element)), count);
  for (int64_t lane = 0; lane < count; ++lane) {
    Values arguments;
    for (Value operand : operands)
      arguments.push_back(isa<VectorType>(operand.getType()) ? Value(vector::ExtractOp::create(b_, loc_, operand, lane)) : operand);
    Value one = func::CallOp::create(b_, loc_, function, arguments).getResult(0);
    result = vector::InsertOp::create(b_, loc_, one, result, lane);
  }
  return result;
}

static Type withWidth(Type element, Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

void VectorEmitter::emitElementwise(Operation *op) {
  if (auto known = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = known.getValue();
    if (op->getResult(0).getType().isIndex())
      value = b_.getI64IntegerAttr(cast<IntegerAttr>(value).getInt());
    values_[op->getResult(0)] = constant(value);
    return;
  }
  Values operands;
  Type widest;
  for (Value operand : op->getOperands()) {
    operands.push_back(valueOf(operand));
    if (isa<VectorType>(operands.back().getType()))
      widest = operands.back().getType();
  }
  Type resultElement = typeOf(op->getResult(0).getType());
  bool scalarCondition = isa<arith::SelectOp>(op) && !isa<VectorType>(operands[0].getType());
  if (widest)
    for (auto [i, operand] : llvm::enumerate(operands))
      if (!(scalarCondition && i == 0))
        operand = vectorOf(operand, cast<VectorType>(widest).getNumElements());
  Type resultType = widest ? withWidth(resultElement, widest) : resultElement;
  if (op->getNumResults() > 1) {
    // Extended multiplications and additions.
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(widest ? withWidth(typeOf(type), widest) : typeOf(type));
    OperationState state(loc_, op->getName(), operands, types, op->getAttrs());
    for (auto [result, value] : llvm::zip_equal(op->getResults(), b_.create(state)->getResults()))
      values_[result] = value;
    return;
  }
  Value &result = values_[op->getResult(0)];
  auto small = [](Type type) { return type.isF16() || type.isBF16(); };
  Type f32 = b_.getF32Type();

  auto extend = [&](Value value) -> Value {
    Type element = getElementTypeOrSelf(value.getType());
    Type wide = withWidth(f32, value.getType());
    if (element.isF16())
      return arith::ExtFOp::create(b_, loc_, wide, value);
    // bf16 is the upper half of an f32.
    Value bits = arith::BitcastOp::create(b_, loc_, withWidth(b_.getI16Type(), value.getType()), value);
    bits = arith::ExtUIOp::create(b_, loc_, withWidth(b_.getI32Type(), value.getType()), bits);
    return arith::BitcastOp::create(b_, loc_, wide, binary<arith::ShLIOp>(bits, constant(b_.getI32IntegerAttr(16))));
  };
  auto narrow = [&](Value value, Type element) -> Value {
    Type type = withWidth(element, value.getType());
    if (element.isF16())
      return arith::TruncFOp::create(b_, loc_, type, value);
    // Round to nearest even in integers, the same on every CPU: the AVX512_BF16 instruction flushes denormals.
    auto i32 = [&](int32_t v) { return constant(b_.getI32IntegerAttr(v)); };
    Value bits = arith::BitcastOp::create(b_, loc_, withWidth(b_.getI32Type(), value.getType()), value);
    Value odd = binary<arith::AndIOp>(binary<arith::ShRUIOp>(bits, i32(16)), i32(1));
    Value rounded = binary<arith::AddIOp>(bits, binary<arith::AddIOp>(odd, i32(0x7fff)));
    Value quiet = binary<arith::OrIOp>(bits, i32(0x00400000));
    Value nan = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::UNO, value, value);
    Value chosen = binary<arith::ShRUIOp>(select(nan, quiet, rounded), i32(16));
    Value half = arith::TruncIOp::create(b_, loc_, withWidth(b_.getI16Type(), value.getType()), chosen);
    return arith::BitcastOp::create(b_, loc_, type, half);
  };

  // Conversions.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    unsigned from = getElementTypeOrSelf(operands[0].getType()).getIntOrFloatBitWidth(), to = resultElement.getIntOrFloatBitWidth();
    if (from == to)
      result = operands[0];
    else if (from > to)
      result = arith::TruncIOp::create(b_, loc_, resultType, operands[0]);
    else if (isa<arith::IndexCastOp>(op))
      result = arith::ExtSIOp::create(b_, loc_, resultType, operands[0]);
    else
      result = arith::ExtUIOp::create(b_, loc_, resultType, operands[0]);
    return;
  }
  if (isa<arith::ExtFOp>(op)) {
    Type from = getElementTypeOrSelf(operands[0].getType());
    result = small(from) ? extend(operands[0]) : operands[0];
    if (!resultElement.isF32())
      result = arith::ExtFOp::create(b_, loc_, resultType, result);
    return;
  }
  if (isa<arith::TruncFOp>(op) && small(resultElement)) {
    Value value = operands[0];
    if (getElementTypeOrSelf(value.getType()).isF64()) {
      // Through f32 rounded to odd, so that the second rounding sees what was cut off.
      Type wide = withWidth(f32, value.getType()), bits32 = withWidth(b_.getI32Type(), value.getType());
      Value near = arith::TruncFOp::create(b_, loc_, wide, value);
      Value back = arith::ExtFOp::create(b_, loc_, value.getType(), near);
      Value inexact = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::ONE, back, value);
      Value above = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OGT,
                                          Value(math::AbsFOp::create(b_, loc_, back)), Value(math::AbsFOp::create(b_, loc_, value)));
      Value bits = arith::BitcastOp::create(b_, loc_, bits32, near);
      Value down = select(above, binary<arith::SubIOp>(bits, constant(b_.getI32IntegerAttr(1))), bits);
      Value odd = binary<arith::OrIOp>(down, constant(b_.getI32IntegerAttr(1)));
      value = arith::BitcastOp::create(b_, loc_, wide, select(inexact, odd, bits));
    }
    result = narrow(value, resultElement);
    return;
  }
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
    // Saturating: NaN gives 0. The plain conversion is undefined out of range.
    Value value = small(getElementTypeOrSelf(operands[0].getType())) ? extend(operands[0]) : operands[0];
    StringRef name = isa<arith::FPToSIOp>(op) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    result = LLVM::CallIntrinsicOp::create(b_, loc_, resultType, b_.getStringAttr(name), value).getResult(0);
    return;
  }

  // Integer division never traps: x / 0 = 0, x % 0 = 0, lowest / -1 wraps.
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    Value zero = constant(cast<TypedAttr>(b_.getIntegerAttr(resultElement, 0)));
    Value one = constant(cast<TypedAttr>(b_.getIntegerAttr(resultElement, 1)));
    Value none = compare(arith::CmpIPredicate::eq, operands[1], zero);
    Value divisor = select(none, one, operands[1]);
    Value raw;
    if (isa<arith::DivUIOp>(op)) {
      raw = binary<arith::DivUIOp>(operands[0], divisor);
    } else if (isa<arith::RemUIOp>(op)) {
      raw = binary<arith::RemUIOp>(operands[0], divisor);
    } else {
      Value minus = compare(arith::CmpIPredicate::eq, operands[1], constant(cast<TypedAttr>(b_.getIntegerAttr(resultElement, -1))));
      divisor = select(minus, one, divisor);
      if (isa<arith::DivSIOp>(op))
        raw = select(minus, binary<arith::SubIOp>(zero, operands[0]), binary<arith::DivSIOp>(operands[0], divisor));
      else
        raw = binary<arith::RemSIOp>(operands[0], divisor);
    }
    result = select(none, zero, raw);
    return;
  }
  // Shifts by the width or more give what shifting bit by bit would.
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op)) {
    int64_t width = resultElement.getIntOrFloatBitWidth();
    Value limit = constant(cast<TypedAttr>(b_.getIntegerAttr(resultElement, width - 1)));
    APInt amount;
    bool safe = matchPattern(op->getOperand(1), m_ConstantInt(&amount)) && amount.ult(width);
    Value by = safe ? operands[1] : binary<arith::MinUIOp>(operands[1], limit);
    if (isa<arith::ShRSIOp>(op)) {
      result = binary<arith::ShRSIOp>(operands[0], by);
      return;
    }
    Value shifted = isa<arith::ShLIOp>(op) ? binary<arith::ShLIOp>(operands[0], by) : binary<arith::ShRUIOp>(operands[0], by);
    result = safe ? shifted
                  : select(compare(arith::CmpIPredicate::ugt, operands[1], limit),
                           constant(cast<TypedAttr>(b_.getIntegerAttr(resultElement, 0))), shifted);
    return;
  }

  // Arithmetic on half types runs in f32 and rounds once per op. Selecting, moving and bit casting does not compute.
  bool computesSmall = !isa<arith::SelectOp, arith::BitcastOp>(op) &&
                       (small(resultElement) || llvm::any_of(operands, [&](Value v) { return small(getElementTypeOrSelf(v.getType())); }));
  if (computesSmall)
    for (Value &operand : operands)
      if (small(getElementTypeOrSelf(operand.getType())))
        operand = extend(operand);
  Type computeElement = computesSmall && small(resultElement) ? f32 : resultElement;

  // maximum and minimum keep NaN; which zero wins between -0 and +0 is left open, since fixing it costs three more
  // instructions. Against a number one compare and select does: x stands in the arm taken for NaN.
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op)) {
    bool maximum = isa<arith::MaximumFOp>(op);
    for (unsigned i : {0u, 1u}) {
      FloatAttr number;
      if (!matchPattern(op->getOperand(i), m_Constant(&number)) || number.getValue().isNaN())
        continue;
      Value c = operands[i], x = operands[1 - i];
      auto predicate = maximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
      match(c, x);
      result = select(arith::CmpFOp::create(b_, loc_, predicate, c, x), c, x);
      if (computeElement != resultElement)
        result = narrow(result, resultElement);
      return;
    }
  }
  if (!libraryName(op).empty())
    result = emitLibraryCall(op, operands, computeElement);
  else {
    OperationState state(loc_, op->getName(), operands, withWidth(computeElement, resultType), op->getAttrs());
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      state.attributes.set("fastmath", arith::FastMathFlagsAttr::get(b_.getContext(), arith::FastMathFlags::nsz));
    result = b_.create(state)->getResult(0);
  }
  if (computeElement != resultElement)
    result = narrow(result, resultElement);
}
