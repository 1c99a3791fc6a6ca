#include "ir/graph/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

TensorExpr TensorExpr::constant(double scalar, Type element) const {
  Attribute attr = isa<FloatType>(element) ? Attribute(FloatAttr::get(element, scalar))
                                           : Attribute(IntegerAttr::get(element, static_cast<int64_t>(scalar)));
  auto literal = DenseElementsAttr::get(RankedTensorType::get({}, element), attr);
  return with(ConstantOp::create(*builder, loc, literal));
}

TensorExpr TensorExpr::count(llvm::ArrayRef<int64_t> axes) const {
  llvm::SmallVector<AffineExpr> all = dims(), counted;
  for (int64_t axis : axes)
    counted.push_back(all[axis]);
  AffineExpr elements = product(counted, builder->getContext());
  if (auto known = constantSize(elements))
    return constant(static_cast<double>(*known));
  auto type = RankedTensorType::get({1}, builder->getI64Type());
  TensorExpr size = with(SizeOp::create(*builder, loc, type, DimsAttr::get(builder->getContext(), {elements})));
  return size.castTo(elementType());
}

TensorExpr TensorExpr::iota(llvm::ArrayRef<AffineExpr> sizes, int64_t axis, Type element) const {
  return with(IotaOp::create(*builder, loc, tensorType(sizes, element), axis, llvm::APFloat(0.0), llvm::APFloat(1.0)));
}

TensorExpr TensorExpr::castTo(Type element) const {
  if (element == elementType())
    return *this;
  return with(CastOp::create(*builder, loc, withElementType(type(), element), value));
}

TensorExpr TensorExpr::reshapedTo(llvm::ArrayRef<AffineExpr> sizes) const {
  if (llvm::ArrayRef<AffineExpr>(dims()) == sizes)
    return *this;
  return with(ReshapeOp::create(*builder, loc, withDims(type(), sizes), value));
}

TensorExpr TensorExpr::broadcastTo(llvm::ArrayRef<AffineExpr> sizes) const {
  if (llvm::ArrayRef<AffineExpr>(dims()) == sizes)
    return *this;
  return with(BroadcastOp::create(*builder, loc, withDims(type(), sizes), value));
}

TensorExpr TensorExpr::padded(llvm::ArrayRef<int64_t> low, llvm::ArrayRef<AffineExpr> sizes, llvm::StringRef mode) const {
  return with(PadOp::create(*builder, loc, withDims(type(), sizes), value, low, mode, llvm::APFloat(0.0)));
}

TensorExpr TensorExpr::transposed(llvm::ArrayRef<int64_t> perm) const {
  if (llvm::is_sorted(perm))
    return *this;
  return with(TransposeOp::create(*builder, loc, value, perm));
}

TensorExpr TensorExpr::alongAxis(int64_t axis, int64_t rank) const {
  assert(this->rank() == 1 && "alongAxis places a vector");
  llvm::SmallVector<AffineExpr> sizes = dims();
  sizes.append(rank - 1 - axis, constantDim(1, builder->getContext()));
  return reshapedTo(sizes);
}

TensorExpr TensorExpr::select(TensorExpr a, TensorExpr b) const {
  return with(SelectOp::create(*builder, loc, value, a.get(), b.get()));
}

template <typename Op>
static TensorExpr unary(TensorExpr a) {
  return a.with(Op::create(a.ops(), a.location(), a.get()));
}
template <typename Op>
static TensorExpr binary(TensorExpr a, TensorExpr b) {
  return a.with(Op::create(a.ops(), a.location(), a.get(), b.get()));
}
static TensorExpr reduce(TensorExpr a, llvm::StringRef kind, llvm::ArrayRef<int64_t> axes) {
  if (axes.empty())
    return a;
  return a.with(ReduceOp::create(a.ops(), a.location(), a.get(), kind, axes, /*keep=*/true));
}

TensorExpr operator+(TensorExpr a, TensorExpr b) { return binary<AddOp>(a, b); }
TensorExpr operator-(TensorExpr a, TensorExpr b) { return binary<SubOp>(a, b); }
TensorExpr operator*(TensorExpr a, TensorExpr b) { return binary<MulOp>(a, b); }
TensorExpr operator/(TensorExpr a, TensorExpr b) { return binary<DivOp>(a, b); }
TensorExpr operator-(TensorExpr a) { return unary<NegOp>(a); }
TensorExpr operator==(TensorExpr a, TensorExpr b) { return binary<EqualOp>(a, b); }
TensorExpr operator!=(TensorExpr a, TensorExpr b) { return binary<NotEqualOp>(a, b); }
TensorExpr operator<(TensorExpr a, TensorExpr b) { return binary<LessOp>(a, b); }
TensorExpr operator<=(TensorExpr a, TensorExpr b) { return binary<LessEqualOp>(a, b); }

template <typename Op>
static TensorExpr chain(std::initializer_list<TensorExpr> operands) {
  TensorExpr result = *operands.begin();
  for (const TensorExpr *next = operands.begin() + 1; next != operands.end(); ++next)
    result = binary<Op>(result, *next);
  return result;
}
TensorExpr times(std::initializer_list<TensorExpr> factors) { return chain<MulOp>(factors); }
TensorExpr plus(std::initializer_list<TensorExpr> terms) { return chain<AddOp>(terms); }
TensorExpr both(std::initializer_list<TensorExpr> conditions) { return chain<AndOp>(conditions); }
TensorExpr logicalNot(TensorExpr a) { return unary<NotOp>(a); }

TensorExpr strictlyInside(TensorExpr a, double low, double high) {
  if (std::isinf(low) && std::isinf(high))
    return a.constant(true, a.ops().getI1Type());
  if (std::isinf(low))
    return a < high;
  if (std::isinf(high))
    return a > low;
  return both({a > low, a < high});
}

TensorExpr abs(TensorExpr a) { return unary<AbsOp>(a); }
TensorExpr sign(TensorExpr a) { return unary<SignOp>(a); }
TensorExpr exp(TensorExpr a) { return unary<ExpOp>(a); }
TensorExpr log(TensorExpr a) { return unary<LogOp>(a); }
TensorExpr sqrt(TensorExpr a) { return unary<SqrtOp>(a); }
TensorExpr rsqrt(TensorExpr a) { return unary<RsqrtOp>(a); }
TensorExpr sin(TensorExpr a) { return unary<SinOp>(a); }
TensorExpr cos(TensorExpr a) { return unary<CosOp>(a); }
TensorExpr sinh(TensorExpr a) { return unary<SinhOp>(a); }
TensorExpr cosh(TensorExpr a) { return unary<CoshOp>(a); }
TensorExpr tanh(TensorExpr a) { return unary<TanhOp>(a); }
TensorExpr erf(TensorExpr a) { return unary<ErfOp>(a); }
TensorExpr floor(TensorExpr a) { return unary<FloorOp>(a); }
TensorExpr sigmoid(TensorExpr a) { return unary<SigmoidOp>(a); }
TensorExpr softplus(TensorExpr a) { return unary<SoftplusOp>(a); }
TensorExpr isNaN(TensorExpr a) { return unary<IsNaNOp>(a); }
TensorExpr stopGradient(TensorExpr a) { return unary<StopGradientOp>(a); }
TensorExpr pow(TensorExpr a, TensorExpr exponent) { return binary<PowOp>(a, exponent); }

TensorExpr filledLike(TensorExpr a, double value) { return a.constant(value).broadcastTo(a.dims()); }

TensorExpr matmul(TensorExpr a, TensorExpr b, bool transposeB, bool transposeA) {
  return a.with(MatmulOp::create(a.ops(), a.location(), a.get(), b.get(), transposeA, transposeB));
}

TensorExpr sum(TensorExpr a, llvm::ArrayRef<int64_t> axes) { return reduce(a, "sum", axes); }
TensorExpr max(TensorExpr a, llvm::ArrayRef<int64_t> axes) { return reduce(a, "max", axes); }
TensorExpr mean(TensorExpr a, llvm::ArrayRef<int64_t> axes) {
  TensorExpr total = sum(a, axes);
  return total / a.count(axes);
}

TensorExpr sumTo(TensorExpr gradient, Type operandType) {
  auto to = dimsOf(operandType), from = gradient.dims();
  llvm::SmallVector<int64_t> repeated;
  size_t extra = from.size() - to.size();
  for (size_t d = 0; d < from.size(); ++d)
    if (!isSize(from[d], 1) && (d < extra || isSize(to[d - extra], 1)))
      repeated.push_back(d);
  TensorExpr summed = sum(gradient, repeated);
  return summed.reshapedTo(to).castTo(cast<RankedTensorType>(operandType).getElementType());
}

llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

llvm::SmallVector<Value> elementwiseVjp(
    OpBuilder &builder, Operation *op, Value resultGrad, llvm::ArrayRef<bool> needs,
    llvm::function_ref<TensorExpr(unsigned, llvm::ArrayRef<TensorExpr>, TensorExpr, TensorExpr)> slope) {
  llvm::SmallVector<Value> grads(op->getNumOperands());
  auto expr = [&](Value v) { return TensorExpr(builder, op->getLoc(), v).computed(); };
  llvm::SmallVector<TensorExpr> args;
  for (Value operand : op->getOperands())
    args.push_back(expr(operand));
  TensorExpr r = expr(op->getResult(0)), g = expr(resultGrad);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (needs[i] && isa<FloatType>(args[i].elementType()))
      grads[i] = sumTo(slope(i, args, r, g), operand.getType()).get();
  return grads;
}

} // namespace graphc::graph
