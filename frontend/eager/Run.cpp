// Functions to results: one kernel is started here, anything more walks the plan.
#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/State.h"
#include "runtime/exec/Context.h"

#include <algorithm>

namespace graphc::eager {

Function::~Function() {
  delete form_.load();
  for (Gradient *gradient = gradients_.load(); gradient;)
    delete std::exchange(gradient, gradient->next);
}

const Form &Function::form() {
  if (Form *form = form_.load(std::memory_order_acquire))
    return *form;
  std::lock_guard lock(mutex_);
  if (Form *form = form_.load(std::memory_order_acquire))
    return *form;
  Services &services = Services::get();
  OpStatistics &statistics = ThreadContext::current().state().statistics;
  std::string key = codeKey();
  std::shared_ptr<const Executable> executable;
  // What lies on disk and cannot be used is compiled again.
  if (auto bytes = services.findStored("code", key))
    if (auto op = decodeCode(*bytes))
      if (auto loaded = services.load(*std::move(op)); loaded.ok()) {
        executable = *loaded;
        ++statistics.fromDisk;
      }
  if (!executable) {
    auto op = services.compiler().compile(program);
    if (!op.ok())
      failWith(op.status().code(), name, ": ", op.status().message());
    services.store("code", key, encodeCode(*op));
    auto loaded = services.load(*std::move(op));
    if (!loaded.ok())
      failWith(loaded.status().code(), name, ": ", loaded.status().message());
    executable = *loaded;
    ++statistics.compiled;
  }
  auto form = std::make_unique<Form>();
  form->executable = executable;
  int symbolInput = program.symbols ? 0 : -1;
  form->shapes = resultShapes(*executable, symbolInput);
  form->direct = directCall(*executable, symbolInput, form->shapes.tape);
  form_.store(form.get(), std::memory_order_release);
  return *form.release();
}

const Gradient &Function::gradient(uint64_t needs, uint64_t given) {
  for (Gradient *gradient = gradients_.load(std::memory_order_acquire); gradient; gradient = gradient->next)
    if (gradient->needs == needs && gradient->given == given)
      return *gradient;
  std::lock_guard lock(mutex_);
  for (Gradient *gradient = gradients_.load(std::memory_order_acquire); gradient; gradient = gradient->next)
    if (gradient->needs == needs && gradient->given == given)
      return *gradient;
  auto gradient = std::make_unique<Gradient>();
  gradient->needs = needs;
  gradient->given = given;
  gradient->info = ownGradient_ ? ownGradient_(program, needs) : buildGradient(needs, given);
  gradient->function = std::make_shared<Function>(name + "Backward", gradient->info.program);
  gradient->next = gradients_.load();
  gradients_.store(gradient.get(), std::memory_order_release);
  return *gradient.release();
}

std::string Function::gradientKey(uint64_t needs, uint64_t given) const { return text("gradient\n", needs, ' ', given, '\n', program.text); }

OpGradient Function::buildGradient(uint64_t needs, uint64_t given) {
  std::vector<bool> needed(program.arguments.size()), present(program.results.size());
  for (size_t i = 0; i < needed.size(); ++i)
    needed[i] = needs >> i & 1;
  for (size_t i = 0; i < present.size(); ++i)
    present[i] = given >> i & 1;
  Services &services = Services::get();
  std::string key = gradientKey(needs, given);
  std::optional<OpGradient> info;
  if (auto bytes = services.findStored("gradient", key))
    info = decodeGradient(*bytes);
  if (!info) {
    auto built = services.compiler().gradient(program, needed, present);
    if (!built.ok())
      failWith(built.status().code(), name, ": ", built.status().message());
    info = *std::move(built);
    services.store("gradient", key, encodeGradient(*info));
  }
  return *std::move(info);
}

namespace {

/// The operand in dense memory of its own; the statistics show it.
void makeDense(Operand &operand) {
  TensorRef dense = detail::newTensor(operand.tensor->dtype, {operand.dims, static_cast<size_t>(operand.rank)});
  if (!dense)
    failWith(Code::OutOfMemory, "no memory for a dense copy of ", nameOf(*operand.tensor));
  auto view = detail::newView(operand.tensor->storage, operand.tensor->dtype, {operand.dims, static_cast<size_t>(operand.rank)},
                              {operand.strides, static_cast<size_t>(operand.rank)}, operand.tensor->offset);
  detail::copyDense(*view, dense->data());
  OpStatistics &statistics = ThreadContext::current().state().statistics;
  ++statistics.denseCopies;
  statistics.denseCopyBytes += dense->denseBytes();
  operand.tensor = std::move(dense);
  detail::denseStrides({operand.dims, static_cast<size_t>(operand.rank)}, operand.strides);
  operand.dense = true;
}

struct DirectJob {
  const DirectCall *call;
  void *const *buffers;
  const int64_t *scalars;
  int64_t range;
  int chunks;
  std::atomic<int> failed{-1};
  GraphcErrorCell cell;
};

/// In the user's words; `what` is "index 7 is out of range [0, 2]".
[[noreturn]] void outOfRange(const Function &function, std::string what) {
  if (function.name == "crossEntropy" || function.name == "nllLoss")
    what.replace(0, 5, "label");
  failWith(Code::IndexOutOfRange, function.name, ": ", what);
}

} // namespace

void outOfRange(const Function &function, const GraphcErrorCell &cell) {
  outOfRange(function, text("index ", cell.value, " is out of range [", cell.lower, ", ", cell.upper, "]"));
}

namespace {

void launch(const Function &function, const Form &form, const int64_t *values, void *const *inputs, std::span<TensorRef> results) {
  const DirectCall &call = *form.direct;
  int64_t range = call.range < 0 ? 1 : values[call.range];
  if (range <= 0)
    return;
  void *buffers[kMaxInputs + 10];
  int64_t scalars[2 * kMaxSymbols];
  size_t count = 0;
  ++ThreadContext::current().state().statistics.launches;
  for (const DirectCall::Buffer &buffer : call.buffers)
    buffers[count++] = buffer.kind == DirectCall::Buffer::Input    ? inputs[buffer.index]
                       : buffer.kind == DirectCall::Buffer::Output ? results[static_cast<size_t>(buffer.index)]->data()
                                                                   : const_cast<void *>(buffer.constant);
  for (size_t i = 0; i < call.scalars.size(); ++i)
    scalars[i] = values[call.scalars[i]];
  GraphcErrorCell cell{};
  double cost = call.costNs * static_cast<double>(range) * (call.costScale < 0 ? 1.0 : static_cast<double>(values[call.costScale]));
  const std::shared_ptr<ThreadPool> &pool = Services::get().pool();
  if (call.serial || cost < kSerialCutoffNs || !pool || !pool->tryEnter()) {
    GraphcKernelContext context{&cell, nullptr, 0};
    call.kernel(buffers, scalars, &context, 0, range);
  } else {
    int64_t grains = (range + call.grain - 1) / call.grain;
    DirectJob job{&call, buffers, scalars, range, static_cast<int>(std::min<int64_t>(grains, 4 * pool->concurrency()))};
    pool->run(
        job.chunks,
        [](void *argument, int chunk, int) {
          auto &job = *static_cast<DirectJob *>(argument);
          int64_t grains = (job.range + job.call->grain - 1) / job.call->grain;
          int64_t begin = grains * chunk / job.chunks * job.call->grain;
          int64_t end = std::min(grains * (chunk + 1) / job.chunks * job.call->grain, job.range);
          GraphcErrorCell cell{};
          GraphcKernelContext context{&cell, nullptr, 0};
          if (begin < end)
            job.call->kernel(job.buffers, job.scalars, &context, begin, end);
          int none = -1;
          if (cell.flag && job.failed.compare_exchange_strong(none, chunk))
            job.cell = cell;
        },
        &job);
    pool->leave();
    if (job.failed.load() >= 0)
      cell = job.cell;
  }
  if (cell.flag) [[unlikely]]
    outOfRange(function, cell);
}

/// Through the plan, with a context kept for these sizes.
void walk(const Function &function, const Form &form, const int64_t *values, std::span<Operand> operands, std::span<const int64_t> symbols,
          std::span<TensorRef> results) {
  symbols = symbols.first(static_cast<size_t>(function.program.symbols));
  std::vector<HostTensor> inputs, outputs;
  inputs.reserve(operands.size() + 1);
  if (!symbols.empty()) {
    std::vector<int64_t> sizes = {0};
    sizes.insert(sizes.end(), symbols.begin(), symbols.end());
    static const int64_t nothing[8] = {};
    inputs.push_back(HostTensor::borrow(DType::Bool, std::move(sizes), static_cast<const void *>(nothing)));
  }
  for (Operand &operand : operands)
    inputs.push_back(HostTensor::borrow(operand.tensor->dtype, std::vector<int64_t>(operand.dims, operand.dims + operand.rank),
                                        static_cast<void *>(operand.tensor->data())));
  for (size_t r = 0; r < results.size(); ++r) {
    std::vector<int64_t> sizes;
    for (int dim : form.shapes.dims[r])
      sizes.push_back(values[dim]);
    outputs.push_back(HostTensor::borrow(results[r]->dtype, std::move(sizes), static_cast<void *>(results[r]->data())));
  }
  struct {
    const Executable *executable;
    int64_t symbols[kMaxSymbols];
  } key{form.executable.get(), {}};
  std::copy(symbols.begin(), symbols.end(), key.symbols);
  std::string_view bytes(reinterpret_cast<const char *>(&key), sizeof key.executable + symbols.size_bytes());
  auto &contexts = ThreadContext::current().state().contexts;
  ++ThreadContext::current().state().statistics.launches;
  auto found = contexts.find(bytes);
  if (found == contexts.end()) {
    // Programs with ever new sizes must not keep an arena for each.
    constexpr size_t kKept = 512;
    if (contexts.size() >= kKept)
      contexts.clear();
    auto context = form.executable->newContext();
    check(context.status());
    found = contexts.emplace(std::string(bytes), *context).first;
  }
  Status status = form.executable->run(*found->second, inputs, outputs);
  if (!status.ok()) {
    size_t index = status.message().rfind("index ");
    if (status.code() == Code::IndexOutOfRange && index != std::string::npos)
      outOfRange(function, status.message().substr(index));
    failWith(status.code(), function.name, ": ", status.message());
  }
}

} // namespace

void runFunction(Function &function, std::span<Operand> operands, std::span<const int64_t> symbols, std::span<TensorRef> results,
                 std::span<TensorImpl *const> into) {
  detail::DeviceId device;
  for (const Operand &operand : operands)
    if (!isOnHost(*operand.tensor)) [[unlikely]]
      device = operand.tensor->storage->device;
  if (Recorder *tracing = recorder()) [[unlikely]] {
    if (device != detail::DeviceId())
      failWith(Code::DeviceUnavailable, function.name, ": programs on devices other than cpu cannot be traced in this build; call the function itself");
    return tracing->call(function, operands, symbols, results, into);
  }
  if (device != detail::DeviceId()) [[unlikely]]
    return runOnDevice(function, device, operands, symbols, results, into);
  for (Operand &operand : operands) {
    if (!operand.tensor->storage->data) [[unlikely]]
      needElements(*operand.tensor, function.name.c_str());
    if (!operand.dense)
      makeDense(operand);
  }
  const Form &form = function.form();
  int64_t values[256];
  if (form.shapes.tape.exprs.size() > 256 || !form.shapes.tape.evaluate(symbols, values))
    failWith(Code::ShapeMismatch, function.name, ": the sizes overflow");
  for (size_t r = 0; r < results.size(); ++r) {
    int64_t sizes[kMaxRank];
    const std::vector<int> &dims = form.shapes.dims[r];
    if (dims.size() > kMaxRank)
      failWith(Code::ShapeMismatch, function.name, ": the result has rank ", dims.size(), ", more than ", kMaxRank);
    for (size_t d = 0; d < dims.size(); ++d)
      sizes[d] = values[dims[d]];
    // One kernel reads an element before it writes it; a plan of several may read what an earlier one has overwritten.
    if (r < into.size() && into[r] && form.direct) {
      results[r] = TensorRef(into[r]);
      continue;
    }
    results[r] = detail::newTensor(function.program.results[r].dtype, {sizes, dims.size()});
    if (!results[r])
      failWith(Code::OutOfMemory, function.name, ": no memory for a result of sizes [", joined(std::span(sizes, dims.size())), "]");
  }
  if (form.direct) {
    void *inputs[kMaxInputs + 9];
    size_t first = function.program.symbols ? 1 : 0; // the sizes' own argument
    for (size_t i = 0; i < operands.size(); ++i)
      inputs[first + i] = operands[i].tensor->data();
    launch(function, form, values, inputs, results);
    return;
  }
  walk(function, form, values, operands, symbols, results);
  for (size_t r = 0; r < into.size(); ++r)
    if (into[r]) {
      std::memcpy(into[r]->data(), results[r]->data(), static_cast<size_t>(into[r]->denseBytes()));
      results[r] = TensorRef(into[r]);
    }
}

} // namespace graphc::eager
