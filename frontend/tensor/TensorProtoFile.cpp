#include "frontend/tensor/TensorProtoFile.h"

#include "frontend/tensor/Element.h"
#include "frontend/tensor/ReadFile.h"

#include <bit>
#include <cstring>
#include <vector>

namespace graphc {
namespace {

/// The wire format: tag = field number << 3 | wire type (0 varint, 1 eight bytes, 2 length + bytes, 5 four bytes).
struct Wire {
  std::string_view bytes;
  size_t at = 0;
  bool good = true;

  bool done() const { return !good || at >= bytes.size(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= bytes.size())
        break;
      unsigned char byte = bytes[at++];
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    good = false;
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (!good || size > bytes.size() - at) {
      good = false;
      return {};
    }
    at += size;
    return bytes.substr(at - size, size);
  }
};

std::optional<DType> dtypeOfProto(uint64_t number) {
  switch (number) {
  case 1: return DType::F32;
  case 2: return DType::U8;
  case 3: return DType::I8;
  case 4: return DType::U16;
  case 5: return DType::I16;
  case 6: return DType::I32;
  case 7: return DType::I64;
  case 9: return DType::Bool;
  case 10: return DType::F16;
  case 11: return DType::F64;
  case 12: return DType::U32;
  case 13: return DType::U64;
  case 16: return DType::BF16;
  default: return std::nullopt;
  }
}

std::string protoTypeName(uint64_t number) {
  switch (number) {
  case 0: return "undefined";
  case 8: return "string";
  case 14: return "complex64";
  case 15: return "complex128";
  case 17: case 18: case 19: case 20: return "float8";
  case 21: return "uint4";
  case 22: return "int4";
  case 23: return "float4e2m1";
  default: return text("number ", number);
  }
}

/// Numbers in a field of their own (not raw_data): 4- and 8-byte floats as such, integers as varints.
struct Numbers {
  std::vector<uint64_t> bits;

  bool read(Wire &wire, int wireType, int fixedBytes) {
    if (wireType == 2) {
      Wire packed{wire.take(wire.varint())};
      while (!packed.done())
        one(packed, fixedBytes);
      return wire.good && packed.good;
    }
    one(wire, fixedBytes);
    return wire.good;
  }

private:
  void one(Wire &wire, int fixedBytes) {
    uint64_t value = 0;
    if (fixedBytes == 0)
      value = wire.varint();
    else if (std::string_view bytes = wire.take(fixedBytes); wire.good)
      std::memcpy(&value, bytes.data(), bytes.size());
    bits.push_back(value);
  }
};

} // namespace

Result<HostTensor> decodeTensorProto(std::string_view bytes, const std::string &name, std::string *tensorName) {
  auto malformed = [&](auto &&...parts) { return error(Code::ModelMalformed, "'", name, "': ", parts...); };
  Wire wire{bytes};
  Numbers dims, floats, ints32, ints64, doubles, uints64;
  uint64_t typeNumber = 0;
  std::optional<std::string_view> raw;
  bool external = false;
  while (!wire.done()) {
    uint64_t tag = wire.varint();
    int type = static_cast<int>(tag & 7);
    auto wants = [&](std::initializer_list<int> types) {
      for (int wanted : types)
        if (type == wanted)
          return true;
      wire.good = false;
      return false;
    };
    switch (tag >> 3) {
    case 1: wants({0, 2}) && dims.read(wire, type, 0); break;
    case 2: if (wants({0})) typeNumber = wire.varint(); break;
    case 4: wants({2, 5}) && floats.read(wire, type, 4); break;
    case 5: wants({0, 2}) && ints32.read(wire, type, 0); break;
    case 7: wants({0, 2}) && ints64.read(wire, type, 0); break;
    case 8:
      if (wants({2})) {
        std::string_view own = wire.take(wire.varint());
        if (tensorName)
          *tensorName = std::string(own);
      }
      break;
    case 9: if (wants({2})) raw = wire.take(wire.varint()); break;
    case 10: wants({1, 2}) && doubles.read(wire, type, 8); break;
    case 11: wants({0, 2}) && uints64.read(wire, type, 0); break;
    case 14: if (wants({0})) external = wire.varint() == 1; break;
    case 0: wire.good = false; break;
    default:
      switch (type) {
      case 0: wire.varint(); break;
      case 1: wire.take(8); break;
      case 2: wire.take(wire.varint()); break;
      case 5: wire.take(4); break;
      default: wire.good = false;
      }
    }
  }
  if (!wire.good)
    return malformed("not an ONNX TensorProto, or truncated (after ", wire.at, " of ", bytes.size(), " bytes)");
  if (external)
    return malformed("its data lies in another file, which a tensor file may not ask for");
  auto dtype = dtypeOfProto(typeNumber);
  if (!dtype)
    return malformed("element type ", protoTypeName(typeNumber), " is not supported");
  std::vector<int64_t> sizes(dims.bits.begin(), dims.bits.end());
  Shape shape(std::move(sizes));
  auto elements = shape.checkedElements();
  if (!elements)
    return malformed("its sizes are negative or too large");

  size_t count = static_cast<size_t>(*elements);
  if (raw) {
    if (raw->size() / sizeOf(*dtype) != count || raw->size() % sizeOf(*dtype) != 0)
      return malformed("shape ", shape, " of ", *dtype, " needs ", count, " elements, the data has ", raw->size(), " bytes");
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(*dtype, shape));
    std::memcpy(tensor.raw(), raw->data(), raw->size());
    if (*dtype == DType::Bool)
      for (size_t k = 0; k < count; ++k)
        static_cast<uint8_t *>(tensor.raw())[k] = (*raw)[k] != 0;
    return tensor;
  }
  const Numbers *numbers = &ints32; // everything of at most 32 bits but f32, the 16-bit floats as their bits
  switch (*dtype) {
  case DType::F32: numbers = &floats; break;
  case DType::F64: numbers = &doubles; break;
  case DType::I64: numbers = &ints64; break;
  case DType::U32: case DType::U64: numbers = &uints64; break;
  default: break;
  }
  if (numbers->bits.size() != count)
    return malformed("shape ", shape, " of ", *dtype, " needs ", count, " elements, the data has ", numbers->bits.size());
  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(*dtype, shape));
  size_t size = sizeOf(*dtype);
  for (size_t k = 0; k < count; ++k) {
    uint64_t value = *dtype == DType::Bool ? numbers->bits[k] != 0 : numbers->bits[k];
    // Little-endian: the low bytes come first, whatever the width.
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(static_cast<char *>(tensor.raw()) + k * size, &value, size);
  }
  return tensor;
}

Result<HostTensor> readTensorProto(const std::string &path) {
  GRAPHC_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
  return decodeTensorProto(bytes, path);
}

} // namespace graphc
