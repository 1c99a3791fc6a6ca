#include "frontend/trace/Trace.h"

#include "frontend/eager/State.h"
#include "frontend/graphc/context.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <cmath>

namespace graphc::trace {

using eager::failWith;

Trace::~Trace() { restore(); }

//===-- the graph -------------------------------------------------------------------------------------------------===//
OpValueType Trace::typeOf(DType dtype, std::span<const int64_t> dims) const {
  OpValueType type{dtype, {}};
  for (int64_t dim : dims)
    type.dims.push_back(sizes_.text(dim));
  return type;
}

int Trace::argument(const std::string &name, DType dtype, std::vector<int64_t> dims) {
  graph_.arguments.push_back({name, typeOf(dtype, dims)});
  values_.push_back({dtype, std::move(dims), false});
  int value = static_cast<int>(values_.size()) - 1;
  graph_.argumentValues.push_back(value);
  return value;
}

int Trace::emit(OpNode node, Value value) {
  TraceGraph::Step step;
  step.op = std::move(node);
  values_.push_back(std::move(value));
  step.results = {static_cast<int>(values_.size()) - 1};
  graph_.steps.push_back(std::move(step));
  return static_cast<int>(values_.size()) - 1;
}

int Trace::emit(const std::string &op, std::vector<int> operands, const std::string &attributes, DType dtype, std::vector<int64_t> dims) {
  std::string key = text(op, '(', joined(operands), ')', attributes, static_cast<int>(dtype), '[', joined(dims), ']');
  auto [known, isNew] = emitted_.try_emplace(key, 0);
  if (isNew)
    known->second = emit(OpNode{op, attributes, std::move(operands), {typeOf(dtype, dims)}}, Value{dtype, std::move(dims)});
  return known->second;
}

int Trace::sizeNumber(const std::string &size, DType dtype) {
  int vector = emit("size", {}, graphc::text("sizes = #graph.dims<[", size, "]>"), DType::I64, {1});
  int number = reshape(vector, {});
  return dtype == DType::I64 ? number : emit("cast", {number}, "", dtype, {});
}

int Trace::constant(DType dtype, Scalar value) {
  double exact = value.toDouble();
  if (dtype != DType::Bool && std::abs(exact) < 9e15 && exact == std::trunc(exact) && sizes_.isSymbolic(static_cast<int64_t>(exact)))
    return sizeNumber(sizes_.text(static_cast<int64_t>(exact)), dtype);
  uint64_t bits = 0;
  eager::writeScalar(value, dtype, &bits);
  static constexpr const char *names[kNumDTypes] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui64", "ui32", "ui16", "ui8", "i1"};
  char number[32];
  if (isFloat(dtype))
    std::snprintf(number, sizeof number, "0x%0*llX", static_cast<int>(2 * sizeOf(dtype)), static_cast<unsigned long long>(bits));
  else if (dtype == DType::Bool)
    std::snprintf(number, sizeof number, "%s", bits ? "true" : "false");
  else
    std::snprintf(number, sizeof number, "%lld", static_cast<long long>(value.toInt()));
  int made = emit("constant", {}, graphc::text("value = dense<", number, "> : tensor<", names[static_cast<int>(dtype)], ">"), dtype, {});
  values_[made].zero = bits == 0;
  return made;
}

TensorRef Trace::traced(int value) {
  const Value &v = values_[value];
  int64_t bytes = static_cast<int64_t>(sizeOf(v.dtype));
  for (int64_t dim : v.dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      failWith(Code::ShapeMismatch, "compile: sizes [", joined(v.dims), "] overflow");
  // Its address stands for the storage: kept until the trace ends, so that no other takes it.
  StorageRef storage = detail::borrowStorage(nullptr, bytes, nullptr);
  if (!storage)
    failWith(Code::OutOfMemory, "compile: no memory for a tensor");
  std::vector<int64_t> strides(v.dims.size());
  detail::denseStrides(v.dims, strides.data());
  storages_[storage.get()] = {storage, value, -1};
  return detail::newView(std::move(storage), v.dtype, v.dims, strides, 0);
}

//===-- what was asked for ----------------------------------------------------------------------------------------===//
void Trace::note(Event event) {
  if (events_.size() >= limit_)
    failWith(codes::InvalidArgument, "the function does more ops, the larger it is");
  events_.push_back(std::move(event));
}

void Trace::noteTensor(Event &event, const TensorImpl &tensor) {
  auto [known, isNew] = seen_.try_emplace(tensor.storage.get(), static_cast<int64_t>(seen_.size()));
  if (isNew) {
    // Which one it is among those that every trace sees, in words that no size can be taken for.
    int number = held(tensor).captured;
    if (number >= 0) {
      const Captured &captured = captured_[static_cast<size_t>(number)];
      const auto *bytes = reinterpret_cast<const char *>(tensor.storage->data);
      if (captured.parameter >= 0)
        event.what += text(" argument", captured.parameter);
      else if (captured.constant)
        event.what += text(" constant", std::hash<std::string_view>()(std::string_view(bytes, static_cast<size_t>(tensor.storage->bytes))));
      else if (captured.gradientOf >= 0)
        event.what += text(" gradient", captured.gradientOf);
      else
        event.what += text(" captured", reinterpret_cast<uintptr_t>(tensor.storage.get()));
    }
  }
  event.views.push_back({event.numbers.size() + 2, static_cast<size_t>(tensor.rank)});
  event.numbers.insert(event.numbers.end(), {known->second, tensor.offset});
  event.numbers.insert(event.numbers.end(), tensor.sizes, tensor.sizes + tensor.rank);
  event.numbers.insert(event.numbers.end(), tensor.strides, tensor.strides + tensor.rank);
}

//===-- what is read ----------------------------------------------------------------------------------------------===//
TensorRef Trace::parameter(int index, const TensorImpl &like, std::span<const int64_t> sizes, const std::string &name) {
  int value = argument(name, like.dtype, {sizes.begin(), sizes.end()});
  TensorRef tensor = traced(value);
  tensor->requiresGrad = like.requiresGrad;
  storages_[tensor->storage.get()].captured = static_cast<int>(captured_.size());
  Captured captured;
  captured.tensor = tensor;
  captured.whole = true;
  captured.argument = static_cast<int>(graph_.arguments.size()) - 1;
  captured.parameter = index;
  captured_.push_back(std::move(captured));
  return tensor;
}

int Trace::capturedOf(const StorageImpl *storage) const {
  auto found = storages_.find(storage);
  return found == storages_.end() ? -1 : found->second.captured;
}

Trace::Held &Trace::held(const TensorImpl &tensor) {
  auto found = storages_.find(tensor.storage.get());
  if (found != storages_.end())
    return found->second;
  if (!tensor.storage->data)
    eager::needElements(tensor, "compile");
  Captured captured;
  captured.tensor = TensorRef(const_cast<TensorImpl *>(&tensor));
  captured.whole = tensor.dense && tensor.offset == 0 && tensor.denseBytes() == tensor.storage->bytes;
  captured.constant = constants_.contains(&tensor) || std::any_of(constants_.begin(), constants_.end(), [&](const auto &entry) {
                        return entry.first->storage == tensor.storage;
                      });
  captured.version = tensor.storage->version.load();
  for (size_t g = 0; g < gradients_.size(); ++g)
    if (gradients_[g].before && gradients_[g].before->storage == tensor.storage)
      captured.gradientOf = static_cast<int>(g);
  std::vector<int64_t> dims;
  if (captured.whole)
    dims.assign(tensor.sizes, tensor.sizes + tensor.rank);
  else
    dims = {tensor.storage->bytes / static_cast<int64_t>(sizeOf(tensor.dtype))};
  if (tensor.requiresGrad && (!tensor.autograd || !tensor.autograd->gradFn))
    gradientChanges(const_cast<TensorImpl &>(tensor));
  std::string name = tensor.autograd && !tensor.autograd->name.empty() ? tensor.autograd->name : graphc::text("captured", captured_.size());
  int value = argument(name, tensor.dtype, std::move(dims));
  captured.argument = static_cast<int>(graph_.arguments.size()) - 1;
  captured_.push_back(std::move(captured));
  return storages_[tensor.storage.get()] = {tensor.storage, value, static_cast<int>(captured_.size()) - 1};
}

bool Trace::isTraced(const TensorImpl &tensor) { return !tensor.storage->data || storages_.contains(tensor.storage.get()); }

void Trace::made(const TensorImpl &tensor) {
  constants_[&tensor] = true;
  kept_.push_back(TensorRef(const_cast<TensorImpl *>(&tensor)));
}

void Trace::gradientChanges(TensorImpl &leaf) {
  for (const LeafGradient &known : gradients_)
    if (known.leaf.get() == &leaf)
      return;
  gradients_.push_back({TensorRef(&leaf), leaf.autograd ? leaf.autograd->grad : TensorRef()});
}

//===-- ops -------------------------------------------------------------------------------------------------------===//
void Trace::call(eager::Function &function, std::span<const eager::Operand> operands, std::span<const int64_t> symbols,
                 std::span<TensorRef> results, std::span<TensorImpl *const> into) {
  TraceGraph::Step step;
  auto [known, isNew] = programs_.try_emplace(&function, static_cast<int>(graph_.programs.size()));
  if (isNew) {
    graph_.programs.push_back(function.program);
    graph_.programNames.push_back(function.name);
  }
  step.program = known->second;
  Event event{.what = function.name, .program = step.program};
  for (const eager::Operand &operand : operands) {
    int64_t strides[eager::kMaxRank];
    std::span<const int64_t> dims(operand.dims, static_cast<size_t>(operand.rank));
    if (operand.dense)
      detail::denseStrides(dims, strides);
    else
      std::copy(operand.strides, operand.strides + operand.rank, strides);
    noteTensor(event, *operand.tensor);
    step.op.operands.push_back(derive(*operand.tensor, operand.tensor->offset, dims, {strides, dims.size()}));
  }
  for (size_t r = 0; r < into.size(); ++r)
    if (into[r])
      noteTensor(event, *into[r]);
  note(std::move(event));
  std::vector<int64_t> sizes(symbols.begin(), symbols.end());
  for (int64_t size : symbols)
    step.symbols.push_back(sizes_.text(size));
  std::vector<int> made;
  for (const OpValueType &type : function.program.results) {
    std::vector<int64_t> dims;
    for (const std::string &dim : type.dims)
      dims.push_back(evaluateSize(dim, sizes));
    step.op.results.push_back(typeOf(type.dtype, dims));
    values_.push_back({type.dtype, std::move(dims), false});
    made.push_back(static_cast<int>(values_.size()) - 1);
  }
  step.results = made;
  graph_.steps.push_back(std::move(step));
  for (size_t r = 0; r < results.size(); ++r) {
    if (r < into.size() && into[r]) {
      store(*into[r], made[r]);
      results[r] = TensorRef(into[r]);
    } else {
      results[r] = traced(made[r]);
    }
  }
}

TensorRef Trace::full(DType dtype, std::span<const int64_t> sizes, Scalar value) {
  note({.what = "full", .numbers = {sizes.begin(), sizes.end()}, .isConstant = true, .value = value.toDouble(), .dtype = dtype});
  return traced(broadcast(constant(dtype, value), {sizes.begin(), sizes.end()}));
}

TensorRef Trace::sequence(DType dtype, int64_t count, int64_t first, int64_t step) {
  note({.what = "sequence", .numbers = {count, first, step}, .dtype = dtype});
  return traced(emit("iota", {}, graphc::text("axis = 0 : i64, start = ", eager::number(static_cast<double>(first)), " : f64, step = ",
                                      eager::number(static_cast<double>(step)), " : f64"),
                     dtype, {count}));
}

TensorRef Trace::copy(const TensorImpl &from) {
  Event event{.what = "copy"};
  noteTensor(event, from);
  note(std::move(event));
  return traced(read(from));
}

void Trace::store(const TensorImpl &to, int value) {
  int base = held(to).value;
  held(to).value = replaced(base, to, value);
}

void Trace::write(const TensorImpl &from, const TensorImpl &to) {
  Event event{.what = "write"};
  noteTensor(event, from);
  noteTensor(event, to);
  note(std::move(event));
  store(to, read(from));
}

void Trace::fill(const TensorImpl &to, Scalar value) {
  Event event{.what = "fill", .isConstant = true, .value = value.toDouble(), .dtype = to.dtype};
  noteTensor(event, to);
  note(std::move(event));
  store(to, broadcast(constant(to.dtype, value), {to.sizes, to.sizes + to.rank}));
}

//===-- what differs from run to run ------------------------------------------------------------------------------===//
std::pair<TensorRef, TensorRef> Trace::random(int64_t count, int64_t perBlock) {
  if (keyArgument_ < 0) {
    keyValue_ = argument("random key", DType::I64, {});
    keyArgument_ = static_cast<int>(graph_.arguments.size()) - 1;
    offsetValue_ = argument("random offset", DType::I64, {});
    offsetArgument_ = static_cast<int>(graph_.arguments.size()) - 1;
  }
  note({.what = "random", .numbers = {count, perBlock}});
  int offset = offsetValue_;
  for (auto [before, block] : draws_) {
    int blocks = sizes_.isSymbolic(before) ? sizeNumber(graphc::text("(", sizes_.text(before), " + ", block - 1, ") floordiv ", block), DType::I64)
                                           : constant(DType::I64, (before + block - 1) / block);
    offset = emit("add", {offset, blocks}, "", DType::I64, {});
  }
  draws_.emplace_back(count, perBlock);
  return {traced(keyValue_), traced(offset)};
}

int64_t Trace::randomBlocks(const std::vector<int64_t> &symbols) const {
  int64_t blocks = 0;
  for (auto [count, block] : draws_)
    blocks += (sizes_.at(count, symbols) + block - 1) / block;
  return blocks;
}

std::vector<TensorRef> Trace::numbers(const void *owner, size_t group, int64_t *step, DType dtype, std::function<eager::LiveNumbers()> read) {
  size_t at = 0;
  while (at < numbers_.size() && (numbers_[at].owner != owner || numbers_[at].group != group || numbers_[at].step != *step || numbers_[at].dtype != dtype))
    ++at;
  if (at == numbers_.size()) {
    NumberInput input{owner, group, *step, {}, dtype, 0, std::move(read), {}, {}};
    eager::LiveNumbers now = input.read();
    input.variant = now.variant;
    for (size_t k = 0; k < now.values.size(); ++k) {
      int value = argument(graphc::text("number", at, ".", k), dtype, {});
      input.arguments.push_back(static_cast<int>(graph_.arguments.size()) - 1);
      input.tensors.push_back(traced(value));
    }
    numbers_.push_back(std::move(input));
  }
  auto known = std::find_if(steps_.begin(), steps_.end(), [&](const StepCount &count) { return count.count == step; });
  assert(known != steps_.end() && "a step count is noted before it rises");
  numbers_[at].counts.emplace_back(step, *step - known->before);
  note({.what = text("numbers ", at, " step ", *step - known->before)});
  return numbers_[at].tensors;
}

void Trace::stepRises(int64_t *step) {
  for (StepCount &count : steps_)
    if (count.count == step)
      return;
  steps_.push_back({step, *step, 0});
}

std::vector<Tensor> Trace::branch(const Tensor &condition, const std::function<std::vector<Tensor>()> &then,
                                  const std::function<std::vector<Tensor>()> &otherwise) {
  std::unordered_map<const StorageImpl *, int> before, afterThen;
  for (const auto &[storage, held] : storages_)
    before[storage] = held.value;
  // What a storage held when the branches began; those that a branch has made are its own.
  auto valueBefore = [&](const StorageImpl *storage, const Held &held) {
    auto known = before.find(storage);
    if (known != before.end())
      return known->second;
    return held.captured >= 0 ? graph_.argumentValues[static_cast<size_t>(captured_[static_cast<size_t>(held.captured)].argument)] : -1;
  };
  auto outside = [&] {
    std::vector<const void *> seen;
    for (const LeafGradient &gradient : gradients_)
      seen.push_back(gradient.leaf->autograd ? gradient.leaf->autograd->grad.get() : nullptr);
    return seen;
  };
  auto counts = [&] {
    int64_t sum = 0;
    for (const StepCount &count : steps_)
      sum += *count.count;
    return sum;
  };
  std::vector<const void *> gradientsBefore = outside();
  int64_t countsBefore = counts();
  // Results are looked at as they are when their branch ends, whatever the other does to the same memory.
  auto kept = [](std::vector<Tensor> results) {
    for (Tensor &result : results)
      result = result.defined() ? result.clone() : result;
    return results;
  };
  std::vector<Tensor> chosen = kept(then());
  for (auto &[storage, held] : storages_) {
    afterThen[storage] = held.value;
    if (int value = valueBefore(storage, held); value >= 0)
      held.value = value;
  }
  std::vector<Tensor> other = kept(otherwise());
  std::vector<const void *> gradientsAfter = outside();
  gradientsAfter.resize(gradientsBefore.size());
  if (gradientsAfter != gradientsBefore || counts() != countsBefore)
    failWith(codes::AutogradMisuse, "cond: a branch of a compiled function may not call backward() or step an optimizer; return the loss or the gradients from it");
  if (chosen.size() != other.size())
    failWith(codes::InvalidArgument, "cond: one branch gives ", chosen.size(), " tensors, the other ", other.size());
  int flag = reshape(read(*condition.impl()), {});
  auto choose = [&](int a, int b) {
    return a == b ? a : emit("select", {flag, a, b}, "", values_[a].dtype, values_[a].dims);
  };
  std::vector<Tensor> results;
  for (size_t k = 0; k < chosen.size(); ++k) {
    if (!chosen[k].defined() || !other[k].defined() || chosen[k].dtype() != other[k].dtype() || !std::ranges::equal(chosen[k].sizes(), other[k].sizes()))
      failWith(Code::ShapeMismatch, "cond: result ", k, " is ", chosen[k].describe(), " in one branch and ", other[k].describe(), " in the other");
    results.push_back(where(condition.reshape({}), chosen[k], other[k]));
  }
  for (auto &[storage, held] : storages_) {
    auto known = afterThen.find(storage);
    if (int value = valueBefore(storage, held); value >= 0)
      held.value = choose(known == afterThen.end() ? value : known->second, held.value);
  }
  return results;
}

//===-- the end ---------------------------------------------------------------------------------------------------===//
int Trace::result(const TensorImpl &tensor, const std::string &name) {
  Event event{.what = "result"};
  noteTensor(event, tensor);
  note(std::move(event));
  graph_.results.push_back({name, read(tensor), -1});
  return static_cast<int>(graph_.results.size()) - 1;
}

int Trace::turnIntoArgument(size_t step, const std::string &name) {
  TraceGraph::Step constant = std::move(graph_.steps[step]);
  graph_.steps.erase(graph_.steps.begin() + static_cast<std::ptrdiff_t>(step));
  graph_.arguments.push_back({name, constant.op.results[0]});
  graph_.argumentValues.push_back(constant.results[0]);
  return static_cast<int>(graph_.arguments.size()) - 1;
}

void Trace::finish() {
  for (size_t c = 0; c < captured_.size(); ++c) {
    Captured &captured = captured_[c];
    int value = storages_[captured.tensor->storage.get()].value;
    if (captured.constant || value == graph_.argumentValues[static_cast<size_t>(captured.argument)])
      continue;
    captured.updates = static_cast<int>(graph_.results.size());
    graph_.results.push_back({"new " + graph_.arguments[static_cast<size_t>(captured.argument)].name, value, captured.argument});
  }
  for (LeafGradient &gradient : gradients_) {
    TensorRef now = gradient.leaf->autograd ? gradient.leaf->autograd->grad : TensorRef();
    if (now == gradient.before)
      continue;
    if (!now)
      gradient.cleared = true;
    else
      gradient.result = result(*now, "gradient");
  }
  for (StepCount &count : steps_)
    count.rises = *count.count - count.before;
  for (const SymbolicSize &symbol : sizes_.symbols())
    graph_.symbols.push_back({symbol.name, symbol.lo, symbol.hi});
  restore();
}

void Trace::restore() {
  if (restored_)
    return;
  restored_ = true;
  for (Captured &captured : captured_)
    captured.tensor->storage->version.store(captured.version);
  for (LeafGradient &gradient : gradients_)
    if (gradient.leaf->autograd)
      gradient.leaf->autograd->grad = gradient.before;
  for (StepCount &count : steps_)
    *count.count = count.before;
}

} // namespace graphc::trace
