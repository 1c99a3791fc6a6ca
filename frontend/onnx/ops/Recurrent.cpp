// LSTM, GRU and RNN as scans. What does not depend on the state, the products of all inputs with W and the biases, stands in front
// of the scan as one product; the body has one product with R and the formulas of the gates.
//
//     [seq, batch, input] ── x · Wᵀ + b ──► scan over seq, carrying h (and c): gates = slice + h · Rᵀ; h, c = cell(gates, c)
#include "frontend/onnx/Node.h"
#include "ir/graph/Control.h"

#include <cmath>

namespace graphc::onnx_import {

using namespace mlir;

namespace {

/// An activation function by its ONNX name.
struct Activation {
  std::string name;
  std::optional<double> alpha, beta;

  Value operator()(Node &n, Value x) const {
    auto a = [&](double otherwise) { return n.attr("alpha", alpha.value_or(otherwise)); };
    auto b = [&](double otherwise) { return n.attr("beta", beta.value_or(otherwise)); };
    if (name == "Sigmoid")
      return n.apply<graph::SigmoidOp>({x});
    if (name == "Tanh")
      return n.tanh(x);
    if (name == "Relu")
      return n.apply<graph::ReluOp>({x});
    if (name == "LeakyRelu")
      return n.apply<graph::LeakyReluOp>({x}, {a(0.01)});
    if (name == "ThresholdedRelu")
      return n.apply<graph::ThresholdedReluOp>({x}, {a(1)});
    if (name == "Elu")
      return n.apply<graph::EluOp>({x}, {a(1)});
    if (name == "HardSigmoid")
      return n.apply<graph::HardSigmoidOp>({x}, {a(0.2), b(0.5)});
    if (name == "Softsign")
      return n.apply<graph::SoftsignOp>({x});
    if (name == "Softplus")
      return n.apply<graph::SoftplusOp>({x});
    if (name == "Affine")
      return n.add(n.mul(x, n.like(x, alpha.value_or(1))), n.like(x, beta.value_or(0)));
    if (name == "ScaledTanh")
      return n.mul(n.tanh(n.mul(x, n.like(x, beta.value_or(1)))), n.like(x, alpha.value_or(1)));
    unsupported("the activation ", name);
  }
};

/// What the three operators have in common. One direction at a time is built by `cell`.
class Recurrent {
public:
  Recurrent(Node &n, int64_t gates, int64_t states) : n(n), gates(gates), states(states) {
    layout = n.i("layout", 0);
    std::string direction = n.s("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      fail(Code::ModelMalformed, "direction is \"", direction, "\"; forward, reverse and bidirectional exist");
    directions = direction == "bidirectional" ? 2 : 1;
    firstReversed = direction == "reverse";
    x = n.x(0);
    w = n.x(1);
    r = n.x(2);
    if (Build::rank(x) != 3 || Build::rank(w) != 3 || Build::rank(r) != 3)
      fail(Code::ShapeMismatch, "X, W and R need rank 3, got shapes ", Build::shapeText(x), ", ", Build::shapeText(w), " and ", Build::shapeText(r));
    if (layout)
      x = n.transpose(x, {1, 0, 2});
    auto dims = Build::dims(x);
    length = dims[0];
    batch = dims[1];
    input = dims[2];
    hidden = n.staticDim(r, 2, "the hidden size");
    if (int64_t declared = n.i("hidden_size", hidden); declared != hidden)
      fail(Code::ShapeMismatch, "hidden_size is ", declared, ", but R has shape ", Build::shapeText(r));
    expect(w, {n.size(directions), n.size(gates * hidden), input}, "W");
    expect(r, {n.size(directions), n.size(gates * hidden), n.size(hidden)}, "R");
    if (n.has(3))
      expect(n.x(3), {n.size(directions), n.size(2 * gates * hidden)}, "B");
    clip = n.hasAttr("clip") ? std::optional(n.f("clip", 0)) : std::nullopt;
    readLengths();
    readActivations();
  }

  /// gates of one step: `x` [batch, gates * hidden] from the input, the state, and which direction it is.
  using Cell = llvm::function_ref<llvm::SmallVector<Value>(Value x, ArrayRef<Value> state, int64_t direction)>;

  /// Y, then the last state values, in ONNX's order of dims. `withBias`: B's second half is added in front of the scan too.
  void run(llvm::function_ref<Value(int64_t direction)> bias, Cell cell) {
    std::vector<llvm::SmallVector<Value>> all(1 + states);
    for (int64_t d = 0; d < directions; ++d) {
      auto results = runDirection(d, bias(d), cell);
      for (int64_t i = 0; i <= states; ++i)
        all[i].push_back(results[i]);
    }
    // Y: [seq, directions, batch, hidden], or [batch, seq, directions, hidden]; states: [directions, batch, hidden] or [batch, directions, hidden].
    llvm::SmallVector<Value> outputs;
    for (int64_t i = 0; i <= states; ++i) {
      int64_t axis = i == 0 ? (layout ? 2 : 1) : (layout ? 1 : 0);
      llvm::SmallVector<Value> parts;
      for (Value v : all[i]) {
        if (i == 0 && layout)
          v = n.transpose(v, {1, 0, 2});
        parts.push_back(n.unsqueeze(v, axis));
      }
      outputs.push_back(parts.size() == 1 ? parts[0] : n.concat(parts, axis));
    }
    for (size_t i = 0; i < n.outputCount(); ++i)
      n.out(i, outputs[i]);
  }

  //===-- words for the cells ---------------------------------------------------------------------------------------===//
  /// Part `gate` of [batch, gates * hidden].
  Value gate(Value all, int64_t gate) { return n.slice(all, 1, n.size(gate * hidden), n.size(hidden)); }
  Value clipped(Value v) { return clip ? n.apply<graph::ClampOp>({v}, {n.attr("alpha", -*clip), n.attr("beta", *clip)}) : v; }
  const Activation &activation(int64_t direction, int64_t number) { return activations[direction * (states == 2 ? 3 : gates == 3 ? 2 : 1) + number]; }
  /// The state's product with rows [first, first + count) · hidden of one direction's R.
  Value recurrence(Value state, int64_t direction, int64_t first, int64_t count) {
    Value own = n.reshape(n.slice(r, 0, n.size(direction), n.size(1)), {n.size(gates * hidden), n.size(hidden)});
    own = n.slice(own, 0, n.size(first * hidden), n.size(count * hidden));
    // What becomes a kernel of ours reads the weights along the results.
    return isSmall() ? n.matmul(state, n.transpose(own, {1, 0})) : n.matmul(state, own, false, true);
  }
  /// Part `half` (0: W's, 1: R's) of one direction's B, [gates * hidden]; null without B.
  Value biasOf(int64_t direction, int64_t half) {
    if (!n.has(3))
      return {};
    Value own = n.reshape(n.slice(n.x(3), 0, n.size(direction), n.size(1)), {n.size(2 * gates * hidden)});
    return n.slice(own, 0, n.size(half * gates * hidden), n.size(gates * hidden));
  }
  int64_t hiddenSize() const { return hidden; }
  /// Whether a step takes so little that a library call would cost more.
  bool isSmall() const { return hidden <= 32; }

private:
  void expect(Value v, Dims wanted, StringRef what) {
    Dims dims = Build::dims(v);
    if (dims.size() != wanted.size())
      fail(Code::ShapeMismatch, what.str(), " has shape ", graph::toString(dims), ", expected ", graph::toString(wanted));
    for (auto [d, w] : llvm::zip(dims, wanted))
      n.requireSame(w, d, what.str() + " of shape " + graph::toString(dims) + ", expected " + graph::toString(wanted));
  }

  void readLengths() {
    if (!n.has(4))
      return;
    if (auto known = n.known(4))
      if (auto values = known->constants())
        if (auto count = graph::constantSize(length); count && llvm::all_of(*values, [&](int64_t v) { return v == *count; }))
          return;
    lengths = n.cast(n.x(4), n.i64());
    expect(lengths, {batch}, "sequence_lens");
  }

  void readActivations() {
    llvm::SmallVector<StringRef> defaults = states == 2 ? llvm::SmallVector<StringRef>{"Sigmoid", "Tanh", "Tanh"}
                                            : gates == 3 ? llvm::SmallVector<StringRef>{"Sigmoid", "Tanh"}
                                                         : llvm::SmallVector<StringRef>{"Tanh"};
    std::vector<std::string> names = n.strings("activations");
    if (names.empty())
      for (int64_t d = 0; d < directions; ++d)
        for (StringRef name : defaults)
          names.push_back(name.str());
    if (names.size() != defaults.size() * directions)
      fail(Code::ModelMalformed, "activations names ", names.size(), " functions, ", defaults.size() * directions, " are needed");
    std::vector<double> alphas = n.floats("activation_alpha"), betas = n.floats("activation_beta");
    size_t alpha = 0, beta = 0;
    for (const std::string &name : names) {
      Activation a{name, {}, {}};
      static const StringRef withAlpha[] = {"LeakyRelu", "ThresholdedRelu", "Elu", "HardSigmoid", "Affine", "ScaledTanh"};
      static const StringRef withBeta[] = {"HardSigmoid", "Affine", "ScaledTanh"};
      if (llvm::is_contained(withAlpha, name) && alpha < alphas.size())
        a.alpha = alphas[alpha++];
      if (llvm::is_contained(withBeta, name) && beta < betas.size())
        a.beta = betas[beta++];
      activations.push_back(a);
    }
  }

  Value initial(size_t input, int64_t direction) {
    Dims dims{batch, n.size(hidden)};
    if (!n.has(input))
      return n.broadcast(n.like(x, 0), dims);
    Value v = n.x(input);
    if (Build::rank(v) != 3)
      fail(Code::ShapeMismatch, "an initial state needs rank 3, got shape ", Build::shapeText(v));
    Dims whole{n.size(directions), batch, n.size(hidden)};
    if (layout)
      std::swap(whole[0], whole[1]);
    expect(v, whole, "an initial state");
    v = n.reshape(n.slice(v, layout ? 1 : 0, n.size(direction), n.size(1)), dims);
    if (lengths) // a sequence without steps ends with zeros, as in onnxruntime; ONNX does not say
      v = n.select(n.unsqueeze(n.less(n.like(lengths, 0), lengths), 1), v, n.like(v, 0));
    return v;
  }

  llvm::SmallVector<Value> runDirection(int64_t d, Value bias, Cell cell) {
    Value own = n.reshape(n.slice(w, 0, n.size(d), n.size(1)), {n.size(gates * hidden), input});
    AffineExpr rows = graph::simplify(length * batch);
    Value projected = n.matmul(n.reshape(x, {rows, input}), own, false, true);
    if (bias)
      projected = n.add(projected, bias);
    projected = n.reshape(projected, {length, batch, n.size(gates * hidden)});

    llvm::SmallVector<Value> inits, scanned{projected};
    inits.push_back(initial(5, d));
    if (states == 2)
      inits.push_back(initial(6, d));
    if (lengths)
      scanned.push_back(n.iota({length}, 0, n.i64()));
    bool reverse = d == 1 || firstReversed;
    Type slice = inits[0].getType();
    auto scan = graph::ScanOp::create(n.b, n.loc, length, inits, scanned, TypeRange{slice}, reverse);
    OpBuilder::InsertionGuard guard(n.b);
    Block &body = scan.getBody().front();
    n.b.setInsertionPointToEnd(&body);
    llvm::SmallVector<Value> state(body.getArguments().take_front(states));
    auto next = cell(body.getArgument(states), state, d);
    Value stacked = next[0];
    if (lengths) {
      // Behind its end a sequence keeps its state and gives zeros.
      Value inside = n.unsqueeze(n.less(body.getArgument(states + 1), lengths), 1);
      for (auto [v, before] : llvm::zip(next, state))
        v = n.select(inside, v, before);
      stacked = n.select(inside, stacked, n.like(stacked, 0));
    }
    next.push_back(stacked);
    for (Value &v : next) // one of two sizes that are the same, and were declared differently
      v = n.reshape(v, Build::dims(state[0]));
    graph::YieldOp::create(n.b, n.loc, next);
    llvm::SmallVector<Value> results{scan.getResult(states)};
    llvm::append_range(results, scan.getFinals());
    return results;
  }

  Node &n;
  int64_t gates, states; // rows of W and R in units of the hidden size; carried values
  int64_t layout = 0, directions = 1, hidden = 0;
  bool firstReversed = false;
  Value x, w, r, lengths; // x: [seq, batch, input]
  AffineExpr length, batch, input;
  std::optional<double> clip;
  std::vector<Activation> activations;
};

Value sum(Node &n, Value a, Value b) { return !a ? b : !b ? a : n.add(a, b); }

void importLstm(Node &n) {
  Recurrent lstm(n, 4, 2);
  int64_t hidden = lstm.hiddenSize();
  bool coupled = n.i("input_forget", 0) != 0;
  Value peepholes = n.has(7) ? n.x(7) : Value();
  if (peepholes && (Build::rank(peepholes) != 2 || Build::dims(peepholes)[1] != n.size(3 * hidden)))
    fail(Code::ShapeMismatch, "P has shape ", Build::shapeText(peepholes), ", expected [directions, ", 3 * hidden, "]");
  // Gates in the order i o f c, peepholes i o f.
  auto peephole = [&](int64_t d, int64_t which) {
    Value own = n.slice(peepholes, 0, n.size(d), n.size(1));
    return n.slice(own, 1, n.size(which * hidden), n.size(hidden));
  };
  lstm.run([&](int64_t d) { return sum(n, lstm.biasOf(d, 0), lstm.biasOf(d, 1)); },
           [&](Value x, ArrayRef<Value> state, int64_t d) {
             Value h = state[0], c = state[1];
             // The library adds x to its product; a kernel of ours takes what each gate needs of both.
             Value product = lstm.recurrence(h, d, 0, 4), all = lstm.isSmall() ? Value() : n.add(product, x);
             auto gate = [&](int64_t g, Value cell) {
               Value v = all ? lstm.gate(all, g) : n.add(lstm.gate(product, g), lstm.gate(x, g));
               if (peepholes && cell)
                 v = n.add(v, n.mul(peephole(d, g), cell));
               return lstm.clipped(v);
             };
             const Activation &f = lstm.activation(d, 0), &g = lstm.activation(d, 1), &last = lstm.activation(d, 2);
             Value in = f(n, gate(0, c));
             Value forget = coupled ? n.sub(n.like(in, 1), in) : f(n, gate(2, c));
             Value next = n.add(n.mul(forget, c), n.mul(in, g(n, gate(3, {}))));
             Value out = f(n, gate(1, next));
             return llvm::SmallVector<Value>{n.mul(out, last(n, next)), next};
           });
}

void importGru(Node &n) {
  Recurrent gru(n, 3, 1);
  int64_t hidden = gru.hiddenSize();
  bool linear = n.i("linear_before_reset", 0) != 0;
  auto part = [&](Value bias, int64_t first, int64_t count) { return n.slice(bias, 0, n.size(first * hidden), n.size(count * hidden)); };
  // Gates in the order z r h. With linear_before_reset the state's bias of h is added before r multiplies: not in front of the scan.
  gru.run(
      [&](int64_t d) -> Value {
        Value input = gru.biasOf(d, 0), state = gru.biasOf(d, 1);
        if (!input)
          return {};
        if (!linear)
          return n.add(input, state);
        return n.concat({n.add(part(input, 0, 2), part(state, 0, 2)), part(input, 2, 1)}, 0);
      },
      [&](Value x, ArrayRef<Value> state, int64_t d) {
        Value h = state[0];
        const Activation &f = gru.activation(d, 0), &g = gru.activation(d, 1);
        Value product = gru.recurrence(h, d, 0, linear ? 3 : 2);
        auto gate = [&](int64_t which) { return f(n, gru.clipped(n.add(gru.gate(x, which), gru.gate(product, which)))); };
        Value update = gate(0), reset = gate(1), proposed;
        if (linear) {
          Value own = gru.gate(product, 2);
          if (Value bias = gru.biasOf(d, 1))
            own = n.add(own, part(bias, 2, 1));
          proposed = n.mul(reset, own);
        } else {
          proposed = gru.recurrence(n.mul(reset, h), d, 2, 1);
        }
        proposed = g(n, gru.clipped(n.add(gru.gate(x, 2), proposed)));
        // (1 - z) · proposed + z · h
        Value kept = n.mul(n.sub(n.like(update, 1), update), proposed);
        return llvm::SmallVector<Value>{n.add(kept, n.mul(update, h))};
      });
}

void importRnn(Node &n) {
  Recurrent rnn(n, 1, 1);
  rnn.run([&](int64_t d) { return sum(n, rnn.biasOf(d, 0), rnn.biasOf(d, 1)); },
          [&](Value x, ArrayRef<Value> state, int64_t d) {
            Value all = rnn.clipped(n.add(rnn.recurrence(state[0], d, 0, 1), x));
            return llvm::SmallVector<Value>{rnn.activation(d, 0)(n, all)};
          });
}

const Handler table[] = {
    {"LSTM", 1, importLstm},
    {"GRU", 1, importGru},
    {"RNN", 1, importRnn},
};

} // namespace

ArrayRef<Handler> recurrentOps() { return table; }

} // namespace graphc::onnx_import
