// Models: modules hold parameters, buffers and other modules under names.
//
//   struct Net : nn::Module {
//     nn::Conv2d conv = add("conv", nn::Conv2d({.in = 1, .out = 32, .kernel = 3, .padding = 1}));
//     nn::Linear head = add("head", nn::Linear(25088, 10));
//     Tensor forward(const Tensor &x) { return head(relu(conv(x)).flatten(1)); }
//   };
//   auto net = nn::make<Net>();
//   net->to(device);                       // the same parameters, new storage: optimizers keep what they hold
//   Tensor y = net(x);
//
// A module itself is not copied; `nn::Linear` and what `make` returns are handles that share one.
#pragma once

#include "frontend/graphc/tensor.h"

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace graphc::nn {

class Module;

/// Tensors under names, in a defined order.
using NamedTensorList = std::vector<std::pair<std::string, Tensor>>;

template <typename ModuleType>
class Handle;

struct LoadOptions {
  /// Missing and unexpected names are errors; else only sizes and dtypes are.
  bool strict = true;
};
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};

class Module {
public:
  Module();
  virtual ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  // ---- what it holds; names of nested parts are joined by dots, tied tensors come once ----
  std::vector<Tensor> parameters(bool recurse = true) const;
  NamedTensorList namedParameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  NamedTensorList namedBuffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> namedChildren() const;
  /// This module (under "") and everything below it.
  std::vector<std::pair<std::string, Module *>> namedModules();
  /// A parameter, buffer or module by its dotted name; errors name what there is.
  Tensor parameter(const std::string &name) const;
  Tensor buffer(const std::string &name) const;
  Module &module(const std::string &name);

  // ---- changing all of it ----
  /// Parameters and buffers keep their identity and get new storage.
  void to(Device device);
  /// Floating-point parameters and buffers only.
  void to(DType dtype);
  void train(bool on = true);
  void eval() { train(false); }
  bool isTraining() const { return training_; }
  void zeroGrad();
  void requiresGrad_(bool on = true);
  void apply(const std::function<void(Module &)> &fn);

  // ---- state: parameters and persistent buffers; a tied tensor appears under each of its names ----
  NamedTensorList stateDict() const;
  /// Copies values into this module's tensors. Every problem is found before anything changes.
  LoadReport loadStateDict(const NamedTensorList &state, const LoadOptions &options = {});
  /// The same in two steps: checks now, copies when called.
  std::function<LoadReport()> prepareLoad(const NamedTensorList &state, const LoadOptions &options = {});
  /// safetensors files, which Hugging Face's library reads and writes.
  void save(const std::string &path) const;
  LoadReport load(const std::string &path, const LoadOptions &options = {});

  // ---- hooks: run around every call of this module through its handle ----
  /// May change the inputs that are tensors.
  using ForwardPreHook = std::function<void(Module &, std::vector<Tensor> &inputs)>;
  /// May change the outputs that are tensors.
  using ForwardHook = std::function<void(Module &, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs)>;
  /// Sees the gradients of outputs and inputs once both are known.
  using BackwardHook = std::function<void(Module &, const std::vector<Tensor> &gradInputs, const std::vector<Tensor> &gradOutputs)>;
  HookHandle registerForwardPreHook(ForwardPreHook hook);
  HookHandle registerForwardHook(ForwardHook hook);
  HookHandle registerBackwardHook(BackwardHook hook);

  /// "Linear(in=5, out=3)"; a user's module that does not say gets its children alone.
  virtual std::string describe() const { return "Module"; }

protected:
  /// Registers a child under a name and gives it back: `nn::Linear f = add("f", nn::Linear(3, 4));`
  template <typename HandleType>
  HandleType add(const std::string &name, HandleType child) {
    addModule(name, child.pointer());
    return child;
  }
  void addModule(const std::string &name, std::shared_ptr<Module> child);
  /// An undefined tensor registers that there is none (a layer without bias).
  Tensor addParameter(const std::string &name, Tensor value);
  Tensor addBuffer(const std::string &name, Tensor value, bool persistent = true);

private:
  template <typename ModuleType>
  friend class Handle;
  struct State;
  struct HookedCall;

  void checkName(const char *kind, const std::string &name) const;
  bool hasHooks() const;
  void runPreHooks(std::vector<Tensor> &inputs);
  void runHooks(const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs);
  std::shared_ptr<HookedCall> watchBackward(std::vector<Tensor> &inputs);
  void watchOutputs(const std::shared_ptr<HookedCall> &call, std::vector<Tensor> &outputs);
  template <typename Self, typename... Args>
  static auto callHooked(Self &self, std::tuple<Args...> args);

  std::unique_ptr<State> state_;
  bool training_ = true;
};

std::ostream &operator<<(std::ostream &stream, const Module &module);

/// A shared module that can be called.
template <typename ModuleType>
class Handle {
public:
  using Target = ModuleType;
  Handle() = default;
  Handle(std::nullptr_t) {}
  explicit Handle(std::shared_ptr<ModuleType> module) : module_(std::move(module)) {}

  ModuleType *operator->() const { return module_.get(); }
  ModuleType &operator*() const { return *module_; }
  explicit operator bool() const { return module_ != nullptr; }
  const std::shared_ptr<ModuleType> &pointer() const { return module_; }

  /// forward(), with hooks around it.
  template <typename... Args>
  decltype(auto) operator()(Args &&...args) const {
    if (!module_->hasHooks())
      return module_->forward(std::forward<Args>(args)...);
    return Module::callHooked(*module_, std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
  }

private:
  std::shared_ptr<ModuleType> module_;
};

namespace detail {
void nameParameters(Module &module);

/// Calls `fn` with every Tensor inside a value: itself, or the parts of pairs, tuples and vectors.
template <typename Fn>
void eachTensor(Tensor &tensor, Fn &&fn) {
  fn(tensor);
}
template <typename T, typename Fn>
  requires(!std::same_as<T, Tensor>)
void eachTensor(T &value, Fn &&fn) {
  if constexpr (requires { std::tuple_size<T>::value; })
    std::apply([&](auto &...parts) { (eachTensor(parts, fn), ...); }, value);
  else if constexpr (std::same_as<T, std::vector<Tensor>>)
    for (Tensor &tensor : value)
      fn(tensor);
}
} // namespace detail

/// A module of the user's own, its parameters named by their place in it (errors say "net.0.weight").
template <typename ModuleType, typename... Args>
Handle<ModuleType> make(Args &&...args) {
  auto module = std::make_shared<ModuleType>(std::forward<Args>(args)...);
  detail::nameParameters(*module);
  return Handle<ModuleType>(std::move(module));
}

template <typename Self, typename... Args>
auto Module::callHooked(Self &self, std::tuple<Args...> args) {
  std::vector<Tensor> inputs;
  detail::eachTensor(args, [&](Tensor &tensor) { inputs.push_back(tensor); });
  self.runPreHooks(inputs);
  auto call = self.watchBackward(inputs);
  size_t at = 0;
  detail::eachTensor(args, [&](Tensor &tensor) { tensor = inputs[at++]; });
  auto result = std::apply([&](auto &...each) { return self.forward(each...); }, args);
  std::vector<Tensor> outputs;
  detail::eachTensor(result, [&](Tensor &tensor) { outputs.push_back(tensor); });
  self.runHooks(inputs, outputs);
  self.watchOutputs(call, outputs);
  at = 0;
  detail::eachTensor(result, [&](Tensor &tensor) { tensor = outputs[at++]; });
  return result;
}

/// Modules one after the other, named "0", "1", …
class SequentialModule : public Module {
public:
  template <typename HandleType>
  void push(HandleType child) {
    push(std::to_string(steps_.size()), std::move(child));
  }
  template <typename HandleType>
  void push(const std::string &name, HandleType child) {
    addModule(name, child.pointer());
    steps_.push_back([child](const Tensor &x) -> Tensor { return child(x); });
  }
  size_t size() const { return steps_.size(); }
  Tensor forward(Tensor x) {
    for (const auto &step : steps_)
      x = step(x);
    return x;
  }
  std::string describe() const override { return "Sequential"; }

private:
  std::vector<std::function<Tensor(const Tensor &)>> steps_;
};
class Sequential : public Handle<SequentialModule> {
public:
  Sequential() : Handle(std::make_shared<SequentialModule>()) {}
  Sequential(std::nullptr_t) {}
  template <typename First, typename... Rest>
    requires(!std::same_as<std::decay_t<First>, Sequential> || sizeof...(Rest) > 0)
  explicit Sequential(First first, Rest... rest) : Sequential() {
    (*this)->push(std::move(first));
    ((*this)->push(std::move(rest)), ...);
    detail::nameParameters(**this);
  }
};

/// Modules of one type in a list or a map, registered under their position or key; it has no forward() of its own.
template <typename HandleType>
class ModuleListModule : public Module {
public:
  void push(HandleType child) {
    addModule(std::to_string(items_.size()), child.pointer());
    items_.push_back(std::move(child));
  }
  size_t size() const { return items_.size(); }
  const HandleType &operator[](size_t index) const {
    if (index >= items_.size())
      throw Error(error(Code::IndexOutOfRange, "ModuleList: there is no module ", index, " in a list of ", items_.size()));
    return items_[index];
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::string describe() const override { return "ModuleList"; }

private:
  std::vector<HandleType> items_;
};
template <typename HandleType>
class ModuleList : public Handle<ModuleListModule<HandleType>> {
public:
  ModuleList(std::vector<HandleType> items = {}) : Handle<ModuleListModule<HandleType>>(std::make_shared<ModuleListModule<HandleType>>()) {
    for (HandleType &item : items)
      (*this)->push(std::move(item));
  }
  const HandleType &operator[](size_t index) const { return (**this)[index]; }
  size_t size() const { return (**this).size(); }
  auto begin() const { return (**this).begin(); }
  auto end() const { return (**this).end(); }
};

} // namespace graphc::nn
