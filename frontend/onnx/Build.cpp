#include "frontend/onnx/Build.h"

#include "mlir/IR/Diagnostics.h"

#include <numeric>

namespace graphc::onnx_import {

using namespace mlir;

std::string typeText(Type type) {
  std::string out;
  llvm::raw_string_ostream(out) << type;
  return out;
}

llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  llvm::SmallVector<int64_t> axes;
  for (int64_t i = first; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

int64_t Build::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail(Code::ShapeMismatch, "axis ", axis, " is out of range for rank ", rank);
  return axis < 0 ? axis + rank : axis;
}

int64_t Build::staticDim(Value v, int64_t i, StringRef what) {
  auto n = graph::constantSize(dims(v)[i]);
  if (!n)
    unsupported(what.str(), " has the symbolic size ", graph::toString(dims(v)[i]), "; a fixed size is needed here");
  return *n;
}

Operation *Build::inferred(StringRef op, ValueRange operands, ArrayRef<NamedAttribute> attrs) {
  auto info = RegisteredOperationName::lookup(op, ctx());
  assert(info && "an op of the graph dialect that is not registered");
  auto *infer = info->getInterface<InferTypeOpInterface>();
  assert(infer && "only ops that infer their types are built this way");
  // Properties as the op will have them: inference reads its attributes there.
  std::vector<std::max_align_t> storage(info->getOpPropertyByteSize() / sizeof(std::max_align_t) + 1);
  OpaqueProperties properties(storage.data());
  bool hasProperties = info->getOpPropertyByteSize() > 0;
  DictionaryAttr dictionary = b.getDictionaryAttr(attrs);
  if (hasProperties) {
    info->initOpProperties(properties, nullptr);
    LogicalResult set = info->setOpPropertiesFromAttribute(*info, properties, dictionary, [&] { return emitError(loc); });
    assert(succeeded(set) && "attributes of the wrong kind");
    (void)set;
  }
  llvm::SmallVector<Type> types;
  std::string message;
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler capture(ctx(), [&](Diagnostic &d) {
      message += (message.empty() ? "" : "; ") + d.str();
      return success();
    });
    result = infer->inferReturnTypes(ctx(), loc, operands, dictionary, hasProperties ? properties : OpaqueProperties(nullptr), {}, types);
  }
  if (hasProperties)
    info->destroyOpProperties(properties);
  if (failed(result))
    fail(llvm::StringRef(message).contains("type") ? Code::TypeMismatch : Code::ShapeMismatch,
         message.empty() ? op.str() + ": operands do not fit" : message);
  OperationState state(loc, op);
  state.addOperands(operands);
  state.addAttributes(attrs);
  state.addTypes(types);
  return b.create(state);
}

Value Build::constant(DenseElementsAttr value) { return graph::ConstantOp::create(b, loc, value.getType(), value); }

Value Build::scalar(double v, Type type) {
  if (auto f = dyn_cast<FloatType>(type)) {
    APFloat value(v);
    bool loses;
    value.convert(f.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    return constant(DenseElementsAttr::get(RankedTensorType::get({}, type), value));
  }
  return scalarInt(static_cast<int64_t>(v), type);
}
Value Build::scalarInt(int64_t v, Type type) {
  if (isFloat(type))
    return scalar(static_cast<double>(v), type);
  unsigned width = type.getIntOrFloatBitWidth();
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, type), APInt(width, static_cast<uint64_t>(v), true, true)));
}
Value Build::vector(ArrayRef<int64_t> values) {
  return constant(DenseElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(values.size())}, i64()), values));
}

Value Build::sizeScalar(AffineExpr expr, Type type) {
  if (auto n = graph::constantSize(expr))
    return scalarInt(*n, type);
  Value v = graph::SizeOp::create(b, loc, RankedTensorType::get({1}, i64()), graph::DimsAttr::get(ctx(), {graph::simplify(expr)}));
  return cast(reshape(v, {}), type);
}

Value Build::iota(ArrayRef<AffineExpr> dims, int64_t axis, Type type, double start, double step) {
  return graph::IotaOp::create(b, loc, graph::tensorType(dims, type), b.getI64IntegerAttr(axis), b.getF64FloatAttr(start), b.getF64FloatAttr(step));
}

Value Build::elementwise(StringRef op, ValueRange operands, ArrayRef<NamedAttribute> attrs) {
  llvm::SmallVector<std::pair<AffineExpr, AffineExpr>> unproved;
  Dims joined;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto next = graph::broadcastDims(joined, dims(operand), &unproved);
    if (!next)
      fail(Code::ShapeMismatch, "shapes ", graph::toString(joined), " and ", shapeText(operand), " do not broadcast");
    joined = *next;
  }
  for (auto [x, y] : unproved)
    assumeEqual(x, y, op.drop_front(6).str() + ": operand sizes must agree");
  return inferred(op, operands, attrs)->getResult(0);
}

Value Build::cast(Value x, Type type) {
  if (elementType(x) == type)
    return x;
  return graph::CastOp::create(b, loc, graph::withElementType(x.getType(), type), x);
}

Value Build::reshape(Value x, ArrayRef<AffineExpr> dims) {
  auto type = graph::tensorType(dims, elementType(x));
  if (type == x.getType())
    return x;
  auto from = graph::constantSize(graph::product(Build::dims(x), ctx())), to = graph::constantSize(graph::product(dims, ctx()));
  if (from && to && *from != *to)
    fail(Code::ShapeMismatch, "cannot reshape ", shapeText(x), " (", *from, " elements) to ", graph::toString(dims), " (", *to, ")");
  return graph::ReshapeOp::create(b, loc, type, x);
}

Value Build::broadcast(Value x, ArrayRef<AffineExpr> dims) {
  auto type = graph::tensorType(dims, elementType(x));
  if (type == x.getType())
    return x;
  Dims from = Build::dims(x);
  if (from.size() > dims.size())
    fail(Code::ShapeMismatch, "cannot broadcast ", shapeText(x), " to ", graph::toString(dims));
  for (auto [i, d] : llvm::enumerate(from)) {
    AffineExpr target = dims[dims.size() - from.size() + i];
    if (graph::isSize(d, 1) || d == target)
      continue;
    requireSame(d, target, "broadcast");
  }
  return graph::BroadcastOp::create(b, loc, type, x);
}

Value Build::alongAxis(Value x, int64_t axis, int64_t rank) {
  Dims d(rank, size(1));
  if (Build::rank(x) != 1)
    fail(Code::ShapeMismatch, "expected a vector, got shape ", shapeText(x));
  d[axis] = dims(x)[0];
  return reshape(x, d);
}
Value Build::unsqueeze(Value x, int64_t axis) {
  Dims d = dims(x);
  if (axis < 0 || axis > static_cast<int64_t>(d.size()))
    fail(Code::ShapeMismatch, "axis ", axis, " is out of range for shape ", shapeText(x));
  d.insert(d.begin() + axis, size(1));
  return reshape(x, d);
}
Value Build::squeeze(Value x, int64_t axis) {
  Dims d = dims(x);
  requireSame(d[axis], size(1), "squeezed axis " + std::to_string(axis));
  d.erase(d.begin() + axis);
  return reshape(x, d);
}
Value Build::transpose(Value x, ArrayRef<int64_t> perm) {
  bool identity = true;
  for (auto [i, p] : llvm::enumerate(perm))
    identity &= static_cast<int64_t>(i) == p;
  if (identity && static_cast<int64_t>(perm.size()) == rank(x))
    return x;
  return make<graph::TransposeOp>({x}, {attr("perm", perm)});
}
Value Build::slice(Value x, int64_t axis, AffineExpr start, AffineExpr count, int64_t step) {
  Dims starts(rank(x), size(0)), counts = dims(x);
  counts[axis] = count; // checks the axis
  llvm::SmallVector<int64_t> steps(rank(x), 1);
  starts[axis] = start;
  counts[axis] = count;
  steps[axis] = step;
  return slice(x, starts, counts, steps);
}
Value Build::slice(Value x, ArrayRef<AffineExpr> starts, ArrayRef<AffineExpr> counts, ArrayRef<int64_t> steps) {
  auto type = graph::tensorType(counts, elementType(x));
  bool whole = type == x.getType();
  for (size_t i = 0; i < starts.size(); ++i)
    whole &= graph::isSize(starts[i], 0) && steps[i] == 1;
  if (whole)
    return x;
  llvm::SmallVector<AffineExpr> simplified;
  for (AffineExpr s : starts)
    simplified.push_back(graph::simplify(s));
  return graph::SliceOp::create(b, loc, type, x, graph::DimsAttr::get(ctx(), simplified), b.getDenseI64ArrayAttr(steps));
}

Value Build::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, StringRef mode, double value) {
  Dims d = dims(x);
  bool nothing = true;
  for (size_t i = 0; i < d.size(); ++i) {
    d[i] = d[i] + low[i] + high[i];
    nothing &= low[i] == 0 && high[i] == 0;
    auto n = graph::constantSize(graph::simplify(d[i]));
    if (n && *n < 0)
      fail(Code::ShapeMismatch, "pads ", low[i], " and ", high[i], " leave a negative size on axis ", i, " of ", shapeText(x));
  }
  if (nothing)
    return x;
  return graph::PadOp::create(b, loc, graph::tensorType(d, elementType(x)), x, b.getDenseI64ArrayAttr(low), b.getStringAttr(mode),
                              b.getF64FloatAttr(value));
}

Value Build::concat(ArrayRef<Value> xs, int64_t axis) {
  if (xs.size() == 1)
    return xs[0];
  for (Value x : xs.drop_front()) {
    if (rank(x) != rank(xs[0]))
      fail(Code::ShapeMismatch, "concat: shapes ", shapeText(xs[0]), " and ", shapeText(x), " have different ranks");
    for (int64_t i = 0; i < rank(x); ++i)
      if (i != axis)
        requireSame(dims(xs[0])[i], dims(x)[i], "concat of " + shapeText(xs[0]) + " and " + shapeText(x) + ": size of axis " + std::to_string(i));
  }
  return make<graph::ConcatOp>(xs, {attr("axis", axis)});
}

Value Build::reduce(StringRef kind, Value x, ArrayRef<int64_t> axes, bool keep) {
  if (axes.empty())
    return x;
  llvm::SmallVector<NamedAttribute> attrs{attr("kind", kind), attr("axes", axes)};
  if (keep)
    attrs.push_back(unit("keep"));
  return make<graph::ReduceOp>({x}, attrs);
}
Value Build::mean(Value x, ArrayRef<int64_t> axes, bool keep) {
  Dims reduced;
  for (int64_t a : axes)
    reduced.push_back(dims(x)[a]);
  return div(reduce("sum", x, axes, keep), sizeScalar(graph::product(reduced, ctx()), elementType(x)));
}

Value Build::matmul(Value x, Value y, bool transposeLhs, bool transposeRhs) {
  if (rank(x) < 2 || rank(y) < 2)
    fail(Code::ShapeMismatch, "matmul: operands need rank 2 or more, got ", shapeText(x), " and ", shapeText(y));
  Dims a = dims(x), c = dims(y);
  AffineExpr k = a[a.size() - (transposeLhs ? 2 : 1)], k2 = c[c.size() - (transposeRhs ? 1 : 2)];
  requireSame(k, k2, "matmul of " + shapeText(x) + " and " + shapeText(y) + ": contracted size");
  llvm::SmallVector<NamedAttribute> attrs;
  if (transposeLhs)
    attrs.push_back(unit("transpose_lhs"));
  if (transposeRhs)
    attrs.push_back(unit("transpose_rhs"));
  return make<graph::MatmulOp>({x, y}, attrs);
}

void Build::assumeEqual(AffineExpr x, AffineExpr y, const std::string &why) {
  x = graph::simplify(x);
  y = graph::simplify(y);
  if (x == y)
    return;
  // The same assumption is often needed by a whole chain of ops.
  for (Operation &op : llvm::reverse(*b.getInsertionBlock())) {
    auto other = mlir::dyn_cast<graph::AssumeEqualOp>(op);
    if (other && other.getSizes().getDims() == ArrayRef<AffineExpr>{x, y})
      return;
  }
  graph::AssumeEqualOp::create(b, loc, graph::DimsAttr::get(ctx(), {x, y}), b.getStringAttr(why));
}

void Build::requireSame(AffineExpr x, AffineExpr y, const std::string &what) {
  x = graph::simplify(x);
  y = graph::simplify(y);
  if (x == y)
    return;
  if (facts.equal(x, y) == std::optional<bool>(false))
    fail(Code::ShapeMismatch, what, ": sizes ", graph::toString(x), " and ", graph::toString(y), " differ");
  assumeEqual(x, y, what);
}

} // namespace graphc::onnx_import
