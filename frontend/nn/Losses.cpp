#include "frontend/graphc/losses.h"

namespace graphc::nn {
namespace {
template <typename Fn>
Loss loss(std::string name, Fn fn) {
  return Loss(std::make_shared<LossModule>(std::move(name), std::move(fn)));
}
template <typename Fn>
WeightedLoss weightedLoss(std::string name, const Tensor &weight, Fn fn) {
  return WeightedLoss(std::make_shared<WeightedLossModule>(std::move(name), weight, std::move(fn)));
}
} // namespace

WeightedLoss CrossEntropyLoss(const CrossEntropyOptions &options, const Tensor &weight) {
  return weightedLoss("CrossEntropyLoss", weight, [=](const Tensor &x, const Tensor &y, const Tensor &w) { return crossEntropy(x, y, w, options); });
}
WeightedLoss NLLLoss(const NllLossOptions &options, const Tensor &weight) {
  return weightedLoss("NLLLoss", weight, [=](const Tensor &x, const Tensor &y, const Tensor &w) { return nllLoss(x, y, w, options); });
}
WeightedLoss BCEWithLogitsLoss(Reduction reduction, const Tensor &posWeight) {
  return weightedLoss("BCEWithLogitsLoss", posWeight, [=](const Tensor &x, const Tensor &y, const Tensor &w) {
    return binaryCrossEntropyWithLogits(x, y, {}, w, reduction);
  });
}
Loss BCELoss(Reduction reduction) {
  return loss("BCELoss", [=](const Tensor &x, const Tensor &y) { return binaryCrossEntropy(x, y, {}, reduction); });
}
Loss MSELoss(Reduction reduction) {
  return loss("MSELoss", [=](const Tensor &x, const Tensor &y) { return mseLoss(x, y, reduction); });
}
Loss L1Loss(Reduction reduction) {
  return loss("L1Loss", [=](const Tensor &x, const Tensor &y) { return l1Loss(x, y, reduction); });
}
Loss SmoothL1Loss(Reduction reduction, double beta) {
  return loss("SmoothL1Loss", [=](const Tensor &x, const Tensor &y) { return smoothL1Loss(x, y, reduction, beta); });
}
Loss HuberLoss(Reduction reduction, double delta) {
  return loss("HuberLoss", [=](const Tensor &x, const Tensor &y) { return huberLoss(x, y, reduction, delta); });
}
Loss KLDivLoss(KlReduction reduction, bool logTarget) {
  return loss("KLDivLoss", [=](const Tensor &x, const Tensor &y) { return klDiv(x, y, reduction, logTarget); });
}

} // namespace graphc::nn
