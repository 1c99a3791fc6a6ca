// Words for building graph ops at one node's location. Types are inferred with the user's mistakes in mind: a wrong rank or
// type becomes a Failure with both shapes, never an assertion.
#pragma once

#include "frontend/onnx/Failure.h"
#include "frontend/onnx/Sizes.h"
#include "ir/graph/Graph.h"
#include "mlir/IR/Builders.h"

namespace graphc::onnx_import {

using llvm::ArrayRef;
using llvm::StringRef;
using mlir::Value;

class Build {
public:
  Build(mlir::OpBuilder &builder, mlir::Location loc, SizeFacts &facts) : b(builder), loc(loc), facts(facts) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  SizeFacts &facts;

  mlir::MLIRContext *ctx() const { return b.getContext(); }
  static mlir::Type elementType(Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }
  static int64_t rank(Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()).getRank(); }
  static Dims dims(Value v) { return graph::dimsOf(v.getType()); }
  static std::string shapeText(Value v) { return graph::toString(dims(v)); }
  static bool isFloat(mlir::Type t) { return mlir::isa<mlir::FloatType>(t); }
  static bool isBool(mlir::Type t) { return t.isInteger(1); }
  mlir::Type f32() { return b.getF32Type(); }
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type i32() { return b.getI32Type(); }
  mlir::Type i1() { return b.getI1Type(); }
  AffineExpr size(int64_t n) { return mlir::getAffineConstantExpr(n, ctx()); }
  /// The constant value of dim `i`; Failure naming `what` when it is symbolic.
  int64_t staticDim(Value v, int64_t i, StringRef what);
  /// The axis counted from the front; Failure when out of range.
  static int64_t axis(int64_t axis, int64_t rank);

  /// An op whose types are inferred. Attributes by name.
  mlir::Operation *inferred(StringRef op, mlir::ValueRange operands, ArrayRef<mlir::NamedAttribute> attrs = {});
  template <typename Op>
  Value make(mlir::ValueRange operands, ArrayRef<mlir::NamedAttribute> attrs = {}) {
    return inferred(Op::getOperationName(), operands, attrs)->getResult(0);
  }
  mlir::NamedAttribute attr(StringRef name, int64_t v) { return b.getNamedAttr(name, b.getI64IntegerAttr(v)); }
  mlir::NamedAttribute attr(StringRef name, double v) { return b.getNamedAttr(name, b.getF64FloatAttr(v)); }
  mlir::NamedAttribute attr(StringRef name, StringRef v) { return b.getNamedAttr(name, b.getStringAttr(v)); }
  mlir::NamedAttribute attr(StringRef name, ArrayRef<int64_t> v) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(v)); }
  mlir::NamedAttribute flag(StringRef name, bool v) { return b.getNamedAttr(name, b.getBoolAttr(v)); }
  mlir::NamedAttribute unit(StringRef name) { return b.getNamedAttr(name, b.getUnitAttr()); }

  // Literals.
  Value constant(mlir::DenseElementsAttr value);
  /// A scalar of this element type.
  Value scalar(double v, mlir::Type elementType);
  Value scalarInt(int64_t v, mlir::Type elementType);
  Value like(Value x, double v) { return scalar(v, elementType(x)); }
  Value vector(ArrayRef<int64_t> values);
  /// A size as a scalar of the element type.
  Value sizeScalar(AffineExpr size, mlir::Type elementType);
  Value iota(ArrayRef<AffineExpr> dims, int64_t axis, mlir::Type elementType, double start = 0, double step = 1);

  // Elementwise, with numpy broadcasting. Sizes that must agree but are only known at run time get an assume_equal.
  Value elementwise(StringRef op, mlir::ValueRange operands, ArrayRef<mlir::NamedAttribute> attrs = {});
  template <typename Op>
  Value apply(mlir::ValueRange operands, ArrayRef<mlir::NamedAttribute> attrs = {}) {
    return elementwise(Op::getOperationName(), operands, attrs);
  }
  Value add(Value x, Value y) { return apply<graph::AddOp>({x, y}); }
  Value sub(Value x, Value y) { return apply<graph::SubOp>({x, y}); }
  Value mul(Value x, Value y) { return apply<graph::MulOp>({x, y}); }
  Value div(Value x, Value y) { return apply<graph::DivOp>({x, y}); }
  Value max(Value x, Value y) { return apply<graph::MaxOp>({x, y}); }
  Value min(Value x, Value y) { return apply<graph::MinOp>({x, y}); }
  Value less(Value x, Value y) { return apply<graph::LessOp>({x, y}); }
  Value lessEqual(Value x, Value y) { return apply<graph::LessEqualOp>({x, y}); }
  Value equal(Value x, Value y) { return apply<graph::EqualOp>({x, y}); }
  Value logicalAnd(Value x, Value y) { return apply<graph::AndOp>({x, y}); }
  Value logicalOr(Value x, Value y) { return apply<graph::OrOp>({x, y}); }
  Value logicalNot(Value x) { return apply<graph::NotOp>({x}); }
  Value exp(Value x) { return apply<graph::ExpOp>({x}); }
  Value log(Value x) { return apply<graph::LogOp>({x}); }
  Value abs(Value x) { return apply<graph::AbsOp>({x}); }
  Value neg(Value x) { return apply<graph::NegOp>({x}); }
  Value sqrt(Value x) { return apply<graph::SqrtOp>({x}); }
  Value floor(Value x) { return apply<graph::FloorOp>({x}); }
  Value round(Value x) { return apply<graph::RoundOp>({x}); }
  Value square(Value x) { return mul(x, x); }
  Value reciprocal(Value x) { return apply<graph::ReciprocalOp>({x}); }
  Value tanh(Value x) { return apply<graph::TanhOp>({x}); }
  Value select(Value c, Value x, Value y) { return apply<graph::SelectOp>({c, x, y}); }
  Value cast(Value x, mlir::Type elementType);

  // Movement.
  Value reshape(Value x, ArrayRef<AffineExpr> dims);
  Value broadcast(Value x, ArrayRef<AffineExpr> dims);
  /// dim `axis` of a new rank holds x (a vector), the others are 1.
  Value alongAxis(Value x, int64_t axis, int64_t rank);
  Value unsqueeze(Value x, int64_t axis);
  Value squeeze(Value x, int64_t axis);
  Value transpose(Value x, ArrayRef<int64_t> perm);
  /// Elements start, start + step … along one axis, `count` of them.
  Value slice(Value x, int64_t axis, AffineExpr start, AffineExpr count, int64_t step = 1);
  Value slice(Value x, ArrayRef<AffineExpr> starts, ArrayRef<AffineExpr> counts, ArrayRef<int64_t> steps);
  Value pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, StringRef mode = "constant", double value = 0);
  Value concat(ArrayRef<Value> xs, int64_t axis);
  Value gather(Value x, Value indices, int64_t axis) {
    return make<graph::GatherOp>({x, indices}, {attr("axis", axis)});
  }
  Value gatherElements(Value x, Value indices, int64_t axis) {
    return make<graph::GatherElementsOp>({x, indices}, {attr("axis", axis)});
  }

  // Reductions.
  Value reduce(StringRef kind, Value x, ArrayRef<int64_t> axes, bool keep = true);
  Value mean(Value x, ArrayRef<int64_t> axes, bool keep = true);
  /// Softmax over one axis.
  Value softmax(Value x, int64_t axis) { return make<graph::SoftmaxOp>({x}, {attr("axis", axis)}); }
  Value matmul(Value x, Value y, bool transposeLhs = false, bool transposeRhs = false);

  void assumeEqual(AffineExpr a, AffineExpr b, const std::string &why);
  /// a and b as one size; Failure when they differ for certain.
  void requireSame(AffineExpr a, AffineExpr b, const std::string &what);
};

/// "f32"
std::string typeText(mlir::Type type);
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank);

} // namespace graphc::onnx_import
