// Tensors to and from NumPy's files and DLPack.
#include "frontend/graphc/io.h"

#include "frontend/eager/Dispatch.h"
#include "frontend/graphc/factories.h"
#include "frontend/tensor/Npy.h"
#include "frontend/tensor/Npz.h"

namespace graphc {

using namespace eager;

namespace {
Tensor fromHost(HostTensor host) {
  auto kept = std::make_shared<HostTensor>(std::move(host));
  return fromBlob(kept->raw(), kept->shape().dims(), kept->dtype(), [kept] {});
}
HostTensor toHost(const Tensor &dense) {
  return HostTensor::borrow(dense.dtype(), std::vector<int64_t>(dense.sizes().begin(), dense.sizes().end()), static_cast<const void *>(dense.dataPtr()));
}
} // namespace

Tensor loadNpy(const std::string &path) {
  OpScope scope("loadNpy");
  auto host = readNpy(path);
  check(host.status());
  return fromHost(*std::move(host));
}
void saveNpy(const std::string &path, const Tensor &tensor) {
  OpScope scope("saveNpy");
  Tensor dense = tensor.detach().contiguous();
  check(writeNpy(path, toHost(dense)));
}
std::vector<std::pair<std::string, Tensor>> loadNpz(const std::string &path) {
  auto hosts = readNpz(path);
  check(hosts.status());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (auto &[name, host] : *hosts)
    tensors.emplace_back(name, fromHost(std::move(host)));
  return tensors;
}
void saveNpz(const std::string &path, const std::vector<std::pair<std::string, Tensor>> &tensors) {
  OpScope scope("saveNpz");
  std::vector<Tensor> dense;
  NamedTensors hosts;
  for (const auto &[name, tensor] : tensors) {
    dense.push_back(tensor.detach().contiguous());
    hosts.emplace_back(name, toHost(dense.back()));
  }
  check(writeNpz(path, hosts));
}

//===-- DLPack ----------------------------------------------------------------------------------------------------===//
namespace {

// The layout that the DLPack standard fixes (version 0.8, without the versioned wrapper).
struct DlDevice {
  int32_t type, id;
};
struct DlDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void *data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void *managerContext;
  void (*deleter)(DlManagedTensor *);
};
enum : uint8_t { kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlBfloat = 4, kDlBool = 6 };
constexpr int32_t kDlCpu = 1;

struct Export {
  DlManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> sizes, strides;
};

DlDataType dlType(DType dtype) {
  uint8_t bits = static_cast<uint8_t>(sizeOf(dtype) * 8);
  if (dtype == DType::Bool)
    return {kDlBool, bits, 1};
  if (dtype == DType::BF16)
    return {kDlBfloat, bits, 1};
  return {isFloat(dtype) ? kDlFloat : isSigned(dtype) ? kDlInt : kDlUInt, bits, 1};
}

} // namespace

void *toDlpack(const Tensor &tensor) {
  OpScope scope("toDlpack");
  if (!tensor.defined() || tensor.requiresGrad())
    failWith(codes::TensorAccess, "toDlpack: ", tensor.defined() ? nameOf(tensor) + " requires grad; call detach() first" : std::string("an undefined tensor"));
  if (!tensor.device().isCpu())
    failWith(codes::TensorAccess, "toDlpack: ", nameOf(tensor), " lives on ", tensor.device().str(), "; call cpu() first");
  auto *shared = new Export{{}, tensor, {tensor.sizes().begin(), tensor.sizes().end()}, {tensor.strides().begin(), tensor.strides().end()}};
  shared->managed.tensor = {tensor.dataPtr(), {kDlCpu, 0}, static_cast<int32_t>(tensor.dim()), dlType(tensor.dtype()), shared->sizes.data(), shared->strides.data(), 0};
  shared->managed.managerContext = shared;
  shared->managed.deleter = [](DlManagedTensor *managed) { delete static_cast<Export *>(managed->managerContext); };
  return &shared->managed;
}

Tensor fromDlpack(void *pointer) {
  OpScope scope("fromDlpack");
  auto *managed = static_cast<DlManagedTensor *>(pointer);
  if (!managed)
    failWith(codes::InvalidArgument, "fromDlpack: the pointer is null");
  const DlTensor &from = managed->tensor;
  if (from.device.type != kDlCpu)
    failWith(Code::DeviceUnavailable, "fromDlpack: device type ", from.device.type, " is not the cpu");
  std::optional<DType> dtype;
  for (int i = 0; i < kNumDTypes; ++i) {
    DlDataType type = dlType(static_cast<DType>(i));
    if (type.code == from.dtype.code && type.bits == from.dtype.bits && from.dtype.lanes == 1)
      dtype = static_cast<DType>(i);
  }
  if (!dtype)
    failWith(Code::TypeMismatch, "fromDlpack: element type code ", int(from.dtype.code), " of ", int(from.dtype.bits), " bits and ", from.dtype.lanes, " lanes is none of ours");
  std::span<const int64_t> sizes(from.shape, static_cast<size_t>(from.ndim));
  std::vector<int64_t> strides(sizes.size());
  if (from.strides)
    strides.assign(from.strides, from.strides + from.ndim);
  else
    detail::denseStrides(sizes, strides.data());
  return fromBlob(static_cast<std::byte *>(from.data) + from.byteOffset, sizes, strides, *dtype, [managed] {
    if (managed->deleter)
      managed->deleter(managed);
  });
}

} // namespace graphc
