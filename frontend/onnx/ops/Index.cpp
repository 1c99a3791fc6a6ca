// Gather and scatter.
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

Value indices(Node &n, size_t i) {
  if (!n.element(i).isInteger(64) && !n.element(i).isInteger(32))
    fail(Code::TypeMismatch, "indices must be int32 or int64, got ", typeText(n.element(i)));
  return n.x(i);
}

void importGather(Node &n) {
  int64_t rank = n.rankOf(0);
  if (rank == 0)
    fail(Code::ShapeMismatch, "cannot gather from a scalar");
  int64_t axis = Build::axis(n.i("axis", 0), rank);
  // Known elements of a vector: the middle of most size chains.
  if (rank == 1) {
    auto k = n.known(0);
    auto at = n.known(1);
    auto positions = at ? at->constants() : std::nullopt;
    if (k && positions && n.type(1).hasStaticShape()) {
      bool inside = true;
      int64_t size = static_cast<int64_t>(k->size());
      for (int64_t &p : *positions) {
        if (p < 0)
          p += size;
        inside &= p >= 0 && p < size;
      }
      if (!inside)
        fail(Code::ShapeMismatch, "an index is out of range for size ", size);
      return n.outKnown(0, RankedTensorType::get(n.type(1).getShape(), n.element(0)), k->pick(*positions));
    }
  }
  n.out(n.gather(n.x(0), indices(n, 1), axis));
}
void importGatherElements(Node &n) {
  int64_t rank = n.rankOf(0);
  if (n.rankOf(1) != rank)
    fail(Code::ShapeMismatch, "indices have rank ", n.rankOf(1), ", data ", rank);
  int64_t axis = Build::axis(n.i("axis", 0), rank);
  for (int64_t d = 0; d < rank; ++d) {
    auto from = graph::constantSize(n.dimsOf(0)[d]), to = graph::constantSize(n.dimsOf(1)[d]);
    if (d != axis && from && to && *to > *from)
      fail(Code::ShapeMismatch, "indices ", graph::toString(n.dimsOf(1)), " reach beyond data ", graph::toString(n.dimsOf(0)), " on axis ", d);
  }
  n.out(n.gatherElements(n.x(0), indices(n, 1), axis));
}
void importGatherND(Node &n) { n.out(n.make<graph::GatherNDOp>({n.x(0), indices(n, 1)}, {n.attr("batch_dims", n.i("batch_dims", 0))})); }

std::string reduction(Node &n) {
  std::string r = n.s("reduction", "none");
  if (!llvm::is_contained({"none", "add", "mul", "max", "min"}, r))
    fail(Code::ModelMalformed, "reduction is '", r, "'; none, add, mul, max and min exist");
  return r;
}
void importScatterElements(Node &n) {
  int64_t rank = n.rankOf(0), axis = Build::axis(n.i("axis", 0), rank);
  if (n.rankOf(1) != rank || n.rankOf(2) != rank)
    fail(Code::ShapeMismatch, "data, indices and updates need one rank, got ", rank, ", ", n.rankOf(1), ", ", n.rankOf(2));
  if (n.element(0) != n.element(2))
    fail(Code::TypeMismatch, "data and updates have element types ", typeText(n.element(0)), " and ", typeText(n.element(2)));
  for (int64_t d = 0; d < rank; ++d)
    n.requireSame(n.dimsOf(1)[d], n.dimsOf(2)[d], "scatter: indices and updates on axis " + std::to_string(d));
  Value x = n.x(0), at = n.cast(indices(n, 1), n.i64()), updates = n.x(2);
  n.out(graph::ScatterElementsOp::create(n.b, n.loc, x.getType(), x, at, updates, n.b.getI64IntegerAttr(axis), n.b.getStringAttr(reduction(n))));
}
void importScatterND(Node &n) {
  int64_t rank = n.rankOf(0), indexRank = n.rankOf(1);
  if (n.element(0) != n.element(2))
    fail(Code::TypeMismatch, "data and updates have element types ", typeText(n.element(0)), " and ", typeText(n.element(2)));
  Dims at = n.dimsOf(1), data = n.dimsOf(0), updates = n.dimsOf(2);
  auto depth = indexRank > 0 ? graph::constantSize(at.back()) : std::nullopt;
  if (!depth || *depth > rank || static_cast<int64_t>(updates.size()) != indexRank - 1 + rank - *depth)
    fail(Code::ShapeMismatch, "indices ", graph::toString(at), " and updates ", graph::toString(updates), " do not fit data ", graph::toString(data));
  for (int64_t d = 0; d + 1 < indexRank; ++d)
    n.requireSame(at[d], updates[d], "scatter: indices and updates on axis " + std::to_string(d));
  for (int64_t d = *depth; d < rank; ++d)
    n.requireSame(data[d], updates[indexRank - 1 + d - *depth], "scatter: data and updates on axis " + std::to_string(d));
  Value x = n.x(0);
  n.out(graph::ScatterNDOp::create(n.b, n.loc, x.getType(), x, n.cast(indices(n, 1), n.i64()), n.x(2), n.b.getStringAttr(reduction(n))));
}

// A new axis holds `on` where the index is, `off` elsewhere; indices out of [-depth, depth) are all off.
void importOneHot(Node &n) {
  AffineExpr depth;
  if (auto k = n.known(1); k && k->size() == 1)
    depth = k->floating ? n.size(static_cast<int64_t>(k->floats[0])) : k->ints[0];
  else
    n.needsValue(1, "depth");
  int64_t rank = n.rankOf(0) + 1, axis = Build::axis(n.i("axis", -1), rank);
  Value at = n.cast(n.x(0), n.i64());
  Value size = n.sizeScalar(depth, n.i64());
  at = n.select(n.less(at, n.scalarInt(0, n.i64())), n.add(at, size), at);
  Dims along(rank, n.size(1));
  along[axis] = depth;
  Value hit = n.equal(n.unsqueeze(at, axis), n.iota(along, axis, n.i64()));
  auto value = [&](int64_t i) { return n.reshape(n.slice(n.x(2), 0, n.size(i), n.size(1)), {}); };
  if (n.rankOf(2) != 1)
    fail(Code::ShapeMismatch, "values must be a vector of two, got ", graph::toString(n.dimsOf(2)));
  n.out(n.select(hit, value(1), value(0)));
}

// Rows of `update` written along `axis` from write_indices[batch] on, wrapping around when circular.
void importTensorScatter(Node &n) {
  Value cache = n.x(0), update = n.x(1);
  int64_t rank = n.rankOf(0), axis = Build::axis(n.i("axis", -2), rank);
  bool circular = n.s("mode", "linear") == "circular";
  Dims dims = n.dimsOf(0);
  AffineExpr length = dims[axis], count = n.dimsOf(1)[axis];
  Value at = n.iota(dims, axis, n.i64());
  if (n.has(2)) {
    at = n.sub(at, n.alongAxis(n.cast(n.x(2), n.i64()), 0, rank));
    if (circular)
      at = n.apply<graph::ModOp>({at, n.sizeScalar(length, n.i64())});
  }
  Value zero = n.scalarInt(0, n.i64()), size = n.sizeScalar(count, n.i64());
  Value written = n.logicalAnd(n.lessEqual(zero, at), n.less(at, size));
  Value row = n.select(written, at, zero);
  n.out(n.select(written, n.gatherElements(update, row, axis), cache));
}

void importCompress(Node &n) {
  Value x = n.x(0), condition = n.x(1);
  IntegerAttr axisAttr;
  Dims dims;
  AffineExpr kept;
  // A condition that is known tells how many are kept.
  if (auto k = n.known(1)) {
    auto c = k->constants();
    if (c)
      kept = n.size(std::count_if(c->begin(), c->end(), [](int64_t v) { return v != 0; }));
  }
  if (!kept)
    kept = n.facts.fresh("compress");
  if (n.hasAttr("axis")) {
    int64_t axis = Build::axis(n.i("axis", 0), n.rankOf(0));
    axisAttr = n.b.getI64IntegerAttr(axis);
    dims = n.dimsOf(0);
    dims[axis] = kept;
  } else {
    dims = {kept};
  }
  n.out(graph::CompressOp::create(n.b, n.loc, graph::tensorType(dims, n.element(0)), x, condition, axisAttr));
}

const Handler table[] = {
    {"Gather", 1, importGather},
    {"GatherElements", 11, importGatherElements},
    {"GatherND", 11, importGatherND},
    {"Scatter", 9, importScatterElements},
    {"ScatterElements", 11, importScatterElements},
    {"ScatterND", 11, importScatterND},
    {"OneHot", 9, importOneHot},
    {"TensorScatter", 24, importTensorScatter},
    {"Compress", 9, importCompress},
};

} // namespace

ArrayRef<Handler> indexOps() { return table; }

} // namespace graphc::onnx_import
