#include "frontend/graphc/transformer.h"

#include "frontend/graphc/factories.h"
#include "frontend/graphc/init.h"
#include "frontend/tensor/Raise.h"

#include <cmath>
#include <limits>

namespace graphc::nn {

MultiheadAttentionModule::MultiheadAttentionModule(const AttentionLayerOptions &options) : options_(options) {
  if (options.embedding < 1 || options.heads < 1 || options.embedding % options.heads)
    raise(Code::InvalidOption, "MultiheadAttention: embedding ", options.embedding, " must be a multiple of heads ", options.heads);
  TensorOptions place{.dtype = options.dtype, .device = options.device};
  int64_t size = options.embedding;
  inProjWeight = addParameter("in_proj_weight", empty({3 * size, size}, place));
  inProjBias = addParameter("in_proj_bias", options.bias ? zeros({3 * size}, place) : Tensor());
  init::xavierUniform(inProjWeight);
  outProj = add("out_proj", Linear(size, size, {.bias = options.bias, .dtype = options.dtype, .device = options.device}));
  if (options.bias)
    init::constant(outProj->bias, 0);
}

std::pair<Tensor, Tensor> MultiheadAttentionModule::forward(const Tensor &query, const Tensor &key, const Tensor &value, const AttentionCall &call) {
  for (const Tensor *each : {&query, &key, &value})
    if (each->dim() != 3 || each->size(2) != options_.embedding)
      raise(Code::ShapeMismatch, "MultiheadAttention: query, key and value need rank 3 and ", options_.embedding, " features, one is ", each->describe());
  int64_t size = options_.embedding, heads = options_.heads, headSize = size / heads;
  auto batchFirst = [&](const Tensor &x) { return options_.batchFirst ? x : x.transpose(0, 1); };
  // [batch, time, size] -> [batch, heads, time, headSize]
  auto project = [&](const Tensor &x, int64_t part) {
    Tensor bias = inProjBias.defined() ? inProjBias.narrow(0, part * size, size) : Tensor();
    return linear(batchFirst(x), inProjWeight.narrow(0, part * size, size), bias).unflatten(2, {heads, headSize}).transpose(1, 2);
  };
  Tensor q = project(query, 0), k = project(key, 1), v = project(value, 2);
  int64_t batch = q.size(0), queries = q.size(2), keys = k.size(2);

  // Whatever kinds of masks there are become one that is added to the scores.
  Tensor mask;
  auto addMask = [&](const Tensor &given, const std::vector<int64_t> &sizes) {
    Tensor each = given.view(sizes);
    if (each.dtype() == DType::Bool)
      each = zeros(each.sizes(), {.dtype = q.dtype(), .device = q.device()}).maskedFill(each, Scalar(-std::numeric_limits<double>::infinity()));
    mask = mask.defined() ? mask + each : each;
  };
  if (call.mask.defined()) {
    if (call.mask.dim() == 3)
      addMask(call.mask, {batch, heads, queries, keys});
    else
      addMask(call.mask, {1, 1, queries, keys});
  }
  if (call.keyPadding.defined())
    addMask(call.keyPadding, {batch, 1, 1, keys});
  bool causal = call.causal;
  if (causal && (mask.defined() || call.needWeights)) {
    addMask(triu(ones({queries, keys}, {.dtype = DType::Bool, .device = q.device()}), 1), {1, 1, queries, keys});
    causal = false;
  }

  double dropProbability = isTraining() ? options_.dropout : 0;
  Tensor attended, weights;
  if (call.needWeights) {
    Tensor scores = matmul(q * Scalar(1 / std::sqrt(static_cast<double>(headSize))), k.transpose(2, 3));
    if (mask.defined())
      scores = scores + mask;
    Tensor full = dropout(softmax(scores, -1), dropProbability, isTraining());
    attended = matmul(full, v);
    weights = full.mean({1});
  } else {
    attended = scaledDotProductAttention(q, k, v, mask, {.dropout = dropProbability, .causal = causal});
  }
  Tensor output = outProj(attended.transpose(1, 2).flatten(2));
  return {batchFirst(output), weights};
}

std::string MultiheadAttentionModule::describe() const {
  return text("MultiheadAttention(embedding=", options_.embedding, ", heads=", options_.heads, options_.dropout > 0 ? text(", dropout=", options_.dropout) : "", ")");
}

TransformerEncoderLayerModule::TransformerEncoderLayerModule(const EncoderLayerOptions &options) : options_(options) {
  auto place = [&](auto layer) {
    layer.dtype = options.dtype;
    layer.device = options.device;
    return layer;
  };
  selfAttention_ = add("self_attn", MultiheadAttention(place(AttentionLayerOptions{.embedding = options.embedding, .heads = options.heads,
                                                                                   .dropout = options.dropout, .bias = options.bias,
                                                                                   .batchFirst = options.batchFirst})));
  linear1_ = add("linear1", Linear(options.embedding, options.feedforward, place(LinearOptions{.bias = options.bias})));
  dropout_ = add("dropout", Dropout(options.dropout));
  linear2_ = add("linear2", Linear(options.feedforward, options.embedding, place(LinearOptions{.bias = options.bias})));
  LayerNormOptions norm{.epsilon = options.epsilon, .bias = options.bias};
  norm1_ = add("norm1", LayerNorm(options.embedding, place(norm)));
  norm2_ = add("norm2", LayerNorm(options.embedding, place(norm)));
  dropout1_ = add("dropout1", Dropout(options.dropout));
  dropout2_ = add("dropout2", Dropout(options.dropout));
}

Tensor TransformerEncoderLayerModule::attend(const Tensor &x, AttentionCall call) {
  call.needWeights = false;
  return dropout1_(selfAttention_(x, x, x, call).first);
}
Tensor TransformerEncoderLayerModule::feed(const Tensor &x) {
  Tensor hidden = linear1_(x);
  return dropout2_(linear2_(dropout_(options_.gelu ? gelu(hidden) : relu(hidden))));
}
Tensor TransformerEncoderLayerModule::forward(const Tensor &x, const AttentionCall &call) {
  if (options_.normFirst) {
    Tensor y = x + attend(norm1_(x), call);
    return y + feed(norm2_(y));
  }
  Tensor y = norm1_(x + attend(x, call));
  return norm2_(y + feed(y));
}

TransformerEncoderModule::TransformerEncoderModule(const EncoderLayerOptions &options, int64_t layers, bool finalNorm) {
  for (int64_t k = 0; k < layers; ++k)
    layers_->push(TransformerEncoderLayer(options));
  add("layers", layers_);
  if (finalNorm)
    norm_ = add("norm", LayerNorm(options.embedding, {.epsilon = options.epsilon, .bias = options.bias, .dtype = options.dtype, .device = options.device}));
}
Tensor TransformerEncoderModule::forward(const Tensor &x, const AttentionCall &call) {
  Tensor y = x;
  for (const TransformerEncoderLayer &layer : layers_)
    y = layer(y, call);
  return norm_ ? norm_(y) : y;
}

} // namespace graphc::nn
