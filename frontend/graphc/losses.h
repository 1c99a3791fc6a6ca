// Losses as modules; the functions are in ops.h.
#pragma once

#include "frontend/graphc/module.h"
#include "frontend/graphc/ops.h"

namespace graphc::nn {

class LossModule : public Module {
public:
  using Fn = std::function<Tensor(const Tensor &input, const Tensor &target)>;
  LossModule(std::string description, Fn fn) : description_(std::move(description)), fn_(std::move(fn)) {}
  Tensor forward(const Tensor &input, const Tensor &target) { return fn_(input, target); }
  std::string describe() const override { return description_; }

private:
  std::string description_;
  Fn fn_;
};
/// A loss with weights per class; they are a buffer that moves with the module and is not part of its state.
class WeightedLossModule : public Module {
public:
  using Fn = std::function<Tensor(const Tensor &input, const Tensor &target, const Tensor &weight)>;
  WeightedLossModule(std::string description, Tensor weights, Fn fn)
      : weight(addBuffer("weight", std::move(weights), false)), description_(std::move(description)), fn_(std::move(fn)) {}
  Tensor forward(const Tensor &input, const Tensor &target) { return fn_(input, target, weight); }
  std::string describe() const override { return description_; }
  Tensor weight;

private:
  std::string description_;
  Fn fn_;
};
using Loss = Handle<LossModule>;
using WeightedLoss = Handle<WeightedLossModule>;

WeightedLoss CrossEntropyLoss(const CrossEntropyOptions &options = {}, const Tensor &weight = {});
WeightedLoss NLLLoss(const NllLossOptions &options = {}, const Tensor &weight = {});
/// `posWeight` multiplies the positive term.
WeightedLoss BCEWithLogitsLoss(Reduction reduction = Reduction::Mean, const Tensor &posWeight = {});
Loss BCELoss(Reduction reduction = Reduction::Mean);
Loss MSELoss(Reduction reduction = Reduction::Mean);
Loss L1Loss(Reduction reduction = Reduction::Mean);
Loss SmoothL1Loss(Reduction reduction = Reduction::Mean, double beta = 1);
Loss HuberLoss(Reduction reduction = Reduction::Mean, double delta = 1);
Loss KLDivLoss(KlReduction reduction = KlReduction::Mean, bool logTarget = false);

} // namespace graphc::nn
