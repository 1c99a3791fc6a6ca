// Operators whose result order or size depends on data: routines of the runtime. A size that only data tells is a symbol.
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

void importTopK(Node &n) {
  int64_t axis = Build::axis(n.i("axis", -1), n.rankOf(0));
  AffineExpr k = n.size(n.opset < 10 ? n.i("k", 0) : 0);
  if (n.opset >= 10) {
    auto given = n.sizes(1, "k");
    if (given.size() != 1)
      fail(Code::ShapeMismatch, "k must be one number, got ", given.size());
    k = given[0];
  }
  Dims dims = n.dimsOf(0);
  if (auto c = graph::constantSize(k); c && *c < 0)
    fail(Code::ShapeMismatch, "k is ", *c);
  if (!n.facts.require(graph::simplify(dims[axis] - k), 0))
    fail(Code::ShapeMismatch, "k is ", graph::toString(k), ", but axis ", axis, " has size ", graph::toString(dims[axis]));
  dims[axis] = k;
  auto values = graph::tensorType(dims, n.element(0)), indices = graph::tensorType(dims, n.i64());
  auto op = graph::TopKOp::create(n.b, n.loc, TypeRange{values, indices}, n.x(0), n.b.getI64IntegerAttr(axis), n.b.getBoolAttr(n.i("largest", 1)),
                                  n.b.getBoolAttr(n.i("sorted", 1)));
  n.out(0, op.getValues());
  n.out(1, op.getIndices());
}

void importNonZero(Node &n) {
  // Few known elements: the positions are known too.
  if (auto k = n.known(0))
    if (auto c = k->constants(); c && n.rankOf(0) == 1) {
      Known positions;
      for (size_t i = 0; i < c->size(); ++i)
        if ((*c)[i])
          positions.ints.push_back(n.size(static_cast<int64_t>(i)));
      return n.outKnown(0, RankedTensorType::get({1, static_cast<int64_t>(positions.size())}, n.i64()), positions);
    }
  Value x = n.x(0);
  if (n.rankOf(0) == 0)
    x = n.reshape(x, {n.size(1)});
  auto type = graph::tensorType({n.size(Build::rank(x)), n.facts.fresh("nonzero")}, n.i64());
  n.out(graph::NonZeroOp::create(n.b, n.loc, type, x));
}

void importUnique(Node &n) {
  AffineExpr count = n.facts.fresh("unique");
  IntegerAttr axis;
  Dims values{count};
  AffineExpr length = graph::product(n.dimsOf(0), n.ctx());
  if (n.hasAttr("axis")) {
    int64_t a = Build::axis(n.i("axis", 0), n.rankOf(0));
    axis = n.b.getI64IntegerAttr(a);
    values = n.dimsOf(0);
    length = values[a];
    values[a] = count;
  }
  auto vector = [&](AffineExpr d) { return graph::tensorType({d}, n.i64()); };
  auto op = graph::UniqueOp::create(n.b, n.loc, TypeRange{graph::tensorType(values, n.element(0)), vector(count), vector(length), vector(count)}, n.x(0), axis,
                                    n.b.getBoolAttr(n.i("sorted", 1)));
  for (size_t i = 0; i < 4; ++i)
    n.out(i, op->getResult(i));
}

void importNms(Node &n) {
  if (n.rankOf(0) != 3 || n.rankOf(1) != 3)
    fail(Code::ShapeMismatch, "boxes and scores need rank 3, got ", graph::toString(n.dimsOf(0)), " and ", graph::toString(n.dimsOf(1)));
  int64_t most = n.has(2) ? n.intScalar(2, "max_output_boxes_per_class") : 0;
  double iou = n.has(3) ? n.floatScalar(3, "iou_threshold") : 0;
  double score = n.has(4) ? n.floatScalar(4, "score_threshold") : -std::numeric_limits<double>::infinity();
  auto type = graph::tensorType({n.facts.fresh("nms"), n.size(3)}, n.i64());
  n.out(graph::NonMaxSuppressionOp::create(n.b, n.loc, type, n.x(0), n.x(1), n.b.getI64IntegerAttr(most), n.b.getF64FloatAttr(iou), n.b.getF64FloatAttr(score),
                                           n.i("center_point_box", 0) ? n.b.getUnitAttr() : UnitAttr()));
}

const Handler table[] = {
    {"TopK", 1, importTopK},
    {"NonZero", 9, importNonZero},
    {"Unique", 11, importUnique},
    {"NonMaxSuppression", 10, importNms},
};

} // namespace

ArrayRef<Handler> routineOps() { return table; }

} // namespace graphc::onnx_import
