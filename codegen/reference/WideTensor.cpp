#include "codegen/reference/WideTensor.h"
#include "runtime/base/Float16.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace graphc::reference {

ScalarType scalarTypeOf(Type type) {
  if (isa<FloatType>(type))
    return {ScalarType::Float, 64, false};
  if (type.isInteger(1))
    return {ScalarType::Bool, 1, false};
  return {ScalarType::Integer, static_cast<uint8_t>(type.getIntOrFloatBitWidth()), type.isUnsignedInteger()};
}

int64_t saturate(double value, ScalarType type) {
  if (type.cls == ScalarType::Bool)
    return value != 0;
  if (std::isnan(value))
    return 0;
  // 2^63 and 2^64 are exact in double, the largest integers below them are not: compare against the powers.
  if (type.isUnsigned) {
    if (value <= 0)
      return 0;
    if (value >= std::ldexp(1.0, type.width))
      return wrap(-1, type);
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  double limit = std::ldexp(1.0, type.width - 1);
  if (value >= limit)
    return static_cast<int64_t>((uint64_t(1) << (type.width - 1)) - 1);
  if (value <= -limit)
    return wrap(static_cast<int64_t>(uint64_t(1) << (type.width - 1)), type);
  return static_cast<int64_t>(value);
}

DType dtypeOfElement(Type type) {
  if (type.isF64())
    return DType::F64;
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1: return DType::Bool;
  case 8: return isUnsigned ? DType::U8 : DType::I8;
  case 16: return isUnsigned ? DType::U16 : DType::I16;
  case 32: return isUnsigned ? DType::U32 : DType::I32;
  case 64: return isUnsigned ? DType::U64 : DType::I64;
  }
  llvm_unreachable("an element type that the graph dialect does not have");
}

WideTensor::WideTensor(Type elementType, std::vector<int64_t> shape) : element(elementType), sizes(std::move(shape)) {
  count = 1;
  for (int64_t size : sizes)
    count *= size;
  storage = std::shared_ptr<void>(std::malloc(std::max<int64_t>(count, 1) * 8), std::free);
}

std::vector<int64_t> WideTensor::strides() const {
  std::vector<int64_t> result(sizes.size());
  int64_t stride = 1;
  for (int64_t i = rank() - 1; i >= 0; --i) {
    result[i] = stride;
    stride *= sizes[i];
  }
  return result;
}

WideTensor WideTensor::slice(int64_t at) const {
  WideTensor result(element, {sizes.begin() + 1, sizes.end()});
  std::memcpy(result.storage.get(), static_cast<const std::byte *>(storage.get()) + at * result.count * 8, static_cast<size_t>(result.count) * 8);
  return result;
}
void WideTensor::setSlice(int64_t at, const WideTensor &slice) {
  std::memcpy(static_cast<std::byte *>(storage.get()) + at * slice.count * 8, slice.storage.get(), static_cast<size_t>(slice.count) * 8);
}

WideTensor WideTensor::reshaped(std::vector<int64_t> shape) const {
  WideTensor result = *this;
  result.sizes = std::move(shape);
  return result;
}

WideTensor WideTensor::clone() const {
  WideTensor result(element, sizes);
  std::memcpy(result.storage.get(), storage.get(), count * 8);
  return result;
}

template <typename From, typename To>
static void convert(const HostTensor &tensor, To *out) {
  const From *in = tensor.data<From>();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    out[i] = static_cast<To>(in[i]);
}

WideTensor WideTensor::from(const HostTensor &tensor, Type elementType) {
  assert(tensor.dtype() == dtypeOfElement(elementType) && "a tensor is held under its own element type");
  WideTensor wide(elementType, tensor.shape().dims());
  switch (tensor.dtype()) {
  case DType::F64: convert<double>(tensor, wide.floats()); break;
  case DType::F32: convert<float>(tensor, wide.floats()); break;
  case DType::F16: convert<Half>(tensor, wide.floats()); break;
  case DType::BF16: convert<BFloat>(tensor, wide.floats()); break;
  case DType::I64: convert<int64_t>(tensor, wide.integers()); break;
  case DType::I32: convert<int32_t>(tensor, wide.integers()); break;
  case DType::I16: convert<int16_t>(tensor, wide.integers()); break;
  case DType::I8: convert<int8_t>(tensor, wide.integers()); break;
  case DType::U64: convert<uint64_t>(tensor, wide.integers()); break;
  case DType::U32: convert<uint32_t>(tensor, wide.integers()); break;
  case DType::U16: convert<uint16_t>(tensor, wide.integers()); break;
  case DType::U8: convert<uint8_t>(tensor, wide.integers()); break;
  case DType::Bool: convert<uint8_t>(tensor, wide.integers()); break;
  }
  return wide;
}

template <typename To, typename From, typename Convert>
static void store(HostTensor &tensor, const From *in, Convert one) {
  To *out = tensor.data<To>();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    out[i] = one(in[i]);
}
template <typename To, typename From>
static void store(HostTensor &tensor, const From *in) {
  store<To>(tensor, in, [](From v) { return static_cast<To>(v); });
}

Result<HostTensor> WideTensor::toHost() const {
  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(dtypeOfElement(element), Shape(sizes)));
  switch (tensor.dtype()) {
  case DType::F64: store<double>(tensor, floats()); break;
  case DType::F32: store<float>(tensor, floats()); break;
  case DType::F16: store<uint16_t>(tensor, floats(), doubleToHalf); break;
  case DType::BF16: store<uint16_t>(tensor, floats(), doubleToBfloat); break;
  case DType::I64: store<int64_t>(tensor, integers()); break;
  case DType::I32: store<int32_t>(tensor, integers()); break;
  case DType::I16: store<int16_t>(tensor, integers()); break;
  case DType::I8: store<int8_t>(tensor, integers()); break;
  case DType::U64: store<uint64_t>(tensor, integers()); break;
  case DType::U32: store<uint32_t>(tensor, integers()); break;
  case DType::U16: store<uint16_t>(tensor, integers()); break;
  case DType::U8: store<uint8_t>(tensor, integers()); break;
  case DType::Bool: store<uint8_t>(tensor, integers()); break;
  }
  return tensor;
}

} // namespace graphc::reference
