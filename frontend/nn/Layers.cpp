// Linear, convolution, pooling, dropout, embedding and PReLU. Weights and biases start uniform in ±1/√fan-in.
#include "frontend/graphc/layers.h"

#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/init.h"
#include "frontend/nn/Describe.h"
#include "frontend/tensor/Raise.h"

#include <cmath>

namespace graphc::nn {
namespace {

template <typename Options>
TensorOptions placeOf(const Options &options) {
  return {.dtype = options.dtype, .device = options.device};
}

/// Both from U(±1/√fanIn); a layer that sees nothing stays at zero.
void resetUniform(Tensor &weight, Tensor &bias, int64_t fanIn) {
  double bound = fanIn > 0 ? 1 / std::sqrt(static_cast<double>(fanIn)) : 0;
  init::uniform(weight, -bound, bound);
  if (bias.defined())
    init::uniform(bias, -bound, bound);
}

void checkPositive(const char *layer, const char *what, int64_t value) {
  if (value < 1)
    raise(Code::InvalidOption, layer, ": ", what, " is ", value, ", at least 1 is needed");
}

void checkExtents(const char *layer, const char *what, const Extents &extents, int dims, int64_t least) {
  if (extents.size() != 1 && extents.size() != static_cast<size_t>(dims))
    raise(Code::InvalidOption, layer, ": ", what, " has ", extents.size(), " entries; one for all or ", dims, " are needed");
  for (int64_t each : extents.values())
    if (each < least)
      raise(Code::InvalidOption, layer, ": ", what, " is ", each, ", at least ", least, " is needed");
}

} // namespace

// ---- linear ----

LinearModule::LinearModule(int64_t in, int64_t out, const LinearOptions &options) {
  if (in < 0 || out < 0)
    raise(Code::InvalidOption, "Linear: in ", in, " and out ", out, " must not be negative");
  weight = addParameter("weight", empty({out, in}, placeOf(options)));
  bias = addParameter("bias", options.bias ? empty({out}, placeOf(options)) : Tensor());
  resetParameters();
}
void LinearModule::resetParameters() { resetUniform(weight, bias, weight.size(1)); }
std::string LinearModule::describe() const {
  return text("Linear(in=", weight.size(1), ", out=", weight.size(0), bias.defined() ? ")" : ", bias=false)");
}

std::string FlattenModule::describe() const { return text("Flatten(start=", start_, ", end=", end_, ")"); }

// ---- convolution ----

namespace {
const char *convName(int dims, bool transposed) {
  static constexpr const char *names[2][3] = {{"Conv1d", "Conv2d", "Conv3d"}, {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"}};
  return names[transposed][dims - 1];
}
} // namespace

ConvModule::ConvModule(const char *name, int dims, bool transposed, const ConvLayerOptions &options)
    : name_(name), dims_(dims), transposed_(transposed), options_(options) {
  checkPositive(name, "in", options.in);
  checkPositive(name, "out", options.out);
  checkPositive(name, "groups", options.groups);
  if (options.in % options.groups || options.out % options.groups)
    raise(Code::InvalidOption, name, ": in ", options.in, " and out ", options.out, " must be multiples of groups ", options.groups);
  checkExtents(name, "kernel", options.kernel, dims, 1);
  checkExtents(name, "stride", options.stride, dims, 1);
  checkExtents(name, "padding", options.padding, dims, 0);
  checkExtents(name, "dilation", options.dilation, dims, 1);
  checkExtents(name, "outputPadding", options.outputPadding, dims, 0);
  if (!transposed && !is(options.outputPadding, 0))
    raise(Code::InvalidOption, name, ": outputPadding belongs to transposed convolutions");
  std::vector<int64_t> sizes = transposed ? std::vector{options.in, options.out / options.groups} : std::vector{options.out, options.in / options.groups};
  for (int dim = 0; dim < dims; ++dim)
    sizes.push_back(options.kernel.at(static_cast<size_t>(dim)));
  weight = addParameter("weight", empty(sizes, placeOf(options)));
  bias = addParameter("bias", options.bias ? empty({options.out}, placeOf(options)) : Tensor());
  resetParameters();
}

void ConvModule::resetParameters() { resetUniform(weight, bias, init::fans(weight).in); }

Tensor ConvModule::forward(const Tensor &x) {
  if (transposed_) {
    ConvTransposeOptions call{.stride = options_.stride, .padding = options_.padding, .outputPadding = options_.outputPadding,
                              .dilation = options_.dilation, .groups = options_.groups};
    auto conv = dims_ == 1 ? convTranspose1d : dims_ == 2 ? convTranspose2d : convTranspose3d;
    return conv(x, weight, bias, call);
  }
  ConvOptions call{.stride = options_.stride, .padding = options_.padding, .dilation = options_.dilation, .groups = options_.groups};
  auto conv = dims_ == 1 ? conv1d : dims_ == 2 ? conv2d : conv3d;
  return conv(x, weight, bias, call);
}

std::string ConvModule::describe() const {
  std::string out = text(name_, "(in=", options_.in, ", out=", options_.out, ", kernel=", spelled(options_.kernel));
  if (!is(options_.stride, 1))
    out += text(", stride=", spelled(options_.stride));
  if (!is(options_.padding, 0))
    out += text(", padding=", spelled(options_.padding));
  if (!is(options_.outputPadding, 0))
    out += text(", outputPadding=", spelled(options_.outputPadding));
  if (!is(options_.dilation, 1))
    out += text(", dilation=", spelled(options_.dilation));
  if (options_.groups != 1)
    out += text(", groups=", options_.groups);
  return out + (options_.bias ? ")" : ", bias=false)");
}

template <int dims, bool transposed>
ConvHandle<dims, transposed>::ConvHandle(const ConvLayerOptions &options)
    : Handle(std::make_shared<ConvModule>(convName(dims, transposed), dims, transposed, options)) {}
template class ConvHandle<1, false>;
template class ConvHandle<2, false>;
template class ConvHandle<3, false>;
template class ConvHandle<1, true>;
template class ConvHandle<2, true>;
template class ConvHandle<3, true>;

// ---- pooling ----

namespace {
std::string poolName(PoolKind kind, int dims) { return text(kind == PoolKind::Max ? "MaxPool" : "AvgPool", dims, "d"); }
} // namespace

PoolModule::PoolModule(PoolKind kind, int dims, const PoolLayerOptions &options) : kind_(kind), dims_(dims), options_(options) {
  std::string name = poolName(kind, dims);
  checkExtents(name.c_str(), "kernel", options.kernel, dims, 1);
  if (options.stride)
    checkExtents(name.c_str(), "stride", *options.stride, dims, 1);
  checkExtents(name.c_str(), "padding", options.padding, dims, 0);
  checkExtents(name.c_str(), "dilation", options.dilation, dims, 1);
  if (kind == PoolKind::Average && !is(options.dilation, 1))
    raise(Code::InvalidOption, name, ": dilation belongs to max pooling");
}

Tensor PoolModule::forward(const Tensor &x) {
  PoolOptions call{.stride = options_.stride.value_or(options_.kernel), .padding = options_.padding, .dilation = options_.dilation,
                   .ceilMode = options_.ceilMode, .countIncludePad = options_.countIncludePad};
  auto pool = kind_ == PoolKind::Max ? (dims_ == 1 ? maxPool1d : dims_ == 2 ? maxPool2d : maxPool3d)
                                     : (dims_ == 1 ? avgPool1d : dims_ == 2 ? avgPool2d : avgPool3d);
  return pool(x, options_.kernel, call);
}

std::string PoolModule::describe() const {
  std::string out = text(poolName(kind_, dims_), "(kernel=", spelled(options_.kernel));
  if (options_.stride)
    out += text(", stride=", spelled(*options_.stride));
  if (!is(options_.padding, 0))
    out += text(", padding=", spelled(options_.padding));
  if (!is(options_.dilation, 1))
    out += text(", dilation=", spelled(options_.dilation));
  if (options_.ceilMode)
    out += ", ceilMode=true";
  if (!options_.countIncludePad)
    out += ", countIncludePad=false";
  return out + ")";
}

std::string AdaptiveAvgPool2dModule::describe() const { return text("AdaptiveAvgPool2d(", spelled(output_), ")"); }

// ---- dropout, embedding, PReLU ----

DropoutModule::DropoutModule(double probability) : probability_(probability) {
  if (!(probability >= 0 && probability <= 1))
    raise(Code::InvalidOption, "Dropout: probability is ", probability, ", it must be in 0…1");
}
std::string DropoutModule::describe() const { return text("Dropout(", probability_, ")"); }

EmbeddingModule::EmbeddingModule(int64_t rows, int64_t size, const EmbeddingOptions &options) : paddingIndex_(options.paddingIndex) {
  checkPositive("Embedding", "rows", rows);
  checkPositive("Embedding", "size", size);
  if (paddingIndex_ && *paddingIndex_ < 0)
    *paddingIndex_ += rows;
  if (paddingIndex_ && (*paddingIndex_ < 0 || *paddingIndex_ >= rows))
    raise(Code::IndexOutOfRange, "Embedding: paddingIndex ", *options.paddingIndex, " is out of range for ", rows, " rows");
  weight = addParameter("weight", empty({rows, size}, placeOf(options)));
  init::normal(weight);
  if (paddingIndex_) {
    NoGrad guard;
    weight.select(0, *paddingIndex_).fill_(0);
  }
}
std::string EmbeddingModule::describe() const {
  return text("Embedding(rows=", weight.size(0), ", size=", weight.size(1), paddingIndex_ ? text(", paddingIndex=", *paddingIndex_) : "", ")");
}

PReLUModule::PReLUModule(const PReLUOptions &options) {
  checkPositive("PReLU", "parameters", options.parameters);
  weight = addParameter("weight", full({options.parameters}, Scalar(options.initial), placeOf(options)));
}
std::string PReLUModule::describe() const { return text("PReLU(parameters=", weight.size(0), ")"); }

} // namespace graphc::nn
