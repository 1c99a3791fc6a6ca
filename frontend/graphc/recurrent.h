// RNN, LSTM and GRU over sequences [time, batch, features], or [batch, time, features] with `batchFirst`.
#pragma once

#include "frontend/graphc/module.h"
#include "frontend/graphc/ops.h"

#include <optional>

namespace graphc::nn {

struct RecurrentOptions {
  int64_t input = 0, hidden = 0, layers = 1;
  bool bias = true, batchFirst = false, bidirectional = false;
  double dropout = 0;             // between layers, in training
  bool relu = false;              // RNN only: relu instead of tanh
  std::optional<DType> dtype;
  std::optional<Device> device;
};

/// Parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, …_l0_reverse, …_l1; the gates of a layer are stacked in
/// the first dimension: LSTM input, forget, cell, output; GRU reset, update, new.
class RecurrentModule : public Module {
public:
  std::string describe() const override;
  void resetParameters();
  const RecurrentOptions &options() const { return options_; }

protected:
  struct Layer {
    Tensor weightIh, weightHh, biasIh, biasHh;
  };
  RecurrentModule(const char *name, int64_t gates, const RecurrentOptions &options);
  /// One step of one layer: `projected` is W_ih x + b_ih; states are h (and c).
  virtual std::vector<Tensor> step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) = 0;
  /// Runs all layers; `states` are [layers × directions, batch, hidden] or undefined for zeros. Gives the output and the last states.
  std::pair<Tensor, std::vector<Tensor>> run(const Tensor &x, std::vector<Tensor> states, size_t stateCount);

  RecurrentOptions options_;

private:
  const char *name_;
  std::vector<Layer> layers_; // layer by layer, forward before reverse
};

class RNNModule : public RecurrentModule {
public:
  explicit RNNModule(const RecurrentOptions &options) : RecurrentModule("RNN", 1, options) {}
  /// Output of every step and the last hidden state.
  std::pair<Tensor, Tensor> forward(const Tensor &x, const Tensor &h0 = {});

private:
  std::vector<Tensor> step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) override;
};
class GRUModule : public RecurrentModule {
public:
  explicit GRUModule(const RecurrentOptions &options) : RecurrentModule("GRU", 3, options) {}
  std::pair<Tensor, Tensor> forward(const Tensor &x, const Tensor &h0 = {});

private:
  std::vector<Tensor> step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) override;
};
class LSTMModule : public RecurrentModule {
public:
  explicit LSTMModule(const RecurrentOptions &options) : RecurrentModule("LSTM", 4, options) {}
  /// Output of every step and the last (h, c).
  std::pair<Tensor, std::pair<Tensor, Tensor>> forward(const Tensor &x, const std::pair<Tensor, Tensor> &state = {});

private:
  std::vector<Tensor> step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) override;
};

template <typename ModuleType>
class RecurrentHandle : public Handle<ModuleType> {
public:
  using Handle<ModuleType>::Handle;
  RecurrentHandle(const RecurrentOptions &options) : Handle<ModuleType>(std::make_shared<ModuleType>(options)) {}
  RecurrentHandle(int64_t input, int64_t hidden, int64_t layers = 1)
      : RecurrentHandle(RecurrentOptions{.input = input, .hidden = hidden, .layers = layers}) {}
};
using RNN = RecurrentHandle<RNNModule>;
using GRU = RecurrentHandle<GRUModule>;
using LSTM = RecurrentHandle<LSTMModule>;

} // namespace graphc::nn
