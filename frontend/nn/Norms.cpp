// Normalisation layers. Weights start at 1, biases at 0.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/layers.h"
#include "frontend/nn/Describe.h"
#include "frontend/tensor/Raise.h"

namespace graphc::nn {
namespace {

template <typename Options>
TensorOptions placeOf(const Options &options) {
  return {.dtype = options.dtype, .device = options.device};
}

/// [batch, features] and [batch, features, length] for one dimension, else [batch, features, dims…].
void checkInput(const char *layer, const Tensor &x, int dims, int64_t features, bool withoutSpace) {
  if (x.dim() != dims + 2 && !(withoutSpace && dims == 1 && x.dim() == 2))
    raise(Code::InputRank, layer, dims, "d: needs rank ", withoutSpace && dims == 1 ? "2 or 3" : text(dims + 2), ", the input is ", x.describe());
  if (x.size(1) != features)
    raise(Code::ShapeMismatch, layer, dims, "d: made for ", features, " features, the input is ", x.describe());
}

} // namespace

BatchNormModule::BatchNormModule(int dims, int64_t features, const BatchNormOptions &options)
    : dims_(dims), features_(features), options_(options) {
  TensorOptions place = placeOf(options);
  weight = addParameter("weight", options.affine ? ones({features}, place) : Tensor());
  bias = addParameter("bias", options.affine ? zeros({features}, place) : Tensor());
  bool track = options.trackRunningStats;
  runningMean = addBuffer("running_mean", track ? zeros({features}, place) : Tensor());
  runningVar = addBuffer("running_var", track ? ones({features}, place) : Tensor());
  numBatchesTracked = addBuffer("num_batches_tracked", track ? zeros({}, {.dtype = DType::I64, .device = options.device}) : Tensor());
}

void BatchNormModule::resetRunningStats() {
  if (!runningMean.defined())
    return;
  runningMean.zero_();
  runningVar.fill_(1);
  numBatchesTracked.zero_();
}

Tensor BatchNormModule::forward(const Tensor &x) {
  checkInput("BatchNorm", x, dims_, features_, true);
  // Without running statistics the batch's own serve in evaluation, too.
  bool batchStatistics = isTraining() || !runningMean.defined();
  double momentum = 0;
  if (isTraining() && runningMean.defined()) {
    NoGrad guard;
    numBatchesTracked.add_(1);
    momentum = options_.momentum ? *options_.momentum : 1 / numBatchesTracked.item<double>();
  }
  return batchNorm(x, runningMean, runningVar, weight, bias, batchStatistics, momentum, options_.epsilon);
}

std::string BatchNormModule::describe() const {
  return text("BatchNorm", dims_, "d(", features_, ", epsilon=", options_.epsilon, ", momentum=", options_.momentum ? text(*options_.momentum) : "none",
              options_.affine ? "" : ", affine=false", options_.trackRunningStats ? ")" : ", trackRunningStats=false)");
}

LayerNormModule::LayerNormModule(Extents shape, const LayerNormOptions &options) : shape_(std::move(shape)), epsilon_(options.epsilon) {
  weight = addParameter("weight", options.affine ? ones(shape_.values(), placeOf(options)) : Tensor());
  bias = addParameter("bias", options.affine && options.bias ? zeros(shape_.values(), placeOf(options)) : Tensor());
}
std::string LayerNormModule::describe() const { return text("LayerNorm(", spelled(shape_), ", epsilon=", epsilon_, ")"); }

RMSNormModule::RMSNormModule(Extents shape, const RMSNormOptions &options) : shape_(std::move(shape)), epsilon_(options.epsilon) {
  weight = addParameter("weight", options.affine ? ones(shape_.values(), placeOf(options)) : Tensor());
}
std::string RMSNormModule::describe() const { return text("RMSNorm(", spelled(shape_), epsilon_ ? text(", epsilon=", *epsilon_) : "", ")"); }

GroupNormModule::GroupNormModule(int64_t groups, int64_t channels, const GroupNormOptions &options)
    : groups_(groups), channels_(channels), epsilon_(options.epsilon) {
  if (groups < 1 || channels % groups)
    raise(Code::InvalidOption, "GroupNorm: channels ", channels, " must be a multiple of groups ", groups);
  weight = addParameter("weight", options.affine ? ones({channels}, placeOf(options)) : Tensor());
  bias = addParameter("bias", options.affine ? zeros({channels}, placeOf(options)) : Tensor());
}
std::string GroupNormModule::describe() const { return text("GroupNorm(groups=", groups_, ", channels=", channels_, ", epsilon=", epsilon_, ")"); }

InstanceNormModule::InstanceNormModule(int dims, int64_t features, const InstanceNormOptions &options)
    : dims_(dims), features_(features), epsilon_(options.epsilon) {
  weight = addParameter("weight", options.affine ? ones({features}, placeOf(options)) : Tensor());
  bias = addParameter("bias", options.affine ? zeros({features}, placeOf(options)) : Tensor());
}
Tensor InstanceNormModule::forward(const Tensor &x) {
  checkInput("InstanceNorm", x, dims_, features_, false);
  return instanceNorm(x, weight, bias, epsilon_);
}
std::string InstanceNormModule::describe() const { return text("InstanceNorm", dims_, "d(", features_, ", epsilon=", epsilon_, ")"); }

} // namespace graphc::nn
