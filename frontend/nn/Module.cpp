#include "frontend/graphc/module.h"

#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/safetensors.h"
#include "frontend/tensor/Raise.h"
#include "runtime/tensor/TensorImpl.h"

#include <algorithm>
#include <set>

namespace graphc::nn {

struct Module::State {
  struct Entry {
    std::string name;
    Tensor value;
    bool persistent = true;
  };
  std::vector<Entry> parameters, buffers;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children;

  template <typename Hook>
  using Hooks = std::map<uint64_t, Hook>; // in order of registration
  std::shared_ptr<Hooks<ForwardPreHook>> preHooks = std::make_shared<Hooks<ForwardPreHook>>();
  std::shared_ptr<Hooks<ForwardHook>> hooks = std::make_shared<Hooks<ForwardHook>>();
  std::shared_ptr<Hooks<BackwardHook>> backwardHooks = std::make_shared<Hooks<BackwardHook>>();
  uint64_t nextHook = 0;
};

Module::Module() : state_(std::make_unique<State>()) {}
Module::~Module() = default;

namespace {

std::string joinedName(const std::string &prefix, const std::string &name) { return prefix.empty() ? name : prefix + "." + name; }

/// Gives `tensor` the values, dtype and device of `source` while it stays the same object.
void takeData(const Tensor &tensor, const Tensor &source) {
  graphc::detail::TensorImpl &to = *tensor.impl();
  const graphc::detail::TensorImpl &from = *source.impl();
  to.storage = from.storage;
  to.offset = from.offset;
  to.elements = from.elements;
  to.dtype = from.dtype;
  to.rank = from.rank;
  to.dense = from.dense;
  std::copy(std::begin(from.sizes), std::end(from.sizes), std::begin(to.sizes));
  std::copy(std::begin(from.strides), std::end(from.strides), std::begin(to.strides));
}

template <typename Convert>
void convertAll(Module &module, const Convert &convert) {
  NoGrad guard;
  auto convertOne = [&](const Tensor &tensor) {
    Tensor grad = tensor.grad();
    Tensor converted = convert(tensor.detach());
    if (converted.sharesStorage(tensor) && converted.dtype() == tensor.dtype())
      return;
    takeData(tensor, converted);
    if (grad.defined())
      Tensor(tensor).setGrad(convert(grad));
  };
  for (const Tensor &tensor : module.parameters())
    convertOne(tensor);
  for (const Tensor &tensor : module.buffers())
    convertOne(tensor);
}

} // namespace

// ---- registering ----

void Module::checkName(const char *kind, const std::string &name) const {
  if (name.empty() || name.find('.') != std::string::npos)
    raise(Code::InvalidOption, kind, " '", name, "': a name must not be empty or hold a dot");
  bool taken = std::any_of(state_->children.begin(), state_->children.end(), [&](const auto &child) { return child.first == name; });
  for (const auto *list : {&state_->parameters, &state_->buffers})
    taken |= std::any_of(list->begin(), list->end(), [&](const State::Entry &entry) { return entry.name == name; });
  if (taken)
    raise(Code::InvalidOption, kind, " '", name, "': the module has something of this name already");
}

void Module::addModule(const std::string &name, std::shared_ptr<Module> child) {
  checkName("module", name);
  if (!child)
    raise(Code::InvalidOption, "module '", name, "': an empty handle");
  state_->children.emplace_back(name, std::move(child));
}

Tensor Module::addParameter(const std::string &name, Tensor value) {
  checkName("parameter", name);
  if (value.defined()) {
    if (!value.isLeaf())
      raise(Code::InvalidOption, "parameter '", name, "': only a leaf can be a parameter, this was made by ", value.gradFnName());
    value.requiresGrad_(isFloat(value.dtype()));
    value.setName(name);
  }
  state_->parameters.push_back({name, value});
  return value;
}

Tensor Module::addBuffer(const std::string &name, Tensor value, bool persistent) {
  checkName("buffer", name);
  if (value.defined())
    value.setName(name);
  state_->buffers.push_back({name, value, persistent});
  return value;
}

// ---- looking ----

std::vector<std::pair<std::string, Module *>> Module::namedModules() {
  std::vector<std::pair<std::string, Module *>> result;
  std::set<Module *> seen;
  std::function<void(const std::string &, Module &)> walk = [&](const std::string &name, Module &module) {
    if (!seen.insert(&module).second)
      return;
    result.emplace_back(name, &module);
    for (auto &[child, pointer] : module.state_->children)
      walk(joinedName(name, child), *pointer);
  };
  walk("", *this);
  return result;
}

namespace {

/// Tensors of one kind, each object once, under the first of its names.
template <typename Each>
NamedTensorList collect(Module &root, bool recurse, const Each &each) {
  NamedTensorList result;
  std::set<const void *> seen;
  for (auto &[name, module] : root.namedModules()) {
    if (!recurse && module != &root)
      continue;
    each(*module, [&, &prefix = name](const std::string &local, const Tensor &tensor) {
      if (tensor.defined() && seen.insert(tensor.impl()).second)
        result.emplace_back(joinedName(prefix, local), tensor);
    });
  }
  return result;
}

std::vector<Tensor> withoutNames(NamedTensorList list) {
  std::vector<Tensor> result;
  for (auto &[name, tensor] : list)
    result.push_back(std::move(tensor));
  return result;
}

} // namespace

NamedTensorList Module::namedParameters(bool recurse) const {
  return collect(const_cast<Module &>(*this), recurse, [](Module &module, auto give) {
    for (const State::Entry &entry : module.state_->parameters)
      give(entry.name, entry.value);
  });
}
NamedTensorList Module::namedBuffers(bool recurse) const {
  return collect(const_cast<Module &>(*this), recurse, [](Module &module, auto give) {
    for (const State::Entry &entry : module.state_->buffers)
      give(entry.name, entry.value);
  });
}
std::vector<Tensor> Module::parameters(bool recurse) const { return withoutNames(namedParameters(recurse)); }
std::vector<Tensor> Module::buffers(bool recurse) const { return withoutNames(namedBuffers(recurse)); }

std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::namedChildren() const { return state_->children; }
std::vector<std::shared_ptr<Module>> Module::children() const {
  std::vector<std::shared_ptr<Module>> result;
  for (const auto &[name, child] : state_->children)
    result.push_back(child);
  return result;
}

namespace {
template <typename List>
[[noreturn]] void unknownName(const char *kind, const std::string &name, const List &list) {
  std::vector<std::string> names;
  for (const auto &entry : list)
    if (!entry.first.empty())
      names.push_back(entry.first);
  raise(Code::UnknownName, "no ", kind, " is called '", name, "'; there ", names.size() == 1 ? "is " : "are ", names.empty() ? "none" : joined(names));
}
} // namespace

Tensor Module::parameter(const std::string &name) const {
  NamedTensorList all = namedParameters();
  for (auto &[each, tensor] : all)
    if (each == name)
      return tensor;
  unknownName("parameter", name, all);
}
Tensor Module::buffer(const std::string &name) const {
  NamedTensorList all = namedBuffers();
  for (auto &[each, tensor] : all)
    if (each == name)
      return tensor;
  unknownName("buffer", name, all);
}
Module &Module::module(const std::string &name) {
  auto all = namedModules();
  for (auto &[each, module] : all)
    if (each == name)
      return *module;
  unknownName("module", name, all);
}

void detail::nameParameters(Module &module) {
  for (auto &[name, tensor] : module.namedParameters())
    Tensor(tensor).setName(name);
  for (auto &[name, tensor] : module.namedBuffers())
    Tensor(tensor).setName(name);
}

// ---- changing ----

void Module::to(Device device) {
  convertAll(*this, [&](const Tensor &tensor) { return tensor.to(device); });
}
void Module::to(DType dtype) {
  if (!isFloat(dtype))
    raise(Code::TypeMismatch, "to(", dtype, "): parameters can only become floating-point");
  convertAll(*this, [&](const Tensor &tensor) { return isFloat(tensor.dtype()) ? tensor.to(dtype) : tensor; });
}
void Module::train(bool on) {
  apply([&](Module &module) { module.training_ = on; });
}
void Module::zeroGrad() {
  for (Tensor &parameter : parameters())
    parameter.setGrad({});
}
void Module::requiresGrad_(bool on) {
  for (Tensor &parameter : parameters())
    parameter.requiresGrad_(on);
}
void Module::apply(const std::function<void(Module &)> &fn) {
  auto all = namedModules();
  for (auto at = all.rbegin(); at != all.rend(); ++at) // parts before the whole
    fn(*at->second);
}

// ---- state ----

NamedTensorList Module::stateDict() const {
  NamedTensorList result;
  // Unlike namedModules(), a module or tensor that is registered twice appears under both names.
  std::function<void(const std::string &, const Module &)> walk = [&](const std::string &prefix, const Module &module) {
    for (const State::Entry &entry : module.state_->parameters)
      if (entry.value.defined())
        result.emplace_back(joinedName(prefix, entry.name), entry.value.detach());
    for (const State::Entry &entry : module.state_->buffers)
      if (entry.value.defined() && entry.persistent)
        result.emplace_back(joinedName(prefix, entry.name), entry.value.detach());
    for (const auto &[name, child] : module.state_->children)
      walk(joinedName(prefix, name), *child);
  };
  walk("", *this);
  return result;
}

std::function<LoadReport()> Module::prepareLoad(const NamedTensorList &state, const LoadOptions &options) {
  LoadReport report;
  std::vector<std::string> problems;
  std::vector<std::pair<Tensor, Tensor>> copies;
  std::map<std::string, Tensor> given(state.begin(), state.end());
  std::set<std::string> wanted;
  for (auto &[name, tensor] : stateDict()) {
    wanted.insert(name);
    auto found = given.find(name);
    if (found == given.end()) {
      report.missing.push_back(name);
      continue;
    }
    const Tensor &value = found->second;
    if (!std::ranges::equal(value.sizes(), tensor.sizes()) || isFloat(value.dtype()) != isFloat(tensor.dtype()))
      problems.push_back(text("'", name, "' is ", value.describe(), " in the state and ", tensor.describe(), " in the model"));
    else
      copies.emplace_back(tensor, value);
  }
  for (const auto &[name, tensor] : state)
    if (!wanted.contains(name))
      report.unexpected.push_back(name);
  auto quoted = [](const std::vector<std::string> &names) { return "'" + joined(names, "', '") + "'"; };
  if (options.strict && !report.missing.empty())
    problems.insert(problems.begin(), text("missing: ", quoted(report.missing)));
  if (options.strict && !report.unexpected.empty())
    problems.insert(problems.begin() + !report.missing.empty(), text("unexpected: ", quoted(report.unexpected)));
  if (!problems.empty())
    raise(Code::WeightFile, "the state is of another model: ", joined(problems, "; "));
  return [copies = std::move(copies), report = std::move(report)] {
    NoGrad guard;
    for (auto [to, from] : copies)
      to.copy_(from);
    return report;
  };
}

LoadReport Module::loadStateDict(const NamedTensorList &state, const LoadOptions &options) { return prepareLoad(state, options)(); }

void Module::save(const std::string &path) const { saveSafetensors(path, stateDict(), {{"format", "pt"}}); }
LoadReport Module::load(const std::string &path, const LoadOptions &options) { return loadStateDict(loadSafetensors(path), options); }

// ---- hooks ----

namespace {
template <typename Hooks, typename Hook>
HookHandle registered(const std::shared_ptr<Hooks> &hooks, uint64_t id, Hook hook) {
  hooks->emplace(id, std::move(hook));
  // The handle may outlive the module.
  return HookHandle([weak = std::weak_ptr<Hooks>(hooks), id] {
    if (auto alive = weak.lock())
      alive->erase(id);
  });
}
} // namespace

HookHandle Module::registerForwardPreHook(ForwardPreHook hook) { return registered(state_->preHooks, state_->nextHook++, std::move(hook)); }
HookHandle Module::registerForwardHook(ForwardHook hook) { return registered(state_->hooks, state_->nextHook++, std::move(hook)); }
HookHandle Module::registerBackwardHook(BackwardHook hook) { return registered(state_->backwardHooks, state_->nextHook++, std::move(hook)); }

bool Module::hasHooks() const { return !state_->preHooks->empty() || !state_->hooks->empty() || !state_->backwardHooks->empty(); }

void Module::runPreHooks(std::vector<Tensor> &inputs) {
  auto hooks = *state_->preHooks; // a hook may remove itself
  for (auto &[id, hook] : hooks)
    hook(*this, inputs);
}
void Module::runHooks(const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
  auto hooks = *state_->hooks;
  for (auto &[id, hook] : hooks)
    hook(*this, inputs, outputs);
}

/// Collects the gradients of one call. The inputs are replaced by views of themselves, so that what arrives is the gradient
/// through this call alone and not through other uses of the same tensor.
struct Module::HookedCall {
  std::vector<Tensor> gradInputs, gradOutputs;
  size_t inputsLeft = 0, outputsLeft = 0;
  std::function<void(const std::vector<Tensor> &, const std::vector<Tensor> &)> done;
  void arrived() {
    if (inputsLeft == 0 && outputsLeft == 0)
      done(gradInputs, gradOutputs);
  }
};

std::shared_ptr<Module::HookedCall> Module::watchBackward(std::vector<Tensor> &inputs) {
  if (state_->backwardHooks->empty() || !GradMode::isEnabled())
    return nullptr;
  auto call = std::make_shared<HookedCall>();
  call->done = [this, hooks = std::weak_ptr(state_->backwardHooks)](const std::vector<Tensor> &in, const std::vector<Tensor> &out) {
    if (auto alive = hooks.lock()) {
      auto copy = *alive;
      for (auto &[id, hook] : copy)
        hook(*this, in, out);
    }
  };
  call->gradInputs.resize(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].defined() || !inputs[k].requiresGrad())
      continue;
    ++call->inputsLeft;
    inputs[k] = inputs[k].viewAs(inputs[k]);
    inputs[k].registerHook([call, k](const Tensor &grad) {
      call->gradInputs[k] = grad;
      --call->inputsLeft;
      call->arrived();
      return Tensor();
    });
  }
  return call;
}

void Module::watchOutputs(const std::shared_ptr<HookedCall> &call, std::vector<Tensor> &outputs) {
  if (!call)
    return;
  call->gradOutputs.resize(outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined() || !outputs[k].requiresGrad())
      continue;
    ++call->outputsLeft;
    outputs[k].registerHook([call, k](const Tensor &grad) {
      call->gradOutputs[k] = grad;
      --call->outputsLeft;
      call->arrived();
      return Tensor();
    });
  }
}

// ---- printing ----

namespace {
void print(std::ostream &stream, const Module &module, const std::string &indent) {
  stream << module.describe();
  auto children = module.namedChildren();
  if (children.empty())
    return;
  stream << " {\n";
  for (const auto &[name, child] : children) {
    stream << indent << "  " << name << ": ";
    print(stream, *child, indent + "  ");
    stream << '\n';
  }
  stream << indent << '}';
}
} // namespace

std::ostream &operator<<(std::ostream &stream, const Module &module) {
  print(stream, module, "");
  return stream;
}

} // namespace graphc::nn
