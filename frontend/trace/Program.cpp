#include "frontend/trace/Program.h"

#include "frontend/compile/LinkObjects.h"
#include "frontend/eager/State.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/context.h"
#include "frontend/tensor/Raise.h"
#include "runtime/artifact/Artifact.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>

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

Program::Recorded Program::record(const CompileSettings &settings, SizeNames sizes, const std::vector<OpenAxis> &open, const CallLeaves &leaves,
                                  std::vector<double> floats, const TracedFunction &fn, size_t limit) {
  if (eager::recorder())
    failWith(codes::InvalidArgument, "compile: a compiled function was called while another one is traced; call the plain function there");
  Recorded recorded;
  recorded.trace = std::make_unique<Trace>(std::move(sizes), limit);
  Trace &trace = *recorded.trace;
  Recording recording(trace);
  for (const StateItem &item : settings.state)
    for (const Tensor &parameter : item.module ? item.module->parameters() : item.optimizer->parameters())
      trace.gradientChanges(*parameter.impl());
  CallLeaves stand = leaves;
  stand.floats = std::move(floats);
  for (size_t i = 0; i < leaves.tensors.size(); ++i) {
    const Tensor &tensor = leaves.tensors[i];
    if (!tensor.defined())
      continue;
    std::vector<int64_t> dims(tensor.sizes().begin(), tensor.sizes().end());
    for (const OpenAxis &axis : open)
      for (const SymbolicSize &symbol : trace.sizes().symbols())
        if (axis.argument == static_cast<int>(i) && axis.name == symbol.name)
          dims[static_cast<size_t>(axis.axis)] = symbol.standIn;
    stand.tensors[i] = eager::wrap(trace.parameter(static_cast<int>(i), *tensor.impl(), dims, graphc::text("argument", i)));
  }
  CallOutcome outcome = fn(stand);
  for (size_t r = 0; r < outcome.results.size(); ++r)
    recorded.results.push_back(sourceOf(trace, outcome.results[r], r));
  for (size_t r = 0; r < outcome.results.size(); ++r)
    if (recorded.withHistory < 0 && recorded.results[r].result >= 0 && outcome.results[r].requiresGrad())
      recorded.withHistory = static_cast<int>(r);
  recorded.integers = std::move(outcome.integers);
  recorded.floats = std::move(outcome.floats);
  recorded.shape = std::move(outcome.shape);
  trace.finish();
  return recorded;
}

namespace {

/// The first thing that two traces of one function have different; empty when there is none.
std::string firstDifference(const TraceGraph &a, const TraceGraph &b, const std::function<bool(size_t step)> &mayDiffer) {
  auto name = [](const TraceGraph &graph, const TraceGraph::Step &step) { return step.program < 0 ? step.op.op : graph.programNames[static_cast<size_t>(step.program)]; };
  auto types = [](const std::vector<OpValueType> &list) {
    std::string all;
    for (const OpValueType &type : list)
      all += text(dtypeName(type.dtype), "[", joined(type.dims), "] ");
    return all;
  };
  for (size_t k = 0; k < std::min(a.steps.size(), b.steps.size()); ++k) {
    const TraceGraph::Step &x = a.steps[k], &y = b.steps[k];
    if (name(a, x) != name(b, y))
      return text("op ", k, " is '", name(a, x), "' in one trace and '", name(b, y), "' in another");
    if (x.program >= 0 && a.programs[static_cast<size_t>(x.program)].text != b.programs[static_cast<size_t>(y.program)].text)
      return text("op ", k, ", '", name(a, x), "', has other attributes or sizes in another trace");
    if (x.op.operands != y.op.operands)
      return text("op ", k, ", '", name(a, x), "', reads other values in another trace");
    if (x.op.attributes != y.op.attributes && !mayDiffer(k))
      return text("op ", k, ", '", name(a, x), "', has {", x.op.attributes, "} in one trace and {", y.op.attributes, "} in another");
    if (x.symbols != y.symbols || types(x.op.results) != types(y.op.results))
      return text("op ", k, ", '", name(a, x), "', has sizes ", types(x.op.results), "in one trace and ", types(y.op.results), "in another");
  }
  if (a.steps.size() != b.steps.size())
    return text("one trace has ", a.steps.size(), " ops, another ", b.steps.size());
  if (a.arguments.size() != b.arguments.size() || a.results.size() != b.results.size())
    return "one trace reads or changes other tensors than another";
  for (size_t r = 0; r < a.results.size(); ++r)
    if (a.results[r].value != b.results[r].value)
      return text("result ", r, " is another value in another trace");
  return "";
}

/// Stand-ins that no size and no combination of sizes is likely to be; two sets of them, odd and even.
SizeNames standIns(const std::vector<OpenAxis> &open, int set) {
  std::vector<SymbolicSize> symbols;
  for (const OpenAxis &axis : open)
    if (std::none_of(symbols.begin(), symbols.end(), [&](const SymbolicSize &known) { return known.name == axis.name; }))
      symbols.push_back({axis.name, axis.lo, axis.hi, 0});
  constexpr int64_t one[2] = {68719476767, 51539607598}, two[2][2] = {{16777259, 12582942}, {2147483659, 1610612742}};
  if (symbols.size() > 2)
    failWith(Code::InvalidOption, "compile: ", symbols.size(), " symbolic sizes; two at most can stay open, leave the others out of .dims");
  for (size_t k = 0; k < symbols.size(); ++k)
    symbols[k].standIn = symbols.size() == 1 ? one[set] : two[k][set];
  return SizeNames(std::move(symbols));
}

/// Close to the value, so that what depends on it only roughly stays as it is; not itself, and no other argument's.
std::vector<double> standIns(const std::vector<double> &values, int set) {
  std::vector<double> near;
  for (double value : values) {
    double away = static_cast<double>(set + 1 + 2 * near.size());
    near.push_back(value * (1 + away * 0x1.1p-9) + away * 0x1.3p-40);
  }
  return near;
}

std::string literalOf(double value, DType dtype) {
  uint64_t bits = 0;
  eager::writeScalar(value, dtype, &bits);
  char number[32];
  std::snprintf(number, sizeof number, "dense<0x%0*llX>", static_cast<int>(2 * sizeOf(dtype)), static_cast<unsigned long long>(bits));
  return number;
}

} // namespace

Program::Recorded Program::recordAsIs(const CompileSettings &settings, const CallLeaves &leaves, const TracedFunction &fn) {
  return record(settings, SizeNames(), {}, leaves, leaves.floats, fn, SIZE_MAX);
}

std::string Program::recordOpen(const CompileSettings &settings, const std::vector<OpenAxis> &open, const CallLeaves &leaves, const TracedFunction &fn,
                                const Recorded &asIs) {
  std::vector<double> floats[2] = {standIns(leaves.floats, 0), standIns(leaves.floats, 1)};
  size_t limit = 4 * asIs.trace->events().size() + 1000;
  Recorded first, second;
  try {
    first = record(settings, standIns(open, 0), open, leaves, floats[0], fn, limit);
    second = record(settings, standIns(open, 1), open, leaves, floats[1], fn, limit);
  } catch (const Error &problem) {
    return problem.message();
  } catch (const std::exception &problem) { // a vector of so many entries, say
    return problem.what();
  }
  struct Found {
    size_t step, number;
    DType dtype;
  };
  std::vector<Found> found;
  const TraceGraph &a = first.trace->graph(), &b = second.trace->graph();
  auto isFloatInput = [&](size_t step) {
    const OpNode &x = a.steps[step].op, &y = b.steps[step].op;
    if (x.op != "constant" || !isFloat(x.results[0].dtype))
      return false;
    DType dtype = x.results[0].dtype;
    size_t matches = 0, which = 0;
    for (size_t f = 0; f < leaves.floats.size(); ++f)
      if (x.attributes.find(literalOf(floats[0][f], dtype)) != std::string::npos && y.attributes.find(literalOf(floats[1][f], dtype)) != std::string::npos) {
        ++matches;
        which = f;
      }
    if (matches == 1)
      found.push_back({step, which, dtype});
    return matches == 1;
  };
  std::string difference = firstDifference(a, b, isFloatInput);
  if (difference.empty() && first.integers.size() == second.integers.size())
    for (size_t i = 0; i < first.integers.size() && difference.empty(); ++i)
      if (first.trace->sizes().text(first.integers[i]) != second.trace->sizes().text(second.integers[i]))
        difference = text("integer ", i, " of the result cannot be computed from it");
  if (!difference.empty())
    return difference;
  for (size_t k = found.size(); k-- > 0;) {
    int argument = first.trace->turnIntoArgument(found[k].step, graphc::text("float", found[k].number));
    floatInputs_.push_back({argument, found[k].number, found[k].dtype, {}});
  }
  trace_ = std::move(first.trace);
  results_ = std::move(first.results);
  resultIntegers_ = std::move(first.integers);
  resultFloats_ = std::move(first.floats);
  shape_ = std::move(first.shape);
  standFloats_ = std::move(floats[0]);
  setOpen(open);
  return verify(asIs, leaves);
}

std::vector<int64_t> Program::openValues(const CallLeaves &leaves) const {
  std::vector<int64_t> values = symbolsOf(leaves);
  for (double number : leaves.floats)
    values.push_back(std::bit_cast<int64_t>(number));
  return values;
}

bool Program::isVerified(const CallLeaves &leaves) const { return closed_ || verified_.contains(openValues(leaves)); }

std::string Program::verify(const Recorded &asIs, const CallLeaves &leaves) {
  std::string why = difference(asIs, leaves);
  if (why.empty()) {
    constexpr size_t kMostRemembered = 1024;
    if (verified_.size() >= kMostRemembered)
      verified_.clear();
    verified_.insert(openValues(leaves));
  }
  return why;
}

std::string Program::difference(const Recorded &asIs, const CallLeaves &leaves) const {
  std::vector<int64_t> symbols = symbolsOf(leaves);
  const std::vector<Event> &mine = trace_->events(), &other = asIs.trace->events();
  // Strides of axes with one element, and of tensors without any, say nothing.
  auto plain = [](std::vector<int64_t> numbers, const Event &event) {
    for (auto [start, rank] : event.views) {
      bool empty = std::find(numbers.begin() + static_cast<std::ptrdiff_t>(start), numbers.begin() + static_cast<std::ptrdiff_t>(start + rank), 0) !=
                   numbers.begin() + static_cast<std::ptrdiff_t>(start + rank);
      for (size_t d = start; d < start + rank; ++d)
        if (empty || numbers[d] == 1)
          numbers[d + rank] = 0;
    }
    return numbers;
  };
  auto valueOf = [&](const Event &event) {
    for (const FloatInput &input : floatInputs_)
      if (input.dtype == event.dtype && literalOf(standFloats_[input.number], event.dtype) == literalOf(event.value, event.dtype))
        return leaves.floats[input.number];
    bool whole = std::abs(event.value) < 9e15 && event.value == std::trunc(event.value);
    return whole ? static_cast<double>(trace_->sizes().at(static_cast<int64_t>(event.value), symbols)) : event.value;
  };
  for (size_t k = 0; k < std::min(mine.size(), other.size()); ++k) {
    const Event &x = mine[k], &y = other[k];
    if (x.what != y.what)
      return text("op ", k, " is '", x.what, "' in one trace and '", y.what, "' in another");
    // Where no size is open, sizes are the same ones, and so are the op programs.
    if (x.program >= 0 && open_.empty() &&
        trace_->graph().programs[static_cast<size_t>(x.program)].text != asIs.trace->graph().programs[static_cast<size_t>(y.program)].text)
      return text("op ", k, ", '", x.what, "', has other attributes");
    if (x.isConstant && literalOf(valueOf(x), x.dtype) != literalOf(y.value, y.dtype))
      return text("op ", k, ", '", x.what, "', has the value ", y.value, " and not ", valueOf(x));
    std::vector<int64_t> numbers = x.views.size() == y.views.size() ? plain(at(x.numbers, symbols), x) : std::vector<int64_t>();
    if (numbers != plain(y.numbers, y))
      return text("op ", k, ", '", x.what, "', has other sizes or views: [", joined(numbers), "] and [", joined(plain(y.numbers, y)), "]");
  }
  if (mine.size() != other.size())
    return text("one trace has ", mine.size(), " ops, another ", other.size());
  for (size_t r = 0; r < std::max(results_.size(), asIs.results.size()); ++r) {
    if (r >= results_.size() || r >= asIs.results.size())
      return "the function gives another number of results";
    const ResultSource &x = results_[r], &y = asIs.results[r];
    if (x.result != y.result || x.captured != y.captured || x.itself != y.itself || x.defined != y.defined || x.dtype != y.dtype ||
        at(x.sizes, symbols) != y.sizes || trace_->sizes().at(x.offset, symbols) != y.offset)
      return text("result ", r, " is another tensor");
  }
  if (at(resultIntegers_, symbols) != asIs.integers)
    return "integers of the result cannot be computed from it";
  if (resultFloats_ != asIs.floats)
    return "numbers of the result depend on it";
  const auto &grads = trace_->gradients(), &others = asIs.trace->gradients();
  if (!std::ranges::equal(grads, others, [](const LeafGradient &x, const LeafGradient &y) { return x.result == y.result && x.cleared == y.cleared; }))
    return "other gradients are kept";
  if (!std::ranges::equal(trace_->stepCounts(), asIs.trace->stepCounts(),
                          [](const StepCount &x, const StepCount &y) { return x.count == y.count && x.rises == y.rises; }))
    return "an optimizer makes other steps";
  return "";
}

std::unique_ptr<Program> Program::make(const CompileSettings &settings, const std::vector<OpenAxis> &open, const CallLeaves &leaves,
                                       const TracedFunction &fn, CompileReport &report) {
  auto started = std::chrono::steady_clock::now();
  if (!eager::recorder())
    for (const StateItem &item : settings.state)
      if (item.optimizer)
        item.optimizer->makeState();
  auto program = std::make_unique<Program>();
  Recorded asIs = recordAsIs(settings, leaves, fn);
  if (settings.verifyTrace) {
    Recorded again = recordAsIs(settings, leaves, fn);
    std::string difference = firstDifference(asIs.trace->graph(), again.trace->graph(), [](size_t) { return false; });
    if (!difference.empty())
      failWith(codes::InvalidArgument, "compile: the function does something else when it is traced again: ", difference,
               "; a captured value changes between calls, pass it as an argument");
  }
  if (asIs.withHistory >= 0 && settings.log)
    settings.log(text("result ", asIs.withHistory, " needs a gradient, which results of a compiled function do not carry on: call backward() inside it, "
                                                   "return detach(), or call it under NoGrad"));
  program->closed_ = open.empty() && leaves.floats.empty();
  if (!program->closed_) {
    std::string problem = program->recordOpen(settings, open, leaves, fn, asIs);
    program->closed_ = !problem.empty();
    if (program->closed_ && settings.log) {
      std::vector<std::string> what;
      for (const OpenAxis &axis : open)
        if (std::ranges::find(what, "'" + axis.name + "'") == what.end())
          what.push_back("'" + axis.name + "'");
      if (!leaves.floats.empty())
        what.push_back("float arguments");
      settings.log(graphc::text("compiled for the values of ", joined(what), " at hand alone: ", problem));
    }
  }
  if (program->closed_) {
    program->trace_ = std::move(asIs.trace);
    program->results_ = std::move(asIs.results);
    program->resultIntegers_ = std::move(asIs.integers);
    program->resultFloats_ = std::move(asIs.floats);
    program->shape_ = std::move(asIs.shape);
    program->floats_ = leaves.floats;
    program->floatInputs_.clear();
    program->setOpen({});
  }
  program->guard(settings, leaves);
  report.traceMs = msSince(started);
  program->compile(report);
  return program;
}

void Program::setOpen(const std::vector<OpenAxis> &open) {
  open_ = open;
  symbolAxis_.clear();
  for (const SymbolicSize &symbol : trace_->sizes().symbols())
    symbolAxis_.push_back(static_cast<size_t>(std::ranges::find(open_, symbol.name, &OpenAxis::name) - open_.begin()));
}

void Program::guard(const CompileSettings &settings, const CallLeaves &leaves) {
  for (const StateItem &item : settings.state) {
    if (!item.module)
      continue;
    modules_.push_back(item.module);
    for (auto &[name, module] : item.module->namedModules())
      modes_.push_back({module, module->isTraining(), name});
  }
  gradMode_ = GradMode::isEnabled();
  integers_ = leaves.integers;
  for (const Tensor &tensor : leaves.tensors)
    arguments_.push_back(guardOf(tensor.impl()));
  for (const OpenAxis &axis : open_)
    arguments_[static_cast<size_t>(axis.argument)].sizes[static_cast<size_t>(axis.axis)] = -1;
  for (const Captured &captured : trace_->captured())
    captured_.push_back(guardOf(captured.tensor.get()));
}

std::vector<int64_t> Program::symbolsOf(const CallLeaves &leaves) const {
  std::vector<int64_t> values;
  for (size_t at : symbolAxis_)
    values.push_back(leaves.tensors[static_cast<size_t>(open_[at].argument)].size(open_[at].axis));
  return values;
}

std::vector<int64_t> Program::at(const std::vector<int64_t> &sizes, const std::vector<int64_t> &symbols) const {
  std::vector<int64_t> values;
  for (int64_t size : sizes)
    values.push_back(trace_->sizes().at(size, symbols));
  return values;
}

Program::ResultSource Program::sourceOf(Trace &trace, const Tensor &result, size_t number) {
  ResultSource source;
  if (!result.defined()) {
    source.defined = false;
    return source;
  }
  const TensorImpl &tensor = *result.impl();
  source.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  source.dtype = tensor.dtype;
  int captured = trace.capturedOf(tensor.storage.get());
  if (captured < 0 || trace.captured()[static_cast<size_t>(captured)].constant) {
    source.result = trace.result(tensor, graphc::text("result", number));
    return source;
  }
  source.captured = captured;
  source.itself = trace.captured()[static_cast<size_t>(captured)].tensor.get() == &tensor;
  source.strides.assign(tensor.strides, tensor.strides + tensor.rank);
  source.offset = tensor.offset;
  return source;
}

void Program::compile(CompileReport &report) {
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
  for (FloatInput &input : floatInputs_)
    inputs_[static_cast<size_t>(input.argument)] = borrowed(input.dtype, {}, input.cell);
  report.compileMs = msSince(started);
}

void Program::save(const std::string &path) const {
  TraceGraph graph = trace_->graph();
  auto side = std::make_shared<std::string>();
  std::vector<bool> changed(graph.arguments.size());
  for (const TraceGraph::Result &result : graph.results)
    if (result.updates >= 0)
      changed[static_cast<size_t>(result.updates)] = true;
  for (const Captured &captured : trace_->captured()) {
    TraceGraph::Argument &argument = graph.arguments[static_cast<size_t>(captured.argument)];
    if (captured.parameter >= 0 || captured.gradientOf >= 0 || changed[static_cast<size_t>(captured.argument)])
      continue;
    const TensorImpl &tensor = *captured.tensor;
    side->resize((side->size() + 63) / 64 * 64);
    argument.weightOffset = static_cast<int64_t>(side->size());
    if (captured.whole)
      side->append(reinterpret_cast<const char *>(tensor.data()), static_cast<size_t>(tensor.denseBytes()));
    else
      side->append(reinterpret_cast<const char *>(tensor.storage->data), static_cast<size_t>(tensor.storage->bytes));
  }
  eager::Services &services = eager::Services::get();
  auto written = services.compiler().write(graph);
  eager::check(written.status());
  auto op = services.compiler().compile(*written, availableCores());
  eager::check(op.status());
  std::vector<std::string> objects;
  for (const auto &[name, object] : op->kernels)
    objects.push_back(object);
  ArtifactKernels kernels{*cpu::hostLevel(), {}};
  auto linked = linkSharedObject(objects);
  eager::check(linked.status());
  kernels.sharedObject = *std::move(linked);
  auto executable = services.load(*std::move(op), WeightBytes{std::as_bytes(std::span(side->data(), side->size())), side});
  eager::check(executable.status());
  eager::check(writeArtifact(path, **executable, {kernels}, kernels.level));
}

std::vector<std::pair<OpenAxis, int64_t>> Program::changedSizes(const CallLeaves &leaves) const {
  std::vector<std::pair<OpenAxis, int64_t>> changed;
  if (leaves.tensors.size() != arguments_.size())
    return changed;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Tensor &tensor = leaves.tensors[i];
    if (!tensor.defined() || tensor.dim() != static_cast<int64_t>(arguments_[i].sizes.size()))
      continue;
    for (int64_t d = 0; d < tensor.dim(); ++d)
      if (int64_t before = arguments_[i].sizes[static_cast<size_t>(d)]; before >= 0 && before != tensor.size(d))
        changed.push_back({{"", 0, 0, static_cast<int>(i), d}, before});
  }
  return changed;
}

TensorImpl *Program::tensorOf(const Captured &captured, const CallLeaves &leaves) const {
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
    if (leaves.floats.size() != floats_.size() || floats_[i] != leaves.floats[i])
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
  for (const OpenAxis &axis : open_) {
    int64_t size = leaves.tensors[static_cast<size_t>(axis.argument)].size(axis.axis);
    const OpenAxis &same = open_[static_cast<size_t>(std::ranges::find(open_, axis.name, &OpenAxis::name) - open_.begin())];
    if (size < axis.lo || size > axis.hi)
      return text("tensor argument ", axis.argument, " has size ", size, " in axis ", axis.axis, ", '", axis.name, "' is in [", axis.lo, ", ", axis.hi, "]");
    if (int64_t other = leaves.tensors[static_cast<size_t>(same.argument)].size(same.axis); other != size)
      return text("'", axis.name, "' is ", other, " in tensor argument ", same.argument, " and ", size, " in ", axis.argument);
  }
  for (size_t c = 0; c < captured_.size(); ++c) {
    const Captured &captured = trace_->captured()[c];
    if (captured.parameter >= 0 || captured.constant)
      continue;
    const TensorImpl *tensor = tensorOf(captured, leaves);
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

void Program::checkAliases(const std::vector<TensorImpl *> &tensors) const {
  const std::vector<Captured> &captured = trace_->captured();
  auto nameOf = [&](const Captured &one) {
    return one.parameter >= 0 ? text("tensor argument ", one.parameter)
                              : text("captured tensor '", trace_->graph().arguments[static_cast<size_t>(one.argument)].name, "'");
  };
  // The bytes from the first to the last element; all of the storage for what is read as such.
  auto range = [&](size_t c) -> std::pair<int64_t, int64_t> {
    const TensorImpl &tensor = *tensors[c];
    if (captured[c].parameter < 0)
      return {0, tensor.storage->bytes};
    int64_t last = tensor.offset;
    for (int d = 0; d < tensor.rank; ++d)
      last += (tensor.sizes[d] - 1) * tensor.strides[d];
    int64_t bytes = static_cast<int64_t>(sizeOf(tensor.dtype));
    return {tensor.offset * bytes, tensor.elements == 0 ? tensor.offset * bytes : (last + 1) * bytes};
  };
  for (size_t a = 0; a < captured.size(); ++a) {
    if (captured[a].parameter < 0)
      continue;
    for (size_t c = 0; c < captured.size(); ++c) {
      if (c == a || (captured[c].parameter >= 0 && c < a) || tensors[a]->storage != tensors[c]->storage || (captured[a].updates < 0 && captured[c].updates < 0))
        continue;
      auto [start, end] = range(a);
      auto [from, to] = range(c);
      if (start < to && from < end)
        failWith(codes::InvalidArgument, "compile: ", nameOf(captured[a]), " and ", nameOf(captured[c]),
                 " share memory, which the compiled function changes; give it a clone() of one of them");
    }
  }
}

CallOutcome Program::run(const CallLeaves &leaves) {
  std::vector<TensorRef> kept;
  struct WriteBack {
    TensorRef from;
    TensorImpl *to;
  };
  std::vector<WriteBack> writeBacks;
  std::vector<TensorImpl *> lying, tensors; // those of the call; whose memory each captured one is
  for (const Captured &captured : trace_->captured()) {
    TensorImpl *tensor = tensorOf(captured, leaves);
    lying.push_back(tensor);
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
  checkAliases(lying);
  for (FloatInput &input : floatInputs_)
    eager::writeScalar(leaves.floats[input.number], input.dtype, input.cell);
  std::vector<int64_t> symbols = symbolsOf(leaves);
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
      give(source.result, source.dtype, at(source.sizes, symbols));
  for (const LeafGradient &gradient : trace_->gradients())
    if (gradient.result >= 0)
      give(gradient.result, gradient.leaf->dtype, at({gradient.leaf->sizes, gradient.leaf->sizes + gradient.leaf->rank}, symbols));
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
  random.advance(static_cast<uint64_t>(trace_->randomBlocks(symbols)));
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
  outcome.integers = at(resultIntegers_, symbols);
  outcome.floats = resultFloats_;
  for (const ResultSource &source : results_) {
    if (!source.defined) {
      outcome.results.emplace_back();
    } else if (source.result >= 0) {
      outcome.results.push_back(eager::wrap(made[static_cast<size_t>(source.result)]));
    } else {
      const Captured &captured = trace_->captured()[static_cast<size_t>(source.captured)];
      TensorImpl *tensor = tensorOf(captured, leaves);
      if (source.itself)
        outcome.results.push_back(eager::wrap(TensorRef(tensor)));
      else
        outcome.results.push_back(eager::wrap(detail::newView(tensor->storage, source.dtype, at(source.sizes, symbols), at(source.strides, symbols),
                                                                trace_->sizes().at(source.offset, symbols))));
    }
  }
  return outcome;
}

} // namespace graphc::trace
