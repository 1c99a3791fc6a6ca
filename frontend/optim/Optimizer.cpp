#include "frontend/optim/Optimizer.h"

#include "frontend/eager/Batch.h"
#include "frontend/eager/Tracing.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/tensor/Raise.h"
#include "runtime/tensor/TensorImpl.h"

#include <algorithm>
#include <map>
#include <set>

namespace graphc::optim {

struct Optimizer::Groups {
  struct Group {
    std::vector<Tensor> parameters;
    std::vector<Slot> slots;
  };
  std::vector<Group> list;
  std::set<const void *> known;
};

Optimizer::Optimizer() : groups_(std::make_unique<Groups>()) {}
Optimizer::~Optimizer() = default;

namespace {
/// What errors call a parameter.
std::string nameOf(const Tensor &parameter, size_t group, size_t index) {
  std::string place = text("parameter ", index, " of group ", group);
  return parameter.name().empty() ? place : text(place, " ('", parameter.name(), "')");
}
} // namespace

void Optimizer::addParameters(std::vector<Tensor> parameters) {
  size_t group = groups_->list.size();
  if (parameters.empty())
    raise(Code::InvalidOption, "optimizer: group ", group, " has no parameters");
  Groups::Group made;
  std::set<const void *> known = groups_->known;
  for (size_t k = 0; k < parameters.size(); ++k) {
    const Tensor &each = parameters[k];
    if (!each.defined())
      raise(Code::InvalidOption, "optimizer: parameter ", k, " of group ", group, " is undefined");
    if (!each.isLeaf())
      raise(Code::InvalidOption, "optimizer: ", nameOf(each, group, k), " is no leaf: it was made by ", each.gradFnName());
    if (!isFloat(each.dtype()))
      raise(Code::TypeMismatch, "optimizer: ", nameOf(each, group, k), " is ", each.describe(), ", only floats can be optimized");
    if (!known.insert(each.impl()).second)
      raise(Code::InvalidOption, "optimizer: ", nameOf(each, group, k), " was given before");
    made.slots.push_back({each, {}, 0});
  }
  made.parameters = std::move(parameters);
  groups_->known = std::move(known);
  groups_->list.push_back(std::move(made));
}

size_t Optimizer::groups() const { return groups_->list.size(); }
size_t Optimizer::checkGroup(size_t group) const {
  if (group >= groups())
    raise(Code::IndexOutOfRange, name(), ": there is no group ", group, ", there are ", groups());
  return group;
}
const std::vector<Tensor> &Optimizer::parameters(size_t group) const { return groups_->list[checkGroup(group)].parameters; }
std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> all;
  for (const Groups::Group &group : groups_->list)
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  return all;
}

void Optimizer::zeroGrad(bool setToNone) {
  NoGrad guard;
  for (Groups::Group &group : groups_->list)
    for (Tensor &parameter : group.parameters) {
      Tensor grad = parameter.grad();
      if (!grad.defined())
        continue;
      if (setToNone)
        parameter.setGrad({});
      else
        grad.detach_().zero_();
    }
}

/// Whether one kernel may write everything where it lies.
static bool liesDensely(const Optimizer::Slot &slot) {
  Tensor grad = slot.parameter.grad();
  return slot.parameter.device().isCpu() && slot.parameter.isContiguous() && grad.isContiguous() && !grad.sharesStorage(slot.parameter) &&
         std::ranges::all_of(slot.state, [](const Tensor &each) { return each.isContiguous(); });
}

void Optimizer::step() {
  NoGrad guard;
  for (size_t group = 0; group < groups(); ++group)
    for (size_t k = 0; k < groups_->list[group].slots.size(); ++k) {
      const Tensor &parameter = groups_->list[group].slots[k].parameter;
      Tensor grad = parameter.grad();
      if (grad.defined() && (grad.dtype() != parameter.dtype() || !std::ranges::equal(grad.sizes(), parameter.sizes()) || grad.device() != parameter.device()))
        raise(Code::ShapeMismatch, name(), ": ", nameOf(parameter, group, k), " is ", parameter.describe(), " on ", parameter.device(), ", its gradient ",
              grad.describe(), " on ", grad.device());
    }
  for (size_t group = 0; group < groups(); ++group) {
    std::map<DType, std::vector<Slot *>> together;
    for (Slot &slot : groups_->list[group].slots) {
      if (!slot.parameter.grad().defined())
        continue;
      makeState(group, slot);
      if (eager::Recorder *tracing = eager::recorder())
        tracing->stepRises(&slot.step);
      ++slot.step;
      if (!eager::recorder() && liesDensely(slot))
        together[slot.parameter.dtype()].push_back(&slot);
      else
        apply(group, slot);
    }
    for (const auto &[dtype, slots] : together)
      applyTogether(group, slots);
  }
}

void Optimizer::makeState(size_t group, Slot &slot) {
  std::vector<std::string> names = stateNames(group);
  size_t parts = names.size();
  if (slot.state.size() == parts || parts == 0)
    return;
  // It outlives a trace that needs it first.
  eager::TracePause outside;
  NoGrad guard;
  while (slot.state.size() < parts) {
    Tensor made = fullLike(slot.parameter.detach(), Scalar(initialState(group)));
    if (!slot.parameter.name().empty())
      made.setName(slot.parameter.name() + "." + names[slot.state.size()]);
    slot.state.push_back(made);
  }
}

void Optimizer::makeState() {
  for (size_t group = 0; group < groups(); ++group)
    for (Slot &slot : groups_->list[group].slots)
      makeState(group, slot);
}

Tensor Optimizer::step(const std::function<Tensor()> &closure) {
  Tensor loss;
  {
    GradMode on(true);
    loss = closure();
  }
  step();
  return loss;
}

// ---- state ----

SavedState Optimizer::saveState() const {
  SavedState state;
  state.set("optimizer", name());
  state.set("groups", static_cast<int64_t>(groups()));
  for (size_t group = 0; group < groups(); ++group) {
    std::string prefix = text("group", group, ".");
    const std::vector<Slot> &slots = groups_->list[group].slots;
    saveOptions(group, state, prefix);
    state.set(prefix + "parameters", static_cast<int64_t>(slots.size()));
    std::vector<std::string> names = stateNames(group);
    for (size_t k = 0; k < slots.size(); ++k) {
      std::string place = text(prefix, k, ".");
      state.set(place + "type", slots[k].parameter.describe());
      state.set(place + "step", slots[k].step);
      for (size_t part = 0; part < slots[k].state.size(); ++part)
        state.tensors.emplace_back(place + names[part], slots[k].state[part].detach());
    }
  }
  return state;
}

std::function<void()> Optimizer::prepareLoad(const SavedState &state) {
  const std::string &kind = state.word("optimizer", name());
  if (kind != name())
    raise(Code::WeightFile, name(), ": the state is one of ", kind);
  if (int64_t count = state.integer("groups", name()); count != static_cast<int64_t>(groups()))
    raise(Code::WeightFile, name(), ": the state is of another model: it has ", count, " groups, this optimizer ", groups());
  std::vector<std::function<void()>> commits;
  for (size_t group = 0; group < groups(); ++group) {
    std::string prefix = text("group", group, ".");
    std::vector<Slot> &slots = groups_->list[group].slots;
    if (int64_t count = state.integer(prefix + "parameters", name()); count != static_cast<int64_t>(slots.size()))
      raise(Code::WeightFile, name(), ": the state is of another model: group ", group, " has ", count, " parameters in it, ", slots.size(), " here");
    // Which tensors there are depends on the options the state was saved with: they are tried on and taken off again.
    SavedState before;
    saveOptions(group, before, prefix);
    std::function<void()> options = readOptions(group, state, prefix);
    options();
    std::vector<std::string> names = stateNames(group);
    readOptions(group, before, prefix)();
    for (size_t k = 0; k < slots.size(); ++k) {
      std::string place = text(prefix, k, ".");
      const std::string &type = state.word(place + "type", name());
      if (type != slots[k].parameter.describe())
        raise(Code::WeightFile, name(), ": the state is of another model: ", nameOf(slots[k].parameter, group, k), " was ", type, ", here it is ",
              slots[k].parameter.describe());
      int64_t step = state.integer(place + "step", name());
      std::vector<Tensor> tensors;
      for (const std::string &part : names) {
        Tensor tensor = state.tensor(place + part);
        if (!tensor.defined()) {
          if (step > 0)
            raise(Code::WeightFile, name(), ": the state has no tensor '", place, part, "'");
          continue;
        }
        if (!std::ranges::equal(tensor.sizes(), slots[k].parameter.sizes()) || tensor.dtype() != slots[k].parameter.dtype())
          raise(Code::WeightFile, name(), ": tensor '", place, part, "' is ", tensor.describe(), ", the parameter ", type);
        tensors.push_back(tensor.to(slots[k].parameter.device()).clone());
      }
      commits.push_back([&slot = slots[k], step, tensors = std::move(tensors)]() mutable {
        slot.step = step;
        // Compiled steps know the tensors there are.
        if (slot.state.size() != tensors.size()) {
          slot.state = std::move(tensors);
          return;
        }
        NoGrad guard;
        for (size_t part = 0; part < tensors.size(); ++part)
          slot.state[part].copy_(tensors[part]);
      });
    }
    commits.push_back(std::move(options));
  }
  return [commits = std::move(commits)]() mutable {
    for (auto &commit : commits)
      commit();
  };
}

// ---- the fused update ----

namespace {

using Value = UpdateGraph::Value;

DType computedIn(DType stored) { return stored == DType::F64 ? DType::F64 : DType::F32; }

/// New values of a parameter and its state, from the graph's inputs: gradient, parameter, state and numbers.
void buildUpdate(eager::GraphBuilder &g, const Optimizer::Update &update, const std::vector<Value> &inputs, size_t states, DType dtype, DType stored) {
  auto numbers = inputs.begin() + 2 + static_cast<std::ptrdiff_t>(states);
  UpdateGraph graph{g, inputs[0], inputs[1], {inputs.begin() + 2, numbers}, {numbers, inputs.end()}};
  update.formula(graph);
  auto give = [&](Value value) { g.result(dtype == stored ? value : g.cast(value, stored, g.dims(1))); };
  give(graph.parameter);
  for (Value value : graph.state)
    give(value);
}

} // namespace

/// One parameter by a call of its own: while a program is traced, or where its memory has gaps.
void Optimizer::apply(size_t group, Slot &slot) {
  Update update = this->update(group, slot.step);
  Tensor &parameter = slot.parameter;
  Tensor grad = parameter.grad();
  DType stored = parameter.dtype(), dtype = computedIn(stored);
  eager::Call call(update.name);
  call.attribute(update.variant).noGradient().elementwise();
  call.input(grad, dtype).input(parameter, dtype);
  for (const Tensor &each : slot.state)
    call.input(each, dtype);
  if (eager::Recorder *tracing = eager::recorder()) {
    auto read = [this, group, step = &slot.step] {
      Update now = this->update(group, *step);
      return eager::LiveNumbers{now.variant, std::move(now.numbers)};
    };
    for (const graphc::detail::TensorRef &number : tracing->numbers(this, group, &slot.step, dtype, read))
      call.input(eager::wrap(number), dtype);
  } else {
    for (double number : update.numbers)
      call.input(Scalar(number), dtype);
  }
  std::vector<Tensor> into = {parameter};
  into.insert(into.end(), slot.state.begin(), slot.state.end());
  // Where everything lies densely, one kernel reads each element once and writes it where it was.
  bool inPlace = std::all_of(into.begin(), into.end(), [](const Tensor &each) { return each.isContiguous(); }) && !grad.sharesStorage(parameter);
  for (const Tensor &each : into)
    if (inPlace)
      call.into(each);
  std::vector<Tensor> results = call.runMany(static_cast<int>(into.size()), [&](eager::GraphBuilder &g) {
    std::vector<Value> inputs;
    for (int i = 0; i < g.inputs(); ++i)
      inputs.push_back(g.input(i));
    buildUpdate(g, update, inputs, slot.state.size(), dtype, stored);
  });
  for (size_t k = 0; k < into.size(); ++k) {
    if (inPlace)
      into[k].impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
    else
      into[k].copy_(results[k]);
  }
}

/// Parameters of one dtype by one launch, which reads each element once and writes it where it was.
void Optimizer::applyTogether(size_t group, const std::vector<Slot *> &slots) {
  DType stored = slots[0]->parameter.dtype(), dtype = computedIn(stored);
  size_t states = slots[0]->state.size();
  Update update = this->update(group, slots[0]->step);
  std::vector<OpValueType> arguments(2 + states, OpValueType{stored, {"s0"}});
  arguments.resize(arguments.size() + update.numbers.size(), OpValueType{dtype, {}});
  auto function = eager::functionOf(text(update.name, " ", update.variant, " ", stored), arguments, [&](eager::GraphBuilder &g) {
    std::vector<Value> inputs;
    for (int i = 0; i < g.inputs(); ++i)
      inputs.push_back(g.dtype(i) == dtype ? g.input(i) : g.castInput(i, dtype));
    buildUpdate(g, update, inputs, states, dtype, stored);
  });
  std::vector<uint64_t> cells(slots.size() * update.numbers.size());
  uint64_t *cell = cells.data();
  std::vector<eager::Run> runs(slots.size());
  for (size_t k = 0; k < slots.size(); ++k) {
    Slot &slot = *slots[k];
    eager::Run &run = runs[k];
    run.symbols = {slot.parameter.numel()};
    run.inputs = {slot.parameter.grad().dataPtr(), slot.parameter.dataPtr()};
    run.results = {slot.parameter.dataPtr()};
    for (const Tensor &state : slot.state) {
      run.inputs.push_back(state.dataPtr());
      run.results.push_back(state.dataPtr());
    }
    for (double number : slot.step == slots[0]->step ? update.numbers : this->update(group, slot.step).numbers) {
      eager::writeScalar(Scalar(number), dtype, cell);
      run.inputs.push_back(cell++);
    }
  }
  eager::runTogether(*function, runs);
  for (Slot *slot : slots) {
    slot->parameter.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
    for (const Tensor &state : slot->state)
      state.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
  }
}

} // namespace graphc::optim
