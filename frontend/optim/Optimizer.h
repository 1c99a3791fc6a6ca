// Inside of the optimizers: a parameter with its state, and the fused update both are given by one compiled graph.
#pragma once

#include "frontend/eager/Dispatch.h"
#include "frontend/graphc/optim.h"

#include <functional>
#include <span>

namespace graphc::optim {

struct Optimizer::Slot {
  Tensor parameter;
  std::vector<Tensor> state; // empty before the first step
  int64_t step = 0;          // updates so far, this one included while it runs
};

/// Values of the graph: the gradient, the parameter, its state, and the numbers, all in the type it is computed in.
struct UpdateGraph {
  using Value = eager::GraphBuilder::Value;
  eager::GraphBuilder &g;
  Value gradient, parameter;
  std::vector<Value> state, numbers;
  /// Numbers and tensors broadcast.
  Value add(Value a, Value b) { return g.add(a, b); }
  Value sub(Value a, Value b) { return g.sub(a, b); }
  Value mul(Value a, Value b) { return g.mul(a, b); }
  Value div(Value a, Value b) { return g.div(a, b); }
  Value sqrt(Value a) { return g.op("sqrt", {a}); }
  Value max(Value a, Value b) { return g.op("max", {a, b}); }
  /// a + t (b - a)
  Value lerp(Value a, Value b, Value t) { return add(a, mul(t, sub(b, a))); }
};

/// One update of a parameter at its step. `name` and `variant` tell one formula from another; `numbers` are arguments of the
/// compiled code. The formula leaves new values in `parameter` and `state`.
struct Optimizer::Update {
  const char *name;
  int variant = 0;
  std::vector<double> numbers;
  std::function<void(UpdateGraph &)> formula;
};

} // namespace graphc::optim
