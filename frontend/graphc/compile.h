// Compiling C++ functions of tensors: a whole training step becomes one executable.
//
//   auto step = [&](Tensor x, Tensor y) {           // runs eagerly as it stands
//     Tensor loss = crossEntropy(net(x), y);
//     opt.zeroGrad();
//     loss.backward();
//     opt.step();
//     return loss.detach();
//   };
//   auto fast = compile(step, {.state = {net, opt}});
//   Tensor loss = fast(x, y);
//   auto model = compile(net);                      // for inference: call it under NoGrad
//
// The first call runs the function once on tensors without elements and notes every op, backward() and optimizer updates included.
// What was noted is compiled and run, now and in later calls. Parameters, buffers and optimizer state are changed in place; learning
// rates and other numbers of an optimizer are read anew in every call, random numbers go on where the generator stands.
//
// Floating-point arguments are inputs of the program. Other values that the function reads are those of the first call: C++ numbers it
// captures, and what an `if` on them decided. A change of what is checked — dtype, rank and sizes of arguments, whether gradients are
// asked for, train() or eval(), integer arguments, whether a parameter has a .grad — makes the next call trace anew. A size that is
// declared by a Dim, or has changed once, may be any; where the function computes with it in ways that a program cannot follow (it
// branches on it, loops over it, takes its square root), one line of the log says so and the program is for that size alone. Each new
// combination of open sizes and float arguments costs one trace, without compiling: it shows whether the function still does what the
// program does; if not, the call has a program of its own.
//
// A result is without history, also where gradients are on and the function's own result would have one (the log says so): call
// backward() inside, or the compiled function under NoGrad. Arguments that share memory which the function changes are an error, and
// so is a step of a learning-rate schedule inside the function: call schedule.step() after it.
//
// Tracing may call the function several times. It must not count on side effects other than those on tensors, modules and optimizers.
//
// Throws graphc::Error: from tracing, with nothing changed; from a run, before anything is written.
#pragma once

#include "frontend/graphc/module.h"
#include "frontend/graphc/optim.h"
#include "frontend/graphc/tensor.h"

#include <any>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace graphc {

/// A size that may differ from call to call: `Dim("n", 1, 512)` is the first axis of every tensor argument. Two at most.
struct Dim {
  static constexpr int64_t kUnbounded = int64_t(1) << 40;
  Dim(std::string name, int64_t lo = 0, int64_t hi = kUnbounded, int64_t axis = 0, std::vector<int> arguments = {})
      : name(std::move(name)), lo(lo), hi(hi), axis(axis), arguments(std::move(arguments)) {}
  std::string name;
  int64_t lo, hi;
  int64_t axis;
  std::vector<int> arguments; // numbers of tensor arguments; empty: all that have the axis
};

/// What a compiled function changes or depends on beside its arguments.
class StateItem {
public:
  template <typename ModuleType>
  StateItem(const nn::Handle<ModuleType> &handle) : module(handle.pointer()) {}
  StateItem(std::shared_ptr<nn::Module> module) : module(std::move(module)) {}
  StateItem(optim::Optimizer &optimizer) : optimizer(&optimizer) {}

  std::shared_ptr<nn::Module> module;
  optim::Optimizer *optimizer = nullptr; // must outlive the compiled function
};

struct CompileSettings {
  std::vector<Dim> dims;
  std::vector<StateItem> state;
  /// Traces twice and compares: an error names the first op that differs.
  bool verifyTrace = false;
  /// So many programs are kept for different arguments; one more is an error.
  int recompileLimit = 8;
  /// One line for each compilation that is not the first, saying what had changed, and for each size that could not stay open.
  std::function<void(const std::string &line)> log;
};

struct CompileReport {
  int programs = 0;              // compiled so far
  int64_t calls = 0;
  std::vector<std::string> reasons; // for each program after the first
  double traceMs = 0, compileMs = 0; // of the last compilation
  bool fromCache = false;            // the last compilation found its code on disk
};

namespace detail {

/// The parts of arguments that matter to a trace, in order.
struct CallLeaves {
  std::vector<Tensor> tensors;
  std::vector<int64_t> integers;
  std::vector<double> floats;
};

struct CallOutcome {
  std::vector<Tensor> results;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::shared_ptr<void> shape; // a result of the function, whose tensors and numbers these replace
};

class CompiledCore {
public:
  explicit CompiledCore(CompileSettings settings);
  ~CompiledCore();
  /// `trace` calls the function on other leaves.
  CallOutcome call(CallLeaves leaves, const std::function<CallOutcome(CallLeaves &)> &trace);
  const CompileReport &report() const;
  /// The traced program of the last call as MLIR.
  std::string ir() const;
  void save(const std::string &path) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- values made of tensors and numbers ----

template <typename T>
concept TupleLike = requires { std::tuple_size<T>::value; };

/// So many members an aggregate can be initialised with, 8 at most.
struct AnyMember {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Members>
consteval size_t countMembers() {
  if constexpr (sizeof...(Members) < 8 && requires { T{Members{}..., AnyMember{}}; })
    return countMembers<T, Members..., AnyMember>();
  else
    return sizeof...(Members);
}

template <typename T, typename Visit>
void eachLeaf(T &value, Visit &visit);

template <typename T, typename Visit>
void eachMember(T &value, Visit &visit) {
  constexpr size_t count = countMembers<T>();
  auto all = [&](auto &...members) { (eachLeaf(members, visit), ...); };
  if constexpr (count == 1) { auto &[a] = value; all(a); }
  else if constexpr (count == 2) { auto &[a, b] = value; all(a, b); }
  else if constexpr (count == 3) { auto &[a, b, c] = value; all(a, b, c); }
  else if constexpr (count == 4) { auto &[a, b, c, d] = value; all(a, b, c, d); }
  else if constexpr (count == 5) { auto &[a, b, c, d, e] = value; all(a, b, c, d, e); }
  else if constexpr (count == 6) { auto &[a, b, c, d, e, f] = value; all(a, b, c, d, e, f); }
  else if constexpr (count == 7) { auto &[a, b, c, d, e, f, g] = value; all(a, b, c, d, e, f, g); }
  else if constexpr (count == 8) { auto &[a, b, c, d, e, f, g, h] = value; all(a, b, c, d, e, f, g, h); }
}

/// Calls `visit` with every Tensor, integer and float inside a value, in order.
template <typename T, typename Visit>
void eachLeaf(T &value, Visit &visit) {
  if constexpr (std::same_as<T, Tensor> || std::integral<T> || std::floating_point<T>)
    visit(value);
  else if constexpr (std::is_enum_v<T>) {
    auto number = static_cast<int64_t>(value);
    visit(number);
  } else if constexpr (requires { value.has_value(); *value; }) {
    int64_t given = value.has_value();
    visit(given);
    if (value.has_value())
      eachLeaf(*value, visit);
  } else if constexpr (requires { value.begin(); value.resize(0); }) {
    auto count = static_cast<int64_t>(value.size());
    visit(count);
    for (auto &each : value)
      eachLeaf(each, visit);
  } else if constexpr (TupleLike<T>) {
    std::apply([&](auto &...parts) { (eachLeaf(parts, visit), ...); }, value);
  } else {
    static_assert(std::is_aggregate_v<T>, "a compiled function takes and gives tensors, numbers, and tuples, vectors and aggregates of them");
    eachMember(value, visit);
  }
}

struct CollectLeaves {
  CallLeaves leaves;
  void operator()(Tensor &tensor) { leaves.tensors.push_back(tensor); }
  template <std::integral T>
  void operator()(T &value) {
    leaves.integers.push_back(static_cast<int64_t>(value));
  }
  template <std::floating_point T>
  void operator()(T &value) {
    leaves.floats.push_back(static_cast<double>(value));
  }
};
/// Puts other leaves in the places of a value's own; where there are none, its own stay.
struct ReplaceLeaves {
  const std::vector<Tensor> &tensors;
  const std::vector<int64_t> &integers;
  const std::vector<double> &floats;
  size_t tensor = 0, integer = 0, number = 0;
  void operator()(Tensor &value) { value = tensors[tensor++]; }
  template <std::integral T>
  void operator()(T &value) {
    if (integer < integers.size())
      value = static_cast<T>(integers[integer++]);
  }
  template <std::floating_point T>
  void operator()(T &value) {
    if (number < floats.size())
      value = static_cast<T>(floats[number++]);
  }
};

} // namespace detail

/// A function of tensors and what was compiled from it. Copies share the programs. One call at a time.
template <typename Fn>
class Compiled {
public:
  Compiled(Fn fn, CompileSettings settings) : fn_(std::make_shared<Fn>(std::move(fn))), core_(std::make_shared<detail::CompiledCore>(std::move(settings))) {}

  template <typename... Args>
  auto operator()(Args &&...args) const {
    using Result = std::decay_t<std::invoke_result_t<Fn &, std::decay_t<Args> &...>>;
    std::tuple<std::decay_t<Args>...> given(std::forward<Args>(args)...);
    detail::CollectLeaves collect;
    detail::eachLeaf(given, collect);
    detail::CallOutcome outcome = core_->call(std::move(collect.leaves), [&](detail::CallLeaves &leaves) {
      auto stand = given;
      detail::ReplaceLeaves replace{leaves.tensors, leaves.integers, leaves.floats};
      detail::eachLeaf(stand, replace);
      detail::CallOutcome traced;
      if constexpr (std::is_void_v<Result>) {
        std::apply(*fn_, stand);
      } else {
        auto result = std::make_shared<Result>(std::apply(*fn_, stand));
        detail::CollectLeaves results;
        detail::eachLeaf(*result, results);
        traced.results = std::move(results.leaves.tensors);
        traced.integers = std::move(results.leaves.integers);
        traced.floats = std::move(results.leaves.floats);
        traced.shape = result;
      }
      return traced;
    });
    if constexpr (!std::is_void_v<Result>) {
      Result result = *static_cast<const Result *>(outcome.shape.get());
      detail::ReplaceLeaves replace{outcome.results, outcome.integers, outcome.floats};
      detail::eachLeaf(result, replace);
      return result;
    }
  }

  const CompileReport &report() const { return core_->report(); }
  /// The traced program of the last call as MLIR.
  std::string ir() const { return core_->ir(); }
  /// Writes the program of the last call as a `.gcx`, which graphc_runtime runs without the compiler. Tensors that it reads and never
  /// changes are part of it. What it changes (parameters, optimizer state) is an input under its name and an output "new NAME", which
  /// may be bound to the same memory; numbers of an optimizer ("number0.0" …, in the order of its formula), "random key" and
  /// "random offset" are inputs. Error: nothing was called yet.
  void save(const std::string &path) const { core_->save(path); }

private:
  std::shared_ptr<Fn> fn_;
  std::shared_ptr<detail::CompiledCore> core_;
};

/// A function; its parts that change belong into `settings.state`.
template <typename Fn>
  requires(!requires(Fn fn) { fn.pointer()->parameters(); })
Compiled<Fn> compile(Fn fn, CompileSettings settings = {}) {
  return Compiled<Fn>(std::move(fn), std::move(settings));
}
/// A module's forward().
template <typename ModuleHandle>
  requires requires(ModuleHandle handle) { handle.pointer()->parameters(); }
auto compile(ModuleHandle module, CompileSettings settings = {}) {
  settings.state.insert(settings.state.begin(), StateItem(std::shared_ptr<nn::Module>(module.pointer())));
  return compile([module](auto &...args) { return module(args...); }, std::move(settings));
}

} // namespace graphc
