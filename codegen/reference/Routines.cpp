#include "codegen/reference/Routines.h"
#include "codegen/reference/Scalars.h"
#include "ir/graph/Graph.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace graphc::graph;

namespace graphc::reference {
namespace {

using Results = llvm::SmallVector<WideTensor>;
using ShapeOf = llvm::function_ref<std::vector<int64_t>(Value)>;

Type elementOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }

/// A tensor seen as [outer, axis, inner].
struct AxisView {
  int64_t outer = 1, size, inner = 1;
  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis) : size(shape[axis]) {
    for (int64_t d = 0; d < int64_t(shape.size()); ++d)
      (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  }
  int64_t at(int64_t o, int64_t i, int64_t in) const { return (o * size + i) * inner + in; }
};

/// Order of two elements; NaN is greater than every number.
bool less(const WideTensor &t, int64_t a, int64_t b) {
  if (!t.isFloat()) {
    int64_t x = t.integers()[a], y = t.integers()[b];
    return t.scalarType().isWideUnsigned() ? uint64_t(x) < uint64_t(y) : x < y;
  }
  double x = t.floats()[a], y = t.floats()[b];
  return std::isnan(y) ? !std::isnan(x) : x < y;
}

void copyElement(const WideTensor &from, int64_t i, WideTensor &to, int64_t j) {
  if (from.isFloat())
    to.floats()[j] = from.floats()[i];
  else
    to.integers()[j] = from.integers()[i];
}

Results topK(TopKOp op, const WideTensor &x, ShapeOf shapeOf) {
  std::vector<int64_t> shape = shapeOf(op.getValues());
  WideTensor values(x.elementType(), shape), indices(elementOf(op.getIndices()), shape);
  AxisView in(x.shape(), op.getAxis()), out(shape, op.getAxis());
  for (int64_t o = 0; o < in.outer; ++o)
    for (int64_t i = 0; i < in.inner; ++i) {
      std::vector<int64_t> order(in.size);
      std::iota(order.begin(), order.end(), 0);
      // Of equal elements the first comes first, whichever way the order runs.
      auto before = [&](int64_t a, int64_t b) {
        return op.getLargest() ? less(x, in.at(o, b, i), in.at(o, a, i)) : less(x, in.at(o, a, i), in.at(o, b, i));
      };
      llvm::sort(order, [&](int64_t a, int64_t b) { return before(a, b) || (!before(b, a) && a < b); });
      for (int64_t k = 0; k < out.size; ++k) {
        copyElement(x, in.at(o, order[k], i), values, out.at(o, k, i));
        indices.integers()[out.at(o, k, i)] = order[k];
      }
    }
  return {values, indices};
}

bool isTrue(const WideTensor &t, int64_t i) { return t.isFloat() ? t.floats()[i] != 0 : t.integers()[i] != 0; }

Results nonZero(NonZeroOp op, const WideTensor &x) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.elements(); ++i)
    if (isTrue(x, i))
      found.push_back(i);
  int64_t count = found.size();
  WideTensor result(elementOf(op.getResult()), {x.rank(), count});
  auto strides = x.strides();
  for (int64_t d = 0; d < x.rank(); ++d)
    for (int64_t n = 0; n < count; ++n)
      result.integers()[d * count + n] = found[n] / strides[d] % x.shape()[d];
  return {result};
}

/// Unique slices along an axis; without one, unique elements of the flattened tensor.
Results unique(UniqueOp op, WideTensor x) {
  if (!op.getAxis())
    x = x.reshaped({x.elements()});
  int64_t axis = op.getAxis().value_or(0);
  AxisView in(x.shape(), axis);
  auto compare = [&](int64_t a, int64_t b) { // slices in lexicographic order
    for (int64_t o = 0; o < in.outer; ++o)
      for (int64_t i = 0; i < in.inner; ++i) {
        if (less(x, in.at(o, a, i), in.at(o, b, i)))
          return true;
        if (less(x, in.at(o, b, i), in.at(o, a, i)))
          return false;
      }
    return false;
  };
  std::map<int64_t, int64_t, decltype(compare)> firstOf(compare); // slice -> its first occurrence
  std::vector<int64_t> first(in.size);
  for (int64_t s = 0; s < in.size; ++s)
    first[s] = firstOf.try_emplace(s, s).first->second;
  std::vector<int64_t> kept;
  if (op.getSorted())
    for (auto &[slice, occurrence] : firstOf)
      kept.push_back(occurrence);
  else
    for (int64_t s = 0; s < in.size; ++s)
      if (first[s] == s)
        kept.push_back(s);

  int64_t count = kept.size();
  std::vector<int64_t> shape = x.shape();
  shape[axis] = count;
  WideTensor values(x.elementType(), shape), indices(elementOf(op.getIndices()), {count}),
      inverse(elementOf(op.getInverse()), {in.size}), counts(elementOf(op.getCounts()), {count});
  AxisView out(shape, axis);
  std::vector<int64_t> number(in.size);
  for (int64_t k = 0; k < count; ++k) {
    number[kept[k]] = k;
    indices.integers()[k] = kept[k];
    counts.integers()[k] = 0;
    for (int64_t o = 0; o < in.outer; ++o)
      for (int64_t i = 0; i < in.inner; ++i)
        copyElement(x, in.at(o, kept[k], i), values, out.at(o, k, i));
  }
  for (int64_t s = 0; s < in.size; ++s) {
    inverse.integers()[s] = number[first[s]];
    ++counts.integers()[number[first[s]]];
  }
  return {values, indices, inverse, counts};
}

Results compress(CompressOp op, WideTensor x, const WideTensor &condition) {
  if (!op.getAxis())
    x = x.reshaped({x.elements()});
  int64_t axis = op.getAxis().value_or(0);
  AxisView in(x.shape(), axis);
  std::vector<int64_t> kept; // a condition shorter than the axis drops the rest
  for (int64_t s = 0; s < std::min(in.size, condition.elements()); ++s)
    if (isTrue(condition, s))
      kept.push_back(s);
  std::vector<int64_t> shape = x.shape();
  shape[axis] = kept.size();
  WideTensor result(x.elementType(), shape);
  AxisView out(shape, axis);
  for (int64_t o = 0; o < in.outer; ++o)
    for (int64_t k = 0; k < out.size; ++k)
      for (int64_t i = 0; i < in.inner; ++i)
        copyElement(x, in.at(o, kept[k], i), result, out.at(o, k, i));
  return {result};
}

/// What a scatter does with the element that is there.
void combine(llvm::StringRef reduction, WideTensor &into, int64_t at, const WideTensor &updates, int64_t from) {
  if (reduction == "none")
    return copyElement(updates, from, into, at);
  if (into.isFloat()) {
    double &old = into.floats()[at], value = updates.floats()[from];
    old = reduction == "add" ? old + value : reduction == "mul" ? old * value : reduction == "max" ? floatMax(old, value) : floatMin(old, value);
    return;
  }
  ScalarType type = into.scalarType();
  int64_t &old = into.integers()[at], value = updates.integers()[from];
  old = wrap(reduction == "add"   ? integerBinary<ScalarKind::Add>(old, value, type)
             : reduction == "mul" ? integerBinary<ScalarKind::Mul>(old, value, type)
             : reduction == "max" ? integerBinary<ScalarKind::Max>(old, value, type)
                                  : integerBinary<ScalarKind::Min>(old, value, type),
             type);
}

/// A possibly negative index into `size` elements, or nothing when it is out of range.
std::optional<int64_t> indexInto(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    return std::nullopt;
  return index < 0 ? index + size : index;
}
Status outOfRange(const std::string &what, int64_t index, int64_t size) {
  return error(Code::IndexOutOfRange, what, ": index ", index, " is out of range for size ", size);
}

Result<Results> scatterElements(ScatterElementsOp op, llvm::ArrayRef<WideTensor> operands, const std::string &what) {
  WideTensor result = operands[0].clone();
  const WideTensor &indices = operands[1], &updates = operands[2];
  auto strides = result.strides(), indexStrides = indices.strides();
  for (int64_t n = 0; n < indices.elements(); ++n) {
    int64_t target = 0;
    for (int64_t d = 0; d < indices.rank(); ++d) {
      int64_t at = n / indexStrides[d] % indices.shape()[d];
      if (d == int64_t(op.getAxis())) {
        auto position = indexInto(indices.integers()[n], result.shape()[d]);
        if (!position)
          return outOfRange(what, indices.integers()[n], result.shape()[d]);
        at = *position;
      }
      target += at * strides[d];
    }
    combine(op.getReduction(), result, target, updates, n);
  }
  return Results{result};
}

Result<Results> scatterND(ScatterNDOp op, llvm::ArrayRef<WideTensor> operands, const std::string &what) {
  WideTensor result = operands[0].clone();
  const WideTensor &indices = operands[1], &updates = operands[2];
  int64_t depth = indices.shape().back(), slice = 1;
  for (int64_t d = depth; d < result.rank(); ++d)
    slice *= result.shape()[d];
  auto strides = result.strides();
  int64_t tuples = depth ? indices.elements() / depth : updates.elements() / std::max<int64_t>(slice, 1);
  for (int64_t n = 0; n < tuples; ++n) {
    int64_t target = 0;
    for (int64_t d = 0; d < depth; ++d) {
      int64_t index = indices.integers()[n * depth + d];
      auto position = indexInto(index, result.shape()[d]);
      if (!position)
        return outOfRange(what, index, result.shape()[d]);
      target += *position * strides[d];
    }
    for (int64_t i = 0; i < slice; ++i)
      combine(op.getReduction(), result, target + i, updates, n * slice + i);
  }
  return Results{result};
}

Results cumulative(CumulativeOp op, const WideTensor &x) {
  WideTensor result(x.elementType(), x.shape());
  AxisView view(x.shape(), op.getAxis());
  bool sum = op.getKind() == "sum";
  ScalarType type = x.scalarType();
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t i = 0; i < view.inner; ++i) {
      double f = sum ? 0 : 1;
      int64_t n = sum ? 0 : 1;
      for (int64_t step = 0; step < view.size; ++step) {
        int64_t at = view.at(o, op.getReverse() ? view.size - 1 - step : step, i);
        auto store = [&] { x.isFloat() ? void(result.floats()[at] = f) : void(result.integers()[at] = n); };
        if (op.getExclusive())
          store();
        if (x.isFloat())
          f = sum ? f + x.floats()[at] : f * x.floats()[at];
        else
          n = wrap(sum ? integerBinary<ScalarKind::Add>(n, x.integers()[at], type)
                       : integerBinary<ScalarKind::Mul>(n, x.integers()[at], type), type);
        if (!op.getExclusive())
          store();
      }
    }
  return {result};
}

struct Box {
  double low[2], high[2];
  Box(const double *v, bool center) {
    for (int d = 0; d < 2; ++d) {
      // Corners come in any order; a center box is [x, y, width, height].
      low[d] = center ? v[d] - v[d + 2] / 2 : std::min(v[d], v[d + 2]);
      high[d] = center ? v[d] + v[d + 2] / 2 : std::max(v[d], v[d + 2]);
    }
  }
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

double intersectionOverUnion(const Box &a, const Box &b) {
  double common = 1;
  for (int d = 0; d < 2; ++d)
    common *= std::max(0.0, std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]));
  double all = a.area() + b.area() - common;
  return all > 0 ? common / all : 0;
}

Results nonMaxSuppression(NonMaxSuppressionOp op, const WideTensor &boxes, const WideTensor &scores) {
  int64_t batches = scores.shape()[0], classes = scores.shape()[1], count = scores.shape()[2];
  double iouLimit = op.getIouThreshold().convertToDouble(), scoreLimit = op.getScoreThreshold().convertToDouble();
  std::vector<int64_t> selected;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t cls = 0; cls < classes; ++cls) {
      const double *score = scores.floats() + (batch * classes + cls) * count;
      auto boxAt = [&](int64_t n) { return Box(boxes.floats() + (batch * count + n) * 4, op.getCenterBoxes()); };
      std::vector<int64_t> order;
      for (int64_t n = 0; n < count; ++n)
        if (score[n] > scoreLimit)
          order.push_back(n);
      llvm::sort(order, [&](int64_t a, int64_t b) { return score[a] > score[b] || (score[a] == score[b] && a < b); });
      std::vector<int64_t> kept;
      for (int64_t n : order) {
        if (int64_t(kept.size()) >= int64_t(op.getMaxPerClass()))
          break;
        if (llvm::none_of(kept, [&](int64_t k) { return intersectionOverUnion(boxAt(k), boxAt(n)) > iouLimit; }))
          kept.push_back(n);
      }
      for (int64_t n : kept)
        selected.insert(selected.end(), {batch, cls, n});
    }
  WideTensor result(elementOf(op.getResult()), {int64_t(selected.size()) / 3, 3});
  std::copy(selected.begin(), selected.end(), result.integers());
  return {result};
}

} // namespace

Result<Results> runRoutine(Operation *op, llvm::ArrayRef<WideTensor> operands, ShapeOf shapeOf, const std::string &what) {
  return llvm::TypeSwitch<Operation *, Result<Results>>(op)
      .Case([&](TopKOp o) { return topK(o, operands[0], shapeOf); })
      .Case([&](NonZeroOp o) { return nonZero(o, operands[0]); })
      .Case([&](UniqueOp o) { return unique(o, operands[0]); })
      .Case([&](CompressOp o) { return compress(o, operands[0], operands[1]); })
      .Case([&](ScatterElementsOp o) { return scatterElements(o, operands, what); })
      .Case([&](ScatterNDOp o) { return scatterND(o, operands, what); })
      .Case([&](CumulativeOp o) { return cumulative(o, operands[0]); })
      .Case([&](NonMaxSuppressionOp o) { return nonMaxSuppression(o, operands[0], operands[1]); })
      .Default([&](Operation *o) {
        return error(Code::UnsupportedOp, what, ": the reference interpreter has no routine for ", o->getName().getStringRef().str());
      });
}

} // namespace graphc::reference
