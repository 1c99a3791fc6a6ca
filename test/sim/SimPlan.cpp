#include "test/sim/SimPlan.h"

#include "runtime/base/KernelContext.h"
#include "runtime/base/Text.h"
#include "runtime/cudasim/cudasim.h"
#include "runtime/devices/cuda/Driver.h"
#include "runtime/plan/Exprs.h"
#include "runtime/plan/PlanCheck.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

namespace graphc::test {
namespace {

struct Simulator {
  std::shared_ptr<const cuda::Driver> driver;

  static Result<Simulator *> get() {
    static Simulator simulator;
    if (simulator.driver)
      return &simulator;
    setenv("GRAPHC_CUDASIM", "check=races,report=none,threads=0", 0);
    GRAPHC_ASSIGN_OR_RETURN(simulator.driver, cuda::Driver::open(GRAPHC_CUDASIM_LIBRARY));
    CUdevice device;
    CUcontext context;
    GRAPHC_RETURN_IF_ERROR(simulator.driver->deviceGet(&device, 0));
    GRAPHC_RETURN_IF_ERROR(simulator.driver->primaryCtxRetain(&context, device));
    GRAPHC_RETURN_IF_ERROR(simulator.driver->ctxSetCurrent(context));
    return &simulator;
  }

  Status findings() {
    const GraphcCudasimReport *reports = nullptr;
    auto list = reinterpret_cast<decltype(graphcCudasimReports) *>(driver->find("graphcCudasimReports"));
    for (size_t i = 0, count = list(&reports); i < count; ++i)
      if (reports[i].isError)
        return error(Code::Internal, reports[i].message);
    return Status();
  }
};

/// Launches so far by kernel, then forgotten.
std::vector<KernelCounters> takeCounters(Simulator &simulator) {
  const GraphcCudasimLaunch *launches = nullptr;
  size_t count = reinterpret_cast<decltype(graphcCudasimLaunches) *>(simulator.driver->find("graphcCudasimLaunches"))(&launches);
  std::map<std::string, KernelCounters> byName;
  for (size_t i = 0; i < count; ++i) {
    const GraphcCudasimLaunch &launch = launches[i];
    KernelCounters &sum = byName[launch.kernel];
    sum.kernel = launch.kernel;
    ++sum.launches;
    sum.laneInstructions += static_cast<double>(launch.laneInstructions);
    sum.globalBytes += static_cast<double>(launch.globalBytes);
    sum.sectors += static_cast<double>(launch.globalSectors);
    sum.compulsorySectors += static_cast<double>(launch.uniqueLines) * 4;
    sum.occupancy = launch.occupancy;
    sum.microsecondsH200 += launch.microsecondsH200;
  }
  reinterpret_cast<decltype(graphcCudasimClear) *>(simulator.driver->find("graphcCudasimClear"))();
  std::vector<KernelCounters> all;
  for (auto &[name, sum] : byName)
    all.push_back(sum);
  std::sort(all.begin(), all.end(), [](const KernelCounters &a, const KernelCounters &b) { return a.microsecondsH200 > b.microsecondsH200; });
  return all;
}

/// Device memory for one run.
struct Memory {
  explicit Memory(const cuda::Driver &driver) : driver(driver) {}
  ~Memory() {
    for (CUdeviceptr block : blocks)
      (void)driver.memFree(block);
  }
  Result<CUdeviceptr> allocate(int64_t bytes) {
    CUdeviceptr address = 0;
    GRAPHC_RETURN_IF_ERROR(driver.memAlloc(&address, std::max<int64_t>(bytes, 16)));
    blocks.push_back(address);
    return address;
  }
  const cuda::Driver &driver;
  std::vector<CUdeviceptr> blocks;
};
} // namespace

struct SimPlan::State {
  CompiledModel model;
  Simulator *simulator = nullptr;
  std::vector<CUmodule> modules;
  std::vector<CUfunction> functions;

  const plan::PlanT &plan() const { return *model.plan; }
  const cuda::Driver &driver() const { return *simulator->driver; }

  // Of one run.
  std::vector<int64_t> symbols, exprs;
  std::vector<CUdeviceptr> addresses;
  SimRun *result = nullptr;

  Status load() {
    GRAPHC_RETURN_IF_ERROR(plan::checkPlan(plan()));
    for (const auto &module : plan().modules) {
      CUmodule loaded;
      GRAPHC_RETURN_IF_ERROR(driver().moduleLoadDataEx(&loaded, module->images[0]->bytes.data(), 0, nullptr, nullptr));
      modules.push_back(loaded);
    }
    for (const auto &kernel : plan().kernels) {
      CUfunction function;
      GRAPHC_RETURN_IF_ERROR(driver().moduleGetFunction(&function, modules[kernel->module_index], kernel->symbol.c_str()));
      functions.push_back(function);
    }
    return Status();
  }

  Status evaluate() {
    std::vector<int> order(plan().exprs.size());
    std::iota(order.begin(), order.end(), 0);
    exprs.resize(order.size());
    if (plan::evaluateExprs(plan().exprs, order, symbols, exprs) >= 0)
      return error(Code::InvalidOption, "a size overflows");
    return Status();
  }
  int64_t value(int expr, int64_t otherwise) const { return expr < 0 ? otherwise : exprs[expr]; }
  std::vector<int64_t> values(const std::vector<int> &list) const {
    std::vector<int64_t> numbers;
    for (int e : list)
      numbers.push_back(exprs[e]);
    return numbers;
  }
  int64_t elementBytes(int buffer) const { return sizeOf(plan::toDType(plan().buffers[buffer]->dtype)); }
  int64_t bytesOf(int buffer) const {
    int64_t bytes = elementBytes(buffer);
    for (int64_t dim : values(plan().buffers[buffer]->dims))
      bytes *= dim;
    return bytes;
  }

  Status place(Memory &memory, std::span<const HostTensor> inputs) {
    addresses.assign(plan().buffers.size(), 0);
    for (size_t i = 0; i < plan().buffers.size(); ++i) {
      const plan::BufferT &buffer = *plan().buffers[i];
      if (buffer.kind == plan::BufferKind::Alias) {
        addresses[i] = addresses[buffer.alias_of] + value(buffer.alias_offset, 0);
        continue;
      }
      GRAPHC_ASSIGN_OR_RETURN(addresses[i], memory.allocate(bytesOf(i)));
      const void *from = nullptr;
      size_t bytes = 0;
      if (buffer.kind == plan::BufferKind::Input) {
        from = inputs[buffer.index].raw();
        bytes = inputs[buffer.index].sizeBytes();
      } else if (buffer.kind == plan::BufferKind::Weight) {
        const plan::WeightDataT &weight = *buffer.weight;
        bytes = weight.bytes;
        from = weight.file < 0 ? static_cast<const void *>(weight.inline_bytes.data()) : model.weights[weight.file].bytes.data() + weight.offset;
      }
      if (bytes)
        GRAPHC_RETURN_IF_ERROR(driver().memcpyHtoDAsync(addresses[i], from, bytes, nullptr));
    }
    return Status();
  }

  Status dispatch(const plan::CommandT &command, const plan::DispatchT &work, CUdeviceptr cell) {
    const plan::KernelT &kernel = *plan().kernels[work.kernel];
    std::vector<CUdeviceptr> pointers;
    for (int buffer : work.buffers) {
      pointers.push_back(addresses[buffer]);
      result->bytesTouched += bytesOf(buffer);
    }
    std::vector<int64_t> scalars = values(work.scalars);
    int64_t range = value(work.range, 1);
    std::vector<void *> arguments;
    for (CUdeviceptr &pointer : pointers)
      arguments.push_back(&pointer);
    for (int64_t &scalar : scalars)
      arguments.push_back(&scalar);
    arguments.push_back(&range);
    arguments.push_back(&cell);
    int64_t blocks = (range + kernel.items_per_block - 1) / kernel.items_per_block;
    if (blocks == 0)
      return Status();
    ++result->launches;
    Status status = driver().launchKernel(functions[work.kernel], blocks, 1, 1, kernel.threads, 1, 1, kernel.dynamic_shared, nullptr, arguments.data(), nullptr);
    if (status.ok())
      status = driver().streamSynchronize(nullptr);
    if (!status.ok()) {
      Status found = simulator->findings();
      return error(Code::Internal, command.name, " (", kernel.symbol, "): ", found.ok() ? status.message() : found.message());
    }
    GraphcErrorCell seen{};
    GRAPHC_RETURN_IF_ERROR(driver().memcpyDtoHAsync(&seen, cell, sizeof seen, nullptr));
    if (seen.flag)
      return error(Code::IndexOutOfRange, work.sites[seen.site]->name, ": index ", seen.value, " is out of range [", seen.lower, ", ", seen.upper, "]");
    return Status();
  }

  /// On the host: what moves is what is compared here, not who moves it.
  Status copy(const plan::CopyT &work) {
    int64_t size = elementBytes(work.src->buffer);
    auto geometry = [&](const plan::OperandT &operand, std::vector<int64_t> &dims, std::vector<int64_t> &strides) {
      dims = values(operand.dims.empty() ? plan().buffers[operand.buffer]->dims : operand.dims);
      strides = values(operand.strides);
      if (strides.empty()) {
        strides.assign(dims.size(), 1);
        for (size_t d = dims.size(); d-- > 1;)
          strides[d - 1] = strides[d] * dims[d];
      }
    };
    std::vector<int64_t> dims, other, from, to;
    geometry(*work.src, other, from);
    geometry(*work.dst, dims, to);
    auto extent = [&](const std::vector<int64_t> &strides) {
      int64_t last = 0;
      for (size_t d = 0; d < dims.size(); ++d)
        last += (dims[d] - 1) * strides[d];
      return last + 1;
    };
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    if (!count)
      return Status();
    std::vector<char> source(extent(from) * size), target(extent(to) * size);
    CUdeviceptr src = addresses[work.src->buffer] + value(work.src->offset, 0) * size, dst = addresses[work.dst->buffer] + value(work.dst->offset, 0) * size;
    GRAPHC_RETURN_IF_ERROR(driver().memcpyDtoHAsync(source.data(), src, source.size(), nullptr));
    GRAPHC_RETURN_IF_ERROR(driver().memcpyDtoHAsync(target.data(), dst, target.size(), nullptr));
    std::vector<int64_t> at(dims.size(), 0);
    for (int64_t i = 0; i < count; ++i) {
      int64_t a = 0, b = 0;
      for (size_t d = 0; d < dims.size(); ++d) {
        a += at[d] * from[d];
        b += at[d] * to[d];
      }
      std::memcpy(target.data() + b * size, source.data() + a * size, size);
      for (size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];)
        at[d] = 0;
    }
    return driver().memcpyHtoDAsync(dst, target.data(), target.size(), nullptr);
  }

  Status runList(const std::vector<std::unique_ptr<plan::CommandT>> &list, CUdeviceptr cell) {
    for (const auto &command : list) {
      if (const auto *work = command->action.AsDispatch())
        GRAPHC_RETURN_IF_ERROR(dispatch(*command, *work, cell));
      else if (const auto *work = command->action.AsCopy())
        GRAPHC_RETURN_IF_ERROR(copy(*work));
      else if (const auto *check = command->action.AsCheck()) {
        if (check->relation == plan::Relation::Eq && exprs[check->a] != exprs[check->b])
          return error(Code::InvalidOption, check->message);
      } else
        return error(Code::Internal, command->name, ": this command is not walked here");
    }
    return Status();
  }
};

SimPlan::SimPlan() : state(std::make_unique<State>()) {}
SimPlan::~SimPlan() = default;
const CompiledModel &SimPlan::compiled() const { return state->model; }

Result<std::unique_ptr<SimPlan>> SimPlan::compile(const std::string &path, CompileOptions &options) {
  std::unique_ptr<SimPlan> plan(new SimPlan);
  GRAPHC_ASSIGN_OR_RETURN(plan->state->simulator, Simulator::get());
  options.device = "sim";
  options.planOnly = true;
  CompileResult compiled = compileFile(path, options);
  GRAPHC_RETURN_IF_ERROR(compiled.status);
  plan->state->model = std::move(compiled.model);
  GRAPHC_RETURN_IF_ERROR(plan->state->load());
  return plan;
}

Result<SimRun> SimPlan::run(std::span<const HostTensor> inputs) {
  SimRun run;
  State &s = *state;
  s.result = &run;
  s.symbols.assign(s.plan().symbols.size(), 0);
  if (inputs.size() != s.plan().inputs.size())
    return error(Code::InvalidOption, inputs.size(), " inputs, expected ", s.plan().inputs.size());
  for (size_t i = 0; i < s.symbols.size(); ++i)
    if (const auto &symbol = *s.plan().symbols[i]; symbol.input >= 0)
      s.symbols[i] = inputs[symbol.input].shape().dims()[symbol.dim];
  GRAPHC_RETURN_IF_ERROR(s.evaluate());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (int buffer = s.plan().inputs[i]->buffer; static_cast<int64_t>(inputs[i].sizeBytes()) != s.bytesOf(buffer))
      return error(Code::InvalidOption, "input ", i, " has another size than the model says");
  Memory memory(s.driver());
  GRAPHC_RETURN_IF_ERROR(s.place(memory, inputs));
  GRAPHC_ASSIGN_OR_RETURN(CUdeviceptr cell, memory.allocate(sizeof(GraphcErrorCell)));
  GRAPHC_RETURN_IF_ERROR(s.driver().memsetD8Async(cell, 0, sizeof(GraphcErrorCell), nullptr));
  GRAPHC_RETURN_IF_ERROR(s.runList(s.plan().prepare, cell));
  run.launches = 0;
  run.bytesTouched = 0;
  (void)takeCounters(*s.simulator);
  auto start = std::chrono::steady_clock::now();
  GRAPHC_RETURN_IF_ERROR(s.runList(s.plan().main, cell));
  GRAPHC_RETURN_IF_ERROR(s.driver().streamSynchronize(nullptr));
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  GRAPHC_RETURN_IF_ERROR(s.simulator->findings());
  run.counters = takeCounters(*s.simulator);
  for (const auto &output : s.plan().outputs) {
    auto dims = s.values(s.plan().buffers[output->buffer]->dims);
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(plan::toDType(s.plan().buffers[output->buffer]->dtype), Shape(dims)));
    if (tensor.sizeBytes())
      GRAPHC_RETURN_IF_ERROR(s.driver().memcpyDtoHAsync(tensor.raw(), s.addresses[output->buffer], tensor.sizeBytes(), nullptr));
    run.outputs.push_back(std::move(tensor));
  }
  return run;
}

} // namespace graphc::test
