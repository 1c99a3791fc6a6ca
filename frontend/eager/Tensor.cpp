// The handle: what a tensor is, reading its elements, conversions.
#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <cstring>

namespace graphc {

using namespace eager;

//===-- devices ---------------------------------------------------------------------------------------------------===//
Device::Device(std::string_view text) {
  auto wrong = [&](const char *why) {
    failWith(Code::DeviceUnavailable, "device \"", text, "\" ", why, "; valid are \"cpu\", \"cuda\", \"cuda:N\", \"sim\" and \"sim:N\"");
  };
  std::string_view name = text.substr(0, text.find(':'));
  if (name == "mps")
    failWith(Code::DeviceUnavailable, "device \"mps\" is not available in this build; \"cpu\" is");
  if (name == "cpu")
    kind_ = DeviceKind::Cpu;
  else if (name == "cuda")
    kind_ = DeviceKind::Cuda;
  else if (name == "sim")
    kind_ = DeviceKind::Sim;
  else
    wrong("is unknown");
  if (name.size() == text.size())
    return;
  std::string_view number = text.substr(name.size() + 1);
  if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string_view::npos)
    wrong("has no valid number");
  index_ = std::stoi(std::string(number));
  if (kind_ == DeviceKind::Cpu && index_ != 0)
    wrong("does not exist: there is one cpu");
}
Device Device::best() {
  Device cuda(DeviceKind::Cuda);
  return isDeviceThere(cuda) ? cuda : cpu();
}
std::string Device::str() const {
  return kind_ == DeviceKind::Cpu ? "cpu" : (kind_ == DeviceKind::Cuda ? "cuda:" : "sim:") + std::to_string(index_);
}
void synchronize(Device device) {
  if (device.isCpu())
    return;
  OpScope scope("synchronize");
  openOrFail("synchronize", device);
  synchronizeDevice(device);
}

Index::Index(const Tensor &tensor) : kind(Kind::Tensor), tensor(std::make_shared<const Tensor>(tensor)) {}

//===-- the handle ------------------------------------------------------------------------------------------------===//
Tensor::Tensor(const Tensor &other) : impl_(other.impl_) {
  if (impl_)
    detail::retain(impl_);
}
Tensor &Tensor::operator=(const Tensor &other) {
  if (other.impl_)
    detail::retain(other.impl_);
  if (impl_)
    detail::release(impl_);
  impl_ = other.impl_;
  return *this;
}
Tensor::~Tensor() {
  if (impl_)
    detail::release(impl_);
}

static const TensorImpl &get(const TensorImpl *impl) {
  if (!impl)
    failWith(codes::InvalidArgument, "an undefined tensor was used; give it a value first");
  return *impl;
}

int64_t Tensor::dim() const { return get(impl_).rank; }
/// Other ops let an axis of 0 or -1 stand for none; there is nothing to read here then.
static int64_t axisWithSize(const char *op, const TensorImpl &tensor, int64_t axis) {
  if (tensor.rank == 0)
    failWith(codes::InvalidArgument, op, ": ", nameOf(tensor), " has rank 0 and so no axis ", axis);
  return wrapAxis(op, axis, tensor.rank);
}
int64_t Tensor::size(int64_t dim) const { return get(impl_).sizes[axisWithSize("size", *impl_, dim)]; }
std::span<const int64_t> Tensor::sizes() const { return get(impl_).sizeSpan(); }
int64_t Tensor::stride(int64_t dim) const { return get(impl_).strides[axisWithSize("stride", *impl_, dim)]; }
std::span<const int64_t> Tensor::strides() const { return get(impl_).strideSpan(); }
int64_t Tensor::storageOffset() const { return get(impl_).offset; }
int64_t Tensor::numel() const { return get(impl_).elements; }
DType Tensor::dtype() const { return get(impl_).dtype; }
Device Tensor::device() const {
  return {static_cast<DeviceKind>(get(impl_).storage->device.kind), impl_->storage->device.index};
}
bool Tensor::isContiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous)
    return get(impl_).dense;
  if (get(impl_).rank < 3)
    return false;
  Tensor last = movedimRaw(*this, 1, impl_->rank - 1);
  return last.impl()->dense;
}
bool Tensor::isView() const { return get(impl_).autograd && impl_->autograd->base; }
bool Tensor::sharesStorage(const Tensor &other) const { return get(impl_).storage == get(other.impl_).storage; }
uint32_t Tensor::version() const { return get(impl_).storage->version.load(std::memory_order_relaxed); }
std::string Tensor::describe() const { return impl_ ? detail::describe(*impl_) : "undefined"; }
void *Tensor::dataPtr() const {
  needElements(get(impl_), "dataPtr");
  return impl_->data();
}

//===-- elements --------------------------------------------------------------------------------------------------===//
void *Tensor::hostData(DType dtype, size_t elementBytes) const {
  OpScope scope("span");
  get(impl_);
  if (!device().isCpu())
    failWith(codes::TensorAccess, "span: ", nameOf(*impl_), " lives on ", device().str(), "; call cpu() first");
  if (impl_->requiresGrad)
    failWith(codes::TensorAccess, "span: ", nameOf(*impl_), " requires grad; call detach() first");
  if (impl_->dtype != dtype)
    failWith(Code::TypeMismatch, "span: ", nameOf(*impl_), " holds ", impl_->dtype, ", not ", dtype, "; convert it with to()");
  if (!impl_->dense)
    failWith(codes::TensorAccess, "span: ", nameOf(*impl_), " is a view with strides [", joined(impl_->strideSpan()), "]; call contiguous() first");
  needElements(*impl_, "span");
  return impl_->data();
}

Scalar eager::readScalar(DType dtype, const void *at) {
  auto load = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
  case DType::F64: return load(double());
  case DType::F32: return load(float());
  case DType::F16: return halfToFloat(load(uint16_t()));
  case DType::BF16: return bfloatToFloat(load(uint16_t()));
  case DType::I64: return load(int64_t());
  case DType::I32: return load(int32_t());
  case DType::I16: return load(int16_t());
  case DType::I8: return load(int8_t());
  case DType::U64: return load(uint64_t());
  case DType::U32: return load(uint32_t());
  case DType::U16: return load(uint16_t());
  case DType::U8: return load(uint8_t());
  case DType::Bool: return load(uint8_t()) != 0;
  }
  return 0;
}

Scalar Tensor::itemScalar() const {
  if (get(impl_).elements != 1)
    failWith(codes::TensorAccess, "item: ", nameOf(*impl_), " has ", impl_->elements, " elements, not one");
  needElements(*impl_, "item");
  return readScalar(impl_->dtype, isOnHost(*impl_) ? impl_->data() : transfer(*impl_, {})->data());
}

void Tensor::copyElements(DType dtype, void *out) const {
  needElements(get(impl_), "toVector");
  NoGrad guard;
  Tensor dense = detach().to(dtype).cpu().contiguous();
  std::memcpy(out, dense.dataPtr(), static_cast<size_t>(dense.impl()->denseBytes()));
}

//===-- conversions -----------------------------------------------------------------------------------------------===//
Tensor Tensor::to(DType dtype) const {
  OpScope scope("to");
  if (get(impl_).dtype == dtype)
    return *this;
  Call call("to");
  call.elementwise().input(*this, dtype);
  return call.run([&](GraphBuilder &g) { g.result(g.input(0)); });
}
Tensor Tensor::to(Device device, bool) const {
  OpScope scope("to");
  get(impl_);
  if (device == this->device())
    return *this;
  openOrFail("to", device);
  return moveNode(*this, device);
}
Tensor Tensor::to(DType dtype, MemoryFormat format) const { return to(dtype).contiguous(format); }

Tensor Tensor::clone() const {
  OpScope scope("clone");
  get(impl_);
  return copyNode(*this);
}
Tensor Tensor::contiguous(MemoryFormat format) const {
  OpScope scope("contiguous");
  if (isContiguous(format))
    return *this;
  if (format == MemoryFormat::ChannelsLast && impl_->rank >= 3) {
    Tensor last = movedim(1, impl_->rank - 1).contiguous();
    return last.movedim(impl_->rank - 1, 1);
  }
  return copyNode(*this);
}
Tensor Tensor::detach() const {
  OpScope scope("detach");
  get(impl_);
  return wrap(detail::newView(impl_->storage, impl_->dtype, impl_->sizeSpan(), impl_->strideSpan(), impl_->offset));
}
Tensor &Tensor::detach_() {
  OpScope scope("detach_");
  if (isView())
    failWith(codes::AutogradMisuse, "detach_: ", nameOf(*impl_), " is a view; detach() it instead");
  impl_->requiresGrad = false;
  if (impl_->autograd)
    impl_->autograd->gradFn = nullptr;
  return *this;
}

} // namespace graphc
