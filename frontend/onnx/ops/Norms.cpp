// Softmax and normalisations: composites of the dialect where it has them, formulas otherwise.
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

template <typename Op>
void importSoftmax(Node &n) {
  int64_t rank = n.rankOf(0);
  if (rank == 0)
    fail(Code::ShapeMismatch, "needs at least one axis");
  int64_t axis = Build::axis(n.i("axis", n.opset < 13 ? 1 : -1), n.opset < 13 && rank == 1 ? 2 : rank);
  Value x = n.x(0);
  Dims dims = n.dimsOf(0);
  if (n.opset >= 13)
    return n.out(n.make<Op>({x}, {n.attr("axis", axis)}));
  // Until opset 12 the dims from `axis` on count as one.
  if (axis < rank && graph::product(refOf(dims).drop_front(axis + 1), n.ctx()) == n.size(1))
    return n.out(n.make<Op>({x}, {n.attr("axis", axis)}));
  axis = std::min(axis, rank);
  Value flat = n.reshape(x, {graph::product(refOf(dims).take_front(axis), n.ctx()), graph::product(refOf(dims).drop_front(axis), n.ctx())});
  n.out(n.reshape(n.make<Op>({flat}, {n.attr("axis", int64_t(1))}), dims));
}

/// A vector with one value per channel; Failure otherwise.
Value perChannel(Node &n, size_t i, const char *what) {
  if (n.rankOf(i) != 1)
    fail(Code::ShapeMismatch, what, " must be a vector, got shape ", graph::toString(n.dimsOf(i)));
  n.requireSame(n.dimsOf(i)[0], n.dimsOf(0)[1], std::string(what) + " and channels");
  return n.cast(n.x(i), n.element(0));
}
void checkChannels(Node &n, int64_t leastRank) {
  if (n.rankOf(0) < leastRank)
    fail(Code::ShapeMismatch, "needs rank ", leastRank, " or more, got shape ", graph::toString(n.dimsOf(0)));
  if (!Build::isFloat(n.element(0)))
    fail(Code::TypeMismatch, "needs floating point, got ", typeText(n.element(0)));
}

void importBatchNorm(Node &n) {
  checkChannels(n, 2);
  if (n.opset < 9 && n.i("spatial", 1) == 0)
    unsupported("spatial=0 (statistics per position)");
  double epsilon = n.f("epsilon", 1e-5), momentum = n.f("momentum", 0.9);
  Value x = n.x(0), scale = perChannel(n, 1, "scale"), bias = perChannel(n, 2, "bias"), mean = perChannel(n, 3, "mean"), var = perChannel(n, 4, "variance");
  bool training = n.opset >= 14 ? n.i("training_mode", 0) != 0 : n.wants(1) || n.wants(2);
  if (training) {
    if (n.opset < 14)
      unsupported("training mode before opset 14");
    llvm::SmallVector<int64_t> axes{0};
    for (int64_t a = 2; a < n.rankOf(0); ++a)
      axes.push_back(a);
    Value batchMean = n.mean(x, axes, true), deviation = n.sub(x, batchMean);
    Value batchVar = n.mean(n.square(deviation), axes, false);
    batchMean = n.reshape(batchMean, n.dimsOf(3));
    auto blend = [&](Value old, Value now) { return n.add(n.mul(old, n.like(old, momentum)), n.mul(now, n.like(now, 1 - momentum))); };
    n.out(1, n.cast(blend(mean, batchMean), n.element(3)));
    n.out(2, n.cast(blend(var, batchVar), n.element(4)));
    mean = batchMean;
    var = batchVar;
  }
  n.out(0, n.make<graph::BatchNormOp>({x, scale, bias, mean, var}, {n.attr("epsilon", epsilon)}));
}

void importInstanceNorm(Node &n) {
  checkChannels(n, 3);
  n.out(n.make<graph::InstanceNormOp>({n.x(0), perChannel(n, 1, "scale"), perChannel(n, 2, "bias")}, {n.attr("epsilon", n.f("epsilon", 1e-5))}));
}

void importGroupNorm(Node &n) {
  checkChannels(n, 3);
  int64_t groups = n.i("num_groups", 0);
  if (groups < 1 || !divideSizes({n.dimsOf(0)[1]}, {n.size(groups)}, n.ctx()))
    fail(Code::ShapeMismatch, groups, " groups do not divide ", graph::toString(n.dimsOf(0)[1]), " channels");
  auto factor = [&](size_t i, const char *what) {
    if (n.opset >= 21)
      return perChannel(n, i, what);
    // Until opset 20 one value per group.
    if (n.rankOf(i) != 1 || !graph::isSize(n.dimsOf(i)[0], groups))
      fail(Code::ShapeMismatch, what, " must hold one value per group, got shape ", graph::toString(n.dimsOf(i)));
    AffineExpr channels = n.dimsOf(0)[1];
    Value wide = n.broadcast(n.unsqueeze(n.x(i), 1), {n.size(groups), graph::simplify(channels.floorDiv(groups))});
    return n.reshape(wide, {channels});
  };
  n.out(n.make<graph::GroupNormOp>({n.x(0), factor(1, "scale"), factor(2, "bias")}, {n.attr("groups", groups), n.attr("epsilon", n.f("epsilon", 1e-5))}));
}

void checkTrailing(Node &n, size_t i, int64_t axis, const char *what) {
  Dims x = n.dimsOf(0), s = n.dimsOf(i);
  if (s.size() > x.size())
    fail(Code::ShapeMismatch, what, " of shape ", graph::toString(s), " does not broadcast to ", graph::toString(x));
  for (size_t d = 0; d < s.size(); ++d) {
    AffineExpr own = s[s.size() - 1 - d], full = x[x.size() - 1 - d];
    if (!graph::isSize(own, 1))
      n.requireSame(own, full, std::string(what) + " of shape " + graph::toString(s) + " for input " + graph::toString(x));
  }
}

void importLayerNorm(Node &n) {
  checkChannels(n, 1);
  int64_t rank = n.rankOf(0), axis = Build::axis(n.i("axis", -1), rank);
  double epsilon = n.f("epsilon", 1e-5);
  Value x = n.x(0);
  checkTrailing(n, 1, axis, "scale");
  llvm::SmallVector<Value> operands{x, n.cast(n.x(1), n.element(0))};
  if (n.has(2)) {
    checkTrailing(n, 2, axis, "bias");
    operands.push_back(n.cast(n.x(2), n.element(0)));
  }
  n.out(0, n.make<graph::LayerNormOp>(operands, {n.attr("axis", axis), n.attr("epsilon", epsilon)}));
  if (!n.wants(1) && !n.wants(2))
    return;
  Type stash = n.i("stash_type", 1) == 1 ? n.f32() : n.element(0);
  Value wide = n.cast(x, stash), mean = n.mean(wide, axesFrom(axis, rank));
  n.out(1, mean);
  if (n.wants(2)) {
    Value variance = n.mean(n.square(n.sub(wide, mean)), axesFrom(axis, rank));
    n.out(2, n.reciprocal(n.sqrt(n.add(variance, n.like(variance, epsilon)))));
  }
}

void importRMSNorm(Node &n) {
  checkChannels(n, 1);
  int64_t axis = Build::axis(n.i("axis", -1), n.rankOf(0));
  checkTrailing(n, 1, axis, "scale");
  n.out(n.make<graph::RMSNormOp>({n.x(0), n.cast(n.x(1), n.element(0))}, {n.attr("axis", axis), n.attr("epsilon", n.f("epsilon", 1e-5))}));
}

void importLrn(Node &n) {
  checkChannels(n, 2);
  int64_t size = n.i("size", 0);
  if (size < 1)
    fail(Code::ShapeMismatch, "size is ", size);
  n.out(n.make<graph::LrnOp>({n.x(0)}, {n.attr("size", size), n.attr("alpha", n.f("alpha", 1e-4)), n.attr("beta", n.f("beta", 0.75)), n.attr("bias", n.f("bias", 1))}));
}

void importLpNorm(Node &n) {
  int64_t axis = Build::axis(n.i("axis", -1), n.rankOf(0)), p = n.i("p", 2);
  if (p != 1 && p != 2)
    fail(Code::ModelMalformed, "p is ", p, "; 1 and 2 exist");
  Value x = n.x(0), norm = p == 1 ? n.reduce("sum", n.abs(x), {axis}) : n.sqrt(n.reduce("sum", n.square(x), {axis}));
  // A zero vector stays zero.
  n.out(n.select(n.equal(norm, n.like(norm, 0)), n.like(x, 0), n.div(x, norm)));
}

void importMeanVariance(Node &n) {
  std::vector<int64_t> axes = n.hasAttr("axes") ? n.ints("axes") : std::vector<int64_t>{0, 2, 3};
  for (int64_t &a : axes)
    a = Build::axis(a, n.rankOf(0));
  std::sort(axes.begin(), axes.end());
  if (n.opset < 9 && n.i("across_channels", 0))
    axes.insert(axes.begin() + 1, 1);
  Value x = n.x(0), deviation = n.sub(x, n.mean(x, axes)), std = n.sqrt(n.mean(n.square(deviation), axes));
  n.out(n.div(deviation, n.add(std, n.like(std, 1e-9))));
}

const Handler table[] = {
    {"Softmax", 1, importSoftmax<graph::SoftmaxOp>},
    {"LogSoftmax", 1, importSoftmax<graph::LogSoftmaxOp>},
    {"BatchNormalization", 1, importBatchNorm},
    {"InstanceNormalization", 1, importInstanceNorm},
    {"GroupNormalization", 18, importGroupNorm},
    {"LayerNormalization", 17, importLayerNorm},
    {"RMSNormalization", 23, importRMSNorm},
    {"LRN", 1, importLrn},
    {"LpNormalization", 1, importLpNorm},
    {"MeanVarianceNormalization", 1, importMeanVariance},
};

} // namespace

ArrayRef<Handler> normOps() { return table; }

} // namespace graphc::onnx_import
