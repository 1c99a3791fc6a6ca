#include "frontend/eager/DeviceTensors.h"

#include "frontend/eager/State.h"
#include "runtime/device/DeviceTensor.h"
#include "runtime/plan/Plan.h"

#include <algorithm>

namespace graphc::eager {

namespace {

DeviceId runtimeId(const detail::DeviceId &id) {
  auto kind = static_cast<DeviceKind>(id.kind);
  return {kind == DeviceKind::Cuda ? DeviceId::Kind::Cuda : kind == DeviceKind::Sim ? DeviceId::Kind::Sim : DeviceId::Kind::Cpu, id.index};
}

std::shared_ptr<ComputeDevice> opened(const detail::DeviceId &id) {
  auto device = Services::get().device(runtimeId(id));
  check(device.status());
  return *device;
}

std::shared_ptr<DeviceMemory> memoryOf(const TensorImpl &tensor) { return std::static_pointer_cast<DeviceMemory>(tensor.storage->deviceMemory); }
DeviceAddress addressOf(const TensorImpl &tensor) { return reinterpret_cast<DeviceAddress>(tensor.data()); }

TensorRef adopt(const detail::DeviceId &id, const DeviceTensor &tensor) {
  auto storage = detail::deviceStorage(id, tensor.address(), tensor.sizeBytes(), tensor.memory);
  if (!storage)
    return nullptr;
  int64_t strides[kMaxRank];
  std::span<const int64_t> sizes = tensor.shape.dims();
  detail::denseStrides(sizes, strides);
  return detail::newView(std::move(storage), tensor.dtype, sizes, {strides, sizes.size()}, 0);
}

DeviceTensor deviceTensor(const TensorImpl &tensor, std::span<const int64_t> sizes) {
  DeviceTensor result;
  result.dtype = tensor.dtype;
  result.shape = Shape(std::vector<int64_t>(sizes.begin(), sizes.end()));
  result.memory = memoryOf(tensor);
  result.offsetBytes = static_cast<int64_t>(addressOf(tensor) - result.memory->address());
  return result;
}

/// Strided copies and fills want at least one dim.
struct Dims {
  Dims(const TensorImpl &tensor, bool flat)
      : sizes(tensor.sizes, tensor.sizes + tensor.rank), strides(tensor.strides, tensor.strides + tensor.rank) {
    if (flat || sizes.empty()) {
      sizes = {tensor.elements};
      strides = {1};
    }
  }
  std::vector<int64_t> sizes, strides;
};

TensorRef denseOnDevice(const TensorImpl &tensor) {
  TensorRef dense = newTensorOn(tensor.storage->device, tensor.dtype, tensor.sizeSpan());
  if (!dense)
    failWith(Code::OutOfMemory, "no memory for a dense copy of ", nameOf(tensor));
  copyBetween(tensor, *dense);
  return dense;
}

} // namespace

void openOrFail(const char *what, Device device) {
  if (device.isCpu())
    return;
  auto found = Services::get().device(runtimeId(deviceIdOf(device)));
  if (!found.ok())
    failWith(found.status().code(), what, ": ", found.status().message());
}

CachingAllocator &deviceMemory(const char *what, Device device) {
  openOrFail(what, device);
  return opened(deviceIdOf(device))->memory();
}

bool isDeviceThere(Device device) { return device.isCpu() || Services::get().device(runtimeId(deviceIdOf(device))).ok(); }

void synchronizeDevice(Device device) { check(opened(deviceIdOf(device))->synchronize()); }

TensorRef newTensorOn(const detail::DeviceId &id, DType dtype, std::span<const int64_t> sizes) {
  if (id == detail::DeviceId())
    return detail::newTensor(dtype, sizes);
  int64_t bytes = static_cast<int64_t>(sizeOf(dtype));
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return nullptr;
  auto device = opened(id);
  auto memory = DeviceMemory::allocate(device, bytes, device->defaultQueue(), "tensor");
  check(memory.status());
  DeviceTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = Shape(std::vector<int64_t>(sizes.begin(), sizes.end()));
  tensor.memory = std::make_shared<DeviceMemory>(*std::move(memory));
  return adopt(id, tensor);
}

TensorRef transfer(const TensorImpl &tensor, const detail::DeviceId &target) {
  const detail::DeviceId host;
  const detail::DeviceId home = tensor.storage->device;
  if (home != host && target != host && home != target && home.kind != target.kind)
    return transfer(*transfer(tensor, host), target);
  if (home != host && !tensor.dense)
    return transfer(*denseOnDevice(tensor), target);
  TensorRef result;
  if (home != host && target != host && home != target) {
    auto device = opened(target);
    auto copy = deviceTensor(tensor, tensor.sizeSpan()).to(device, device->defaultQueue());
    check(copy.status());
    result = adopt(target, *copy);
  } else {
    result = newTensorOn(target, tensor.dtype, tensor.sizeSpan());
    if (result)
      copyBetween(tensor, *result);
  }
  if (!result)
    failWith(Code::OutOfMemory, "no memory for a copy of ", nameOf(tensor));
  return result;
}

void copyBetween(const TensorImpl &from, const TensorImpl &to) {
  bool fromHost = isOnHost(from), toHost = isOnHost(to);
  if (fromHost && toHost)
    return detail::copyElements(from, to);
  if (from.elements == 0)
    return;
  if (!fromHost && !toHost && from.storage->device == to.storage->device) {
    if (from.storage == to.storage && from.offset == to.offset && from.dense && to.dense)
      return;
    bool flat = from.dense && to.dense;
    Dims source(from, flat), target(to, flat);
    Queue &queue = opened(to.storage->device)->defaultQueue();
    return check(queue.copy({addressOf(to), addressOf(from), static_cast<int>(sizeOf(from.dtype)), target.sizes, target.strides, source.strides}));
  }
  if (!fromHost && !toHost)
    return copyBetween(*transfer(from, to.storage->device), to);
  if (fromHost) {
    if (!to.dense)
      return copyBetween(*transfer(from, to.storage->device), to);
    TensorRef dense;
    if (!from.dense) {
      dense = detail::newTensor(from.dtype, from.sizeSpan());
      if (!dense)
        failWith(Code::OutOfMemory, "no memory for a dense copy of ", nameOf(from));
      detail::copyDense(from, dense->data());
    }
    Queue &queue = opened(to.storage->device)->defaultQueue();
    return check(queue.copyIn(addressOf(to), dense ? dense->data() : from.data(), from.denseBytes()));
  }
  if (!from.dense)
    return copyBetween(*denseOnDevice(from), to);
  TensorRef dense = to.dense ? nullptr : detail::newTensor(to.dtype, to.sizeSpan());
  auto device = opened(from.storage->device);
  // Errors of the ops that made the elements come first.
  check(device->synchronize());
  check(device->defaultQueue().copyOut(dense ? dense->data() : to.data(), addressOf(from), from.denseBytes()));
  check(device->defaultQueue().synchronize());
  if (dense)
    detail::copyElements(*dense, to);
}

void fillOnDevice(const TensorImpl &to, uint64_t bits) {
  if (to.elements == 0)
    return;
  Dims target(to, to.dense);
  check(opened(to.storage->device)->defaultQueue().fill({addressOf(to), static_cast<int>(sizeOf(to.dtype)), target.sizes, target.strides, bits}));
}

void runOnDevice(Function &function, const detail::DeviceId &id, std::span<Operand> operands, std::span<const int64_t> symbols,
                 std::span<TensorRef> results, std::span<TensorImpl *const> into) {
  const Form &form = function.form(id);
  std::vector<TensorRef> kept; // until the call is queued: freed memory is reused in queue order
  std::vector<DeviceTensor> inputs, outputs(results.size());
  if (int count = function.program.symbols) {
    std::vector<int64_t> sizes = {0};
    sizes.insert(sizes.end(), symbols.begin(), symbols.begin() + count);
    kept.push_back(newTensorOn(id, DType::Bool, {}));
    inputs.push_back(deviceTensor(*kept.back(), sizes));
  }
  OpStatistics &statistics = ThreadContext::current().state().statistics;
  for (Operand &operand : operands) {
    std::span<const int64_t> dims(operand.dims, static_cast<size_t>(operand.rank));
    TensorRef tensor = operand.tensor;
    if (isOnHost(*tensor)) {
      tensor = transfer(*tensor, id);
    } else if (!operand.dense) {
      tensor = denseOnDevice(*detail::newView(tensor->storage, tensor->dtype, dims, {operand.strides, dims.size()}, tensor->offset));
      ++statistics.denseCopies;
      statistics.denseCopyBytes += tensor->denseBytes();
    }
    inputs.push_back(deviceTensor(*tensor, dims));
    kept.push_back(std::move(tensor));
  }
  ++statistics.launches;
  Status status = form.executable->run(inputs, outputs);
  if (!status.ok())
    failWith(status.code(), function.name, ": ", status.message());
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = outputs[r].defined() ? adopt(id, outputs[r]) : newTensorOn(id, outputs[r].dtype, outputs[r].shape.dims());
    if (!results[r])
      failWith(Code::OutOfMemory, function.name, ": no memory for a result");
    if (r < into.size() && into[r]) {
      copyBetween(*results[r], *into[r]);
      results[r] = TensorRef(into[r]);
    }
  }
}

const Form &Function::form(const detail::DeviceId &id) {
  std::lock_guard lock(mutex_);
  Form &form = deviceForms_[{id.kind, id.index}];
  if (form.executable)
    return form;
  auto device = opened(id);
  // The simulated device takes PTX only; what a GPU has no code for it translates from PTX of the oldest architecture.
  std::vector<std::string> architectures = {"compute_80"};
  if (!device->properties().simulated)
    architectures.insert(architectures.begin(), device->properties().architecture);
  Services &services = Services::get();
  OpStatistics &statistics = ThreadContext::current().state().statistics;
  std::string key = text(architectures[0], '\n', codeKey());
  // The plan holds the kernels' code.
  auto load = [&](const CompiledOp &op) -> Result<std::shared_ptr<const Executable>> {
    GRAPHC_ASSIGN_OR_RETURN(auto plan, plan::fromBytes(op.plan));
    LoadOptions options;
    options.device = device;
    return Executable::load(std::move(plan), std::move(options));
  };
  if (auto bytes = services.findStored("code", key))
    if (auto op = decodeCode(*bytes))
      if (auto loaded = load(*op); loaded.ok()) {
        form.executable = *loaded;
        ++statistics.fromDisk;
        return form;
      }
  auto op = services.compiler().compile(program, 1, architectures);
  if (!op.ok())
    failWith(op.status().code(), name, ": ", op.status().message());
  services.store("code", key, encodeCode(*op));
  auto loaded = load(*op);
  if (!loaded.ok())
    failWith(loaded.status().code(), name, ": ", loaded.status().message());
  form.executable = *loaded;
  ++statistics.compiled;
  return form;
}

} // namespace graphc::eager
