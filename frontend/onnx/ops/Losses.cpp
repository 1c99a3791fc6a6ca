// Losses over class indices.
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

/// -logProb[target], weighted per class, reduced. Classes are dim 1; `ignore_index` counts as weight 0.
Value classLoss(Node &n, Value logProb, size_t targetInput, size_t weightInput) {
  Value target = n.cast(n.x(targetInput), n.i64());
  Type type = Build::elementType(logProb);
  if (Build::rank(logProb) != Build::rank(target) + 1)
    fail(Code::ShapeMismatch, "scores ", Build::shapeText(logProb), " and labels ", Build::shapeText(target), " do not fit");
  Value kept;
  if (n.hasAttr("ignore_index")) {
    kept = n.apply<graph::NotEqualOp>({target, n.scalarInt(n.i("ignore_index", 0), n.i64())});
    target = n.select(kept, target, n.scalarInt(0, n.i64()));
  }
  Value loss = n.neg(n.squeeze(n.gatherElements(logProb, n.unsqueeze(target, 1), 1), 1));
  Value weight = n.has(weightInput) ? n.gather(n.x(weightInput), target, 0) : Value();
  if (kept) {
    Value zero = n.scalar(0, type);
    weight = weight ? n.select(kept, weight, zero) : n.cast(kept, type);
    loss = n.select(kept, loss, zero);
  }
  if (weight)
    loss = n.mul(loss, weight);
  std::string reduction = n.s("reduction", "mean");
  auto axes = axesFrom(0, Build::rank(loss));
  if (reduction == "none")
    return loss;
  if (reduction == "sum")
    return n.reduce("sum", loss, axes, false);
  if (reduction != "mean")
    fail(Code::ModelMalformed, "reduction is '", reduction, "'; none, sum and mean exist");
  if (!weight)
    return n.mean(loss, axes, false);
  return n.div(n.reduce("sum", loss, axes, false), n.reduce("sum", weight, axes, false));
}

void importNll(Node &n) { n.out(classLoss(n, n.x(0), 1, 2)); }
void importCrossEntropy(Node &n) {
  if (n.rankOf(0) < 2)
    fail(Code::ShapeMismatch, "scores need rank 2 or more, got ", graph::toString(n.dimsOf(0)));
  Value logProb = n.make<graph::LogSoftmaxOp>({n.x(0)}, {n.attr("axis", int64_t(1))});
  n.out(0, classLoss(n, logProb, 1, 2));
  n.out(1, logProb);
}

const Handler table[] = {
    {"NegativeLogLikelihoodLoss", 12, importNll},
    {"SoftmaxCrossEntropyLoss", 12, importCrossEntropy},
};

} // namespace

ArrayRef<Handler> lossOps() { return table; }

} // namespace graphc::onnx_import
