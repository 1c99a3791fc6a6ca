// Layers, with the names, formulas and initial distributions of PyTorch's. Options are plain structs:
//
//   nn::Conv2d conv({.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3});
//
// `dtype` and `device` say where parameters are made; by default what the thread's context says.
#pragma once

#include "frontend/graphc/module.h"
#include "frontend/graphc/ops.h"

#include <optional>

namespace graphc::nn {

// ---- linear ----
struct LinearOptions {
  bool bias = true;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class LinearModule : public Module {
public:
  LinearModule(int64_t in, int64_t out, const LinearOptions &options);
  Tensor forward(const Tensor &x) { return linear(x, weight, bias); }
  std::string describe() const override;
  void resetParameters();
  Tensor weight, bias; // [out, in], [out]
};
class Linear : public Handle<LinearModule> {
public:
  using Handle::Handle;
  Linear(int64_t in, int64_t out, const LinearOptions &options = {}) : Handle(std::make_shared<LinearModule>(in, out, options)) {}
};

class IdentityModule : public Module {
public:
  Tensor forward(const Tensor &x) { return x; }
  std::string describe() const override { return "Identity"; }
};
class Identity : public Handle<IdentityModule> {
public:
  using Handle::Handle;
  Identity() : Handle(std::make_shared<IdentityModule>()) {}
};

class FlattenModule : public Module {
public:
  FlattenModule(int64_t start, int64_t end) : start_(start), end_(end) {}
  Tensor forward(const Tensor &x) { return x.flatten(start_, end_); }
  std::string describe() const override;

private:
  int64_t start_, end_;
};
class Flatten : public Handle<FlattenModule> {
public:
  using Handle::Handle;
  Flatten(int64_t start = 1, int64_t end = -1) : Handle(std::make_shared<FlattenModule>(start, end)) {}
};

// ---- convolution ----
struct ConvLayerOptions {
  int64_t in = 0, out = 0;
  Extents kernel = 1, stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Extents outputPadding = 0; // of transposed convolutions
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class ConvModule : public Module {
public:
  ConvModule(const char *name, int dims, bool transposed, const ConvLayerOptions &options);
  Tensor forward(const Tensor &x);
  std::string describe() const override;
  void resetParameters();
  const ConvLayerOptions &options() const { return options_; }
  Tensor weight, bias; // [out, in / groups, kernel…]; transposed: [in, out / groups, kernel…]

private:
  const char *name_;
  int dims_;
  bool transposed_;
  ConvLayerOptions options_;
};
template <int dims, bool transposed>
class ConvHandle : public Handle<ConvModule> {
public:
  using Handle::Handle;
  ConvHandle(const ConvLayerOptions &options);
  ConvHandle(int64_t in, int64_t out, Extents kernel) : ConvHandle(ConvLayerOptions{.in = in, .out = out, .kernel = std::move(kernel)}) {}
};
using Conv1d = ConvHandle<1, false>;
using Conv2d = ConvHandle<2, false>;
using Conv3d = ConvHandle<3, false>;
using ConvTranspose1d = ConvHandle<1, true>;
using ConvTranspose2d = ConvHandle<2, true>;
using ConvTranspose3d = ConvHandle<3, true>;

// ---- pooling ----
enum class PoolKind : uint8_t { Max, Average };
struct PoolLayerOptions {
  Extents kernel = 2;
  std::optional<Extents> stride; // default: the kernel
  Extents padding = 0, dilation = 1; // dilation: max only
  bool ceilMode = false, countIncludePad = true; // countIncludePad: average only
};
class PoolModule : public Module {
public:
  PoolModule(PoolKind kind, int dims, const PoolLayerOptions &options);
  Tensor forward(const Tensor &x);
  std::string describe() const override;

private:
  PoolKind kind_;
  int dims_;
  PoolLayerOptions options_;
};
template <PoolKind kind, int dims>
class PoolHandle : public Handle<PoolModule> {
public:
  using Handle::Handle;
  PoolHandle(const PoolLayerOptions &options) : Handle(std::make_shared<PoolModule>(kind, dims, options)) {}
  PoolHandle(int64_t kernel) : PoolHandle(PoolLayerOptions{.kernel = kernel}) {}
};
using MaxPool1d = PoolHandle<PoolKind::Max, 1>;
using MaxPool2d = PoolHandle<PoolKind::Max, 2>;
using MaxPool3d = PoolHandle<PoolKind::Max, 3>;
using AvgPool1d = PoolHandle<PoolKind::Average, 1>;
using AvgPool2d = PoolHandle<PoolKind::Average, 2>;
using AvgPool3d = PoolHandle<PoolKind::Average, 3>;

class AdaptiveAvgPool2dModule : public Module {
public:
  explicit AdaptiveAvgPool2dModule(Extents output) : output_(std::move(output)) {}
  Tensor forward(const Tensor &x) { return adaptiveAvgPool2d(x, output_); }
  std::string describe() const override;

private:
  Extents output_;
};
class AdaptiveAvgPool2d : public Handle<AdaptiveAvgPool2dModule> {
public:
  using Handle::Handle;
  AdaptiveAvgPool2d(Extents output) : Handle(std::make_shared<AdaptiveAvgPool2dModule>(std::move(output))) {}
};

// ---- normalisation ----
struct BatchNormOptions {
  double epsilon = 1e-5;
  std::optional<double> momentum = .1; // nothing: the average over all batches so far
  bool affine = true, trackRunningStats = true;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class BatchNormModule : public Module {
public:
  BatchNormModule(int dims, int64_t features, const BatchNormOptions &options);
  Tensor forward(const Tensor &x);
  std::string describe() const override;
  void resetRunningStats();
  Tensor weight, bias, runningMean, runningVar, numBatchesTracked;

private:
  int dims_;
  int64_t features_;
  BatchNormOptions options_;
};
template <int dims>
class BatchNormHandle : public Handle<BatchNormModule> {
public:
  using Handle::Handle;
  BatchNormHandle(int64_t features, const BatchNormOptions &options = {}) : Handle(std::make_shared<BatchNormModule>(dims, features, options)) {}
};
using BatchNorm1d = BatchNormHandle<1>;
using BatchNorm2d = BatchNormHandle<2>;
using BatchNorm3d = BatchNormHandle<3>;

struct LayerNormOptions {
  double epsilon = 1e-5;
  bool affine = true, bias = true;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class LayerNormModule : public Module {
public:
  LayerNormModule(Extents shape, const LayerNormOptions &options);
  Tensor forward(const Tensor &x) { return layerNorm(x, shape_.values(), weight, bias, epsilon_); }
  std::string describe() const override;
  Tensor weight, bias;

private:
  Extents shape_;
  double epsilon_;
};
class LayerNorm : public Handle<LayerNormModule> {
public:
  using Handle::Handle;
  LayerNorm(Extents shape, const LayerNormOptions &options = {}) : Handle(std::make_shared<LayerNormModule>(std::move(shape), options)) {}
};

struct RMSNormOptions {
  std::optional<double> epsilon; // default: the dtype's
  bool affine = true;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class RMSNormModule : public Module {
public:
  RMSNormModule(Extents shape, const RMSNormOptions &options);
  Tensor forward(const Tensor &x) { return rmsNorm(x, shape_.values(), weight, epsilon_); }
  std::string describe() const override;
  Tensor weight;

private:
  Extents shape_;
  std::optional<double> epsilon_;
};
class RMSNorm : public Handle<RMSNormModule> {
public:
  using Handle::Handle;
  RMSNorm(Extents shape, const RMSNormOptions &options = {}) : Handle(std::make_shared<RMSNormModule>(std::move(shape), options)) {}
};

struct GroupNormOptions {
  double epsilon = 1e-5;
  bool affine = true;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class GroupNormModule : public Module {
public:
  GroupNormModule(int64_t groups, int64_t channels, const GroupNormOptions &options);
  Tensor forward(const Tensor &x) { return groupNorm(x, groups_, weight, bias, epsilon_); }
  std::string describe() const override;
  Tensor weight, bias;

private:
  int64_t groups_, channels_;
  double epsilon_;
};
class GroupNorm : public Handle<GroupNormModule> {
public:
  using Handle::Handle;
  GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions &options = {})
      : Handle(std::make_shared<GroupNormModule>(groups, channels, options)) {}
};

struct InstanceNormOptions {
  double epsilon = 1e-5;
  bool affine = false;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class InstanceNormModule : public Module {
public:
  InstanceNormModule(int dims, int64_t features, const InstanceNormOptions &options);
  Tensor forward(const Tensor &x);
  std::string describe() const override;
  Tensor weight, bias;

private:
  int dims_;
  int64_t features_;
  double epsilon_;
};
template <int dims>
class InstanceNormHandle : public Handle<InstanceNormModule> {
public:
  using Handle::Handle;
  InstanceNormHandle(int64_t features, const InstanceNormOptions &options = {})
      : Handle(std::make_shared<InstanceNormModule>(dims, features, options)) {}
};
using InstanceNorm1d = InstanceNormHandle<1>;
using InstanceNorm2d = InstanceNormHandle<2>;
using InstanceNorm3d = InstanceNormHandle<3>;

// ---- dropout and embedding ----
class DropoutModule : public Module {
public:
  explicit DropoutModule(double probability);
  Tensor forward(const Tensor &x) { return dropout(x, probability_, isTraining()); }
  std::string describe() const override;

private:
  double probability_;
};
class Dropout : public Handle<DropoutModule> {
public:
  using Handle::Handle;
  Dropout(double probability = .5) : Handle(std::make_shared<DropoutModule>(probability)) {}
};

struct EmbeddingOptions {
  std::optional<int64_t> paddingIndex;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class EmbeddingModule : public Module {
public:
  EmbeddingModule(int64_t rows, int64_t size, const EmbeddingOptions &options);
  Tensor forward(const Tensor &indices) { return embedding(indices, weight, paddingIndex_); }
  std::string describe() const override;
  Tensor weight; // [rows, size]

private:
  std::optional<int64_t> paddingIndex_;
};
class Embedding : public Handle<EmbeddingModule> {
public:
  using Handle::Handle;
  Embedding(int64_t rows, int64_t size, const EmbeddingOptions &options = {}) : Handle(std::make_shared<EmbeddingModule>(rows, size, options)) {}
};

// ---- activations ----
class ActivationModule : public Module {
public:
  ActivationModule(std::string description, std::function<Tensor(const Tensor &)> fn) : description_(std::move(description)), fn_(std::move(fn)) {}
  Tensor forward(const Tensor &x) { return fn_(x); }
  std::string describe() const override { return description_; }

private:
  std::string description_;
  std::function<Tensor(const Tensor &)> fn_;
};
class Activation : public Handle<ActivationModule> {
public:
  using Handle::Handle;
  Activation(std::string description, std::function<Tensor(const Tensor &)> fn)
      : Handle(std::make_shared<ActivationModule>(std::move(description), std::move(fn))) {}
};
Activation ReLU();
Activation ReLU6();
Activation LeakyReLU(double negativeSlope = .01);
Activation ELU(double alpha = 1);
Activation SELU();
Activation CELU(double alpha = 1);
Activation GELU(bool tanh = false);
Activation SiLU();
Activation Mish();
Activation Sigmoid();
Activation LogSigmoid();
Activation Tanh();
Activation Softplus(double beta = 1, double threshold = 20);
Activation Softsign();
Activation Softshrink(double lambda = .5);
Activation Hardshrink(double lambda = .5);
Activation Hardtanh(double low = -1, double high = 1);
Activation Hardsigmoid();
Activation Hardswish();
Activation Threshold(double threshold, double value);
Activation Tanhshrink();
Activation GLU(int64_t dim = -1);
Activation Softmax(int64_t dim);
Activation LogSoftmax(int64_t dim);

struct PReLUOptions {
  int64_t parameters = 1;
  double initial = .25;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class PReLUModule : public Module {
public:
  explicit PReLUModule(const PReLUOptions &options);
  Tensor forward(const Tensor &x) { return prelu(x, weight); }
  std::string describe() const override;
  Tensor weight;
};
class PReLU : public Handle<PReLUModule> {
public:
  using Handle::Handle;
  PReLU(int64_t parameters = 1) : PReLU(PReLUOptions{.parameters = parameters}) {}
  PReLU(const PReLUOptions &options) : Handle(std::make_shared<PReLUModule>(options)) {}
};

} // namespace graphc::nn
