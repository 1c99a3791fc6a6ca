// Operators that make values from attributes and sizes, and the ones that read sizes.
#include "frontend/onnx/Node.h"

#include <cmath>

namespace graphc::onnx_import {

using namespace mlir;

namespace {

void importConstant(Node &n) {
  if (auto literal = n.tensor("value"))
    return n.outLiteral(0, literal);
  auto ints = [&](std::vector<int64_t> v, bool vector) {
    Known k;
    for (int64_t e : v)
      k.ints.push_back(n.size(e));
    llvm::SmallVector<int64_t> shape;
    if (vector)
      shape.push_back(static_cast<int64_t>(v.size()));
    n.outLiteral(0, literalOf(k, RankedTensorType::get(shape, n.i64())));
  };
  auto floats = [&](std::vector<double> v, bool vector) {
    llvm::SmallVector<int64_t> shape;
    if (vector)
      shape.push_back(static_cast<int64_t>(v.size()));
    n.outLiteral(0, literalOf(Known::ofFloats(v), RankedTensorType::get(shape, n.f32())));
  };
  if (n.hasAttr("value_int"))
    return ints({n.i("value_int", 0)}, false);
  if (n.hasAttr("value_ints"))
    return ints(n.ints("value_ints"), true);
  if (n.hasAttr("value_float"))
    return floats({n.f("value_float", 0)}, false);
  if (n.hasAttr("value_floats"))
    return floats(n.floats("value_floats"), true);
  if (n.hasAttr("value_string") || n.hasAttr("value_strings"))
    unsupported("string constants");
  if (n.hasAttr("sparse_value"))
    unsupported("sparse constants");
  fail(Code::ModelMalformed, "has no value");
}

void importConstantOfShape(Node &n) {
  auto literal = n.tensor("value");
  if (!literal)
    literal = literalOf(Known::ofFloats({0}), RankedTensorType::get({1}, n.f32()));
  if (literal->elements() != 1)
    fail(Code::ShapeMismatch, "value must have one element, got ", literal->elements());
  auto sizes = n.sizes(0, "the shape");
  Dims dims(sizes.begin(), sizes.end());
  int64_t total = 1;
  for (AffineExpr d : dims) {
    auto c = graph::constantSize(d);
    if (c && (*c < 0 || __builtin_mul_overflow(total, std::max<int64_t>(*c, 1), &total)))
      fail(Code::ShapeMismatch, "the shape has the size ", *c);
  }
  auto type = graph::tensorType(dims, literal->type.getElementType());
  if (auto k = literal->known(); k && type.hasStaticShape() && type.getNumElements() <= (k->floating ? 16 : kMaxKnown))
    return n.outKnown(0, type, k->pick(std::vector<int64_t>(type.getNumElements(), 0)));
  n.out(n.broadcast(n.reshape(n.constant(literal->dense()), {}), dims));
}

void importShape(Node &n) {
  int64_t rank = n.rankOf(0), start = n.i("start", 0), end = n.i("end", rank);
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  start = clamp(start);
  end = std::max(start, clamp(end));
  Dims d = n.dimsOf(0);
  n.outKnown(0, RankedTensorType::get({end - start}, n.i64()), Known::of({d.begin() + start, d.begin() + end}));
}
void importSize(Node &n) { n.outKnown(0, RankedTensorType::get({}, n.i64()), Known::of({graph::product(n.dimsOf(0), n.ctx())})); }

void importRange(Node &n) {
  Type type = n.element(0);
  for (size_t i = 0; i < 3; ++i) {
    if (!n.type(i).hasStaticShape() || n.type(i).getNumElements() != 1)
      fail(Code::ShapeMismatch, "start, limit and delta must be one number each, got shape ", graph::toString(n.dimsOf(i)));
    if (n.element(i) != type)
      fail(Code::TypeMismatch, "start, limit and delta have element types ", typeText(type), " and ", typeText(n.element(i)));
  }
  auto start = n.known(0), limit = n.known(1), delta = n.known(2);
  for (size_t i = 0; i < 3; ++i)
    if (!n.known(i)) {
      // Half floats are literals that shape arithmetic does not fold.
      if (auto literal = n.in(i).literal; literal && Build::isFloat(type)) {
        double v = (*literal->dense().getValues<APFloat>().begin()).convertToDouble();
        (i == 0 ? start : i == 1 ? limit : delta) = Known::ofFloats({v});
        continue;
      }
      if (auto declared = n.declaredDims(0); declared && n.type(i).hasStaticShape()) {
        // The number of elements is declared; the values are computed.
        Value at = n.iota(*declared, 0, type);
        return n.out(n.add(n.mul(at, n.reshape(n.x(2), {})), n.reshape(n.x(0), {})));
      }
      n.needsValue(i, i == 0 ? "start" : i == 1 ? "limit" : "delta");
    }
  if (Build::isFloat(type)) {
    double step = delta->floats[0], count = std::ceil((limit->floats[0] - start->floats[0]) / step);
    if (!(count < 1e12))
      fail(Code::ShapeMismatch, "the range from ", start->floats[0], " to ", limit->floats[0], " by ", step, " has no end");
    return n.out(n.iota({n.size(std::max<int64_t>(static_cast<int64_t>(count), 0))}, 0, type, start->floats[0], step));
  }
  AffineExpr from = start->ints[0], to = limit->ints[0];
  auto step = graph::constantSize(delta->ints[0]);
  if (!step)
    unsupported("delta is the symbolic size ", graph::toString(delta->ints[0]));
  if (*step == 0)
    fail(Code::ShapeMismatch, "delta is 0");
  auto a = graph::constantSize(from), z = graph::constantSize(to);
  AffineExpr count;
  if (a && z) {
    __int128 span = *step > 0 ? static_cast<__int128>(*z) - *a : static_cast<__int128>(*a) - *z;
    __int128 stride = *step > 0 ? *step : -static_cast<__int128>(*step);
    __int128 steps = span <= 0 ? 0 : (span + stride - 1) / stride;
    if (steps > INT64_MAX / 8)
      fail(Code::ShapeMismatch, "the range from ", *a, " to ", *z, " is too long");
    count = n.size(static_cast<int64_t>(steps));
  } else {
    AffineExpr span = graph::simplify(*step > 0 ? to - from : from - to);
    if (!n.facts.require(span, 0))
      unsupported("whether the range from ", graph::toString(from), " to ", graph::toString(to), " is empty cannot be decided");
    count = graph::simplify(span.ceilDiv(std::abs(*step)));
  }
  if (auto c = graph::constantSize(count); c && *c <= kMaxKnown) {
    Known k;
    for (int64_t i = 0; i < *c; ++i)
      k.ints.push_back(graph::simplify(from + i * *step));
    return n.outKnown(0, RankedTensorType::get({*c}, type), k);
  }
  if (a)
    return n.out(n.iota({count}, 0, type, static_cast<double>(*a), static_cast<double>(*step)));
  n.out(n.add(n.iota({count}, 0, type, 0, static_cast<double>(*step)), n.sizeScalar(from, type)));
}

/// Row + offset compared with column, over the last two dims.
std::pair<Value, Value> rowsAndColumns(Node &n, const Dims &dims) {
  int64_t rank = static_cast<int64_t>(dims.size());
  Dims rows(rank, n.size(1)), columns(rank, n.size(1));
  rows[rank - 2] = dims[rank - 2];
  columns[rank - 1] = dims[rank - 1];
  return {n.iota(rows, rank - 2, n.i64()), n.iota(columns, rank - 1, n.i64())};
}
void importEyeLike(Node &n) {
  Type type = n.hasAttr("dtype") ? elementTypeOf(static_cast<int32_t>(n.i("dtype", 1)), n.ctx()) : n.element(0);
  if (!type)
    unsupported("dtype ", elementTypeName(static_cast<int32_t>(n.i("dtype", 1))));
  Dims d = n.dimsOf(0);
  if (d.size() != 2)
    fail(Code::ShapeMismatch, "needs a matrix, got shape ", graph::toString(d));
  auto [rows, columns] = rowsAndColumns(n, d);
  n.out(n.cast(n.equal(n.add(rows, n.scalarInt(n.i("k", 0), n.i64())), columns), type));
}
void importTrilu(Node &n) {
  Value x = n.x(0);
  if (n.rankOf(0) < 2)
    fail(Code::ShapeMismatch, "needs rank 2 or more, got shape ", Build::shapeText(x));
  bool upper = n.i("upper", 1) != 0;
  auto [rows, columns] = rowsAndColumns(n, n.dimsOf(0));
  Value k = n.has(1) ? n.reshape(n.x(1), {}) : n.scalarInt(0, n.i64());
  Value diagonal = n.add(rows, k);
  Value keep = upper ? n.lessEqual(diagonal, columns) : n.lessEqual(columns, diagonal);
  n.out(n.select(keep, x, n.like(x, 0)));
}

// Windows of signal processing: a sum of cosines.
void window(Node &n, ArrayRef<double> coefficients) {
  auto sizes = n.sizes(0, "size");
  if (sizes.size() != 1)
    fail(Code::ShapeMismatch, "size must be one number, got ", sizes.size());
  AffineExpr size = sizes[0];
  Type type = elementTypeOf(static_cast<int32_t>(n.i("output_datatype", 1)), n.ctx());
  if (!type)
    unsupported("output_datatype ", n.i("output_datatype", 1));
  bool periodic = n.i("periodic", 1) != 0;
  Type work = Build::isFloat(type) ? type : n.f32();
  Value at = n.iota({size}, 0, work);
  Value period = n.sizeScalar(periodic ? size : graph::simplify(size - 1), work);
  Value angle = n.div(n.mul(at, n.scalar(2 * M_PI, work)), period);
  Value sum = n.scalar(coefficients[0], work);
  for (size_t i = 1; i < coefficients.size(); ++i)
    sum = n.add(sum, n.mul(n.apply<graph::CosOp>({n.mul(angle, n.scalar(static_cast<double>(i), work))}), n.scalar(coefficients[i], work)));
  n.out(n.cast(sum, type));
}
void importHann(Node &n) { window(n, {0.5, -0.5}); }
void importHamming(Node &n) { window(n, {25.0 / 46.0, -21.0 / 46.0}); }
void importBlackman(Node &n) { window(n, {0.42, -0.5, 0.08}); }

const Handler table[] = {
    {"Constant", 1, importConstant},
    {"ConstantOfShape", 9, importConstantOfShape},
    {"Shape", 1, importShape},
    {"Size", 1, importSize},
    {"Range", 11, importRange},
    {"EyeLike", 9, importEyeLike},
    {"Trilu", 14, importTrilu},
    {"HannWindow", 17, importHann},
    {"HammingWindow", 17, importHamming},
    {"BlackmanWindow", 17, importBlackman},
};

} // namespace

ArrayRef<Handler> generateOps() { return table; }

} // namespace graphc::onnx_import
