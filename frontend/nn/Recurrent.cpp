// Recurrent layers as loops over time. The projections of all inputs are one product per layer and direction; only the
// recurrent product is left for the loop.
#include "frontend/graphc/recurrent.h"

#include "frontend/graphc/factories.h"
#include "frontend/graphc/init.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <cmath>

namespace graphc::nn {

RecurrentModule::RecurrentModule(const char *name, int64_t gates, const RecurrentOptions &options)
    : options_(options), name_(name) {
  if (options.input < 1 || options.hidden < 1 || options.layers < 1)
    raise(Code::InvalidOption, name, ": input ", options.input, ", hidden ", options.hidden, " and layers ", options.layers, " must be at least 1");
  if (!(options.dropout >= 0 && options.dropout <= 1))
    raise(Code::InvalidOption, name, ": dropout is ", options.dropout, ", it must be in 0…1");
  TensorOptions place{.dtype = options.dtype, .device = options.device};
  int64_t directions = options.bidirectional ? 2 : 1, rows = gates * options.hidden;
  for (int64_t layer = 0; layer < options.layers; ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      std::string suffix = text("_l", layer, direction ? "_reverse" : "");
      int64_t input = layer == 0 ? options.input : options.hidden * directions;
      Layer each;
      each.weightIh = addParameter("weight_ih" + suffix, empty({rows, input}, place));
      each.weightHh = addParameter("weight_hh" + suffix, empty({rows, options.hidden}, place));
      if (options.bias) {
        each.biasIh = addParameter("bias_ih" + suffix, empty({rows}, place));
        each.biasHh = addParameter("bias_hh" + suffix, empty({rows}, place));
      }
      layers_.push_back(each);
    }
  resetParameters();
}

void RecurrentModule::resetParameters() {
  double bound = 1 / std::sqrt(static_cast<double>(options_.hidden));
  for (Tensor &parameter : parameters(false))
    init::uniform(parameter, -bound, bound);
}

std::pair<Tensor, std::vector<Tensor>> RecurrentModule::run(const Tensor &input, std::vector<Tensor> states, size_t stateCount) {
  if (input.dim() != 3)
    raise(Code::InputRank, name_, ": needs an input of rank 3, this is ", input.describe());
  if (input.size(2) != options_.input)
    raise(Code::ShapeMismatch, name_, ": made for ", options_.input, " features, the input is ", input.describe());
  Tensor x = options_.batchFirst ? input.transpose(0, 1) : input;
  int64_t time = x.size(0), batch = x.size(1), directions = options_.bidirectional ? 2 : 1, runs = options_.layers * directions;
  for (Tensor &state : states) {
    std::vector<int64_t> wanted = {runs, batch, options_.hidden};
    if (!state.defined())
      state = zeros(wanted, {.dtype = input.dtype(), .device = input.device()});
    else if (!std::ranges::equal(state.sizes(), wanted))
      raise(Code::ShapeMismatch, name_, ": the initial state must be [", joined(wanted), "], it is ", state.describe());
  }
  std::vector<std::vector<Tensor>> last(stateCount);
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> sides;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t which = layer * directions + direction;
      const Layer &weights = layers_[static_cast<size_t>(which)];
      std::vector<Tensor> steps = linear(x, weights.weightIh, weights.biasIh).unbind(0), outputs(static_cast<size_t>(time));
      std::vector<Tensor> now;
      for (size_t k = 0; k < stateCount; ++k)
        now.push_back(states[k].select(0, which));
      for (int64_t k = 0; k < time; ++k) {
        size_t t = static_cast<size_t>(direction ? time - 1 - k : k);
        now = step(steps[t], weights, now);
        outputs[t] = now[0];
      }
      sides.push_back(stack(outputs, 0));
      for (size_t k = 0; k < stateCount; ++k)
        last[k].push_back(now[k]);
    }
    x = sides.size() == 1 ? sides[0] : cat(sides, 2);
    if (layer + 1 < options_.layers)
      x = dropout(x, options_.dropout, isTraining());
  }
  std::vector<Tensor> finals;
  for (std::vector<Tensor> &each : last)
    finals.push_back(stack(each, 0));
  return {options_.batchFirst ? x.transpose(0, 1) : x, std::move(finals)};
}

std::string RecurrentModule::describe() const {
  return text(name_, "(input=", options_.input, ", hidden=", options_.hidden, ", layers=", options_.layers, options_.bidirectional ? ", bidirectional=true" : "",
              options_.batchFirst ? ", batchFirst=true)" : ")");
}

std::vector<Tensor> RNNModule::step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) {
  Tensor sum = projected + linear(states[0], layer.weightHh, layer.biasHh);
  return {options_.relu ? relu(sum) : tanh(sum)};
}
std::pair<Tensor, Tensor> RNNModule::forward(const Tensor &x, const Tensor &h0) {
  auto [output, last] = run(x, {h0}, 1);
  return {output, last[0]};
}

// The reset gate works on the recurrent product, bias included.
std::vector<Tensor> GRUModule::step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) {
  const Tensor &h = states[0];
  std::vector<Tensor> in = projected.chunk(3, 1), recurrent = linear(h, layer.weightHh, layer.biasHh).chunk(3, 1);
  Tensor reset = sigmoid(in[0] + recurrent[0]), update = sigmoid(in[1] + recurrent[1]);
  Tensor fresh = tanh(in[2] + reset * recurrent[2]);
  return {fresh + update * (h - fresh)};
}
std::pair<Tensor, Tensor> GRUModule::forward(const Tensor &x, const Tensor &h0) {
  auto [output, last] = run(x, {h0}, 1);
  return {output, last[0]};
}

std::vector<Tensor> LSTMModule::step(const Tensor &projected, const Layer &layer, const std::vector<Tensor> &states) {
  std::vector<Tensor> gates = (projected + linear(states[0], layer.weightHh, layer.biasHh)).chunk(4, 1);
  Tensor c = sigmoid(gates[1]) * states[1] + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}
std::pair<Tensor, std::pair<Tensor, Tensor>> LSTMModule::forward(const Tensor &x, const std::pair<Tensor, Tensor> &state) {
  auto [output, last] = run(x, {state.first, state.second}, 2);
  return {output, {last[0], last[1]}};
}

} // namespace graphc::nn
