// Attention over several heads, and the encoder built from it.
#pragma once

#include "frontend/graphc/layers.h"

namespace graphc::nn {

struct AttentionLayerOptions {
  int64_t embedding = 0, heads = 1;
  double dropout = 0;
  bool bias = true, batchFirst = false;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
struct AttentionCall {
  Tensor keyPadding;  // bool [batch, keys]: true is left out
  Tensor mask;        // [queries, keys] or [batch × heads, queries, keys]: bool, true is left out; or float, added
  bool causal = false;
  bool needWeights = true; // the weights' mean over the heads, else an undefined tensor and a faster path
};
class MultiheadAttentionModule : public Module {
public:
  explicit MultiheadAttentionModule(const AttentionLayerOptions &options);
  /// [time, batch, embedding], or [batch, time, embedding] with batchFirst. Gives the output and the weights.
  std::pair<Tensor, Tensor> forward(const Tensor &query, const Tensor &key, const Tensor &value, const AttentionCall &call = {});
  std::string describe() const override;
  Tensor inProjWeight, inProjBias; // [3 embedding, embedding], [3 embedding]: query, key, value
  Linear outProj;

private:
  AttentionLayerOptions options_;
};
class MultiheadAttention : public Handle<MultiheadAttentionModule> {
public:
  using Handle::Handle;
  MultiheadAttention(const AttentionLayerOptions &options) : Handle(std::make_shared<MultiheadAttentionModule>(options)) {}
  MultiheadAttention(int64_t embedding, int64_t heads) : MultiheadAttention(AttentionLayerOptions{.embedding = embedding, .heads = heads}) {}
};

struct EncoderLayerOptions {
  int64_t embedding = 0, heads = 1, feedforward = 2048;
  double dropout = .1;
  bool gelu = false; // else relu
  double epsilon = 1e-5;
  bool batchFirst = false, normFirst = false, bias = true;
  std::optional<DType> dtype;
  std::optional<Device> device;
};
class TransformerEncoderLayerModule : public Module {
public:
  explicit TransformerEncoderLayerModule(const EncoderLayerOptions &options);
  Tensor forward(const Tensor &x, const AttentionCall &call = {});
  std::string describe() const override { return "TransformerEncoderLayer"; }

private:
  Tensor attend(const Tensor &x, AttentionCall call);
  Tensor feed(const Tensor &x);
  EncoderLayerOptions options_;
  MultiheadAttention selfAttention_;
  Linear linear1_, linear2_;
  LayerNorm norm1_, norm2_;
  Dropout dropout_, dropout1_, dropout2_;
};
class TransformerEncoderLayer : public Handle<TransformerEncoderLayerModule> {
public:
  using Handle::Handle;
  TransformerEncoderLayer(const EncoderLayerOptions &options) : Handle(std::make_shared<TransformerEncoderLayerModule>(options)) {}
};

/// Layers of the same options one after the other, each with parameters of its own; "layers.0", …, and "norm" when asked for.
class TransformerEncoderModule : public Module {
public:
  TransformerEncoderModule(const EncoderLayerOptions &options, int64_t layers, bool finalNorm);
  Tensor forward(const Tensor &x, const AttentionCall &call = {});
  std::string describe() const override { return "TransformerEncoder"; }

private:
  ModuleList<TransformerEncoderLayer> layers_;
  LayerNorm norm_ = nullptr;
};
class TransformerEncoder : public Handle<TransformerEncoderModule> {
public:
  using Handle::Handle;
  TransformerEncoder(const EncoderLayerOptions &options, int64_t layers, bool finalNorm = false)
      : Handle(std::make_shared<TransformerEncoderModule>(options, layers, finalNorm)) {}
};

} // namespace graphc::nn
