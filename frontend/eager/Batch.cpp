#include "frontend/eager/Batch.h"

#include "frontend/eager/State.h"

#include <algorithm>

namespace graphc::eager {

std::shared_ptr<Function> functionOf(const std::string &key, const std::vector<OpValueType> &arguments,
                                     const std::function<void(GraphBuilder &)> &build) {
  ThreadContext::State &state = ThreadContext::current().state();
  auto known = state.functions.find(key);
  if (known != state.functions.end())
    return known->second;
  Services &services = Services::get();
  std::shared_ptr<Function> function = services.find(key);
  std::string name = key.substr(0, key.find(' '));
  if (!function) {
    std::optional<OpProgram> program;
    if (auto bytes = services.findStored("op", key))
      program = decodeProgram(*bytes);
    if (!program) {
      GraphBuilder builder(arguments);
      build(builder);
      auto built = services.compiler().build(builder.take());
      if (!built.ok())
        failWith(built.status().code(), name, ": ", built.status().message());
      program = *std::move(built);
      services.store("op", key, encodeProgram(*program));
    }
    function = services.add(key, std::make_shared<Function>(name, *std::move(program), key));
  }
  return state.functions.emplace(key, std::move(function)).first->second;
}

namespace {

/// A function that is more than one kernel, through tensors that borrow the run's memory.
void runAlone(Function &function, const Run &run) {
  int64_t values[256];
  const Form &form = function.form();
  if (form.shapes.tape.exprs.size() > 256 || !form.shapes.tape.evaluate(run.symbols, values))
    failWith(Code::ShapeMismatch, function.name, ": the sizes overflow");
  std::vector<Operand> operands(run.inputs.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const OpValueType &type = function.program.arguments[i];
    Operand &operand = operands[i];
    operand.rank = static_cast<int>(type.dims.size());
    int64_t elements = 1;
    for (int d = 0; d < operand.rank; ++d) {
      const std::string &dim = type.dims[static_cast<size_t>(d)];
      operand.dims[d] = dim[0] == 's' ? run.symbols[std::stoul(dim.substr(1))] : std::stoll(dim);
      elements *= operand.dims[d];
    }
    std::span<const int64_t> dims(operand.dims, static_cast<size_t>(operand.rank));
    detail::denseStrides(dims, operand.strides);
    auto storage = detail::borrowStorage(run.inputs[i], elements * static_cast<int64_t>(sizeOf(type.dtype)), {});
    operand.tensor = detail::newView(std::move(storage), type.dtype, dims, {operand.strides, dims.size()}, 0);
  }
  std::vector<TensorRef> results(run.results.size());
  runFunction(function, operands, run.symbols, results);
  for (size_t r = 0; r < results.size(); ++r)
    std::memcpy(run.results[r], results[r]->data(), static_cast<size_t>(results[r]->denseBytes()));
}

struct Job {
  const DirectCall *call;
  std::vector<void *> buffers;  // of run after run
  std::vector<int64_t> scalars; // likewise
  std::vector<int64_t> ranges;
  std::vector<int64_t> grains; // before each run, and in all
  int chunks = 1;
  std::atomic<int> failed{-1};
  GraphcErrorCell cell{};

  /// The part of the runs, laid end to end, that lies in [first, last) grains.
  void work(int64_t first, int64_t last, GraphcErrorCell &error) const {
    size_t run = static_cast<size_t>(std::upper_bound(grains.begin(), grains.end(), first) - grains.begin()) - 1;
    for (; run < ranges.size() && grains[run] < last; ++run) {
      int64_t begin = std::max<int64_t>(first - grains[run], 0) * call->grain, end = std::min((last - grains[run]) * call->grain, ranges[run]);
      GraphcKernelContext context{&error, nullptr, 0};
      if (begin < end)
        call->kernel(buffers.data() + run * call->buffers.size(), scalars.data() + run * call->scalars.size(), &context, begin, end);
    }
  }
};

} // namespace

void runTogether(Function &function, std::span<const Run> runs) {
  const Form &form = function.form();
  if (!form.direct) {
    for (const Run &run : runs)
      runAlone(function, run);
    return;
  }
  const DirectCall &call = *form.direct;
  Job job{.call = &call, .grains = {0}};
  double cost = 0;
  size_t shift = function.program.symbols ? 1 : 0; // the sizes' own argument
  for (const Run &run : runs) {
    int64_t values[256];
    if (form.shapes.tape.exprs.size() > 256 || !form.shapes.tape.evaluate(run.symbols, values))
      failWith(Code::ShapeMismatch, function.name, ": the sizes overflow");
    for (const DirectCall::Buffer &buffer : call.buffers)
      job.buffers.push_back(buffer.kind == DirectCall::Buffer::Input    ? run.inputs[static_cast<size_t>(buffer.index) - shift]
                            : buffer.kind == DirectCall::Buffer::Output ? run.results[static_cast<size_t>(buffer.index)]
                                                                        : const_cast<void *>(buffer.constant));
    for (int scalar : call.scalars)
      job.scalars.push_back(values[scalar]);
    int64_t range = std::max<int64_t>(0, call.range < 0 ? 1 : values[call.range]);
    job.ranges.push_back(range);
    job.grains.push_back(job.grains.back() + (range + call.grain - 1) / call.grain);
    cost += call.costNs * static_cast<double>(range) * (call.costScale < 0 ? 1.0 : static_cast<double>(values[call.costScale]));
  }
  ++ThreadContext::current().state().statistics.launches;
  int64_t grains = job.grains.back();
  const std::shared_ptr<ThreadPool> &pool = Services::get().pool();
  if (call.serial || cost < kSerialCutoffNs || !pool || !pool->tryEnter()) {
    job.work(0, grains, job.cell);
  } else {
    job.chunks = static_cast<int>(std::min<int64_t>(grains, 4 * pool->concurrency()));
    pool->run(
        job.chunks,
        [](void *argument, int chunk, int) {
          auto &job = *static_cast<Job *>(argument);
          GraphcErrorCell cell{};
          job.work(job.grains.back() * chunk / job.chunks, job.grains.back() * (chunk + 1) / job.chunks, cell);
          int none = -1;
          if (cell.flag && job.failed.compare_exchange_strong(none, chunk))
            job.cell = cell;
        },
        &job);
    pool->leave();
  }
  if (job.cell.flag)
    outOfRange(function, job.cell);
}

} // namespace graphc::eager
