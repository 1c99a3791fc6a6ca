// Calls: operands to a key, and on a new key a graph to a function.
#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/State.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace graphc::eager {

void fail(const Status &status) {
  const char *op = OpScope::current();
  if (!op)
    throw Error(status);
  // "expand: …" of a repeat() is repeat's own error.
  std::string_view message = status.message();
  size_t name = std::min(message.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), message.size());
  if (message.substr(name).starts_with(": "))
    message.remove_prefix(name + 2);
  throw Error(error(status.code(), op, ": ", message));
}

std::string nameOf(const TensorImpl &tensor) {
  std::string text = detail::describe(tensor);
  if (tensor.autograd && !tensor.autograd->name.empty())
    text = "\"" + tensor.autograd->name + "\" " + text;
  return text;
}

int64_t wrapAxis(const char *op, int64_t axis, int64_t rank) {
  int64_t bound = rank > 0 ? rank : 1;
  if (axis < -bound || axis >= bound)
    failWith(codes::InvalidArgument, op, ": axis ", axis, " is out of range for rank ", rank);
  return axis < 0 ? axis + bound : axis;
}

std::vector<int64_t> wrapAxes(const char *op, IntList axes, int64_t rank) {
  std::vector<int64_t> wrapped;
  if (axes.empty()) {
    for (int64_t d = 0; d < rank; ++d)
      wrapped.push_back(d);
    return wrapped;
  }
  for (int64_t axis : axes)
    wrapped.push_back(wrapAxis(op, axis, rank));
  std::sort(wrapped.begin(), wrapped.end());
  for (size_t i = 1; i < wrapped.size(); ++i)
    if (wrapped[i] == wrapped[i - 1])
      failWith(codes::InvalidArgument, op, ": axis ", wrapped[i], " is given twice");
  if (rank == 0)
    wrapped.clear();
  return wrapped;
}

/// A number on the host joins tensors of any device.
static bool goesAnywhere(const TensorImpl &tensor) { return tensor.rank == 0 && isOnHost(tensor); }

void checkDevices(const char *op, std::initializer_list<const Tensor *> tensors) {
  const Tensor *first = nullptr;
  for (const Tensor *tensor : tensors) {
    if (!tensor->defined())
      failWith(codes::InvalidArgument, op, ": an operand is an undefined tensor");
    if (goesAnywhere(*tensor->impl()))
      continue;
    if (!first)
      first = tensor;
    else if (tensor->impl()->storage->device != first->impl()->storage->device)
      failWith(codes::DeviceMismatch, op, ": expected all tensors to be on the same device, got ", first->device().str(), " (",
               nameOf(*first), ") and ", tensor->device().str(), " (", nameOf(*tensor), ")");
  }
}

//===-- graphs ----------------------------------------------------------------------------------------------------===//
GraphBuilder::GraphBuilder(const std::vector<OpValueType> &arguments) : types_(arguments) {
  graph_.arguments = arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    inputs_.push_back({values_++});
}

std::vector<GraphBuilder::Value> GraphBuilder::ops(const std::string &name, const std::vector<Value> &operands,
                                                   const std::string &attributes, std::vector<OpValueType> types) {
  OpNode node{name, attributes, {}, std::move(types)};
  for (Value operand : operands)
    node.operands.push_back(operand.id);
  std::vector<Value> results(std::max<size_t>(1, node.results.size()));
  for (Value &result : results)
    result.id = values_++;
  graph_.nodes.push_back(std::move(node));
  return results;
}
std::vector<GraphBuilder::Value> GraphBuilder::opMany(const std::string &name, const std::vector<Value> &operands,
                                                      const std::string &attributes, int results) {
  std::vector<Value> values = ops(name, operands, attributes, {});
  while (static_cast<int>(values.size()) < results)
    values.push_back({values_++});
  return values;
}
GraphBuilder::Value GraphBuilder::op(const std::string &name, const std::vector<Value> &operands, const std::string &attributes) {
  return ops(name, operands, attributes, {})[0];
}
GraphBuilder::Value GraphBuilder::op(const std::string &name, const std::vector<Value> &operands, const std::string &attributes,
                                     OpValueType type) {
  return ops(name, operands, attributes, {std::move(type)})[0];
}

static const char *elementName(DType dtype) {
  static constexpr const char *names[kNumDTypes] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui64", "ui32", "ui16", "ui8", "i1"};
  return names[static_cast<int>(dtype)];
}

GraphBuilder::Value GraphBuilder::constant(double value, DType dtype) {
  char number[64];
  if (dtype == DType::Bool)
    std::snprintf(number, sizeof number, "%s", value ? "true" : "false");
  else if (!isFloat(dtype))
    std::snprintf(number, sizeof number, "%lld", static_cast<long long>(value));
  else if (std::isnan(value) || std::isinf(value)) {
    // MLIR spells these by their bits.
    switch (dtype) {
    case DType::F64:
      std::snprintf(number, sizeof number, "0x%016llX", static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
      break;
    case DType::F32:
      std::snprintf(number, sizeof number, "0x%08X", std::bit_cast<uint32_t>(static_cast<float>(value)));
      break;
    case DType::F16:
      std::snprintf(number, sizeof number, "0x%04X", floatToHalf(static_cast<float>(value)));
      break;
    default:
      std::snprintf(number, sizeof number, "0x%04X", floatToBfloat(static_cast<float>(value)));
    }
  } else {
    std::snprintf(number, sizeof number, "%.17e", value);
  }
  return op("constant", {}, text("value = dense<", number, "> : tensor<", elementName(dtype), ">"), OpValueType{dtype, {}});
}

GraphBuilder::Value GraphBuilder::cast(Value value, DType dtype, std::vector<std::string> dims) {
  return op("cast", {value}, "", OpValueType{dtype, std::move(dims)});
}

GraphBuilder::Value GraphBuilder::size(const std::string &dim, DType dtype) {
  Value vector = op("size", {}, text("sizes = #graph.dims<[", dim, "]>"), OpValueType{DType::I64, {"1"}});
  Value scalar = op("reshape", {vector}, "", OpValueType{DType::I64, {}});
  return dtype == DType::I64 ? scalar : cast(scalar, dtype, {});
}

//===-- operands --------------------------------------------------------------------------------------------------===//
Call::Call(const char *name) : name_(name) { key_.add(&name_, sizeof name_); }

Call &Call::input(const Tensor &tensor, DType dtype) {
  if (!tensor.defined())
    failWith(codes::InvalidArgument, name_, ": operand ", count_, " is an undefined tensor");
  assert(count_ < kMaxInputs && "more operands than an op takes");
  TensorImpl *impl = tensor.impl();
  for (int i = 0; i < count_ && !goesAnywhere(*impl); ++i)
    if (const TensorImpl &other = *operands_[i].tensor; impl->storage->device != other.storage->device && !goesAnywhere(other))
      failWith(codes::DeviceMismatch, name_, ": expected all tensors to be on the same device, got ", wrap(operands_[i].tensor).device().str(), " (",
               nameOf(other), ") and ", tensor.device().str(), " (", nameOf(*impl), ")");
  Operand &operand = operands_[count_];
  operand.tensor = TensorRef(impl);
  fixedFrom_[count_] = kMaxRank;
  as_[count_++] = dtype;
  return *this;
}

namespace {
/// Rank-0 tensors of numbers that programs use again and again. Nobody writes to them.
TensorRef scalarOperand(Scalar value, DType dtype) {
  struct Entry {
    double number;
    int64_t integer;
    DType dtype;
    TensorRef tensor;
  };
  thread_local Entry entries[64];
  uint64_t bits = std::bit_cast<uint64_t>(value.toDouble());
  Entry &entry = entries[(bits ^ (bits >> 52) ^ (bits >> 40) ^ static_cast<uint64_t>(dtype) * 7) & 63];
  if (entry.tensor && std::bit_cast<uint64_t>(entry.number) == bits && entry.integer == value.toInt() && entry.dtype == dtype)
    return entry.tensor;
  TensorRef tensor = detail::newTensor(dtype, {});
  if (!tensor)
    failWith(Code::OutOfMemory, "no memory for a number");
  writeScalar(value, dtype, tensor->data());
  entry = {value.toDouble(), value.toInt(), dtype, tensor};
  return tensor;
}
} // namespace

void writeScalar(Scalar value, DType dtype, void *at) {
  auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  switch (dtype) {
  case DType::F64: put(value.toDouble()); break;
  case DType::F32: put(static_cast<float>(value.toDouble())); break;
  case DType::F16: put(doubleToHalf(value.toDouble())); break;
  case DType::BF16: put(doubleToBfloat(value.toDouble())); break;
  case DType::I64: put(value.toInt()); break;
  case DType::I32: put(static_cast<int32_t>(value.toInt())); break;
  case DType::I16: put(static_cast<int16_t>(value.toInt())); break;
  case DType::I8: put(static_cast<int8_t>(value.toInt())); break;
  case DType::U64: put(static_cast<uint64_t>(value.toInt())); break;
  case DType::U32: put(static_cast<uint32_t>(value.toInt())); break;
  case DType::U16: put(static_cast<uint16_t>(value.toInt())); break;
  case DType::U8: put(static_cast<uint8_t>(value.toInt())); break;
  case DType::Bool: put(static_cast<uint8_t>(value.isFloat() ? value.toDouble() != 0 : value.toInt() != 0)); break;
  }
}

Call &Call::input(Scalar value, DType dtype) {
  Operand &operand = operands_[count_];
  Recorder *tracing = recorder();
  operand.tensor = tracing ? tracing->full(dtype, {}, value) : scalarOperand(value, dtype);
  fixedFrom_[count_] = kMaxRank;
  as_[count_++] = dtype;
  return *this;
}

Call &Call::symbol(int64_t value) {
  assert(extra_ < 16 && "too many sizes of its own");
  extraValue_[extra_++] = value;
  return *this;
}

Call &Call::elementwise() {
  elementwise_ = true;
  return *this;
}

/// The sizes that operands have together.
void Call::findBroadcast() {
  rank_ = 0;
  for (int i = 0; i < count_; ++i)
    rank_ = std::max<int>(rank_, operands_[i].tensor->rank);
  for (int d = 0; d < rank_; ++d)
    sizes_[d] = 1;
  for (int i = 0; i < count_; ++i) {
    TensorImpl *t = operands_[i].tensor.get();
    for (int d = 0; d < t->rank; ++d) {
      int64_t &size = sizes_[rank_ - t->rank + d];
      if (t->sizes[d] == 1 || t->sizes[d] == size)
        continue;
      if (size != 1) {
        std::string shapes;
        for (int k = 0; k < count_; ++k)
          shapes += text(k ? (k + 1 == count_ ? " and " : ", ") : "", nameOf(*operands_[k].tensor));
        failWith(Code::ShapeMismatch, name_, ": ", shapes, " do not broadcast: dim ", rank_ - t->rank + d, " has sizes ", size, " and ",
                 t->sizes[d]);
      }
      size = t->sizes[d];
    }
  }
}

/// The broadcast shape with every dim as it is: a compiler that sees the whole program merges dims itself, where that helps.
void Call::broadcast() {
  findBroadcast();
  assignSymbols();
}

/// The broadcast shape, then neighbouring dims that step through every operand as one are merged.
void Call::collapse() {
  if (recorder()) [[unlikely]]
    return broadcast();
  // The common case first: same sizes, all dense, or numbers.
  TensorImpl *first = operands_[0].tensor.get();
  for (int i = 1; i < count_ && first->rank == 0; ++i)
    first = operands_[i].tensor.get();
  bool simple = true;
  for (int i = 0; i < count_ && simple; ++i) {
    TensorImpl *t = operands_[i].tensor.get();
    simple = t->rank == 0 || (t->dense && t->rank == first->rank && std::equal(t->sizes, t->sizes + t->rank, first->sizes));
  }
  if (simple) {
    rank_ = first->rank;
    std::copy(first->sizes, first->sizes + rank_, sizes_);
    int rank = first->elements == 1 ? 0 : 1;
    for (int i = 0; i < count_; ++i) {
      operands_[i].rank = operands_[i].tensor->rank == 0 ? 0 : rank;
      operands_[i].dims[0] = first->elements;
      operands_[i].strides[0] = 1;
      operands_[i].dense = true;
      codes_[i][0] = 1;
    }
    symbols_ = rank;
    values_[0] = first->elements;
    return;
  }
  findBroadcast();
  // Per operand and dim of the result: stride, or -1 where it repeats.
  int64_t step[kMaxInputs][kMaxRank];
  for (int i = 0; i < count_; ++i) {
    TensorImpl *t = operands_[i].tensor.get();
    for (int d = 0; d < rank_; ++d) {
      int own = d - (rank_ - t->rank);
      step[i][d] = own < 0 || (t->sizes[own] == 1 && sizes_[d] != 1) ? -1 : t->strides[own];
    }
  }
  int groups = 0; // outermost first
  int64_t size[kMaxRank];
  int last[kMaxRank]; // innermost dim of the group
  for (int d = 0; d < rank_; ++d) {
    if (sizes_[d] == 1)
      continue;
    bool merges = groups > 0;
    for (int i = 0; i < count_ && merges; ++i) {
      int64_t outer = step[i][last[groups - 1]], inner = step[i][d];
      merges = (outer < 0) == (inner < 0) && (outer < 0 || outer == inner * sizes_[d]);
    }
    if (merges) {
      size[groups - 1] *= sizes_[d];
      last[groups - 1] = d;
    } else {
      size[groups] = sizes_[d];
      last[groups++] = d;
    }
  }
  symbols_ = groups;
  for (int g = 0; g < groups; ++g)
    values_[g] = size[g];
  for (int i = 0; i < count_; ++i) {
    Operand &operand = operands_[i];
    // Leading dims along which it repeats are left out.
    int skip = 0;
    while (skip < groups && step[i][last[skip]] < 0)
      ++skip;
    operand.rank = groups - skip;
    for (int g = skip; g < groups; ++g) {
      int64_t stride = step[i][last[g]];
      operand.dims[g - skip] = stride < 0 ? 1 : size[g];
      operand.strides[g - skip] = std::max<int64_t>(stride, 0);
      codes_[i][g - skip] = stride < 0 ? 0 : static_cast<int8_t>(g + 1);
    }
    operand.dense = detail::isDense({operand.dims, static_cast<size_t>(operand.rank)}, {operand.strides, static_cast<size_t>(operand.rank)});
  }
}

/// Sizes in order of appearance; equal ones share a symbol, 1 is a constant.
void Call::assignSymbols() {
  auto codeOf = [&](int64_t size) -> int8_t {
    if (size == 1)
      return 0;
    for (int s = 0; s < symbols_; ++s)
      if (values_[s] == size)
        return static_cast<int8_t>(s + 1);
    assert(symbols_ < kMaxSymbols && "more sizes than symbols");
    values_[symbols_++] = size;
    return static_cast<int8_t>(symbols_);
  };
  for (int i = 0; i < count_; ++i) {
    Operand &operand = operands_[i];
    TensorImpl *t = operand.tensor.get();
    operand.rank = t->rank;
    operand.dense = t->dense;
    for (int d = 0; d < t->rank; ++d) {
      operand.dims[d] = t->sizes[d];
      operand.strides[d] = t->strides[d];
      codes_[i][d] = d >= fixedFrom_[i] && t->sizes[d] != 1 ? -1 : codeOf(t->sizes[d]);
    }
  }
  for (int e = 0; e < extra_; ++e)
    extraCode_[e] = codeOf(extraValue_[e]);
}

const std::shared_ptr<Function> *Call::find() {
  if (elementwise_)
    collapse();
  else
    assignSymbols();
  for (int i = 0; i < count_; ++i) {
    int8_t head[3] = {static_cast<int8_t>(operands_[i].tensor->dtype), static_cast<int8_t>(as_[i]), static_cast<int8_t>(operands_[i].rank)};
    key_.add(head, sizeof head);
    key_.add(codes_[i], static_cast<size_t>(operands_[i].rank));
    if (!elementwise_)
      for (int d = fixedFrom_[i]; d < operands_[i].rank; ++d)
        key_.add(&operands_[i].dims[d], sizeof(int64_t));
  }
  if (extra_)
    key_.add(extraCode_, static_cast<size_t>(extra_));
  int8_t tail[2] = {static_cast<int8_t>(count_), static_cast<int8_t>(elementwise_)};
  key_.add(tail, sizeof tail);
  ThreadContext::State &state = ThreadContext::current().state();
  ++state.statistics.calls;
  auto found = state.functions.find(key_.view());
  if (found != state.functions.end())
    return &found->second;
  if (auto shared = Services::get().find(key_.view()))
    return &state.functions.emplace(key_.view(), std::move(shared)).first->second;
  return fromDisk();
}

void Call::prepare(GraphBuilder &builder) {
  auto dimText = [](int8_t code) { return code == 0 ? std::string("1") : text("s", code - 1); };
  for (int i = 0; i < count_; ++i) {
    OpValueType type;
    type.dtype = operands_[i].tensor->dtype;
    for (int d = 0; d < operands_[i].rank; ++d)
      type.dims.push_back(codes_[i][d] < 0 ? text(operands_[i].dims[d]) : dimText(codes_[i][d]));
    builder.graph_.arguments.push_back(type);
    builder.types_.push_back(type);
    builder.inputs_.push_back({builder.values_++});
  }
  for (int e = 0; e < extra_; ++e)
    builder.extra_.push_back(dimText(extraCode_[e]));
  for (int i = 0; i < count_; ++i)
    if (as_[i] != builder.types_[i].dtype) {
      builder.inputs_[i] = builder.cast(builder.inputs_[i], as_[i], builder.types_[i].dims);
      builder.types_[i].dtype = as_[i];
    }
}

/// The key with the name spelled out: what other processes find it by.
static std::string lastingKey(const char *name, std::string_view key) { return text(name, '\n', key.substr(sizeof name)); }

const std::shared_ptr<Function> *Call::fromDisk() {
  Services &services = Services::get();
  if (ofProcess_)
    return nullptr;
  auto bytes = services.findStored("op", lastingKey(name_, key_.view()));
  auto program = bytes ? decodeProgram(*bytes) : std::nullopt;
  if (!program)
    return nullptr;
  auto function = services.add(key_.view(), std::make_shared<Function>(name_, *std::move(program), lastingKey(name_, key_.view())));
  return &ThreadContext::current().state().functions.emplace(key_.view(), std::move(function)).first->second;
}

const std::shared_ptr<Function> &Call::store(OpGraph graph) {
  Services &services = Services::get();
  auto program = services.compiler().build(graph);
  if (!program.ok())
    failWith(program.status().code(), name_, ": ", program.status().message());
  if (!ofProcess_)
    services.store("op", lastingKey(name_, key_.view()), encodeProgram(*program));
  auto function = services.add(key_.view(), std::make_shared<Function>(name_, *std::move(program), ofProcess_ ? "" : lastingKey(name_, key_.view()),
                                                                       std::move(ownGradient_)));
  return ThreadContext::current().state().functions.emplace(key_.view(), std::move(function)).first->second;
}

void Call::finish(const std::shared_ptr<Function> &function, std::span<Tensor> results) {
  TensorRef out[kMaxResults];
  assert(results.size() <= kMaxResults && (intoCount_ == 0 || intoCount_ == static_cast<int>(results.size())) &&
         "all results go to given memory, or none");
  std::span<TensorRef> outs(out, results.size());
  std::span<Operand> operands(operands_, static_cast<size_t>(count_));
  std::span<const int64_t> symbols(values_, static_cast<size_t>(symbols_));
  ResultShape shape{{sizes_, static_cast<size_t>(rank_)}};
  if (intoCount_ || noGradient_) {
    runFunction(*function, operands, symbols, outs, {into_, static_cast<size_t>(intoCount_)});
    if (elementwise_ && !intoCount_)
      for (TensorRef &result : outs)
        reshapeFresh(*result, shape.sizes);
  } else {
    runRecorded(function, operands, symbols, outs, elementwise_ ? &shape : nullptr);
  }
  for (size_t r = 0; r < results.size(); ++r)
    results[r] = wrap(std::move(out[r]));
}

void reshapeFresh(TensorImpl &tensor, std::span<const int64_t> sizes) {
  tensor.rank = static_cast<int8_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), tensor.sizes);
  detail::denseStrides(sizes, tensor.strides);
}

} // namespace graphc::eager
