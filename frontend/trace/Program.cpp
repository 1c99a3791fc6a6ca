#include "frontend/trace/Program.h"

#include "frontend/eager/State.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/context.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <chrono>

namespace graphc::trace {

using detail::CallLeaves;
using detail::CallOutcome;
using eager::failWith;

namespace {

double msSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Ops go to `trace` while this lives.
class Recording {
public:
  explicit Recording(eager::Recorder &trace) : before_(std::exchange(slot(), &trace)) {}
  ~Recording() { slot() = before_; }

private:
  static eager::Recorder *&slot() { return ThreadContext::current().state().recorder; }
  eager::Recorder *before_;
};

TensorGuard guardOf(const TensorImpl *tensor) {
  if (!tensor)
    return {.defined = false};
  return {true, tensor->dense, tensor->requiresGrad, tensor->dtype, {tensor->sizes, tensor->sizes + tensor->rank}};
}

std::string differs(const TensorGuard &guard, const TensorImpl *tensor) {
  if (guard.defined != (tensor != nullptr))
    return guard.defined ? "is undefined" : "is defined";
  if (!tensor)
    return "";
  if (tensor->dtype != guard.dtype)
    return text("is ", tensor->dtype, ", was ", guard.dtype);
  if (tensor->rank != static_cast<int>(guard.sizes.size()))
    return text("has rank ", int(tensor->rank), ", had ", guard.sizes.size());
  for (size_t d = 0; d < guard.sizes.size(); ++d)
    if (guard.sizes[d] >= 0 && guard.sizes[d] != tensor->sizes[d])
      return text("has size ", tensor->sizes[d], " in axis ", d, ", had ", guard.sizes[d]);
  if (tensor->requiresGrad != guard.requiresGrad)
    return guard.requiresGrad ? "needs no gradient any more" : "needs a gradient now";
  return "";
}

HostTensor borrowed(DType dtype, std::span<const int64_t> sizes, void *data) {
  return HostTensor::borrow(dtype, Shape(std::vector<int64_t>(sizes.begin(), sizes.end())), data);
}

/// Replaces an entry only when it says something else.
void place(HostTensor &entry, DType dtype, std::span<const int64_t> sizes, void *data) {
  if (!entry.defined() || entry.raw() != data || !std::ranges::equal(entry.shape().dims(), sizes))
    entry = borrowed(dtype, sizes, data);
}

} // namespace

std::unique_ptr<Program> Program::make(const CompileSettings &settings, const CallLeaves &leaves,
                                       const std::function<CallOutcome(CallLeaves &)> &fn, CompileReport &report) {
  auto started = std::chrono::steady_clock::now();
  if (eager::recorder())
    failWith(codes::InvalidArgument, "compile: a compiled function was called while another one is traced; call the plain function there");
  auto program = std::make_unique<Program>();
  for (const StateItem &item : settings.state) {
    if (item.optimizer)
      item.optimizer->makeState();
    if (!item.module)
      continue;
    program->modules_.push_back(item.module);
    for (auto &[name, module] : item.module->namedModules())
      program->modes_.push_back({module, module->isTraining(), name});
  }
  program->gradMode_ = GradMode::isEnabled();
  program->integers_ = leaves.integers;
  program->floats_ = leaves.floats;
  program->trace_ = std::make_unique<Trace>(SizeNames());
  Trace &trace = *program->trace_;
  {
    Recording recording(trace);
    for (const StateItem &item : settings.state)
      for (const Tensor &parameter : item.module ? item.module->parameters() : item.optimizer->parameters())
        trace.gradientChanges(*parameter.impl());
    CallLeaves stand = leaves;
    for (size_t i = 0; i < leaves.tensors.size(); ++i) {
      const Tensor &tensor = leaves.tensors[i];
      program->arguments_.push_back(guardOf(tensor.impl()));
      if (tensor.defined())
        stand.tensors[i] = eager::wrap(trace.parameter(static_cast<int>(i), *tensor.impl(), tensor.sizes(), text("argument", i)));
    }
    CallOutcome outcome = fn(stand);
    for (size_t r = 0; r < outcome.results.size(); ++r)
      program->results_.push_back(program->sourceOf(outcome.results[r], r));
    program->shape_ = std::move(outcome.shape);
    trace.finish();
  }
  for (const Captured &captured : trace.captured())
    program->captured_.push_back(guardOf(captured.tensor.get()));
  report.traceMs = msSince(started);
  program->compile(settings, report);
  return program;
}

Program::ResultSource Program::sourceOf(const Tensor &result, size_t number) {
  ResultSource source;
  if (!result.defined()) {
    source.defined = false;
    return source;
  }
  const TensorImpl &tensor = *result.impl();
  source.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  source.dtype = tensor.dtype;
  int captured = trace_->capturedOf(tensor.storage.get());
  if (captured < 0) {
    if (tensor.storage->data)
      (void)trace_->isTraced(tensor);
    source.result = trace_->result(tensor, text("result", number));
    return source;
  }
  source.captured = captured;
  source.itself = trace_->captured()[static_cast<size_t>(captured)].tensor.get() == &tensor;
  source.strides.assign(tensor.strides, tensor.strides + tensor.rank);
  source.offset = tensor.offset;
  return source;
}

void Program::compile(const CompileSettings &, CompileReport &report) {
  auto started = std::chrono::steady_clock::now();
  eager::Services &services = eager::Services::get();
  auto written = services.compiler().write(trace_->graph());
  eager::check(written.status());
  text_ = written->text;
  std::string key = "program\n" + text_;
  report.fromCache = false;
  if (auto bytes = services.findStored("code", key))
    if (auto op = eager::decodeCode(*bytes))
      if (auto loaded = services.load(*std::move(op)); loaded.ok()) {
        executable_ = *loaded;
        report.fromCache = true;
      }
  if (!executable_) {
    auto op = services.compiler().compile(*written, availableCores());
    eager::check(op.status());
    services.store("code", key, eager::encodeCode(*op));
    auto loaded = services.load(*std::move(op));
    eager::check(loaded.status());
    executable_ = *loaded;
  }
  auto context = executable_->newContext();
  eager::check(context.status());
  context_ = *context;
  inputs_.resize(trace_->graph().arguments.size());
  outputs_.resize(trace_->graph().results.size());
  for (size_t n = 0; n < trace_->numberInputs().size(); ++n) {
    const NumberInput &input = trace_->numberInputs()[n];
    cells_.push_back({n, std::vector<std::byte>(8 * input.arguments.size())});
    for (size_t k = 0; k < input.arguments.size(); ++k)
      inputs_[static_cast<size_t>(input.arguments[k])] = borrowed(input.dtype, {}, cells_.back().bytes.data() + 8 * k);
  }
  if (trace_->keyArgument() >= 0) {
    inputs_[static_cast<size_t>(trace_->keyArgument())] = borrowed(DType::I64, {}, &key_);
    inputs_[static_cast<size_t>(trace_->offsetArgument())] = borrowed(DType::I64, {}, &offset_);
  }
  report.compileMs = msSince(started);
}

TensorImpl *Program::tensorOf(const Captured &captured, const CallLeaves &leaves, std::vector<TensorRef> &kept) const {
  if (captured.parameter >= 0)
    return leaves.tensors[static_cast<size_t>(captured.parameter)].impl();
  if (captured.gradientOf >= 0) {
    const LeafGradient &gradient = trace_->gradients()[static_cast<size_t>(captured.gradientOf)];
    TensorImpl *leaf = gradient.leaf.get();
    return leaf->autograd ? leaf->autograd->grad.get() : nullptr;
  }
  return captured.tensor.get();
}

std::string Program::mismatch(const CallLeaves &leaves) {
  if (leaves.tensors.size() != arguments_.size() || leaves.integers.size() != integers_.size())
    return "the arguments have another structure";
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (std::string why = differs(arguments_[i], leaves.tensors[i].impl()); !why.empty())
      return text("tensor argument ", i, ' ', why);
  for (size_t i = 0; i < integers_.size(); ++i)
    if (integers_[i] != leaves.integers[i])
      return text("integer argument ", i, " is ", leaves.integers[i], ", was ", integers_[i]);
  for (size_t i = 0; i < floats_.size(); ++i)
    if (floats_[i] != leaves.floats[i])
      return text("float argument ", i, " is ", leaves.floats[i], ", was ", floats_[i]);
  if (GradMode::isEnabled() != gradMode_)
    return text("gradients are ", gradMode_ ? "off, were on" : "on, were off");
  for (const ModeGuard &mode : modes_)
    if (mode.module->isTraining() != mode.training)
      return text("module ", mode.name.empty() ? "" : "'" + mode.name + "' ", mode.training ? "evaluates, trained" : "trains, evaluated", " before");
  for (const LeafGradient &gradient : trace_->gradients()) {
    const TensorImpl *leaf = gradient.leaf.get();
    bool has = leaf->autograd && leaf->autograd->grad;
    if (leaf->storage->data && has != static_cast<bool>(gradient.before))
      return text(eager::nameOf(*leaf), has ? " has a .grad, had none" : " has no .grad, had one");
  }
  std::vector<TensorRef> kept;
  for (size_t c = 0; c < captured_.size(); ++c) {
    const Captured &captured = trace_->captured()[c];
    if (captured.parameter >= 0 || captured.constant)
      continue;
    const TensorImpl *tensor = tensorOf(captured, leaves, kept);
    std::string why = differs(captured_[c], tensor);
    if (why.empty() && captured_[c].dense != tensor->dense)
      why = "lies in memory in another way";
    if (!why.empty())
      return text("captured tensor '", trace_->graph().arguments[static_cast<size_t>(captured.argument)].name, "' ", why);
  }
  for (NumberCells &cells : cells_) {
    const NumberInput &input = trace_->numberInputs()[cells.input];
    int64_t step = *input.counts[0].first + input.counts[0].second;
    for (auto [count, rises] : input.counts)
      if (*count + rises != step)
        return text("parameters of one optimizer group stand at different steps, ", step - 1, " and ", *count + rises - 1);
    int64_t now = std::exchange(*input.counts[0].first, step);
    eager::LiveNumbers numbers = input.read();
    *input.counts[0].first = now;
    if (numbers.variant != input.variant || numbers.values.size() != input.arguments.size())
      return "an option of an optimizer has changed its formula";
    for (size_t k = 0; k < numbers.values.size(); ++k)
      eager::writeScalar(numbers.values[k], input.dtype, cells.bytes.data() + 8 * k);
  }
  return "";
}

CallOutcome Program::run(const CallLeaves &leaves) {
  std::vector<TensorRef> kept;
  struct WriteBack {
    TensorRef from;
    TensorImpl *to;
  };
  std::vector<WriteBack> writeBacks;
  std::vector<TensorImpl *> tensors; // whose memory each captured one is
  for (const Captured &captured : trace_->captured()) {
    TensorImpl *tensor = tensorOf(captured, leaves, kept);
    if (captured.parameter >= 0 && !tensor->dense) {
      NoGrad guard;
      Tensor dense = eager::wrap(TensorRef(tensor)).detach().contiguous();
      kept.push_back(eager::ref(dense));
      if (captured.updates >= 0)
        writeBacks.push_back({kept.back(), tensor});
      tensor = dense.impl();
    }
    tensors.push_back(tensor);
    HostTensor &entry = inputs_[static_cast<size_t>(captured.argument)];
    if (!tensor->storage->data)
      eager::needElements(*tensor, "compile");
    if (captured.whole) {
      place(entry, tensor->dtype, tensor->sizeSpan(), tensor->data());
    } else {
      int64_t elements = tensor->storage->bytes / static_cast<int64_t>(sizeOf(tensor->dtype));
      place(entry, tensor->dtype, {&elements, 1}, tensor->storage->data);
    }
  }
  Generator &random = generator();
  key_ = static_cast<int64_t>(random.seed());
  offset_ = static_cast<int64_t>(random.offset());

  std::vector<TensorRef> made(outputs_.size());
  auto give = [&](int result, DType dtype, std::span<const int64_t> sizes) {
    TensorRef tensor = detail::newTensor(dtype, sizes);
    if (!tensor)
      failWith(Code::OutOfMemory, "compile: no memory for a result ", dtype, "[", joined(sizes), "]");
    outputs_[static_cast<size_t>(result)] = borrowed(dtype, sizes, tensor->data());
    made[static_cast<size_t>(result)] = std::move(tensor);
  };
  for (const ResultSource &source : results_)
    if (source.result >= 0)
      give(source.result, source.dtype, source.sizes);
  for (const LeafGradient &gradient : trace_->gradients())
    if (gradient.result >= 0)
      give(gradient.result, gradient.leaf->dtype, gradient.leaf->sizeSpan());
  for (size_t c = 0; c < tensors.size(); ++c) {
    const Captured &captured = trace_->captured()[c];
    if (captured.updates >= 0) {
      const HostTensor &input = inputs_[static_cast<size_t>(captured.argument)];
      place(outputs_[static_cast<size_t>(captured.updates)], input.dtype(), input.shape().dims(), const_cast<void *>(input.raw()));
    }
  }
  eager::check(executable_->run(*context_, inputs_, outputs_));

  for (const WriteBack &back : writeBacks)
    detail::copyElements(*back.from, *back.to);
  for (size_t c = 0; c < tensors.size(); ++c)
    if (trace_->captured()[c].updates >= 0)
      tensors[c]->storage->version.fetch_add(1, std::memory_order_relaxed);
  random.advance(static_cast<uint64_t>(trace_->randomBlocks()));
  for (const StepCount &count : trace_->stepCounts())
    *count.count += count.rises;
  for (const LeafGradient &gradient : trace_->gradients()) {
    TensorImpl *leaf = gradient.leaf.get();
    int captured = trace_->capturedOf(leaf->storage.get());
    if (captured >= 0)
      leaf = trace_->captured()[static_cast<size_t>(captured)].parameter >= 0 ? leaves.tensors[static_cast<size_t>(trace_->captured()[static_cast<size_t>(captured)].parameter)].impl() : leaf;
    if (gradient.result >= 0)
      autogradMeta(*leaf).grad = made[static_cast<size_t>(gradient.result)];
    else if (gradient.cleared)
      autogradMeta(*leaf).grad = TensorRef();
  }

  CallOutcome outcome;
  outcome.shape = shape_;
  for (const ResultSource &source : results_) {
    if (!source.defined) {
      outcome.results.emplace_back();
    } else if (source.result >= 0) {
      outcome.results.push_back(eager::wrap(made[static_cast<size_t>(source.result)]));
    } else {
      const Captured &captured = trace_->captured()[static_cast<size_t>(source.captured)];
      TensorImpl *tensor = tensorOf(captured, leaves, kept);
      if (source.itself)
        outcome.results.push_back(eager::wrap(TensorRef(tensor)));
      else
        outcome.results.push_back(eager::wrap(detail::newView(tensor->storage, source.dtype, source.sizes, source.strides, source.offset)));
    }
  }
  return outcome;
}

} // namespace graphc::trace
