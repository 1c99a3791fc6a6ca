#include "passes/decompose/TensorExpr.h"

using namespace mlir;

namespace graphc::graph {

TensorExpr TensorExpr::constant(double scalar) const {
  Type element = elementType();
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

TensorExpr TensorExpr::alongAxis(int64_t axis, int64_t rank) const {
  assert(this->rank() == 1 && "alongAxis places a vector");
  llvm::SmallVector<AffineExpr> sizes = dims();
  sizes.append(rank - 1 - axis, constantDim(1, builder->getContext()));
  return reshapedTo(sizes);
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
  return a.with(ReduceOp::create(a.ops(), a.location(), a.get(), kind, axes, /*keep=*/true));
}

TensorExpr operator+(TensorExpr a, TensorExpr b) { return binary<AddOp>(a, b); }
TensorExpr operator-(TensorExpr a, TensorExpr b) { return binary<SubOp>(a, b); }
TensorExpr operator*(TensorExpr a, TensorExpr b) { return binary<MulOp>(a, b); }
TensorExpr operator/(TensorExpr a, TensorExpr b) { return binary<DivOp>(a, b); }
TensorExpr exp(TensorExpr a) { return unary<ExpOp>(a); }
TensorExpr log(TensorExpr a) { return unary<LogOp>(a); }
TensorExpr rsqrt(TensorExpr a) { return unary<RsqrtOp>(a); }
TensorExpr isNaN(TensorExpr a) { return unary<IsNaNOp>(a); }
TensorExpr pow(TensorExpr a, double exponent) { return binary<PowOp>(a, a.constant(exponent)); }

TensorExpr select(TensorExpr condition, TensorExpr a, TensorExpr b) {
  return a.with(SelectOp::create(a.ops(), a.location(), condition.get(), a.get(), b.get()));
}

TensorExpr matmul(TensorExpr a, TensorExpr b, bool transposeB) {
  return a.with(MatmulOp::create(a.ops(), a.location(), a.get(), b.get(), /*transpose_lhs=*/false, transposeB));
}

TensorExpr sum(TensorExpr a, llvm::ArrayRef<int64_t> axes) { return reduce(a, "sum", axes); }
TensorExpr max(TensorExpr a, llvm::ArrayRef<int64_t> axes) { return reduce(a, "max", axes); }
TensorExpr mean(TensorExpr a, llvm::ArrayRef<int64_t> axes) {
  TensorExpr total = sum(a, axes);
  return total / a.count(axes);
}

llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

} // namespace graphc::graph
