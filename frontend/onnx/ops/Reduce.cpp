// Reductions. ONNX's means, norms and logarithms are formulas over sum, max and elementwise ops.
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

enum class Kind { Sum, Max, Min, Prod, Mean, L1, L2, LogSum, LogSumExp, SumSquare };

/// Few known integers: the number of elements of a shape, mostly.
bool reduceKnown(Node &n, Kind kind, ArrayRef<int64_t> axes, bool keep) {
  auto k = n.known(0);
  if (!k || k->floating || n.rankOf(0) != 1 || axes.size() != 1 || k->ints.empty())
    return false;
  AffineExpr result = k->ints[0];
  for (size_t i = 1; i < k->ints.size(); ++i) {
    if (kind == Kind::Sum) {
      result = graph::simplify(result + k->ints[i]);
    } else if (kind == Kind::Prod) {
      result = graph::simplify(result * k->ints[i]);
    } else if (kind == Kind::Max || kind == Kind::Min) {
      auto less = n.facts.less(result, k->ints[i]);
      if (!less)
        return false;
      if (*less == (kind == Kind::Max))
        result = k->ints[i];
    } else {
      return false;
    }
  }
  if (kind != Kind::Sum && kind != Kind::Prod && kind != Kind::Max && kind != Kind::Min)
    return false;
  llvm::SmallVector<int64_t> shape;
  if (keep)
    shape.push_back(1);
  n.outKnown(0, RankedTensorType::get(shape, n.element(0)), Known::of({result}));
  return true;
}

/// log(sum(exp(x))) without overflow: the maximum is taken out, unless it is infinite.
Value logSumExp(Node &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  Value most = n.reduce("max", x, axes, true);
  Value shift = n.select(n.apply<graph::IsInfOp>({most}), n.like(most, 0), most);
  Value sum = n.log(n.reduce("sum", n.exp(n.sub(x, shift)), axes, keep));
  if (keep)
    return n.add(sum, shift);
  return n.add(sum, n.reshape(shift, Build::dims(sum)));
}

template <Kind kind>
void importReduce(Node &n) {
  int64_t rank = n.rankOf(0);
  bool given, keep = n.i("keepdims", 1) != 0;
  std::vector<int64_t> axes = n.axes(1, rank, &given);
  if (!given && n.i("noop_with_empty_axes", 0) == 0) {
    axes.clear();
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  }
  if (reduceKnown(n, kind, axes, keep))
    return;
  Value x = n.x(0);
  switch (kind) {
  case Kind::Sum: return n.out(n.reduce("sum", x, axes, keep));
  case Kind::Prod: return n.out(n.reduce("prod", x, axes, keep));
  case Kind::Max: return n.out(n.reduce(Build::isBool(n.element(0)) ? "any" : "max", x, axes, keep));
  case Kind::Min: return n.out(n.reduce(Build::isBool(n.element(0)) ? "all" : "min", x, axes, keep));
  case Kind::Mean: return n.out(axes.empty() ? x : n.mean(x, axes, keep));
  case Kind::L1: return n.out(n.reduce("sum", n.abs(x), axes, keep));
  case Kind::SumSquare: return n.out(n.reduce("sum", n.square(x), axes, keep));
  case Kind::L2:
  case Kind::LogSum:
  case Kind::LogSumExp: {
    // Defined on integers too, through floating point.
    Type type = n.element(0);
    Value work = Build::isFloat(type) ? x : n.cast(x, n.f32());
    Value result = kind == Kind::L2       ? n.sqrt(n.reduce("sum", n.square(work), axes, keep))
                   : kind == Kind::LogSum ? n.log(n.reduce("sum", work, axes, keep))
                                          : logSumExp(n, work, axes, keep);
    return n.out(n.cast(result, type));
  }
  }
}

template <bool isMax>
void importArg(Node &n) {
  llvm::SmallVector<NamedAttribute> attrs{n.attr("kind", StringRef(isMax ? "max" : "min")), n.attr("axis", Build::axis(n.i("axis", 0), n.rankOf(0)))};
  if (n.i("keepdims", 1))
    attrs.push_back(n.unit("keep"));
  if (n.i("select_last_index", 0))
    attrs.push_back(n.unit("last"));
  n.out(n.make<graph::ArgReduceOp>({n.x(0)}, attrs));
}

// One where the first maximum along the axis is. Until opset 12 the dims from `axis` on count as one.
void importHardmax(Node &n) {
  Value x = n.x(0);
  int64_t rank = n.rankOf(0), axis = Build::axis(n.i("axis", n.opset < 13 ? 1 : -1), rank);
  Dims dims = n.dimsOf(0);
  if (n.opset < 13) {
    x = n.reshape(x, {graph::product(refOf(dims).take_front(axis), n.ctx()), graph::product(refOf(dims).drop_front(axis), n.ctx())});
    axis = 1;
  }
  Value at = n.make<graph::ArgReduceOp>({x}, {n.attr("kind", StringRef("max")), n.attr("axis", axis), n.unit("keep")});
  Value hit = n.equal(n.iota(Build::dims(x), axis, n.i64()), at);
  n.out(n.reshape(n.cast(hit, n.element(0)), dims));
}

void cumulative(Node &n, StringRef kind) {
  int64_t axis = Build::axis(n.intScalar(1, "axis"), n.rankOf(0));
  Value x = n.x(0);
  bool exclusive = n.i("exclusive", 0) != 0, reverse = n.i("reverse", 0) != 0;
  n.out(graph::CumulativeOp::create(n.b, n.loc, x.getType(), x, n.b.getStringAttr(kind), n.b.getI64IntegerAttr(axis),
                                    exclusive ? n.b.getUnitAttr() : UnitAttr(), reverse ? n.b.getUnitAttr() : UnitAttr()));
}
void importCumSum(Node &n) { cumulative(n, "sum"); }
void importCumProd(Node &n) { cumulative(n, "prod"); }

const Handler table[] = {
    {"ReduceSum", 1, importReduce<Kind::Sum>},
    {"ReduceMax", 1, importReduce<Kind::Max>},
    {"ReduceMin", 1, importReduce<Kind::Min>},
    {"ReduceProd", 1, importReduce<Kind::Prod>},
    {"ReduceMean", 1, importReduce<Kind::Mean>},
    {"ReduceL1", 1, importReduce<Kind::L1>},
    {"ReduceL2", 1, importReduce<Kind::L2>},
    {"ReduceLogSum", 1, importReduce<Kind::LogSum>},
    {"ReduceLogSumExp", 1, importReduce<Kind::LogSumExp>},
    {"ReduceSumSquare", 1, importReduce<Kind::SumSquare>},
    {"ArgMax", 1, importArg<true>},
    {"ArgMin", 1, importArg<false>},
    {"Hardmax", 1, importHardmax},
    {"CumSum", 11, importCumSum},
    {"CumProd", 26, importCumProd},
};

} // namespace

ArrayRef<Handler> reduceOps() { return table; }

} // namespace graphc::onnx_import
